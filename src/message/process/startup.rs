//! `ResumeRuntime` and `ApplyStartupHook`: commands around the start of managed code.

use super::empty_request;
use crate::command::Command;
use crate::message::{Request, server::ResultReply};
use crate::wire::{Field, IpcString, Layout as _, WireError, WireErrorKind, macros::wire_struct};

empty_request! {
    /// `ResumeRuntime`, `0x0401`: no payload; answered by a [`ResultReply`] (F-41). Since .NET 5.
    ///
    /// Releases only the port on which it arrives. On any other port, the answer is OK and nothing
    /// happens (F-42).
    ///
    /// ```
    /// use dotnet_diagnostics_ipc::message::{Request as _, process::ResumeRuntime};
    ///
    /// assert_eq!(ResumeRuntime {}.encode_message(&mut [0; 20]), Ok(20));
    /// ```
    ResumeRuntime, RESUME_RUNTIME, ResultReply
}

wire_struct! {
    /// `ApplyStartupHook`, `0x0407`: run at once if the runtime has started (F-47). Since .NET 8.
    ///
    /// A hook that cannot be loaded ends the process on 9.0.5 (P-2).
    ///
    /// Answered by a [`ResultReply`].
    ///
    /// ```
    /// use dotnet_diagnostics_ipc::message::{Request as _, process::ApplyStartupHook};
    ///
    /// assert_eq!(ApplyStartupHook { startup_hook_path: "/h.dll".into() }.encode_message(&mut [0; 64]), Ok(20 + 18));
    /// ```
    pub struct ApplyStartupHook<'a> {
        /// A managed assembly on the target's machine. Absent is refused; empty is not (P-1).
        pub startup_hook_path: IpcString<'a> = StartupHookPath,
    }
}

impl<'a> Request<'a> for ApplyStartupHook<'a> {
    const COMMAND: Command = Command::APPLY_STARTUP_HOOK;
    type Reply = ResultReply;

    fn check_values(&self) -> Result<(), WireError> {
        if self.startup_hook_path.is_absent() {
            self.refuse(Field::StartupHookPath, WireErrorKind::AbsentName)
        } else {
            Ok(())
        }
    }
}
