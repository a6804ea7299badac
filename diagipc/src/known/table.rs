//! The table, with one row for each known behaviour. The first matching row counts.

use dotnet_diagnostics_ipc::command::Command;
use dotnet_diagnostics_ipc::hresult::HResult;
use dotnet_diagnostics_ipc::wire::WireErrorKind::{
    AbsentName, DuplicateEventId, TooManyProviders, TracepointNameTooLong, UnknownDumpType,
    UnknownFormat, ZeroBuffer,
};

use super::profile::Platform;
use super::row::{Commands, Does, Layer, Quirk, Row, Shape};

const ALL: Commands = Commands::All;
const DUMPS: Commands = Commands::Set(Command::GENERATE_CORE_DUMP.set);
const PROFILERS: Commands = Commands::Set(Command::ATTACH_PROFILER.set);
const PROCESS: Commands = Commands::Set(Command::PROCESS_INFO.set);
const SESSIONS: Commands = Commands::Of(&[
    Command::COLLECT_TRACING,
    Command::COLLECT_TRACING2,
    Command::COLLECT_TRACING3,
    Command::COLLECT_TRACING4,
    Command::COLLECT_TRACING5,
    Command::COLLECT_TRACING6,
]);
const ATTACH: Commands = Commands::Of(&[Command::ATTACH_PROFILER]);
const SET_VARIABLE: Commands = Commands::Of(&[Command::SET_ENVIRONMENT_VARIABLE]);
const HOOK: Commands = Commands::Of(&[Command::APPLY_STARTUP_HOOK]);
const PERF_MAPS: Commands = Commands::Of(&[Command::ENABLE_PERF_MAP, Command::DISABLE_PERF_MAP]);
const LACKS_ON_MONO: Commands = Commands::Of(&[
    Command::GENERATE_CORE_DUMP,
    Command::GENERATE_CORE_DUMP2,
    Command::GENERATE_CORE_DUMP3,
    Command::ENABLE_PERF_MAP,
    Command::DISABLE_PERF_MAP,
    Command::APPLY_STARTUP_HOOK,
]);
const ENVIRONMENT: Commands = Commands::Of(&[Command::PROCESS_ENVIRONMENT]);
const DUMP: Commands = Commands::Of(&[Command::GENERATE_CORE_DUMP]);
const BLOCKING_SESSION: Commands = Commands::Of(&[Command::COLLECT_TRACING6]);
const ENABLE_PERF_MAP: Commands = Commands::Of(&[Command::ENABLE_PERF_MAP]);

/// The result depends on the bytes after the payload, so no row describes which truncation kills
/// which build.
const UNDEFINED: &str = "without bounds checks the runtime reads beyond the payload (F-8: a count that wraps; F-9: one of gigabytes), and may do anything";
/// The error `REGDB_E_CLASSNOTREG`.
const CLASS_NOT_REGISTERED: HResult = HResult(0x8004_0154);
/// Names of variables that no libc accepts.
const ODD_NAMES: &[Quirk] = &[Quirk::NoName, Quirk::EqualsFirst, Quirk::EqualsWithin];
/// Names that are odd or absent, and deletions.
const ODD_NAMES_OR_DELETION: &[Quirk] = &[
    Quirk::AbsentName,
    Quirk::NoName,
    Quirk::EqualsFirst,
    Quirk::EqualsWithin,
    Quirk::OddDeletion,
];

const SERVER: Layer = Layer::Server;
const HOST: Layer = Layer::Host;
const CORE_CLR: Layer = Layer::Platform(&[Platform::CoreClr, Platform::Windows]);
const NATIVE_AOT: Layer = Layer::Platform(&[Platform::NativeAot]);
const WINDOWS: Layer = Layer::Platform(&[Platform::Windows]);
const MONO: Layer = Layer::Platform(&[Platform::Mono]);

/// Whether a row is a fault of a valid request, and whether it applies only to harmful requests.
type Flags = (bool, bool);
const PLAIN: Flags = (false, false);
const FAULT: Flags = (true, false);
const FAULT_OF_HARMFUL: Flags = (true, true);

/// Generates the rows: fact, layer, commands and shape of the request, effect, description.
macro_rules! table {
    ($($fact:literal $layer:ident $commands:ident, $shape:ident $(($of:expr))? =>
        $does:ident $(($hresult:expr))? $(, $flags:ident)?: $text:expr;)*) => {
        pub(super) static TABLE: &[Row] = &[$(Row {
            fact: $fact,
            layer: $layer,
            commands: $commands,
            shape: Shape::$shape $(($of))?,
            harmful: [$($flags,)? PLAIN][0].1,
            does: Does::$does $(($hresult))?,
            text: $text,
            fault: [$($flags,)? PLAIN][0].0,
        }),*];
    };
}

table! {
    // NativeAOT
    "F-91" NATIVE_AOT PROFILERS, Any => Refuses(HResult::NOT_SUPPORTED):
        "NativeAOT has no profilers: it refuses every id of the set before checking the payload";
    "F-92" NATIVE_AOT PERF_MAPS, Any => Refuses(HResult::NOT_SUPPORTED):
        "NativeAOT has no perf maps: it refuses them before checking the payload";
    "F-93" NATIVE_AOT HOOK, Parsed => Refuses(HResult::NOT_SUPPORTED):
        "NativeAOT loads no startup hooks";
    "F-95" NATIVE_AOT SET_VARIABLE, With(&[Quirk::Deletion]) => Dies, FAULT:
        "deleting a variable kills NativeAOT";
    "F-95" NATIVE_AOT SET_VARIABLE, With(&[Quirk::OddDeletion]) => Dies, FAULT:
        "deleting a variable with an odd name kills NativeAOT";
    "F-96" NATIVE_AOT SET_VARIABLE, With(&[Quirk::AbsentName]) => Dies, FAULT:
        "setting a variable without a name kills NativeAOT";
    "F-96" NATIVE_AOT SET_VARIABLE, With(ODD_NAMES_OR_DELETION)
        => Refuses(HResult::SETENV_FAILED), FAULT:
        "NativeAOT answers a name that is absent, empty or has an equals sign with the -1 of setenv, which is not an HRESULT";
    "F-97" NATIVE_AOT ENVIRONMENT, Right => Dies, FAULT_OF_HARMFUL:
        "an environment entry that is not UTF-8 kills NativeAOT when the environment is requested";
    "F-99" NATIVE_AOT DUMPS, Beyond(&[AbsentName]) => Dies:
        "a dump without a name kills NativeAOT";
    "F-98" NATIVE_AOT DUMPS, Parsed => Refuses(HResult::FAIL):
        "NativeAOT writes no dump unless it was started for that (DOTNET_DbgEnableMiniDump, with a createdump next to it)";
    // Windows
    "F-126" WINDOWS PERF_MAPS, Parsed => Refuses(HResult::NOT_SUPPORTED):
        "Windows has no perf maps";
    "P-41" WINDOWS SET_VARIABLE, With(&[Quirk::AbsentName])
        => Refuses(HResult::ENVVAR_NOT_FOUND):
        "Windows answers an absent name like a variable that does not exist";
    "F-126" WINDOWS SET_VARIABLE, With(ODD_NAMES) => Refuses(HResult::INVALID_ARG):
        "Windows accepts no variable without a name, or with an equals sign in it";
    "F-126" WINDOWS DUMPS, Beyond(&[AbsentName]) => Accepts:
        "Windows writes a dump without a name to the temporary directory";
    "F-126" WINDOWS ATTACH, With(&[Quirk::NoProfilerPath]) => Refuses(CLASS_NOT_REGISTERED):
        "Windows looks up a profiler without a path by its class, which is not registered";
    "F-127" WINDOWS DUMPS, Beyond(&[UnknownDumpType { dump_type: 0 }]) => Refuses(HResult::OK):
        ".NET 6 answers a failed dump with an Error of code 0";
    "F-127" WINDOWS DUMPS, With(&[Quirk::ForeignDumpName]) => Refuses(HResult::OK), FAULT:
        ".NET 6 answers a dump whose name is not in the code page with an Error of code 0";
    // Mono
    "F-152" MONO PROFILERS, Any => Refuses(HResult::NOT_SUPPORTED):
        "Mono has no profilers: it refuses every id of the set before checking the payload";
    "F-152" MONO LACKS_ON_MONO, Parsed => Refuses(HResult::NOT_SUPPORTED):
        "Mono has no dumps, perf maps and startup hooks";
    "F-152" MONO SET_VARIABLE, With(ODD_NAMES_OR_DELETION) => Refuses(HResult::FAIL):
        "Mono accepts no variable without a name, or with an equals sign in it";
    "F-146" MONO BLOCKING_SESSION, Right => Refuses(HResult::FAIL):
        "a session that blocks needs threads, which Mono lacks in a browser";
    // Programs
    "P-40" HOST DUMP, Any => LeavesOpen(HResult::FAIL):
        "without a createdump the connection is left open";
    "P-30" HOST DUMPS, Right => LeavesOpen(HResult::OK):
        "a child that does not end keeps the connection open";
    "P-2" HOST HOOK, With(&[Quirk::MissingHook]) => Dies:
        "the runtime dies of a startup hook that cannot be loaded";
    "P-2" HOST HOOK, With(&[Quirk::MissingHook]) => Refuses(HResult::INVALID_ARG):
        "a startup hook that cannot be loaded is refused";
    // The server: deaths
    "F-72" SERVER DUMPS, Beyond(&[AbsentName]) => Dies:
        "a dump without a name kills the runtime";
    "F-72" SERVER ALL,
        Beyond(&[ZeroBuffer, UnknownFormat { format: 0 }, TooManyProviders { count: 0 }])
        => Dies:
        "a buffer of 0 MB, an unknown format and too many providers kill the runtime";
    "F-72" SERVER ALL,
        Beyond(&[DuplicateEventId { id: 0 }, TracepointNameTooLong { len: 0 }])
        => Dies:
        "equal ids and a long name of a tracepoint kill the runtime";
    "P-45" SERVER ENABLE_PERF_MAP, Suspended => Dies:
        "enabling a perf map kills a suspended runtime";
    // The server: answers
    "P-48" SERVER SET_VARIABLE, With(&[Quirk::EqualsFirst])
        => Refuses(HResult::NOT_ENOUGH_MEMORY):
        "a name that begins with an equals sign is refused as if memory had run out";
    "F-68" SERVER PROFILERS, UnknownCommand => Refuses(HResult::BAD_ENCODING):
        "an unknown id of the profiler set is BAD_ENCODING";
    "P-39" CORE_CLR ALL, Pieces => Refuses(HResult::BAD_ENCODING):
        "a header or a payload must arrive in one piece";
    "F-71" SERVER PROCESS, Any => NoHeader:
        "bytes without a header: the payload, and memory of the runtime after it";
    "F-70" SERVER ALL, BytesAfter => Accepts:
        "bytes after the message are not read";
    "F-54" SERVER ATTACH, Surplus => Refuses(HResult::BAD_ENCODING):
        "bytes after the client data are refused";
    // The server: connections
    "F-5" SERVER SESSIONS, NoDescriptor => LeavesOpen(HResult::BAD_ENCODING):
        "the connection is left open";
    "F-74" SERVER SESSIONS, Any => LeavesOpen(HResult::BAD_ENCODING):
        "the connection is left open, and a descriptor is lost";
    "F-74" SERVER PROFILERS, UnknownCommand => LeavesOpen(HResult::UNKNOWN_COMMAND):
        "the connection is left open";
    // The server: what its bounds checks would refuse
    "F-7" SERVER ALL, EndsEarly => Anything:
        UNDEFINED;
}
