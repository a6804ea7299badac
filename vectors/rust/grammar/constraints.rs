//! Metadata that the visitor cannot derive: limits, units, names of bits, and the meaning of absent and
//! empty strings.
//!
//! `tests` compares each row, and each field without a row, with the crate.

use alloc::{borrow::ToOwned, vec, vec::Vec};

use super::Measure;
use crate::grammar as model;
use dotnet_diagnostics_ipc::message::dump::DumpFlags;
use dotnet_diagnostics_ipc::message::eventpipe::{MAX_PROVIDERS, MAX_TRACEPOINT_NAME_LEN};
use dotnet_diagnostics_ipc::wire::{Field, WireErrorKind};

/// The metadata of one field.
pub(super) struct Row {
    /// The commands, replies and structs that have the field.
    pub(super) of: &'static [&'static str],
    pub(super) field: Field,
    limits: &'static [Limit],
    unit: Option<&'static str>,
    bits: &'static [(DumpFlags, &'static str)],
    /// The meaning of an absent and of an empty string.
    strings: Option<(&'static str, &'static str)>,
}

/// The error of a measure that is in none of the ranges.
struct Limit(WireErrorKind, Measure, &'static [[u32; 2]]);

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

const BLANK_F16: &str =
    "refused (F-16); a string that begins with NUL (P-43), or has only white space (F-147), too";
const BLANK_F21: &str =
    "refused (F-21); a string that begins with NUL (P-43), or has only white space (F-147), too";

/// One row per field.
pub(super) const TABLE: &[Row] = &[
    row(STREAMS, Field::CircularBufferMb).limits(BUFFER).unit("MB"),
    row(DRAFT, Field::CircularBufferMb).unit("MB"),
    row(STREAMS, Field::Format).limits(FORMAT),
    row(TYPED, Field::StreamingCircularBufferMb).limits(BUFFER).unit("MB"),
    row(TYPED, Field::StreamingFormat).limits(FORMAT),
    row(SESSIONS, Field::Providers).limits(&[
        Limit(WireErrorKind::NoProviders, Measure::Count, &[[1, MOST]]),
        #[allow(clippy::cast_possible_truncation, reason = "1000")]
        Limit(
            WireErrorKind::TooManyProviders { count: 0 },
            Measure::Count,
            &[[0, MAX_PROVIDERS as u32]],
        ),
    ]),
    row(&["EventPipe/CollectTracing6"], Field::SessionBufferMode).limits(&[Limit(
        WireErrorKind::UnknownBufferMode { mode: 0 },
        Measure::Value,
        &[[0, 1]],
    )]),
    row(PROVIDERS, Field::LogLevel).limits(&[Limit(
        WireErrorKind::LogLevelOutOfRange { level: 0 },
        Measure::Value,
        &[[0, 5]],
    )]),
    row(PROVIDERS, Field::ProviderName)
        .limits(&[Limit(WireErrorKind::EmptyProviderName, Measure::VisibleBeforeNul, &[[1, MOST]])])
        .strings("refused (F-16)", BLANK_F16),
    row(PROVIDERS, Field::Arguments).strings("no arguments", "arguments without text"),
    row(&["tracepoint_config"], Field::DefaultTracepointName).limits(&[NAME_LEN]).strings(
        "events that no set lists are not written",
        "counts as a name; its registration fails (P-7)",
    ),
    row(&["tracepoint_set"], Field::TracepointName)
        .limits(&[
            Limit(WireErrorKind::EmptyTracepointName, Measure::VisibleBeforeNul, &[[1, MOST]]),
            NAME_LEN,
        ])
        .strings("refused (F-21)", BLANK_F21),
    row(DUMPS, Field::DumpName).limits(PRESENT).strings(
        "must be refused; released runtimes die of it (F-72)",
        "accepted; the runtime chooses the place (F-126)",
    ),
    row(DUMPS, Field::DumpType).limits(&[Limit(
        WireErrorKind::UnknownDumpType { dump_type: 0 },
        Measure::Value,
        &[[1, 4]],
    )]),
    row(&["Dump/GenerateCoreDump2", "Dump/GenerateCoreDump3"], Field::Flags).bits(&[
        (DumpFlags::LOGGING, "Logging"),
        (DumpFlags::VERBOSE_LOGGING, "VerboseLogging"),
        (DumpFlags::CRASH_REPORT, "CrashReport"),
    ]),
    row(&["Profiler/AttachProfiler"], Field::AttachTimeout).unit("ms"),
    row(&["Profiler/AttachProfiler"], Field::ProfilerPath)
        .strings("decodes; answered by E_FAIL (P-5)", "decodes; answered by E_FAIL (P-5)"),
    row(&["Profiler/StartupProfiler"], Field::ProfilerPath).strings("no path", "no path"),
    row(&["Process/SetEnvironmentVariable"], Field::Name)
        .limits(PRESENT)
        .strings("refused (F-80)", "accepted, but nothing is set (F-80)"),
    row(&["Process/SetEnvironmentVariable"], Field::Value)
        .strings("deletes the variable (F-44)", "a value without text"),
    // Higher numbers are negative to runtimes (P-44).
    row(&["Process/EnablePerfMap"], Field::PerfMapType).limits(&[Limit(
        WireErrorKind::UnknownPerfMapType { map_type: 0 },
        Measure::Value,
        &[[1, 3], [0x8000_0000, MOST]],
    )]),
    row(&["Process/ApplyStartupHook"], Field::StartupHookPath)
        .limits(PRESENT)
        .strings("refused (F-47)", "accepted, but no hook is run (P-1)"),
    row(INFOS, Field::CommandLine).sent(),
    row(INFOS, Field::Os).sent(),
    row(INFOS, Field::Arch).sent(),
    row(&["ProcessInfo2Reply", "ProcessInfo3Reply"], Field::ManagedEntrypointAssemblyName).strings(
        "as empty; runtimes send empty (F-11)",
        "the entry assembly is not loaded yet (F-39)",
    ),
    row(&["ProcessInfo2Reply", "ProcessInfo3Reply"], Field::ClrProductVersion).sent(),
    row(&["ProcessInfo3Reply"], Field::RuntimeIdentifier).sent(),
    row(&["Error"], Field::Message).strings("no text", "no text (F-81)"),
    row(DRAFT, Field::OutputPath).strings("unused, to be sent absent", "unused"),
    row(&["draft_provider_config"], Field::ProviderName).strings("no name", "no name"),
    row(&["draft_provider_config"], Field::FilterData)
        .strings("no filter data", "filter data without text"),
];

/// Returns a row without metadata.
const fn row(of: &'static [&'static str], field: Field) -> Row {
    Row { of, field, limits: &[], unit: None, bits: &[], strings: None }
}

impl Row {
    const fn limits(self, limits: &'static [Limit]) -> Self {
        Self { limits, ..self }
    }

    const fn unit(self, unit: &'static str) -> Self {
        Self { unit: Some(unit), ..self }
    }

    const fn bits(self, bits: &'static [(DumpFlags, &'static str)]) -> Self {
        Self { bits, ..self }
    }

    const fn strings(self, absent: &'static str, empty: &'static str) -> Self {
        Self { strings: Some((absent, empty)), ..self }
    }

    /// Adds the meaning of strings that runtimes send.
    const fn sent(self) -> Self {
        self.strings("as empty; runtimes send empty (F-11)", "unknown to the runtime")
    }
}

/// Returns the `fields` of `owner` with their metadata.
pub(super) fn added(owner: &str, mut fields: Vec<model::Field>) -> Vec<model::Field> {
    for field in &mut fields {
        let is_it = |row: &&Row| row.of.contains(&owner) && row.field.name() == field.name;
        let Some(row) = TABLE.iter().find(is_it) else { continue };
        field.limits = row.limits.iter().map(Limit::model).collect();
        field.unit = row.unit.map(ToOwned::to_owned);
        field.names.extend(row.bits.iter().map(|(bit, name)| (bit.0, (*name).to_owned())));
        field.absent = row.strings.map(|(absent, _)| absent.to_owned());
        field.empty = row.strings.map(|(_, empty)| empty.to_owned());
    }
    fields
}

impl Limit {
    fn model(&self) -> model::Limit {
        let Self(fault, of, ranges) = self;
        let (fault, ranges) = (fault.name().to_owned(), ranges.to_vec());
        model::Limit { fault, of: *of, fields: Vec::new(), ranges }
    }
}

/// Returns the limits of a struct as a whole.
pub(super) fn limits_of_struct(name: &str) -> Vec<model::Limit> {
    if name != "tracepoint_config" {
        return Vec::new();
    }
    let limit = |limit: Limit, fields: [Field; 2]| {
        let fields = fields.map(|field| field.name().to_owned()).into();
        model::Limit { fields, ..limit.model() }
    };
    vec![
        limit(
            Limit(WireErrorKind::NoTracepoint, Measure::CountOfAll, &[[1, MOST]]),
            [Field::DefaultTracepointName, Field::Tracepoints],
        ),
        limit(
            Limit(WireErrorKind::DuplicateEventId { id: 0 }, Measure::Distinct, &[]),
            [Field::Tracepoints, Field::EventIds],
        ),
    ]
}
