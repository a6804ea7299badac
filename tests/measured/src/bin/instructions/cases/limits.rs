//! What a server asks of a request that decodes.

use dotnet_diagnostics_ipc::command::Command;
use dotnet_diagnostics_ipc::message::eventpipe::{
    CollectTracing2, CollectTracing5, EventFilter, EventLevel, TracepointConfig, TracepointSet,
    UserEventsProviderConfig, UserEventsSession,
};
use dotnet_diagnostics_ipc::message::{Message, Request, encode};
use dotnet_diagnostics_ipc::wire::{Array, Encode, IpcString};

use super::providers;
use crate::case::{Case, keep, keep_bytes};
use crate::ck;

const COUNT: usize = 1000;

pub fn cases() -> Vec<Case> {
    vec![
        given(COUNT),
        decoded(500),
        ids("", IDS, |n| n * 3),
        ids(" of one place in the filter", IDS, |n| (0x1234_0000 | n).wrapping_mul(INVERSE)),
    ]
}

/// As many as a message holds.
const IDS: u32 = 16_000;
/// Of the factor by which the search for duplicates hashes: what differs in its low half alone, and
/// is multiplied by this, hashes to one place.
const INVERSE: u32 = {
    let mut inverse = 1u32;
    while inverse.wrapping_mul(0x9e37_79b1) != 1 {
        inverse = inverse.wrapping_mul(2u32.wrapping_sub(inverse.wrapping_mul(0x9e37_79b1)));
    }
    inverse
};

/// The search for an id that stands twice in the sets of a provider: there is none.
fn ids(which: &str, count: u32, id: fn(u32) -> u32) -> Case {
    let ids: &[u32] = (0..count).map(id).collect::<Vec<_>>().leak();
    let sets = keep([TracepointSet { tracepoint_name: "t".into(), event_ids: Array::new(ids) }]);
    let providers = keep([UserEventsProviderConfig {
        keywords: 1,
        log_level: EventLevel::VERBOSE,
        provider_name: "P".into(),
        arguments: IpcString::ABSENT,
        filter: EventFilter::ALL,
        config: TracepointConfig {
            default_tracepoint_name: IpcString::ABSENT,
            tracepoints: Array::new(sets),
        },
    }]);
    let request = CollectTracing5::UserEvents(UserEventsSession {
        rundown_keyword: 0,
        providers: Array::new(providers),
    });
    let bytes = keep_bytes(encode_to_vec(CollectTracing5::COMMAND, &request));
    let value = keep(Message::decode(bytes).unwrap().request_as::<CollectTracing5<'_>>().unwrap());
    Case::new(format!("check_limits of {count} event ids{which}"), count as usize)
        .by("ours", move || assert!(std::hint::black_box(value).check_limits().is_ok()))
}

fn encode_to_vec(command: Command, payload: &impl Encode) -> Vec<u8> {
    let mut bytes = vec![0; 65_535];
    let len = encode(command, payload, &mut bytes).unwrap();
    bytes.truncate(len);
    bytes
}

fn given(count: usize) -> Case {
    let value = providers::value(count);
    Case::new(format!("check_limits of {count} providers"), count).by("ours", move || {
        assert!(std::hint::black_box(value).check_limits().is_ok());
    })
}

pub fn decoded(count: usize) -> Case {
    let bytes = providers::request(count);
    let value = keep(Message::decode(bytes).unwrap().request_as::<CollectTracing2<'_>>().unwrap());
    Case::new(format!("check_limits of {count} decoded providers"), count)
        .by("ours", move || assert!(std::hint::black_box(value).check_limits().is_ok()))
        .by("ck", move || {
            let mut rest = ck::Bytes::<true>(&std::hint::black_box(bytes)[33..]);
            let mut check = || {
                let level = u32::from_le_bytes(*rest.chunk::<12>()?.last_chunk()?);
                let (name, _) = (rest.string()?, rest.string()?);
                (level <= 5 && !matches!(name, None | Some([] | [0, 0, ..]))).then_some(())
            };
            assert!((0..count).all(|_| check().is_some()));
        })
}
