//! The table: one row for each known behaviour. The first matching row counts.

use dotnet_diagnostics_ipc::command::Command;
use dotnet_diagnostics_ipc::hresult::HResult;
use dotnet_diagnostics_ipc::wire::WireErrorKind;

use super::profile::Platform;
use super::row::{Commands, Does, Layer, Row, Shape, Variable, When};

const ALL: &[Commands] = &[Commands::AllBut(&[])];
const DUMPS: &[Commands] = &[Commands::Set(Command::GENERATE_CORE_DUMP.set)];
const PROFILERS: &[Commands] = &[Commands::Set(Command::ATTACH_PROFILER.set)];
const PROCESS: &[Commands] = &[Commands::Set(Command::PROCESS_INFO.set)];
const SESSIONS: &[Commands] = &[
    Commands::One(Command::COLLECT_TRACING),
    Commands::One(Command::COLLECT_TRACING2),
    Commands::One(Command::COLLECT_TRACING3),
    Commands::One(Command::COLLECT_TRACING4),
    Commands::One(Command::COLLECT_TRACING5),
    Commands::One(Command::COLLECT_TRACING6),
];
const ATTACH: &[Commands] = &[Commands::One(Command::ATTACH_PROFILER)];
const SET_VARIABLE: &[Commands] = &[Commands::One(Command::SET_ENVIRONMENT_VARIABLE)];
const HOOK: &[Commands] = &[Commands::One(Command::APPLY_STARTUP_HOOK)];
const PERF_MAPS: &[Commands] =
    &[Commands::One(Command::ENABLE_PERF_MAP), Commands::One(Command::DISABLE_PERF_MAP)];
const LACKS_ON_MONO: &[Commands] = &[
    Commands::Set(Command::GENERATE_CORE_DUMP.set),
    Commands::One(Command::ENABLE_PERF_MAP),
    Commands::One(Command::DISABLE_PERF_MAP),
    Commands::One(Command::APPLY_STARTUP_HOOK),
];
const ENVIRONMENT: &[Commands] = &[Commands::One(Command::PROCESS_ENVIRONMENT)];
const DUMP: &[Commands] = &[Commands::One(Command::GENERATE_CORE_DUMP)];
const ENABLE_PERF_MAP: &[Commands] = &[Commands::One(Command::ENABLE_PERF_MAP)];

/// What follows depends on the bytes behind the payload: no row describes which truncation kills
/// which build.
const UNDEFINED: &str = "without bounds checks the runtime reads beyond the payload (F-8: a count that wraps; F-9: one of gigabytes), and may do anything";
/// `REGDB_E_CLASSNOTREG`.
const CLASS_NOT_REGISTERED: HResult = HResult(0x8004_0154);
/// Names that no libc accepts.
const ODD_NAMES: &[Variable] = &[Variable::NoName, Variable::EqualsFirst, Variable::EqualsWithin];
/// The same, absent, or to delete.
const ODD_NAMES_OR_DELETION: &[Variable] = &[
    Variable::AbsentName,
    Variable::NoName,
    Variable::EqualsFirst,
    Variable::EqualsWithin,
    Variable::OddDeletion,
];

/// A row of the server, common to all families.
const fn server(fact: &'static str, when: When, does: Does, text: &'static str) -> Row {
    Row { fact, layer: Layer::Server, when, does, text, fault: false }
}

/// A row of programs.
const fn host(fact: &'static str, when: When, does: Does, text: &'static str) -> Row {
    Row { layer: Layer::Host, ..server(fact, when, does, text) }
}

/// A row of `NativeAOT`.
const fn native_aot(fact: &'static str, when: When, does: Does, text: &'static str) -> Row {
    Row { layer: Layer::Platform(&[Platform::NativeAot]), ..server(fact, when, does, text) }
}

/// The same for a valid request.
const fn fault_of_native_aot(
    fact: &'static str,
    when: When,
    does: Does,
    text: &'static str,
) -> Row {
    Row { fault: true, ..native_aot(fact, when, does, text) }
}

/// A row of Windows.
const fn windows(fact: &'static str, when: When, does: Does, text: &'static str) -> Row {
    Row { layer: Layer::Platform(&[Platform::Windows]), ..server(fact, when, does, text) }
}

/// A row of Mono.
const fn mono(fact: &'static str, when: When, does: Does, text: &'static str) -> Row {
    Row { layer: Layer::Platform(&[Platform::Mono]), ..server(fact, when, does, text) }
}

const fn when(commands: &'static [Commands], shape: Shape) -> When {
    When { commands, shape, harmful: false }
}

/// As [`when`], for requests that vectors mark as harmful.
const fn harmful(commands: &'static [Commands], shape: Shape) -> When {
    When { commands, shape, harmful: true }
}

/// All known rows.
pub(super) static TABLE: &[Row] = &[
    // NativeAOT
    native_aot(
        "F-91",
        when(PROFILERS, Shape::Any),
        Does::Refuses(HResult::NOT_SUPPORTED),
        "NativeAOT has no profilers: it refuses every id of the set before checking the payload",
    ),
    native_aot(
        "F-92",
        when(PERF_MAPS, Shape::Any),
        Does::Refuses(HResult::NOT_SUPPORTED),
        "NativeAOT has no perf maps: it refuses them before checking the payload",
    ),
    native_aot(
        "F-93",
        when(HOOK, Shape::Parsed),
        Does::Refuses(HResult::NOT_SUPPORTED),
        "NativeAOT loads no startup hooks",
    ),
    fault_of_native_aot(
        "F-95",
        when(SET_VARIABLE, Shape::Variable(&[Variable::Deletion])),
        Does::Dies,
        "deleting a variable kills NativeAOT",
    ),
    fault_of_native_aot(
        "F-95",
        when(SET_VARIABLE, Shape::Variable(&[Variable::OddDeletion])),
        Does::Dies,
        "deleting a variable with an odd name kills NativeAOT",
    ),
    fault_of_native_aot(
        "F-96",
        when(SET_VARIABLE, Shape::Variable(&[Variable::AbsentName])),
        Does::Dies,
        "setting a variable without a name kills NativeAOT",
    ),
    fault_of_native_aot(
        "F-96",
        when(SET_VARIABLE, Shape::Variable(ODD_NAMES_OR_DELETION)),
        Does::Refuses(HResult::SETENV_FAILED),
        "NativeAOT answers a name that is absent, empty or has an equals sign with the -1 of setenv, which is not an HRESULT",
    ),
    fault_of_native_aot(
        "F-97",
        harmful(ENVIRONMENT, Shape::Right),
        Does::Dies,
        "an environment entry that is not UTF-8 kills NativeAOT when the environment is requested",
    ),
    native_aot(
        "F-99",
        when(DUMPS, Shape::Beyond(&[WireErrorKind::AbsentName])),
        Does::Dies,
        "a dump without a name kills NativeAOT",
    ),
    native_aot(
        "F-98",
        when(DUMPS, Shape::Parsed),
        Does::Refuses(HResult::FAIL),
        "NativeAOT writes no dump unless it was started for that (DOTNET_DbgEnableMiniDump, with a createdump next to it)",
    ),
    // Windows
    windows(
        "F-126",
        when(PERF_MAPS, Shape::Parsed),
        Does::Refuses(HResult::NOT_SUPPORTED),
        "Windows has no perf maps",
    ),
    windows(
        "P-41",
        when(SET_VARIABLE, Shape::Variable(&[Variable::AbsentName])),
        Does::Refuses(HResult::ENVVAR_NOT_FOUND),
        "Windows answers an absent name like a variable that does not exist",
    ),
    windows(
        "F-126",
        when(SET_VARIABLE, Shape::Variable(ODD_NAMES)),
        Does::Refuses(HResult::INVALID_ARG),
        "Windows accepts no variable without a name, or with an equals sign in it",
    ),
    windows(
        "F-126",
        when(DUMPS, Shape::Beyond(&[WireErrorKind::AbsentName])),
        Does::Accepts,
        "Windows writes a dump without a name to the temporary directory",
    ),
    windows(
        "F-126",
        when(ATTACH, Shape::NoProfilerPath),
        Does::Refuses(CLASS_NOT_REGISTERED),
        "Windows looks up a profiler without a path by its class, which is not registered",
    ),
    windows(
        "F-127",
        when(DUMPS, Shape::Beyond(&[WireErrorKind::UnknownDumpType { dump_type: 0 }])),
        Does::Refuses(HResult::OK),
        ".NET 6 answers a failed dump with an Error of code 0",
    ),
    Row {
        fault: true,
        ..windows(
            "F-127",
            when(DUMPS, Shape::ForeignDumpName),
            Does::Refuses(HResult::OK),
            ".NET 6 answers a dump whose name is not in the code page with an Error of code 0",
        )
    },
    // Mono
    mono(
        "F-152",
        when(PROFILERS, Shape::Any),
        Does::Refuses(HResult::NOT_SUPPORTED),
        "Mono has no profilers: it refuses every id of the set before checking the payload",
    ),
    mono(
        "F-152",
        when(LACKS_ON_MONO, Shape::Parsed),
        Does::Refuses(HResult::NOT_SUPPORTED),
        "Mono has no dumps, perf maps and startup hooks",
    ),
    mono(
        "F-152",
        when(SET_VARIABLE, Shape::Variable(ODD_NAMES_OR_DELETION)),
        Does::Refuses(HResult::FAIL),
        "Mono accepts no variable without a name, or with an equals sign in it",
    ),
    mono(
        "F-146",
        when(&[Commands::One(Command::COLLECT_TRACING6)], Shape::Right),
        Does::Refuses(HResult::FAIL),
        "a session that blocks needs threads, which Mono lacks in a browser",
    ),
    // Programs
    host(
        "P-40",
        when(DUMP, Shape::Any),
        Does::LeavesOpen(HResult::FAIL),
        "without a createdump the connection is left open",
    ),
    host(
        "P-30",
        when(DUMPS, Shape::Right),
        Does::LeavesOpen(HResult::OK),
        "a child that does not end keeps the connection open",
    ),
    host(
        "P-2",
        when(HOOK, Shape::MissingHook),
        Does::Dies,
        "the runtime dies of a startup hook that cannot be loaded",
    ),
    host(
        "P-2",
        when(HOOK, Shape::MissingHook),
        Does::Refuses(HResult::INVALID_ARG),
        "a startup hook that cannot be loaded is refused",
    ),
    // The server: deaths
    server(
        "F-72",
        when(DUMPS, Shape::Beyond(&[WireErrorKind::AbsentName])),
        Does::Dies,
        "a dump without a name kills the runtime",
    ),
    server(
        "F-72",
        when(
            ALL,
            Shape::Beyond(&[
                WireErrorKind::ZeroBuffer,
                WireErrorKind::UnknownFormat { format: 0 },
                WireErrorKind::TooManyProviders { count: 0 },
            ]),
        ),
        Does::Dies,
        "a buffer of 0 MB, an unknown format and too many providers kill the runtime",
    ),
    server(
        "F-72",
        when(
            ALL,
            Shape::Beyond(&[
                WireErrorKind::DuplicateEventId { id: 0 },
                WireErrorKind::TracepointNameTooLong { len: 0 },
            ]),
        ),
        Does::Dies,
        "equal ids and a long name of a tracepoint kill the runtime",
    ),
    server(
        "P-45",
        when(ENABLE_PERF_MAP, Shape::Suspended),
        Does::Dies,
        "enabling a perf map kills a suspended runtime",
    ),
    // The server: answers
    server(
        "P-48",
        when(SET_VARIABLE, Shape::Variable(&[Variable::EqualsFirst])),
        Does::Refuses(HResult::NOT_ENOUGH_MEMORY),
        "a name that begins with an equals sign is refused as if memory had run out",
    ),
    server(
        "F-68",
        when(PROFILERS, Shape::UnknownCommand),
        Does::Refuses(HResult::BAD_ENCODING),
        "an unknown id of the profiler set is BAD_ENCODING",
    ),
    Row {
        layer: Layer::Platform(&[Platform::CoreClr, Platform::Windows]),
        ..server(
            "P-39",
            when(ALL, Shape::Pieces),
            Does::Refuses(HResult::BAD_ENCODING),
            "a header or a payload must arrive in one piece",
        )
    },
    server(
        "F-71",
        when(PROCESS, Shape::Any),
        Does::NoHeader,
        "bytes without a header: the payload, and memory of the runtime after it",
    ),
    server(
        "F-70",
        when(ALL, Shape::BytesAfter),
        Does::Accepts,
        "bytes after the message are not read",
    ),
    server(
        "F-54",
        when(ATTACH, Shape::Surplus),
        Does::Refuses(HResult::BAD_ENCODING),
        "bytes after the client data are refused",
    ),
    // The server: connections
    server(
        "F-5",
        when(SESSIONS, Shape::NoDescriptor),
        Does::LeavesOpen(HResult::BAD_ENCODING),
        "the connection is left open",
    ),
    server(
        "F-74",
        when(SESSIONS, Shape::Any),
        Does::LeavesOpen(HResult::BAD_ENCODING),
        "the connection is left open, and a descriptor is lost",
    ),
    server(
        "F-74",
        when(PROFILERS, Shape::UnknownCommand),
        Does::LeavesOpen(HResult::UNKNOWN_COMMAND),
        "the connection is left open",
    ),
    // The server: what its bounds checks would refuse
    server("F-7", when(ALL, Shape::EndsEarly), Does::Anything, UNDEFINED),
];
