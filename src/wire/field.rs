//! The document's field names: one list for error paths and for the JSON value form.

macro_rules! fields {
    ($($variant:ident = $name:literal $(, formerly $alias:literal)*;)*) => {
        /// A field of a message, by the name the protocol document gives it.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(u8)]
        pub(crate) enum Field { $($variant,)* }

        impl Field {
            /// The name in the newest edition's lists.
            pub(crate) const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }

            /// Names of the same field in other editions, or in an edition's own structs.
            #[cfg(feature = "vectors")]
            pub(crate) const fn aliases(self) -> &'static [&'static str] {
                match self { $(Self::$variant => &[$($alias),*],)* }
            }
        }
    };
}

fields! {
    Arch = "arch", formerly "Arch";
    Arguments = "arguments", formerly "filter_data";
    AttachTimeout = "attachTimeout", formerly "dwAttachTimeout";
    CircularBufferMb = "circularBufferMB";
    ClientData = "clientData", formerly "pClientData";
    ClrProductVersion = "clrProductVersion", formerly "ClrProductVersion";
    CommandId = "command_id";
    CommandLine = "commandLine", formerly "CommandLine";
    CommandSet = "command_set";
    Config = "config";
    DefaultTracepointName = "default_tracepoint_name";
    Diagnostics = "diagnostics";
    DisableAddr = "disable_addr";
    DisableBit = "disable_bit";
    DumpName = "dumpName";
    DumpType = "dumpType";
    Enable = "enable";
    EnableAddr = "enable_addr";
    EnableBit = "enable_bit";
    EnableSize = "enable_size";
    EventId = "event_id";
    EventIds = "event_ids";
    Extension = "extension";
    Filter = "filter";
    FilterData = "filter_data";
    Flags = "flags";
    Format = "format";
    Future = "future";
    Guid = "guid";
    HResult = "hresult";
    Keywords = "keywords";
    Label = "label";
    LogLevel = "logLevel";
    Magic = "magic";
    ManagedEntrypointAssemblyName = "managedEntrypointAssemblyName", formerly "ManagedEntrypointAssemblyName";
    Message = "message";
    Metadata = "metadata";
    NIncomingBytes = "nIncomingBytes";
    Name = "name";
    NameArgs = "name_args";
    Os = "OS";
    OutputPath = "outputPath";
    Payload = "payload";
    PerfMapType = "perfMapType";
    Pid = "Pid";
    ProcessId = "processId", formerly "ProcessId";
    ProfilerGuid = "profilerGuid";
    ProfilerPath = "profilerPath";
    ProviderName = "provider_name";
    Providers = "providers";
    RequestRundown = "requestRundown";
    RequestStackwalk = "requestStackwalk";
    RequestType = "RequestType";
    Reserved = "reserved";
    Reserved2 = "reserved2";
    Rest = "rest";
    RundownKeyword = "rundownKeyword";
    RuntimeCookie = "runtimeCookie", formerly "RuntimeCookie";
    RuntimeIdentifier = "runtimeIdentifier", formerly "RuntimeIdentifier";
    SessionBufferMode = "sessionBufferMode";
    SessionId = "sessionId";
    SessionType = "session_type";
    Size = "size";
    StartupHookPath = "startupHookPath";
    StreamingCircularBufferMb = "streaming_circularBufferMB", formerly "circularBufferMB";
    StreamingFormat = "streaming_format", formerly "format";
    Tail = "tail";
    TracepointName = "tracepoint_name";
    Tracepoints = "tracepoints";
    Value = "value";
    Version = "version", formerly "Version";
    WriteIndex = "write_index";
}
