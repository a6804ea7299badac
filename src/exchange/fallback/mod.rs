//! Fall back from the newest command to one that the runtime knows.
//!
//! | fallback | commands | the request |
//! |---|---|---|
//! | [`TracingFallback`] | `CollectTracing6` → 5 → 4 → 3 → 2 | each has fewer fields |
//! | [`DumpFallback`] | `GenerateCoreDump3` → 2 → 1 | 3 and 2 are the same, 1 has one flag |
//! | [`ProcessInfoFallback`] | `ProcessInfo3` → 2 → 1 | the same, without payload |
//!
//! A fallback steps down only after `UNKNOWN_COMMAND`, and only if the older command means the
//! same. Other losses must be [allowed](Fallback::allowing); each [`FallbackStep`] reports what was
//! dropped. A runtime checks the command first (F-69), so a refused command has had no effect. Each
//! command needs a new connection.
//!
//! Runtimes crash on values that are out of range, older ones on more (F-72): call
//! [`check_limits`](crate::message::Request::check_limits) on the request before starting a
//! fallback.

//! # Example
//!
//! Ask with the newest command, and with an older one if the runtime does not know it:
//!
//! ```
//! use dotnet_diagnostics_ipc::command::Command;
//! use dotnet_diagnostics_ipc::exchange::fallback::{FallbackRequest as _, ProcessInfoFallback};
//! use dotnet_diagnostics_ipc::hresult::HResult;
//! use dotnet_diagnostics_ipc::message::process::ProcessInfo3;
//!
//! let mut fallback = ProcessInfoFallback::new(ProcessInfo3 {});
//! assert_eq!(fallback.request().command(), Command::PROCESS_INFO3);
//! // The runtime answered UNKNOWN_COMMAND.
//! assert_eq!(fallback.refused(HResult::UNKNOWN_COMMAND)?.request.command(), Command::PROCESS_INFO2);
//! # Ok::<(), dotnet_diagnostics_ipc::exchange::fallback::FallbackError>(())
//! ```

mod dropped_fields;
mod dump;
mod error;
mod process_info;
mod tracing;

pub use dropped_fields::{DroppedFields, Fields};
pub use dump::{DumpFallback, DumpRequest};
pub use error::{FallbackError, FallbackErrorKind};
pub use process_info::{ProcessInfoFallback, ProcessInfoRequest};
pub use tracing::{TracingFallback, TracingRequest};

use crate::command::{Command, Continuation};
use crate::hresult::HResult;
use crate::wire::Encode;

/// One command of a fallback. As [`Encode`] it is that command's payload, written from the caller's
/// newest request without intermediate memory. Pass it to
/// [`Client::with_payload`](super::Client::with_payload).
///
/// ```
/// use dotnet_diagnostics_ipc::exchange::fallback::{FallbackRequest as _, ProcessInfoFallback};
/// use dotnet_diagnostics_ipc::message::{encode, process::ProcessInfo3};
///
/// let request = ProcessInfoFallback::new(ProcessInfo3 {}).request();
/// let mut buffer = [0; 20];
/// encode(request.command(), &request, &mut buffer)?;
/// assert_eq!(&buffer, b"DOTNET_IPC_V1\0\x14\0\x04\x08\0\0");
/// # Ok::<(), dotnet_diagnostics_ipc::wire::EncodeError>(())
/// ```
pub trait FallbackRequest: Encode + Copy + sealed::Sealed {
    /// The command in the header. [`Message::reply_to`](crate::message::Message::reply_to) needs it
    /// to read the reply.
    fn command(&self) -> Command;

    /// What follows the OK reply.
    fn continuation(&self) -> Continuation {
        self.command().continuation().unwrap_or(Continuation::Close)
    }

    /// The next older command, if it drops no more than `allowed`.
    ///
    /// # Errors
    /// [`FallbackError`] with the first field that the older command lacks.
    fn older(&self, allowed: DroppedFields) -> Result<FallbackStep<Self>, FallbackError>;
}

mod sealed {
    pub trait Sealed {}
}

/// A step down.
///
/// ```
/// use dotnet_diagnostics_ipc::command::Command;
/// use dotnet_diagnostics_ipc::exchange::fallback::{ProcessInfoFallback, FallbackRequest as _, FallbackStep};
/// use dotnet_diagnostics_ipc::{hresult::HResult, message::process::ProcessInfo3};
///
/// let FallbackStep { request, dropped } = ProcessInfoFallback::new(ProcessInfo3 {}).refused(HResult::UNKNOWN_COMMAND).unwrap();
/// assert_eq!(request.command(), Command::PROCESS_INFO2);
/// assert_eq!(dropped.to_string(), "version, runtimeIdentifier");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FallbackStep<R> {
    /// The command to send now.
    pub request: R,
    /// What this step dropped.
    pub dropped: DroppedFields,
}

/// The steps down from the newest command.
///
/// ```
/// use dotnet_diagnostics_ipc::command::Command;
/// use dotnet_diagnostics_ipc::exchange::fallback::{DroppedFields, ProcessInfoFallback, FallbackRequest as _};
/// use dotnet_diagnostics_ipc::hresult::HResult;
/// use dotnet_diagnostics_ipc::message::{encode, process::ProcessInfo3};
///
/// // A runtime that knows the first of them: what it answers to a command.
/// let ask = |message: &[u8]| if message[16..18] == [4, 0] { Ok(()) } else { Err(HResult::UNKNOWN_COMMAND) };
///
/// let mut buffer = [0; 64];
/// let mut fallback = ProcessInfoFallback::new(ProcessInfo3 {});
/// let command = loop {
///     let request = fallback.request();
///     let len = encode(request.command(), &request, &mut buffer)?;
///     match ask(&buffer[..len]) {
///         Ok(()) => break request.command(),
///         Err(hresult) => fallback.refused(hresult)?,
///     };
/// };
/// assert_eq!(command, Command::PROCESS_INFO);
/// assert!(fallback.dropped().contains(DroppedFields::CLR_VERSION));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fallback<R> {
    request: R,
    allowed: DroppedFields,
    dropped: DroppedFields,
}

impl<R: FallbackRequest> Fallback<R> {
    /// A fallback from this request down. Nothing of the request may be dropped.
    pub fn new(request: impl Into<R>) -> Self {
        Self {
            request: request.into(),
            allowed: DroppedFields::OF_REPLY,
            dropped: DroppedFields::NONE,
        }
    }

    /// Also allows dropping these fields.
    #[must_use]
    pub const fn allowing(mut self, losses: DroppedFields) -> Self {
        self.allowed = self.allowed.with(losses);
        self
    }

    /// The command to send now.
    pub const fn request(&self) -> R {
        self.request
    }

    /// What was dropped so far.
    pub const fn dropped(&self) -> DroppedFields {
        self.dropped
    }

    /// The runtime answered the request with this error: steps down.
    ///
    /// # Errors
    /// [`FallbackError`]; the fallback then stays where it is.
    pub fn refused(&mut self, hresult: HResult) -> Result<FallbackStep<R>, FallbackError> {
        if hresult != HResult::UNKNOWN_COMMAND {
            return Err(FallbackError::new(
                self.request.command(),
                FallbackErrorKind::OtherError(hresult),
            ));
        }
        let step = self.request.older(self.allowed)?;
        self.request = step.request;
        self.dropped = self.dropped.with(step.dropped);
        Ok(step)
    }
}

/// The loss if `same` is false: nothing, or `loss` if it is allowed.
fn dropped_unless(
    same: bool,
    loss: DroppedFields,
    allowed: DroppedFields,
    command: Command,
) -> Result<DroppedFields, FallbackError> {
    if same {
        return Ok(DroppedFields::NONE);
    }
    if allowed.contains(loss) {
        Ok(loss)
    } else {
        Err(FallbackError::new(command, FallbackErrorKind::CannotSay(loss)))
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use crate::exchange::{AfterReply, Client, ClientAction, Outcome};
    use crate::message::process::ProcessInfo3;
    use std::string::ToString;

    #[test]
    fn only_unknown_command_steps_down() {
        let mut fallback = ProcessInfoFallback::new(ProcessInfo3 {});
        let before = fallback;
        let others =
            HResult::NAMED.iter().copied().filter(|code| *code != HResult::UNKNOWN_COMMAND);
        for hresult in others.chain([HResult(0x8013_1386 - 2), HResult(0x1385), HResult(u32::MAX)])
        {
            let error = fallback.refused(hresult).unwrap_err();
            assert_eq!(
                (error.kind(), error.command()),
                (FallbackErrorKind::OtherError(hresult), Command::PROCESS_INFO3)
            );
            assert_eq!(fallback, before);
        }
        let error = fallback.refused(HResult::BAD_ENCODING).unwrap_err();
        let text =
            "ProcessInfo3: 0x80131384 DS_IPC_E_BAD_ENCODING does not mean an unknown command";
        assert_eq!(error.to_string(), text);
        assert!(fallback.refused(HResult(0x8013_1385)).is_ok());
    }

    /// The result of this request with a runtime that knows only `known`.
    fn ask<R: FallbackRequest>(request: R, known: Command) -> Outcome {
        let mut buffer = [0; 256];
        let mut client = Client::with_payload(
            request.command(),
            Some(request.continuation()),
            &request,
            &mut buffer,
        )
        .unwrap();
        let reply: &[u8] = match client.action() {
            ClientAction::Send(range)
                if buffer[range.start + 16..range.start + 18] == known.code().to_be_bytes() =>
            {
                b"DOTNET_IPC_V1\0\x1c\0\xff\0\0\0\x2a\0\0\0\0\0\0\0"
            }
            _ => b"DOTNET_IPC_V1\0\x18\0\xff\xff\0\0\x85\x13\x13\x80",
        };
        let mut left = reply;
        loop {
            match client.action() {
                ClientAction::Send(range) => client.sent(range.len()).unwrap(),
                ClientAction::SendFd(_) => client.fd_sent().unwrap(),
                ClientAction::Receive(range) => {
                    let (now, later) = left.split_at(range.len());
                    left = later;
                    buffer[range].copy_from_slice(now);
                    client.received(&buffer, now.len()).unwrap();
                }
                ClientAction::Finished(outcome) => return outcome,
            }
        }
    }

    #[test]
    fn client_steps_down_to_known_command() {
        use crate::message::eventpipe::{
            CollectTracing6, EventFilter, EventLevel, Format, SessionBufferMode,
        };
        use crate::message::eventpipe::{StreamingProviderConfig, StreamingSession6};
        use crate::wire::{Array, IpcString};
        let providers = [StreamingProviderConfig {
            keywords: 1,
            log_level: EventLevel::VERBOSE,
            provider_name: "P".into(),
            arguments: IpcString::ABSENT,
            filter: EventFilter::ALL,
        }];
        let request = CollectTracing6::Streaming(StreamingSession6 {
            circular_buffer_mb: 16,
            format: Format::NET_TRACE,
            rundown_keyword: 0,
            request_stackwalk: true,
            providers: Array::new(&providers),
            session_buffer_mode: SessionBufferMode::DROP,
        });
        for (steps, code) in [(0, 0x0207), (1, 0x0206), (2, 0x0205), (3, 0x0204), (4, 0x0203)] {
            let mut fallback = TracingFallback::new(&request);
            let mut taken = 0;
            let then = loop {
                match ask(fallback.request(), Command::from_code(code)) {
                    Outcome::Error { hresult, .. } => {
                        fallback.refused(hresult).map(|_| taken += 1).unwrap();
                    }
                    Outcome::Ok { then, .. } => break then,
                    other => panic!("{other:?}"),
                }
            };
            assert_eq!(
                (taken, then),
                (steps, AfterReply::Stream { session_id: Some(42) }),
                "{code:#x}"
            );
        }
    }

    #[test]
    fn ladders_and_errors_are_small() {
        let sizes = [
            size_of::<TracingFallback<'_>>(),
            size_of::<DumpFallback<'_>>(),
            size_of::<ProcessInfoFallback>(),
            size_of::<FallbackError>(),
        ];
        assert!(sizes.iter().all(|size| *size <= 64), "{sizes:?}");
    }
}
