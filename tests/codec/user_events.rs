//! `user_events`: roundtrips, no panics, and a whole session from request to reader.

use crate::any_bytes::user_events;
use dotnet_diagnostics_ipc::message::eventpipe::{
    EventFilter, EventLevel, TracepointConfig, TracepointSet, UserEventsProviderConfig,
};
use dotnet_diagnostics_ipc::user_events::{
    EventTraits, Extension, ExtensionItem, MAX_COMMAND_LEN, Metadata, Record, RecordV1, RelLoc,
    Route, TracepointCommand, UserReg, UserRegSize, UserUnreg, WrittenRecord, route,
};
use dotnet_diagnostics_ipc::wire::{
    Array, Decode as _, Encode, EncodeError, Guid, IpcString, Reader, SliceSink,
};
use proptest::prelude::*;

fn encode(value: &impl Encode) -> Result<Vec<u8>, EncodeError> {
    let mut bytes = vec![0; value.encoded_len()?];
    let mut sink = SliceSink::new(&mut bytes);
    value.encode(&mut sink)?;
    assert_eq!(sink.finish(), Ok(bytes.len()));
    Ok(bytes)
}

fn likely_registration() -> impl Strategy<Value = Vec<u8>> {
    let size = prop_oneof![Just(28u8), Just(32), any::<u8>()];
    let padding = prop_oneof![3 => Just([0; 4]), 1 => any::<[u8; 4]>()];
    (size, any::<[u8; 24]>(), padding, 0..6usize).prop_map(|(size, fields, padding, more)| {
        let mut bytes = [&[size, 0, 0, 0][..], &fields, &padding].concat();
        bytes.resize(30 + more, 0);
        bytes
    })
}

/// The structures of the kernel's `user_events.h`, with the runtime's values (F-64, P-18).
#[test]
fn registration_and_its_end_have_the_kernels_layout() {
    let reg = UserReg::new(0x7f00_1000, 0x7f00_2000);
    let fields = b"\x1f\x04\0\0\0\x10\0\x7f\0\0\0\0\0\x20\0\x7f\0\0\0\0\0\0\0\0";
    assert_eq!(encode(&reg).unwrap(), [b"\x20\0\0\0", &fields[..], &[0; 4]].concat());
    let packed = UserReg { size: UserRegSize::Packed, ..reg };
    assert_eq!(encode(&packed).unwrap(), [b"\x1c\0\0\0", &fields[..]].concat());
    let unreg = UserUnreg::of(&reg);
    assert_eq!(encode(&unreg).unwrap(), b"\x10\0\0\0\x1f\0\0\0\0\x10\0\x7f\0\0\0\0");
}

/// An event without metadata: the extension has the item, which is empty.
#[test]
fn extension_items_are_found_by_their_kind() {
    let items = [ExtensionItem::ActivityId(Guid::NIL), ExtensionItem::Metadata(Metadata::new(&[]))];
    let extension = Extension::new(&items);
    assert!(extension.metadata().is_some_and(|metadata| metadata.is_empty()));
    let bytes = [&[2][..], &[0; 16], &[1, 0, 0, 0, 0]].concat();
    assert_eq!(encode(&extension).unwrap(), bytes);
    assert_eq!(Extension::decode(&mut Reader::new(&bytes)), Ok(extension));
    assert!(Extension::EMPTY.metadata().is_none());
}

proptest! {
    /// The first byte chooses the type.
    #[test]
    fn any_bytes_decode_consistently(which in 0..8_u8, bytes in prop::collection::vec(any::<u8>(), 0..64)) {
        user_events(&[&[which], &bytes[..]].concat());
        if let Ok(location) = RelLoc::decode(&mut Reader::new(&bytes)) {
            prop_assert_eq!(encode(&location).unwrap(), &bytes[..4]);
        }
    }

    /// Of each size: what is accepted is written unchanged, and what is refused has another size, nonzero padding, or an early end.
    #[test]
    fn registration_length_equals_its_size(bytes in likely_registration()) {
        let len = usize::from(bytes[0]);
        let whole = len == 28 || len == 32 && bytes.get(28..32) == Some(&[0; 4]);
        let read = UserReg::decode(&mut Reader::new(&bytes));
        prop_assert_eq!(read.is_ok(), whole);
        if let Ok(read) = read {
            prop_assert_eq!(encode(&read).unwrap(), &bytes[..len]);
        }
    }

    #[test]
    fn command_accepts_exactly_names_that_roundtrip(name in "[a-zß診😀 \0:;]{0,6}", more in 0..440usize) {
        let name = name + &"n".repeat(more);
        let possible = !name.is_empty() && !name.contains([' ', '\0']) && name.len() <= 436;
        match TracepointCommand::new(IpcString::new(&name)) {
            Ok(command) => {
                assert!(possible);
                let mut buffer = [0; MAX_COMMAND_LEN];
                let len = command.write_c_string(&mut buffer).unwrap();
                assert_eq!(TracepointCommand::parse(&buffer[..len - 1]), Ok(command));
            }
            Err(error) => assert!(!possible, "{error}"),
        }
    }

    #[test]
    fn location_resolves_to_its_original_range(end in 0..1000usize, distance in 0..70_000usize, len in 0..70_000usize, more in 0..9usize) {
        let (start, stop) = (end + distance, end + distance + len);
        match RelLoc::new(distance, len) {
            Ok(location) => {
                assert_eq!(RelLoc::from_u32(location.to_u32()), location);
                assert_eq!(location.resolve(end, end..stop + more), Some(start..stop));
                assert_eq!(location.resolve(end, start + 1..stop + 1), None);
                assert_eq!(stop.checked_sub(1).and_then(|last| location.resolve(end, end..last)), None);
            }
            Err(EncodeError::PartTooLong { len: n, max: 65_535 }) => assert!(n > 65_535 && (n == distance || n == len)),
            Err(other) => panic!("{other}"),
        }
    }
}

const ID: Guid = Guid::from_bytes(*b"0123456789abcdef");

/// What the runtime does with an event of the provider, and what the reader of the tracepoint makes
/// of it.
#[test]
fn user_event_reaches_reader() {
    let sets =
        [TracepointSet { tracepoint_name: "LowEvents".into(), event_ids: Array::new(&[1, 2]) }];
    let provider = UserEventsProviderConfig {
        keywords: 1,
        log_level: EventLevel::VERBOSE,
        provider_name: "MyEventSource".into(),
        arguments: IpcString::ABSENT,
        filter: EventFilter::ALL,
        config: TracepointConfig {
            default_tracepoint_name: "MyTracepoint".into(),
            tracepoints: Array::new(&sets),
        },
    };
    let Route::Tracepoint(name) =
        route(&provider, EventTraits { keywords: 1, level: EventLevel::ERROR, id: 2 })
    else {
        panic!("it is written");
    };
    let mut text = [0xff; MAX_COMMAND_LEN];
    let len = TracepointCommand::new(name).unwrap().write_c_string(&mut text).unwrap();
    assert_eq!((&text[..10], text[len - 1]), (&b"LowEvents "[..], 0));

    let first = [
        ExtensionItem::Metadata(Metadata::named(provider.provider_name, b"metadata").unwrap()),
        ExtensionItem::ActivityId(ID),
    ];
    let later = [ExtensionItem::ActivityId(ID)];
    // The second event is like one from a thread that raced.
    for (items, has_metadata) in [(&first[..], true), (&first[..], true), (&later[..], false)] {
        let extension = encode(&Extension::new(items)).unwrap();
        let record = Record::V1(RecordV1::new(2, &extension, b"payload").unwrap());
        let written = encode(&WrittenRecord { write_index: 3, record }).unwrap();
        let Record::V1(read) = Record::decode(&mut Reader::new(&written[4..])).unwrap() else {
            panic!("version 1")
        };
        assert_eq!((read.event_id, read.payload), (2, &b"payload"[..]));
        let extension = read.extension().unwrap();
        assert!(extension.iter().any(|item| item == ExtensionItem::ActivityId(ID)));
        assert_eq!(extension.metadata().is_some(), has_metadata);
        if let Some(metadata) = extension.metadata() {
            assert_eq!(
                metadata.split_provider_name(),
                Ok(("MyEventSource".into(), &b"metadata"[..]))
            );
        }
    }
}
