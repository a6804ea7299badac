//! What a field visitor does not know: limits, units, names of bits, and the meaning of absent and
//! empty strings.
//!
//! `tests` tries each row on the crate, and each field without one.

use alloc::{borrow::ToOwned, string::ToString as _, vec, vec::Vec};

use super::model::{self, Measure};
use dotnet_diagnostics_ipc::message::dump::DumpFlags;
use dotnet_diagnostics_ipc::message::eventpipe::{MAX_PROVIDERS, MAX_TRACEPOINT_NAME_LEN};
use dotnet_diagnostics_ipc::wire::{Field, WireErrorKind};

/// What is known of one field.
pub(super) struct Row {
    /// The commands, replies and structs that have it.
    pub(super) of: &'static [&'static str],
    pub(super) field: Field,
    limits: &'static [Limit],
    unit: Option<&'static str>,
    bits: &'static [(DumpFlags, &'static str)],
    /// For a string: the meaning of absent and empty.
    strings: Option<(&'static str, &'static str)>,
}

/// A measure that must be in one of the ranges.
struct Limit(WireErrorKind, Measure, &'static [[u32; 2]]);

const NOTHING: Row =
    Row { of: &[], field: Field::Name, limits: &[], unit: None, bits: &[], strings: None };

const MOST: u32 = u32::MAX;
const STREAMS: &[&str] = &[
    "EventPipe/CollectTracing",
    "EventPipe/CollectTracing2",
    "EventPipe/CollectTracing3",
    "EventPipe/CollectTracing4",
];
const TYPED: &[&str] = &["EventPipe/CollectTracing5", "EventPipe/CollectTracing6"];
const SESSIONS: &[&str] = &[
    "EventPipe/CollectTracing",
    "EventPipe/CollectTracing2",
    "EventPipe/CollectTracing3",
    "EventPipe/CollectTracing4",
    "EventPipe/CollectTracing5",
    "EventPipe/CollectTracing6",
];
const DRAFT: &[&str] = &["draft/CollectTracing"];
const PROVIDERS: &[&str] =
    &["provider_config", "streaming_provider_config", "user_events_provider_config"];
const DUMPS: &[&str] =
    &["Dump/GenerateCoreDump", "Dump/GenerateCoreDump2", "Dump/GenerateCoreDump3"];
const INFOS: &[&str] = &["ProcessInfoReply", "ProcessInfo2Reply", "ProcessInfo3Reply"];

const BUFFER: &[Limit] = &[Limit(WireErrorKind::ZeroBuffer, Measure::Value, &[[1, MOST]])];
const FORMAT: &[Limit] =
    &[Limit(WireErrorKind::UnknownFormat { format: 0 }, Measure::Value, &[[0, 1]])];
const PRESENT: &[Limit] = &[Limit(WireErrorKind::AbsentName, Measure::Count, &[[1, MOST]])];
const NAME_LEN: Limit = Limit(
    WireErrorKind::TracepointNameTooLong { len: 0 },
    Measure::Utf8BeforeNul,
    #[allow(clippy::cast_possible_truncation, reason = "436")]
    &[[0, MAX_TRACEPOINT_NAME_LEN as u32]],
);

/// One row per field.
pub(super) const TABLE: &[Row] = &[
    Row {
        of: STREAMS,
        field: Field::CircularBufferMb,
        unit: Some("MB"),
        limits: BUFFER,
        ..NOTHING
    },
    Row { of: DRAFT, field: Field::CircularBufferMb, unit: Some("MB"), ..NOTHING },
    Row { of: STREAMS, field: Field::Format, limits: FORMAT, ..NOTHING },
    Row {
        of: TYPED,
        field: Field::StreamingCircularBufferMb,
        unit: Some("MB"),
        limits: BUFFER,
        ..NOTHING
    },
    Row { of: TYPED, field: Field::StreamingFormat, limits: FORMAT, ..NOTHING },
    Row {
        of: SESSIONS,
        field: Field::Providers,
        limits: &[
            Limit(WireErrorKind::NoProviders, Measure::Count, &[[1, MOST]]),
            #[allow(clippy::cast_possible_truncation, reason = "1000")]
            Limit(
                WireErrorKind::TooManyProviders { count: 0 },
                Measure::Count,
                &[[0, MAX_PROVIDERS as u32]],
            ),
        ],
        ..NOTHING
    },
    Row {
        of: &["EventPipe/CollectTracing6"],
        field: Field::SessionBufferMode,
        limits: &[Limit(WireErrorKind::UnknownBufferMode { mode: 0 }, Measure::Value, &[[0, 1]])],
        ..NOTHING
    },
    Row {
        of: PROVIDERS,
        field: Field::LogLevel,
        limits: &[Limit(WireErrorKind::LogLevelOutOfRange { level: 0 }, Measure::Value, &[[0, 5]])],
        ..NOTHING
    },
    Row {
        of: PROVIDERS,
        field: Field::ProviderName,
        limits: &[Limit(WireErrorKind::EmptyProviderName, Measure::VisibleBeforeNul, &[[1, MOST]])],
        strings: Some((
            "refused (F-16)",
            "refused (F-16); a string that begins with NUL (P-43), or has only white space (F-147), too",
        )),
        ..NOTHING
    },
    Row {
        of: PROVIDERS,
        field: Field::Arguments,
        strings: Some(("no arguments", "arguments without text")),
        ..NOTHING
    },
    Row {
        of: &["tracepoint_config"],
        field: Field::DefaultTracepointName,
        limits: &[NAME_LEN],
        strings: Some((
            "events that no set lists are not written",
            "counts as a name; its registration fails (P-7)",
        )),
        ..NOTHING
    },
    Row {
        of: &["tracepoint_set"],
        field: Field::TracepointName,
        limits: &[
            Limit(WireErrorKind::EmptyTracepointName, Measure::VisibleBeforeNul, &[[1, MOST]]),
            NAME_LEN,
        ],
        strings: Some((
            "refused (F-21)",
            "refused (F-21); a string that begins with NUL (P-43), or has only white space (F-147), too",
        )),
        ..NOTHING
    },
    Row {
        of: DUMPS,
        field: Field::DumpName,
        limits: PRESENT,
        strings: Some((
            "must be refused; released runtimes die of it (F-72)",
            "accepted; the runtime chooses the place (F-126)",
        )),
        ..NOTHING
    },
    Row {
        of: DUMPS,
        field: Field::DumpType,
        limits: &[Limit(
            WireErrorKind::UnknownDumpType { dump_type: 0 },
            Measure::Value,
            &[[1, 4]],
        )],
        ..NOTHING
    },
    Row {
        of: &["Dump/GenerateCoreDump2", "Dump/GenerateCoreDump3"],
        field: Field::Flags,
        bits: &[
            (DumpFlags::LOGGING, "Logging"),
            (DumpFlags::VERBOSE_LOGGING, "VerboseLogging"),
            (DumpFlags::CRASH_REPORT, "CrashReport"),
        ],
        ..NOTHING
    },
    Row {
        of: &["Profiler/AttachProfiler"],
        field: Field::AttachTimeout,
        unit: Some("ms"),
        ..NOTHING
    },
    Row {
        of: &["Profiler/AttachProfiler"],
        field: Field::ProfilerPath,
        strings: Some(("decodes; answered by E_FAIL (P-5)", "decodes; answered by E_FAIL (P-5)")),
        ..NOTHING
    },
    Row {
        of: &["Profiler/StartupProfiler"],
        field: Field::ProfilerPath,
        strings: Some(("no path", "no path")),
        ..NOTHING
    },
    Row {
        of: &["Process/SetEnvironmentVariable"],
        field: Field::Name,
        limits: PRESENT,
        strings: Some(("refused (F-80)", "accepted, but nothing is set (F-80)")),
        ..NOTHING
    },
    Row {
        of: &["Process/SetEnvironmentVariable"],
        field: Field::Value,
        strings: Some(("deletes the variable (F-44)", "a value without text")),
        ..NOTHING
    },
    Row {
        of: &["Process/EnablePerfMap"],
        field: Field::PerfMapType,
        // What is above is negative to runtimes (P-44).
        limits: &[Limit(
            WireErrorKind::UnknownPerfMapType { map_type: 0 },
            Measure::Value,
            &[[1, 3], [0x8000_0000, MOST]],
        )],
        ..NOTHING
    },
    Row {
        of: &["Process/ApplyStartupHook"],
        field: Field::StartupHookPath,
        limits: PRESENT,
        strings: Some(("refused (F-47)", "accepted, but no hook is run (P-1)")),
        ..NOTHING
    },
    Row { of: INFOS, field: Field::CommandLine, strings: SENT, ..NOTHING },
    Row { of: INFOS, field: Field::Os, strings: SENT, ..NOTHING },
    Row { of: INFOS, field: Field::Arch, strings: SENT, ..NOTHING },
    Row {
        of: &["ProcessInfo2Reply", "ProcessInfo3Reply"],
        field: Field::ManagedEntrypointAssemblyName,
        strings: Some((
            "as empty; runtimes send empty (F-11)",
            "the entry assembly is not loaded yet (F-39)",
        )),
        ..NOTHING
    },
    Row {
        of: &["ProcessInfo2Reply", "ProcessInfo3Reply"],
        field: Field::ClrProductVersion,
        strings: SENT,
        ..NOTHING
    },
    Row { of: &["ProcessInfo3Reply"], field: Field::RuntimeIdentifier, strings: SENT, ..NOTHING },
    Row {
        of: &["Error"],
        field: Field::Message,
        strings: Some(("no text", "no text (F-81)")),
        ..NOTHING
    },
    Row {
        of: DRAFT,
        field: Field::OutputPath,
        strings: Some(("unused, to be sent absent", "unused")),
        ..NOTHING
    },
    Row {
        of: &["draft_provider_config"],
        field: Field::ProviderName,
        strings: Some(("no name", "no name")),
        ..NOTHING
    },
    Row {
        of: &["draft_provider_config"],
        field: Field::FilterData,
        strings: Some(("no filter data", "filter data without text")),
        ..NOTHING
    },
];

const SENT: Option<(&str, &str)> =
    Some(("as empty; runtimes send empty (F-11)", "unknown to the runtime"));

/// Adds the known facts about the fields of `owner`.
pub(super) fn add(owner: &str, fields: &mut [model::Field]) {
    for field in fields {
        for row in
            TABLE.iter().filter(|row| row.of.contains(&owner) && row.field.name() == field.name)
        {
            field.limits = row.limits.iter().map(Limit::model).collect();
            field.unit = row.unit.map(ToOwned::to_owned);
            field.names.extend(row.bits.iter().map(|(bit, name)| (bit.0, (*name).to_owned())));
            field.absent = row.strings.map(|(absent, _)| absent.to_owned());
            field.empty = row.strings.map(|(_, empty)| empty.to_owned());
        }
    }
}

impl Limit {
    fn model(&self) -> model::Limit {
        let Self(fault, of, ranges) = self;
        model::Limit {
            fault: fault.name().to_owned(),
            of: *of,
            fields: Vec::new(),
            ranges: ranges.to_vec(),
        }
    }
}

/// The limits of a struct as a whole.
pub(super) fn limits_of_struct(name: &str) -> Vec<model::Limit> {
    if name != "tracepoint_config" {
        return Vec::new();
    }
    let path =
        |fields: &[Field]| fields.iter().map(|field| field.name().to_string()).collect::<Vec<_>>();
    vec![
        model::Limit {
            fault: WireErrorKind::NoTracepoint.name().to_owned(),
            of: Measure::CountOfAll,
            fields: path(&[Field::DefaultTracepointName, Field::Tracepoints]),
            ranges: vec![[1, MOST]],
        },
        model::Limit {
            fault: WireErrorKind::DuplicateEventId { id: 0 }.name().to_owned(),
            of: Measure::Distinct,
            fields: path(&[Field::Tracepoints, Field::EventIds]),
            ranges: Vec::new(),
        },
    ]
}
