//! The table: one row for each thing that is known. Of several rows that fit the first one counts.

use super::builds::{
    ANY, Builds, NET3, NET3_TO_10, NET8, NET8_AND_9, NET8_AND_9_0_7, NET8_TO_10, NET9_AND_10, NET9_SINGLE_FILE, NET10,
};
use super::row::{Commands, Does, Evidence, Layer, Platform, Row, Shape, When};
use crate::command::Command;
use crate::hresult::HResult;
use crate::wire::{Field, LimitKind};

const ALL: &[Commands] = &[Commands::AllBut(&[])];
const DUMPS: &[Commands] = &[Commands::Set(Command::GENERATE_CORE_DUMP.set)];
const PROFILERS: &[Commands] = &[Commands::Set(Command::ATTACH_PROFILER.set)];
const PROCESS: &[Commands] = &[Commands::Set(Command::PROCESS_INFO.set)];
const TRACING: &[Commands] = &[Commands::Set(Command::COLLECT_TRACING.set)];
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
const PERF_MAPS: &[Commands] = &[Commands::One(Command::ENABLE_PERF_MAP), Commands::One(Command::DISABLE_PERF_MAP)];
const LACKING_ON_MONO: &[Commands] = &[
    Commands::One(Command::GENERATE_CORE_DUMP),
    Commands::One(Command::GENERATE_CORE_DUMP2),
    Commands::One(Command::GENERATE_CORE_DUMP3),
    Commands::Set(Command::ATTACH_PROFILER.set),
    Commands::One(Command::ENABLE_PERF_MAP),
    Commands::One(Command::DISABLE_PERF_MAP),
    Commands::One(Command::APPLY_STARTUP_HOOK),
];

/// From this count of event ids on .NET 10 fills memory until it dies. Other counts it refuses.
const TOO_MANY_IDS: u32 = 0x3FFF_FFFF;
const NATIVE_AOT: Layer = Layer::Platform(Platform::NativeAot);
const WINDOWS: Layer = Layer::Platform(Platform::Windows);
const DIES: &str = "the runtime dies";
const WAITS: &str = "the runtime takes it for a session with user_events, and waits for the descriptor";

/// A row of the shared server, which was seen.
const fn server(fact: &'static str, builds: Builds, when: When, does: Does, text: &'static str) -> Row {
    Row { fact, layer: Layer::Server, builds, when, does, text, evidence: Evidence::Seen, fault: false }
}

/// A row of the program that was recorded.
const fn host(fact: &'static str, builds: Builds, when: When, does: Does, text: &'static str) -> Row {
    Row { layer: Layer::Host, fault: true, ..server(fact, builds, when, does, text) }
}

/// A row of a platform, of any version, that was read.
const fn platform(layer: Layer, fact: &'static str, commands: &'static [Commands], does: Does, text: &'static str) -> Row {
    Row { layer, evidence: Evidence::Read, ..server(fact, ANY, when(commands, Shape::Any), does, text) }
}

const fn when(commands: &'static [Commands], shape: Shape) -> When {
    When { commands, shape, harmful: false }
}

/// As [`when`], of what vectors mark as harmful.
const fn harmful(commands: &'static [Commands], shape: Shape) -> When {
    When { commands, shape, harmful: true }
}

/// All that is known.
pub(super) static TABLE: &[Row] = &[
    // Platforms
    platform(
        Layer::Platform(Platform::Mono),
        "F-63",
        LACKING_ON_MONO,
        Does::Refuses(HResult::NOT_SUPPORTED),
        "Mono has no dumps, profilers, perf maps and startup hooks",
    ),
    platform(NATIVE_AOT, "F-12", SET_VARIABLE, Does::Refuses(HResult(0x0000_FFFF)), "NativeAOT sets no variables"),
    platform(
        NATIVE_AOT,
        "F-56",
        PROFILERS,
        Does::Refuses(HResult::NOT_SUPPORTED),
        "a runtime without profiling refuses every command of it",
    ),
    platform(NATIVE_AOT, "F-46", PERF_MAPS, Does::Refuses(HResult::NOT_SUPPORTED), "a runtime without perf maps refuses them"),
    platform(NATIVE_AOT, "F-63", HOOK, Does::Refuses(HResult::NOT_SUPPORTED), "what is compiled ahead of time loads no hook"),
    platform(NATIVE_AOT, "F-63", DUMPS, Does::Pretends, "NativeAOT answers a dump with OK at once, and writes none"),
    Row {
        layer: WINDOWS,
        ..server(
            "P-41",
            ANY,
            when(SET_VARIABLE, Shape::Any),
            Does::Refuses(HResult::ENVVAR_NOT_FOUND),
            "on Windows an absent name is one that is not there",
        )
    },
    Row {
        layer: WINDOWS,
        ..server(
            "P-39",
            ANY,
            when(ALL, Shape::Pieces),
            Does::Refuses(HResult::BAD_ENCODING),
            "from a pipe the runtime takes what one read gives for the whole header, or the whole payload",
        )
    },
    // Hosts
    host(
        "P-40",
        NET3,
        when(&[Commands::One(Command::GENERATE_CORE_DUMP)], Shape::Any),
        Does::LeavesOpen(HResult::FAIL),
        "without a createdump the connection is left open",
    ),
    host(
        "P-30",
        NET8_AND_9_0_7,
        when(DUMPS, Shape::Right),
        Does::LeavesOpen(HResult::OK),
        "a child that does not end holds the connection open",
    ),
    host("P-6", NET9_SINGLE_FILE, when(DUMPS, Shape::Right), Does::Refuses(HResult::FAIL), "its createdump may not be executed"),
    host("P-31", NET10, when(DUMPS, Shape::PartialDump), Does::Refuses(HResult::FAIL), "a single file writes full dumps alone"),
    host(
        "P-46",
        NET10,
        when(DUMPS, Shape::UnwritableDump),
        Does::Refuses(HResult::FAIL),
        "a dump that cannot be written is refused",
    ),
    host(
        "P-27",
        NET8,
        when(HOOK, Shape::MissingHookSuspended),
        Does::Dies,
        "a startup hook that cannot be loaded ends the process after the resume",
    ),
    host(
        "P-27",
        NET9_SINGLE_FILE,
        when(HOOK, Shape::MissingHookSuspended),
        Does::Dies,
        "a startup hook that cannot be loaded ends the process after the resume",
    ),
    host(
        "P-2",
        NET9_SINGLE_FILE,
        when(HOOK, Shape::MissingHook),
        Does::Dies,
        "the runtime dies of a startup hook that cannot be loaded",
    ),
    host(
        "P-2",
        NET8,
        when(HOOK, Shape::MissingHook),
        Does::Refuses(HResult::INVALID_ARG),
        "a startup hook that cannot be loaded is refused",
    ),
    // The server: deaths
    server("F-72", NET8_TO_10, when(&[Commands::AllBut(&[Command::STOP_TRACING])], Shape::NoPayload), Does::Dies, DIES),
    server("F-72", NET10, when(TRACING, Shape::CountIn(Field::EventIds, TOO_MANY_IDS)), Does::Dies, DIES),
    server("F-72", NET3_TO_10, when(DUMPS, Shape::Beyond(&[LimitKind::AbsentName])), Does::Dies, DIES),
    server(
        "F-72",
        NET8_AND_9,
        when(ALL, Shape::Beyond(&[LimitKind::ZeroBuffer, LimitKind::UnknownFormat(0), LimitKind::TooManyProviders(0)])),
        Does::Dies,
        DIES,
    ),
    server(
        "F-72",
        NET10,
        when(ALL, Shape::Beyond(&[LimitKind::DuplicateEventId(0), LimitKind::TracepointNameTooLong(0)])),
        Does::Dies,
        DIES,
    ),
    server(
        "P-45",
        NET8_AND_9,
        when(&[Commands::One(Command::ENABLE_PERF_MAP)], Shape::Suspended),
        Does::Dies,
        "a perf map that is enabled while the runtime is suspended kills it",
    ),
    // Several truncations, by what lies behind them in memory.
    server("F-72", NET3_TO_10, harmful(ALL, Shape::Any), Does::Dies, DIES),
    // The server: answers
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
        "a header or a payload is wanted in one piece",
    ),
    server(
        "F-71",
        NET8_TO_10,
        when(PROCESS, Shape::Any),
        Does::NoHeader,
        "bytes without a header: the payload, and memory of the runtime behind it",
    ),
    server("F-70", NET8_TO_10, when(ALL, Shape::BytesAfter), Does::Takes, "bytes behind the message are not read"),
    server(
        "F-73",
        NET10,
        when(&[Commands::One(Command::COLLECT_TRACING5)], Shape::FilterCut),
        Does::Takes,
        "an event filter that is missing or cut is taken",
    ),
    server(
        "F-83",
        NET3_TO_10,
        harmful(&[Commands::One(Command::COLLECT_TRACING2)], Shape::Without(Field::Arguments)),
        Does::Takes,
        "arguments that are left out are read from the memory behind the payload",
    ),
    server(
        "F-54",
        NET3_TO_10,
        when(ATTACH, Shape::Surplus),
        Does::Refuses(HResult::BAD_ENCODING),
        "bytes behind the client data are refused",
    ),
    server(
        "F-54",
        NET3_TO_10,
        when(ATTACH, Shape::CountIn(Field::ClientData, 0)),
        Does::Takes,
        "client data that are longer than what was sent are taken",
    ),
    server(
        "F-54",
        NET3_TO_10,
        harmful(ATTACH, Shape::CutIn(Field::ClientData)),
        Does::Takes,
        "the length of the client data is not looked at",
    ),
    server("F-8", NET3_TO_10, harmful(ALL, Shape::Count(0)), Does::Takes, "the count is doubled in 32 bits, or not looked at"),
    server("F-7", NET3_TO_10, harmful(ALL, Shape::Any), Does::Takes, "the runtime does not look at the end of the payload"),
    server("F-8", NET3_TO_10, harmful(SESSIONS, Shape::Count(0)), Does::Waits, WAITS),
    server("F-7", NET3_TO_10, harmful(SESSIONS, Shape::Any), Does::Waits, WAITS),
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
        NET8_TO_10,
        when(PROFILERS, Shape::UnknownCommand),
        Does::LeavesOpen(HResult::UNKNOWN_COMMAND),
        "the connection is left open",
    ),
    // The configuration of ports
    server("F-59", NET10, when(&[], Shape::Ports), Does::Takes, "empty fields and unknown tags are ignored, and the rest is taken"),
];
