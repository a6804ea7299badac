//! What values mean: filters, tracepoints, rundown, commands, result codes. Every number here is
//! written out by hand.

use std::collections::{BTreeMap, BTreeSet};

use dotnet_diagnostics_ipc::command::{Command, Continuation};
use dotnet_diagnostics_ipc::hresult::HResult;
use dotnet_diagnostics_ipc::message::Message;
use dotnet_diagnostics_ipc::message::dump::{DumpFlags, DumpType};
use dotnet_diagnostics_ipc::message::eventpipe::{
    CollectTracing2, DEFAULT_RUNDOWN_KEYWORD, EventFilter, EventLevel, Format, SessionBufferMode,
    StopTracing, TracepointConfig, TracepointSet, request_rundown, rundown_keyword,
};
use dotnet_diagnostics_ipc::message::process::{PerfMapType, ProcessInfo, ResumeRuntime};
use dotnet_diagnostics_ipc::wire::{Array, Decode, Guid, IpcString, Layer, Reader, WireErrorKind};
use dotnet_diagnostics_ipc_vectors as vectors;
use dotnet_diagnostics_ipc_vectors::{ExpectedResult, Type};

fn read<'a, T: Decode<'a>>(wire: &'a [u8]) -> T {
    T::decode(&mut Reader::new(wire)).unwrap()
}

#[test]
fn event_filter_passes_listed_or_all_others() {
    type Ids = &'static [u32];
    // enable, ids, ids that pass, ids that do not
    let cases: [(bool, Ids, Ids, Ids); 6] = [
        (false, &[], &[0, 1, 77, u32::MAX], &[]),
        (true, &[], &[], &[0, 1, 77, u32::MAX]),
        (true, &[4, 77], &[4, 77], &[0, 3, 5, u32::MAX]),
        (false, &[4, 77], &[0, 3, 5, u32::MAX], &[4, 77]),
        (true, &[9, 9], &[9], &[0, 8]),
        // The last id counts as the first one does.
        (true, &[0, 1, u32::MAX], &[0, 1, u32::MAX], &[2]),
    ];
    for (enable, ids, through, not) in cases {
        let filter = EventFilter { enable, event_ids: Array::new(ids) };
        assert!(through.iter().all(|id| filter.allows(*id)), "{filter:?}");
        assert!(!not.iter().any(|id| filter.allows(*id)), "{filter:?}");
    }
    // Any non-zero bool is true.
    assert_eq!(read::<EventFilter<'_>>(b"\x80\0\0\0\0"), EventFilter::NONE);
    assert_eq!(read::<EventFilter<'_>>(b"\0\0\0\0\0"), EventFilter::ALL);
}

#[test]
fn tracepoint_lookup_prefers_set_then_default() {
    type Where = [(u32, Option<&'static str>)];
    let set = |name, ids| TracepointSet {
        tracepoint_name: IpcString::new(name),
        event_ids: Array::new(ids),
    };
    let low_and_high = [set("Low", &[1, 2]), set("Hi", &[3])];
    // A set may list nothing. Two sets that list an id are refused by a runtime; here the first
    // counts.
    let nothing_and_twice = [set("N", &[]), set("A", &[7]), set("B", &[7, 0])];
    let (absent, default) = (IpcString::ABSENT, IpcString::new("D"));
    let cases: [(IpcString<'_>, &[TracepointSet<'_>], &Where); 5] = [
        (
            default,
            &low_and_high,
            &[(1, Some("Low")), (2, Some("Low")), (3, Some("Hi")), (0, Some("D")), (4, Some("D"))],
        ),
        // Without a default, an event in no set is not written.
        (absent, &low_and_high, &[(1, Some("Low")), (3, Some("Hi")), (0, None), (4, None)]),
        // A default of length 1 is present, whatever registration makes of it (P-7).
        (IpcString::new(""), &low_and_high, &[(2, Some("Low")), (4, Some(""))]),
        (default, &nothing_and_twice, &[(7, Some("A")), (0, Some("B")), (1, Some("D"))]),
        (default, &[], &[(0, Some("D")), (u32::MAX, Some("D"))]),
    ];
    for (default_tracepoint_name, sets, events) in cases {
        let config = TracepointConfig { default_tracepoint_name, tracepoints: Array::new(sets) };
        for (id, name) in events {
            assert_eq!(config.tracepoint_for(*id), name.map(IpcString::new), "{config:?} {id}");
        }
        assert!(config.has_tracepoint());
        assert_eq!(config.duplicate_event_id(), (sets.len() == 3).then_some((2, 0)));
    }
    let nowhere = read::<TracepointConfig<'_>>(b"\0\0\0\0\0\0\0\0");
    assert!(!nowhere.has_tracepoint() && nowhere.tracepoint_for(0).is_none());
}

#[test]
fn request_rundown_maps_to_keyword() {
    assert_eq!(
        (rundown_keyword(false), rundown_keyword(true), DEFAULT_RUNDOWN_KEYWORD),
        (0, 0x8002_0139, 0x8002_0139)
    );
    let cases = [
        (0, Some(false)),
        (0x8002_0139, Some(true)),
        (0x8002_0138, None),
        (0x0002_0139, None),
        (0x1_8002_0139, None),
        (1, None),
        (u64::MAX, None),
    ];
    for (keyword, rundown) in cases {
        assert_eq!(request_rundown(keyword), rundown, "{keyword:#x}");
    }
}

/// Names, codes and versions are those of the vectors, which are written by hand. Vectors of replies
/// show which reply a command has; what follows it is listed here.
#[test]
fn command_table_name_version_reply_continuation() {
    use Continuation as C;
    let followed = BTreeMap::from([
        ("EventPipe/CollectTracing", C::Nettrace),
        ("EventPipe/CollectTracing2", C::Nettrace),
        ("EventPipe/CollectTracing3", C::Nettrace),
        ("EventPipe/CollectTracing4", C::Nettrace),
        ("EventPipe/CollectTracing5", C::BySessionType),
        ("EventPipe/CollectTracing6", C::BySessionType),
        ("Process/ProcessEnvironment", C::EnvironmentBlock),
    ]);
    let files = vectors::files().unwrap();
    let mut codes = BTreeSet::new();
    for group in files.iter().flat_map(|file| &file.groups) {
        let Some(name) = &group.command else { continue };
        let command: Command = name.parse().unwrap();
        assert_eq!(command.to_string(), *name);
        assert_eq!(command.since().map(|since| since.to_string()), group.since, "{name}");
        let continuation = followed.get(name.as_str()).copied().unwrap_or(C::Close);
        assert_eq!(command.continuation(), Some(continuation), "{name}");
        let is_request = group.kind == Type::Request;
        let valid =
            group.tests.iter().filter(|test| is_request && test.result == ExpectedResult::Valid);
        for wire in valid.filter_map(|test| test.wire.as_deref()) {
            assert_eq!(wire[16..18], command.code().to_be_bytes(), "{name}");
            codes.insert(command.code());
        }
    }
    assert_eq!(Command::known().map(Command::code).collect::<BTreeSet<_>>(), codes);
    for code in [0x0000, 0x01ee, 0x02ee, 0x03ee, 0x04ee, 0x0500, 0xfe00, 0xfe09, 0xff00, 0xffff] {
        let command = Command::from_code(code);
        assert_eq!(
            (command.since(), command.reply_type(), command.continuation()),
            (None, None, None),
            "{command}"
        );
    }
}

/// F-18, F-23: the code of a `CollectTracing5` does not show what follows it.
#[test]
fn session_continuation_depends_on_type() {
    let streaming =
        b"DOTNET_IPC_V1\0\x2d\0\x02\x06\0\0\0\0\0\0\x10\0\0\0\x01\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0";
    let user_events = b"DOTNET_IPC_V1\0\x24\0\x02\x07\0\0\x01\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0";
    let collect = b"DOTNET_IPC_V1\0\x20\0\x02\x02\0\0\x10\0\0\0\x01\0\0\0\0\0\0\0";
    let environment = b"DOTNET_IPC_V1\0\x14\0\x04\x02\0\0";
    let unknown = b"DOTNET_IPC_V1\0\x14\0\x04\x63\0\0";
    let follows = |bytes| Message::decode(bytes).unwrap().request().unwrap().continuation();
    assert_eq!(follows(streaming), Some(Continuation::Nettrace));
    assert_eq!(follows(user_events), Some(Continuation::UserEvents));
    assert_eq!(follows(collect), Some(Continuation::Nettrace));
    assert_eq!(follows(environment), Some(Continuation::EnvironmentBlock));
    assert_eq!(follows(unknown), None);
}

/// The vectors name commands by their header, so they cannot show this fault.
#[test]
fn message_of_other_command_is_refused() {
    let stop = Message::decode(b"DOTNET_IPC_V1\0\x1c\0\x02\x01\0\0\x01\0\0\0\0\0\0\0").unwrap();
    let same_set = stop.request_as::<CollectTracing2<'_>>().unwrap_err();
    assert_eq!(
        (same_set.kind().name(), same_set.layer(), same_set.offset()),
        ("unexpected_command", Layer::Header, 17)
    );
    assert_eq!(
        same_set.to_string(),
        "header.command_id at byte 17: command is 0x0201, expected 0x0203"
    );
    assert_eq!(same_set.hresult(), HResult(0x8013_1385));
    let other_set = stop.request_as::<ResumeRuntime>().unwrap_err();
    assert_eq!(
        (other_set.offset(), other_set.path().to_string()),
        (16, "header.command_set".to_owned())
    );
    // This also applies if the payload would fit.
    assert!(
        Message::decode(b"DOTNET_IPC_V1\0\x14\0\x04\x04\0\0")
            .unwrap()
            .request_as::<ProcessInfo>()
            .is_err()
    );
    assert_eq!(stop.request_as(), Ok(StopTracing { session_id: 1 }));
}

#[test]
fn hresult_prints_documented_name() {
    let table = [
        (0x0000_0000, "S_OK", true),
        (0x8013_1384, "DS_IPC_E_BAD_ENCODING", false),
        (0x8013_1385, "DS_IPC_E_UNKNOWN_COMMAND", false),
        (0x8013_1386, "DS_IPC_E_UNKNOWN_MAGIC", false),
        (0x8013_1387, "CORDIAGIPC_E_UNKNOWN_ERROR", false),
        (0x8013_1515, "DS_IPC_E_NOTSUPPORTED", false),
        (0x8000_4005, "DS_IPC_E_FAIL", false),
        (0x8013_135b, "DS_IPC_E_NOT_YET_AVAILABLE", false),
        (0x8013_1371, "DS_IPC_E_RUNTIME_UNINITIALIZED", false),
        (0x8007_0057, "DS_IPC_E_INVALIDARG", false),
        (0x8007_007a, "DS_IPC_E_INSUFFICIENT_BUFFER", false),
        (0x8000_00cb, "DS_IPC_E_ENVVAR_NOT_FOUND", false),
        // These are not in the document: F-80, P-5, P-48, F-12, F-96.
        (0x8007_00cb, "ERROR_ENVVAR_NOT_FOUND", false),
        (0x8007_007e, "ERROR_MOD_NOT_FOUND", false),
        (0x8007_0008, "ERROR_NOT_ENOUGH_MEMORY", false),
        (0x8007_0002, "ERROR_FILE_NOT_FOUND", false),
        (0x8007_0003, "ERROR_PATH_NOT_FOUND", false),
        (0x8007_0005, "E_ACCESSDENIED", false),
        (0x8007_000e, "E_OUTOFMEMORY", false),
        (0x8007_00b7, "ERROR_ALREADY_EXISTS", false),
        (0x8013_136a, "CORPROF_E_PROFILER_ALREADY_ACTIVE", false),
        (0xffff_ffff, "setenv failed (-1)", false),
    ];
    for (code, name, success) in table {
        assert_eq!(HResult(code).name(), Some(name));
        assert_eq!(HResult(code).to_string(), format!("0x{code:08X} {name}"));
        assert_eq!(HResult(code).is_success(), success, "{name}");
    }
    let named: BTreeSet<u32> = HResult::NAMED.iter().map(|hresult| hresult.0).collect();
    assert_eq!(named, table.iter().map(|row| row.0).collect());
    assert_eq!(
        (HResult(0x8007_0006).name(), HResult(0x8007_0006).to_string()),
        (None, "0x80070006".to_owned())
    );
    assert_eq!(
        (HResult(0x7fff_ffff).is_success(), HResult(0x8000_0000).is_success()),
        (true, false)
    );
    assert_eq!(HResult(0x8013_1384).to_i32(), -2_146_233_468);
}

#[test]
fn enum_values_have_documented_names() {
    let names = |name: fn(u32) -> Option<&'static str>| (0..7).map(name).collect::<Vec<_>>();
    let levels = [
        Some("LogAlways"),
        Some("Critical"),
        Some("Error"),
        Some("Warning"),
        Some("Informational"),
        Some("Verbose"),
        None,
    ];
    assert_eq!(names(|n| EventLevel(n).name()), levels);
    assert_eq!(
        names(|n| Format(n).name()),
        [Some("NetPerf"), Some("NetTrace"), None, None, None, None, None]
    );
    assert_eq!(
        names(|n| SessionBufferMode(n).name()),
        [Some("drop"), Some("block"), None, None, None, None, None]
    );
    let dumps = [None, Some("Normal"), Some("WithHeap"), Some("Triage"), Some("Full"), None, None];
    assert_eq!(names(|n| DumpType(n).name()), dumps);
    let perf_maps =
        [Some("DISABLED"), Some("ALL"), Some("JITDUMP"), Some("PERFMAP"), None, None, None];
    assert_eq!(names(|n| PerfMapType(n).name()), perf_maps);
    assert_eq!(
        (DumpFlags::LOGGING.0, DumpFlags::VERBOSE_LOGGING.0, DumpFlags::CRASH_REPORT.0),
        (1, 2, 4)
    );
}

#[test]
fn decode_error_hresult_equals_runtime_answer() {
    for (kind, hresult) in [
        (WireErrorKind::BadMagic, HResult::UNKNOWN_MAGIC),
        (
            WireErrorKind::UnexpectedCommand { code: 0x0299, expected: 0x0203 },
            HResult::UNKNOWN_COMMAND,
        ),
        (WireErrorKind::SizeTooSmall { size: 19 }, HResult::BAD_ENCODING),
        (WireErrorKind::EndOfInput { needed: 20 }, HResult::BAD_ENCODING),
        (WireErrorKind::CountTooLarge { count: 9, remaining: 8 }, HResult::BAD_ENCODING),
    ] {
        assert_eq!(kind.hresult(), hresult, "{kind}");
    }
    assert_eq!(WireErrorKind::ErrorMessage { hresult: HResult::FAIL }.hresult(), HResult::FAIL);
}

#[test]
fn guid_prints_first_three_groups_as_numbers() {
    let guid: Guid = "33221100-5544-7766-8899-aabbccddeeff".parse().unwrap();
    let bytes = [
        0x00, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88, 0x99, 0xaa, 0xbb, 0xcc, 0xdd, 0xee,
        0xff,
    ];
    assert_eq!(guid.to_bytes(), bytes);
    assert_eq!(
        (guid.to_string(), format!("{guid:?}")),
        ("33221100-5544-7766-8899-aabbccddeeff".to_owned(), format!("Guid({guid})"))
    );
}
