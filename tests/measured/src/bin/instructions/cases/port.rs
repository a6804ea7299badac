//! A diagnostic port that holds few and many connections, beside a `HashMap` by cookie.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, DefaultHasher};
use std::hint::black_box;

use dotnet_diagnostics_ipc::advertise::Advertise;
use dotnet_diagnostics_ipc::exchange::diagnostic_port::{DiagnosticPort, SameCookie, Slot};
use dotnet_diagnostics_ipc::wire::Guid;

use crate::case::Case;

/// How many are taken and held in a run.
const TIMES: u32 = 100;
const SEED: u128 = 0x0123_4567_89ab_cdef_0011_2233_4455_6677;

pub fn cases() -> Vec<Case> {
    [10, 1000, 100_000].into_iter().map(take_and_hold).collect()
}

fn advertise(number: u32) -> Advertise {
    Advertise {
        runtime_cookie: Guid::from_fields(number, 1, 2, [3; 8]),
        process_id: number.into(),
        future: 0,
    }
}

/// Each time another one, far from the one before.
fn chosen(held: u32) -> Vec<Advertise> {
    let mut number = 1u32;
    let next = || {
        number = number.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        advertise(number % held)
    };
    std::iter::repeat_with(next).take(TIMES as usize).collect()
}

fn take_and_hold(held: u32) -> Case {
    let mut port =
        DiagnosticPort::with_seed(Vec::<Slot<u32>>::new(), SameCookie::Replace, SEED).unwrap();
    // The hash of the standard library, with a key that is always the same. The cookie as a number:
    // an array would be hashed as a slice, with its length.
    let cookie_of =
        |advertise: &Advertise| u128::from_le_bytes(advertise.runtime_cookie.to_bytes());
    let mut map = HashMap::<u128, (Advertise, u32), BuildHasherDefault<DefaultHasher>>::default();
    for number in 0..held {
        assert!(port.hold(advertise(number), number).is_ok());
        map.insert(cookie_of(&advertise(number)), (advertise(number), number));
    }
    let (ours, theirs) = (chosen(held), chosen(held));
    Case::new(format!("DiagnosticPort, take and hold with {held}"), TIMES as usize)
        .by("ours", move || {
            for advertise in black_box(&ours) {
                let taken = port.take(black_box(advertise.runtime_cookie)).unwrap();
                assert!(black_box(port.hold(*advertise, taken.token)).is_ok());
            }
        })
        .by("HashMap", move || {
            for advertise in black_box(&theirs) {
                let cookie = black_box(cookie_of(advertise));
                let (_, token) = map.remove(&cookie).unwrap();
                assert!(black_box(map.insert(cookie, (*advertise, token))).is_none());
            }
        })
}
