//! A client step by step: which report leads where.

use dotnet_diagnostics_ipc::command::{Command, Continuation};
use dotnet_diagnostics_ipc::exchange::{
    AfterReply, ClientAction, ClientExchange, End, MisuseError, Outcome, Server,
};
use dotnet_diagnostics_ipc::hresult::HResult;
use dotnet_diagnostics_ipc::message::Request;
use dotnet_diagnostics_ipc::message::dump::{DumpType, GenerateCoreDump};
use dotnet_diagnostics_ipc::message::eventpipe::{
    CollectTracing2, CollectTracing5, EventLevel, Format, ProviderConfig, UserEventsSession,
};
use dotnet_diagnostics_ipc::message::process::{EnablePerfMap, PerfMapType, ProcessInfo2};
use dotnet_diagnostics_ipc::wire::{Array, IpcString, WireErrorKind};

use super::drive::{ENDS, Peer, hear};

const OK_24: &[u8] = b"DOTNET_IPC_V1\0\x18\0\xff\0\0\0\0\0\0\0";
const OK_20: &[u8] = b"DOTNET_IPC_V1\0\x14\0\xff\0\0\0";
const ERROR: &[u8] = b"DOTNET_IPC_V1\0\x18\0\xff\xff\0\0\x85\x13\x13\x80";

fn client(command: Command, continuation: Continuation) -> ClientExchange {
    ClientExchange::with_payload(command, Some(continuation), &(), &mut [0; 20]).unwrap()
}

/// Returns the outcome for a peer that sends this and closes, and how many bytes were taken.
fn outcome(command: Command, continuation: Continuation, says: &[u8]) -> (Outcome, usize) {
    let peer = Peer::new(says, End::Closed);
    hear(&mut client(command, continuation), &mut [0; 64], &peer, &mut |n| n.min(1))
}

#[test]
fn client_small_buffer_keeps_received_bytes() {
    let reply = [b"DOTNET_IPC_V1\0\x20\0\xff\0\0\0", &[7; 12][..], b"Nettrace"].concat();
    let mut client = client(Command::COLLECT_TRACING, Continuation::Nettrace);
    let (mut small, peer) = ([0; 24], Peer::new(&reply, End::Closed));
    let heard = hear(&mut client, &mut small, &peer, &mut |n| n.min(9));
    assert_eq!(heard, (Outcome::BufferTooSmall { size: 32 }, 20));
    assert_eq!(client.enlarged(&small), Err(MisuseError::BufferTooShort { needed: 32 }));
    let mut large = [0; 32];
    assert_eq!(client.enlarged(&large), Err(MisuseError::NotAsked), "another header");
    large[..24].copy_from_slice(&small);
    client.enlarged(&large).unwrap();
    assert_eq!(client.action(), ClientAction::Receive(20..32));
    large[20..].copy_from_slice(&reply[20..32]);
    client.received(&large, 12).unwrap();
    let then = AfterReply::Stream { session_id: Some(0x0707_0707_0707_0707) };
    assert_eq!(client.action(), ClientAction::Finished(Outcome::Ok { size: 32, then }));
}

/// The input may end before the request is sent: no reply can arrive.
#[test]
fn client_end_while_sending_is_no_reply() {
    for (sent, end) in [0, 19].into_iter().flat_map(|sent| ENDS.map(|end| (sent, end))) {
        let mut client = ClientExchange::new(&ProcessInfo2 {}, &mut [0; 64]).unwrap();
        assert_eq!(client.sent(0), Err(MisuseError::NoBytes));
        if sent > 0 {
            client.sent(sent).unwrap();
        }
        assert_eq!(client.action(), ClientAction::Send(sent..20));
        client.ended(end).unwrap();
        let outcome = Outcome::NoReply { end, request_sent: false };
        assert_eq!(client.action(), ClientAction::Finished(outcome));
    }
}

#[test]
fn client_failed_send_reads_early_error() {
    let asks = |says, fails_at| {
        let mut buffer = [0; 64];
        let mut client = ClientExchange::new(&ProcessInfo2 {}, &mut buffer).unwrap();
        let peer = Peer { bytes: says, end: End::Reset, fails_at };
        hear(&mut client, &mut buffer, &peer, &mut |n| n).0
    };
    assert_eq!(asks(ERROR, 7), Outcome::Error { size: 24, hresult: HResult::UNKNOWN_COMMAND });
    assert_eq!(asks(b"", 0), Outcome::NoReply { end: End::Reset, request_sent: false });
}

/// What released runtimes answer to `ProcessInfo` with a payload (F-71): bytes without a header.
#[test]
fn client_garbage_is_refused_at_first_byte() {
    let malformed = Outcome::Malformed { kind: WireErrorKind::BadMagic, offset: 4 };
    assert_eq!(outcome(Command::PROCESS_INFO, Continuation::Close, b"DOTNOT"), (malformed, 5));
}

/// `reply` has the payload after an OK, and is misuse otherwise.
#[test]
fn client_reply_is_that_of_its_request() {
    let mut buffer = [0; 64];
    let request = EnablePerfMap { perf_map_type: PerfMapType::ALL };
    let mut client = ClientExchange::new(&request, &mut buffer).unwrap();
    assert_eq!(client.reply::<EnablePerfMap>(&buffer), Err(MisuseError::NotAsked));
    hear(&mut client, &mut buffer, &Peer::new(OK_24, End::Closed), &mut |n| n);
    let reply = client.reply::<EnablePerfMap>(&buffer).unwrap().unwrap();
    assert_eq!(reply.hresult, HResult::OK);
    assert_eq!(client.reply::<ProcessInfo2>(&buffer), Err(MisuseError::NotAsked));
    let too_short = MisuseError::BufferTooShort { needed: 24 };
    assert_eq!(client.reply::<EnablePerfMap>(&buffer[..23]), Err(too_short));

    let mut client = ClientExchange::new(&request, &mut buffer).unwrap();
    hear(&mut client, &mut buffer, &Peer::new(OK_20, End::Closed), &mut |n| n);
    assert_eq!(client.reply::<EnablePerfMap>(&buffer), Ok(None));
}

/// Each of these kills a runtime, or is refused (F-16, F-72).
#[test]
fn client_checks_limits_before_it_encodes() {
    fn refused<'a, R: Request<'a>>(request: &R) -> String {
        let mut buffer = [0; 128];
        let error = ClientExchange::new(request, &mut buffer).unwrap_err();
        assert_eq!(buffer, [0; 128], "nothing is written");
        assert!(ClientExchange::new_unchecked(request, &mut buffer).is_ok());
        error.to_string()
    }
    let providers = [ProviderConfig::new("P", 0, EventLevel::ERROR)];
    let session = CollectTracing2 {
        circular_buffer_mb: 0,
        format: Format::NET_TRACE,
        request_rundown: true,
        providers: Array::new(&providers),
    };
    let dump = GenerateCoreDump {
        dump_name: IpcString::ABSENT,
        dump_type: DumpType::NORMAL,
        diagnostics: 0,
    };
    let without_providers = CollectTracing5::UserEvents(UserEventsSession {
        rundown_keyword: 0,
        providers: Array::EMPTY,
    });
    assert_eq!(
        [refused(&session), refused(&dump), refused(&without_providers)],
        [
            "a runtime would refuse the request: CollectTracing2.circularBufferMB at byte 20: the circular buffer must not be 0 MB",
            "a runtime would refuse the request: GenerateCoreDump.dumpName at byte 20: the name or path must not be absent",
            "a runtime would refuse the request: CollectTracing5.providers at byte 32: at least one provider is needed",
        ]
    );
}

#[test]
fn client_generic_ok_has_no_payload() {
    for (command, continuation, then) in [
        (Command::RESUME_RUNTIME, Continuation::Close, AfterReply::Close),
        (Command::GENERATE_CORE_DUMP, Continuation::Close, AfterReply::AnotherReply),
        (Command::COLLECT_TRACING, Continuation::Nettrace, AfterReply::Stream { session_id: None }),
        (
            Command::COLLECT_TRACING5,
            Continuation::UserEvents,
            AfterReply::UserEvents { session_id: None },
        ),
        (Command::PROCESS_ENVIRONMENT, Continuation::EnvironmentBlock, AfterReply::Unknown),
    ] {
        let expected = (Outcome::Ok { size: 20, then }, 20);
        assert_eq!(outcome(command, continuation, OK_20), expected);
    }
}

#[test]
fn exchange_idle_size_is_bounded() {
    assert!(size_of::<ClientExchange>() <= 64, "{}", size_of::<ClientExchange>());
    assert!(size_of::<Server>() <= 64, "{}", size_of::<Server>());
}
