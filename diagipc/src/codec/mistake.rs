//! What a codec with a common mistake writes and reads.

use dotnet_diagnostics_ipc::header::{HEADER_LEN, MAGIC};
use dotnet_diagnostics_ipc::wire::Guid;
use dotnet_diagnostics_ipc_vectors::{Annotation, FieldKind, TypedCodec, Value};

use crate::conversation::{Spelling, WRONG, guid_reversed};
use crate::faults::Fault;

/// A mistake in all parts of what is written.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Mistake {
    /// The size field is the length of the payload.
    SizeOfPayload,
    /// GUIDs in the byte order of their text.
    GuidAsText,
    /// Numbers of eight bytes are written in four.
    NarrowNumbers,
    /// An encoding of strings; numbers are in its byte order.
    Spelling(Spelling),
}

impl Mistake {
    /// The likeliest first.
    fn all() -> impl Iterator<Item = Self> {
        let spellings = WRONG.into_iter().map(Self::Spelling);
        [Self::SizeOfPayload, Self::GuidAsText]
            .into_iter()
            .chain(spellings)
            .chain([Self::NarrowNumbers])
    }

    const fn fault(self) -> Option<Fault> {
        match self {
            Self::SizeOfPayload => Some(Fault::SizeWrong),
            Self::GuidAsText => Some(Fault::GuidBigEndian),
            Self::NarrowNumbers => Some(Fault::FieldTooNarrow),
            Self::Spelling(spelling) => spelling.fault(),
        }
    }
}

/// The mistake with which exactly `wire` is written where `expected` is right.
pub(super) fn in_bytes(subject: TypedCodec, wire: &[u8], expected: &[u8]) -> Option<Fault> {
    let notes = subject.explain(expected);
    let is_written = |mistake| {
        let written = Writer::new(expected, &notes, mistake).written();
        written != expected && written == wire
    };
    let common = Mistake::all().find(|mistake| is_written(*mistake));
    common.and_then(Mistake::fault).or_else(|| in_header(wire, expected))
}

/// The only part of the header that differs.
fn in_header(wire: &[u8], expected: &[u8]) -> Option<Fault> {
    if !expected.starts_with(&MAGIC) || wire.len() != expected.len() || wire.len() < HEADER_LEN {
        return None;
    }
    let differs: Vec<usize> =
        (0..wire.len()).filter(|at| wire.get(*at) != expected.get(*at)).collect();
    let (first, last) = (differs.first()?, differs.last()?);
    [(0..14, Fault::MagicWrong), (14..16, Fault::SizeWrong), (18..20, Fault::ReservedNotZero)]
        .into_iter()
        .find(|(part, _)| part.contains(first) && part.contains(last))
        .map(|(_, fault)| fault)
}

/// The mistake with which a value is read as `seen`.
pub(super) fn in_value(seen: &Value, expected: &Value) -> Option<Fault> {
    let guid = |value: &Value| value.as_str()?.parse::<Guid>().ok();
    if let (Some(seen), Some(expected)) = (guid(seen), guid(expected)) {
        return (seen.to_bytes() == guid_reversed(expected.to_bytes()))
            .then_some(Fault::GuidBigEndian);
    }
    let (seen, expected) = (number(seen)?, number(expected)?);
    let is_swapped = seen == expected.swap_bytes()
        || u32::try_from(expected).is_ok_and(|number| seen == u64::from(number.swap_bytes()))
        || u16::try_from(expected).is_ok_and(|number| seen == u64::from(number.swap_bytes()));
    (is_swapped && seen != expected).then_some(Fault::NumbersBigEndian)
}

/// A number, as the vectors write it.
fn number(value: &Value) -> Option<u64> {
    let text = || {
        let text = value.as_str()?;
        match text.strip_prefix("0x") {
            Some(digits) => u64::from_str_radix(digits, 16).ok(),
            None => text.parse().ok(),
        }
    };
    value.as_u64().or_else(text)
}

/// Writes right bytes again with a mistake.
struct Writer<'e> {
    expected: &'e [u8],
    notes: &'e [Annotation],
    mistake: Mistake,
    out: Vec<u8>,
}

impl<'e> Writer<'e> {
    const fn new(expected: &'e [u8], notes: &'e [Annotation], mistake: Mistake) -> Self {
        Self { expected, notes, mistake, out: Vec::new() }
    }

    fn written(mut self) -> Vec<u8> {
        let is_text = |note: &Annotation| note.kind == FieldKind::Units;
        let has_text = self.notes.iter().any(|note| is_text(note) && note.len > 2);
        for (note, next) in self.notes.iter().zip(self.notes.iter().skip(1).map(Some).chain([None]))
        {
            let bytes = self.bytes_of(note);
            match note.kind {
                FieldKind::StringLength => {
                    let units = next.filter(|next| is_text(next)).map(|next| self.bytes_of(next));
                    self.string(bytes, units.unwrap_or_default(), has_text);
                }
                FieldKind::Units => {}
                _ => self.part(note, bytes),
            }
        }
        if self.expected.starts_with(&MAGIC) {
            let whole = u16::try_from(self.out.len()).unwrap_or(u16::MAX);
            let header = u16::try_from(HEADER_LEN).unwrap_or_default();
            let size = match self.mistake {
                Mistake::SizeOfPayload => whole.saturating_sub(header).to_le_bytes(),
                Mistake::Spelling(Spelling::BigEndian { .. }) => whole.to_be_bytes(),
                _ => whole.to_le_bytes(),
            };
            if let Some(field) = self.out.get_mut(14..16) {
                field.copy_from_slice(&size);
            }
        }
        self.out
    }

    fn bytes_of(&self, note: &Annotation) -> &'e [u8] {
        self.expected.get(note.offset..note.offset + note.len).unwrap_or_default()
    }

    /// A part that is no string.
    fn part(&mut self, note: &Annotation, bytes: &[u8]) {
        let is_number = !note.text.is_empty() && [2, 4, 8].contains(&note.len);
        let mut bytes = bytes.to_vec();
        match self.mistake {
            Mistake::GuidAsText if !note.text.is_empty() => {
                if let Ok(guid) = <[u8; 16]>::try_from(bytes.as_slice()) {
                    bytes = guid_reversed(guid).to_vec();
                }
            }
            Mistake::Spelling(Spelling::BigEndian { .. }) if is_number => bytes.reverse(),
            Mistake::Spelling(Spelling::Aligned { numbers: true }) if is_number => {
                let padding = self.out.len().next_multiple_of(note.len) - self.out.len();
                bytes = [vec![0; padding], bytes].concat();
            }
            Mistake::NarrowNumbers if is_number && note.len == 8 => bytes.truncate(4),
            _ => {}
        }
        self.out.extend(bytes);
    }

    /// A string. `has_text`: one in these bytes is neither absent nor empty.
    fn string(&mut self, length: &[u8], units: &[u8], has_text: bool) {
        let bytes = match self.mistake {
            Mistake::Spelling(Spelling::WithoutNul { .. }) if !has_text => {
                // An empty string would be an absent one, or have a length of two bytes.
                [length, units].concat()
            }
            Mistake::Spelling(spelling) => {
                let mut all: Vec<u16> = units
                    .chunks_exact(2)
                    .map(|unit| unit.iter().rev().fold(0, |n, b| n << 8 | u16::from(*b)))
                    .collect();
                match all.pop() {
                    None => spelling.count(0, self.out.len()),
                    Some(_) => spelling.written(&all, self.out.len()),
                }
            }
            _ => [length, units].concat(),
        };
        self.out.extend(bytes);
    }
}
