//! Fallback fallbacks: from the newest command down to one that the runtime knows.
//!
//! | fallback | commands | the request |
//! |---|---|---|
//! | [`TracingFallback`] | `CollectTracing6` → 5 → 4 → 3 → 2 | each says less |
//! | [`DumpFallback`] | `GenerateCoreDump3` → 2 → 1 | 3 and 2 are the same, 1 has one flag |
//! | [`ProcessInfoFallback`] | `ProcessInfo3` → 2 → 1 | the same, without payload |
//!
//! A fallback steps down only after `UNKNOWN_COMMAND`, and only where the older command says the same thing. Whatever else a
//! caller can do without has to be [allowed](Fallback::allowing); each [`FallbackStep`] says what was dropped. A runtime reads the command
//! before it does anything (F-69), so a refused command has had no effect. Each command goes over a connection of its own.
//!
//! Runtimes die of values that are out of range, the older ones of more (F-72): ask
//! [`check_limits`](crate::message::Request::check_limits) of the request before it goes on a fallback.

mod dropped_fields;
mod dump;
mod error;
mod process_info;
mod tracing;

pub use dropped_fields::DroppedFields;
pub use dump::{DumpFallback, DumpRequest};
pub use error::{FallbackError, FallbackErrorKind};
pub use process_info::{ProcessInfoFallback, ProcessInfoRequest};
pub use tracing::{TracingFallback, TracingRequest};

use crate::command::{Command, Continuation};
use crate::hresult::HResult;
use crate::wire::Encode;

/// One command of a fallback. As [`Encode`] it is that command's payload, written from the caller's newest request: no memory is
/// needed in between. [`Client::with_payload`](super::Client::with_payload) takes one.
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
    /// The command that the header names. With it, [`Message::reply_to`](crate::message::Message::reply_to) reads the reply.
    fn command(&self) -> Command;

    /// What follows the OK reply.
    fn continuation(&self) -> Continuation {
        self.command().continuation().unwrap_or(Continuation::Close)
    }

    /// The next older command, where no more than `allowed` is dropped.
    ///
    /// # Errors
    /// [`FallbackError`], with the first field that the older command cannot say.
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
    /// The command to ask with now.
    pub request: R,
    /// What this step dropped.
    pub dropped: DroppedFields,
}

/// The way from the newest command down.
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
    /// A fallback from this request down. Of the request nothing may be dropped.
    pub fn new(request: impl Into<R>) -> Self {
        Self { request: request.into(), allowed: DroppedFields::OF_REPLY, dropped: DroppedFields::NONE }
    }

    /// The same, where these may be dropped too.
    #[must_use]
    pub const fn allowing(mut self, losses: DroppedFields) -> Self {
        self.allowed = self.allowed.with(losses);
        self
    }

    /// What to ask with now.
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
            return Err(FallbackError::new(self.request.command(), FallbackErrorKind::OtherError(hresult)));
        }
        let step = self.request.older(self.allowed)?;
        self.request = step.request;
        self.dropped = self.dropped.with(step.dropped);
        Ok(step)
    }
}

/// What saying `same` or not loses: nothing, or `loss` if it is allowed.
fn dropped_unless(
    same: bool,
    loss: DroppedFields,
    allowed: DroppedFields,
    command: Command,
) -> Result<DroppedFields, FallbackError> {
    if same {
        return Ok(DroppedFields::NONE);
    }
    if allowed.contains(loss) { Ok(loss) } else { Err(FallbackError::new(command, FallbackErrorKind::CannotSay(loss))) }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use crate::exchange::{AfterReply, Client, ClientAction, Outcome};
    use crate::message::process::ProcessInfo3;
    use std::string::ToString;

    #[test]
    fn only_an_unknown_command_steps() {
        let mut fallback = ProcessInfoFallback::new(ProcessInfo3 {});
        let before = fallback;
        let others = HResult::NAMED.iter().copied().filter(|code| *code != HResult::UNKNOWN_COMMAND);
        for hresult in others.chain([HResult(0x8013_1386 - 2), HResult(0x1385), HResult(u32::MAX)]) {
            let error = fallback.refused(hresult).unwrap_err();
            assert_eq!((error.kind(), error.command()), (FallbackErrorKind::OtherError(hresult), Command::PROCESS_INFO3));
            assert_eq!(fallback, before);
        }
        let error = fallback.refused(HResult::BAD_ENCODING).unwrap_err();
        let text = "ProcessInfo3: 0x80131384 DS_IPC_E_BAD_ENCODING does not say that the command is unknown";
        assert_eq!(error.to_string(), text);
        assert!(fallback.refused(HResult(0x8013_1385)).is_ok());
    }

    /// A runtime that has no more than `known`: what a client with this request comes to.
    fn ask<R: FallbackRequest>(request: R, known: Command) -> Outcome {
        let mut buffer = [0; 256];
        let mut client = Client::with_payload(request.command(), Some(request.continuation()), &request, &mut buffer).unwrap();
        let reply: &[u8] = match client.action() {
            ClientAction::Send(range) if buffer[range.start + 16..range.start + 18] == known.code().to_be_bytes() => {
                b"DOTNET_IPC_V1\0\x1c\0\xff\0\0\0\x2a\0\0\0\0\0\0\0"
            }
            _ => b"DOTNET_IPC_V1\0\x18\0\xff\xff\0\0\x85\x13\x13\x80",
        };
        let mut left = reply;
        loop {
            match client.action() {
                ClientAction::Send(range) => client.sent(range.len()).unwrap(),
                ClientAction::SendFd => client.fd_sent().unwrap(),
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
    fn client_goes_down_to_the_command_that_the_runtime_has() {
        use crate::message::eventpipe::{CollectTracing6, EventFilter, EventLevel, Format, SessionBufferMode};
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
                    Outcome::Error { hresult, .. } => fallback.refused(hresult).map(|_| taken += 1).unwrap(),
                    Outcome::Ok { then, .. } => break then,
                    other => panic!("{other:?}"),
                }
            };
            assert_eq!((taken, then), (steps, AfterReply::Stream { session_id: Some(42) }), "{code:#x}");
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
