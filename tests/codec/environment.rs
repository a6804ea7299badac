//! The environment block is read in the same way from any chunks, and never beyond its end.

use crate::any_bytes::environment;
use dotnet_diagnostics_ipc::continuation::{
    Entry, Environment, EnvironmentDecoder, EnvironmentEvent, EnvironmentLimits,
};
use dotnet_diagnostics_ipc::hresult::HResult;
use dotnet_diagnostics_ipc::wire::{
    Array, Decode as _, Encode as _, IpcString, Reader, WireError, WireErrorKind,
};
use dotnet_diagnostics_ipc_vectors as vectors;
use dotnet_diagnostics_ipc_vectors::{ExpectedResult, Test, Type};
use proptest::prelude::*;
use proptest::sample::Index;

/// The decoder's events, one line each.
#[derive(Debug, PartialEq, Eq)]
struct Heard {
    events: Vec<String>,
    end: Result<(), WireError>,
}

/// Feeds `block`, cut at `cuts`, to a decoder for `size` bytes.
fn hear(block: &[u8], cuts: &[usize], size: u32, buffer: &mut [u8]) -> Heard {
    let mut decoder = EnvironmentDecoder::with_limits(size, buffer, EnvironmentLimits::NONE);
    let mut events = Vec::new();
    let mut from = 0;
    for to in cuts.iter().copied().chain([block.len()]) {
        let mut piece = &block[from..to];
        loop {
            let (before, wanted) = (decoder.taken(), decoder.wanted());
            let offered = piece.len();
            match decoder.decode(&mut piece) {
                Ok(Some(event)) => events.push(format!("{event:?}")),
                Ok(None) => {
                    assert!(
                        piece.is_empty() || decoder.is_complete(),
                        "{} bytes are left lying",
                        piece.len()
                    );
                    break;
                }
                Err(error) => {
                    // The state stays the same.
                    assert_eq!(decoder.decode(&mut piece), Err(error));
                    assert_eq!(decoder.finish(), Err(error));
                    return Heard { events, end: Err(error) };
                }
            }
            let took = offered - piece.len();
            assert_eq!(decoder.taken() as usize, before as usize + took);
            assert!(took <= wanted, "took {took} bytes, wanted {wanted}");
        }
        from = to;
    }
    Heard { events, end: decoder.finish() }
}

fn whole(block: &[u8]) -> Heard {
    hear(block, &[], u32::try_from(block.len()).unwrap(), &mut vec![0; block.len()])
}

fn size(block: &[u8]) -> u32 {
    u32::try_from(block.len()).unwrap()
}

/// The environment blocks of all vectors.
fn for_each_block(mut check: impl FnMut(&Test, &[u8])) -> usize {
    let mut found = 0;
    for file in vectors::files().unwrap() {
        for group in file.groups.iter().filter(|group| group.kind == Type::Environment) {
            for test in &group.tests {
                check(test, test.wire.as_ref().unwrap());
                found += 1;
            }
        }
    }
    found
}

#[test]
fn environment_events_equal_for_every_chunking() {
    let found = for_each_block(|test, block| {
        // The events are those of the view, whose entries are written again unchanged.
        environment(&[&[64, 0, 1, 3, 7, 255], block].concat());
        let expected = whole(block);
        let mut buffer = vec![0; block.len()];
        let every: Vec<_> = (0..block.len()).collect();
        assert_eq!(
            hear(block, &every, size(block), &mut buffer),
            expected,
            "tcId {} byte by byte",
            test.tc_id
        );
        let splits =
            (0..=block.len()).filter(|at| block.len() <= 4096 || *at < 64 || *at % 4999 == 0);
        for at in splits {
            assert_eq!(
                hear(block, &[at], size(block), &mut buffer),
                expected,
                "tcId {} split at {at}",
                test.tc_id
            );
        }
        if !test.chunks.is_empty() {
            let cuts: Vec<_> = test
                .chunks
                .iter()
                .scan(0, |at, len| Some(*at + len).inspect(|sum| *at = *sum))
                .collect();
            assert_eq!(
                hear(block, &cuts, size(block), &mut buffer),
                expected,
                "tcId {} in its chunks",
                test.tc_id
            );
        }
    });
    assert!(found > 50, "{found}");
}

/// What runtimes sent is typed `array<string>` in the vectors; here it is read as an environment
/// too.
#[test]
fn environment_recorded_blocks_decode() {
    let mut found = 0;
    for group in vectors::files().unwrap().iter().flat_map(|file| &file.groups) {
        if group.kind != Type::StringArray || group.source.runtime.is_none() {
            continue;
        }
        for test in group.tests.iter().filter(|test| test.result == ExpectedResult::Valid) {
            let block = test.wire.as_ref().unwrap();
            let environment = Environment::decode(block).unwrap();
            let strings = Array::<IpcString<'_>>::decode(&mut Reader::new(block)).unwrap();
            assert!(environment.iter().map(Entry::text).eq(strings.iter()), "tcId {}", test.tc_id);
            assert!(environment.iter().all(|it| it.is_terminated() && it.value().is_some()));
            assert!(environment.iter().any(|entry| entry.name() == "PATH"));
            assert_eq!(environment.reply().unwrap().n_incoming_bytes, size(block));
            assert_eq!(whole(block).events.len(), environment.len() + 2);
            found += 1;
        }
    }
    assert!(found >= 3, "{found}");
}

#[test]
fn environment_bytes_after_block_are_left() {
    for_each_block(|test, block| {
        if test.result == ExpectedResult::Invalid {
            return;
        }
        let longer: Vec<u8> = block.iter().copied().chain(*b"DOTNET_IPC_V1\0").collect();
        let mut buffer = vec![0; block.len()];
        for feed in [1, 3, longer.len()] {
            let mut decoder =
                EnvironmentDecoder::with_limits(size(block), &mut buffer, EnvironmentLimits::NONE);
            let mut left = 0;
            for piece in longer.chunks(feed) {
                let mut piece = piece;
                while decoder.decode(&mut piece).unwrap().is_some() {}
                left += piece.len();
            }
            assert_eq!(
                (left, decoder.taken(), decoder.wanted()),
                (14, size(block), 0),
                "tcId {}",
                test.tc_id
            );
        }
    });
}

#[test]
fn environment_end_at_any_byte_is_reported() {
    for_each_block(|test, block| {
        if test.result == ExpectedResult::Invalid || block.len() > 4096 {
            return;
        }
        let mut buffer = vec![0; block.len()];
        for end in 0..block.len() {
            let heard = hear(&block[..end], &[], size(block), &mut buffer);
            let error = heard.end.unwrap_err();
            assert_eq!(
                (error.kind(), error.offset()),
                (WireErrorKind::EndOfInput { needed: size(block) }, end),
                "tcId {}",
                test.tc_id
            );
        }
    });
}

fn block_of(entries: &[Entry<'_>]) -> Vec<u8> {
    let mut block = Vec::new();
    Environment::new(entries).encode(&mut block).unwrap();
    block
}

#[test]
fn environment_entry_over_limit_is_skipped_whole() {
    let long = "x".repeat(100);
    let block =
        block_of(&[Entry::new("A=1"), Entry::new(&long), Entry::new("B=2"), Entry::new(&long)]);
    let mut buffer = [0; 8];
    let expected = hear(&block, &[], size(&block), &mut buffer);
    let too_large = format!("{:?}", EnvironmentEvent::EntryTooLarge { units: 101 });
    let kept = |text| format!("{:?}", EnvironmentEvent::Entry(Entry::new(text)));
    let events = [
        format!("{:?}", EnvironmentEvent::Count(4)),
        kept("A=1"),
        too_large.clone(),
        kept("B=2"),
        too_large,
        "Done".into(),
    ];
    assert_eq!(expected, Heard { events: events.to_vec(), end: Ok(()) });
    for at in 0..=block.len() {
        assert_eq!(hear(&block, &[at], size(&block), &mut buffer), expected);
    }
    // The block is read to its end even without a buffer.
    assert_eq!(hear(&block, &[], size(&block), &mut []).end, Ok(()));
}

#[test]
fn environment_limits_are_set_by_caller() {
    let block = block_of(&[Entry::new("A=1"), Entry::new("B=2")]);
    let refused = |limits, size| {
        let mut buffer = [0; 8];
        let mut decoder = EnvironmentDecoder::with_limits(size, &mut buffer, limits);
        let mut input = &block[..];
        let error = loop {
            match decoder.decode(&mut input) {
                Ok(event) => assert_ne!(event, Some(EnvironmentEvent::Done)),
                Err(error) => break error,
            }
        };
        (error.kind(), error.offset(), decoder.taken())
    };
    let bytes = EnvironmentLimits { max_bytes: 27, ..EnvironmentLimits::DEFAULT };
    assert_eq!(refused(bytes, 28), (WireErrorKind::LimitExceeded { limit: 27, found: 28 }, 0, 0));
    let entries = EnvironmentLimits { max_entries: 1, ..EnvironmentLimits::DEFAULT };
    assert_eq!(refused(entries, 28), (WireErrorKind::LimitExceeded { limit: 1, found: 2 }, 0, 4));
    let default = refused(EnvironmentLimits::default(), u32::MAX);
    assert_eq!(default.0, WireErrorKind::LimitExceeded { limit: 32 << 20, found: u32::MAX });
}

const FAILED: &[u8; 24] = b"DOTNET_IPC_V1\0\x18\0\xff\xff\0\0\x05\x40\0\x80";

/// As a runtime sends it: the block was announced, then broken off, and the message goes beyond the
/// block's end.
#[test]
fn environment_error_message_is_read_past_block_end() {
    let block = block_of(&[Entry::new("A=1"), Entry::new("B")]);
    let broken_off: Vec<u8> = block[..16].iter().chain(FAILED).chain(b"behind").copied().collect();
    for feed in 1..=broken_off.len() {
        let mut buffer = [0; 64];
        // The second entry has 8 bytes of the block, the message 24.
        let mut decoder = EnvironmentDecoder::new(24, &mut buffer);
        let mut read = 0;
        let error = 'read: loop {
            let most = feed.min(decoder.wanted());
            assert!(most > 0);
            let mut piece = &broken_off[read..read + most];
            read += most;
            loop {
                match decoder.decode(&mut piece) {
                    Ok(Some(_)) => {}
                    Ok(None) => break,
                    Err(error) => break 'read error,
                }
            }
        };
        assert_eq!(
            (error.kind(), error.offset()),
            (WireErrorKind::ErrorMessage { hresult: HResult::FAIL }, 16)
        );
        assert_eq!(
            (error.to_string().as_str(), read),
            (
                "environment[1] at byte 16: an error message begins here: 0x80004005 DS_IPC_E_FAIL",
                40
            )
        );
    }
}

/// If the limits allow that many units, `DOTN` is a count.
#[test]
fn environment_block_over_2_gib_magic_is_a_count() {
    let mut decoder = EnvironmentDecoder::with_limits(u32::MAX, &mut [], EnvironmentLimits::NONE);
    let mut input: &[u8] = &[&1u32.to_le_bytes()[..], FAILED].concat();
    assert_eq!(decoder.decode(&mut input), Ok(Some(EnvironmentEvent::Count(1))));
    assert_eq!(
        decoder.decode(&mut input),
        Ok(Some(EnvironmentEvent::EntryTooLarge { units: 0x4e54_4f44 }))
    );
    assert_eq!(decoder.decode(&mut input), Ok(None));
    assert_eq!(decoder.wanted(), u32::MAX as usize - 28);
}

/// No input makes the decoder store more than its own few bytes.
#[test]
fn environment_decoder_size_is_bounded() {
    assert!(size_of::<EnvironmentDecoder<'_>>() <= 176, "{}", size_of::<EnvironmentDecoder<'_>>());
}

fn entry_units() -> impl Strategy<Value = Vec<u16>> {
    let unit = prop_oneof![3 => Just(u16::from(b'=')), 5 => 0x20..0x7f_u16, 1 => any::<u16>(), 1 => Just(0)];
    prop::collection::vec(unit, 0..20)
}

/// Valid blocks, with one byte wrong, or cut.
fn blocks() -> impl Strategy<Value = Vec<u8>> {
    let damage = prop_oneof![
        3 => Just(None),
        1 => (any::<Index>(), any::<u8>()).prop_map(Some),
    ];
    (
        prop::collection::vec(entry_units(), 0..8),
        damage,
        prop::option::weighted(0.2, any::<Index>()),
        prop::bool::weighted(0.2),
    )
        .prop_map(|(entries, damage, cut, fails)| {
            let entries: Vec<_> = entries.iter().map(|units| Entry::from_units(units)).collect();
            let mut block = block_of(&entries);
            if let Some((at, byte)) = damage {
                let at = at.index(block.len());
                block[at] = byte;
            }
            if let Some(cut) = cut {
                block.truncate(cut.index(block.len()));
            }
            if fails {
                block.extend(FAILED);
            }
            block
        })
}

proptest! {
    /// Valid or damaged, a block is read as in the view, in any pieces, with limits, and if another size was announced.
    #[test]
    fn any_chunking_of_any_block_gives_the_same_events(
        front in prop_oneof![any::<[u8; 6]>(), any::<[u8; 4]>().prop_map(|[a, b, c, d]| [64, 0, a, b, c, d])],
        block in prop_oneof![blocks(), prop::collection::vec(0_u8..4, 0..64)],
    ) {
        environment(&[&front[..], &block].concat());
    }

    #[test]
    fn name_and_value_join_to_the_entry(units in entry_units()) {
        let entry = Entry::from_units(&units);
        let mut joined: Vec<u16> = entry.name().units().collect();
        if let Some(value) = entry.value() {
            joined.push(b'='.into());
            joined.extend(value.units());
        }
        prop_assert_eq!(&joined, &units);
        prop_assert!(!entry.name().units().skip(1).any(|unit| unit == u16::from(b'=')));
    }
}
