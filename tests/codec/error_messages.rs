//! What errors and outcomes say to a person: each names what is wrong, and the numbers that it is about.

use dotnet_diagnostics_ipc::command::Command;
use dotnet_diagnostics_ipc::endpoint::check_path_len;
use dotnet_diagnostics_ipc::exchange::diagnostic_port::{DiagnosticPort, SameCookie, Slot, SlotsError};
use dotnet_diagnostics_ipc::exchange::ladder::Losses;
use dotnet_diagnostics_ipc::exchange::{End, Illegal, RefusalReason, RespondError};
use dotnet_diagnostics_ipc::header::Header;
use dotnet_diagnostics_ipc::hresult::HResult;
use dotnet_diagnostics_ipc::legacy::draft_set_name;
use dotnet_diagnostics_ipc::message::eventpipe::TracepointConfig;
use dotnet_diagnostics_ipc::port::{PortConfig, SuspensionError, WritePorts};
use dotnet_diagnostics_ipc::wire::{Array, Decode as _, DecodeErrorKind, EncodeError, Guid, IpcString, Layer, LimitKind, Reader};

#[track_caller]
#[allow(clippy::needless_pass_by_value, reason = "most are made where they are asked")]
fn says(what: impl ToString, words: &str) {
    assert_eq!(what.to_string(), words);
}

#[test]
fn what_does_not_encode() {
    says(EncodeError::BufferTooSmall { needed: 28 }, "the buffer is smaller than the 28 bytes of the message");
    says(EncodeError::MessageTooLarge { len: 65_536 }, "the message takes 65536 bytes, its size field can say 65535");
    says(EncodeError::CountTooLarge { count: 4_294_967_296 }, "4294967296 items are more than a 32-bit count can say");
    says(EncodeError::PartTooLong { len: 437, max: 436 }, "437 bytes are more than the 436 that there is room for");
    says(EncodeError::EventIdTooLarge { id: 65_536 }, "event id 65536 does not fit 16 bits");
    says(EncodeError::EmptyName, "a name that may not be empty");
    says(EncodeError::ForbiddenUnit { unit: 0x20 }, "unit 0x0020 cannot stand in this name");
    says(EncodeError::NotUnknown { code: 3 }, "0x03 is known, and has a form of its own");
    says(EncodeError::UnknownLabelNotLast { label: 9 }, "something follows label 0x09, which is not known");
}

#[test]
fn what_a_server_does_not_take() {
    says(LimitKind::ZeroBuffer, "a circular buffer of 0 MB");
    says(LimitKind::UnknownFormat(2), "format 2 is neither 0 (NetPerf) nor 1 (NetTrace)");
    says(LimitKind::LogLevelOutOfRange(6), "level 6 is above 5 (Verbose)");
    says(LimitKind::NoProviders, "no provider");
    says(LimitKind::TooManyProviders(1001), "1001 providers are more than 1000");
    says(LimitKind::EmptyProviderName, "a provider without a name");
    says(LimitKind::NoTracepoint, "neither a default tracepoint nor a set");
    says(LimitKind::EmptyTracepointName, "a tracepoint without a name");
    says(LimitKind::TracepointNameTooLong(437), "a name of 437 bytes; a tracepoint's may have 436");
    says(LimitKind::DuplicateEventId(7), "event id 7 stands twice in the provider's sets");
    says(LimitKind::UnknownBufferMode(2), "buffer mode 2 is neither 0 (drop) nor 1 (block)");
    says(LimitKind::UnknownPerfMapType(4), "perf map type 4 is not 1 (all), 2 (jitdump) or 3 (perfmap)");
    says(LimitKind::UnknownDumpType(5), "dump type 5 is not one of 1 to 4");
    says(LimitKind::AbsentName, "a name or path that may not be absent");
}

/// The path is for people and for tools: it is printed, and may be empty.
#[test]
fn where_a_fault_stands() {
    let bare = u32::decode(&mut Reader::new(b"\x01")).unwrap_err();
    assert!(bare.path().is_empty());
    says(bare.path(), "");
    let indexed = Array::<IpcString<'_>>::decode(&mut Reader::new(b"\x01\0\0\0\x01\0\0\0a\0")).unwrap_err();
    assert!(!indexed.path().is_empty());
    assert_eq!(format!("{:?}", indexed.path()), "Path([0])");
    let rooted = Header::decode(b"D").unwrap_err();
    assert!(!rooted.path().is_empty());
    assert_eq!(format!("{:?}", rooted.path()), "Path(header)");
    let in_field = TracepointConfig::decode(&mut Reader::new(b"\x01\0\0\0a\0")).unwrap_err();
    assert!(!in_field.path().is_empty());
    says(in_field.path(), "default_tracepoint_name");
}

#[test]
fn what_a_caller_acknowledges_wrongly() {
    says(Illegal::NotAsked, "the exchange did not ask for this");
    says(Illegal::TooMany { asked: 20, said: 21 }, "21 bytes were acknowledged, 20 were asked for");
    says(Illegal::NoBytes, "no byte was received: acknowledge the end of the input instead");
    says(Illegal::BufferTooShort { needed: 32 }, "the buffer must have 32 bytes");

    let illegal = RespondError::from(Illegal::NotAsked);
    let too_small = RespondError::from(EncodeError::BufferTooSmall { needed: 24 });
    says(illegal, "the exchange did not ask for this");
    says(too_small, "the buffer is smaller than the 24 bytes of the message");
    for error in [illegal, too_small] {
        assert_eq!(std::error::Error::source(&error).unwrap().to_string(), error.to_string());
    }
}

#[test]
fn how_a_connection_ends() {
    for (end, name, words) in [
        (End::Closed, "closed", "the connection was closed"),
        (End::Reset, "reset", "the connection was reset"),
        (End::TimedOut, "timed_out", "the time was over"),
    ] {
        assert_eq!(end.name(), name);
        says(end, words);
    }
}

#[test]
fn why_a_server_refuses() {
    let malformed = RefusalReason::Malformed { kind: DecodeErrorKind::SizeTooSmall { size: 19 }, offset: 14 };
    let over = RefusalReason::OverLimit { kind: LimitKind::NoProviders, offset: 29 };
    for (reason, words, hresult) in [
        (RefusalReason::EndOfInput { received: 19 }, "the connection ended after 19 bytes of the request", HResult::BAD_ENCODING),
        (malformed, "at byte 14: size 19 is less than the 20 bytes of the header", HResult::BAD_ENCODING),
        (
            RefusalReason::UnknownCommand { command: Command { set: 2, id: 0x63 } },
            "the command EventPipe/0x63 is not known",
            HResult::UNKNOWN_COMMAND,
        ),
        (over, "at byte 29: no provider", HResult::BAD_ENCODING),
        (RefusalReason::TooManyProviders { limit: 3, found: 4 }, "4 providers are more than 3", HResult::BAD_ENCODING),
        (RefusalReason::NoDescriptor, "no file descriptor came", HResult::BAD_ENCODING),
    ] {
        says(reason, words);
        assert_eq!(reason.hresult(), hresult, "{words}");
    }
}

#[test]
fn what_a_port_has_no_room_for() {
    says(SlotsError::InUse { index: 7 }, "slot 7 still has a connection of an earlier port");
    says(SlotsError::TooMany, "more than 4294967295 slots");
    says(SuspensionError::TooManyPorts { capacity: 2 }, "more than 2 ports");
    says(SuspensionError::NoSuchPort, "no such port");

    let error = WritePorts::new(&[PortConfig::new("/a"), PortConfig::new("/b;c")]).unwrap_err();
    assert_eq!(error.index(), 1);
    says(error, "port 1: no text gives a port of this address and type");
    assert!(DiagnosticPort::<[Slot<()>; 0]>::new([], SameCookie::Replace).is_ok());
    assert!(check_path_len(108, 107).is_err() && check_path_len(107, 107).is_ok());
}

#[test]
fn names_of_the_protocol() {
    for (layer, name) in [
        (Layer::Transport, "transport"),
        (Layer::Header, "header"),
        (Layer::Payload, "payload"),
        (Layer::Limits, "limits"),
        (Layer::Reply, "reply"),
    ] {
        says(layer, name);
    }
    let names = [0x00, 0x01, 0x02, 0x03, 0x04, 0xff].map(draft_set_name);
    assert_eq!(names, [None, Some("Miscellaneous"), Some("EventPipe"), None, None, Some("Server")]);
    says(Losses::NONE, "nothing");
    for (command, shown, debugged) in [
        (Command::COLLECT_TRACING2, "EventPipe/CollectTracing2", "Command(0x0203 EventPipe/CollectTracing2)"),
        (Command { set: 2, id: 0x63 }, "EventPipe/0x63", "Command(0x0263 EventPipe/0x63)"),
        (Command { set: 0x63, id: 1 }, "0x63/0x01", "Command(0x6301 0x63/0x01)"),
    ] {
        says(command, shown);
        assert_eq!(format!("{command:?}"), debugged);
    }
    for (code, shown, debugged) in [
        (HResult::BAD_ENCODING, "0x80131384 DS_IPC_E_BAD_ENCODING", "HResult(0x80131384 DS_IPC_E_BAD_ENCODING)"),
        (HResult(0x8007_0002), "0x80070002", "HResult(0x80070002)"),
    ] {
        says(code, shown);
        assert_eq!(format!("{code:?}"), debugged);
    }
    says("Collect".parse::<Command>().unwrap_err(), "no command: write it as EventPipe/CollectTracing2, CollectTracing2 or 0x0203");

    let error = "01234567-89ab-cdef-0123-456789abcdeg".parse::<Guid>().unwrap_err();
    assert_eq!(error.offset(), 35);
    says(error, "no GUID (xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx) from byte 35 on");
}
