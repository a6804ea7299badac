//! The tasks for a client, and their arguments.

use dotnet_diagnostics_ipc::command::Command;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};

/// The output of a client, in the file `{output}`, or on standard output without that placeholder.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum OutputKind {
    /// The bytes of the stream, unchanged.
    Stream,
    /// Any text that has the name and the value of each event counter of the stream.
    Counters,
    /// The entries of the environment as `NAME=VALUE`, one per line, and nothing else.
    Environment,
    /// Any text that has everything the reply says about the process.
    ProcessInfo,
}

/// Implements parsing by name, in texts and in files.
macro_rules! parsed_by_name {
    ($what:literal, $Name:ident) => {
        impl std::str::FromStr for $Name {
            type Err = String;

            fn from_str(name: &str) -> Result<Self, String> {
                Self::ALL.iter().copied().find(|one| one.name() == name).ok_or_else(|| {
                    let known: Vec<_> = Self::ALL.iter().map(|one| one.name()).collect();
                    format!("unknown {} {name}, expected one of {}", $what, known.join(", "))
                })
            }
        }

        impl<'de> Deserialize<'de> for $Name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                String::deserialize(deserializer)?.parse().map_err(D::Error::custom)
            }
        }
    };
}

parsed_by_name!("operation", Operation);
parsed_by_name!("placeholder", Argument);

named! {
    /// A task for a client under test.
    Operation {
        /// Reports the process with `ProcessInfo`, `ProcessInfo2` or `ProcessInfo3`.
        ProcessInfo = "process-info",
        /// Prints the environment with `ProcessEnvironment`.
        Environment = "environment",
        /// Resumes the runtime with `ResumeRuntime`.
        Resume = "resume",
        /// Sets a variable with `SetEnvironmentVariable`.
        SetEnv = "set-env",
        /// Deletes a variable with `SetEnvironmentVariable` without a value.
        UnsetEnv = "unset-env",
        /// Applies a startup hook with `ApplyStartupHook`.
        StartupHook = "startup-hook",
        /// Enables a perf map with `EnablePerfMap`.
        PerfMap = "perf-map",
        /// Disables the perf map with `DisablePerfMap`.
        PerfMapOff = "perf-map-off",
        /// Writes a dump with `GenerateCoreDump`, `GenerateCoreDump2` or `GenerateCoreDump3`.
        Dump = "dump",
        /// Attaches a profiler with `AttachProfiler`.
        Attach = "attach",
        /// Sets a startup profiler with `StartupProfiler`.
        StartupProfiler = "startup-profiler",
        /// Streams a trace with `CollectTracing` to `CollectTracing6`, then sends `StopTracing`.
        Trace = "trace",
        /// Stops a session, given by its id, with `StopTracing`.
        Stop = "stop",
        /// Traces to `user_events` with `CollectTracing5` or `CollectTracing6`.
        UserEvents = "user-events",
        /// Listens at a diagnostic port, and resumes the first runtime that connects.
        ListenPort = "listen-port",
        /// Listens at a diagnostic port, and traces the first runtime that connects.
        TracePort = "trace-port",
    }
}

named! {
    /// A placeholder in a command line.
    Argument {
        /// The process id of the target.
        Pid = "pid",
        /// The path of the target's socket.
        Socket = "socket",
        /// The directory of that socket, which is also the client's `TMPDIR`.
        Tmpdir = "tmpdir",
        /// The path to which the client writes its output.
        Output = "output",
        /// How long the client should wait for the next byte. The value is longer than in its file,
        /// unless a scenario waits for the client to give up.
        PatienceMs = "patience_ms",
        /// The newest command that the client should use, such as `ProcessInfo3`.
        Command = "command",
        /// The name of a variable.
        Name = "name",
        /// The value of a variable.
        Value = "value",
        /// The path of a file.
        Path = "path",
        /// The type of a dump or perf map, a number.
        Type = "type",
        /// The flags of a dump, a number.
        Flags = "flags",
        /// The class id of a profiler.
        Clsid = "clsid",
        /// Data for a profiler, in hexadecimal.
        ClientData = "client_data",
        /// The path of a file with that data.
        ClientDataFile = "client_data_file",
        /// `attachTimeout` in milliseconds.
        TimeoutMs = "timeout_ms",
        /// `attachTimeout` in seconds.
        TimeoutS = "timeout_s",
        /// The name of a provider.
        Provider = "provider",
        /// The keywords of a provider, in decimal.
        Keywords = "keywords",
        /// The keywords in hexadecimal, with `0x`.
        KeywordsHex = "keywords_hex",
        /// The level of a provider, a number from 0 to 5.
        Level = "level",
        /// The level by its name: `LogAlways`, `Critical`, `Error`, `Warning`, `Informational` or `Verbose`.
        LevelName = "level_name",
        /// The arguments of a provider, as `KEY=VALUE`; empty if there are none.
        Arguments = "arguments",
        /// The arguments, for a client that does not accept empty ones, which are not tried.
        ArgumentsKv = "arguments_kv",
        /// The arguments with the value in double quotes, and a backslash before each quote or
        /// backslash.
        ArgumentsQuoted = "arguments_quoted",
        /// `circularBufferMB`.
        BufferMb = "buffer_mb",
        /// `rundownKeyword`, in decimal.
        Rundown = "rundown",
        /// Whether `rundownKeyword` is not 0, as `true` or `false`.
        RundownBool = "rundown_bool",
        /// `requestStackwalk`: `true` or `false`.
        Stacks = "stacks",
        /// The only events wanted, as comma-separated ids; empty for all.
        Events = "events",
        /// `sessionBufferMode`: 0 or 1.
        BufferMode = "buffer_mode",
        /// The time in milliseconds after which the client must stop the session.
        DurationMs = "duration_ms",
        /// The duration in seconds.
        DurationS = "duration_s",
        /// The duration, such as `00:00:01`.
        DurationHms = "duration_hms",
        /// The duration with days, such as `00:00:00:01`.
        DurationDhms = "duration_dhms",
        /// The id of a session.
        Session = "session",
        /// The name of the default tracepoint.
        Tracepoint = "tracepoint",
        /// The file whose descriptor is passed.
        UserEventsData = "user_events_data",
        /// The path of the diagnostic port where the client listens.
        Port = "port",
    }
}

const OF_EVERY: &[Argument] =
    &[Argument::Pid, Argument::Socket, Argument::Tmpdir, Argument::Output, Argument::PatienceMs];
const OF_A_PROVIDER: &[Argument] = &[
    Argument::Provider,
    Argument::Keywords,
    Argument::KeywordsHex,
    Argument::Level,
    Argument::LevelName,
    Argument::Arguments,
    Argument::ArgumentsKv,
    Argument::ArgumentsQuoted,
    Argument::DurationMs,
    Argument::DurationS,
    Argument::DurationHms,
    Argument::DurationDhms,
];
const OF_A_TRACE: &[Argument] = &[
    Argument::BufferMb,
    Argument::Rundown,
    Argument::RundownBool,
    Argument::Stacks,
    Argument::Events,
    Argument::BufferMode,
    Argument::Command,
];

impl Argument {
    /// Returns the placeholders that can express this argument in a command line, this one first.
    pub(super) const fn spellings(self) -> &'static [Self] {
        match self {
            Self::TimeoutMs => &[Self::TimeoutMs, Self::TimeoutS],
            Self::ClientData => &[Self::ClientData, Self::ClientDataFile],
            Self::Keywords => &[Self::Keywords, Self::KeywordsHex],
            Self::Level => &[Self::Level, Self::LevelName],
            Self::Arguments => &[Self::Arguments, Self::ArgumentsKv, Self::ArgumentsQuoted],
            Self::Rundown => &[Self::Rundown, Self::RundownBool],
            // Durations are not judged.
            _ => &[],
        }
    }
}

impl Operation {
    /// Returns the commands that perform the operation, newest first.
    pub const fn commands(self) -> &'static [Command] {
        match self {
            Self::ProcessInfo => {
                &[Command::PROCESS_INFO3, Command::PROCESS_INFO2, Command::PROCESS_INFO]
            }
            Self::Environment => &[Command::PROCESS_ENVIRONMENT],
            Self::Resume | Self::ListenPort => &[Command::RESUME_RUNTIME],
            Self::SetEnv | Self::UnsetEnv => &[Command::SET_ENVIRONMENT_VARIABLE],
            Self::StartupHook => &[Command::APPLY_STARTUP_HOOK],
            Self::PerfMap => &[Command::ENABLE_PERF_MAP],
            Self::PerfMapOff => &[Command::DISABLE_PERF_MAP],
            Self::Dump => &[
                Command::GENERATE_CORE_DUMP3,
                Command::GENERATE_CORE_DUMP2,
                Command::GENERATE_CORE_DUMP,
            ],
            Self::Attach => &[Command::ATTACH_PROFILER],
            Self::StartupProfiler => &[Command::STARTUP_PROFILER],
            Self::Trace | Self::TracePort => &[
                Command::COLLECT_TRACING6,
                Command::COLLECT_TRACING5,
                Command::COLLECT_TRACING4,
                Command::COLLECT_TRACING3,
                Command::COLLECT_TRACING2,
                Command::COLLECT_TRACING,
            ],
            Self::Stop => &[Command::STOP_TRACING],
            Self::UserEvents => &[Command::COLLECT_TRACING6, Command::COLLECT_TRACING5],
        }
    }

    /// Whether the command line of the operation may have this placeholder.
    pub fn has(self, argument: Argument) -> bool {
        let own: &[&[Argument]] = match self {
            Self::ProcessInfo => &[&[Argument::Command]],
            Self::Environment | Self::Resume | Self::PerfMapOff => &[],
            Self::SetEnv => &[&[Argument::Name, Argument::Value]],
            Self::UnsetEnv => &[&[Argument::Name]],
            Self::StartupHook => &[&[Argument::Path]],
            Self::PerfMap => &[&[Argument::Type]],
            Self::Dump => &[&[Argument::Path, Argument::Type, Argument::Flags, Argument::Command]],
            Self::Attach => &[&[
                Argument::Clsid,
                Argument::Path,
                Argument::ClientData,
                Argument::ClientDataFile,
                Argument::TimeoutMs,
                Argument::TimeoutS,
            ]],
            Self::StartupProfiler => &[&[Argument::Clsid, Argument::Path]],
            Self::Trace => &[OF_A_PROVIDER, OF_A_TRACE],
            Self::TracePort => &[OF_A_PROVIDER, OF_A_TRACE, &[Argument::Port]],
            Self::Stop => &[&[Argument::Session]],
            Self::UserEvents => &[
                OF_A_PROVIDER,
                &[Argument::Tracepoint, Argument::UserEventsData, Argument::Command],
            ],
            Self::ListenPort => &[&[Argument::Port]],
        };
        OF_EVERY.contains(&argument) || own.iter().any(|list| list.contains(&argument))
    }

    /// Whether the operation changes nothing, so that repeating it does no harm.
    pub(super) const fn only_asks(self) -> bool {
        matches!(self, Self::ProcessInfo | Self::Environment)
    }

    /// Whether a stream follows the reply.
    pub(super) const fn streams(self) -> bool {
        matches!(self, Self::Trace | Self::TracePort)
    }

    /// Returns the possible forms of output.
    pub const fn outputs(self) -> &'static [OutputKind] {
        match self {
            Self::ProcessInfo => &[OutputKind::ProcessInfo],
            Self::Environment => &[OutputKind::Environment],
            Self::Trace | Self::TracePort => &[OutputKind::Stream, OutputKind::Counters],
            _ => &[],
        }
    }
}
