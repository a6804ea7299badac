//! Query and control a process: the Process commands, set `0x04`.

//! # Example
//!
//! Set an environment variable of a process, and resume it:
//!
//! ```
//! use dotnet_diagnostics_ipc::message::Request as _;
//! use dotnet_diagnostics_ipc::message::process::{ResumeRuntime, SetEnvironmentVariable};
//!
//! let request = SetEnvironmentVariable { name: "A".into(), value: "B".into() };
//! assert_eq!(request.encode_message(&mut [0; 64]), Ok(36));
//! assert_eq!(ResumeRuntime {}.encode_message(&mut [0; 20]), Ok(20));
//! ```

use crate::command::Command;
use crate::message::Request;
use crate::message::server::ResultReply;
use crate::wire::macros::{open_enum, wire_struct};
use crate::wire::{
    Decode, Encode, EncodeError, Field, Guid, IpcString, Layout as _, Sink, Visit, Visitor,
    WireError, WireErrorKind, decode_by_build,
};

/// Declares a request that has no payload.
macro_rules! empty_request {
    ($(#[$meta:meta])* $Request:ident, $COMMAND:ident, $Reply:ident $(<$lt:lifetime>)?) => {
        wire_struct! {
            $(#[$meta])*
            #[derive(Default)]
            pub struct $Request {}
        }

        impl<'a> Request<'a> for $Request {
            const COMMAND: Command = Command::$COMMAND;
            type Reply = $Reply $(<$lt>)?;
        }
    };
}

empty_request! {
    /// The `ProcessInfo` request (`0x0400`, since .NET 5) for the process id, cookie, command line, OS and architecture.
    ///
    /// It has no payload, and the reply is a [`ProcessInfoReply`]. Never send it with a payload,
    /// because released runtimes then answer with raw memory (F-71).
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
    /// The `ProcessInfo2` request (`0x0404`, since .NET 6), which adds the entry assembly and the runtime's version.
    ///
    /// It has no payload, and the reply is a [`ProcessInfo2Reply`]. One edition prints its header
    /// with 0x0402, the code of [`ProcessEnvironment`] (F-84).
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
    /// The `ProcessInfo3` request (`0x0408`, since .NET 8), which adds the runtime identifier. It
    /// has no payload, and the reply is a [`ProcessInfo3Reply`].
    ///
    /// ```
    /// use dotnet_diagnostics_ipc::message::{Request as _, process::ProcessInfo3};
    ///
    /// assert_eq!(ProcessInfo3 {}.encode_message(&mut [0; 20]), Ok(20));
    /// ```
    ProcessInfo3, PROCESS_INFO3, ProcessInfo3Reply<'a>
}

/// Declares a reply about a process: the shared fields, with the reply's own before and after them.
macro_rules! process_info {
    ($(#[$meta:meta])* $Reply:ident, { $($before:tt)* }, { $($after:tt)* }) => {
        wire_struct! {
            $(#[$meta])*
            pub struct $Reply<'a> {
                $($before)*
                /// The process id in the target's own pid namespace; 64 bits (F-35).
                pub process_id: u64 = ProcessId,
                /// The cookie of the runtime, the same in all its replies and advertises.
                pub runtime_cookie: Guid = RuntimeCookie,
                /// The executable, followed by its arguments once the runtime has started (F-79).
                pub command_line: IpcString<'a> = CommandLine,
                /// The operating system: `Linux`, `macOS`, `Windows`, `Unknown`, or others that the document does not list (F-38).
                pub os: IpcString<'a> = Os,
                /// The architecture: `x64`, `arm64`, …, or others that the document does not list (F-38).
                pub arch: IpcString<'a> = Arch,
                $($after)*
            }
        }
    };
}

process_info! {
    /// The reply to [`ProcessInfo`], with the fields in the order of the document's list, not of its struct (F-34).
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
    ProcessInfoReply, {}, {}
}

process_info! {
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
    ProcessInfo2Reply, {}, {
        /// The name of the entry assembly; empty before it is loaded (F-39).
        pub managed_entrypoint_assembly_name: IpcString<'a> = ManagedEntrypointAssemblyName,
        /// The version of the runtime, such as `8.0.30`, possibly with a suffix.
        pub clr_product_version: IpcString<'a> = ClrProductVersion,
    }
}

process_info! {
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
    ProcessInfo3Reply, {
        /// The version of this payload, which is 1 so far. Later versions only append fields (F-36).
        pub version: u32 = Version,
    }, {
        /// The name of the entry assembly; empty before it is loaded.
        pub managed_entrypoint_assembly_name: IpcString<'a> = ManagedEntrypointAssemblyName,
        /// The version of the runtime.
        pub clr_product_version: IpcString<'a> = ClrProductVersion,
        /// The platform for which the runtime was built, with hyphens: `linux-musl-arm64` (F-37).
        pub runtime_identifier: IpcString<'a> = RuntimeIdentifier,
        /// The bytes that later versions append, kept when the reply is encoded again.
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
    type Of<'o> = Tail<'o>;

    #[inline]
    fn build<S: Visitor<'a>>(source: &mut S) -> Result<Self, S::Error> {
        source.tail().map(Self)
    }
}

empty_request! {
    /// The `ProcessEnvironment` request (`0x0402`, since .NET 5) for the environment variables. It has no payload. The
    /// reply is a [`ProcessEnvironmentReply`], followed by the environment block.
    ///
    /// ```
    /// use dotnet_diagnostics_ipc::message::{Request as _, process::ProcessEnvironment};
    ///
    /// assert_eq!(ProcessEnvironment {}.encode_message(&mut [0; 20]), Ok(20));
    /// ```
    ProcessEnvironment, PROCESS_ENVIRONMENT, ProcessEnvironmentReply
}

wire_struct! {
    /// The reply to [`ProcessEnvironment`], 26 bytes in total (F-43). The environment block follows it.
    ///
    /// ```
    /// use dotnet_diagnostics_ipc::{message::process::ProcessEnvironmentReply, wire::Encode as _};
    ///
    /// assert_eq!(ProcessEnvironmentReply { n_incoming_bytes: 4, future: 0 }.encoded_len(), Ok(6));
    /// ```
    pub struct ProcessEnvironmentReply {
        /// The size of the environment block that follows, in bytes.
        pub n_incoming_bytes: u32 = NIncomingBytes,
        /// Unused; kept as received.
        pub future: u16 = Future,
    }
}

wire_struct! {
    /// The `SetEnvironmentVariable` request (`0x0403`, since .NET 6), which sets or deletes a variable of the target.
    ///
    /// An absent value deletes the variable (F-44). If the variable does not exist, the reply is an error (F-80).
    /// Otherwise it is a [`ResultReply`].
    ///
    /// ```
    /// use dotnet_diagnostics_ipc::{message::{Request as _, process::SetEnvironmentVariable}, wire::IpcString};
    ///
    /// let delete = SetEnvironmentVariable { name: "X".into(), value: IpcString::ABSENT };
    /// assert_eq!(delete.encode_message(&mut [0; 64]), Ok(20 + 8 + 4));
    /// ```
    pub struct SetEnvironmentVariable<'a> {
        /// The name of the variable. Runtimes end it at the first NUL.
        pub name: IpcString<'a> = Name,
        /// The value of the variable, absent to delete the variable.
        pub value: IpcString<'a> = Value,
    }
}

impl<'a> Request<'a> for SetEnvironmentVariable<'a> {
    const COMMAND: Command = Command::SET_ENVIRONMENT_VARIABLE;
    type Reply = ResultReply;

    fn check_values(&self) -> Result<(), WireError> {
        self.require(Field::Name, self.name)
    }
}

empty_request! {
    /// The `ResumeRuntime` request (`0x0401`, since .NET 5), which lets a suspended runtime start.
    /// It has no payload, and the reply is a [`ResultReply`] (F-41).
    ///
    /// It releases only the port on which it arrives. On any other port, the reply is OK and nothing happens (F-42).
    ///
    /// ```
    /// use dotnet_diagnostics_ipc::message::{Request as _, process::ResumeRuntime};
    ///
    /// assert_eq!(ResumeRuntime {}.encode_message(&mut [0; 20]), Ok(20));
    /// ```
    ResumeRuntime, RESUME_RUNTIME, ResultReply
}

wire_struct! {
    /// The `ApplyStartupHook` request (`0x0407`, since .NET 8), which loads an assembly and runs
    /// its startup hook. A runtime that has started runs the hook at once (F-47).
    ///
    /// On 9.0.5, a hook that cannot be loaded ends the process (P-2). The reply is a [`ResultReply`].
    ///
    /// ```
    /// use dotnet_diagnostics_ipc::message::{Request as _, process::ApplyStartupHook};
    ///
    /// assert_eq!(ApplyStartupHook { startup_hook_path: "/h.dll".into() }.encode_message(&mut [0; 64]), Ok(20 + 18));
    /// ```
    pub struct ApplyStartupHook<'a> {
        /// The path of a managed assembly on the target's machine. Runtimes refuse an absent path, but not an empty one (P-1).
        pub startup_hook_path: IpcString<'a> = StartupHookPath,
    }
}

impl<'a> Request<'a> for ApplyStartupHook<'a> {
    const COMMAND: Command = Command::APPLY_STARTUP_HOOK;
    type Reply = ResultReply;

    fn check_values(&self) -> Result<(), WireError> {
        self.require(Field::StartupHookPath, self.startup_hook_path)
    }
}

open_enum! {
    /// The files that [`EnablePerfMap`] tells the runtime to write.
    ///
    /// ```
    /// use dotnet_diagnostics_ipc::message::process::PerfMapType;
    ///
    /// assert_eq!((PerfMapType::JIT_DUMP.0, PerfMapType(3).name()), (2, Some("PERFMAP")));
    /// ```
    pub enum PerfMapType {
        /// No map. The document lists this number, but runtimes refuse it (F-46).
        DISABLED = 0, "DISABLED";
        /// A jitdump file and a perf map file.
        ALL = 1, "ALL";
        /// A jitdump file.
        JIT_DUMP = 2, "JITDUMP";
        /// A perf map file.
        PERF_MAP = 3, "PERFMAP";
    }
}

wire_struct! {
    /// The `EnablePerfMap` request (`0x0405`, since .NET 8), which tells the runtime to write a perf map or jitdump.
    ///
    /// The reply is a [`ResultReply`].
    ///
    /// ```
    /// use dotnet_diagnostics_ipc::message::{Request as _, process::{EnablePerfMap, PerfMapType}};
    ///
    /// assert_eq!(EnablePerfMap { perf_map_type: PerfMapType::ALL }.encode_message(&mut [0; 24]), Ok(24));
    /// assert!(EnablePerfMap { perf_map_type: PerfMapType::DISABLED }.check_limits().is_err());
    /// ```
    pub struct EnablePerfMap {
        /// The files to write.
        pub perf_map_type: PerfMapType = PerfMapType,
    }
}

impl Request<'_> for EnablePerfMap {
    const COMMAND: Command = Command::ENABLE_PERF_MAP;
    type Reply = ResultReply;

    fn check_values(&self) -> Result<(), WireError> {
        match self.perf_map_type.0 {
            // Runtimes compare a signed number (P-44).
            1..=3 | 0x8000_0000.. => Ok(()),
            n => self.refuse(Field::PerfMapType, WireErrorKind::UnknownPerfMapType { map_type: n }),
        }
    }
}

empty_request! {
    /// The `DisablePerfMap` request (`0x0406`, since .NET 8), which tells the runtime to stop
    /// writing the files of [`EnablePerfMap`].
    ///
    /// It has no payload, and the reply is a [`ResultReply`]. The document prints its header with
    /// 0x0405 (F-45), which kills a runtime if it has no payload (F-84).
    ///
    /// ```
    /// use dotnet_diagnostics_ipc::message::{Request as _, process::DisablePerfMap};
    ///
    /// let mut buffer = [0; 20];
    /// DisablePerfMap {}.encode_message(&mut buffer)?;
    /// assert_eq!(buffer[16..18], [0x04, 0x06]);
    /// # Ok::<(), dotnet_diagnostics_ipc::wire::EncodeError>(())
    /// ```
    DisablePerfMap, DISABLE_PERF_MAP, ResultReply
}
