//! Generated values: `Arbitrary`, the strategies for proptest, and how values are chosen. A fuzzer
//! that never gets an absent string, or a message that is one byte too short, does not find the
//! faults they cause.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::fmt::Debug;

use arbitrary::{Arbitrary, Unstructured};
use dotnet_diagnostics_ipc::advertise::Advertise;
use dotnet_diagnostics_ipc::command::Command;
use dotnet_diagnostics_ipc::endpoint::{PipeName, ProcessStat, SocketName};
use dotnet_diagnostics_ipc::header::Header;
use dotnet_diagnostics_ipc::message::eventpipe::{CollectTracing5, ProviderConfig};
use dotnet_diagnostics_ipc::message::{AnyRequest, Message};
use dotnet_diagnostics_ipc::port::{PortConfig, Ports, WritePorts};
use dotnet_diagnostics_ipc::testing::{Hostile, Made, MadeReply, MadeRequest, Style, strategy};
use dotnet_diagnostics_ipc::user_events::{Extension, Metadata, Record, TracepointCommand};
use dotnet_diagnostics_ipc::wire::{Decode as _, Encode as _, IpcString, Reader};
use proptest::prelude::*;
use proptest::test_runner::{RngAlgorithm, TestRng};

proptest! {
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

const TRIES: u32 = 4000;

/// The name that `look` gives each of the inputs, which are always the same, and how often.
fn met<K: Ord>(mut look: impl FnMut(&[u8]) -> Option<K>) -> BTreeMap<K, u32> {
    let mut random = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
    let mut counts = BTreeMap::new();
    for _ in 0..TRIES {
        let mut chosen = [0; 300];
        random.fill_bytes(&mut chosen);
        if let Some(kind) = look(&chosen) {
            *counts.entry(kind).or_default() += 1;
        }
    }
    counts
}

fn borrowed<'a, T: Arbitrary<'a>>(chosen: &'a [u8]) -> Option<T> {
    Unstructured::new(chosen).arbitrary().ok()
}

/// A generator that repeats the same few values would give messages of one kind.
#[test]
fn arbitrary_generates_every_message_and_reply() {
    fn name(message: &impl Debug) -> String {
        format!("{message:?}").split(['(', ' ']).next().unwrap_or_default().to_owned()
    }
    let made = |chosen: &[u8], style| MadeRequest::new(chosen, style);
    let requests = met(|chosen| Some(name(&made(chosen, Style::Plain).request())));
    // This includes an unknown command.
    assert_eq!(requests.len(), Command::known().len() + 1, "{requests:?}");
    let replies = met(|chosen| Some(name(&MadeReply::new(chosen, Style::Plain).reply())));
    // Errors, an unknown one, and one without payload.
    let kinds: HashSet<_> = Command::known().map(Command::reply_type).collect();
    assert_eq!(replies.len(), kinds.len() + 3, "{replies:?}");
    assert!(requests.values().chain(replies.values()).all(|count| *count >= 8));
    let deep = met(|chosen| match made(chosen, Style::Plain).request() {
        AnyRequest::CollectTracing5(CollectTracing5::UserEvents(session)) => {
            let mut sets = session.providers.iter().flat_map(|it| it.config.tracepoints.iter());
            sets.any(|set| set.event_ids.len() > 1).then_some(())
        }
        _ => None,
    });
    assert!(deep[&()] > 5, "{deep:?}");
    let over = met(|chosen| {
        let made = made(chosen, Style::Boundary);
        Some((made.request().check_limits().is_err(), made.bytes().len() > 20_000))
    });
    assert!(over[&(true, true)] > 0 && over[&(true, false)] > 500, "{over:?}");
}

/// Borrowed values keep the promises of their types.
#[test]
fn arbitrary_port_and_command_roundtrip() {
    let counts = met(|chosen| {
        if let Some(command) = borrowed::<TracepointCommand<'_>>(chosen) {
            let mut bytes = Vec::new();
            command.encode(&mut bytes).unwrap();
            assert_eq!(TracepointCommand::parse(&bytes), Ok(command));
        }
        if let Some(extension) = borrowed::<Extension<'_>>(chosen) {
            let mut bytes = Vec::new();
            extension.encode(&mut bytes).unwrap();
            assert_eq!(Extension::decode(&mut Reader::new(&bytes)), Ok(extension));
        }
        let metadata = borrowed::<Metadata<'_>>(chosen);
        assert!(metadata.is_none_or(|metadata| metadata.len() <= 65_535));
        if let Some(record @ Record::Other { version, .. }) = borrowed::<Record<'_>>(chosen) {
            assert!(record.version() == version && version != 1);
        }
        let port = borrowed::<PortConfig<'_>>(chosen)?;
        let text = WritePorts::new(&[port]).expect("any port can be written").to_string();
        assert_eq!(Ports::new(&text).collect::<Vec<_>>(), [port]);
        // Without tags a port suspends.
        assert!(Ports::new(port.address).eq([PortConfig::new(port.address)]));
        Some(port.suspend_mode.text())
    });
    assert!(counts.keys().copied().eq(["nosuspend", "suspend"]), "{counts:?}");
}

/// Both sides of every check occur.
#[test]
fn number_boundary_is_on_edges() {
    let counts = met(|chosen| Some(Made::<u64>::new(chosen, Style::Boundary).get()));
    let mut edges = vec![0, 1, 2, 4, 5, 6, 7, 255, 256, 999, 1000, 1001, 65_535, 65_536];
    edges.extend([(1 << 31) - 1, 1 << 31, (1 << 31) + 1, (1 << 32) - 1, 1 << 32]);
    edges.extend([1 << 63, u64::MAX]);
    assert_eq!(counts.keys().copied().collect::<Vec<u64>>(), edges);
    assert!(counts.values().all(|count| *count > TRIES / 80), "{counts:?}");
}

#[test]
fn text_is_of_each_kind() {
    let texts = |style| {
        met(|chosen| {
            let made = Made::<IpcString<'_>>::new(chosen, style);
            let string = made.get();
            (string != IpcString::ABSENT).then(|| string.units().collect::<Vec<u16>>())
        })
    };
    let units = |text: &str| text.encode_utf16().collect::<Vec<_>>();
    for style in [Style::Plain, Style::Boundary] {
        let counts = texts(style);
        let absent = TRIES - counts.values().sum::<u32>();
        assert!(absent > TRIES / 12 && absent < TRIES / 4, "{absent}");
        for known in ["", "a", "A=1", "=C:=C:\\", "/tmp/\u{e9}.nettrace", "\u{1f600}"] {
            assert!(counts[&units(known)] > TRIES / 80, "{known}");
        }
        for odd in [&[0][..], &[0x61, 0, 0x62], &[0xd800], &[0xdc00, 0xd800]] {
            assert!(counts[odd] > TRIES / 80, "{odd:?}");
        }
    }
    let printable =
        |units: &&Vec<u16>| units.len() > 8 && units.iter().all(|unit| (0x20..0x80).contains(unit));
    assert!(texts(Style::Plain).keys().filter(printable).count() > 100);
    // Around the limits: a pipe's name, the path of a socket, a tracepoint's name, the kernel's
    // command.
    let boundary = texts(Style::Boundary);
    let filled: BTreeSet<usize> = boundary
        .keys()
        .filter(|units| units.iter().all(|unit| *unit == 0x78))
        .map(Vec::len)
        .collect();
    assert_eq!(filled, BTreeSet::from([0, 1, 31, 255, 256, 436, 437, 511]));
}

/// The valid message, and the damaged one.
fn damaged(chosen: &[u8]) -> (Vec<u8>, Vec<u8>) {
    let hostile = Hostile::new(chosen, Style::Plain).0;
    let front = &chosen[..chosen.len() / 2];
    let request = MadeRequest::new(front, Style::Plain).bytes().to_vec();
    let reply = MadeReply::new(front, Style::Plain).bytes().to_vec();
    // The most likely value comes first, as a command is seldom changed.
    let is_reply = hostile.get(16) == Some(&0xff);
    (if is_reply { reply } else { request }, hostile)
}

/// Where the damaged message differs from the valid one, except in its size.
fn changed(valid: &[u8], hostile: &[u8]) -> Vec<usize> {
    (0..valid.len().min(hostile.len()))
        .filter(|at| valid[*at] != hostile[*at] && !(14..16).contains(at))
        .collect()
}

/// The bit that differs, if it is the only one, and whether it was set.
fn flipped(valid: &[u8], hostile: &[u8]) -> Option<(u32, bool)> {
    let [at] = changed(valid, hostile)[..] else { return None };
    let difference = valid[at] ^ hostile[at];
    let is_one = hostile.len() == valid.len() && difference.is_power_of_two();
    is_one.then(|| (difference.trailing_zeros(), hostile[at] > valid[at]))
}

#[test]
fn damage_is_of_each_kind() {
    let counts = met(|chosen| {
        let (valid, hostile) = damaged(chosen);
        Some(match changed(&valid, &hostile).as_slice() {
            [] if hostile.len() < valid.len() => "cut",
            [] if hostile.len() > valid.len() => "grown",
            [] => "whole",
            [_] if flipped(&valid, &hostile).is_some() => "a bit",
            [first, .., last] if hostile.len() == valid.len() && last - first < 4 => "a number",
            _ => "more",
        })
    });
    assert_eq!(counts.len(), 6, "{counts:?}");
    assert!(counts.values().all(|count| *count > TRIES / 80), "{counts:?}");
}

/// The same bytes give the same value: they can name a case.
#[test]
fn arbitrary_same_bytes_same_value() {
    let string = |chosen: &[u8]| Made::<IpcString<'_>>::new(chosen, Style::Plain);
    let hostile = |chosen: &[u8]| Hostile::new(chosen, Style::Plain);
    let counts =
        met(|chosen| Some(string(chosen) == string(chosen) && hostile(chosen) == hostile(chosen)));
    assert_eq!(counts, BTreeMap::from([(true, TRIES)]));
}
