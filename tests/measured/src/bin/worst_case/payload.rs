//! The payloads, written byte by byte. Each is as long as a message can hold, except for the rest
//! of an item.

/// What a header of 20 bytes leaves of 65,535.
pub const MOST: usize = 65_515;

/// A name, the command that the header says, and the payload.
pub type Case = (&'static str, [u8; 2], fn() -> Vec<u8>);

const COLLECT_TRACING: [u8; 2] = [2, 2];
const COLLECT_TRACING2: [u8; 2] = [2, 3];
const COLLECT_TRACING5: [u8; 2] = [2, 6];
const ATTACH_PROFILER: [u8; 2] = [3, 1];
const SET_ENVIRONMENT_VARIABLE: [u8; 2] = [4, 3];
pub const PROCESS_INFO3_REPLY: [u8; 2] = [0xff, 0];
/// Not a message: a continuation.
pub const ENVIRONMENT: [u8; 2] = [0, 0];

pub const CASES: [Case; 18] = [
    // The deepest: sets in the tracepoints in the config of a provider, with nothing in them.
    ("empty sets", COLLECT_TRACING5, || user_events(&one_provider(b"\0\0\0\0\0\0\0\0"))),
    ("sets named by a NUL", COLLECT_TRACING5, || {
        user_events(&one_provider(b"\x01\0\0\0\0\0\0\0\0\0"))
    }),
    ("sets of one id", COLLECT_TRACING5, || {
        user_events(&one_provider(b"\0\0\0\0\x01\0\0\0\x07\0\0\0"))
    }),
    ("sets of a name and an id", COLLECT_TRACING5, || {
        user_events(&one_provider(b"\x02\0\0\0a\0\0\0\x01\0\0\0\x07\0\0\0"))
    }),
    ("one set of ids", COLLECT_TRACING5, || user_events(&one_set(b"\x07\0\0\0"))),
    ("providers of user_events", COLLECT_TRACING5, || user_events(&repeated(MOST - 12, &[0; 33]))),
    ("providers of user_events with a set", COLLECT_TRACING5, || {
        user_events(&repeated(MOST - 12, &[&[0; 29][..], b"\x01\0\0\0\0\0\0\0\0\0\0\0"].concat()))
    }),
    ("providers with a filter", COLLECT_TRACING5, || streaming(&repeated(MOST - 21, &[0; 25]))),
    ("providers with an id", COLLECT_TRACING5, || {
        streaming(&repeated(MOST - 21, &[&[0; 21][..], b"\x01\0\0\0\x07\0\0\0"].concat()))
    }),
    ("a filter of ids", COLLECT_TRACING5, || {
        streaming(
            &[b"\x01\0\0\0", &[0; 21][..], &repeated(MOST - 21 - 4 - 21, b"\x07\0\0\0")].concat(),
        )
    }),
    ("providers", COLLECT_TRACING2, || [&[0; 9][..], &repeated(MOST - 9, &[0; 20])].concat()),
    ("providers with names", COLLECT_TRACING2, || {
        [
            &[0; 9][..],
            &repeated(MOST - 9, &[&[0; 12][..], b"\x02\0\0\0a\0\0\0\x02\0\0\0b\0\0\0"].concat()),
        ]
        .concat()
    }),
    ("providers of the first form", COLLECT_TRACING, || {
        [&[0; 8][..], &repeated(MOST - 8, &[0; 20])].concat()
    }),
    ("pairs of units", SET_ENVIRONMENT_VARIABLE, || {
        [&string(MOST - 4, b"\x3d\xd8\xa9\xdc")[..], &[0; 4]].concat()
    }),
    ("lone surrogates", SET_ENVIRONMENT_VARIABLE, || {
        [&string(MOST - 4, b"\x3d\xd8")[..], &[0; 4]].concat()
    }),
    ("client data", ATTACH_PROFILER, || [&[0; 24][..], &repeated(MOST - 24, b"\x01")].concat()),
    ("texts of a process", PROCESS_INFO3_REPLY, || {
        let text = string((MOST - 28) / 6, b"\x3d\xd8\xa9\xdc");
        [&b"\x01\0\0\0"[..], &[0; 24], &text.repeat(6)].concat()
    }),
    ("an environment", ENVIRONMENT, || repeated(MOST, b"\x02\0\0\0=\0\0\0")),
];

fn user_events(providers: &[u8]) -> Vec<u8> {
    [b"\x01\0\0\0", &[0; 8][..], providers].concat()
}

fn streaming(providers: &[u8]) -> Vec<u8> {
    [&[0; 21][..], providers].concat()
}

/// An array of one provider of user_events that has sets.
fn one_provider(set: &[u8]) -> Vec<u8> {
    [b"\x01\0\0\0", &[0; 29][..], &repeated(MOST - 12 - 4 - 29, set)].concat()
}

/// The same, of one set that has ids.
fn one_set(id: &[u8]) -> Vec<u8> {
    [b"\x01\0\0\0", &[0; 29][..], b"\x01\0\0\0\0\0\0\0", &repeated(MOST - 12 - 4 - 29 - 8, id)]
        .concat()
}

/// A count, and as many of `item` as fit in `room` with it.
fn repeated(room: usize, item: &[u8]) -> Vec<u8> {
    let count = (room - 4) / item.len();
    [&u32::try_from(count).unwrap().to_le_bytes()[..], &item.repeat(count)].concat()
}

/// A string of `units` that fills `room`, and its NUL.
fn string(room: usize, units: &[u8]) -> Vec<u8> {
    let times = (room - 4 - 2) / units.len();
    let count = u32::try_from(times * units.len() / 2 + 1).unwrap();
    [&count.to_le_bytes()[..], &units.repeat(times), &[0; 2]].concat()
}
