//! Feature `arbitrary`: for any choices of a fuzzer, the generated value keeps the promises of its
//! type.

use std::collections::{BTreeMap, HashSet};
use std::fmt::Debug;

use arbitrary::{Arbitrary, Unstructured};
use dotnet_diagnostics_ipc::advertise::Advertise;
use dotnet_diagnostics_ipc::command::Command;
use dotnet_diagnostics_ipc::continuation::Entry;
use dotnet_diagnostics_ipc::endpoint::{PipeName, ProcessStat, SocketName};
use dotnet_diagnostics_ipc::header::Header;
use dotnet_diagnostics_ipc::hresult::HResult;
use dotnet_diagnostics_ipc::legacy::{DraftCollectTracing, DraftErrorCode, OldRequest};
use dotnet_diagnostics_ipc::message::eventpipe::{
    CollectTracing5, CollectTracing6, EventFilter, ProviderConfig,
};
use dotnet_diagnostics_ipc::message::process::ProcessInfo3Reply;
use dotnet_diagnostics_ipc::message::profiler::AttachProfiler;
use dotnet_diagnostics_ipc::message::{AnyRequest, Message};
use dotnet_diagnostics_ipc::port::{PortConfig, Ports, WritePorts};
use dotnet_diagnostics_ipc::testing::{Hostile, Made, MadeReply, MadeRequest, Style, strategy};
use dotnet_diagnostics_ipc::user_events::{
    Extension, ExtensionItem, Record, TracepointCommand, UserReg, UserUnreg, WrittenRecord,
};
use dotnet_diagnostics_ipc::wire::visit::Visit;
use dotnet_diagnostics_ipc::wire::{Array, Decode, Encode, Guid, IpcString, Reader};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::{RngAlgorithm, TestRng};

fn written(value: &impl Encode) -> Vec<u8> {
    let mut bytes = Vec::new();
    value.encode(&mut bytes).unwrap();
    bytes
}

/// Values borrowed from the input roundtrip.
macro_rules! survive {
    ($input:expr, $made:expr; $($T:ty),*) => {$(
        if let Ok(value) = <$T>::arbitrary($input) {
            let bytes = written(&value);
            let mut reader = Reader::new(&bytes);
            assert_eq!(<$T>::decode(&mut reader), Ok(value));
            assert!(reader.rest().is_empty());
            *$made.entry(stringify!($T)).or_default() += 1;
        }
    )*};
}

/// Values generated from one input; counts how often each type occurs.
fn borrowed(chosen: &[u8], made: &mut BTreeMap<&'static str, u32>) {
    let input = &mut Unstructured::new(chosen);
    survive!(input, made;
        Guid, HResult, Entry<'_>, UserReg, UserUnreg, WrittenRecord<'_>);
    let input = &mut Unstructured::new(chosen);
    survive!(input, made; Extension<'_>);
    let input = &mut Unstructured::new(chosen);
    for item in input.arbitrary_iter::<ExtensionItem<'_>>().unwrap().flatten().take(1) {
        let items = [item];
        let extension = Extension::new(&items);
        assert_eq!(Extension::decode(&mut Reader::new(&written(&extension))), Ok(extension));
    }
    let input = &mut Unstructured::new(chosen);
    if let Ok(command) = TracepointCommand::arbitrary(input) {
        assert_eq!(TracepointCommand::parse(&written(&command)), Ok(command));
        *made.entry("TracepointCommand").or_default() += 1;
    }
    let input = &mut Unstructured::new(chosen);
    if let Ok(port) = PortConfig::arbitrary(input) {
        let text = WritePorts::new(&[port]).expect("any port can be written").to_string();
        assert_eq!(Ports::new(&text).collect::<Vec<_>>(), [port]);
        // Without tags a port suspends.
        assert!(Ports::new(port.address).eq([PortConfig::new(port.address)]));
        *made.entry("PortConfig").or_default() += 1;
    }
}

fn made<T: Visit<'static>>(chosen: &[u8]) {
    for style in [Style::Plain, Style::Boundary] {
        let value = Made::<T>::new(chosen, style);
        assert_eq!(written(&value.get()), value.bytes(), "{value:?}");
    }
}

proptest! {
    #[test]
    fn arbitrary_values_own_canonical_bytes(chosen in vec(any::<u8>(), 0..800)) {
        made::<Array<'_, Array<'_, IpcString<'_>>>>(&chosen);
        made::<CollectTracing6<'_>>(&chosen);
        made::<ProcessInfo3Reply<'_>>(&chosen);
        made::<AttachProfiler<'_>>(&chosen);
        made::<DraftCollectTracing<'_>>(&chosen);
        made::<DraftErrorCode>(&chosen);
        made::<OldRequest>(&chosen);
        for style in [Style::Plain, Style::Boundary] {
            let made = MadeRequest::new(&chosen, style);
            let message = Message::decode(made.bytes())?;
            prop_assert!(message.is_canonical(&made.request()) && message.request()? == made.request());
            let made = MadeReply::new(&chosen, style);
            let message = Message::decode(made.bytes())?;
            prop_assert!(message.is_canonical(&made.reply()) && message.reply_to(made.answers())? == made.reply());
            prop_assert!(made.bytes().len() <= 65_535);
        }
    }

    #[test]
    fn strategy_names_and_headers_are_read_back(
        header in strategy::<Header>(),
        stat in strategy::<ProcessStat>(),
        pipe in strategy::<PipeName>(),
        socket in strategy::<SocketName>(),
        advertise in strategy::<Advertise>(),
    ) {
        prop_assert_eq!(Header::decode(&header.to_bytes()), Ok(header));
        prop_assert_eq!(ProcessStat::parse(stat.to_string().as_bytes()), Ok(stat));
        prop_assert_eq!(PipeName::parse(&pipe.to_string()), Ok(pipe));
        prop_assert_eq!(SocketName::parse(&socket.to_string()), Ok(socket));
        prop_assert_eq!(Advertise::decode(&advertise.to_bytes()), Ok(advertise));
    }

    /// For a codec under test: a message is valid, and a damaged one that is invalid is refused.
    #[test]
    fn strategy_gives_valid_and_damaged_messages(
        request in strategy::<MadeRequest>(),
        reply in strategy::<MadeReply>(),
        provider in strategy::<Made<ProviderConfig<'_>>>(),
        hostile in strategy::<Hostile>(),
    ) {
        let message = Message::decode(request.bytes())?;
        prop_assert_eq!(message.request()?, request.request());
        prop_assert_eq!(format!("{request:?}"), format!("{:?}", request.request()));
        let message = Message::decode(reply.bytes())?;
        prop_assert_eq!(message.reply_to(reply.answers())?, reply.reply());
        prop_assert_eq!(format!("{reply:?}"), format!("MadeReply({:?}, {:?})", reply.answers(), reply.reply()));
        prop_assert_eq!(&provider.clone(), &provider);
        prop_assert_eq!(format!("{provider:?}"), format!("{:?}", provider.get()));
        if let Err(error) = Message::decode_prefix(&hostile.0) {
            prop_assert!(error.offset() <= hostile.0.len());
        }
    }
}

/// What a fuzzer's harness requests by `arbitrary()`, and how often each kind was generated from
/// the same inputs.
#[test]
fn arbitrary_values_keep_type_promises() {
    let mut random = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
    let mut with_other_version = 0;
    for _ in 0..2000 {
        let mut chosen = [0; 300];
        random.fill_bytes(&mut chosen);
        let input = || Unstructured::new(&chosen);
        let request = input().arbitrary::<MadeRequest>().unwrap();
        assert!(Message::decode(request.bytes()).unwrap().request().is_ok());
        let reply = input().arbitrary::<MadeReply>().unwrap();
        assert!(Message::decode(reply.bytes()).unwrap().reply_to(reply.answers()).is_ok());
        let made = input().arbitrary::<Made<EventFilter<'_>>>().unwrap();
        assert_eq!(EventFilter::decode(&mut Reader::new(made.bytes())), Ok(made.get()));
        if let Ok(port) = input().arbitrary::<PortConfig<'_>>() {
            assert!(!port.address.trim().is_empty() && !port.address.contains([';', ',', '\0']));
        }
        if let Ok(record @ Record::Other { version, .. }) = input().arbitrary::<Record<'_>>() {
            assert_eq!(record.version(), version);
            assert_ne!(version, 1);
            with_other_version += 1;
        }
    }
    assert!(with_other_version > 200, "{with_other_version}");
}

/// A generator that repeats the same few values would pass all of the above.
#[test]
fn arbitrary_generates_every_kind_of_value() {
    let mut random = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
    let (mut counts, mut kinds) = (BTreeMap::new(), BTreeMap::<String, u32>::new());
    let (mut deep, mut refused, mut taken, mut over, mut limits) = (0, 0, 0, 0, 0);
    for _ in 0..4000 {
        let mut chosen = [0; 500];
        random.fill_bytes(&mut chosen);
        borrowed(&chosen, &mut counts);
        let made = MadeRequest::new(&chosen, Style::Plain);
        *kinds.entry(format!("made request {}", name(&made.request()))).or_default() += 1;
        if let AnyRequest::CollectTracing5(CollectTracing5::UserEvents(session)) = made.request() {
            deep += u32::from(session.providers.iter().any(|provider| {
                provider.config.tracepoints.iter().any(|set| set.event_ids.len() > 1)
            }));
        }
        *kinds
            .entry(format!("made reply {}", name(&MadeReply::new(&chosen, Style::Plain).reply())))
            .or_default() += 1;
        let boundary = MadeRequest::new(&chosen, Style::Boundary);
        limits += u32::from(boundary.request().check_limits().is_err());
        over += u32::from(match boundary.request() {
            AnyRequest::CollectTracing(request) => request.providers.len() == 1001,
            AnyRequest::CollectTracing2(request) => request.providers.len() == 1001,
            AnyRequest::CollectTracing4(request) => request.providers.len() == 1001,
            _ => false,
        });
        match Message::decode_prefix(&Hostile::new(&chosen, Style::Plain).0)
            .and_then(|(message, _)| message.request())
        {
            Ok(_) => taken += 1,
            Err(_) => refused += 1,
        }
    }
    // Every request and an unknown one; every reply, errors, an unknown one and one without
    // payload.
    let replies: HashSet<_> = Command::known().map(Command::reply_type).collect();
    assert_eq!(kinds.len(), Command::known().len() + 1 + replies.len() + 3, "{kinds:?}");
    assert!(kinds.values().all(|count| *count >= 8), "{kinds:?}");
    assert_eq!(counts.len(), 9, "{counts:?}");
    assert!(counts.values().all(|count| *count >= 20), "{counts:?}");
    assert!(
        deep > 10 && refused > 1000 && taken > 500 && over > 0 && limits > 500,
        "{deep} {refused} {taken} {over} {limits}"
    );
}

/// `CollectTracing2` of `CollectTracing2(CollectTracing2 { …`.
fn name(message: &impl Debug) -> String {
    format!("{message:?}").split(['(', ' ']).next().unwrap_or_default().to_owned()
}
