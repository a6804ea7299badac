//! Held connections, few and many: what is asked of one of them must not depend on how many there
//! are.

use divan::{Bencher, black_box};
use dotnet_diagnostics_ipc::advertise::Advertise;
use dotnet_diagnostics_ipc::exchange::diagnostic_port::{DiagnosticPort, SameCookie, Slot};
use dotnet_diagnostics_ipc::wire::Guid;

const HELD: [u32; 2] = [1_000, 100_000];
const SEED: u128 = 0x0123_4567_89ab_cdef_0011_2233_4455_6677;

type Port = DiagnosticPort<Vec<Slot<u32>>>;

fn main() {
    divan::main();
}

fn advertise(number: u32) -> Advertise {
    Advertise {
        runtime_cookie: Guid::from_fields(number, 1, 2, [3; 8]),
        process_id: number.into(),
        future: 0,
    }
}

fn holding(held: u32) -> Port {
    let mut port = DiagnosticPort::with_seed(Vec::new(), SameCookie::Replace, SEED).unwrap();
    for number in 0..held {
        assert!(port.hold(advertise(number), number).is_ok());
    }
    port
}

/// Each time another one, far from the one before.
fn next(number: &mut u32, held: u32) -> Advertise {
    *number = number.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
    advertise(*number % held)
}

#[divan::bench(args = HELD)]
fn find(bencher: Bencher<'_, '_>, held: u32) {
    let (port, mut number) = (holding(held), 1);
    bencher.bench_local(|| {
        *port.find(black_box(next(&mut number, held).runtime_cookie)).unwrap().token
    });
}

#[divan::bench(args = HELD)]
fn find_what_is_not_held(bencher: Bencher<'_, '_>, held: u32) {
    let (port, mut number) = (holding(held), 1u32);
    bencher.bench_local(|| {
        number = number.wrapping_add(1);
        let cookie = Guid::from_fields(number, 9, 9, [9; 8]);
        assert!(port.find(black_box(cookie)).is_none());
    });
}

/// A command: a connection is used, and the runtime connects again.
#[divan::bench(args = HELD)]
fn take_and_hold(bencher: Bencher<'_, '_>, held: u32) {
    let (mut port, mut number) = (holding(held), 1);
    bencher.bench_local(|| {
        let advertise = next(&mut number, held);
        let taken = port.take(black_box(advertise.runtime_cookie)).unwrap();
        port.hold(advertise, taken.token).unwrap()
    });
}

/// As many as there are, from none: growth included.
#[divan::bench(args = HELD)]
fn hold_all(bencher: Bencher<'_, '_>, held: u32) {
    bencher.counter(divan::counter::ItemsCount::new(held)).bench_local(|| holding(black_box(held)));
}
