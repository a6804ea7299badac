//! Reads a payload that is invalid by the grammar with each wrong encoding of strings.
#![cfg_attr(not(test), deny(clippy::arithmetic_side_effects))]

use std::char::{REPLACEMENT_CHARACTER, decode_utf16};
use std::collections::BTreeMap;
use std::sync::LazyLock;

use dotnet_diagnostics_ipc_vectors::grammar::{Field, Grammar};

use super::fault_seen::FaultSeen;
use super::spelling::{Spelling, WRONG};

/// The layouts of requests and replies.
pub(super) static GRAMMAR: LazyLock<Grammar> = LazyLock::new(Grammar::of_this_crate);

/// The bytes do not contain what is read.
pub(super) struct NoSuch;

/// The wrong encoding with which `read` reads all of `bytes`, and the offset of its first string.
pub(super) fn wrong_spelling(
    bytes: &[u8],
    read: impl Fn(&mut Spelled<'_>) -> Result<(), NoSuch>,
) -> Option<FaultSeen> {
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
            Spelling::CountInBytes { .. } => {
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
        // The value of a variable may be secret, and reports are shared.
        let shown = text
            .split_once('=')
            .map_or_else(|| format!("{text:?}"), |(name, _)| format!("{name:?}=…"));
        Some(FaultSeen::new(fault, format!("{field} {shown} {what}")))
    })
}

/// The first text in all of `bytes`, if `read` reads them with this encoding.
pub(super) fn first_text(
    bytes: &[u8],
    spelling: Spelling,
    read: impl Fn(&mut Spelled<'_>) -> Result<(), NoSuch>,
) -> Option<First> {
    [true, false].into_iter().find_map(|empty_has_nul| {
        let mut spelled = Spelled { empty_has_nul, ..Spelled::new(bytes, spelling) };
        read(&mut spelled).ok().filter(|()| spelled.rest().is_empty())?;
        spelled.told
    })
}

/// The first string with a character.
pub(super) struct First {
    field: String,
    count: u32,
    text: String,
}

/// Bytes whose strings have one encoding.
pub(super) struct Spelled<'b> {
    bytes: &'b [u8],
    at: usize,
    spelling: Spelling,
    /// Whether a NUL that is not counted follows a count of 0 too: such a string may be absent.
    empty_has_nul: bool,
    field: String,
    told: Option<First>,
}

impl<'b> Spelled<'b> {
    pub(super) const fn new(bytes: &'b [u8], spelling: Spelling) -> Self {
        Self { bytes, at: 0, spelling, empty_has_nul: true, field: String::new(), told: None }
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

    /// Skips zeros up to a multiple of `size`, if fields are aligned.
    fn align(&mut self, size: usize, is_number: bool) -> Result<(), NoSuch> {
        let Spelling::Aligned { numbers } = self.spelling else { return Ok(()) };
        if is_number && !numbers || ![2, 4, 8].contains(&size) {
            return Ok(());
        }
        let skipped = self.take(self.at.next_multiple_of(size).saturating_sub(self.at))?;
        if skipped.iter().all(|byte| *byte == 0) { Ok(()) } else { Err(NoSuch) }
    }

    fn fixed<const N: usize>(&mut self) -> Result<[u8; N], NoSuch> {
        self.take(N)?.try_into().map_err(|_| NoSuch)
    }

    /// Fields by the grammar; of those with a condition, those for which an earlier number decides.
    pub(super) fn fields(&mut self, fields: &[Field]) -> Result<(), NoSuch> {
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
        Ok(())
    }

    /// A number of four bytes.
    fn number(&self, bytes: &[u8]) -> Option<u32> {
        let bytes = bytes.try_into().ok()?;
        let both = matches!(self.spelling, Spelling::BigEndian { units: true });
        Some(if both { u32::from_be_bytes(bytes) } else { u32::from_le_bytes(bytes) })
    }

    /// A value of a kind or a struct of the grammar: its bytes, if their number is fixed. `items`: of
    /// an array, the type of its items.
    pub(super) fn part(&mut self, name: &str, items: Option<&str>) -> Result<&'b [u8], NoSuch> {
        let size = GRAMMAR.kind(name).and_then(|kind| kind.bytes);
        match (name, size) {
            (_, Some(size)) => {
                self.align(size, true)?;
                let bytes = self.take(size)?;
                let is_no_bool = name == "bool" && !matches!(bytes, [0 | 1]);
                return if is_no_bool { Err(NoSuch) } else { Ok(bytes) };
            }
            ("string", _) => self.text()?,
            ("array", _) => {
                let items = items.ok_or(NoSuch)?;
                (0..self.count()?).try_for_each(|_| self.part(items, None).map(drop))?;
            }
            ("bytes", _) => {
                let count = self.count()?;
                self.take(usize::try_from(count).map_err(|_| NoSuch)?)?;
            }
            // Fields appended by a later version are not explained by a wrong encoding.
            ("rest", _) if self.spelling != Spelling::Right => {}
            ("rest", _) => drop(self.take(self.rest().len())?),
            (name, _) => self.fields(&GRAMMAR.structure(name).ok_or(NoSuch)?.fields)?,
        }
        Ok(&[])
    }

    /// A count of strings, or of anything except units.
    pub(super) fn count(&mut self) -> Result<u32, NoSuch> {
        let bytes = self.take(4)?;
        self.number(bytes).ok_or(NoSuch)
    }

    /// A string in this encoding.
    pub(super) fn text(&mut self) -> Result<(), NoSuch> {
        self.align(4, false)?;
        let bytes = match self.spelling {
            Spelling::Counts(2) => {
                let [low, high] = self.fixed()?;
                [low, high, 0, 0]
            }
            Spelling::Counts(_) => {
                let bytes = self.fixed()?;
                if self.fixed::<4>()? != [0; 4] {
                    return Err(NoSuch);
                }
                bytes
            }
            _ => self.fixed()?,
        };
        let is_big = matches!(self.spelling, Spelling::BigEndian { .. });
        let count = if is_big { u32::from_be_bytes(bytes) } else { u32::from_le_bytes(bytes) };
        let n = usize::try_from(count).map_err(|_| NoSuch)?;
        if n > self.rest().len() {
            return Err(NoSuch);
        }
        let has_uncounted_nul = match self.spelling {
            Spelling::NulUncounted => true,
            Spelling::CountInBytes { uncounted_nul } | Spelling::Utf8 { uncounted_nul } => {
                uncounted_nul
            }
            _ => false,
        };
        if n == 0 && !(has_uncounted_nul && self.empty_has_nul) {
            return Ok(());
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
            Spelling::Wide { cut: false } => {
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
            // They need the text.
            _ => return Err(NoSuch),
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
