//! What failed in a call, and in which phase.

use std::boxed::Box;
use std::fmt;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::string::String;

use crate::exchange::{End, MisuseError, RequestError};
use crate::hresult::HResult;
use crate::wire::{EncodeError, Layer, WireError, WireErrorKind};

/// The phase of a call.
///
/// ```
/// use dotnet_diagnostics_ipc::io::Phase;
///
/// assert_eq!(Phase::Reply.to_string(), "waiting for the reply");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Phase {
    /// Finding the endpoint.
    Find,
    /// Checking the owner of the endpoint.
    Trust,
    /// Connecting to the endpoint, or waiting for a runtime to connect.
    Connect,
    /// Writing the request.
    Send,
    /// Passing the descriptor.
    SendFd,
    /// Reading the reply.
    Reply,
    /// Reading what follows the reply.
    Continuation,
    /// Stopping a session, on a separate connection.
    Stop,
    /// Listening for connections.
    Listen,
}

impl fmt::Display for Phase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Find => "looking for the endpoint",
            Self::Trust => "checking the endpoint's owner",
            Self::Connect => "connecting",
            Self::Send => "sending the request",
            Self::SendFd => "passing the descriptor",
            Self::Reply => "waiting for the reply",
            Self::Continuation => "reading what follows the reply",
            Self::Stop => "stopping the session",
            Self::Listen => "listening",
        })
    }
}

/// The kind of an [`Error`]: what went wrong.
#[derive(Debug)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The deadline passed. This also happens if the target is stopped, or busy with another client
    /// (F-75).
    TimedOut,
    /// The caller's [`Canceller`](super::Canceller) was used.
    Cancelled,
    /// The system reported an error.
    Io(std::io::Error),
    /// There is no such process, socket or pipe.
    NotFound(String),
    /// The process exists but has no socket or pipe. The text says where and why.
    NoSocket(String),
    /// No runtime can be reached at this path or address; the text says why.
    NotAnEndpoint(String),
    /// The endpoint is not ours, or others could have created it.
    Untrusted(Distrust),
    /// The request cannot be encoded; nothing was sent.
    Encode(EncodeError),
    /// A runtime would refuse the request, or crash on it; nothing was sent.
    Limit(WireError),
    /// The runtime answered with an error. Any code counts as a failure: .NET 6 gives 0 for a dump
    /// that failed (F-127).
    Refused {
        /// The code. A code that [means success](HResult::is_success) is still a failure.
        hresult: HResult,
        /// The reason: from `GenerateCoreDump3`, or why no older command can replace an unknown one.
        message: Option<String>,
    },
    /// The reply is invalid or does not decode, or an error message interrupted an environment block
    /// (F-43).
    Malformed(WireError),
    /// The connection ended.
    Ended {
        /// How it ended.
        end: End,
        /// The number of bytes of the current part that had arrived.
        received: u64,
    },
    /// The environment block, one of its entries, or their number exceeds the caller's limit.
    LimitExceeded {
        /// The limit.
        limit: u64,
    },
    /// This connection or system does not support it.
    Unsupported(&'static str),
    /// A session's stream ended without being stopped: its process exited, crashed, or was cut off.
    /// The end of the stream may be missing.
    Incomplete {
        /// How it ended.
        end: End,
        /// How many bytes arrived.
        received: u64,
    },
    /// The stop is too late: the session's stream has ended.
    SessionOver,
    /// The session's stop is pending, or was answered.
    AlreadyStopped,
    /// The [`Transport`](super::Transport), or its stream, reports more bytes than it was given.
    Miscounted {
        /// The number given.
        asked: usize,
        /// The number reported.
        reported: usize,
    },
    /// A bug in this crate: an exchange was used wrongly.
    Bug(MisuseError),
}

/// Why an endpoint is not trusted.
///
/// ```
/// use dotnet_diagnostics_ipc::io::trust::Distrust;
///
/// let reason = Distrust::PeerProcess { process_id: 123, expected: 12 };
/// assert_eq!(reason.to_string(), "process 123 listens there, expected process 12");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Distrust {
    /// The path is not a socket.
    NotASocket {
        /// The path.
        path: PathBuf,
        /// The type of what was found, such as `"a directory"`.
        is: &'static str,
    },
    /// The socket, or a directory or symbolic link on its path, belongs to another user. Its owner
    /// can put anything there.
    OtherOwner {
        /// The path.
        path: PathBuf,
        /// The user id of its owner.
        owner: u32,
        /// Our user id.
        ours: u32,
    },
    /// A directory on the socket's path in which others can rename and delete files they do not
    /// own.
    SharedDirectory {
        /// The path.
        path: PathBuf,
        /// The permissions of the directory.
        mode: u32,
    },
    /// The process that listens runs as another user.
    PeerOwner {
        /// The user id of that process.
        owner: u32,
        /// Our user id.
        ours: u32,
    },
    /// The path belongs to a user that our user namespace does not map. All such users share one
    /// number, so it may be any of them.
    UnmappedOwner {
        /// The path.
        path: PathBuf,
        /// The shared number.
        owner: u32,
    },
    /// The listener runs as a user that our user namespace does not map.
    UnmappedPeer {
        /// The number shared by all of them.
        owner: u32,
    },
    /// On Windows, a process of another user created the pipe.
    PeerUser {
        /// The user of that process, as a security identifier: `S-1-5-21-…`.
        owner: String,
        /// Our user.
        ours: String,
    },
    /// Only a requested process is trusted ([`TrustPolicy::REQUESTED_PROCESS`]), and none was
    /// requested, or the system does not report which process listens.
    ///
    /// [`TrustPolicy::REQUESTED_PROCESS`]: super::trust::TrustPolicy::REQUESTED_PROCESS
    UnknownProcess {
        /// The requested process.
        expected: Option<u32>,
    },
    /// A process other than the requested one listens.
    PeerProcess {
        /// The process that listens.
        process_id: u32,
        /// The requested process.
        expected: u32,
    },
    /// A TCP address is reachable from other machines, and the protocol has no authentication.
    NotLoopback {
        /// The address.
        address: SocketAddr,
    },
}

/// The users that are trusted by default: this one and root.
struct Users(u32);

impl fmt::Display for Users {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            0 => f.write_str("root"),
            ours => write!(f, "user {ours} or root"),
        }
    }
}

impl fmt::Display for Distrust {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotASocket { path, is } => write!(f, "{} is {is}, not a socket", path.display()),
            Self::OtherOwner { path, owner, ours } => {
                write!(f, "{} belongs to user {owner}, expected {}", path.display(), Users(*ours))
            }
            Self::SharedDirectory { path, mode } => {
                write!(
                    f,
                    "other users can replace files in {} (mode {mode:03o}, not sticky)",
                    path.display()
                )
            }
            Self::PeerOwner { owner, ours } => {
                write!(f, "the listener runs as user {owner}, expected {}", Users(*ours))
            }
            Self::UnmappedOwner { path, owner } => {
                write!(
                    f,
                    "{} belongs to user {owner}, the id of every user that this user namespace does not map",
                    path.display()
                )
            }
            Self::UnmappedPeer { owner } => {
                write!(
                    f,
                    "the listener runs as user {owner}, the id of every user that this user namespace does not map"
                )
            }
            Self::PeerUser { owner, ours } => {
                write!(f, "a process of {owner} created the pipe, expected {ours} or the system")
            }
            Self::UnknownProcess { expected: None } => {
                f.write_str("the policy trusts only a process that is requested by its id")
            }
            Self::UnknownProcess { expected: Some(expected) } => {
                write!(f, "the system does not report whether process {expected} listens there")
            }
            Self::PeerProcess { process_id, expected } => {
                write!(f, "process {process_id} listens there, expected process {expected}")
            }
            Self::NotLoopback { address } => {
                write!(
                    f,
                    "{address} is not a loopback address, and the protocol has no authentication"
                )
            }
        }
    }
}

/// The error of a call: what failed, and in which phase. Its `Display` text is complete; only a
/// caller's I/O error has a [`source`](std::error::Error::source).
///
/// ```
/// use dotnet_diagnostics_ipc::io::{Client, Endpoint, ErrorKind, Phase};
///
/// # #[cfg(unix)] {
/// let error = Client::new(Endpoint::socket("/nowhere/dotnet-diagnostic-1-2-socket")).process_info().unwrap_err();
/// assert_eq!(error.phase(), Phase::Find);
/// assert!(matches!(error.kind(), ErrorKind::NotFound(_)));
/// assert_eq!(error.to_string(), "/nowhere/dotnet-diagnostic-1-2-socket was not found (looking for the endpoint)");
/// let ErrorKind::NotFound(what) = error.into_kind() else { panic!() };
/// assert_eq!(what, "/nowhere/dotnet-diagnostic-1-2-socket");
/// # }
/// ```
#[derive(Debug)]
pub struct Error {
    kind: Box<ErrorKind>,
    phase: Phase,
}

impl Error {
    /// Creates an error, for a transport or server of your own.
    pub fn new(phase: Phase, kind: impl Into<ErrorKind>) -> Self {
        Self { kind: Box::new(kind.into()), phase }
    }

    /// Creates a connection error, for your own [`Connect`](super::Connect).
    pub fn connecting(error: std::io::Error) -> Self {
        let kind = match error.kind() {
            std::io::ErrorKind::TimedOut | std::io::ErrorKind::WouldBlock => ErrorKind::TimedOut,
            _ => ErrorKind::Io(error),
        };
        Self::new(Phase::Connect, kind)
    }

    /// Returns the phase.
    pub fn phase(&self) -> Phase {
        self.phase
    }

    /// Returns what went wrong.
    pub fn kind(&self) -> &ErrorKind {
        &self.kind
    }

    /// Returns what went wrong by value, to move the system's error out of [`ErrorKind::Io`].
    pub fn into_kind(self) -> ErrorKind {
        *self.kind
    }

    /// Returns the error inside a [`std::io`] error of a [`Trace`](super::Trace).
    ///
    /// ```
    /// use dotnet_diagnostics_ipc::io::{Error, ErrorKind};
    ///
    /// fn was_cancelled(error: &std::io::Error) -> bool {
    ///     Error::in_io(error).is_some_and(|error| matches!(error.kind(), ErrorKind::Cancelled))
    /// }
    /// assert!(!was_cancelled(&std::io::ErrorKind::Other.into()));
    /// ```
    pub fn in_io(error: &std::io::Error) -> Option<&Self> {
        error.get_ref()?.downcast_ref()
    }

    /// Returns the runtime's HRESULT, if the runtime refused the request.
    pub fn hresult(&self) -> Option<HResult> {
        match self.kind() {
            ErrorKind::Refused { hresult, .. } => Some(*hresult),
            _ => None,
        }
    }
}

impl fmt::Display for ErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TimedOut => f.write_str("timed out"),
            Self::Cancelled => f.write_str("cancelled"),
            Self::Io(error) => error.fmt(f),
            Self::NotFound(what) => write!(f, "{what} was not found"),
            Self::NoSocket(what) | Self::NotAnEndpoint(what) => f.write_str(what),
            Self::Untrusted(reason) => write!(f, "the endpoint is not trusted: {reason}"),
            Self::Encode(error) => write!(f, "the request cannot be encoded: {error}"),
            Self::Limit(error) => write!(f, "a runtime would refuse the request: {error}"),
            Self::Refused { hresult, message } => {
                f.write_str("the runtime answered ")?;
                // The name of the code would suggest success.
                if hresult.is_success() {
                    write!(f, "with the error code 0x{:08X}, which gives no reason", hresult.0)?;
                } else {
                    write!(f, "{hresult}")?;
                }
                message.as_ref().map_or(Ok(()), |message| write!(f, ": {message}"))
            }
            Self::Malformed(error) => write!(f, "the reply cannot be decoded: {error}"),
            Self::Ended { end, received: 0 } => end.fmt(f),
            Self::Ended { end, received } => write!(f, "{end} after {received} bytes"),
            Self::LimitExceeded { limit } => write!(f, "received more than the limit of {limit}"),
            Self::Unsupported(what) => f.write_str(what),
            Self::Incomplete { end, received } => {
                write!(f, "the stream ended after {received} bytes without a stop: {end}")
            }
            Self::SessionOver => f.write_str("the session is over"),
            Self::AlreadyStopped => f.write_str("a stop was already sent for this session"),
            Self::Miscounted { asked, reported } => {
                write!(f, "the transport reported {reported} bytes, expected at most {asked}")
            }
            Self::Bug(illegal) => write!(f, "a bug in this crate: {illegal}"),
        }
    }
}

/// Writes what failed, then the phase.
impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.kind, self.phase)
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self.kind() {
            ErrorKind::Io(error) => error.source(),
            _ => None,
        }
    }
}

/// Keeps a system error, with its [`raw_os_error`](std::io::Error::raw_os_error). Another error
/// gets the kind that fits: `TimedOut`, `NotFound`, `Unsupported`, `UnexpectedEof`;
/// `PermissionDenied` for an untrusted endpoint, `InvalidInput` for a request that was not sent,
/// `InvalidData` for a malformed reply, or else `Other`. [`Error::in_io`] finds the original.
impl From<Error> for std::io::Error {
    fn from(error: Error) -> Self {
        use std::io::ErrorKind as Io;

        let (phase, kind) = (error.phase, error.into_kind());
        let io = match kind {
            ErrorKind::Io(system) if system.raw_os_error().is_some() => return system,
            ErrorKind::Io(ref error) => error.kind(),
            ErrorKind::TimedOut => Io::TimedOut,
            ErrorKind::NotFound(_) | ErrorKind::NoSocket(_) | ErrorKind::NotAnEndpoint(_) => {
                Io::NotFound
            }
            ErrorKind::Unsupported(_) => Io::Unsupported,
            ErrorKind::Ended { .. } | ErrorKind::Incomplete { .. } => Io::UnexpectedEof,
            ErrorKind::Untrusted(_) => Io::PermissionDenied,
            ErrorKind::Encode(_) | ErrorKind::Limit(_) => Io::InvalidInput,
            ErrorKind::Malformed(_) | ErrorKind::LimitExceeded { .. } => Io::InvalidData,
            _ => Io::Other,
        };
        Self::new(io, Error::new(phase, kind))
    }
}

macro_rules! kinds {
    ($($Kind:ident($Inner:ty);)*) => {$(
        impl From<$Inner> for ErrorKind {
            fn from(error: $Inner) -> Self {
                Self::$Kind(error)
            }
        }
    )*};
}

kinds! { Io(std::io::Error); Encode(EncodeError); Untrusted(Distrust); }

impl From<RequestError> for ErrorKind {
    fn from(error: RequestError) -> Self {
        match error {
            RequestError::Limit(error) => Self::Limit(error),
            RequestError::Encode(error) => Self::Encode(error),
        }
    }
}

impl From<WireError> for ErrorKind {
    fn from(error: WireError) -> Self {
        match error.kind() {
            WireErrorKind::LimitExceeded { limit, .. } => {
                Self::LimitExceeded { limit: limit.into() }
            }
            kind if kind.layer() == Layer::Limits => Self::Limit(error),
            _ => Self::Malformed(error),
        }
    }
}

impl From<MisuseError> for ErrorKind {
    fn from(illegal: MisuseError) -> Self {
        match illegal {
            // The transport, not this crate, reported too many bytes.
            MisuseError::TooMany { asked, reported } => Self::Miscounted { asked, reported },
            illegal => Self::Bug(illegal),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::Message;
    use std::error::Error as _;
    use std::io::{Error as IoError, ErrorKind as Io};
    use std::string::ToString as _;

    #[test]
    fn text_is_whole_and_has_no_source() {
        let reason = Distrust::PeerOwner { owner: 1, ours: 2 };
        let text = std::format!("the endpoint is not trusted: {reason} (listening)");
        let error = Error::new(Phase::Listen, reason);
        assert!(error.to_string() == text && error.source().is_none(), "{error}");
    }

    #[test]
    fn source_is_that_of_the_error_of_the_system() {
        #[derive(Debug)]
        struct Above(fmt::Error);
        impl fmt::Display for Above {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("above")
            }
        }
        impl std::error::Error for Above {
            fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
                Some(&self.0)
            }
        }
        let error = Error::new(Phase::Listen, IoError::other(Above(fmt::Error)));
        let source = error.source().unwrap();
        assert!(source.is::<fmt::Error>());
    }

    #[test]
    fn io_error_keeps_the_error_of_the_system_or_has_the_kind_that_fits() {
        let error = Error::new(Phase::Connect, IoError::from_raw_os_error(2));
        assert_eq!(error.to_string(), std::format!("{} (connecting)", error.kind()));
        assert_eq!(IoError::from(error).raw_os_error(), Some(2));
        for (kind, expected) in [
            (ErrorKind::TimedOut, Io::TimedOut),
            (ErrorKind::Cancelled, Io::Other),
            (IoError::new(Io::AddrInUse, "in use").into(), Io::AddrInUse),
            (ErrorKind::NotFound("process 12".into()), Io::NotFound),
            (Distrust::PeerOwner { owner: 1, ours: 2 }.into(), Io::PermissionDenied),
            (Message::decode_prefix(b"HTTP/1.1").unwrap_err().into(), Io::InvalidData),
            (WireError::new(crate::wire::WireErrorKind::ZeroBuffer, 0).into(), Io::InvalidInput),
            (ErrorKind::Unsupported("no named pipes here"), Io::Unsupported),
            (ErrorKind::Ended { end: End::Closed, received: 0 }, Io::UnexpectedEof),
        ] {
            let error = IoError::from(Error::new(Phase::Reply, kind));
            assert_eq!(error.kind(), expected, "{error}");
            assert_eq!(Error::in_io(&error).unwrap().phase(), Phase::Reply);
        }
    }
}
