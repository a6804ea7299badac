//! The names of fields in the protocol document.

macro_rules! fields {
    ($($variant:ident = $name:literal;)*) => {
        /// A field of a message, named as in the protocol document.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[repr(u8)]
        #[allow(missing_docs, reason = "each is the name of a field")]
        pub enum Field { $($variant,)* }

        impl Field {
            /// Returns the name in the lists of the newest edition.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }
        }
    };
}

fields! {
    Arch = "arch";
    Arguments = "arguments";
    AttachTimeout = "attachTimeout";
    CircularBufferMb = "circularBufferMB";
    ClientData = "clientData";
    ClrProductVersion = "clrProductVersion";
    CommandId = "command_id";
    CommandLine = "commandLine";
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
    ManagedEntrypointAssemblyName = "managedEntrypointAssemblyName";
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
    ProcessId = "processId";
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
    RuntimeCookie = "runtimeCookie";
    RuntimeIdentifier = "runtimeIdentifier";
    SessionBufferMode = "sessionBufferMode";
    SessionId = "sessionId";
    SessionType = "session_type";
    Size = "size";
    StartupHookPath = "startupHookPath";
    StreamingCircularBufferMb = "streaming_circularBufferMB";
    StreamingFormat = "streaming_format";
    Tail = "tail";
    TracepointName = "tracepoint_name";
    Tracepoints = "tracepoints";
    Value = "value";
    Version = "version";
    WriteIndex = "write_index";
}
