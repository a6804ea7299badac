//! Wrong encodings of strings by faulty servers: a payload that is invalid by the grammar is read
//! with each known one.
#![cfg_attr(not(test), deny(clippy::arithmetic_side_effects))]

use std::char::{REPLACEMENT_CHARACTER, decode_utf16};
use std::sync::LazyLock;

use dotnet_diagnostics_ipc::vectors::grammar::{Field, Grammar};

use super::fault_seen::FaultSeen;
use crate::faults::Fault;

/// The layouts of the replies.
pub(super) static GRAMMAR: LazyLock<Grammar> = LazyLock::new(Grammar::of_this_crate);

/// An encoding of strings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Spelling {
    /// By the grammar.
    Right,
    /// A count of the units without a NUL, and no NUL.
    WithoutNul,
    /// A count with the NUL, and no NUL.
    CountedNulMissing,
    /// A count without the NUL, which is present.
    NulUncounted,
    /// UTF-8, a count of bytes; whether an uncounted NUL follows.
    Utf8 { uncounted_nul: bool },
    /// A count of bytes; whether it excludes the NUL.
    CountInBytes { uncounted_nul: bool },
    /// A big-endian count; whether the units are big-endian too.
    BigEndian { units: bool },
    /// Units of four bytes.
    Wide,
}

/// The wrong ones, the likeliest first.
const WRONG: [Spelling; 10] = [
    Spelling::NulUncounted,
    Spelling::WithoutNul,
    Spelling::CountInBytes { uncounted_nul: false },
    Spelling::CountInBytes { uncounted_nul: true },
    Spelling::Utf8 { uncounted_nul: false },
    Spelling::Utf8 { uncounted_nul: true },
    Spelling::BigEndian { units: true },
    Spelling::BigEndian { units: false },
    Spelling::Wide,
    Spelling::CountedNulMissing,
];

/// The bytes do not contain what is read.
pub(super) struct NoSuch;

impl Spelling {
    const fn fault(self) -> Option<Fault> {
        match self {
            Self::Right => None,
            Self::WithoutNul | Self::CountedNulMissing => Some(Fault::StringWithoutNul),
            Self::NulUncounted => Some(Fault::StringLengthWithoutNul),
            Self::Utf8 { .. } => Some(Fault::StringInUtf8),
            Self::CountInBytes { .. } => Some(Fault::StringLengthInBytes),
            Self::BigEndian { .. } => Some(Fault::NumbersBigEndian),
            Self::Wide => Some(Fault::WcharOf4Bytes),
        }
    }
}

/// The wrong encoding with which `read` reads all of `bytes`, and the offset of its first string.
pub(super) fn wrong_spelling(
    bytes: &[u8],
    read: impl Fn(&mut Spelled<'_>) -> Result<(), NoSuch>,
) -> Option<FaultSeen> {
    WRONG.into_iter().find_map(|spelling| {
        let mut spelled = Spelled::new(bytes, spelling);
        read(&mut spelled).ok()?;
        if !spelled.rest().is_empty() {
            return None;
        }
        let (fault, told) = (spelling.fault()?, spelled.told?);
        let First { field, count, text } = told;
        let what = match spelling {
            Spelling::Right => return None,
            Spelling::WithoutNul => {
                format!(
                    "has length {count} and {} units, none of which is its NUL",
                    text.encode_utf16().count()
                )
            }
            Spelling::CountedNulMissing => format!(
                "has length {count}, and {} units without its NUL",
                text.encode_utf16().count()
            ),
            Spelling::NulUncounted => {
                format!("has length {count}, expected {} with its NUL", count.saturating_add(1))
            }
            Spelling::Utf8 { .. } => {
                format!("has length {count} and that many bytes, expected UTF-16 units of 2 bytes")
            }
            Spelling::CountInBytes { .. } => {
                format!(
                    "has length {count}, expected {} units with its NUL",
                    text.encode_utf16().count().saturating_add(1)
                )
            }
            Spelling::BigEndian { .. } => {
                format!("has length {count} as big-endian, {} as little-endian", count.swap_bytes())
            }
            Spelling::Wide => "has units of 4 bytes, expected 2".into(),
        };
        // The value of a variable may be secret, and reports are shared.
        let shown = text
            .split_once('=')
            .map_or_else(|| format!("{text:?}"), |(name, _)| format!("{name:?}=…"));
        Some(FaultSeen::new(fault, format!("{field} {shown} {what}")))
    })
}

/// The first string with a character.
struct First {
    field: String,
    count: u32,
    text: String,
}

/// Bytes whose strings have one encoding.
pub(super) struct Spelled<'b> {
    bytes: &'b [u8],
    at: usize,
    spelling: Spelling,
    field: String,
    told: Option<First>,
}

impl<'b> Spelled<'b> {
    pub(super) const fn new(bytes: &'b [u8], spelling: Spelling) -> Self {
        Self { bytes, at: 0, spelling, field: String::new(), told: None }
    }

    /// The unread rest.
    pub(super) fn rest(&self) -> &'b [u8] {
        self.bytes.get(self.at..).unwrap_or_default()
    }

    /// How many bytes were read.
    pub(super) const fn read(&self) -> usize {
        self.at
    }

    /// The name of the next string.
    pub(super) fn call(&mut self, field: String) {
        self.field = field;
    }

    fn take(&mut self, len: usize) -> Result<&'b [u8], NoSuch> {
        let taken = self.rest().get(..len).ok_or(NoSuch)?;
        self.at = self.at.saturating_add(len);
        Ok(taken)
    }

    fn fixed<const N: usize>(&mut self) -> Result<[u8; N], NoSuch> {
        self.take(N)?.try_into().map_err(|_| NoSuch)
    }

    /// Fields by the grammar; those with a condition are left out.
    pub(super) fn fields(&mut self, fields: &[Field]) -> Result<(), NoSuch> {
        fields.iter().filter(|field| field.when.is_none()).try_for_each(|field| {
            self.call(field.name.clone());
            self.part(&field.type_name, field.items.as_deref())
        })
    }

    /// A value of a kind or a struct of the grammar. `items`: of an array, the type of its items.
    pub(super) fn part(&mut self, name: &str, items: Option<&str>) -> Result<(), NoSuch> {
        let size = GRAMMAR.kind(name).and_then(|kind| kind.bytes);
        match (name, size) {
            (_, Some(size)) => self.take(size).map(drop),
            ("string", _) => self.text(),
            ("array", _) => {
                let items = items.ok_or(NoSuch)?;
                (0..self.count()?).try_for_each(|_| self.part(items, None))
            }
            ("bytes", _) => {
                let count = self.count()?;
                self.take(usize::try_from(count).map_err(|_| NoSuch)?).map(drop)
            }
            // Fields appended by a later version are not explained by a wrong encoding.
            ("rest", _) if self.spelling != Spelling::Right => Ok(()),
            ("rest", _) => self.take(self.rest().len()).map(drop),
            (name, _) => self.fields(&GRAMMAR.structure(name).ok_or(NoSuch)?.fields),
        }
    }

    /// A count of strings, or of anything except units.
    pub(super) fn count(&mut self) -> Result<u32, NoSuch> {
        let bytes = self.fixed()?;
        let both = matches!(self.spelling, Spelling::BigEndian { units: true });
        Ok(if both { u32::from_be_bytes(bytes) } else { u32::from_le_bytes(bytes) })
    }

    /// A string in this encoding.
    pub(super) fn text(&mut self) -> Result<(), NoSuch> {
        let bytes: [u8; 4] = self.fixed()?;
        let is_big = matches!(self.spelling, Spelling::BigEndian { .. });
        let count = if is_big { u32::from_be_bytes(bytes) } else { u32::from_le_bytes(bytes) };
        let n = usize::try_from(count).map_err(|_| NoSuch)?;
        if n > self.rest().len() {
            return Err(NoSuch);
        }
        if n == 0
            && !matches!(
                self.spelling,
                Spelling::NulUncounted | Spelling::Utf8 { uncounted_nul: true }
            )
        {
            return Ok(());
        }
        let text = match self.spelling {
            Spelling::Right | Spelling::BigEndian { .. } => self.units(n, true)?,
            Spelling::WithoutNul => self.units(n, false)?,
            Spelling::CountedNulMissing => self.units(n.saturating_sub(1), false)?,
            Spelling::NulUncounted => self.units(n.saturating_add(1), true)?,
            Spelling::CountInBytes { uncounted_nul } => {
                if n % 2 == 1 {
                    return Err(NoSuch);
                }
                self.units((n / 2).saturating_add(usize::from(uncounted_nul)), true)?
            }
            Spelling::Utf8 { uncounted_nul } => {
                let bytes = self.take(n.saturating_add(usize::from(uncounted_nul)))?;
                let bytes = match bytes.split_last() {
                    Some((0, text)) => text,
                    _ if uncounted_nul => return Err(NoSuch),
                    _ => bytes,
                };
                plausible(String::from_utf8(bytes.to_vec()).map_err(|_| NoSuch)?)?
            }
            Spelling::Wide => {
                let bytes = self.take(n.saturating_mul(4))?;
                let all = bytes
                    .chunks_exact(4)
                    .map(|unit| char::from_u32(u32::from_le_bytes(unit.try_into().ok()?)));
                let mut text = all.collect::<Option<String>>().ok_or(NoSuch)?;
                if text.pop() != Some('\0') {
                    return Err(NoSuch);
                }
                plausible(text)?
            }
        };
        if self.told.is_none() && !text.is_empty() {
            self.told = Some(First { field: self.field.clone(), count, text });
        }
        Ok(())
    }

    /// `n` units, with a NUL only at the end or without one.
    fn units(&mut self, n: usize, with_nul: bool) -> Result<String, NoSuch> {
        let is_big = matches!(self.spelling, Spelling::BigEndian { units: true });
        let bytes = self.take(n.saturating_mul(2))?;
        let mut units: Vec<u16> = bytes
            .chunks_exact(2)
            .filter_map(|unit| unit.try_into().ok())
            .map(|unit| if is_big { u16::from_be_bytes(unit) } else { u16::from_le_bytes(unit) })
            .collect();
        if with_nul && units.pop() != Some(0) {
            return Err(NoSuch);
        }
        let text: String =
            decode_utf16(units).map(|unit| unit.unwrap_or(REPLACEMENT_CHARACTER)).collect();
        // A correct string may have any unit.
        if self.spelling == Spelling::Right { Ok(text) } else { plausible(text) }
    }
}

/// The text, if plausible: a wrong reading gives control characters, or inner NULs.
fn plausible(text: String) -> Result<String, NoSuch> {
    let is_odd = |c: char| c.is_control() && !c.is_ascii_whitespace() || c == REPLACEMENT_CHARACTER;
    if text.chars().any(is_odd) { Err(NoSuch) } else { Ok(text) }
}
