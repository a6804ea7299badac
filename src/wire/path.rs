//! The path of a field in a message, stored without allocation.

use core::fmt;

use super::field::Field;
use crate::command::Command;

/// The maximum number of fields below the root, as in
/// `providers[0].config.tracepoints[1].event_ids[2]`.
const DEPTH: usize = 4;
const INDICES: usize = 3;

/// The path of a field, such as `CollectTracing5.providers[2].arguments`. [`Display`](fmt::Display)
/// prints it, and [`segments`](Self::segments) returns its parts.
///
/// The path is empty for an error in a single value that you decoded outside a message.
///
/// ```
/// use dotnet_diagnostics_ipc::message::Message;
///
/// // AttachProfiler (0x0301) with only its attachTimeout.
/// let message = Message::decode(b"DOTNET_IPC_V1\0\x18\0\x03\x01\0\0\x0a\0\0\0").unwrap();
/// let path = message.request().unwrap_err().path();
/// assert!(path.segments().eq([("AttachProfiler", None), ("profilerGuid", None)]));
/// assert_eq!(path.to_string(), "AttachProfiler.profilerGuid");
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Path {
    root: Root,
    /// The fields, innermost first.
    fields: [Option<Field>; DEPTH],
    /// The indices in three bytes each. Four bytes would make an error a quarter larger.
    indices: [[u8; 3]; INDICES],
    /// Bit n is set if the n-th field from the inside has an index.
    indexed: u8,
}

/// The start of a path: a command's code, or a number below 0x0100 for anything else, because no
/// command set is 0.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Root(u16);

impl Root {
    const NONE: Self = Self(0);
    pub(crate) const HEADER: Self = Self(1);
    pub(crate) const PAYLOAD: Self = Self(2);
    pub(crate) const ADVERTISE: Self = Self(3);
    pub(crate) const ENVIRONMENT: Self = Self(4);

    #[allow(missing_docs)]
    pub const fn of(command: Command) -> Self {
        if command.set == 0 { Self::NONE } else { Self(command.code()) }
    }

    fn name(self) -> &'static str {
        match self {
            Self::HEADER => "header",
            Self::PAYLOAD => "payload",
            Self::ADVERTISE => "Advertise",
            Self::ENVIRONMENT => "environment",
            Self(code) => Command::from_code(code).name().unwrap_or_default(),
        }
    }
}

impl Path {
    pub(super) const EMPTY: Self =
        Self { root: Root::NONE, fields: [None; DEPTH], indices: [[0; 3]; INDICES], indexed: 0 };

    /// Returns whether the path is empty.
    pub const fn is_empty(&self) -> bool {
        self.root.0 == 0 && self.indexed == 0 && matches!(self.fields, [None, ..])
    }

    /// Returns the parts from the outermost to the innermost: a name, and an index if the part is an
    /// item of an array. The first part is the message. An item of a bare array has no name. Unlike
    /// `Display`, this does not use `core::fmt`.
    pub fn segments(&self) -> impl ExactSizeIterator<Item = (&'static str, Option<usize>)> + Clone {
        let (path, depth) = (*self, self.depth());
        let has_root = path.segment(depth) != ("", None);
        (0..depth.saturating_add(has_root.into())).rev().map(move |level| path.segment(level))
    }

    /// Returns part `level`, counted from the innermost. The root comes after the outermost field.
    fn segment(&self, level: usize) -> (&'static str, Option<usize>) {
        let name = match self.fields.get(level) {
            Some(Some(field)) => field.name(),
            _ => self.root.name(),
        };
        (name, self.index_at(level))
    }

    fn index_at(&self, level: usize) -> Option<usize> {
        let bit = bit(level);
        let nth = (self.indexed & bit.wrapping_sub(1)).count_ones() as usize;
        let [low, middle, high] = *self.indices.get(nth).filter(|_| self.indexed & bit != 0)?;
        Some(u32::from_le_bytes([low, middle, high, 0]) as usize)
    }

    fn depth(&self) -> usize {
        self.fields.iter().take_while(|f| f.is_some()).count()
    }

    /// Prepends `field`.
    pub(crate) fn push(&mut self, field: Field) {
        if let Some(slot) = self.fields.iter_mut().find(|slot| slot.is_none()) {
            *slot = Some(field);
        }
    }

    /// Sets the index of the field that `push` prepends next.
    pub(crate) fn index(&mut self, index: usize) {
        let bit = bit(self.depth());
        let nth = self.indexed.count_ones() as usize;
        if let (0, Some(slot)) = (self.indexed & bit, self.indices.get_mut(nth)) {
            let [low, middle, high, _] = clamp(index).min(0xff_ffff).to_le_bytes();
            *slot = [low, middle, high];
            self.indexed |= bit;
        }
    }

    /// Puts `root` at the start, unless the path has one.
    pub(crate) fn begin(&mut self, root: Root) {
        if self.root == Root::NONE {
            self.root = root;
        }
    }
}

fn bit(level: usize) -> u8 {
    1u8.checked_shl(clamp(level)).unwrap_or(0)
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (nth, (name, index)) in self.segments().enumerate() {
            if nth > 0 {
                f.write_str(".")?;
            }
            f.write_str(name)?;
            if let Some(index) = index {
                write!(f, "[{index}]")?;
            }
        }
        Ok(())
    }
}

impl fmt::Debug for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Path({self})")
    }
}

/// Converts an offset to `u32`, with `u32::MAX` for offsets beyond 4 GiB, which no message has.
/// Indices above 16,777,215 are shown as that number.
pub(crate) fn clamp(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}
