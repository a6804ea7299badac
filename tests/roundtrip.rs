//! What is encoded decodes to the same, of every message, and no bytes whatever make decoding panic.

use std::sync::Mutex;

use dotnet_diagnostics_ipc::advertise::Advertise;
use dotnet_diagnostics_ipc::command::{Command, ReplyType};
use dotnet_diagnostics_ipc::header::{HEADER_LEN, Header};
use dotnet_diagnostics_ipc::hresult::HResult;
use dotnet_diagnostics_ipc::message::dump::{DumpFlags, DumpType, GenerateCoreDump, GenerateCoreDump2, GenerateCoreDump3};
use dotnet_diagnostics_ipc::message::eventpipe::{
    CollectTracing, CollectTracing2, CollectTracing3, CollectTracing4, CollectTracing5, CollectTracing6, EventFilter, EventLevel,
    Format, ProviderConfig, SessionBufferMode, SessionReply, StopTracing, StreamingProviderConfig, StreamingSession,
    StreamingSession6, TracepointConfig, TracepointSet, UserEventsProviderConfig, UserEventsSession,
};
use dotnet_diagnostics_ipc::message::process::{
    ApplyStartupHook, DisablePerfMap, EnablePerfMap, PerfMapType, ProcessEnvironment, ProcessEnvironmentReply, ProcessInfo,
    ProcessInfo2, ProcessInfo2Reply, ProcessInfo3, ProcessInfo3Reply, ProcessInfoReply, ResumeRuntime, SetEnvironmentVariable,
    Tail,
};
use dotnet_diagnostics_ipc::message::profiler::{AttachProfiler, StartupProfiler};
use dotnet_diagnostics_ipc::message::server::{ErrorReply, ResultReply};
use dotnet_diagnostics_ipc::message::{AnyReply, AnyRequest, Message, Reply, Request as _, encode};
use dotnet_diagnostics_ipc::wire::{Array, Decode, DecodeError, Encode, EncodeError, Guid, IpcString, Reader, SliceSink};
use proptest::collection::vec;
use proptest::prelude::*;

/// Lets messages borrow for as long as the tests run. The addresses are kept so that a leak checker can find the slices.
fn keep<T: 'static>(items: Vec<T>) -> &'static [T] {
    static KEPT: Mutex<Vec<usize>> = Mutex::new(Vec::new());
    let items = Vec::leak(items);
    KEPT.lock().unwrap().push(items.as_ptr() as usize);
    items
}

fn units() -> impl Strategy<Value = Vec<u16>> {
    vec(prop_oneof![Just(0), 0x20..0x7f_u16, 0xd800..=0xdfff_u16, any::<u16>()], 0..10)
}

/// Absent, empty, text, and units that are no text.
fn string() -> impl Strategy<Value = IpcString<'static>> {
    prop_oneof![
        Just(IpcString::ABSENT),
        Just(IpcString::new("")),
        Just(IpcString::from_units(&[])),
        "\\PC{1,12}".prop_map(|text| IpcString::new(std::str::from_utf8(keep(text.into_bytes())).unwrap())),
        units().prop_map(|units| IpcString::from_units(keep(units))),
    ]
}

fn array<S: Strategy<Value: Decode<'static> + Copy + 'static>>(item: S) -> impl Strategy<Value = Array<'static, S::Value>> {
    vec(item, 0..4).prop_map(|items| Array::new(keep(items)))
}

fn bytes() -> impl Strategy<Value = &'static [u8]> {
    vec(any::<u8>(), 0..40).prop_map(keep)
}

fn number() -> impl Strategy<Value = u32> {
    prop_oneof![0..7_u32, any::<u32>()]
}

fn guid() -> impl Strategy<Value = Guid> {
    any::<[u8; 16]>().prop_map(Guid::from_bytes)
}

fn filter() -> impl Strategy<Value = EventFilter<'static>> {
    (any::<bool>(), array(number())).prop_map(|(enable, event_ids)| EventFilter { enable, event_ids })
}

fn provider() -> impl Strategy<Value = ProviderConfig<'static>> {
    (any::<u64>(), number().prop_map(EventLevel), string(), string()).prop_map(|(keywords, log_level, provider_name, arguments)| {
        ProviderConfig { keywords, log_level, provider_name, arguments }
    })
}

fn streaming_provider() -> impl Strategy<Value = StreamingProviderConfig<'static>> {
    (provider(), filter()).prop_map(|(ProviderConfig { keywords, log_level, provider_name, arguments }, filter)| {
        StreamingProviderConfig { keywords, log_level, provider_name, arguments, filter }
    })
}

fn tracepoint_config() -> impl Strategy<Value = TracepointConfig<'static>> {
    let set = (string(), array(number())).prop_map(|(tracepoint_name, event_ids)| TracepointSet { tracepoint_name, event_ids });
    (string(), array(set))
        .prop_map(|(default_tracepoint_name, tracepoints)| TracepointConfig { default_tracepoint_name, tracepoints })
}

fn user_events_provider() -> impl Strategy<Value = UserEventsProviderConfig<'static>> {
    (streaming_provider(), tracepoint_config()).prop_map(
        |(StreamingProviderConfig { keywords, log_level, provider_name, arguments, filter }, config)| UserEventsProviderConfig {
            keywords,
            log_level,
            provider_name,
            arguments,
            filter,
            config,
        },
    )
}

fn session5() -> impl Strategy<Value = StreamingSession<'static>> {
    (number(), number().prop_map(Format), any::<u64>(), any::<bool>(), array(streaming_provider())).prop_map(
        |(circular_buffer_mb, format, rundown_keyword, request_stackwalk, providers)| StreamingSession {
            circular_buffer_mb,
            format,
            rundown_keyword,
            request_stackwalk,
            providers,
        },
    )
}

fn user_events() -> impl Strategy<Value = UserEventsSession<'static>> {
    (any::<u64>(), array(user_events_provider()))
        .prop_map(|(rundown_keyword, providers)| UserEventsSession { rundown_keyword, providers })
}

fn session_request() -> impl Strategy<Value = AnyRequest<'static>> {
    let fields = (number(), number().prop_map(Format), any::<bool>(), any::<bool>(), any::<u64>(), array(provider()));
    let plain = (0..4, fields).prop_map(
        |(which, (circular_buffer_mb, format, request_rundown, request_stackwalk, rundown_keyword, providers))| match which {
            0 => AnyRequest::CollectTracing(CollectTracing { circular_buffer_mb, format, providers }),
            1 => AnyRequest::CollectTracing2(CollectTracing2 { circular_buffer_mb, format, request_rundown, providers }),
            2 => AnyRequest::CollectTracing3(CollectTracing3 {
                circular_buffer_mb,
                format,
                request_rundown,
                request_stackwalk,
                providers,
            }),
            _ => AnyRequest::CollectTracing4(CollectTracing4 {
                circular_buffer_mb,
                format,
                rundown_keyword,
                request_stackwalk,
                providers,
            }),
        },
    );
    let streaming6 = (session5(), number().prop_map(SessionBufferMode)).prop_map(|(session, session_buffer_mode)| {
        let StreamingSession { circular_buffer_mb, format, rundown_keyword, request_stackwalk, providers } = session;
        StreamingSession6 { circular_buffer_mb, format, rundown_keyword, request_stackwalk, providers, session_buffer_mode }
    });
    prop_oneof![
        4 => plain,
        1 => session5().prop_map(|session| AnyRequest::CollectTracing5(CollectTracing5::Streaming(session))),
        1 => user_events().prop_map(|session| AnyRequest::CollectTracing5(CollectTracing5::UserEvents(session))),
        1 => streaming6.prop_map(|session| AnyRequest::CollectTracing6(CollectTracing6::Streaming(session))),
        1 => user_events().prop_map(|session| AnyRequest::CollectTracing6(CollectTracing6::UserEvents(session))),
    ]
}

fn other_request() -> impl Strategy<Value = AnyRequest<'static>> {
    let dump =
        (0..3, string(), number().prop_map(DumpType), number()).prop_map(|(which, dump_name, dump_type, last)| match which {
            0 => AnyRequest::GenerateCoreDump(GenerateCoreDump { dump_name, dump_type, diagnostics: last }),
            1 => AnyRequest::GenerateCoreDump2(GenerateCoreDump2 { dump_name, dump_type, flags: DumpFlags(last) }),
            _ => AnyRequest::GenerateCoreDump3(GenerateCoreDump3 { dump_name, dump_type, flags: DumpFlags(last) }),
        });
    let profiler = (any::<bool>(), number(), guid(), string(), bytes()).prop_map(
        |(attach, attach_timeout, profiler_guid, profiler_path, client_data)| {
            if attach {
                AnyRequest::AttachProfiler(AttachProfiler { attach_timeout, profiler_guid, profiler_path, client_data })
            } else {
                AnyRequest::StartupProfiler(StartupProfiler { profiler_guid, profiler_path })
            }
        },
    );
    let without_payload = proptest::sample::select(vec![
        AnyRequest::ProcessInfo(ProcessInfo {}),
        AnyRequest::ResumeRuntime(ResumeRuntime {}),
        AnyRequest::ProcessEnvironment(ProcessEnvironment {}),
        AnyRequest::ProcessInfo2(ProcessInfo2 {}),
        AnyRequest::DisablePerfMap(DisablePerfMap {}),
        AnyRequest::ProcessInfo3(ProcessInfo3 {}),
    ]);
    let unknown = any::<u16>().prop_map(Command::from_code).prop_filter("known", |command| command.reply_type().is_none());
    prop_oneof![
        3 => dump,
        1 => any::<u64>().prop_map(|session_id| AnyRequest::StopTracing(StopTracing { session_id })),
        2 => profiler,
        3 => without_payload,
        1 => (string(), string())
            .prop_map(|(name, value)| AnyRequest::SetEnvironmentVariable(SetEnvironmentVariable { name, value })),
        1 => number().prop_map(|n| AnyRequest::EnablePerfMap(EnablePerfMap { perf_map_type: PerfMapType(n) })),
        1 => string().prop_map(|startup_hook_path| AnyRequest::ApplyStartupHook(ApplyStartupHook { startup_hook_path })),
        1 => (unknown, bytes()).prop_map(|(command, payload)| AnyRequest::Unknown { command, payload }),
    ]
}

fn requests() -> impl Strategy<Value = AnyRequest<'static>> {
    prop_oneof![session_request(), other_request()]
}

fn process_info() -> impl Strategy<Value = (ReplyType, AnyReply<'static>)> {
    let texts = (string(), string(), string(), string(), string(), string());
    (0..3, number(), any::<u64>(), guid(), texts, bytes()).prop_map(|(which, version, process_id, runtime_cookie, texts, tail)| {
        let (command_line, os, arch, managed_entrypoint_assembly_name, clr_product_version, runtime_identifier) = texts;
        match which {
            0 => {
                let reply = ProcessInfoReply { process_id, runtime_cookie, command_line, os, arch };
                (ReplyType::ProcessInfo, AnyReply::ProcessInfo(reply))
            }
            1 => {
                let reply = ProcessInfo2Reply {
                    process_id,
                    runtime_cookie,
                    command_line,
                    os,
                    arch,
                    managed_entrypoint_assembly_name,
                    clr_product_version,
                };
                (ReplyType::ProcessInfo2, AnyReply::ProcessInfo2(reply))
            }
            _ => {
                let reply = ProcessInfo3Reply {
                    version,
                    process_id,
                    runtime_cookie,
                    command_line,
                    os,
                    arch,
                    managed_entrypoint_assembly_name,
                    clr_product_version,
                    runtime_identifier,
                    tail: Tail(tail),
                };
                (ReplyType::ProcessInfo3, AnyReply::ProcessInfo3(reply))
            }
        }
    })
}

/// Any command that a server may be asked for, and an unknown one.
fn asked() -> impl Strategy<Value = Option<Command>> {
    let mut commands: Vec<_> = Command::known().map(Some).collect();
    commands.extend([None, Some(Command::from_code(0x6301))]);
    proptest::sample::select(commands)
}

/// A reply, and what it answers.
fn replies() -> impl Strategy<Value = (Option<Command>, AnyReply<'static>)> {
    let result = number().prop_map(|code| (ReplyType::Result, AnyReply::Result(ResultReply { hresult: HResult(code) })));
    let session = any::<u64>().prop_map(|session_id| (ReplyType::Session, AnyReply::Session(SessionReply { session_id })));
    let environment = (number(), any::<u16>()).prop_map(|(n_incoming_bytes, future)| {
        (ReplyType::ProcessEnvironment, AnyReply::ProcessEnvironment(ProcessEnvironmentReply { n_incoming_bytes, future }))
    });
    let ok = (prop_oneof![result, session, environment, process_info()], any::<prop::sample::Index>()).prop_map(
        |((reply_type, reply), which)| {
            let commands: Vec<_> = Command::known().filter(|command| command.reply_type() == Some(reply_type)).collect();
            (Some(*which.get(&commands)), reply)
        },
    );
    let error = (asked(), any::<u32>().prop_map(HResult), string()).prop_map(|(command, hresult, text)| {
        let message = Some(text).filter(|_| ErrorReply::has_message(command));
        (command, AnyReply::Error(ErrorReply { hresult, message }))
    });
    // The one command whose errors carry text, which is met too rarely among all.
    let dump3 = (any::<u32>().prop_map(HResult), proptest::option::of(string()))
        .prop_map(|(hresult, message)| (Some(Command::GENERATE_CORE_DUMP3), AnyReply::Error(ErrorReply { hresult, message })));
    let unknown = bytes().prop_filter("the generic OK", |payload| !payload.is_empty());
    prop_oneof![
        8 => ok,
        1 => error,
        1 => dump3,
        1 => asked().prop_map(|command| (command, AnyReply::OkWithoutPayload)),
        1 => unknown.prop_map(|payload| (Some(Command::from_code(0x6301)), AnyReply::Unknown { payload })),
    ]
}

/// Encodes a message into buffers of every kind of size, and gives its bytes.
fn encoded<T: Encode>(command: Command, payload: &T) -> Result<Vec<u8>, TestCaseError> {
    let len = HEADER_LEN + payload.encoded_len().unwrap();
    let mut roomy = vec![0xaa; len + 3];
    prop_assert_eq!(encode(command, payload, &mut roomy), Ok(len));
    prop_assert_eq!(&roomy[len..], [0xaa; 3], "written behind the message");
    let mut exact = vec![0x55; len];
    prop_assert_eq!(encode(command, payload, &mut exact), Ok(len));
    prop_assert_eq!(&exact, &roomy[..len], "the buffer's old bytes show through");
    for short in [len - 1, HEADER_LEN - 1, 0] {
        prop_assert_eq!(encode(command, payload, &mut exact[..short].to_vec()), Err(EncodeError::BufferTooSmall { needed: len }));
    }
    let mut sink_buffer = vec![0; len - HEADER_LEN];
    let mut sink = SliceSink::new(&mut sink_buffer);
    payload.encode(&mut sink).unwrap();
    prop_assert_eq!(sink.finish(), Ok(len - HEADER_LEN));
    prop_assert_eq!(&sink_buffer, &roomy[HEADER_LEN..len]);
    roomy.truncate(len);
    Ok(roomy)
}

/// The message as the reply to `command`, read with the type of that command's request.
fn reply_by_type<'a>(message: &Message<'a>, command: Command) -> Option<Result<AnyReply<'a>, DecodeError>> {
    macro_rules! by_type {
        ($($Request:ident: $Variant:ident,)*) => {
            match command {
                $($Request::COMMAND => Some(message.reply_as::<$Request>().map(|reply| match reply {
                    Reply::Ok(reply) => AnyReply::$Variant(reply),
                    Reply::OkWithoutPayload => AnyReply::OkWithoutPayload,
                    Reply::Error(error) => AnyReply::Error(error),
                })),)*
                _ => None,
            }
        };
    }
    by_type! {
        GenerateCoreDump: Result,
        GenerateCoreDump2: Result,
        GenerateCoreDump3: Result,
        StopTracing: Session,
        CollectTracing: Session,
        CollectTracing2: Session,
        CollectTracing3: Session,
        CollectTracing4: Session,
        CollectTracing5: Session,
        CollectTracing6: Session,
        AttachProfiler: Result,
        StartupProfiler: Result,
        ProcessInfo: ProcessInfo,
        ResumeRuntime: Result,
        ProcessEnvironment: ProcessEnvironment,
        SetEnvironmentVariable: Result,
        ProcessInfo2: ProcessInfo2,
        EnablePerfMap: Result,
        DisablePerfMap: Result,
        ApplyStartupHook: Result,
        ProcessInfo3: ProcessInfo3,
    }
}

/// The request, read and written with its own type.
fn check_by_type(request: AnyRequest<'_>, bytes: &[u8], message: &Message<'_>) -> Result<(), TestCaseError> {
    macro_rules! by_type {
        ($($Request:ident)*) => {
            match request {
                $(AnyRequest::$Request(request) => {
                    prop_assert_eq!(message.request_as(), Ok(request));
                    let mut buffer = vec![0; bytes.len()];
                    prop_assert_eq!(request.encode_message(&mut buffer), Ok(bytes.len()));
                    prop_assert_eq!(&buffer, bytes);
                })*
                AnyRequest::Unknown { payload, .. } => prop_assert_eq!(payload, message.payload),
                other => panic!("{other:?} is new: add it here and to the strategies"),
            }
        };
    }
    by_type! {
        GenerateCoreDump GenerateCoreDump2 GenerateCoreDump3 StopTracing CollectTracing CollectTracing2 CollectTracing3 CollectTracing4
        CollectTracing5 CollectTracing6 AttachProfiler StartupProfiler ProcessInfo ResumeRuntime ProcessEnvironment SetEnvironmentVariable
        ProcessInfo2 EnablePerfMap DisablePerfMap ApplyStartupHook ProcessInfo3
    }
    Ok(())
}

/// Bytes that look enough like a payload to be read to some depth: small numbers, text, and anything.
fn payload() -> impl Strategy<Value = Vec<u8>> {
    let part = prop_oneof![
        4 => (0..4_u32).prop_map(|n| n.to_le_bytes().to_vec()),
        2 => Just(b"\x02\0\0\0a\0\0\0".to_vec()),
        1 => Just(b"\0\0\0\0".to_vec()),
        1 => Just(vec![1]),
        1 => number().prop_map(|n| n.to_le_bytes().to_vec()),
        1 => vec(any::<u8>(), 0..24),
    ];
    prop_oneof![vec(part, 0..24).prop_map(|parts| parts.concat()), vec(any::<u8>(), 0..64)]
}

fn any_command() -> impl Strategy<Value = Command> {
    let known = proptest::sample::select(Command::known().collect::<Vec<_>>());
    prop_oneof![6 => known, 2 => Just(Command::OK), 2 => Just(Command::ERROR), 1 => any::<u16>().prop_map(Command::from_code)]
}

/// Reads `bytes` in every way there is; what can be read must survive being written.
fn read_every_way(bytes: &[u8]) -> Result<(), TestCaseError> {
    fn refused(error: &DecodeError, len: usize) -> Result<(), TestCaseError> {
        prop_assert!(error.offset() <= len && !error.to_string().is_empty(), "{error} in {len} bytes");
        Ok(())
    }
    match Advertise::decode(bytes) {
        Ok(advertise) => prop_assert_eq!(&advertise.to_bytes()[..], bytes),
        Err(error) => refused(&error, bytes.len())?,
    }
    let (message, rest) = match Message::decode(bytes) {
        Ok(message) => message,
        Err(error) => return refused(&error, bytes.len()),
    };
    let len = bytes.len() - rest.len();
    let bytes = &bytes[..len];
    let mut buffer = vec![0; 0x10000];
    let request = message.request();
    let _ = format!("{message:?} {request:?}");
    match request {
        Ok(request) => {
            if let Err(error) = request.check_limits() {
                prop_assert!(error.offset() < len && !error.to_string().is_empty(), "{}", error);
            }
            let written = encode(request.command(), &request, &mut buffer).unwrap();
            prop_assert_eq!(message.is_canonical(&request), buffer[..written] == *bytes);
            prop_assert_eq!(Message::decode_exact(&buffer[..written]).and_then(|message| message.request()), Ok(request));
        }
        Err(error) => refused(&error, len)?,
    }
    for command in Command::known().map(Some).chain([None]) {
        let reply = message.reply_to(command);
        let _ = format!("{reply:?}");
        if let Some(by_type) = command.and_then(|command| reply_by_type(&message, command)) {
            prop_assert_eq!(by_type, reply);
        }
        match reply {
            Ok(reply) => {
                let written = encode(reply.command(), &reply, &mut buffer).unwrap();
                prop_assert_eq!(message.is_canonical(&reply), buffer[..written] == *bytes);
                prop_assert_eq!(Message::decode_exact(&buffer[..written]).and_then(|message| message.reply_to(command)), Ok(reply));
            }
            Err(error) => refused(&error, len)?,
        }
    }
    Ok(())
}

/// Reads a piece from `bytes`; if it is one, it must survive being written.
fn piece<'a, T: Decode<'a> + Encode + PartialEq + std::fmt::Debug>(
    bytes: &'a [u8],
    again: &'a mut [u8],
) -> Result<(), TestCaseError> {
    let mut reader = Reader::new(bytes);
    let Ok(value) = T::decode(&mut reader) else { return Ok(()) };
    let mut sink = SliceSink::new(again);
    value.encode(&mut sink).unwrap();
    let len = sink.finish().unwrap();
    prop_assert_eq!(value.encoded_len(), Ok(len));
    prop_assert_eq!(len, reader.offset());
    prop_assert!(len >= T::MIN_LEN);
    prop_assert_eq!(T::decode(&mut Reader::new(&again[..len])), Ok(value));
    Ok(())
}

proptest! {
    // The failing case is printed whole; files of seeds in the tree would only be left behind.
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_request_survives_the_wire(request in requests()) {
        let bytes = encoded(request.command(), &request)?;
        let message = Message::decode_exact(&bytes).unwrap();
        prop_assert_eq!(message.request(), Ok(request));
        prop_assert!(message.is_canonical(&request));
        check_by_type(request, &bytes, &message)?;
        #[cfg(feature = "alloc")]
        prop_assert_eq!(dotnet_diagnostics_ipc::message::encode_to_vec(request.command(), &request), Ok(bytes));
    }

    #[test]
    fn every_reply_survives_the_wire((command, reply) in replies()) {
        let bytes = encoded(reply.command(), &reply)?;
        let message = Message::decode_exact(&bytes).unwrap();
        prop_assert_eq!(message.reply_to(command), Ok(reply));
        prop_assert!(message.is_canonical(&reply));
        if let Some(by_type) = command.and_then(|command| reply_by_type(&message, command)) {
            prop_assert_eq!(by_type, Ok(reply));
        }
    }

    #[test]
    fn every_advertise_survives_the_wire(cookie in guid(), process_id: u64, future: u16) {
        let advertise = Advertise { runtime_cookie: cookie, process_id, future };
        prop_assert_eq!(Advertise::decode(&advertise.to_bytes()), Ok(advertise));
    }

    #[test]
    fn a_header_survives_the_wire_with_what_follows_it(size in 20..=u16::MAX, code: u16, reserved: u16, rest in vec(any::<u8>(), 0..4)) {
        let header = Header { size, command: Command::from_code(code), reserved };
        let bytes = [&header.to_bytes()[..], &rest].concat();
        prop_assert_eq!(Header::decode(&bytes), Ok(header));
        prop_assert_eq!(header.payload_len(), usize::from(size) - 20);
    }

    #[test]
    fn bytes_after_a_message_are_handed_back(request in requests(), rest in vec(any::<u8>(), 1..30)) {
        let mut bytes = encoded(request.command(), &request)?;
        let len = bytes.len();
        bytes.extend(&rest);
        let (message, behind) = Message::decode(&bytes).unwrap();
        prop_assert_eq!((message.payload, behind), (&bytes[20..len], &rest[..]));
        prop_assert_eq!(Message::decode_exact(&bytes).map_err(|error| error.offset()), Err(len));
    }

    #[test]
    fn a_string_is_the_same_as_text_as_units_and_from_the_wire(text in "\\PC{0,12}", tail in units()) {
        let units: Vec<u16> = text.encode_utf16().collect();
        let mut wire = u32::try_from(units.len() + 1).unwrap().to_le_bytes().to_vec();
        wire.extend(units.iter().chain(&[0]).flat_map(|unit| unit.to_le_bytes()));
        let forms = [IpcString::new(&text), IpcString::from_units(&units), IpcString::decode(&mut Reader::new(&wire)).unwrap()];
        let longer: Vec<u16> = units.iter().chain(&tail).copied().collect();
        for form in forms {
            prop_assert!(forms.iter().all(|other| *other == form));
            prop_assert_eq!(form.units().collect::<Vec<_>>(), &units[..]);
            prop_assert_eq!((form.to_string(), form == text.as_str(), form.is_unicode()), (text.clone(), true, true));
            prop_assert_eq!((form.is_empty(), form.is_absent()), (text.is_empty(), false));
            prop_assert_eq!(form == IpcString::from_units(&longer), tail.is_empty());
            let mut again = vec![0; wire.len()];
            let mut sink = SliceSink::new(&mut again);
            form.encode(&mut sink).unwrap();
            prop_assert_eq!(sink.finish(), Ok(wire.len()));
            prop_assert_eq!(&again, &wire);
        }
    }

    #[test]
    fn an_array_is_the_same_from_a_slice_and_from_the_wire(items in vec(string(), 0..6), more in string()) {
        let array = Array::new(&items);
        let mut wire = vec![0; array.encoded_len().unwrap()];
        array.encode(&mut SliceSink::new(&mut wire)).unwrap();
        let read = Array::<IpcString<'_>>::decode(&mut Reader::new(&wire)).unwrap();
        prop_assert_eq!(read, array);
        prop_assert_eq!((read.len(), read.iter().len(), read.is_empty()), (items.len(), items.len(), items.is_empty()));
        prop_assert_eq!(read.iter().collect::<Vec<_>>(), &items[..]);
        let mut other = items.clone();
        other.push(more);
        prop_assert_ne!(read, Array::new(&other));
    }

    #[test]
    fn no_bytes_make_reading_panic(bytes in vec(any::<u8>(), 0..80)) {
        read_every_way(&bytes)?;
        // And with the beginnings without which nothing more is looked at.
        read_every_way(&[b"DOTNET_IPC_V1\0", &bytes[..]].concat())?;
        read_every_way(&[b"ADVR_V1\0", &bytes[..]].concat())?;
    }

    #[test]
    fn no_payload_makes_reading_panic(command in any_command(), reserved in prop_oneof![Just(0_u16), any::<u16>()], payload in payload()) {
        let size = u16::try_from(20 + payload.len()).unwrap().to_le_bytes();
        let bytes = [b"DOTNET_IPC_V1\0", &size[..], &[command.set, command.id], &reserved.to_le_bytes(), &payload].concat();
        prop_assert!(Message::decode_exact(&bytes).is_ok());
        read_every_way(&bytes)?;
    }

    #[test]
    fn no_bytes_make_reading_a_piece_panic(bytes in payload()) {
        let mut again = vec![0; bytes.len() + 8];
        piece::<u8>(&bytes, &mut again)?;
        piece::<u16>(&bytes, &mut again)?;
        piece::<i32>(&bytes, &mut again)?;
        piece::<u64>(&bytes, &mut again)?;
        piece::<HResult>(&bytes, &mut again)?;
        piece::<bool>(&bytes, &mut again)?;
        piece::<Guid>(&bytes, &mut again)?;
        piece::<IpcString<'_>>(&bytes, &mut again)?;
        piece::<&[u8]>(&bytes, &mut again)?;
        piece::<Array<'_, u16>>(&bytes, &mut again)?;
        piece::<Array<'_, Array<'_, u32>>>(&bytes, &mut again)?;
        piece::<Array<'_, IpcString<'_>>>(&bytes, &mut again)?;
        piece::<EventFilter<'_>>(&bytes, &mut again)?;
        piece::<TracepointConfig<'_>>(&bytes, &mut again)?;
        piece::<Array<'_, ProviderConfig<'_>>>(&bytes, &mut again)?;
        piece::<Array<'_, StreamingProviderConfig<'_>>>(&bytes, &mut again)?;
        piece::<Array<'_, UserEventsProviderConfig<'_>>>(&bytes, &mut again)?;
    }
}

#[test]
fn the_largest_message_is_65535_bytes_and_one_more_is_refused() {
    let bytes = vec![7; 65_516];
    let mut buffer = vec![0; 70_000];
    let command = Command::from_code(0x6301);
    let sent = |payload| AnyRequest::Unknown { command, payload };

    assert_eq!(encode(command, &sent(&bytes[..65_515]), &mut buffer), Ok(65_535));
    assert_eq!(buffer[..22], *b"DOTNET_IPC_V1\0\xff\xff\x63\x01\0\0\x07\x07");
    let message = Message::decode_exact(&buffer[..65_535]).unwrap();
    assert_eq!(message.request(), Ok(sent(&bytes[..65_515])));

    assert_eq!(encode(command, &sent(&bytes), &mut buffer), Err(EncodeError::MessageTooLarge { len: 65_536 }));
    // No buffer helps, so the size needed is not what to say about a small one.
    assert_eq!(encode(command, &sent(&bytes), &mut [0; 30]), Err(EncodeError::MessageTooLarge { len: 65_536 }));
    assert_eq!(encode(command, &sent(&bytes[..65_515]), &mut [0; 30]), Err(EncodeError::BufferTooSmall { needed: 65_535 }));
}

#[test]
fn a_text_too_long_for_a_message_is_refused_and_not_cut() {
    // 20 + 4 + 2 × 32,756 + 2 is 65,538; one unit less is 65,536, two less 65,534.
    let text = "x".repeat(32_756);
    let mut buffer = vec![0; 70_000];
    let mut hook = |units: usize| ApplyStartupHook { startup_hook_path: text[..units].into() }.encode_message(&mut buffer);
    assert_eq!(hook(32_756), Err(EncodeError::MessageTooLarge { len: 65_538 }));
    assert_eq!(hook(32_755), Err(EncodeError::MessageTooLarge { len: 65_536 }));
    assert_eq!(hook(32_754), Ok(65_534));
}
