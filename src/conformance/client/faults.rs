//! The faults that clients are known to have, by name.

use alloc::vec::Vec;

use crate::conformance::fault::named_faults;

named_faults! {
    /// A fault that clients are known to have.
    ///
    /// ```
    /// use dotnet_diagnostics_ipc::conformance::client::ClientFault;
    ///
    /// assert!(ClientFault::ALL.iter().any(|fault| fault.name() == "string-length-in-bytes" && !fault.spec().is_empty()));
    /// ```
    enum ClientFault;

    EmptyStringAsTwoBytes = "empty-string-as-two-bytes",
        "An empty string is written as a NUL of two bytes without its length.", ["F-11"];
    StringLengthInBytes = "string-length-in-bytes",
        "The length of a string counts bytes, not UTF-16 units.", ["F-8"];
    StringLengthInChars = "string-length-in-chars",
        "The length of a string counts characters, not UTF-16 units.", ["F-8"];
    StringLengthWithoutNul = "string-length-without-nul",
        "A string is written without its NUL, or its length does not count it.", ["F-11"];
    NonBmpTruncated = "non-bmp-truncated",
        "A character beyond U+FFFF is cut to one UTF-16 unit.", ["R-GRM-008"];
    WcharOf4Bytes = "wchar-of-4-bytes",
        "A string is written in units of four bytes: zeroes stand between its units.", ["R-GRM-008"];
    SizeTruncated = "size-truncated",
        "The size of a message beyond 65,535 bytes is cut to its lower 16 bits.", ["F-40"];
    SizeClamped = "size-clamped",
        "The size of a message beyond 65,535 bytes is written as 65,535.", ["F-40"];
    CommandSetOffByOne = "command-set-off-by-one",
        "The command set stands one byte off, or is one off.", ["F-85"];
    AttachTimeoutInSeconds = "attach-timeout-in-seconds",
        "The time-out of an attach is written in seconds, and is in milliseconds.", ["F-55"];
    DescriptorWithTheRequest = "descriptor-with-the-request",
        "The descriptor rides on the request's bytes, where it is lost.", ["F-20"];
    DescriptorAfterTheReply = "descriptor-after-the-reply",
        "The client waits for the reply before it hands over the descriptor.", ["F-19"];
    ConnectionReused = "connection-reused",
        "A second request is sent on a connection.", ["F-70"];
    ReplyMagicUnchecked = "reply-magic-unchecked",
        "A reply is taken for one whatever its magic.", ["F-71"];
    ReplyCommandSetUnchecked = "reply-command-set-unchecked",
        "A reply is taken for an OK whatever its command set.", ["R-HDR-002"];
    ReplySizeIgnored = "reply-size-ignored",
        "So many bytes of a reply are read as the client expects, whatever its size field says.", ["F-1", "F-2"];
    ReplyOf24InsistedOn = "reply-of-24-insisted-on",
        "An OK of another size than 24 bytes is refused.", ["F-1", "F-2", "F-41"];
    EnvironmentCountIgnored = "environment-count-ignored",
        "The environment block's count of entries is not looked at.", ["F-43", "F-88"];
    EnvironmentEntryWithoutEquals = "environment-entry-without-equals",
        "An entry of the environment without `=` is lost, or ends the client.", ["F-79"];
    NoReadTimeout = "no-read-timeout",
        "The client waits for ever for a target that does not answer.", ["F-75", "R-ERR-004"];
}

/// Whose wrong spelling of `text` stands in `bytes`, where the right one does not. `before` is the string that stands before it.
pub(super) fn misspelled(text: &str, before: Option<&str>, bytes: &[u8]) -> Option<ClientFault> {
    let units: Vec<u16> = text.encode_utf16().collect();
    let len = units.len().saturating_add(1);
    if text.is_empty() {
        let before: Vec<u16> = before?.encode_utf16().collect();
        let before = spelled(before.len().saturating_add(1), &before);
        let ends = |tail: &[u8]| bytes.ends_with(&[&before, tail].concat());
        return (ends(&[0; 2]) || ends(&[0; 6])).then_some(ClientFault::EmptyStringAsTwoBytes);
    }
    if holds(bytes, &spelled(len, &units)) {
        return None;
    }
    let chars = text.chars().count().saturating_add(1);
    let cut: Vec<u16> = text.chars().map(|c| u16::try_from(u32::from(c) & 0xffff).unwrap_or_default()).collect();
    let utf32: Vec<u8> = text.chars().chain(['\0']).flat_map(|c| u32::from(c).to_le_bytes()).collect();
    // As much of it as there would be bytes if a unit had two.
    let half = utf32.get(..chars.saturating_mul(2)).unwrap_or_default();
    let wide = [&utf32[..], half]
        .map(|wide| holds(bytes, &[&le(chars)[..], wide].concat()) || holds(bytes, &[&le(len)[..], wide].concat()));
    let in_bytes = [text.len(), text.len().saturating_add(1), len.saturating_mul(2), units.len().saturating_mul(2)];
    let with_nul = |count: usize| holds(bytes, &spelled(count, &units));
    match () {
        () if wide.contains(&true) => Some(ClientFault::WcharOf4Bytes),
        () if cut.len() != units.len() && [cut.len(), chars, len].iter().any(|count| holds(bytes, &spelled(*count, &cut))) => {
            Some(ClientFault::NonBmpTruncated)
        }
        () if chars != len && with_nul(chars) => Some(ClientFault::StringLengthInChars),
        () if in_bytes.into_iter().any(|count| count != len && count != units.len() && with_nul(count)) => {
            Some(ClientFault::StringLengthInBytes)
        }
        () if holds(bytes, &[&le(units.len())[..], &raw(&units)].concat()) => Some(ClientFault::StringLengthWithoutNul),
        () => None,
    }
}

/// A string whose length says `count`.
fn spelled(count: usize, units: &[u16]) -> Vec<u8> {
    [&le(count)[..], &raw(units), &[0, 0]].concat()
}

fn raw(units: &[u16]) -> Vec<u8> {
    units.iter().flat_map(|unit| unit.to_le_bytes()).collect()
}

fn le(number: usize) -> [u8; 4] {
    u32::try_from(number).unwrap_or(u32::MAX).to_le_bytes()
}

fn holds(bytes: &[u8], part: &[u8]) -> bool {
    bytes.windows(part.len().max(1)).any(|window| window == part)
}

/// How many bytes a message has with these texts as strings, and `rest` bytes of payload beside them.
pub(super) fn size_with(texts: &[&str], rest: usize) -> usize {
    let strings = texts.iter().map(|text| text.encode_utf16().count().saturating_add(1).saturating_mul(2).saturating_add(4));
    strings.fold(rest.saturating_add(20), usize::saturating_add)
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;

    #[test]
    fn wrong_spellings_are_told_apart() {
        let prefix = [9; 20];
        for (text, payload, fault) in [
            ("ab", "03000000 6100 6200 0000", None),
            ("é", "02000000 e900 0000", None),
            ("é", "03000000 e900 0000", Some(ClientFault::StringLengthInBytes)),
            ("é", "04000000 e900 0000", Some(ClientFault::StringLengthInBytes)),
            ("😀", "02000000 3dd8 00de 0000", Some(ClientFault::StringLengthInChars)),
            ("😀", "02000000 00f6 0000", Some(ClientFault::NonBmpTruncated)),
            ("ab", "02000000 6100 6200", Some(ClientFault::StringLengthWithoutNul)),
            ("ab", "03000000 61000000 62000000 00000000", Some(ClientFault::WcharOf4Bytes)),
            ("ab", "03000000 61000000 6200", Some(ClientFault::WcharOf4Bytes)),
            ("ab", "00000000", None),
        ] {
            let payload = hex::decode(payload.replace(' ', "")).unwrap();
            assert_eq!(misspelled(text, None, &[&prefix[..], &payload].concat()), fault, "{text} {payload:02x?}");
        }
        // Behind a name of one letter.
        let name = [2, 0, 0, 0, 0x4e, 0, 0, 0];
        for (end, fault) in [
            (&[1, 0, 0, 0, 0, 0][..], None),
            (&[0, 0, 0, 0], None),
            (&[0, 0], Some(ClientFault::EmptyStringAsTwoBytes)),
            (&[0, 0, 0, 0, 0, 0], Some(ClientFault::EmptyStringAsTwoBytes)),
        ] {
            assert_eq!(misspelled("", Some("N"), &[&name[..], end].concat()), fault);
        }
    }
}
