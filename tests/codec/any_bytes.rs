//! Runs the bodies of the fuzz targets on bytes chosen by proptest: nothing panics, and what is
//! read can be written so that it reads the same.

#[path = "../../fuzz/src/bodies/common.rs"]
mod common;
#[allow(unreachable_pub, reason = "the fuzz targets export them")]
#[path = "../../fuzz/src/bodies/decode_any.rs"]
mod decode_any;
#[allow(unreachable_pub, reason = "the fuzz targets export them")]
#[path = "../../fuzz/src/bodies/environment.rs"]
mod environment;
#[cfg(feature = "proptest")]
#[allow(unreachable_pub, reason = "the fuzz targets export them")]
#[path = "../../fuzz/src/bodies/roundtrip.rs"]
mod roundtrip;
#[allow(unreachable_pub, reason = "the fuzz targets export them")]
#[path = "../../fuzz/src/bodies/user_events.rs"]
mod user_events;

use proptest::collection::vec;
use proptest::prelude::*;

use common::{Nowhere, Pieces, show, written};
pub(crate) use decode_any::decode_any;
pub(crate) use environment::environment;
pub(crate) use user_events::user_events;

/// Bytes that look enough like a payload to be read to some depth: small numbers, text, and
/// anything.
fn payload() -> impl Strategy<Value = Vec<u8>> {
    let part = prop_oneof![
        4 => (0..4_u32).prop_map(|n| n.to_le_bytes().to_vec()),
        2 => Just(b"\x02\0\0\0a\0\0\0".to_vec()),
        1 => Just(b"\0\0\0\0".to_vec()),
        1 => Just(vec![1]),
        1 => any::<u32>().prop_map(|n| n.to_le_bytes().to_vec()),
        1 => vec(any::<u8>(), 0..24),
    ];
    prop_oneof![vec(part, 0..24).prop_map(|parts| parts.concat()), vec(any::<u8>(), 0..64)]
}

proptest! {
    // The failing case is printed whole; seed files in the tree would only be left over.
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn decode_any_bytes_does_not_panic(bytes in vec(any::<u8>(), 0..80)) {
        decode_any(&bytes);
        // The bytes also follow the beginnings without which decoding stops early.
        decode_any(&[b"DOTNET_IPC_V1\0", &bytes[..]].concat());
        decode_any(&[b"ADVR_V1\0", &bytes[..]].concat());
    }

    /// The first byte chooses a piece, or the command of a message.
    #[test]
    fn decode_any_payload_does_not_panic(which: u8, piece in 0..20_u8, payload in payload()) {
        decode_any(&[&[which], &payload[..]].concat());
        decode_any(&[&[piece], &payload[..]].concat());
    }

    #[cfg(feature = "proptest")]
    #[test]
    fn generated_value_is_read_as_it_was_written(which in 0..26_u8, chosen in vec(any::<u8>(), 0..800)) {
        roundtrip::roundtrip(&[&[which], &chosen[..]].concat());
    }
}
