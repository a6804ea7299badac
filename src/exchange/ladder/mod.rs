//! Fallback ladders: from the newest command down to one that the runtime knows.
//!
//! | ladder | commands | the request |
//! |---|---|---|
//! | [`TracingLadder`] | `CollectTracing6` → 5 → 4 → 3 → 2 | each says less |
//! | [`DumpLadder`] | `GenerateCoreDump3` → 2 → 1 | 3 and 2 are the same, 1 has one flag |
//! | [`ProcessInfoLadder`] | `ProcessInfo3` → 2 → 1 | the same, without payload |
//!
//! A ladder steps down only after `UNKNOWN_COMMAND`, and only where the older command says the same thing. Whatever else a
//! caller can do without has to be [allowed](Ladder::allowing); each [`Step`] says what was lost. A runtime reads the command
//! before it does anything (F-69), so a refused command has had no effect. Each command goes over a connection of its own.
//!
//! Runtimes die of values that are out of range, the older ones of more (F-72): ask
//! [`check_limits`](crate::message::Request::check_limits) of the request before it goes on a ladder.

mod dump;
mod losses;
mod no_further;
mod process_info;
mod tracing;

pub use dump::{DumpLadder, DumpRung};
pub use losses::Losses;
pub use no_further::{NoFurther, Reason};
pub use process_info::{ProcessInfoLadder, ProcessInfoRung};
pub use tracing::{TracingLadder, TracingRung};

use crate::command::{Command, Continuation};
use crate::hresult::HResult;
use crate::wire::Encode;

/// One command of a ladder. As [`Encode`] it is that command's payload, written from the caller's newest request: no memory is
/// needed in between. [`Client::with_payload`](super::Client::with_payload) takes one.
///
/// ```
/// use dotnet_diagnostics_ipc::exchange::ladder::{Rung as _, ProcessInfoLadder};
/// use dotnet_diagnostics_ipc::message::{encode, process::ProcessInfo3};
///
/// let rung = ProcessInfoLadder::new(ProcessInfo3 {}).rung();
/// let mut buffer = [0; 20];
/// encode(rung.command(), &rung, &mut buffer)?;
/// assert_eq!(&buffer, b"DOTNET_IPC_V1\0\x14\0\x04\x08\0\0");
/// # Ok::<(), dotnet_diagnostics_ipc::wire::EncodeError>(())
/// ```
pub trait Rung: Encode + Copy + sealed::Sealed {
    /// The command that the header names. With it, [`Message::reply_to`](crate::message::Message::reply_to) reads the reply.
    fn command(&self) -> Command;

    /// What follows the OK reply.
    fn continuation(&self) -> Continuation {
        self.command().continuation().unwrap_or(Continuation::Close)
    }

    /// The next older command, where no more than `allowed` is lost.
    ///
    /// # Errors
    /// [`NoFurther`], with the first field that the older command cannot say.
    fn older(&self, allowed: Losses) -> Result<Step<Self>, NoFurther>;
}

mod sealed {
    pub trait Sealed {}
}

/// A step down.
///
/// ```
/// use dotnet_diagnostics_ipc::command::Command;
/// use dotnet_diagnostics_ipc::exchange::ladder::{ProcessInfoLadder, Rung as _, Step};
/// use dotnet_diagnostics_ipc::{hresult::HResult, message::process::ProcessInfo3};
///
/// let Step { rung, lost } = ProcessInfoLadder::new(ProcessInfo3 {}).refused(HResult::UNKNOWN_COMMAND).unwrap();
/// assert_eq!(rung.command(), Command::PROCESS_INFO2);
/// assert_eq!(lost.to_string(), "version, runtimeIdentifier");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step<R> {
    /// The command to ask with now.
    pub rung: R,
    /// What this step lost.
    pub lost: Losses,
}

/// The way from the newest command down.
///
/// ```
/// use dotnet_diagnostics_ipc::command::Command;
/// use dotnet_diagnostics_ipc::exchange::ladder::{Losses, ProcessInfoLadder, Rung as _};
/// use dotnet_diagnostics_ipc::hresult::HResult;
/// use dotnet_diagnostics_ipc::message::{encode, process::ProcessInfo3};
///
/// // A runtime that knows the first of them: what it answers to a command.
/// let ask = |message: &[u8]| if message[16..18] == [4, 0] { Ok(()) } else { Err(HResult::UNKNOWN_COMMAND) };
///
/// let mut buffer = [0; 64];
/// let mut ladder = ProcessInfoLadder::new(ProcessInfo3 {});
/// let command = loop {
///     let rung = ladder.rung();
///     let len = encode(rung.command(), &rung, &mut buffer)?;
///     match ask(&buffer[..len]) {
///         Ok(()) => break rung.command(),
///         Err(hresult) => ladder.refused(hresult)?,
///     };
/// };
/// assert_eq!(command, Command::PROCESS_INFO);
/// assert!(ladder.lost().contains(Losses::CLR_VERSION));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ladder<R> {
    rung: R,
    allowed: Losses,
    lost: Losses,
}

impl<R: Rung> Ladder<R> {
    /// A ladder from this request down. Of the request nothing may be lost.
    pub fn new(request: impl Into<R>) -> Self {
        Self { rung: request.into(), allowed: Losses::OF_REPLY, lost: Losses::NONE }
    }

    /// The same, where these may be lost too.
    #[must_use]
    pub const fn allowing(mut self, losses: Losses) -> Self {
        self.allowed = self.allowed.with(losses);
        self
    }

    /// What to ask with now.
    pub const fn rung(&self) -> R {
        self.rung
    }

    /// What was lost so far.
    pub const fn lost(&self) -> Losses {
        self.lost
    }

    /// The runtime answered the rung with this error: steps down.
    ///
    /// # Errors
    /// [`NoFurther`]; the ladder then stays where it is.
    pub fn refused(&mut self, hresult: HResult) -> Result<Step<R>, NoFurther> {
        if hresult != HResult::UNKNOWN_COMMAND {
            return Err(NoFurther::new(self.rung.command(), Reason::OtherError(hresult)));
        }
        let step = self.rung.older(self.allowed)?;
        self.rung = step.rung;
        self.lost = self.lost.with(step.lost);
        Ok(step)
    }
}

/// What saying `same` or not loses: nothing, or `loss` if it is allowed.
fn lost_unless(same: bool, loss: Losses, allowed: Losses, command: Command) -> Result<Losses, NoFurther> {
    if same {
        return Ok(Losses::NONE);
    }
    if allowed.contains(loss) { Ok(loss) } else { Err(NoFurther::new(command, Reason::CannotSay(loss))) }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use crate::exchange::{Client, ClientAction, Outcome, Then};
    use crate::message::process::ProcessInfo3;
    use std::string::ToString;

    #[test]
    fn only_an_unknown_command_steps() {
        let mut ladder = ProcessInfoLadder::new(ProcessInfo3 {});
        let before = ladder;
        let others = HResult::NAMED.iter().copied().filter(|code| *code != HResult::UNKNOWN_COMMAND);
        for hresult in others.chain([HResult(0x8013_1386 - 2), HResult(0x1385), HResult(u32::MAX)]) {
            let error = ladder.refused(hresult).unwrap_err();
            assert_eq!((error.reason(), error.command()), (Reason::OtherError(hresult), Command::PROCESS_INFO3));
            assert_eq!(ladder, before);
        }
        let error = ladder.refused(HResult::BAD_ENCODING).unwrap_err();
        let text = "ProcessInfo3: 0x80131384 DS_IPC_E_BAD_ENCODING does not say that the command is unknown";
        assert_eq!(error.to_string(), text);
        assert!(ladder.refused(HResult(0x8013_1385)).is_ok());
    }

    /// A runtime that has no more than `known`: what a client with this rung comes to.
    fn ask<R: Rung>(rung: R, known: Command) -> Outcome {
        let mut buffer = [0; 256];
        let mut client = Client::with_payload(rung.command(), Some(rung.continuation()), &rung, &mut buffer).unwrap();
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
    fn a_client_goes_down_to_the_command_that_the_runtime_has() {
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
            let mut ladder = TracingLadder::new(&request);
            let mut taken = 0;
            let then = loop {
                match ask(ladder.rung(), Command::from_code(code)) {
                    Outcome::Error { hresult, .. } => ladder.refused(hresult).map(|_| taken += 1).unwrap(),
                    Outcome::Ok { then, .. } => break then,
                    other => panic!("{other:?}"),
                }
            };
            assert_eq!((taken, then), (steps, Then::Stream { session_id: Some(42) }), "{code:#x}");
        }
    }

    #[test]
    fn ladders_and_errors_are_small() {
        let sizes =
            [size_of::<TracingLadder<'_>>(), size_of::<DumpLadder<'_>>(), size_of::<ProcessInfoLadder>(), size_of::<NoFurther>()];
        assert!(sizes.iter().all(|size| *size <= 64), "{sizes:?}");
    }
}
