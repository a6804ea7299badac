//! `ProcessEnvironment` and `SetEnvironmentVariable`.

use super::empty_request;
use crate::command::Command;
use crate::message::{Request, server::ResultReply};
use crate::wire::{Field, IpcString, Layout as _, WireError, WireErrorKind, macros::wire_struct};

empty_request! {
    /// `ProcessEnvironment`, `0x0402`: no payload; answered by a [`ProcessEnvironmentReply`], then the block. Since .NET 5.
    ///
    /// ```
    /// use dotnet_diagnostics_ipc::message::{Request as _, process::ProcessEnvironment};
    ///
    /// assert_eq!(ProcessEnvironment {}.encode_message(&mut [0; 20]), Ok(20));
    /// ```
    ProcessEnvironment, PROCESS_ENVIRONMENT, ProcessEnvironmentReply
}

wire_struct! {
    /// The reply to [`ProcessEnvironment`]: 26 bytes in total (F-43), then the block.
    ///
    /// ```
    /// use dotnet_diagnostics_ipc::{message::process::ProcessEnvironmentReply, wire::Encode as _};
    ///
    /// assert_eq!(ProcessEnvironmentReply { n_incoming_bytes: 4, future: 0 }.encoded_len(), Ok(6));
    /// ```
    pub struct ProcessEnvironmentReply {
        /// The size of the environment block that follows, in bytes.
        pub n_incoming_bytes: u32 = NIncomingBytes,
        /// Unused. Kept as received.
        pub future: u16 = Future,
    }
}

wire_struct! {
    /// `SetEnvironmentVariable`, `0x0403`. Since .NET 6.
    ///
    /// An absent value deletes the variable (F-44); if it does not exist, the answer is an error (F-80). Answered by a
    /// [`ResultReply`].
    ///
    /// ```
    /// use dotnet_diagnostics_ipc::{message::{Request as _, process::SetEnvironmentVariable}, wire::IpcString};
    ///
    /// let delete = SetEnvironmentVariable { name: "X".into(), value: IpcString::ABSENT };
    /// assert_eq!(delete.encode_message(&mut [0; 64]), Ok(20 + 8 + 4));
    /// ```
    pub struct SetEnvironmentVariable<'a> {
        /// The variable's name. For runtimes, it ends at the first NUL.
        pub name: IpcString<'a> = Name,
        /// Its value; absent to delete it.
        pub value: IpcString<'a> = Value,
    }
}

impl<'a> Request<'a> for SetEnvironmentVariable<'a> {
    const COMMAND: Command = Command::SET_ENVIRONMENT_VARIABLE;
    type Reply = ResultReply;

    fn check_values(&self) -> Result<(), WireError> {
        if self.name.is_absent() {
            self.refuse(Field::Name, WireErrorKind::AbsentName)
        } else {
            Ok(())
        }
    }
}
