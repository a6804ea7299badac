//! Little-endian numbers in a message, and the numbers that break servers.

use std::ops::Range;

use dotnet_diagnostics_ipc::header::{HEADER_LEN, MAX_MESSAGE_LEN, RawHeader};
use rand::seq::IndexedRandom as _;
use rand_chacha::ChaCha8Rng;

/// Counts: around zero and one, around the limits of the protocol (F-16), around the ends of 16 and
/// 32 bits and their doubles (F-8, F-72).
const COUNTS: [u32; 14] = [
    0,
    1,
    2,
    600,
    1000,
    1001,
    0xffff,
    0x1_0000,
    0x3fff_ffff,
    0x4000_0000,
    0x7fff_ffff,
    0x8000_0000,
    0x8000_0001,
    0xffff_ffff,
];
/// Other numbers: small ones, as in enumerations, and around the ends of 8, 16, 31, 32, 63 and 64
/// bits.
const NUMBERS: [u64; 19] = [
    0,
    1,
    2,
    3,
    4,
    5,
    7,
    0x7f,
    0xff,
    0x7fff,
    0xffff,
    0x1_0000,
    0x7fff_ffff,
    0x8000_0000,
    0xffff_ffff,
    0x1_0000_0000,
    0x7fff_ffff_ffff_ffff,
    0x8000_0000_0000_0000,
    0xffff_ffff_ffff_ffff,
];

/// A count to replace `old`.
pub(super) fn count(old: u32, rng: &mut ChaCha8Rng) -> u32 {
    let near = [old.wrapping_sub(1), old.wrapping_add(1), old.wrapping_mul(2)];
    let all: Vec<u32> = near.into_iter().chain(COUNTS).filter(|new| *new != old).collect();
    all.choose(rng).copied().unwrap_or_default()
}

/// `len` bytes of a number, to replace another; beyond 8 bytes the eighth is repeated.
pub(super) fn number(len: usize, rng: &mut ChaCha8Rng) -> Vec<u8> {
    let mut bytes = NUMBERS.choose(rng).copied().unwrap_or_default().to_le_bytes().to_vec();
    let last = bytes.last().copied().unwrap_or_default();
    bytes.resize(len, last);
    bytes
}

/// The number in `range`.
pub(super) fn read(message: &[u8], range: &Range<usize>) -> Option<u32> {
    message.get(range.clone())?.try_into().ok().map(u32::from_le_bytes)
}

/// `message` with `with` in place of `range`, and an adjusted size. `None` if it becomes too large.
pub(super) fn replaced(message: &[u8], range: &Range<usize>, with: &[u8]) -> Option<Vec<u8>> {
    let (before, behind) = (message.get(..range.start)?, message.get(range.end..)?);
    sized([before, with, behind].concat())
}

/// `message` with its correct size.
pub(super) fn sized(message: Vec<u8>) -> Option<Vec<u8>> {
    let len =
        u16::try_from(message.len()).ok().filter(|len| usize::from(*len) <= MAX_MESSAGE_LEN)?;
    with_size(message, len)
}

/// `message` with this size in its header.
pub(super) fn with_size(mut message: Vec<u8>, size: u16) -> Option<Vec<u8>> {
    RawHeader::read(&message).size?;
    RawHeader { size: Some(size), ..RawHeader::default() }.write(&mut message);
    Some(message)
}

/// Whether it is one message, neither truncated nor followed by bytes.
pub(super) fn is_whole(message: &[u8]) -> bool {
    message.len() >= HEADER_LEN
        && RawHeader::read(message).size.is_some_and(|size| usize::from(size) == message.len())
}
