//! Where in a message: the path of a field, without allocation.

use core::fmt;

use super::field::Field;

/// Most fields below the root: `providers[0].config.tracepoints[1].event_ids[2]`, and one to spare.
const DEPTH: usize = 5;
const INDICES: usize = 3;

/// The path of a field, such as `CollectTracing5.providers[2].arguments`; printed by [`Display`](fmt::Display).
///
/// Empty where a bare piece was decoded and is itself at fault.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Path {
    pub(super) root: &'static str,
    /// Innermost first.
    fields: [Option<Field>; DEPTH],
    indices: [u32; INDICES],
    /// Bit n: the n-th field from the inside has an index.
    indexed: u8,
}

impl Path {
    pub(super) const EMPTY: Self = Self { root: "", fields: [None; DEPTH], indices: [0; INDICES], indexed: 0 };

    /// Whether there is nothing to print.
    pub const fn is_empty(&self) -> bool {
        self.root.is_empty() && self.indexed == 0 && matches!(self.fields, [None, ..])
    }

    /// Whether it leads through `field`, or to it.
    #[cfg(feature = "conformance")]
    pub(crate) fn contains(&self, field: Field) -> bool {
        self.fields.contains(&Some(field))
    }

    fn depth(&self) -> usize {
        self.fields.iter().take_while(|f| f.is_some()).count()
    }

    pub(super) fn push(&mut self, field: Field) {
        let depth = self.depth();
        if let Some(slot) = self.fields.get_mut(depth) {
            *slot = Some(field);
        }
    }

    pub(super) fn index(&mut self, index: u32) {
        let bit = 1u8.checked_shl(clamp(self.depth())).unwrap_or(0);
        let nth = self.indexed.count_ones() as usize;
        if let (0, Some(slot)) = (self.indexed & bit, self.indices.get_mut(nth)) {
            *slot = index;
            self.indexed |= bit;
        }
    }
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.root)?;
        let depth = self.depth();
        let mut indices = self.indices.iter().take(self.indexed.count_ones() as usize).rev();
        let mut first = self.root.is_empty();
        for level in (0..=depth).rev() {
            if let Some(Some(field)) = self.fields.get(level) {
                if !first {
                    f.write_str(".")?;
                }
                f.write_str(field.name())?;
                first = false;
            }
            if self.indexed & 1u8.checked_shl(clamp(level)).unwrap_or(0) != 0 {
                if let Some(index) = indices.next() {
                    write!(f, "[{index}]")?;
                }
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

/// Offsets and indices beyond 4 GiB are beyond every message; they are shown as `u32::MAX`.
pub(crate) fn clamp(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}
