//! What failed in a call, and in which phase.

use std::boxed::Box;
use std::fmt;
use std::string::String;

use super::Stopped;
use super::trust::Distrust;
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
    /// Checking its owner.
    Trust,
    /// Connecting to it, or waiting for a runtime to connect.
    Connect,
    /// Reading the advertise of a runtime.
    Advertise,
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
    /// Listening.
    Listen,
}

impl fmt::Display for Phase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Find => "looking for the endpoint",
            Self::Trust => "checking the endpoint's owner",
            Self::Connect => "connecting",
            Self::Advertise => "reading the advertise",
            Self::Send => "sending the request",
            Self::SendFd => "passing the descriptor",
            Self::Reply => "waiting for the reply",
            Self::Continuation => "reading what follows the reply",
            Self::Stop => "stopping the session",
            Self::Listen => "listening",
        })
    }
}

/// What went wrong. Its text omits the inner error, which is the
/// [`source`](std::error::Error::source) of the [`Error`].
#[derive(Debug)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The deadline passed. A stopped target, or one busy with another client, looks like this
    /// (F-75).
    TimedOut,
    /// The caller's [`Canceller`](super::Canceller) was used.
    Cancelled,
    /// The system reported an error.
    Io(std::io::Error),
    /// There is no such endpoint: no process with this id, or none that can be diagnosed.
    NotFound(String),
    /// Something else is in its place.
    NotAnEndpoint(String),
    /// It is not ours, or others could have created it.
    Untrusted(Distrust),
    /// The request cannot be encoded; nothing was sent.
    Encode(EncodeError),
    /// A runtime would refuse the request, or crash on it; nothing was sent.
    Limit(WireError),
    /// The runtime answered with an error, whatever its code: .NET 6 gives 0 for a dump that failed
    /// (F-127).
    Refused {
        /// The code. A code that [means success](HResult::is_success) is still a failure.
        hresult: HResult,
        /// The reason, from `GenerateCoreDump3`.
        message: Option<String>,
    },
    /// The reply is invalid or does not decode, or an error message interrupted an environment block
    /// (F-43).
    Malformed(WireError),
    /// The connection ended.
    Ended {
        /// How.
        end: End,
        /// After this many bytes of the current part.
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

/// What failed in a call, and in which phase. Its text is the reason, then the phase.
///
/// ```
/// use dotnet_diagnostics_ipc::io::{Client, Endpoint, ErrorKind, Phase};
///
/// # #[cfg(unix)] {
/// let error = Client::new(Endpoint::socket("/nowhere/dotnet-diagnostic-1-2-socket")).process_info().unwrap_err();
/// assert_eq!(error.phase(), Phase::Find);
/// assert!(matches!(error.kind(), ErrorKind::NotFound(_)));
/// assert_eq!(error.to_string(), "/nowhere/dotnet-diagnostic-1-2-socket was not found (looking for the endpoint)");
/// assert!(format!("{error:?}").starts_with("Error { kind: NotFound("));
/// # }
/// ```
pub struct Error(Box<(Phase, ErrorKind)>);

impl Error {
    /// What went wrong, and while doing what: for a transport or server of your own.
    pub fn new(phase: Phase, kind: impl Into<ErrorKind>) -> Self {
        Self(Box::new((phase, kind.into())))
    }

    /// A system error while connecting, for your own [`Connect`](super::Connect).
    pub fn connecting(error: std::io::Error) -> Self {
        let kind = match error.kind() {
            std::io::ErrorKind::TimedOut | std::io::ErrorKind::WouldBlock => ErrorKind::TimedOut,
            _ => ErrorKind::Io(error),
        };
        Self::new(Phase::Connect, kind)
    }

    /// The phase.
    pub fn phase(&self) -> Phase {
        self.0.0
    }

    /// What went wrong.
    pub fn kind(&self) -> &ErrorKind {
        &self.0.1
    }

    /// The error in a [`std::io`] error, as returned by a [`Trace`](super::Trace) when read.
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

    /// The runtime's HRESULT, if the runtime refused the request.
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
            Self::Io(_) => f.write_str("an I/O error"),
            Self::NotFound(what) => write!(f, "{what} was not found"),
            Self::NotAnEndpoint(what) => f.write_str(what),
            Self::Untrusted(_) => f.write_str("the endpoint is not trusted"),
            Self::Encode(_) => f.write_str("the request cannot be encoded"),
            Self::Limit(_) => f.write_str("a runtime would refuse it"),
            Self::Refused { hresult, message } => {
                f.write_str("the runtime answered ")?;
                // Its name would suggest success.
                if hresult.is_success() {
                    write!(f, "with the error code 0x{:08X}, which gives no reason", hresult.0)?;
                } else {
                    write!(f, "{hresult}")?;
                }
                message.as_ref().map_or(Ok(()), |message| write!(f, ": {message}"))
            }
            Self::Malformed(_) => f.write_str("the reply cannot be decoded"),
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
            Self::Bug(_) => f.write_str("a bug in this crate: an exchange was used wrongly"),
        }
    }
}

/// The text without its [`source`](std::error::Error::source); `{error:#}` adds the sources on one
/// line.
impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.kind(), self.phase())?;
        let mut source = std::error::Error::source(self).filter(|_| f.alternate());
        while let Some(error) = source {
            write!(f, ": {error}")?;
            source = error.source();
        }
        Ok(())
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Error").field("kind", self.kind()).field("phase", &self.phase()).finish()
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self.kind() {
            ErrorKind::Io(error) => Some(error),
            ErrorKind::Encode(error) => Some(error),
            ErrorKind::Limit(error) => Some(error),
            ErrorKind::Malformed(error) => Some(error),
            ErrorKind::Untrusted(reason) => Some(reason),
            ErrorKind::Bug(illegal) => Some(illegal),
            _ => None,
        }
    }
}

impl Stopped {
    /// The same as the error of a phase.
    pub fn during(self, phase: Phase) -> Error {
        Error::new(
            phase,
            match self {
                Self::TimedOut => ErrorKind::TimedOut,
                Self::Cancelled => ErrorKind::Cancelled,
                Self::Io(error) => ErrorKind::Io(error),
            },
        )
    }
}

/// With the kind that fits: `TimedOut`, `UnexpectedEof`, the system's, or else `Other`.
impl From<Error> for std::io::Error {
    fn from(error: Error) -> Self {
        let kind = match error.kind() {
            ErrorKind::TimedOut => std::io::ErrorKind::TimedOut,
            ErrorKind::Io(error) => error.kind(),
            ErrorKind::Ended { .. } | ErrorKind::Incomplete { .. } => {
                std::io::ErrorKind::UnexpectedEof
            }
            _ => std::io::ErrorKind::Other,
        };
        Self::new(kind, error)
    }
}

impl From<std::io::Error> for ErrorKind {
    fn from(error: std::io::Error) -> Self {
        Self::Io(error)
    }
}

impl From<EncodeError> for ErrorKind {
    fn from(error: EncodeError) -> Self {
        Self::Encode(error)
    }
}

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
            // Passes the transport's report to the exchange.
            MisuseError::TooMany { asked, reported } => Self::Miscounted { asked, reported },
            illegal => Self::Bug(illegal),
        }
    }
}

impl From<Distrust> for ErrorKind {
    fn from(reason: Distrust) -> Self {
        Self::Untrusted(reason)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::continuation::Environment;
    use crate::message::Message;
    use crate::message::Request as _;
    use crate::message::dump::{DumpFlags, DumpType, GenerateCoreDump3};
    use std::path::PathBuf;
    use std::string::ToString as _;
    use std::vec::Vec;

    const PHASES: [Phase; 10] = [
        Phase::Find,
        Phase::Trust,
        Phase::Connect,
        Phase::Advertise,
        Phase::Send,
        Phase::SendFd,
        Phase::Reply,
        Phase::Continuation,
        Phase::Stop,
        Phase::Listen,
    ];

    /// One of each.
    fn kinds() -> Vec<ErrorKind> {
        let path = || PathBuf::from("/tmp/s");
        let dump = GenerateCoreDump3 {
            dump_name: "/d".into(),
            dump_type: DumpType(9),
            flags: DumpFlags::NONE,
        };
        std::vec![
            ErrorKind::TimedOut,
            ErrorKind::Cancelled,
            std::io::Error::from(std::io::ErrorKind::AddrInUse).into(),
            std::io::Error::new(std::io::ErrorKind::AddrInUse, "a listener already exists there")
                .into(),
            std::io::Error::from(Error::new(Phase::Listen, ErrorKind::TimedOut)).into(),
            ErrorKind::NotFound("process 12".into()),
            ErrorKind::NotAnEndpoint("the path has no file name".into()),
            Distrust::NotASocket { path: path(), is: "a file" }.into(),
            Distrust::OtherOwner { path: path(), owner: 1, ours: 2 }.into(),
            Distrust::SharedDirectory { path: path(), mode: 0o777 }.into(),
            Distrust::PeerOwner { owner: 1, ours: 2 }.into(),
            Distrust::PeerProcess { process_id: 1, expected: 2 }.into(),
            dump.encode_message(&mut []).unwrap_err().into(),
            dump.check_limits().unwrap_err().into(),
            ErrorKind::Refused { hresult: HResult::FAIL, message: None },
            ErrorKind::Refused { hresult: HResult::FAIL, message: Some("disk full".into()) },
            Message::decode_prefix(b"HTTP/1.1").unwrap_err().into(),
            Environment::decode(&[]).unwrap_err().into(),
            ErrorKind::Ended { end: End::Closed, received: 0 },
            ErrorKind::Ended { end: End::Reset, received: 7 },
            ErrorKind::LimitExceeded { limit: 7 },
            ErrorKind::Unsupported("this system has no named pipes"),
            ErrorKind::Incomplete { end: End::Closed, received: 7 },
            ErrorKind::SessionOver,
            ErrorKind::AlreadyStopped,
            MisuseError::TooMany { asked: 7, reported: 8 }.into(),
            MisuseError::NotAsked.into(),
        ]
    }

    #[test]
    fn display_repeats_no_source() {
        for phase in PHASES {
            for kind in kinds() {
                let error = Error::new(phase, kind);
                let (mut parent, mut chain): (&dyn std::error::Error, _) =
                    (&error, error.to_string());
                while let Some(source) = parent.source() {
                    assert!(
                        !parent.to_string().contains(&source.to_string()),
                        "{parent}: {source}"
                    );
                    chain = std::format!("{chain}: {source}");
                    parent = source;
                }
                assert_eq!(std::format!("{error:#}"), chain);
            }
        }
    }

    #[test]
    fn display_with_sources_prints_each_part_once() {
        let error = Error::new(
            Phase::Listen,
            std::io::Error::new(std::io::ErrorKind::AddrInUse, "a listener already exists there"),
        );
        assert_eq!(
            (error.to_string(), std::format!("{error:#}")),
            (
                "an I/O error (listening)".into(),
                "an I/O error (listening): a listener already exists there".into()
            )
        );
        let error = Error::new(Phase::Reply, Message::decode_prefix(b"HTTP/1.1").unwrap_err());
        assert_eq!(error.to_string(), "the reply cannot be decoded (waiting for the reply)");
        assert!(
            std::format!("{error:#}")
                .starts_with("the reply cannot be decoded (waiting for the reply): "),
            "{error:#}"
        );
    }
}
