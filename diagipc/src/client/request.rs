//! Judges the bytes of a request as strictly as possible.
#![cfg_attr(not(test), deny(clippy::arithmetic_side_effects))]

use dotnet_diagnostics_ipc::command::Command;
use dotnet_diagnostics_ipc::header::{HEADER_LEN, MAGIC, RawHeader};
use dotnet_diagnostics_ipc::hresult::HResult;
use dotnet_diagnostics_ipc_vectors::{DecodeRefusal, Decoded};
use memchr::memmem;
use serde_json::Value;

use super::expected_fields::{
    Wanted, excerpt, is_guid_swapped, is_implied, shortened, values_of, wanted,
};
use super::facts::Findings;
use super::operations::CommandLine;
use super::output_check::fault_in_text;
use super::scenario::Arguments;
use super::{Argument, Operation};
use crate::conversation::{ByteCount, Spelling, WRONG, is_request_in, request_as};
use crate::faults::Fault;

/// A request as received, with the task that it should perform.
pub(super) struct ReceivedRequest<'a> {
    pub(super) operation: Operation,
    pub(super) line: &'a CommandLine,
    pub(super) arguments: &'a Arguments,
    /// As many bytes as the size field says, or as were received.
    pub(super) bytes: &'a [u8],
    pub(super) after: &'a [u8],
    pub(super) fds: usize,
    /// Whether the request was to be read completely.
    pub(super) is_whole: bool,
    /// Whether this is an older command after a newer one was unknown. It may not be able to
    /// express everything that was requested.
    pub(super) falls_back: bool,
}

impl ReceivedRequest<'_> {
    /// Returns the command in the header, if it was received.
    pub(super) fn command(&self) -> Option<Command> {
        RawHeader::read(self.bytes).command
    }

    /// Returns the errors in the request, and the error with which a runtime refuses it, if any.
    pub(super) fn judge(&self) -> (Findings, Option<HResult>) {
        let mut findings = Findings::default();
        if self.fds > 0 {
            let text = format!("{} descriptors are sent with the request's bytes", self.fds);
            findings.must(Fault::DescriptorWithTheRequest, text);
        }
        findings.extend(self.header());
        let mut refusal = self.refused_for_its_header();
        if self.is_whole && refusal.is_none() {
            let (payload, refused) = self.payload();
            findings.extend(payload);
            refusal = refused;
        }
        if !self.after.is_empty() && !findings.has(Fault::SizeWrong) && refusal.is_none() {
            let (count, bytes) = (ByteCount(self.after.len()), excerpt(self.after));
            findings
                .must(Fault::BytesAfterTheMessage, format!("{count} after the request: {bytes}"));
        }
        let waits_for_ever = self.fds > 0 && self.operation == Operation::UserEvents;
        (findings, refusal.or(waits_for_ever.then_some(HResult::BAD_ENCODING)))
    }

    /// Checks what a runtime checks before the payload, in the same order (F-69).
    fn refused_for_its_header(&self) -> Option<HResult> {
        let size = RawHeader::read(self.bytes).size.map(usize::from);
        let is_cut = self.is_whole && size != Some(self.bytes.len());
        match self.command() {
            _ if self.bytes.len() < self.least() || is_cut => Some(HResult::BAD_ENCODING),
            _ if !self.bytes.starts_with(&MAGIC) => Some(HResult::UNKNOWN_MAGIC),
            Some(command) if self.operation.commands().contains(&command) => None,
            _ => Some(HResult::UNKNOWN_COMMAND),
        }
    }

    /// The minimum length. A request that was not read to its end may lack its last byte.
    const fn least(&self) -> usize {
        if self.is_whole { 20 } else { 19 }
    }

    pub(super) fn header(&self) -> Findings {
        let mut findings = Findings::default();
        let len = self.bytes.len();
        if len < self.least() {
            let text = format!("only {} of a header received", ByteCount(len));
            findings.must(Fault::PayloadMalformed, text);
            return findings;
        }
        // Bytes that were not read count as 0.
        let mut bytes = [0; HEADER_LEN];
        bytes.iter_mut().zip(self.bytes).for_each(|(to, from)| *to = *from);
        let RawHeader {
            magic: Some(magic),
            size: Some(size),
            command: Some(command),
            reserved: Some(reserved),
        } = RawHeader::read(&bytes)
        else {
            return findings;
        };
        if magic != MAGIC {
            findings.must(Fault::MagicWrong, format!("the magic is {}", hex::encode(magic)));
        }
        if self.is_whole && usize::from(size) != len {
            let is_swapped = usize::from(size.swap_bytes()) == len;
            let fault = if is_swapped { Fault::NumbersBigEndian } else { Fault::SizeWrong };
            findings.must(fault, format!("size is {size}, but {len} bytes were received"));
        }
        let commands = self.operation.commands();
        if commands.contains(&command) {
            if reserved != 0 {
                let text = format!("reserved is {reserved:#06x}, expected 0x0000");
                findings.must(Fault::ReservedNotZero, text);
            }
        } else if magic == MAGIC {
            let is_off = commands.iter().any(|wanted| is_off_by_one(*wanted, command, reserved));
            let fault = if is_off { Fault::CommandSetOffByOne } else { Fault::AnotherCommandSent };
            let text = format!("the command is {command}, which does not do what was requested");
            findings.must(fault, text);
        }
        findings
    }

    /// Returns the errors in the payload, and the error with which a runtime refuses it, if any.
    fn payload(&self) -> (Findings, Option<HResult>) {
        let mut findings = Findings::default();
        let all = [self.bytes, self.after].concat();
        // The header has already been judged.
        let mut bytes = self.bytes.to_vec();
        RawHeader { reserved: Some(0), ..RawHeader::default() }.write(&mut bytes);
        let decoded = self.decode(&bytes);
        let is_wrong = decoded.as_ref().map_or(true, |decoded| !decoded.canonical);
        let spelling = self.misspelling(&all, is_wrong);
        let decoded = match decoded {
            Ok(decoded) => decoded,
            Err(refusal) => {
                let fault = spelling.or_else(|| self.fault_in_size(&all));
                let text = format!(
                    "the payload is malformed: {} (byte {})",
                    refusal.message, refusal.fault.offset
                );
                findings.must(fault.unwrap_or(Fault::PayloadMalformed), text);
                return (findings, Some(refusal.answer.unwrap_or(HResult::BAD_ENCODING)));
            }
        };
        if !decoded.canonical {
            let zeroes = self.bytes.iter().rev().take_while(|byte| **byte == 0).count();
            let fault = if zeroes > 4 { Fault::SizeOf4ByteUnits } else { Fault::NotCanonical };
            findings.must(
                spelling.unwrap_or(fault),
                "it is not canonical: a bool other than 0 and 1, or bytes after the last field",
            );
        }
        if let Some(limit) = &decoded.limit {
            let fault = spelling.unwrap_or(Fault::OutsideTheLimits);
            findings.must(fault, format!("a server refuses it: {limit}"));
        }
        for (argument, field, value) in wanted(self.operation, self.line, self.arguments) {
            let seen = values_of(&decoded.value, field);
            let shown = value.shown();
            if seen.is_empty() {
                if !self.falls_back && !is_implied(argument, &value) {
                    let command = self.command().and_then(Command::name).unwrap_or_default();
                    let text = format!(
                        "{command} has no {field}, which must be {shown} (argument {argument})"
                    );
                    findings.must(Fault::ValueNotAsked, text);
                }
            } else if !seen.iter().any(|seen| value.is(seen)) {
                let has_two_nuls = seen.iter().any(|seen| value.is_before_a_nul(seen));
                let fault = if has_two_nuls {
                    Fault::StringWithTwoNuls
                } else {
                    spelling.unwrap_or_else(|| fault_in_value(argument, &value, &seen))
                };
                let seen: Vec<_> = seen.iter().map(|value| shortened(&value.to_string())).collect();
                let seen = seen.join(", ");
                let text = format!("{field} is {seen}, expected {shown} (argument {argument})");
                findings.must(fault, text);
            }
        }
        (findings, decoded.limit.map(|_| HResult::BAD_ENCODING))
    }

    pub(super) fn decode(&self, bytes: &[u8]) -> Result<Decoded, DecodeRefusal> {
        request_as(self.command()).decode(bytes)
    }

    /// Returns the fault in how the strings of the request are encoded. `is_wrong` says that the
    /// request is not a valid one with other values.
    fn misspelling(&self, bytes: &[u8], is_wrong: bool) -> Option<Fault> {
        // Whether everything is right except for this encoding of strings.
        let explains = |spelling: &Spelling| {
            let payload = self.bytes.get(HEADER_LEN..).unwrap_or_default();
            let is_in = |command| is_request_in(*spelling, command, payload);
            is_wrong && self.command().is_some_and(is_in)
        };
        let is_padded = |spelling: &Spelling| {
            matches!(spelling, Spelling::Aligned { .. }) && explains(spelling)
        };
        if let Some(spelling) = WRONG.into_iter().find(is_padded) {
            return spelling.fault();
        }
        let with_text = [
            Argument::Name,
            Argument::Path,
            Argument::Provider,
            Argument::Value,
            Argument::Arguments,
        ];
        let given = with_text.iter().filter(|argument| self.line.says_in_any_way(**argument));
        // In an array, no text before the string shows where it begins.
        let (mut before, mut is_one_right) = (None, false);
        for text in given.filter_map(|argument| self.arguments.get(argument)) {
            // An empty text of a provider may be absent, and is not the last field.
            let is_last = self.operation == Operation::SetEnv || self.operation.streams();
            let fault = if !text.is_empty() {
                is_one_right |= holds(bytes, &string(text));
                misspelled(text, bytes, |spelling| explains(&spelling))
            } else if is_last {
                empty_at_the_end(before, bytes)
            } else {
                empty_before_zeroes(before, bytes)
            };
            if fault.is_some() {
                return fault;
            }
            before = Some(text.as_str());
        }
        WRONG.into_iter().find(|spelling| !is_one_right && explains(spelling))?.fault()
    }

    /// Returns the fault if another number in the size field would make everything right.
    fn fault_in_size(&self, all: &[u8]) -> Option<Fault> {
        // For user_events the last byte belongs to the descriptor.
        let without_last = all.split_last().map_or(all, |(_, rest)| rest);
        let is_user_events = self.operation == Operation::UserEvents;
        let mut whole = if is_user_events { without_last } else { all }.to_vec();
        let size = Some(u16::try_from(whole.len()).ok()?);
        RawHeader { size, ..RawHeader::default() }.write(&mut whole);
        let is_right =
            whole != self.bytes && self.decode(&whole).is_ok_and(|decoded| decoded.canonical);
        is_right.then_some(Fault::SizeWrong)
    }
}

/// Whether the command is one byte off, or its set is off by one.
fn is_off_by_one(wanted: Command, seen: Command, reserved: u16) -> bool {
    let Command { set, id } = wanted;
    let is_shifted = seen == Command { set: 0, id: set } && reserved == u16::from(id);
    let others = [
        Command { set: set.wrapping_add(1), id },
        Command { set: set.wrapping_sub(1), id },
        Command { set: id, id: set },
        Command { set: id, id: 0 },
    ];
    is_shifted || others.contains(&seen)
}

/// Returns the fault that explains a wrong value.
fn fault_in_value(argument: Argument, wanted: &Wanted, seen: &[&Value]) -> Fault {
    let parsed = |text: &str| text.parse::<u64>().ok();
    let number = |value: &Value| value.as_u64().or_else(|| value.as_str().and_then(parsed));
    let is_swapped = |wanted: u64, seen: u64| {
        let half = u32::try_from(wanted).ok().map(|wanted| u64::from(wanted.swap_bytes()));
        wanted != seen && (wanted.swap_bytes() == seen || half == Some(seen))
    };
    let mut texts = seen.iter().filter_map(|seen| seen.as_str());
    let text = match wanted {
        Wanted::Absent if argument == Argument::Value => return Fault::UnsetByEmptyValue,
        Wanted::Plain(text) => text,
        Wanted::Text(text) | Wanted::KeyValues(text) => {
            let mut changed = texts.filter_map(|seen| fault_in_text(text, seen));
            return changed.next().unwrap_or(Fault::ValueNotAsked);
        }
        _ => return Fault::ValueNotAsked,
    };
    let numbers = parsed(text).zip(seen.iter().find_map(|value| number(value)));
    match (argument, numbers) {
        (Argument::TimeoutMs, Some((ms, seen))) if ms > 0 && ms / 1000 == seen => {
            Fault::AttachTimeoutInSeconds
        }
        (Argument::Clsid, _) if texts.any(|seen| is_guid_swapped(text, seen)) => {
            Fault::GuidBigEndian
        }
        (_, Some((wanted, seen))) if is_swapped(wanted, seen) => Fault::NumbersBigEndian,
        _ => Fault::ValueNotAsked,
    }
}

/// Returns the fault if `bytes` have `text` in a wrong encoding and not in the right one. If two
/// encodings look the same, prefers one that is right for ASCII, then one that `explains_all`
/// bytes.
fn misspelled(text: &str, bytes: &[u8], explains_all: impl Fn(Spelling) -> bool) -> Option<Fault> {
    let units: Vec<u16> = text.encode_utf16().collect();
    let right = string(text);
    if holds(bytes, &right) {
        return None;
    }
    let is_written = |wrong: &Spelling| {
        let written = wrong.written(&units, 0);
        // A request that is truncated in its NUL has the start of the right encoding.
        let is_cut = right.starts_with(&written) && !explains_all(*wrong);
        written != right && !is_cut && holds(bytes, &written)
    };
    let found: Vec<Spelling> = WRONG.into_iter().filter(is_written).collect();
    let is_beyond_ascii = |wrong: &&Spelling| wrong.needs_the_text() && !text.is_ascii();
    let explained = || found.iter().find(|wrong| explains_all(**wrong));
    found.iter().find(is_beyond_ascii).or_else(explained).or(found.first())?.fault()
}

/// Returns the fault with which an empty text after `before` is encoded at the end of `bytes`.
fn empty_at_the_end(before: Option<&str>, bytes: &[u8]) -> Option<Fault> {
    let before = string(before?);
    let ends = |tail: &[u8]| bytes.ends_with(&[&before, tail].concat());
    (ends(&[0; 2]) || ends(&[0; 6])).then_some(Fault::EmptyStringAsTwoBytes)
}

/// Returns the fault of an empty text that precedes an event filter without events, and an array.
/// The zeroes after `before` (absent text) or after the text's length (empty text) are a byte and
/// lengths.
fn empty_before_zeroes(before: Option<&str>, bytes: &[u8]) -> Option<Fault> {
    let before = string(before?);
    let at = memmem::find(bytes, &before)?;
    let zeroes =
        bytes.iter().skip(at.saturating_add(before.len())).take_while(|byte| **byte == 0).count();
    (zeroes % 4 == 3).then_some(Fault::EmptyStringAsTwoBytes)
}

pub(super) fn string(text: &str) -> Vec<u8> {
    Spelling::Right.written(&text.encode_utf16().collect::<Vec<_>>(), 0)
}

fn holds(bytes: &[u8], part: &[u8]) -> bool {
    !part.is_empty() && memmem::find(bytes, part).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::Operations;
    use crate::client::scenario::plain;

    const SET: &[u8] =
        b"DOTNET_IPC_V1\0\x32\0\x04\x03\0\0\x05\0\0\0N\0A\0M\0E\0\0\0\x06\0\0\0v\0a\0l\0u\0e\0\0\0";

    /// Judges the bytes sent by a client with this command line and these arguments.
    fn judged_as(
        operation: Operation,
        line: &str,
        arguments: &Arguments,
        (bytes, after, fds): (&[u8], &[u8], usize),
        (is_whole, falls_back): (bool, bool),
    ) -> (Findings, Option<HResult>) {
        let text = format!("[operations.{operation}]\ncommand = \"x {line}\"\n");
        let operations = Operations::parse("x.toml", &text).unwrap();
        let line = operations.get(operation).unwrap();
        let request =
            ReceivedRequest { operation, line, arguments, bytes, after, fds, is_whole, falls_back };
        request.judge()
    }

    /// Judges the bytes sent by a client that should set NAME to value.
    fn judged(bytes: &[u8], after: &[u8], is_whole: bool) -> (Findings, Option<HResult>) {
        let (line, arguments) = ("{name} {value}", plain(Operation::SetEnv));
        let received = (bytes, after, 0);
        judged_as(Operation::SetEnv, line, &arguments, received, (is_whole, false))
    }

    fn with(at: usize, byte: u8) -> Vec<u8> {
        let mut bytes = SET.to_vec();
        bytes[at] = byte;
        bytes
    }

    #[test]
    fn request_valid_has_no_findings() {
        assert_eq!(judged(SET, &[], true), (Findings::default(), None));
        // A request that was not read to its end is judged only by its header.
        assert_eq!(judged(&SET[..20], &[], false), (Findings::default(), None));
    }

    #[test]
    fn request_each_fault_is_reported() {
        let is = |bytes: &[u8], fault: Fault, text: &str, answer: Option<HResult>| {
            let (findings, refusal) = judged(bytes, &[], true);
            assert_eq!(
                (findings.texts(), findings.faults(), refusal),
                ([text].to_vec(), [fault].to_vec(), answer)
            );
        };
        let refused = Some(HResult::BAD_ENCODING);
        is(&SET[..19], Fault::PayloadMalformed, "only 19 bytes of a header received", refused);
        is(
            &with(12, b'2'),
            Fault::MagicWrong,
            "the magic is 444f544e45545f4950435f563200",
            Some(HResult::UNKNOWN_MAGIC),
        );
        is(&SET[..49], Fault::SizeWrong, "size is 50, but 49 bytes were received", refused);
        let command = "the command is Process/ProcessInfo2, which does not do what was requested";
        is(&with(17, 4), Fault::AnotherCommandSent, command, Some(HResult::UNKNOWN_COMMAND));
        // A runtime accepts these, so the scenario continues.
        is(&with(19, 1), Fault::ReservedNotZero, "reserved is 0x0100, expected 0x0000", None);
        is(
            &with(24, b'X'),
            Fault::ValueNotAsked,
            "name is \"XAME\", expected \"NAME\" (argument name)",
            None,
        );
        let (malformed, refusal) = judged(&with(20, 200), &[], true);
        assert!(
            matches!(&malformed.texts()[..], [one] if one.starts_with("the payload is malformed: ")),
            "{malformed:?}"
        );
        assert_eq!(refusal, refused);
        let (surplus, refusal) = judged(SET, &[0xab; 70], true);
        assert_eq!(surplus.texts(), [format!("70 bytes after the request: {}…", "ab".repeat(64))]);
        assert_eq!((surplus.faults(), refusal), ([Fault::BytesAfterTheMessage].to_vec(), None));
    }

    #[test]
    fn request_several_faults_are_all_reported() {
        let mut bytes = with(19, 1);
        bytes[24] = b'X';
        let (line, arguments) = ("{name} {value}", plain(Operation::SetEnv));
        let received = (&bytes[..], &b"!"[..], 1);
        let (findings, _) = judged_as(Operation::SetEnv, line, &arguments, received, (true, false));
        let all = [
            Fault::DescriptorWithTheRequest,
            Fault::ReservedNotZero,
            Fault::ValueNotAsked,
            Fault::BytesAfterTheMessage,
        ];
        assert_eq!(findings.faults(), all);
    }

    /// `CollectTracing2` with a provider `P`, keywords 1 and level 4, and without rundown.
    const COLLECT2: &[u8] = b"DOTNET_IPC_V1\0\x39\0\x02\x03\0\0\xfa\0\0\0\x01\0\0\0\0\x01\0\0\0\
        \x01\0\0\0\0\0\0\0\x04\0\0\0\x02\0\0\0P\0\0\0\0\0\0\0";

    #[test]
    fn value_that_an_older_command_cannot_express_must_not_get_lost() {
        let line = "{rundown} {stacks} {events} {buffer_mode}";
        let judged = |argument: Argument, value: &str, falls_back| {
            let mut arguments = plain(Operation::Trace);
            arguments.insert(Argument::Rundown, "0".to_owned());
            arguments.insert(argument, value.to_owned());
            let received = (COLLECT2, &[][..], 0);
            let (findings, refusal) =
                judged_as(Operation::Trace, line, &arguments, received, (true, falls_back));
            assert_eq!(refusal, None);
            findings.texts().concat()
        };
        for (argument, value, found) in [
            (Argument::Rundown, "0", ""),
            (Argument::Rundown, "16", "rundownKeyword is false, expected 16 (argument rundown)"),
            (
                Argument::Stacks,
                "false",
                "CollectTracing2 has no requestStackwalk, which must be false (argument stacks)",
            ),
            (
                Argument::Events,
                "7",
                "CollectTracing2 has no providers.filter, which must be the events 7 (argument events)",
            ),
            (
                Argument::BufferMode,
                "1",
                "CollectTracing2 has no sessionBufferMode, which must be 1 (argument buffer_mode)",
            ),
        ] {
            assert_eq!(judged(argument, value, false), found);
        }
        // After UNKNOWN_COMMAND.
        assert_eq!(judged(Argument::Events, "7", true), "");
    }

    #[test]
    fn guid_with_swapped_byte_order_is_recognised() {
        let (guid, turned) =
            ("00112233-4455-6677-8899-aabbccddeeff", "33221100-5544-7766-8899-aabbccddeeff");
        assert!(is_guid_swapped(guid, turned) && !is_guid_swapped(guid, guid));
    }

    #[test]
    fn wrong_spellings_are_distinguished() {
        let prefix = [9; 20];
        for (text, payload, fault) in [
            ("ab", "03000000 6100 6200 0000", None),
            ("é", "02000000 e900 0000", None),
            ("é", "03000000 e900 0000", Some(Fault::StringLengthInBytes)),
            ("é", "04000000 e900 0000", Some(Fault::StringLengthInBytes)),
            ("😀", "02000000 3dd8 00de 0000", Some(Fault::StringLengthInChars)),
            ("😀", "02000000 00f6 0000", Some(Fault::NonBmpTruncated)),
            ("ab", "02000000 6100 6200", Some(Fault::StringWithoutNul)),
            ("ab", "02000000 6100 6200 0000", Some(Fault::StringLengthWithoutNul)),
            ("ab", "03000000 61000000 62000000 00000000", Some(Fault::WcharOf4Bytes)),
            ("ab", "03000000 61000000 6200", Some(Fault::WcharOf4Bytes)),
            ("ab", "00000000", None),
            ("é", "03000000 c3a9 00", Some(Fault::StringInUtf8)),
            ("é", "03000000 c3ff a9ff 0000", Some(Fault::UnitsSignExtended)),
            ("é", "03000000 c300 a900 0000", Some(Fault::BytesAsUnits)),
            ("é", "00000002 e900 0000", Some(Fault::NumbersBigEndian)),
        ] {
            let payload = hex::decode(payload.replace(' ', "")).unwrap();
            assert_eq!(
                misspelled(text, &[&prefix[..], &payload].concat(), |_| false),
                fault,
                "{text} {payload:02x?}"
            );
        }
        // After a name of one letter, at the end, or before a filter without events and the length
        // of a tracepoint's name.
        let name = &[2, 0, 0, 0, 0x4e, 0, 0, 0][..];
        let two_bytes = Some(Fault::EmptyStringAsTwoBytes);
        for (empty, at_the_end, before_zeroes) in [
            (&[1, 0, 0, 0, 0, 0][..], None, None),
            (&[0, 0, 0, 0], None, None),
            (&[0, 0], two_bytes, two_bytes),
        ] {
            let filtered = [name, empty, &[0, 0, 0, 0, 0, 6, 0, 0, 0]].concat();
            assert_eq!(empty_at_the_end(Some("N"), &[name, empty].concat()), at_the_end);
            assert_eq!(empty_before_zeroes(Some("N"), &filtered), before_zeroes);
        }
        assert_eq!(empty_at_the_end(Some("N"), &[name, &[0; 6]].concat()), two_bytes);
    }
}
