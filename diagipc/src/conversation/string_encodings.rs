//! Reads a payload that the grammar refuses with each wrong encoding of strings.
#![cfg_attr(not(test), deny(clippy::arithmetic_side_effects))]

use std::char::{REPLACEMENT_CHARACTER, decode_utf16};
use std::collections::BTreeMap;
use std::sync::LazyLock;

use byteorder::{BigEndian, ByteOrder as _, LittleEndian};
use dotnet_diagnostics_ipc::command::{Command, ReplyType};
use dotnet_diagnostics_ipc::message::server::ErrorReply;
use dotnet_diagnostics_ipc_vectors::grammar::{Field, Grammar};

use super::observed::FaultSeen;
use crate::faults::Fault;

pub(super) static GRAMMAR: LazyLock<Grammar> = LazyLock::new(Grammar::of_this_crate);

/// Returns the fault of the wrong encoding with which `read` reads all of `bytes`, and the offset
/// of its first string.
pub(super) fn wrong_spelling(
    bytes: &[u8],
    read: impl Fn(&mut Spelled<'_>) -> Option<()>,
) -> Option<FaultSeen> {
    // An encoding that makes no difference for these bytes explains nothing.
    if first_text(bytes, Spelling::Right, &read).is_some() {
        return None;
    }
    WRONG.into_iter().find_map(|spelling| {
        let (fault, told) = (spelling.fault()?, first_text(bytes, spelling, &read)?);
        let First { field, count, text } = told;
        let what = match spelling {
            Spelling::WithoutNul { counted } => format!(
                "has length {count} and {} units, {}",
                text.encode_utf16().count(),
                if counted { "without its NUL" } else { "none of which is its NUL" }
            ),
            Spelling::NulUncounted => {
                format!("has length {count}, expected {} with its NUL", count.saturating_add(1))
            }
            Spelling::Utf8 { .. } => {
                format!("has length {count} and that many bytes, expected UTF-16 units of 2 bytes")
            }
            Spelling::CountInBytes { .. }
            | Spelling::CountInUtf8 { .. }
            | Spelling::CountInChars => {
                format!(
                    "has length {count}, expected {} units with its NUL",
                    text.encode_utf16().count().saturating_add(1)
                )
            }
            Spelling::BigEndian { .. } => {
                format!("has length {count} as big-endian, {} as little-endian", count.swap_bytes())
            }
            Spelling::Wide { .. } => "has units of 4 bytes, expected 2".into(),
            Spelling::Counts(bytes) => format!("has a length of {bytes} bytes, expected 4"),
            Spelling::Aligned { .. } => {
                "is read if bytes before fields are skipped, so that they are aligned".into()
            }
            _ => return None,
        };
        // The value of a variable may be secret, but reports are shared.
        let shown = text
            .split_once('=')
            .map_or_else(|| format!("{text:?}"), |(name, _)| format!("{name:?}=…"));
        Some(FaultSeen::new(fault, format!("{field} {shown} {what}")))
    })
}

/// Returns the first text if `read` reads all of `bytes` with this encoding.
pub(super) fn first_text(
    bytes: &[u8],
    spelling: Spelling,
    read: impl Fn(&mut Spelled<'_>) -> Option<()>,
) -> Option<First> {
    [true, false].into_iter().find_map(|empty_has_nul| {
        let mut spelled = Spelled { empty_has_nul, ..Spelled::new(bytes, spelling) };
        read(&mut spelled).filter(|()| spelled.rest().is_empty())?;
        // Separators and escape sequences are in a few variables of many environments.
        let is_plausible = spelled.controls.saturating_mul(8) <= spelled.characters;
        spelled.told.filter(|_| is_plausible)
    })
}

/// The first string that is not empty.
pub(super) struct First {
    field: String,
    count: u32,
    text: String,
}

/// A reader of bytes whose strings have one encoding.
pub(super) struct Spelled<'b> {
    bytes: &'b [u8],
    at: usize,
    spelling: Spelling,
    /// Whether an uncounted NUL follows a count of 0 too, although such a string may be absent.
    empty_has_nul: bool,
    field: String,
    told: Option<First>,
    /// The number of characters read.
    characters: usize,
    /// The number of control characters among them.
    controls: usize,
}

impl<'b> Spelled<'b> {
    pub(super) const fn new(bytes: &'b [u8], spelling: Spelling) -> Self {
        Self {
            bytes,
            at: 0,
            spelling,
            empty_has_nul: true,
            field: String::new(),
            told: None,
            characters: 0,
            controls: 0,
        }
    }

    pub(super) fn rest(&self) -> &'b [u8] {
        self.bytes.get(self.at..).unwrap_or_default()
    }

    /// Returns the number of bytes read.
    pub(super) const fn read(&self) -> usize {
        self.at
    }

    /// Sets the name of the next string.
    pub(super) fn call(&mut self, field: String) {
        self.field = field;
    }

    fn take(&mut self, len: usize) -> Option<&'b [u8]> {
        let taken = self.rest().get(..len)?;
        self.at = self.at.saturating_add(len);
        Some(taken)
    }

    /// Skips zeros up to a multiple of `size` if fields are aligned.
    fn align(&mut self, size: usize, is_number: bool) -> Option<()> {
        let Spelling::Aligned { numbers } = self.spelling else { return Some(()) };
        if is_number && !numbers || ![2, 4, 8].contains(&size) {
            return Some(());
        }
        let skipped = self.take(self.at.next_multiple_of(size).saturating_sub(self.at))?;
        if skipped.iter().all(|byte| *byte == 0) { Some(()) } else { None }
    }

    /// Reads fields by the grammar. A conditional field is read if an earlier number selects it.
    pub(super) fn fields(&mut self, fields: &[Field]) -> Option<()> {
        let mut numbers = BTreeMap::new();
        for field in fields {
            let is_there = field.when.as_ref().is_none_or(|when| {
                let of = when.field.as_deref().and_then(|name| numbers.get(name));
                when.is.is_some() && of == when.is.as_ref()
            });
            if is_there {
                self.call(field.name.clone());
                let bytes = self.part(&field.type_name, field.items.as_deref())?;
                if let Some(number) = self.number(bytes) {
                    numbers.insert(field.name.as_str(), number);
                }
            }
        }
        Some(())
    }

    /// Returns the value of four bytes.
    fn number(&self, bytes: &[u8]) -> Option<u32> {
        let bytes = bytes.try_into().ok()?;
        let both = matches!(self.spelling, Spelling::BigEndian { units: true });
        Some(if both { u32::from_be_bytes(bytes) } else { u32::from_le_bytes(bytes) })
    }

    /// Reads a value of a kind or struct of the grammar, and returns its bytes if their number is
    /// fixed. `items` is the type of an array's items.
    pub(super) fn part(&mut self, name: &str, items: Option<&str>) -> Option<&'b [u8]> {
        let size = GRAMMAR.kind(name).and_then(|kind| kind.bytes);
        match (name, size) {
            (_, Some(size)) => {
                self.align(size, true)?;
                let bytes = self.take(size)?;
                let is_no_bool = name == "bool" && !matches!(bytes, [0 | 1]);
                return if is_no_bool { None } else { Some(bytes) };
            }
            ("string", _) => self.text()?,
            ("array", _) => {
                let items = items?;
                (0..self.count()?).try_for_each(|_| self.part(items, None).map(drop))?;
            }
            ("bytes", _) => {
                let count = self.count()?;
                self.take(usize::try_from(count).ok()?)?;
            }
            // Fields that a later version appends must not be explained by a wrong encoding.
            ("rest", _) if self.spelling != Spelling::Right => {}
            ("rest", _) => drop(self.take(self.rest().len())?),
            (name, _) => self.fields(&GRAMMAR.structure(name)?.fields)?,
        }
        Some(&[])
    }

    /// Reads a count of strings, or of anything except units.
    pub(super) fn count(&mut self) -> Option<u32> {
        let bytes = self.take(4)?;
        self.number(bytes)
    }

    pub(super) fn text(&mut self) -> Option<()> {
        self.align(4, false)?;
        let width = if let Spelling::Counts(width) = self.spelling { width } else { 4 };
        let (bytes, is_big) =
            (self.take(width)?, matches!(self.spelling, Spelling::BigEndian { .. }));
        let count = if is_big {
            BigEndian::read_uint(bytes, width)
        } else {
            LittleEndian::read_uint(bytes, width)
        };
        let count = u32::try_from(count).ok()?;
        let n = usize::try_from(count).ok()?;
        if n > self.rest().len() {
            return None;
        }
        let has_uncounted_nul = matches!(
            self.spelling,
            Spelling::NulUncounted
                | Spelling::CountInBytes { uncounted_nul: true }
                | Spelling::Utf8 { uncounted_nul: true }
        );
        if n == 0 && !(has_uncounted_nul && self.empty_has_nul) {
            return Some(());
        }
        let text = match self.spelling {
            Spelling::Right
            | Spelling::BigEndian { .. }
            | Spelling::Counts(_)
            | Spelling::Aligned { .. } => self.units(n, true)?,
            Spelling::WithoutNul { counted } => {
                self.units(n.saturating_sub(usize::from(counted)), false)?
            }
            Spelling::NulUncounted => self.units(n.saturating_add(1), true)?,
            Spelling::CountInBytes { uncounted_nul } => {
                if n % 2 == 1 {
                    return None;
                }
                self.units((n / 2).saturating_add(usize::from(uncounted_nul)), true)?
            }
            Spelling::Utf8 { uncounted_nul } => {
                let bytes = self.take(n.saturating_add(usize::from(uncounted_nul)))?;
                let bytes = match bytes.split_last() {
                    Some((0, text)) => text,
                    _ if uncounted_nul => return None,
                    _ => bytes,
                };
                self.plausible(String::from_utf8(bytes.to_vec()).ok()?)?
            }
            Spelling::CountInChars | Spelling::CountInUtf8 { .. } => {
                // The NUL ends the text.
                let end = self.rest().chunks_exact(2).position(|unit| unit == [0, 0])?;
                let text = self.units(end.saturating_add(1), true)?;
                let counted = match self.spelling {
                    Spelling::CountInUtf8 { uncounted_nul } => {
                        text.len().saturating_add(usize::from(!uncounted_nul))
                    }
                    _ => text.chars().count().saturating_add(1),
                };
                if counted == n { text } else { return None }
            }
            Spelling::Wide { cut: false } => {
                let bytes = self.take(n.saturating_mul(4))?;
                let all =
                    bytes.chunks_exact(4).map(|one| char::from_u32(LittleEndian::read_u32(one)));
                let mut text = all.collect::<Option<String>>()?;
                if text.pop() != Some('\0') {
                    return None;
                }
                self.plausible(text)?
            }
            // Reading these encodings requires the text.
            _ => return None,
        };
        let right = text.encode_utf16().count().saturating_add(1);
        let is_right = self.spelling.needs_the_text() && right == n;
        if self.told.is_none() && !text.is_empty() && !is_right {
            self.told = Some(First { field: self.field.clone(), count, text });
        }
        Some(())
    }

    /// Reads `n` units, with a NUL at the end or without any NUL.
    fn units(&mut self, n: usize, with_nul: bool) -> Option<String> {
        let is_big = matches!(self.spelling, Spelling::BigEndian { units: true });
        let bytes = self.take(n.saturating_mul(2))?;
        let read = if is_big { BigEndian::read_u16 } else { LittleEndian::read_u16 };
        let mut units: Vec<u16> = bytes.chunks_exact(2).map(read).collect();
        if with_nul && units.pop() != Some(0) {
            return None;
        }
        let text: String =
            decode_utf16(units).map(|unit| unit.unwrap_or(REPLACEMENT_CHARACTER)).collect();
        // A correctly encoded string may have any unit.
        if self.spelling == Spelling::Right { Some(text) } else { self.plausible(text) }
    }

    /// Returns the text if it has neither an inner NUL nor half a surrogate pair, to which wrong
    /// encodings lead. Counts its control characters.
    fn plausible(&mut self, text: String) -> Option<String> {
        let is_control = |c: &char| c.is_control() && !c.is_ascii_whitespace();
        self.characters = self.characters.saturating_add(text.chars().count());
        self.controls = self.controls.saturating_add(text.chars().filter(is_control).count());
        if text.contains(['\0', REPLACEMENT_CHARACTER]) { None } else { Some(text) }
    }
}

/// An encoding of strings, right or wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Spelling {
    /// The encoding of the grammar.
    Right,
    /// The count is that of the characters and the NUL.
    CountInChars,
    /// A character above U+FFFF is truncated to one unit.
    NonBmpCut,
    /// Each byte of UTF-8 is a unit, which may be sign-extended.
    BytesAsUnits { signed: bool },
    /// The count does not include the NUL, which is present.
    NulUncounted,
    /// The NUL is missing; the count may include it.
    WithoutNul { counted: bool },
    /// The count is in bytes; it may exclude the NUL.
    CountInBytes { uncounted_nul: bool },
    /// The count is the length in UTF-8; it may exclude the NUL.
    CountInUtf8 { uncounted_nul: bool },
    /// The text is UTF-8, counted in bytes; an uncounted NUL may follow.
    Utf8 { uncounted_nul: bool },
    /// The count is big-endian; the units may be big-endian too.
    BigEndian { units: bool },
    /// Units have four bytes; the text may be cut to the bytes that two-byte units would need.
    Wide { cut: bool },
    /// A byte-order mark precedes each text.
    Marked,
    /// An empty string is only its NUL.
    EmptyWithoutCount,
    /// Counts have this many bytes.
    Counts(usize),
    /// Strings begin at multiples of four bytes; numbers may begin at multiples of their sizes too.
    Aligned { numbers: bool },
}

/// The wrong encodings, the most likely first.
pub(crate) const WRONG: [Spelling; 23] = [
    Spelling::NulUncounted,
    Spelling::WithoutNul { counted: false },
    Spelling::CountInBytes { uncounted_nul: false },
    Spelling::CountInBytes { uncounted_nul: true },
    Spelling::CountInChars,
    Spelling::NonBmpCut,
    Spelling::BytesAsUnits { signed: true },
    Spelling::BytesAsUnits { signed: false },
    Spelling::CountInUtf8 { uncounted_nul: false },
    Spelling::CountInUtf8 { uncounted_nul: true },
    Spelling::Utf8 { uncounted_nul: false },
    Spelling::Utf8 { uncounted_nul: true },
    Spelling::Counts(2),
    Spelling::Counts(8),
    Spelling::BigEndian { units: true },
    Spelling::BigEndian { units: false },
    Spelling::Wide { cut: false },
    Spelling::Wide { cut: true },
    Spelling::WithoutNul { counted: true },
    Spelling::Marked,
    Spelling::EmptyWithoutCount,
    Spelling::Aligned { numbers: false },
    Spelling::Aligned { numbers: true },
];

impl Spelling {
    pub(crate) const fn fault(self) -> Option<Fault> {
        match self {
            Self::Right => None,
            Self::CountInChars => Some(Fault::StringLengthInChars),
            Self::NonBmpCut => Some(Fault::NonBmpTruncated),
            Self::BytesAsUnits { signed: true } => Some(Fault::UnitsSignExtended),
            Self::BytesAsUnits { signed: false } => Some(Fault::BytesAsUnits),
            Self::NulUncounted => Some(Fault::StringLengthWithoutNul),
            Self::WithoutNul { .. } => Some(Fault::StringWithoutNul),
            Self::CountInBytes { .. } | Self::CountInUtf8 { .. } => {
                Some(Fault::StringLengthInBytes)
            }
            Self::Utf8 { .. } => Some(Fault::StringInUtf8),
            Self::BigEndian { .. } => Some(Fault::NumbersBigEndian),
            Self::Wide { .. } => Some(Fault::WcharOf4Bytes),
            Self::Marked => Some(Fault::StringWithByteOrderMark),
            Self::EmptyWithoutCount => Some(Fault::EmptyStringAsTwoBytes),
            Self::Counts(2) => Some(Fault::FieldTooNarrow),
            Self::Counts(_) => Some(Fault::FieldTooWide),
            Self::Aligned { .. } => Some(Fault::FieldsPadded),
        }
    }

    /// Whether this can be recognised only by comparing with the text, because it is read as
    /// another text or not at all.
    pub(crate) const fn needs_the_text(self) -> bool {
        matches!(
            self,
            Self::CountInChars
                | Self::NonBmpCut
                | Self::BytesAsUnits { .. }
                | Self::CountInUtf8 { .. }
                | Self::Wide { cut: true }
                | Self::Marked
                | Self::EmptyWithoutCount
        )
    }

    /// Returns a count in this encoding, `at` bytes after the start of the message.
    pub(crate) fn count(self, count: usize, at: usize) -> Vec<u8> {
        let number = u32::try_from(count).unwrap_or(u32::MAX);
        let mut bytes = match self {
            Self::BigEndian { .. } => number.to_be_bytes().to_vec(),
            _ => number.to_le_bytes().to_vec(),
        };
        match self {
            Self::Counts(len) => bytes.resize(len, 0),
            Self::Aligned { .. } => {
                let padding = at.next_multiple_of(4).saturating_sub(at);
                bytes = [vec![0; padding], bytes].concat();
            }
            _ => {}
        }
        bytes
    }

    /// Returns the string of these units, and a NUL after them, in this encoding. The string begins
    /// `at` bytes after the start of the message.
    pub(crate) fn written(self, units: &[u16], at: usize) -> Vec<u8> {
        let text: String = decode_utf16(units.iter().copied())
            .map(|unit| unit.unwrap_or(REPLACEMENT_CHARACTER))
            .collect();
        let raw = |units: &[u16]| -> Vec<u8> {
            units.iter().chain(&[0]).flat_map(|unit| unit.to_le_bytes()).collect()
        };
        let without_nul = |bytes: Vec<u8>, len: usize| -> Vec<u8> {
            bytes.get(..bytes.len().saturating_sub(len)).unwrap_or_default().to_vec()
        };
        let less = |count: usize, is_less: bool| count.saturating_sub(usize::from(is_less));
        let (right, utf8) = (units.len().saturating_add(1), text.len().saturating_add(1));
        let (count, string) = match self {
            Self::CountInChars => (text.chars().count().saturating_add(1), raw(units)),
            Self::NonBmpCut => {
                let low = |c: char| u16::try_from(u32::from(c) & 0xffff).unwrap_or_default();
                let cut: Vec<u16> = text.chars().map(low).collect();
                (cut.len().saturating_add(1), raw(&cut))
            }
            Self::BytesAsUnits { signed } => {
                let high = |byte: u8| if signed && byte >= 0x80 { 0xff } else { 0 };
                let wide: Vec<u16> =
                    text.bytes().map(|byte| u16::from_le_bytes([byte, high(byte)])).collect();
                (utf8, raw(&wide))
            }
            Self::NulUncounted => (units.len(), raw(units)),
            Self::WithoutNul { counted } => (less(right, !counted), without_nul(raw(units), 2)),
            Self::CountInBytes { uncounted_nul } => {
                (less(right, uncounted_nul).saturating_mul(2), raw(units))
            }
            Self::CountInUtf8 { uncounted_nul } => (less(utf8, uncounted_nul), raw(units)),
            Self::Utf8 { uncounted_nul } => {
                (less(utf8, uncounted_nul), text.bytes().chain([0]).collect())
            }
            Self::BigEndian { units: true } => {
                (right, raw(&units.iter().map(|unit| unit.swap_bytes()).collect::<Vec<_>>()))
            }
            Self::Wide { cut } => {
                let wide: Vec<u8> =
                    text.chars().chain(['\0']).flat_map(|c| u32::from(c).to_le_bytes()).collect();
                let half = if cut { wide.len() / 2 } else { 0 };
                (wide.len() / 4, without_nul(wide, half))
            }
            Self::Marked => (right.saturating_add(1), raw(&[&[0xfeff], units].concat())),
            Self::EmptyWithoutCount if units.is_empty() => return raw(units),
            Self::Right
            | Self::BigEndian { .. }
            | Self::EmptyWithoutCount
            | Self::Counts(_)
            | Self::Aligned { .. } => (right, raw(units)),
        };
        [self.count(count, at), string].concat()
    }
}

/// The type of a payload.
#[derive(Clone, Copy)]
pub(super) enum Layout {
    Error { message: bool },
    Ok(ReplyType),
}

impl Layout {
    /// Returns the layout of a reply with this code to `command`; `None` if any payload is allowed.
    pub(super) fn of(code: Command, command: Option<Command>) -> Option<Self> {
        if code == Command::ERROR {
            return Some(Self::Error { message: ErrorReply::has_message(command) });
        }
        command.and_then(Command::reply_type).map(Self::Ok)
    }

    fn read(self, spelled: &mut Spelled<'_>) -> Option<()> {
        match self {
            Self::Ok(reply_type) => spelled.fields(fields_of(reply_type)?),
            Self::Error { message } => {
                let _ = spelled.part("hresult", None)?;
                if message && !spelled.rest().is_empty() { spelled.text() } else { Some(()) }
            }
        }
    }

    /// Returns the length of its fields at the start of `bytes`.
    pub(super) fn length_in(self, bytes: &[u8]) -> Option<usize> {
        let mut spelled = Spelled::new(bytes, Spelling::Right);
        self.read(&mut spelled)?;
        Some(spelled.read())
    }

    /// Returns the fault of the wrong encoding of strings in a payload.
    pub(super) fn wrong_spelling_in(self, payload: &[u8]) -> Option<FaultSeen> {
        let has_strings = match self {
            Self::Ok(reply_type) => {
                matches!(
                    reply_type,
                    ReplyType::ProcessInfo | ReplyType::ProcessInfo2 | ReplyType::ProcessInfo3
                )
            }
            Self::Error { message } => message,
        };
        if has_strings { wrong_spelling(payload, |spelled| self.read(spelled)) } else { None }
    }
}

fn fields_of(reply_type: ReplyType) -> Option<&'static [Field]> {
    let command = Command::known().find(|command| command.reply_type() == Some(reply_type))?;
    Some(&GRAMMAR.reply_to(command)?.fields)
}

/// Whether the payload of a request is right except for this encoding of its strings.
pub(crate) fn is_request_in(spelling: Spelling, command: Command, payload: &[u8]) -> bool {
    let name = command.to_string();
    let request = GRAMMAR.commands.iter().find(|request| request.name == name);
    request.is_some_and(|request| {
        first_text(payload, spelling, |spelled| spelled.fields(&request.fields)).is_some()
    })
}

#[cfg(test)]
mod spelling_tests {
    use super::*;

    #[test]
    fn few_control_characters_do_not_hide_an_encoding() {
        let both = |spelled: &mut Spelled<'_>| {
            spelled.text()?;
            spelled.text()
        };
        for (second, fault) in
            [("PS1=\u{1b}[0m", Some(Fault::StringLengthWithoutNul)), ("\u{1}\u{2}\u{3}", None)]
        {
            let mut bytes = Vec::new();
            for text in ["PATH=/usr/bin", second] {
                let units: Vec<u16> = text.encode_utf16().collect();
                bytes.extend(Spelling::NulUncounted.written(&units, 0));
            }
            let seen = wrong_spelling(&bytes, both);
            assert_eq!(seen.map(|seen| seen.fault), fault, "{second:?}");
        }
    }

    #[test]
    fn each_writes_what_its_name_says() {
        for (spelling, text, bytes) in [
            (Spelling::Right, "é", "02000000 e900 0000"),
            (Spelling::CountInChars, "😀", "02000000 3dd8 00de 0000"),
            (Spelling::NonBmpCut, "😀", "02000000 00f6 0000"),
            (Spelling::BytesAsUnits { signed: true }, "é", "03000000 c3ff a9ff 0000"),
            (Spelling::BytesAsUnits { signed: false }, "é", "03000000 c300 a900 0000"),
            (Spelling::NulUncounted, "ab", "02000000 6100 6200 0000"),
            (Spelling::WithoutNul { counted: false }, "ab", "02000000 6100 6200"),
            (Spelling::WithoutNul { counted: true }, "ab", "03000000 6100 6200"),
            (Spelling::CountInBytes { uncounted_nul: false }, "é", "04000000 e900 0000"),
            (Spelling::CountInBytes { uncounted_nul: true }, "ab", "04000000 6100 6200 0000"),
            (Spelling::CountInUtf8 { uncounted_nul: false }, "é", "03000000 e900 0000"),
            (Spelling::CountInUtf8 { uncounted_nul: true }, "€", "03000000 ac20 0000"),
            (Spelling::Utf8 { uncounted_nul: false }, "é", "03000000 c3a9 00"),
            (Spelling::Utf8 { uncounted_nul: true }, "é", "02000000 c3a9 00"),
            (Spelling::BigEndian { units: true }, "a", "00000002 0061 0000"),
            (Spelling::BigEndian { units: false }, "a", "00000002 6100 0000"),
            (Spelling::Wide { cut: false }, "ab", "03000000 61000000 62000000 00000000"),
            (Spelling::Wide { cut: true }, "ab", "03000000 61000000 6200"),
            (Spelling::Marked, "a", "03000000 fffe 6100 0000"),
            (Spelling::EmptyWithoutCount, "", "0000"),
            (Spelling::EmptyWithoutCount, "a", "02000000 6100 0000"),
            (Spelling::Counts(2), "a", "0200 6100 0000"),
            (Spelling::Counts(8), "a", "0200000000000000 6100 0000"),
            (Spelling::Aligned { numbers: false }, "a", "0000 02000000 6100 0000"),
        ] {
            let units: Vec<u16> = text.encode_utf16().collect();
            let bytes = hex::decode(bytes.replace(' ', "")).unwrap();
            assert_eq!(spelling.written(&units, 22), bytes, "{spelling:?} {text}");
        }
    }
}
