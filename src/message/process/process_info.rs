//! `ProcessInfo`, `ProcessInfo2`, `ProcessInfo3`: information about the process.

use super::empty_request;
use crate::command::Command;
use crate::message::Request;
use crate::wire::{
    Decode, Encode, EncodeError, Guid, IpcString, Sink, Visit, Visitor, decode_by_build,
    macros::wire_struct,
};

empty_request! {
    /// `ProcessInfo`, `0x0400`: no payload; answered by a [`ProcessInfoReply`]. Since .NET 5.
    ///
    /// Never send it with a payload: released runtimes then answer with raw memory (F-71).
    ///
    /// ```
    /// use dotnet_diagnostics_ipc::message::{Request as _, process::ProcessInfo};
    ///
    /// let mut buffer = [0; 20];
    /// ProcessInfo {}.encode_message(&mut buffer)?;
    /// assert_eq!(&buffer, b"DOTNET_IPC_V1\0\x14\0\x04\0\0\0");
    /// # Ok::<(), dotnet_diagnostics_ipc::wire::EncodeError>(())
    /// ```
    ProcessInfo, PROCESS_INFO, ProcessInfoReply<'a>
}

empty_request! {
    /// `ProcessInfo2`, `0x0404`: no payload; answered by a [`ProcessInfo2Reply`]. Since .NET 6.
    ///
    /// One edition prints its header with 0x0402, which asks for the environment (F-84).
    ///
    /// ```
    /// use dotnet_diagnostics_ipc::message::{Request as _, process::ProcessInfo2};
    ///
    /// let mut buffer = [0; 20];
    /// ProcessInfo2 {}.encode_message(&mut buffer)?;
    /// assert_eq!(buffer[16..18], [0x04, 0x04]);
    /// # Ok::<(), dotnet_diagnostics_ipc::wire::EncodeError>(())
    /// ```
    ProcessInfo2, PROCESS_INFO2, ProcessInfo2Reply<'a>
}

empty_request! {
    /// `ProcessInfo3`, `0x0408`: no payload; answered by a [`ProcessInfo3Reply`]. Since .NET 8.
    ///
    /// ```
    /// use dotnet_diagnostics_ipc::message::{Request as _, process::ProcessInfo3};
    ///
    /// assert_eq!(ProcessInfo3 {}.encode_message(&mut [0; 20]), Ok(20));
    /// ```
    ProcessInfo3, PROCESS_INFO3, ProcessInfo3Reply<'a>
}

wire_struct! {
    /// The reply to [`ProcessInfo`], in the order of the document's list, not of its struct (F-34).
    ///
    /// ```
    /// use dotnet_diagnostics_ipc::{message::process::ProcessInfoReply, wire::{Encode as _, Guid}};
    ///
    /// let reply = ProcessInfoReply {
    ///     process_id: 7,
    ///     runtime_cookie: Guid::NIL,
    ///     command_line: "/app".into(),
    ///     os: "Linux".into(),
    ///     arch: "x64".into(),
    /// };
    /// assert_eq!(reply.encoded_len(), Ok(8 + 16 + 14 + 16 + 12));
    /// ```
    pub struct ProcessInfoReply<'a> {
        /// The process id in the target's own pid namespace; 64 bits (F-35).
        pub process_id: u64 = ProcessId,
        /// The same in every answer and advertise of one runtime.
        pub runtime_cookie: Guid = RuntimeCookie,
        /// The executable, and its arguments once the runtime has started (F-79).
        pub command_line: IpcString<'a> = CommandLine,
        /// `Linux`, `macOS`, `Windows`, `Unknown`, and others that the document does not list (F-38).
        pub os: IpcString<'a> = Os,
        /// `x64`, `arm64`, …, and others that the document does not list (F-38).
        pub arch: IpcString<'a> = Arch,
    }
}

wire_struct! {
    /// The reply to [`ProcessInfo2`].
    ///
    /// ```
    /// use dotnet_diagnostics_ipc::{message::process::ProcessInfo2Reply, wire::{Encode as _, Guid}};
    ///
    /// let reply = ProcessInfo2Reply {
    ///     process_id: 7,
    ///     runtime_cookie: Guid::NIL,
    ///     command_line: "/app".into(),
    ///     os: "Linux".into(),
    ///     arch: "x64".into(),
    ///     managed_entrypoint_assembly_name: "app".into(),
    ///     clr_product_version: "8.0.30".into(),
    /// };
    /// assert_eq!(reply.encoded_len(), Ok(66 + 12 + 18));
    /// ```
    pub struct ProcessInfo2Reply<'a> {
        /// The process id in the target's own pid namespace.
        pub process_id: u64 = ProcessId,
        /// The same in every answer and advertise of one runtime.
        pub runtime_cookie: Guid = RuntimeCookie,
        /// The executable, and its arguments once the runtime has started.
        pub command_line: IpcString<'a> = CommandLine,
        /// The operating system.
        pub os: IpcString<'a> = Os,
        /// The architecture of the process.
        pub arch: IpcString<'a> = Arch,
        /// The name of the entry assembly; empty before it is loaded (F-39).
        pub managed_entrypoint_assembly_name: IpcString<'a> = ManagedEntrypointAssemblyName,
        /// The version of the runtime, such as `8.0.30` or with a suffix.
        pub clr_product_version: IpcString<'a> = ClrProductVersion,
    }
}

wire_struct! {
    /// The reply to [`ProcessInfo3`].
    ///
    /// ```
    /// use dotnet_diagnostics_ipc::{message::process::ProcessInfo3Reply, wire::{Encode as _, Guid}};
    ///
    /// let reply = ProcessInfo3Reply {
    ///     version: 1,
    ///     process_id: 7,
    ///     runtime_cookie: Guid::NIL,
    ///     command_line: "/app".into(),
    ///     os: "Linux".into(),
    ///     arch: "x64".into(),
    ///     managed_entrypoint_assembly_name: "app".into(),
    ///     clr_product_version: "8.0.30".into(),
    ///     runtime_identifier: "linux-x64".into(),
    ///     tail: Default::default(),
    /// };
    /// assert_eq!(reply.encoded_len(), Ok(4 + 96 + 24));
    /// ```
    pub struct ProcessInfo3Reply<'a> {
        /// The version of this payload, 1 so far. Later ones only append (F-36).
        pub version: u32 = Version,
        /// The process id in the target's own pid namespace.
        pub process_id: u64 = ProcessId,
        /// The same in every answer and advertise of one runtime.
        pub runtime_cookie: Guid = RuntimeCookie,
        /// The executable, and its arguments once the runtime has started.
        pub command_line: IpcString<'a> = CommandLine,
        /// The operating system.
        pub os: IpcString<'a> = Os,
        /// The architecture of the process.
        pub arch: IpcString<'a> = Arch,
        /// The name of the entry assembly; empty before it is loaded.
        pub managed_entrypoint_assembly_name: IpcString<'a> = ManagedEntrypointAssemblyName,
        /// The version of the runtime.
        pub clr_product_version: IpcString<'a> = ClrProductVersion,
        /// The platform the runtime was built for, with hyphens: `linux-musl-arm64` (F-37).
        pub runtime_identifier: IpcString<'a> = RuntimeIdentifier,
        /// Appended by later versions; kept and written again.
        pub tail: Tail<'a> = Tail,
    }
}

/// The rest of a versioned payload, as bytes.
///
/// ```
/// use dotnet_diagnostics_ipc::{message::process::Tail, wire::{Decode as _, Reader}};
///
/// assert_eq!(Tail::decode(&mut Reader::new(&[1, 2])), Ok(Tail(&[1, 2])));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tail<'a>(pub &'a [u8]);

impl<'a> Decode<'a> for Tail<'a> {
    const MIN_LEN: usize = 0;

    decode_by_build! {}
}

impl Encode for Tail<'_> {
    #[inline]
    fn encode<S: Sink + ?Sized>(&self, sink: &mut S) -> Result<(), EncodeError> {
        sink.put(self.0);
        Ok(())
    }
}

impl<'a> Visit<'a> for Tail<'a> {
    #[inline]
    fn build<S: Visitor<'a>>(source: &mut S) -> Result<Self, S::Error> {
        source.tail().map(Self)
    }
}
