//! SipHash-1-3 of a cookie, as in the maps of the standard library: cookies come from the wire, and
//! a peer without the key cannot choose their buckets.

use crate::wire::Guid;

/// The 64 bits of a cookie under `seed`, whose low half is the first word of the key.
#[inline]
pub(super) fn hash(seed: u128, cookie: Guid) -> u64 {
    sip::<1, 3>(seed, u128::from_le_bytes(cookie.to_bytes()))
}

/// With `C` rounds for each block, and `D` at the end.
#[inline(never)]
#[allow(clippy::cast_possible_truncation)] // Halves.
fn sip<const C: usize, const D: usize>(seed: u128, message: u128) -> u64 {
    let (k0, k1) = (seed as u64, (seed >> 64) as u64);
    let mut state = [
        k0 ^ 0x736f_6d65_7073_6575,
        k1 ^ 0x646f_7261_6e64_6f6d,
        k0 ^ 0x6c79_6765_6e65_7261,
        k1 ^ 0x7465_6462_7974_6573,
    ];
    // The last block is the length, 16, in its top byte.
    for block in [message as u64, (message >> 64) as u64, 16 << 56] {
        state[3] ^= block;
        state = rounds::<C>(state);
        state[0] ^= block;
    }
    state[2] ^= 0xff;
    let [a, b, c, d] = rounds::<D>(state);
    a ^ b ^ c ^ d
}

fn rounds<const N: usize>(state: [u64; 4]) -> [u64; 4] {
    (0..N).fold(state, |state, _| round(state))
}

fn round([mut a, mut b, mut c, mut d]: [u64; 4]) -> [u64; 4] {
    a = a.wrapping_add(b);
    b = b.rotate_left(13) ^ a;
    a = a.rotate_left(32);
    c = c.wrapping_add(d);
    d = d.rotate_left(16) ^ c;
    a = a.wrapping_add(d);
    d = d.rotate_left(21) ^ a;
    c = c.wrapping_add(b);
    b = b.rotate_left(17) ^ c;
    c = c.rotate_left(32);
    [a, b, c, d]
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::hash::Hasher as _;

    #[test]
    fn hash_equals_published_siphash() {
        let counting = |from: u8| core::array::from_fn(|nth| from + u8::try_from(nth).unwrap());
        let (seed, message) = (u128::from_le_bytes(counting(0)), u128::from_le_bytes(counting(0)));
        // The 17th row of `vectors_sip64` of the reference implementation, which has 2-4 alone.
        let published = u64::from_le_bytes([0xdb, 0x9b, 0xc2, 0x57, 0x7f, 0xcc, 0x2a, 0x3f]);
        assert_eq!(sip::<2, 4>(seed, message), published);
        // The 17th row of `test_siphash_1_3` of the standard library.
        let published = u64::from_le_bytes([0x66, 0x8b, 0x90, 0x7d, 0x1a, 0xdd, 0x4f, 0xcc]);
        assert_eq!(hash(seed, Guid::from_bytes(counting(0))), published);
    }

    #[test]
    #[allow(deprecated)]
    fn hash_equals_siphash_of_core() {
        let mut seed = 1u128;
        for nth in 0..1000u128 {
            seed = seed
                .wrapping_mul(0xda94_2042_e4dd_58b5)
                .wrapping_add(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835);
            let cookie = (seed ^ nth.rotate_right(9)).to_le_bytes();
            let mut hasher = core::hash::SipHasher::new_with_keys(
                (seed & u128::from(u64::MAX)).try_into().unwrap(),
                (seed >> 64).try_into().unwrap(),
            );
            hasher.write(&cookie);
            assert_eq!(sip::<2, 4>(seed, u128::from_le_bytes(cookie)), hasher.finish());
        }
    }
}
