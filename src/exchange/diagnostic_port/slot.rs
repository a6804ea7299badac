//! The memory of a [`DiagnosticPort`](super::DiagnosticPort): a slot for each connection.

#[cfg(feature = "alloc")]
use alloc::vec::Vec;

use crate::advertise::Advertise;

/// No slot. So there are at most `u32::MAX` of them.
pub(super) const NONE: u32 = u32::MAX;

/// A place for one connection in a [`DiagnosticPort`](super::DiagnosticPort), and one bucket of its
/// index: at most 96 bytes, plus the size of the token `T`.
///
/// ```
/// use dotnet_diagnostics_ipc::exchange::diagnostic_port::Slot;
///
/// let mut slots: [Slot<u32>; 16] = [const { Slot::EMPTY }; 16];
/// assert_eq!(slots[0].take(), None);
/// assert!(size_of::<Slot<()>>() <= 96);
/// ```
#[derive(Debug)]
pub struct Slot<T> {
    /// The head of the chain of this slot's bucket number; the other links belong to the
    /// connection.
    pub(super) head: u32,
    /// How often the slot was freed.
    pub(super) generation: u32,
    /// The next cookie of the same bucket. Valid if `queued` is not 0.
    pub(super) chained: u32,
    /// How many connections of the cookie wait, if this is the first of them; else 0.
    pub(super) queued: u32,
    /// The previous connection of the same cookie; for the first of them, the last.
    pub(super) ahead: u32,
    /// The next connection of the same cookie.
    pub(super) behind: u32,
    /// The previous connection of any cookie.
    pub(super) older: u32,
    /// The next connection of any cookie; for a free slot, the next free slot.
    pub(super) newer: u32,
    pub(super) held: Option<(Advertise, T)>,
}

impl<T> Slot<T> {
    /// A slot without a connection.
    pub const EMPTY: Self = Self {
        head: NONE,
        generation: 0,
        chained: NONE,
        queued: 0,
        ahead: NONE,
        behind: NONE,
        older: NONE,
        newer: NONE,
        held: None,
    };

    /// Takes out the token that a dropped port has left here. The slot can then be used again.
    pub fn take(&mut self) -> Option<T> {
        let (_, token) = self.held.take()?;
        self.generation = self.generation.wrapping_add(1);
        Some(token)
    }
}

impl<T> Default for Slot<T> {
    fn default() -> Self {
        Self::EMPTY
    }
}

/// Memory for the slots of a [`DiagnosticPort`](super::DiagnosticPort): an array, a lent slice, or,
/// with the feature `alloc`, a `Vec` that grows.
///
/// ```
/// use dotnet_diagnostics_ipc::exchange::diagnostic_port::{DiagnosticPort, SameCookie, Slot};
///
/// let owned = DiagnosticPort::new([const { Slot::<u32>::EMPTY }; 16], SameCookie::Replace)?;
/// let mut slots = [const { Slot::<u32>::EMPTY }; 16];
/// let lent = DiagnosticPort::new(&mut slots[..], SameCookie::Replace)?;
/// assert_eq!(owned.capacity(), lent.capacity());
/// # #[cfg(feature = "alloc")]
/// let grown = DiagnosticPort::new(Vec::<Slot<u32>>::new(), SameCookie::Replace)?;
/// # Ok::<(), dotnet_diagnostics_ipc::exchange::diagnostic_port::SlotsError>(())
/// ```
pub trait Slots: sealed::Sealed {
    /// The caller's token for a connection: a descriptor, an index, the socket itself.
    type Token;

    #[doc(hidden)]
    fn slots(&self) -> &[Slot<Self::Token>];

    #[doc(hidden)]
    fn slots_mut(&mut self) -> &mut [Slot<Self::Token>];

    /// Makes more slots; none if impossible.
    #[doc(hidden)]
    fn grow(&mut self) {}
}

mod sealed {
    pub trait Sealed {}
}

impl<T, const N: usize> sealed::Sealed for [Slot<T>; N] {}

impl<T, const N: usize> Slots for [Slot<T>; N] {
    type Token = T;

    fn slots(&self) -> &[Slot<T>] {
        self
    }

    fn slots_mut(&mut self) -> &mut [Slot<T>] {
        self
    }
}

impl<T> sealed::Sealed for &mut [Slot<T>] {}

impl<T> Slots for &mut [Slot<T>] {
    type Token = T;

    fn slots(&self) -> &[Slot<T>] {
        self
    }

    fn slots_mut(&mut self) -> &mut [Slot<T>] {
        self
    }
}

#[cfg(feature = "alloc")]
impl<T> sealed::Sealed for Vec<Slot<T>> {}

#[cfg(feature = "alloc")]
impl<T> Slots for Vec<Slot<T>> {
    type Token = T;

    fn slots(&self) -> &[Slot<T>] {
        self
    }

    fn slots_mut(&mut self) -> &mut [Slot<T>] {
        self
    }

    /// Twice as many: each slot is created, and indexed again, less than twice.
    fn grow(&mut self) {
        let more = self.len().max(8);
        if self.try_reserve(more).is_ok() {
            self.resize_with(self.len().saturating_add(more), Slot::default);
        }
    }
}

/// The key of a held connection. It is valid while the connection is held, and never refers to
/// another one.
///
/// A slot has 2³² different keys; then they repeat. A key is valid only for the port that returned
/// it.
///
/// ```
/// use dotnet_diagnostics_ipc::advertise::Advertise;
/// use dotnet_diagnostics_ipc::exchange::diagnostic_port::{DiagnosticPort, SameCookie, Slot};
/// use dotnet_diagnostics_ipc::wire::Guid;
///
/// let advertise = Advertise { runtime_cookie: Guid::NIL, process_id: 12345, future: 0 };
/// let mut port = DiagnosticPort::new([const { Slot::EMPTY }; 1], SameCookie::Replace)?;
/// let first = port.hold(advertise, "first").unwrap().key;
/// assert_eq!(port.take(Guid::NIL).unwrap().token, "first");
/// let second = port.hold(advertise, "second").unwrap().key;
/// assert!(port.remove(first).is_none());
/// assert_eq!(port.remove(second).unwrap().token, "second");
/// # Ok::<(), dotnet_diagnostics_ipc::exchange::diagnostic_port::SlotsError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ConnectionKey {
    pub(super) index: u32,
    pub(super) generation: u32,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slot_is_small() {
        assert!(size_of::<Slot<()>>() <= 96, "{}", size_of::<Slot<()>>());
        assert!(size_of::<Slot<u64>>() <= 96 + 8, "{}", size_of::<Slot<u64>>());
    }
}
