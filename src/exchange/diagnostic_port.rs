//! Accept runtimes at a diagnostic port. They connect, send an advertise, and wait for a command.
//!
//! | question | answer |
//! |---|---|
//! | which runtime opened this connection? | [`AdvertiseReceiver`] reads the 34 bytes, in any pieces |
//! | which runtimes are waiting? | [`DiagnosticPort`] has one connection for each cookie |
//!
#![cfg_attr(doc, doc = include_str!("../pictures/ports.svg"))]
//!
//! Each connection serves one command. For the next command, the runtime connects again with the
//! same cookie (section "Dataflow"). So a connection is taken out of the port for use, and the next
//! connection takes its place.

#[cfg(feature = "alloc")]
use alloc::collections::BTreeMap;

pub use super::advertise_receiver::{AdvertiseAction, AdvertiseOutcome, AdvertiseReceiver};

use crate::advertise::Advertise;
use crate::wire::Guid;

/// The tool's side of a diagnostic port (section "Diagnostic Ports"), which holds the connections
/// of runtimes that wait for a command.
///
/// | event | call |
/// |---|---|
/// | a connection is accepted | [`AdvertiseReceiver`] reads its 34 bytes |
/// | its advertise is complete | [`hold`](Self::hold); close the connection that it replaces |
/// | a command for a runtime is due | [`take`](Self::take) by cookie; give the connection to a [`ClientExchange`](crate::exchange::ClientExchange) |
/// | a waiting connection ends | [`take`](Self::take), if [`find`](Self::find) returns that connection |
///
/// The cookie identifies the runtime, because process ids of different namespaces collide. A
/// runtime has at most one waiting connection on a port (F-77). If a second one arrives, the first
/// is already dead, so the newest connection replaces it. A token `T` represents the connection: a
/// descriptor, an index or the socket. The port returns every token that leaves it.
///
/// The caller lends the memory as an array, and a search takes time proportional to its length.
/// With the feature `alloc`, `sorted` returns a port that finds a runtime in logarithmic time,
/// whatever cookies a hostile peer chooses.
///
/// ```
/// use dotnet_diagnostics_ipc::advertise::Advertise;
/// use dotnet_diagnostics_ipc::exchange::diagnostic_port::DiagnosticPort;
///
/// let cookie = "123e4567-e89b-12d3-a456-426614174000".parse()?;
/// let advertise = Advertise { runtime_cookie: cookie, process_id: 12345, future: 0 };
/// let mut slots = [const { None }; 16];
/// let mut port = DiagnosticPort::new(&mut slots);
///
/// assert_eq!(port.hold(advertise, "dead socket")?, None);
/// let replaced = port.hold(advertise, "socket")?; // The runtime connected again.
/// assert_eq!(replaced.map(|waiting| waiting.token), Some("dead socket"));
///
/// assert_eq!(port.find(cookie).map(|waiting| waiting.advertise.process_id), Some(12345));
/// assert_eq!(port.take(cookie).map(|waiting| waiting.token), Some("socket"));
/// assert!(port.take(cookie).is_none()); // A connection is used once.
/// # Ok::<(), Box<dyn core::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct DiagnosticPort<'s, T>(Slots<'s, T>);

#[derive(Debug)]
enum Slots<'s, T> {
    Lent(&'s mut [Option<WaitingConnection<T>>]),
    #[cfg(feature = "alloc")]
    Sorted(BTreeMap<Guid, WaitingConnection<T>>, usize),
}

/// A connection that waits for a command.
///
/// ```
/// use dotnet_diagnostics_ipc::advertise::Advertise;
/// use dotnet_diagnostics_ipc::exchange::diagnostic_port::{DiagnosticPort, WaitingConnection};
/// use dotnet_diagnostics_ipc::wire::Guid;
///
/// let advertise = Advertise { runtime_cookie: Guid::NIL, process_id: 12345, future: 7 };
/// let mut slots = [const { None }; 4];
/// assert!(DiagnosticPort::new(&mut slots).hold(advertise, "socket").is_ok());
/// // The slots keep the connections after the port is dropped.
/// assert_eq!(slots[0], Some(WaitingConnection { advertise, token: "socket" }));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "the caller owns the connection now"]
pub struct WaitingConnection<T> {
    /// The advertise of the runtime.
    pub advertise: Advertise,
    /// The caller's token for the connection.
    pub token: T,
}

impl<'s, T> DiagnosticPort<'s, T> {
    /// Returns a port with one connection per slot. A connection that is already in a slot is held.
    pub const fn new(slots: &'s mut [Option<WaitingConnection<T>>]) -> Self {
        Self(Slots::Lent(slots))
    }

    /// Returns an empty port that allocates, and holds at most `most` connections.
    ///
    /// ```
    /// use dotnet_diagnostics_ipc::exchange::diagnostic_port::DiagnosticPort;
    ///
    /// assert!(DiagnosticPort::<u32>::sorted(100_000).is_empty());
    /// ```
    #[cfg(feature = "alloc")]
    pub const fn sorted(most: usize) -> Self {
        Self(Slots::Sorted(BTreeMap::new(), most))
    }

    /// Holds a connection until it is taken. Returns the one that it replaces; close that.
    ///
    /// # Errors
    /// Returns `token` if there is no room, and leaves the port unchanged.
    ///
    /// ```
    /// use dotnet_diagnostics_ipc::advertise::Advertise;
    /// use dotnet_diagnostics_ipc::exchange::diagnostic_port::DiagnosticPort;
    /// use dotnet_diagnostics_ipc::wire::Guid;
    ///
    /// let advertise = Advertise { runtime_cookie: Guid::NIL, process_id: 12345, future: 0 };
    /// assert_eq!(DiagnosticPort::new(&mut []).hold(advertise, "socket"), Err("socket"));
    /// ```
    pub fn hold(
        &mut self,
        advertise: Advertise,
        token: T,
    ) -> Result<Option<WaitingConnection<T>>, T> {
        let cookie = advertise.runtime_cookie;
        match &mut self.0 {
            Slots::Lent(slots) => {
                let known = slots.iter().position(|slot| is(slot.as_ref(), cookie));
                match known
                    .or_else(|| slots.iter().position(Option::is_none))
                    .and_then(|index| slots.get_mut(index))
                {
                    Some(slot) => Ok(slot.replace(WaitingConnection { advertise, token })),
                    None => Err(token),
                }
            }
            #[cfg(feature = "alloc")]
            Slots::Sorted(map, most) => {
                if map.len() >= *most && !map.contains_key(&cookie) {
                    return Err(token);
                }
                Ok(map.insert(cookie, WaitingConnection { advertise, token }))
            }
        }
    }

    /// Takes out the connection of a runtime, to use it or because it has ended.
    #[must_use = "the caller owns the connection now"]
    pub fn take(&mut self, cookie: Guid) -> Option<WaitingConnection<T>> {
        match &mut self.0 {
            Slots::Lent(slots) => {
                slots.iter_mut().find(|slot| is(slot.as_ref(), cookie)).and_then(Option::take)
            }
            #[cfg(feature = "alloc")]
            Slots::Sorted(map, _) => map.remove(&cookie),
        }
    }

    /// Returns the connection that [`take`](Self::take) would take out.
    pub fn find(&self, cookie: Guid) -> Option<&WaitingConnection<T>> {
        match &self.0 {
            Slots::Lent(slots) => slots.iter().flatten().find(|held| is(Some(held), cookie)),
            #[cfg(feature = "alloc")]
            Slots::Sorted(map, _) => map.get(&cookie),
        }
    }

    /// Returns the number of connections held.
    pub fn len(&self) -> usize {
        match &self.0 {
            Slots::Lent(slots) => slots.iter().flatten().count(),
            #[cfg(feature = "alloc")]
            Slots::Sorted(map, _) => map.len(),
        }
    }

    /// Returns whether no connection is held.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

fn is<T>(held: Option<&WaitingConnection<T>>, cookie: Guid) -> bool {
    held.is_some_and(|held| held.advertise.runtime_cookie == cookie)
}

#[cfg(test)]
mod tests {
    extern crate std;

    use std::vec::Vec;

    use super::*;

    fn cookie(number: u32) -> Guid {
        Guid::from_bytes(u128::from(number).to_le_bytes())
    }

    /// Returns an advertise. Two runtimes each share a process id, as in different namespaces.
    fn advertise(number: u32) -> Advertise {
        Advertise { runtime_cookie: cookie(number), process_id: (number / 2).into(), future: 0 }
    }

    fn tokens<T: Copy>(port: &DiagnosticPort<'_, T>, numbers: &[u32]) -> Vec<Option<T>> {
        numbers.iter().map(|number| port.find(cookie(*number)).map(|held| held.token)).collect()
    }

    /// Runs a test with `most` lent slots, and with a sorted port of the same limit.
    fn both(most: usize, test: impl Fn(DiagnosticPort<'_, u32>)) {
        let mut slots: Vec<_> = (0..most).map(|_| None).collect();
        test(DiagnosticPort::new(&mut slots));
        #[cfg(feature = "alloc")]
        test(DiagnosticPort::sorted(most));
    }

    #[test]
    fn connection_is_used_once() {
        both(4, |mut port| {
            assert_eq!(port.hold(advertise(1), 10), Ok(None));
            assert_eq!((port.len(), tokens(&port, &[1])), (1, [Some(10)].into()));
            assert!(!port.is_empty());
            let held = WaitingConnection { advertise: advertise(1), token: 10 };
            assert_eq!(port.take(cookie(1)), Some(held));
            assert_eq!((port.take(cookie(1)), port.find(cookie(1))), (None, None));
            assert!(port.is_empty());
        });
    }

    #[test]
    fn full_port_refuses_new_runtime_and_returns_token() {
        both(3, |mut port| {
            for number in 0..3 {
                assert_eq!(port.hold(advertise(number), number), Ok(None));
            }
            assert_eq!(port.hold(advertise(3), 3), Err(3));
            // The runtime already has a slot.
            let replaced = port.hold(advertise(0), 4).unwrap();
            assert_eq!(replaced, Some(WaitingConnection { advertise: advertise(0), token: 0 }));
            assert_eq!(tokens(&port, &[0, 1, 2, 3]), [Some(4), Some(1), Some(2), None]);
            assert!(port.take(cookie(1)).is_some());
            assert_eq!(port.hold(advertise(3), 3), Ok(None));
            assert_eq!(tokens(&port, &[0, 1, 2, 3]), [Some(4), None, Some(2), Some(3)]);
        });
        both(0, |mut port| assert!(port.hold(advertise(0), 0).is_err() && port.is_empty()));
    }
}
