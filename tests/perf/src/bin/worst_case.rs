//! `worst_case.py` counts the instructions of this program. It decodes payloads that are as long and
//! as slow as the grammar allows, and compares each with another copy, item by item. And it floods a
//! port with the cookies of many runtimes.

use std::hint::black_box;

use dotnet_diagnostics_ipc::advertise::Advertise;
use dotnet_diagnostics_ipc::continuation::Environment;
use dotnet_diagnostics_ipc::exchange::DiagnosticPort;
use dotnet_diagnostics_ipc::message::Message;
use dotnet_diagnostics_ipc::wire::Guid;

/// A name, a command, and its payload: some bytes, a count, and as many items as fit.
type Case = (&'static str, [u8; 2], &'static [&'static [u8]], &'static [&'static [u8]]);

const COLLECT_TRACING5: [u8; 2] = [2, 6];
const SET_ENVIRONMENT_VARIABLE: [u8; 2] = [4, 3];
/// Before the providers of a session of user_events, and before the sets of its only provider.
const USER_EVENTS: &[u8] = b"\x01\0\0\0\0\0\0\0\0\0\0\0";
const ONE_PROVIDER: &[&[u8]] = &[USER_EVENTS, b"\x01\0\0\0", &[0; 29]];
const ID: &[u8] = b"\x01\0\0\0\x07\0\0\0";

#[rustfmt::skip]
const CASES: [Case; 9] = [
    ("empty sets", COLLECT_TRACING5, ONE_PROVIDER, &[&[0; 8]]),
    ("sets named by a NUL", COLLECT_TRACING5, ONE_PROVIDER, &[b"\x01\0\0\0\0\0\0\0\0\0"]),
    ("sets of one id", COLLECT_TRACING5, ONE_PROVIDER, &[&[0; 4], ID]),
    ("providers of user_events", COLLECT_TRACING5, &[USER_EVENTS], &[&[0; 33]]),
    ("providers with a set", COLLECT_TRACING5, &[USER_EVENTS], &[&[0; 29], b"\x01\0\0\0", &[0; 8]]),
    ("providers with an id", COLLECT_TRACING5, &[&[0; 21]], &[&[0; 21], ID]),
    ("a filter of ids", COLLECT_TRACING5, &[&[0; 21], b"\x01\0\0\0", &[0; 21]], &[b"\x07\0\0\0"]),
    ("providers with names", [2, 3], &[&[0; 9]], &[&[0; 12], b"\x02\0\0\0a\0\0\0\x02\0\0\0b\0\0\0"]),
    ("pairs of units", SET_ENVIRONMENT_VARIABLE, &[], &[b"\x3d\xd8\xa9\xdc"]),
];

fn payload(front: &[u8], item: &[u8], command: [u8; 2]) -> Vec<u8> {
    let fit = (65_535 - 20 - front.len() - 10) / item.len();
    // The count of a string includes its NUL, and the empty value of the variable follows.
    let (count, back): (usize, &[u8]) =
        if command == SET_ENVIRONMENT_VARIABLE { (2 * fit + 1, &[0; 6]) } else { (fit, &[]) };
    [front, &u32::try_from(count).unwrap().to_le_bytes(), &item.repeat(fit), back].concat()
}

/// Callgrind counts the instructions in here.
#[unsafe(no_mangle)]
#[inline(never)]
fn measured(run: &mut dyn FnMut()) {
    run();
}

fn measure<T: PartialEq>(name: &str, payload: &[u8], decode: impl Fn() -> Option<T>) {
    let (mut decoded, mut is_same) = (None, false);
    measured(&mut || decoded = black_box(decode()));
    println!("{name}\tdecode\t{}", payload.len());
    let copy = decode();
    measured(&mut || is_same = black_box(&decoded) == black_box(&copy));
    println!("{name}\tcompare\t{}", payload.len());
    assert!(copy.is_some() && is_same, "{name} does not decode");
}

/// Holds this many runtimes, which arrive in no order, and takes each of them.
fn flood(runtimes: u32) {
    let advertise = |number: u32| {
        let cookie = u128::from(number).wrapping_mul(0xda94_2042_e4dd_58b5_9e37_79b9_7f4a_7c15);
        let runtime_cookie = Guid::from_bytes(cookie.to_le_bytes());
        Advertise { runtime_cookie, process_id: 1, future: 0 }
    };
    let mut taken = 0;
    measured(&mut || {
        let mut port = DiagnosticPort::sorted(usize::MAX);
        for number in 0..runtimes {
            assert!(port.hold(black_box(advertise(number)), number).is_ok());
        }
        for number in 0..runtimes {
            taken += usize::from(port.take(advertise(number).runtime_cookie).is_some());
        }
    });
    assert_eq!(taken, runtimes as usize);
    println!("a port of as many runtimes\tflood\t{runtimes}");
}

fn main() {
    for (name, command, front, item) in CASES {
        let payload = payload(&front.concat(), &item.concat(), command);
        let size = u16::try_from(20 + payload.len()).unwrap().to_le_bytes();
        let message = [b"DOTNET_IPC_V1\0", &size[..], &command, &[0; 2], &payload].concat();
        measure(name, &payload, || Message::decode(black_box(&message)).ok()?.request().ok());
    }
    let block = payload(&[], b"\x02\0\0\0=\0\0\0", [0; 2]);
    flood(1_000);
    flood(10_000);
    measure("an environment", &block, || Environment::decode(black_box(&block)).ok());
}
