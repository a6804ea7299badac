//! The table: one row for each known behaviour. The first matching row counts.

use dotnet_diagnostics_ipc::command::Command;
use dotnet_diagnostics_ipc::hresult::HResult;
use dotnet_diagnostics_ipc::wire::LimitKind;

use super::builds::{
    Builds, NET3, NET3_TO_10, NET6, NET6_TO_9, NET6_TO_10, NET8, NET8_9_0_5_AND_10_0_12,
    NET8_AND_9, NET8_AND_9_0_7, NET8_TO_10, NET9, NET9_0_5, NET9_0_5_AND_10_0_12, NET9_AND_10,
    NET10, NET10_0_9_TO_11, NET10_0_9_TO_12, PATH_TOO_LONG_HOLDS, PERF_MAP_KILLS_SUSPENDED,
};
use super::row::{Commands, Does, Layer, Platform, Row, RowSource, Shape, Variable, When};

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
const DIES: &str = "the runtime dies";

/// A row of the server, common to all families.
const fn server(
    fact: &'static str,
    builds: Builds,
    when: When,
    does: Does,
    text: &'static str,
) -> Row {
    Row {
        fact,
        layer: Layer::Server,
        builds,
        when,
        does,
        text,
        fault: false,
        source: RowSource::Recorded,
    }
}

/// A row of programs: any of these builds may behave like this, and `programs` did.
const fn host(
    fact: &'static str,
    builds: Builds,
    programs: Builds,
    when: When,
    does: Does,
    text: &'static str,
) -> Row {
    Row { layer: Layer::Host(programs), ..server(fact, builds, when, does, text) }
}

/// A row of `NativeAOT`.
const fn native_aot(
    fact: &'static str,
    builds: Builds,
    when: When,
    does: Does,
    text: &'static str,
) -> Row {
    Row { layer: Layer::Platform(Platform::NativeAot), ..server(fact, builds, when, does, text) }
}

/// The same for a valid request.
const fn fault_of_native_aot(
    fact: &'static str,
    builds: Builds,
    when: When,
    does: Does,
    text: &'static str,
) -> Row {
    Row { fault: true, ..native_aot(fact, builds, when, does, text) }
}

/// A row of Windows.
const fn windows(fact: &'static str, when: When, does: Does, text: &'static str) -> Row {
    let row = Row {
        layer: Layer::Platform(Platform::Windows),
        ..server(fact, NET6_TO_10, when, does, text)
    };
    row.shown_by("diagipc/tests/live/windows_server.py")
}

/// For behaviour that no request shows.
const NOT_A_REQUEST: When = when(&[], Shape::NotARequest);

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
        NET8_AND_9,
        when(PROFILERS, Shape::Any),
        Does::Refuses(HResult::NOT_SUPPORTED),
        "NativeAOT has no profilers: it refuses every id of the set before checking the payload",
    ),
    native_aot(
        "F-92",
        NET8_AND_9,
        when(PERF_MAPS, Shape::Any),
        Does::Refuses(HResult::NOT_SUPPORTED),
        "NativeAOT has no perf maps: it refuses them before checking the payload",
    ),
    native_aot(
        "F-93",
        NET8_AND_9,
        when(HOOK, Shape::Parsed),
        Does::Refuses(HResult::NOT_SUPPORTED),
        "NativeAOT loads no startup hooks",
    ),
    fault_of_native_aot(
        "F-95",
        NET8_AND_9,
        when(SET_VARIABLE, Shape::Variable(&[Variable::Deletion])),
        Does::Dies,
        "deleting a variable kills NativeAOT",
    ),
    fault_of_native_aot(
        "F-95",
        NET8,
        when(SET_VARIABLE, Shape::Variable(&[Variable::OddDeletion])),
        Does::Dies,
        "deleting a variable kills NativeAOT 8, whatever its name",
    ),
    fault_of_native_aot(
        "F-96",
        NET8,
        when(SET_VARIABLE, Shape::Beyond(&[LimitKind::AbsentName])),
        Does::Dies,
        "an absent name kills NativeAOT 8",
    ),
    fault_of_native_aot(
        "F-96",
        NET9,
        when(SET_VARIABLE, Shape::Beyond(&[LimitKind::AbsentName])),
        Does::Refuses(HResult::SETENV_FAILED),
        "NativeAOT 9 answers an absent name with the -1 of setenv, which is not an HRESULT",
    ),
    fault_of_native_aot(
        "F-96",
        NET8_AND_9,
        when(SET_VARIABLE, Shape::Variable(ODD_NAMES)),
        Does::Refuses(HResult::SETENV_FAILED),
        "NativeAOT answers a name that is empty or has an equals sign with the -1 of setenv, which is not an HRESULT",
    ),
    fault_of_native_aot(
        "F-96",
        NET9,
        when(SET_VARIABLE, Shape::Variable(&[Variable::OddDeletion])),
        Does::Refuses(HResult::SETENV_FAILED),
        "NativeAOT 9 answers such a name with the -1 of setenv, also for a deletion",
    ),
    fault_of_native_aot(
        "F-97",
        NET8_AND_9,
        harmful(ENVIRONMENT, Shape::Right),
        Does::Dies,
        "an environment entry that is not UTF-8 kills NativeAOT when the environment is requested",
    ),
    native_aot(
        "F-99",
        NET8,
        when(DUMPS, Shape::Beyond(&[LimitKind::AbsentName])),
        Does::Dies,
        "a dump without a name kills NativeAOT 8",
    ),
    native_aot(
        "F-98",
        NET8_AND_9,
        when(DUMPS, Shape::Parsed),
        Does::Refuses(HResult::FAIL),
        "NativeAOT writes no dump unless it was started for that (DOTNET_DbgEnableMiniDump, with a createdump next to it)",
    ),
    // Windows
    windows(
        "P-39",
        when(ALL, Shape::Pieces),
        Does::Refuses(HResult::BAD_ENCODING),
        "a header or a payload must arrive in one piece",
    ),
    windows("F-7", when(ENABLE_PERF_MAP, Shape::EndsEarly), Does::Anything, UNDEFINED),
    windows(
        "F-126",
        when(PERF_MAPS, Shape::Any),
        Does::Refuses(HResult::NOT_SUPPORTED),
        "Windows has no perf maps",
    ),
    windows(
        "P-41",
        when(SET_VARIABLE, Shape::Beyond(&[LimitKind::AbsentName])),
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
        when(DUMPS, Shape::Beyond(&[LimitKind::AbsentName])),
        Does::Accepts,
        "Windows writes a dump without a name to the temporary directory",
    ),
    windows(
        "F-126",
        when(ATTACH, Shape::NoProfilerPath),
        Does::Refuses(CLASS_NOT_REGISTERED),
        "Windows looks up a profiler without a path by its class, which is not registered",
    ),
    Row {
        builds: NET6,
        ..windows(
            "F-127",
            when(DUMPS, Shape::Beyond(&[LimitKind::UnknownDumpType(0)])),
            Does::Refuses(HResult::OK),
            ".NET 6 answers a failed dump with an Error of code 0",
        )
    },
    Row {
        builds: NET6,
        fault: true,
        ..windows(
            "F-127",
            when(DUMPS, Shape::ForeignDumpName),
            Does::Refuses(HResult::OK),
            ".NET 6 answers a dump whose name is not in the code page with an Error of code 0",
        )
    },
    windows("F-118", NOT_A_REQUEST, Does::Waits, "an unread reply blocks the server"),
    // Programs
    host(
        "P-40",
        NET3,
        NET3,
        when(DUMP, Shape::Any),
        Does::LeavesOpen(HResult::FAIL),
        "without a createdump the connection is left open",
    ),
    host(
        "P-30",
        NET8_AND_9,
        NET8_AND_9_0_7,
        when(DUMPS, Shape::Right),
        Does::LeavesOpen(HResult::OK),
        "a child that does not end keeps the connection open",
    ),
    host(
        "P-6",
        NET8_TO_10,
        NET9_0_5,
        when(DUMPS, Shape::Right),
        Does::Refuses(HResult::FAIL),
        "its createdump is not executable",
    ),
    host(
        "P-31",
        NET8_TO_10,
        NET10_0_9_TO_11,
        when(DUMPS, Shape::PartialDump),
        Does::Refuses(HResult::FAIL),
        "a single file writes only full dumps",
    ),
    host(
        "P-56",
        NET8_TO_10,
        NET10_0_9_TO_11,
        when(DUMPS, Shape::CrashReport),
        Does::Refuses(HResult::FAIL),
        "a single file writes no crash report",
    ),
    host(
        "P-46",
        NET8_TO_10,
        NET10_0_9_TO_12,
        when(DUMPS, Shape::UnwritableDump),
        Does::Refuses(HResult::FAIL),
        "a dump that cannot be written is refused",
    )
    .shown_by("vectors/source/recorded/net10.0.12.json"),
    host(
        "P-27",
        NET8_TO_10,
        NET8_9_0_5_AND_10_0_12,
        when(HOOK, Shape::MissingHookSuspended),
        Does::Dies,
        "a startup hook that cannot be loaded ends the process after the resume",
    )
    .shown_by("diagipc/tests/live/startup_hook.py"),
    host(
        "P-2",
        NET8_TO_10,
        NET9_0_5_AND_10_0_12,
        when(HOOK, Shape::MissingHook),
        Does::Dies,
        "the runtime dies of a startup hook that cannot be loaded",
    ),
    host(
        "P-2",
        NET8_TO_10,
        NET8,
        when(HOOK, Shape::MissingHook),
        Does::Refuses(HResult::INVALID_ARG),
        "a startup hook that cannot be loaded is refused",
    ),
    host(
        "F-130",
        NET8_TO_10,
        NET10_0_9_TO_11,
        when(HOOK, Shape::Right),
        Does::OkWithoutEffect,
        "a program published without startup hooks accepts them, and runs none",
    )
    .shown_by("diagipc/tests/live/startup_hook.py"),
    // The server: deaths
    server(
        "F-72",
        NET3_TO_10,
        when(DUMPS, Shape::Beyond(&[LimitKind::AbsentName])),
        Does::Dies,
        DIES,
    ),
    server(
        "F-72",
        NET6_TO_9,
        when(
            ALL,
            Shape::Beyond(&[
                LimitKind::ZeroBuffer,
                LimitKind::UnknownFormat(0),
                LimitKind::TooManyProviders(0),
            ]),
        ),
        Does::Dies,
        DIES,
    ),
    server(
        "F-72",
        NET10,
        when(
            ALL,
            Shape::Beyond(&[LimitKind::DuplicateEventId(0), LimitKind::TracepointNameTooLong(0)]),
        ),
        Does::Dies,
        DIES,
    ),
    server(
        "P-45",
        PERF_MAP_KILLS_SUSPENDED,
        when(ENABLE_PERF_MAP, Shape::Suspended),
        Does::Dies,
        "enabling a perf map kills a suspended runtime",
    ),
    // The server: answers
    server(
        "P-48",
        NET8_TO_10,
        when(SET_VARIABLE, Shape::Variable(&[Variable::EqualsFirst])),
        Does::Refuses(HResult::NOT_ENOUGH_MEMORY),
        "a name that begins with an equals sign is refused as if memory had run out",
    ),
    server(
        "F-68",
        NET3,
        when(PROFILERS, Shape::UnknownCommand),
        Does::Refuses(HResult::BAD_ENCODING),
        "the set has no unknown ids: BAD_ENCODING",
    ),
    server(
        "P-39",
        NET3,
        when(ALL, Shape::Pieces),
        Does::Refuses(HResult::BAD_ENCODING),
        "a header or a payload must arrive in one piece",
    ),
    server(
        "F-71",
        NET6_TO_10,
        when(PROCESS, Shape::Any),
        Does::NoHeader,
        "bytes without a header: the payload, and memory of the runtime after it",
    ),
    server(
        "F-70",
        NET6_TO_10,
        when(ALL, Shape::BytesAfter),
        Does::Accepts,
        "bytes after the message are not read",
    ),
    server(
        "F-54",
        NET3_TO_10,
        when(ATTACH, Shape::Surplus),
        Does::Refuses(HResult::BAD_ENCODING),
        "bytes after the client data are refused",
    ),
    // The server: connections
    server(
        "F-5",
        NET10,
        when(SESSIONS, Shape::NoDescriptor),
        Does::LeavesOpen(HResult::BAD_ENCODING),
        "the connection is left open",
    ),
    server(
        "F-74",
        NET9_AND_10,
        when(SESSIONS, Shape::Any),
        Does::LeavesOpen(HResult::BAD_ENCODING),
        "the connection is left open, and a descriptor is lost",
    ),
    server(
        "F-74",
        NET6_TO_10,
        when(PROFILERS, Shape::UnknownCommand),
        Does::LeavesOpen(HResult::UNKNOWN_COMMAND),
        "the connection is left open",
    ),
    // The server: what its bounds checks would refuse
    server("F-7", NET3_TO_10, when(ALL, Shape::EndsEarly), Does::Anything, UNDEFINED),
    // What no request shows
    server(
        "F-59",
        NET10,
        NOT_A_REQUEST,
        Does::Accepts,
        "empty fields and unknown tags of a port are ignored, and the rest is used",
    )
    .shown_by("diagipc/tests/live/ports.py"),
    server(
        "P-13",
        PATH_TOO_LONG_HOLDS,
        NOT_A_REQUEST,
        Does::Waits,
        "a suspending port whose path is too long blocks the start forever",
    ),
    native_aot(
        "F-104",
        NET8_AND_9,
        NOT_A_REQUEST,
        Does::OkWithoutEffect,
        "there is no rundown, so stopping an idle program has nothing to wait for",
    ),
    native_aot(
        "F-106",
        NET8_AND_9,
        NOT_A_REQUEST,
        Does::OkWithoutEffect,
        "a value other than plain hexadecimal digits suspends nothing",
    ),
    native_aot(
        "F-107",
        NET8_AND_9,
        NOT_A_REQUEST,
        Does::OkWithoutEffect,
        "of the variables that disable the server, only `DOTNET_EnableDiagnostics` in plain digits is read",
    ),
    native_aot(
        "F-97",
        NET8_AND_9,
        NOT_A_REQUEST,
        Does::OkWithoutEffect,
        "a truncated character at the end of an entry is dropped",
    ),
    native_aot(
        "F-109",
        NET8_AND_9,
        NOT_A_REQUEST,
        Does::LeavesSocket,
        "a signal leaves the socket file, unless the program handles it",
    ),
    host(
        "P-49",
        NET10,
        NET10,
        NOT_A_REQUEST,
        Does::LeavesSocket,
        "SIGTERM leaves the socket file, unless the program handles it",
    ),
    host(
        "P-50",
        NET8_AND_9,
        NET8_AND_9,
        NOT_A_REQUEST,
        Does::Waits,
        "SIGTERM does not end a suspended runtime",
    ),
];
