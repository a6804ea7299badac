//! The names of event profiles and levels, as in dotnet-trace.

use anyhow::Context as _;
use dotnet_diagnostics_ipc::message::eventpipe::EventLevel;

pub(crate) const RUNTIME: &str = "Microsoft-Windows-DotNETRuntime";
const RUNTIME_PRIVATE: &str = "Microsoft-Windows-DotNETRuntimePrivate";
const SAMPLER: &str = "Microsoft-DotNETCore-SampleProfiler";
const TASKS: &str = "System.Threading.Tasks.TplEventSource";
/// Events of this provider have the arguments of `database` in every profile.
pub(crate) const DIAGNOSTIC_SOURCE: &str = "Microsoft-Diagnostics-DiagnosticSource";

/// A set of events for one purpose.
#[derive(Debug)]
pub(crate) struct EventProfile {
    pub(crate) name: &'static str,
    pub(crate) about: &'static str,
    pub(crate) needs_rundown: bool,
    /// The names, keywords and levels of the providers.
    pub(crate) providers: &'static [(&'static str, u64, EventLevel)],
}

/// The profiles; the first two are the default.
pub(crate) static PROFILES: [EventProfile; 6] = [
    EventProfile {
        name: "dotnet-common",
        about: "GC, loader, JIT, exceptions, threading and compilation: a small set, useful in most cases",
        needs_rundown: true,
        providers: &[(RUNTIME, 0x10_0003_801d, EventLevel::INFORMATIONAL)],
    },
    EventProfile {
        name: "dotnet-sampled-thread-time",
        about: "The stacks of all managed threads, about 100 times a second",
        needs_rundown: true,
        providers: &[(SAMPLER, 0xf000_0000_0000, EventLevel::INFORMATIONAL)],
    },
    EventProfile {
        name: "gc-verbose",
        about: "Garbage collections, handles, exceptions, and samples of allocations",
        needs_rundown: true,
        providers: &[(RUNTIME, 0x8003, EventLevel::VERBOSE)],
    },
    EventProfile {
        name: "gc-collect",
        about: "Garbage collections only, at the lowest cost. No rundown if used alone",
        needs_rundown: false,
        providers: &[
            (RUNTIME, 1, EventLevel::INFORMATIONAL),
            (RUNTIME_PRIVATE, 1, EventLevel::INFORMATIONAL),
        ],
    },
    EventProfile {
        name: "database",
        about: "Commands of SqlClient and Entity Framework Core, with their text",
        needs_rundown: true,
        providers: &[
            (TASKS, 0x80, EventLevel::INFORMATIONAL),
            (DIAGNOSTIC_SOURCE, 3, EventLevel::VERBOSE),
        ],
    },
    EventProfile {
        name: "gcdump",
        about: "The objects of the heap, their types and references, from a collection that the session causes. No rundown if used alone",
        needs_rundown: false,
        providers: &[(RUNTIME, 0x198_0001, EventLevel::VERBOSE)],
    },
];

/// Profile names in guides, and what to use instead.
pub(crate) const OTHER_PROFILES: [(&str, &str); 2] = [
    (
        "cpu-sampling",
        "here it is dotnet-sampled-thread-time, which with dotnet-common is the default",
    ),
    ("thread-time", "here it is dotnet-sampled-thread-time"),
];

pub(crate) const LEVELS: [&str; 6] =
    ["LogAlways", "Critical", "Error", "Warning", "Informational", "Verbose"];

pub(crate) fn level(text: &str) -> anyhow::Result<EventLevel> {
    let named = LEVELS
        .iter()
        .zip(0..)
        .find(|(name, _)| name.eq_ignore_ascii_case(text))
        .map(|(_, level)| level);
    named.or_else(|| text.parse().ok().filter(|level| *level <= 5)).map(EventLevel).with_context(
        || format!("{text:?} is not a level: expected 0 to 5, or {}", LEVELS.join(", ")),
    )
}
