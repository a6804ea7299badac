//! What goes into a [`DiagnosticPort`](super::DiagnosticPort), and what comes out of it.

use core::fmt;
use core::num::NonZeroU32;

use super::ConnectionKey;
use crate::advertise::Advertise;

/// What becomes of a connection whose cookie has one already that waits.
///
/// A runtime has one connection waiting on a port at most (F-77). So where a second one comes, the first is most likely dead and its
/// end not yet seen: [`Replace`](Self::Replace) is right for one listener. Where several listeners share a table, a runtime has one
/// connection for each.
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
    /// It takes the place of the one that waits, which is handed back.
    #[default]
    Replace,
    /// It waits behind the others.
    Queue {
        /// How many connections of one cookie may wait. One more is refused, and handed back.
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
#[must_use = "a connection that was taken out is the caller's"]
pub struct WaitingConnection<T> {
    /// Which one it is, or was while it was held.
    pub key: ConnectionKey,
    /// What the runtime said of itself.
    pub advertise: Advertise,
    /// What the caller knows the connection by.
    pub token: T,
}

/// What holding a connection has led to.
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
#[must_use = "the connection that was replaced, if any, is to be closed"]
pub struct HoldOutcome<T> {
    /// Which one it is from now on.
    pub key: ConnectionKey,
    /// The connection of the same cookie whose place it took. Close it.
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
    /// What the caller knows the connection by. Close it.
    pub token: T,
    /// Why.
    pub kind: HoldErrorKind,
}

/// Why a connection was not held.
///
/// ```
/// use dotnet_diagnostics_ipc::exchange::diagnostic_port::HoldErrorKind;
///
/// assert_eq!(HoldErrorKind::Full { most: 16 }.to_string(), "16 connections are held already");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum HoldErrorKind {
    /// Every slot is in use, and there can be no more of them.
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
            Self::Full { most } => write!(f, "{most} connections are held already"),
            Self::CookieFull { most } => write!(f, "{most} connections of this runtime are held already"),
        }
    }
}

impl<T> fmt::Display for HoldError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.kind.fmt(f)
    }
}

impl<T: fmt::Debug> core::error::Error for HoldError<T> {}

/// Slots that cannot be taken for a new port. Nothing was changed.
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
    /// A slot still has the connection of an earlier port: [`Slot::take`](super::Slot::take) it out.
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
            Self::InUse { index } => write!(f, "slot {index} still has a connection of an earlier port"),
            Self::TooMany => write!(f, "there are more slots than the {} that can be numbered", u32::MAX),
        }
    }
}

impl core::error::Error for SlotsError {}
