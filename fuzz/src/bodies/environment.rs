//! Reads the environment block, as a whole and in pieces.

use super::{Pieces, show, written};
use dotnet_diagnostics_ipc::continuation::{
    Entry, Environment, EnvironmentDecoder, EnvironmentEncoder, EnvironmentEvent, EnvironmentLimits,
};
use dotnet_diagnostics_ipc::wire::{WireError, WireErrorKind};

/// Takes `[entry buffer size, announced bytes less or more, 4 sizes of pieces, block …]`.
pub fn environment(input: &[u8]) {
    let Some(([room, announced, sizes @ ..], block)) = input.split_first_chunk::<6>() else {
        return;
    };
    whole_and_in_pieces(block, sizes);
    // The announced size may be wrong, and entries may not fit.
    let announced =
        (block.len() as u64).saturating_add_signed(i64::from(i8::from_le_bytes([*announced])));
    let announced = u32::try_from(announced).unwrap_or(u32::MAX);
    let at_once = read(announced, block, &[], usize::from(*room), EnvironmentLimits::DEFAULT);
    let limits =
        EnvironmentLimits { max_bytes: 4096, max_entries: 16, ..EnvironmentLimits::DEFAULT };
    assert_eq!(
        read(announced, block, sizes, usize::from(*room), EnvironmentLimits::DEFAULT),
        at_once
    );
    assert_eq!(read(announced, block, sizes, 64, limits), read(announced, block, &[], 64, limits));
}

fn whole_and_in_pieces(block: &[u8], sizes: &[u8]) {
    let whole = Environment::decode(block);
    let (found, outcome) = read(
        u32::try_from(block.len()).unwrap(),
        block,
        sizes,
        block.len(),
        EnvironmentLimits::NONE,
    );
    match whole {
        Ok(environment) => {
            assert_eq!(outcome, Ok(()));
            let entries: Vec<_> = environment.iter().map(|entry| Found::of(&entry)).collect();
            assert_eq!(found[1..found.len() - 1], entries);
            assert_eq!(found[0], Found::Count(u32::try_from(environment.len()).unwrap()));
            assert_eq!(found.last(), Some(&Found::Done));
            environment.iter().for_each(|entry| show((entry.name(), entry.value())));
            assert_eq!(written(&environment), block);
            assert_eq!(encoded(environment, sizes), block);
        }
        // If the input ends before the decoder can decide, the decoder knows less.
        Err(error) => assert!(
            matches!(outcome, Err(found) if found == error || is_end(found)),
            "{error:?} {outcome:?}"
        ),
    }
}

fn is_end(error: WireError) -> bool {
    matches!(error.kind(), WireErrorKind::EndOfInput { .. })
}

fn encoded(environment: Environment<'_>, sizes: &[u8]) -> Vec<u8> {
    let (mut encoder, mut pieces, mut block) =
        (EnvironmentEncoder::new(environment).unwrap(), Pieces::new(sizes), Vec::new());
    let mut buffer = [0; 256];
    loop {
        match encoder.encode(&mut buffer[..pieces.next().min(256)]) {
            0 => return block,
            n => block.extend_from_slice(&buffer[..n]),
        }
    }
}

#[derive(Debug, PartialEq)]
enum Found {
    Count(u32),
    Entry(Vec<u16>, bool),
    TooLarge(u32),
    Done,
}

impl Found {
    fn of(entry: &Entry<'_>) -> Self {
        Self::Entry(entry.text().units().collect(), entry.is_terminated())
    }
}

/// Returns all events, and the end.
fn read(
    announced: u32,
    block: &[u8],
    sizes: &[u8],
    room: usize,
    limits: EnvironmentLimits,
) -> (Vec<Found>, Result<(), WireError>) {
    let mut buffer = vec![0; room];
    let mut decoder = EnvironmentDecoder::with_limits(announced, &mut buffer, limits);
    let (mut pieces, mut found, mut rest) = (Pieces::new(sizes), Vec::new(), block);
    loop {
        let wanted = decoder.wanted().min(rest.len());
        let (mut piece, behind) = rest.split_at(wanted.min(pieces.next()));
        rest = behind;
        let is_last = piece.is_empty();
        loop {
            match decoder.decode(&mut piece) {
                Ok(None) => break,
                Ok(Some(EnvironmentEvent::Count(count))) => found.push(Found::Count(count)),
                Ok(Some(EnvironmentEvent::Entry(entry))) => found.push(Found::of(&entry)),
                Ok(Some(EnvironmentEvent::EntryTooLarge { units })) => {
                    found.push(Found::TooLarge(units));
                }
                Ok(Some(EnvironmentEvent::Done)) => found.push(Found::Done),
                Ok(Some(other)) => panic!("{other:?}"),
                Err(error) => {
                    assert_eq!(decoder.decode(&mut piece).err(), Some(error));
                    assert_eq!(decoder.finish(), Err(error));
                    return (found, Err(error));
                }
            }
        }
        // The decoder takes as many bytes as it asks for.
        assert!(piece.is_empty());
        if is_last {
            return (found, decoder.finish());
        }
    }
}
