//! Inputs and outputs of a [`DiagnosticPort`](super::DiagnosticPort).

use core::fmt;
use core::num::NonZeroU32;

use super::ConnectionKey;
use crate::advertise::Advertise;

/// What to do with a connection whose cookie already has a waiting one.
///
/// A runtime has at most one waiting connection on a port (F-77). If a second one arrives, the
/// first is probably dead and its end not yet noticed: [`Replace`](Self::Replace) is right for one
/// listener. If several listeners share a table, a runtime has one connection to each.
///
/// ```
/// use core::num::NonZeroU32;
/// use dotnet_diagnostics_ipc::exchange::diagnostic_port::SameCookie;
///
/// let three_listeners = SameCookie::Queue { most: NonZeroU32::new(3).unwrap() };
/// assert_ne!(three_listeners, SameCookie::default());
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum SameCookie {
    /// It replaces the waiting one, which is returned.
    #[default]
    Replace,
    /// It waits after the others.
    Queue {
        /// The most waiting connections of one cookie. One more is refused and returned.
        most: NonZeroU32,
    },
}

/// A connection that waits for a command.
///
/// ```
/// use dotnet_diagnostics_ipc::advertise::Advertise;
/// use dotnet_diagnostics_ipc::exchange::diagnostic_port::{DiagnosticPort, SameCookie, Slot};
/// use dotnet_diagnostics_ipc::wire::Guid;
///
/// let advertise = Advertise { runtime_cookie: Guid::NIL, process_id: 12345, future: 7 };
/// let mut port = DiagnosticPort::new([const { Slot::EMPTY }; 4], SameCookie::Replace)?;
/// assert!(port.hold(advertise, "socket")?.replaced.is_none());
/// let waiting = port.take(Guid::NIL).unwrap();
/// assert_eq!((waiting.token, waiting.advertise.future), ("socket", 7));
/// # Ok::<(), Box<dyn core::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "the caller owns the connection now"]
pub struct WaitingConnection<T> {
    /// Its key, current or former.
    pub key: ConnectionKey,
    /// The runtime's advertise.
    pub advertise: Advertise,
    /// The caller's token for the connection.
    pub token: T,
}

/// The result of holding a connection.
///
/// ```
/// use dotnet_diagnostics_ipc::advertise::Advertise;
/// use dotnet_diagnostics_ipc::exchange::diagnostic_port::{DiagnosticPort, SameCookie, Slot};
/// use dotnet_diagnostics_ipc::wire::Guid;
///
/// let advertise = Advertise { runtime_cookie: Guid::NIL, process_id: 12345, future: 0 };
/// let mut port = DiagnosticPort::new([const { Slot::EMPTY }; 4], SameCookie::Replace)?;
/// assert!(port.hold(advertise, "first").unwrap().replaced.is_none());
/// assert_eq!(port.hold(advertise, "second").unwrap().replaced.unwrap().token, "first");
/// # Ok::<(), dotnet_diagnostics_ipc::exchange::diagnostic_port::SlotsError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "the caller must close the replaced connection, if any"]
pub struct HoldOutcome<T> {
    /// Its key.
    pub key: ConnectionKey,
    /// The replaced connection of the same cookie. Close it.
    pub replaced: Option<WaitingConnection<T>>,
}

/// A connection that was not held.
///
/// ```
/// use dotnet_diagnostics_ipc::advertise::Advertise;
/// use dotnet_diagnostics_ipc::exchange::diagnostic_port::{DiagnosticPort, HoldErrorKind, SameCookie, Slot};
/// use dotnet_diagnostics_ipc::wire::Guid;
///
/// let advertise = Advertise { runtime_cookie: Guid::NIL, process_id: 12345, future: 0 };
/// let mut port = DiagnosticPort::new([const { Slot::EMPTY }; 0], SameCookie::Replace)?;
/// let refused = port.hold(advertise, "socket").unwrap_err();
/// assert_eq!((refused.token, refused.kind), ("socket", HoldErrorKind::Full { most: 0 }));
/// # Ok::<(), dotnet_diagnostics_ipc::exchange::diagnostic_port::SlotsError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HoldError<T> {
    /// The caller's token for the connection. Close it.
    pub token: T,
    /// The reason.
    pub kind: HoldErrorKind,
}

/// Why a connection was not held.
///
/// ```
/// use dotnet_diagnostics_ipc::exchange::diagnostic_port::HoldErrorKind;
///
/// assert_eq!(HoldErrorKind::Full { most: 16 }.to_string(), "16 connections are already held");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum HoldErrorKind {
    /// Every slot is in use, and there cannot be more.
    Full {
        /// How many connections are held.
        most: usize,
    },
    /// As many connections of this cookie wait as [`SameCookie::Queue`] allows.
    CookieFull {
        /// How many.
        most: u32,
    },
}

impl fmt::Display for HoldErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Full { most } => write!(f, "{most} connections are already held"),
            Self::CookieFull { most } => {
                write!(f, "{most} connections of this runtime are already held")
            }
        }
    }
}

impl<T> fmt::Display for HoldError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.kind.fmt(f)
    }
}

impl<T: fmt::Debug> core::error::Error for HoldError<T> {}

/// Slots that cannot be used for a new port. Nothing was changed.
///
/// ```
/// use dotnet_diagnostics_ipc::advertise::Advertise;
/// use dotnet_diagnostics_ipc::exchange::diagnostic_port::{DiagnosticPort, SameCookie, Slot, SlotsError};
/// use dotnet_diagnostics_ipc::wire::Guid;
///
/// let advertise = Advertise { runtime_cookie: Guid::NIL, process_id: 12345, future: 0 };
/// let mut slots = [const { Slot::EMPTY }; 4];
/// assert!(DiagnosticPort::new(&mut slots[..], SameCookie::Replace)?.hold(advertise, "socket").is_ok());
/// let error = DiagnosticPort::new(&mut slots[..], SameCookie::Replace).unwrap_err();
/// assert_eq!(error, SlotsError::InUse { index: 0 });
/// assert_eq!(slots[0].take(), Some("socket"));
/// assert!(DiagnosticPort::new(&mut slots[..], SameCookie::Replace).is_ok());
/// # Ok::<(), SlotsError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum SlotsError {
    /// A slot still has a connection of an earlier port: take it out with
    /// [`Slot::take`](super::Slot::take).
    InUse {
        /// The first such slot.
        index: usize,
    },
    /// More slots than 32 bits can number.
    TooMany,
}

impl fmt::Display for SlotsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::InUse { index } => {
                write!(f, "slot {index} still holds a connection of an earlier port")
            }
            Self::TooMany => write!(f, "too many slots, the maximum is {}", u32::MAX),
        }
    }
}

impl core::error::Error for SlotsError {}
