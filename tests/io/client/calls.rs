//! What is sent, what the runtime answers, and what the caller is told.

use dotnet_diagnostics_ipc::continuation::EnvironmentLimits;
use dotnet_diagnostics_ipc::exchange::End;
use dotnet_diagnostics_ipc::exchange::fallback::Fallback;
use dotnet_diagnostics_ipc::hresult::HResult;
use dotnet_diagnostics_ipc::io::{ErrorKind, Phase};
use dotnet_diagnostics_ipc::message::AnyRequest;
use dotnet_diagnostics_ipc::message::dump::{
    DumpFlags, DumpType, GenerateCoreDump, GenerateCoreDump2, GenerateCoreDump3,
};
use dotnet_diagnostics_ipc::message::process::{PerfMapType, ProcessInfo};
use dotnet_diagnostics_ipc::message::profiler::{AttachProfiler, StartupProfiler};
use dotnet_diagnostics_ipc::wire::Guid;

use super::*;

/// The result of a call in words: its value, or the text of its error.
fn told<T: std::fmt::Debug>(result: Result<T, Error>) -> String {
    result.map_or_else(|error| error.to_string(), |value| format!("{value:?}"))
}

/// A row of the table: a call, what the runtime says on each connection, what was sent there behind
/// the magic, and what the caller is told.
macro_rules! row {
    (|$client:ident| $call:expr, $says:expr, $sends:expr, $told:expr) => {{
        let peer = Peer::saying(&$says);
        let $client = Client::new(&peer);
        assert_eq!(told(wait!($call)), $told, "{}", stringify!($call));
        peer.was_asked(&$sends);
    }};
}

const NONE: [&[u8]; 0] = [];
const RESUME: &[u8] = b"\x14\0\x04\x01\0\0";
const INFO: &[u8] = b"\x14\0\x04\0\0\0";
const INFO2: &[u8] = b"\x14\0\x04\x04\0\0";
const INFO3: &[u8] = b"\x14\0\x04\x08\0\0";
const ENVIRONMENT: &[u8] = b"\x14\0\x04\x02\0\0";
const STOP_7: &[u8] = b"\x1c\0\x02\x01\0\0\x07\0\0\0\0\0\0\0";
const OK_20: &[u8] = b"DOTNET_IPC_V1\0\x14\0\xff\0\0\0";

const DUMP: GenerateCoreDump<'_> = GenerateCoreDump {
    dump_name: IpcString::new("/d"),
    dump_type: DumpType::NORMAL,
    diagnostics: 1,
};
const DUMP2: GenerateCoreDump2<'_> = GenerateCoreDump2 {
    dump_name: IpcString::new("/d"),
    dump_type: DumpType::FULL,
    flags: DumpFlags::NONE,
};
const DUMP3: GenerateCoreDump3<'_> = GenerateCoreDump3 {
    dump_name: IpcString::new("/d"),
    dump_type: DumpType::FULL,
    flags: DumpFlags::NONE,
};
/// A type that no runtime has.
const DUMP3_9: GenerateCoreDump3<'_> = GenerateCoreDump3 { dump_type: DumpType(9), ..DUMP3 };
const DUMP3_9_SENT: &[u8] = b"\x26\0\x01\x03\0\0\x03\0\0\0/\0d\0\0\0\x09\0\0\0\0\0\0\0";
const ATTACH: AttachProfiler<'_> = AttachProfiler {
    attach_timeout: 5000,
    profiler_guid: Guid::NIL,
    profiler_path: IpcString::new("/p"),
    client_data: b"",
};

case! {
    /// What each method sends, and that an error reply is an error.
    #[test]
    fn client_method_sends_its_command() {
        let failed = "the runtime answered 0x80004005 DS_IPC_E_FAIL (waiting for the reply)";
        row!(|client| client.process_info(), [FAILED], [INFO], failed);
        row!(|client| client.process_info2(), [FAILED], [INFO2], failed);
        row!(|client| client.process_info3(), [FAILED], [INFO3], failed);
        row!(|client| client.resume(), [FAILED], [RESUME], failed);
        row!(|client| client.environment(), [FAILED], [ENVIRONMENT], failed);
        let sent = b"\x24\0\x04\x03\0\0\x02\0\0\0A\0\0\0\x02\0\0\x001\0\0\0";
        row!(|client| client.set_environment_variable("A", Some("1")), [FAILED], [sent], failed);
        let sent = b"\x18\0\x04\x05\0\0\x02\0\0\0";
        row!(|client| client.enable_perf_map(PerfMapType::JIT_DUMP), [FAILED], [sent], failed);
        row!(|client| client.disable_perf_map(), [FAILED], [b"\x14\0\x04\x06\0\0"], failed);
        let sent = b"\x1e\0\x04\x07\0\0\x03\0\0\0/\0h\0\0\0";
        row!(|client| client.apply_startup_hook("/h"), [FAILED], [sent], failed);
        let sent = b"\x36\0\x03\x01\0\0\x88\x13\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x03\0\0\0/\0p\0\0\0\0\0\0\0";
        row!(|client| client.attach_profiler(&ATTACH), [FAILED], [sent], failed);
        let startup = StartupProfiler { profiler_guid: Guid::NIL, profiler_path: "/p".into() };
        let sent = b"\x2e\0\x03\x02\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x03\0\0\0/\0p\0\0\0";
        row!(|client| client.startup_profiler(&startup), [FAILED], [sent], failed);
        let sent = b"\x26\0\x01\x01\0\0\x03\0\0\0/\0d\0\0\0\x01\0\0\0\x01\0\0\0";
        row!(|client| client.generate_core_dump(&DUMP), [FAILED], [sent], failed);
        let sent = b"\x26\0\x01\x02\0\0\x03\0\0\0/\0d\0\0\0\x04\0\0\0\0\0\0\0";
        row!(|client| client.generate_core_dump2(&DUMP2), [FAILED], [sent], failed);
        let sent = b"\x26\0\x01\x03\0\0\x03\0\0\0/\0d\0\0\0\x04\0\0\0\0\0\0\0";
        row!(|client| client.generate_core_dump3(&DUMP3), [FAILED], [sent], failed);
        row!(|client| client.stop_tracing(7), [FAILED], [STOP_7], failed);
    }
}

case! {
    #[test]
    fn call_reply_is_told_to_caller() {
        row!(|client| client.resume(), [DONE], [RESUME], "()");
        row!(|client| client.resume(), [OK_20], [RESUME], "()");
        // This also applies to an unknown session (F-31).
        row!(|client| client.stop_tracing(7), [SESSION], [STOP_7], "Some(42)");
        row!(|client| client.stop_tracing(7), [OK_20], [STOP_7], "None");
        row!(
            |client| client.resume(),
            [b"DOTNET_IPC_V1\0\x18\0\xff\0\0\0\x05\x40\0\x80"],
            [RESUME],
            "the runtime answered 0x80004005 DS_IPC_E_FAIL (waiting for the reply)"
        );
        // As .NET 6.0.13 answers a dump that failed (F-127): the header says that it is an error.
        row!(
            |client| client.resume(),
            [b"DOTNET_IPC_V1\0\x18\0\xff\xff\0\0\0\0\0\0"],
            [RESUME],
            "the runtime answered with the error code 0x00000000, which gives no reason (waiting for the reply)"
        );
        row!(
            |client| client.environment(),
            [OK_20],
            [ENVIRONMENT],
            "the runtime did not report the size of the environment (waiting for the reply)"
        );
        row!(|client| client.resume(), NONE, NONE, "connection refused (connecting)");
    }
}

case! {
    #[test]
    fn peer_of_other_protocol_is_refused() {
        let wrong = "the reply cannot be decoded: header.magic at byte 0: magic mismatch, expected \"DOTNET_IPC_V1\\0\" (waiting for the reply)";
        let http = b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n400 Bad Request";
        row!(|client| client.process_info(), [http], [INFO], wrong);
        row!(|client| client.process_info(), [b"SSH-2.0-OpenSSH_9.6\r\n"], [INFO], wrong);
        let wrong_version = "the reply cannot be decoded: header.magic at byte 12: magic mismatch, expected \"DOTNET_IPC_V1\\0\" (waiting for the reply)";
        let version_2 = b"DOTNET_IPC_V2\0\x18\0\xff\0\0\0\0\0\0\0";
        row!(|client| client.process_info(), [version_2], [INFO], wrong_version);
        row!(|client| client.process_info(), [&[0; 64]], [INFO], wrong);
    }
}

case! {
    /// A request that kills a runtime is not sent.
    #[test]
    fn call_over_limit_is_sent_only_unchecked() {
        let why = "a runtime would refuse the request: GenerateCoreDump3.dumpType at byte 30: dump type 9 is not one of 1 to 4 (sending the request)";
        let failed = "the runtime answered 0x80004005 DS_IPC_E_FAIL (waiting for the reply)";
        row!(|client| client.generate_core_dump3(&DUMP3_9), NONE, NONE, why);
        row!(|client| client.unchecked().generate_core_dump3(&DUMP3_9), [FAILED], [DUMP3_9_SENT], failed);
        row!(|client| client.dump(&DUMP3_9), NONE, NONE, why);
        let peer = Peer::saying(&[FAILED]);
        let call = connection(&peer).unchecked();
        assert_eq!(told(ask!(call, call(&DUMP3_9))), failed);
        peer.was_asked(&[DUMP3_9_SENT]);

        let mut providers = [STREAMED[0]];
        providers[0].log_level = EventLevel(9);
        let session = StreamingSession { providers: Array::new(&providers), ..COLLECT5 };
        let fallback = || Fallback::new(AnyRequest::CollectTracing5(CollectTracing5::Streaming(session)));
        let why = "a runtime would refuse the request: CollectTracing5.providers[0].logLevel at byte 53: level 9 is above 5 (Verbose) (sending the request)";
        row!(|client| client.trace_by(fallback()), NONE, NONE, why);
        let peer = Peer::saying(&[SESSION]);
        let client = Client::new(&peer).unchecked();
        let (trace, _) = wait!(client.trace_by(fallback())).unwrap();
        assert_eq!((trace.session_id(), &peer.asked(0, 18)[16..]), (Some(42), &[2, 6][..]));
    }
}

case! {
    /// F-74: the request alone would cost some runtimes a descriptor.
    #[test]
    fn session_takes_method_of_its_kind() {
        let not_streaming = "not a streaming session (sending the request)";
        let not_user_events = "not a user_events session (sending the request)";
        let descriptor = "a user_events session takes a descriptor: Client::user_events passes one (sending the request)";
        row!(|client| client.trace(&USER_EVENTS), NONE, NONE, not_streaming);
        let fallback = Fallback::new(AnyRequest::CollectTracing5(USER_EVENTS));
        row!(|client| client.trace_by(fallback), NONE, NONE, not_streaming);
        row!(|client| client.user_events(&COLLECT, std::io::stdin()), NONE, NONE, not_user_events);
        row!(|client| client.call(&USER_EVENTS), NONE, NONE, descriptor);
        row!(|client| client.unchecked().call(&USER_EVENTS), NONE, NONE, descriptor);
        let peer = Peer::saying(&[b"", b""]);
        assert_eq!(told(ask!(connection(&peer), call(&USER_EVENTS))), descriptor);
        assert_eq!(told(ask!(connection(&peer), trace(&USER_EVENTS))), not_streaming);
        peer.was_asked(&[b"", b""]);
    }
}

/// Process 7, a cookie of 16 bytes 0x11, the texts `a`, `L` and `x`.
const FIELDS: &[u8] =
    b"\x07\0\0\0\0\0\0\0\x11\x11\x11\x11\x11\x11\x11\x11\x11\x11\x11\x11\x11\x11\x11\x11\
    \x02\0\0\0a\0\0\0\x02\0\0\0L\0\0\0\x02\0\0\0x\0\0\0";
/// The entry assembly `m` and the version `6`.
const FIELDS_2: &[u8] = b"\x02\0\0\0m\0\0\0\x02\0\0\x006\0\0\0";

case! {
    #[test]
    fn info_is_asked_with_the_newest_known_command() {
        let three = ok(&[b"\x01\0\0\0", FIELDS, FIELDS_2, b"\x02\0\0\0r\0\0\0"]);
        let (two, one) = (ok(&[FIELDS, FIELDS_2]), ok(&[FIELDS]));
        let cases = [
            (vec![&three[..]], Some("m"), Some("6"), Some("r")),
            (vec![UNKNOWN, &two], Some("m"), Some("6"), None),
            (vec![UNKNOWN, UNKNOWN, &one], None, None, None),
        ];
        for (says, assembly, version, rid) in cases {
            let peer = Peer::saying(&says);
            let info = wait!(Client::new(&peer).info()).unwrap();
            assert_eq!((info.process_id, info.runtime_cookie.to_bytes()), (7, [0x11; 16]));
            assert_eq!((&*info.command_line, &*info.os, &*info.arch), ("a", "L", "x"));
            assert_eq!(info.managed_entrypoint_assembly_name.as_deref(), assembly);
            assert_eq!(info.clr_product_version.as_deref(), version);
            assert_eq!(info.runtime_identifier.as_deref(), rid);
            peer.was_asked(&[INFO3, INFO2, INFO][..says.len()]);
        }
        let all = [INFO3, INFO2, INFO];
        let text = "the runtime answered 0x80131385 DS_IPC_E_UNKNOWN_COMMAND: ProcessInfo: there is no older command (waiting for the reply)";
        row!(|client| client.info(), [UNKNOWN; 3], all, text);
        // Another error is not answered with an older command.
        let failed = "the runtime answered 0x80004005 DS_IPC_E_FAIL (waiting for the reply)";
        row!(|client| client.info(), [FAILED], [INFO3], failed);
        // The document's generic OK has no information about the process.
        let none = "the runtime answered OK without a payload (waiting for the reply)";
        row!(|client| client.info(), [OK_20], [INFO3], none);
    }
}

case! {
    #[test]
    fn dump_is_asked_with_the_newest_known_command() {
        // The last field of each is the flags, or 1 for logging.
        for (says, flags) in
            [(vec![DONE], 7), (vec![UNKNOWN, DONE], 7), (vec![UNKNOWN, UNKNOWN, DONE], 1)]
        {
            let peer = Peer::saying(&says);
            let dump = GenerateCoreDump3 { flags: DumpFlags(flags.into()), ..DUMP3 };
            wait!(Client::new(&peer).dump(&dump)).unwrap();
            let last = says.len() - 1;
            let request = peer.asked(last, 38);
            assert_eq!((request[17], request[34]), (3 - u8::try_from(last).unwrap(), flags));
        }
        // An older command would write no crash report.
        let peer = Peer::saying(&[UNKNOWN, UNKNOWN, DONE]);
        let dump = GenerateCoreDump3 { flags: DumpFlags(4), ..DUMP3 };
        let error = wait!(Client::new(&peer).dump(&dump)).unwrap_err();
        assert_eq!((peer.count(), error.hresult()), (2, Some(HResult::UNKNOWN_COMMAND)));
        let text = "GenerateCoreDump2.flags: no older command has this field (waiting for the reply)";
        assert!(error.to_string().ends_with(text), "{error}");
    }
}

case! {
    #[test]
    fn call_reply_of_any_length_is_read_whole() {
        // Shorter than the room that a call begins with, equal, longer, and the longest message.
        for units in [10, 450, 460, 470, 1000, 32_000] {
            let (reply, command_line) = long_reply(units);
            let peer = Peer::saying(&[&reply]);
            let answer = wait!(Client::new(&peer).process_info()).unwrap();
            assert_eq!(answer.message(), &reply[..reply.len() - 9], "{units}");
            assert_eq!(answer.payload().unwrap().command_line, command_line.as_str(), "{units}");
        }
    }
}

case! {
    #[test]
    fn peer_closing_after_any_byte_is_ended() {
        let (reply, _) = long_reply(10);
        for len in 0..reply.len() - 9 {
            let peer = Peer::saying(&[&reply[..len]]);
            let call = connection(&peer);
            peer.end(0).shutdown(std::net::Shutdown::Write).unwrap();
            let error = ask!(call, call(&ProcessInfo {})).unwrap_err();
            let ErrorKind::Ended { end: End::Closed, received } = error.kind() else {
                panic!("{error:?}")
            };
            assert_eq!((error.phase(), *received), (Phase::Reply, len as u64));
        }
    }
}

case! {
    /// The request finds no reader, or was not read: the end may be a reset.
    #[test]
    fn peer_closing_before_reading_is_ended() {
        let peer = Peer::saying(&[b"", FAILED]);
        let (gone, answered) = (connection(&peer), connection(&peer));
        peer.connections.lock().unwrap().clear();
        let error = ask!(gone, call(&ProcessInfo {})).unwrap_err();
        assert_error!(error, Reply, ErrorKind::Ended { received: 0, .. });
        // What the peer sent before it closed is received.
        let error = ask!(answered, call(&ProcessInfo {})).unwrap_err();
        assert_eq!(error.hresult(), Some(HResult::FAIL));
    }
}

case! {
    #[test]
    fn environment_is_read_by_entry() {
        let says = b"DOTNET_IPC_V1\0\x1a\0\xff\0\0\0\x18\0\0\0\0\0\x02\0\0\0\x04\0\0\0A\0=\0b\0\0\0\x02\0\0\0=\0\0\0";
        let limits = EnvironmentLimits { max_bytes: 23, ..EnvironmentLimits::DEFAULT };
        for (says, limits, told, found) in [
            (&says[..], EnvironmentLimits::DEFAULT, "Ok(())", &["A=b", "="][..]),
            (
                says,
                limits,
                "Err(\"received more than the limit of 23 (reading what follows the reply)\")",
                &[],
            ),
            (
                &says[..42],
                EnvironmentLimits::DEFAULT,
                "Err(\"the connection was closed after 16 bytes (reading what follows the reply)\")",
                &["A=b"],
            ),
        ] {
            let peer = Peer::saying(&[says]);
            let call = connection(&peer);
            peer.end(0).shutdown(std::net::Shutdown::Write).unwrap();
            let block = ask!(call, environment()).unwrap();
            assert_eq!(block.n_incoming_bytes(), 24, "known before any of it is read");
            let mut entries = Vec::new();
            let block = block.with_limits(limits);
            let read = ask!(block, for_each(|entry| entries.push(entry.text().to_string())));
            let read = read.map_err(|error| error.to_string());
            assert_eq!(format!("{read:?}"), told);
            assert_eq!(entries, found);
        }
    }
}
