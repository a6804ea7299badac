//! Iterates over the held connections.

use super::slot::{NONE, Slot};
use super::{ConnectionKey, WaitingConnection};

/// The connections that a [`DiagnosticPort`](super::DiagnosticPort) holds, in order of arrival.
///
/// ```
/// use dotnet_diagnostics_ipc::advertise::Advertise;
/// use dotnet_diagnostics_ipc::exchange::diagnostic_port::{DiagnosticPort, SameCookie, Slot};
/// use dotnet_diagnostics_ipc::wire::Guid;
///
/// let mut port = DiagnosticPort::new([const { Slot::EMPTY }; 4], SameCookie::Replace)?;
/// for id in [3, 1, 2] {
///     let advertise = Advertise { runtime_cookie: Guid::from_bytes([id; 16]), process_id: 12345, future: 0 };
///     assert!(port.hold(advertise, id).is_ok());
/// }
/// let tokens = port.iter().map(|waiting| *waiting.token);
/// assert_eq!(tokens.collect::<Vec<_>>(), [3, 1, 2]);
/// # Ok::<(), dotnet_diagnostics_ipc::exchange::diagnostic_port::SlotsError>(())
/// ```
#[derive(Debug)]
pub struct Iter<'p, T> {
    pub(super) slots: &'p [Slot<T>],
    /// The next one.
    pub(super) index: u32,
    pub(super) left: usize,
}

impl<T> Clone for Iter<'_, T> {
    fn clone(&self) -> Self {
        Self { ..*self }
    }
}

impl<'p, T> Iterator for Iter<'p, T> {
    type Item = WaitingConnection<&'p T>;

    fn next(&mut self) -> Option<Self::Item> {
        self.left = self.left.checked_sub(1)?;
        let waiting = waiting(self.slots, self.index)?;
        self.index = self.slots.get(self.index as usize).map_or(NONE, |slot| slot.newer);
        Some(waiting)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left, Some(self.left))
    }
}

impl<T> ExactSizeIterator for Iter<'_, T> {}

impl<T> core::iter::FusedIterator for Iter<'_, T> {}

/// The iterator of [`DiagnosticPort::find_process`](super::DiagnosticPort::find_process).
///
/// ```
/// use dotnet_diagnostics_ipc::exchange::diagnostic_port::{DiagnosticPort, SameCookie, Slot};
///
/// let port = DiagnosticPort::new([const { Slot::<u32>::EMPTY }; 4], SameCookie::Replace)?;
/// assert!(port.find_process(12345).next().is_none());
/// # Ok::<(), dotnet_diagnostics_ipc::exchange::diagnostic_port::SlotsError>(())
/// ```
#[derive(Debug)]
pub struct FindProcess<'p, T> {
    pub(super) all: Iter<'p, T>,
    pub(super) process_id: u64,
}

impl<T> Clone for FindProcess<'_, T> {
    fn clone(&self) -> Self {
        Self { all: self.all.clone(), ..*self }
    }
}

impl<'p, T> Iterator for FindProcess<'p, T> {
    type Item = WaitingConnection<&'p T>;

    fn next(&mut self) -> Option<Self::Item> {
        self.all.find(|waiting| waiting.advertise.process_id == self.process_id)
    }
}

impl<T> core::iter::FusedIterator for FindProcess<'_, T> {}

/// The connection in a slot, if any.
pub(super) fn waiting<T>(slots: &[Slot<T>], index: u32) -> Option<WaitingConnection<&T>> {
    let slot = slots.get(index as usize)?;
    let (advertise, token) = slot.held.as_ref()?;
    Some(WaitingConnection {
        key: ConnectionKey { index, generation: slot.generation },
        advertise: *advertise,
        token,
    })
}
