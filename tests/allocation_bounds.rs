//! Functions that allocate take at most a constant times the input's size, whatever the counts
//! claim.

use allocation_counter::{AllocationInfo, measure};
use dotnet_diagnostics_ipc::advertise::Advertise;
use dotnet_diagnostics_ipc::command::Command;
use dotnet_diagnostics_ipc::exchange::DiagnosticPort;
use dotnet_diagnostics_ipc::message::process::SetEnvironmentVariable;
use dotnet_diagnostics_ipc::message::{Message, encode_to_vec};
use dotnet_diagnostics_ipc::wire::{Decode as _, EncodeError, Guid, IpcString, Reader};
use dotnet_diagnostics_ipc_vectors as vectors;

/// Wrong counts, which may cost no more than a real count of the same bytes.
const CLAIMS: [u32; 2] = [u32::MAX, 0x0000_2000];

fn bytes_max(run: impl FnOnce()) -> usize {
    usize::try_from(measure(run).bytes_max).unwrap()
}

/// A string of these units in wire form.
fn wire(units: impl Iterator<Item = u16>) -> Vec<u8> {
    let units: Vec<u8> = units.chain([0]).flat_map(u16::to_le_bytes).collect();
    [&u32::try_from(units.len() / 2).unwrap().to_le_bytes()[..], &units].concat()
}

#[test]
fn message_decode_allocates_nothing() {
    for file in vectors::files().unwrap() {
        for group in &file.groups {
            for bytes in group.tests.iter().filter_map(|test| test.wire.as_deref()) {
                let AllocationInfo { count_total, .. } = measure(|| {
                    let message = Message::decode(bytes);
                    let _ = message.as_ref().is_ok_and(|message| message.request().is_ok());
                    let _ = message.is_ok_and(|message| {
                        message
                            .reply_to(group.subject().and_then(|subject| subject.command))
                            .is_ok()
                    });
                });
                assert_eq!(count_total, 0, "{}", group.name);
            }
        }
    }
}

/// At most three bytes of UTF-8 for two of UTF-16, in a string that doubles and moves when it
/// grows.
#[test]
fn text_allocates_at_most_four_times_its_bytes() {
    for sample in ["a", "é", "語", "💩", "a語💩é"] {
        for len in [0, 1, 2, 3, 7, 100, 1000, 30_000] {
            let bytes =
                wire(sample.encode_utf16().cycle().take(len - len % sample.encode_utf16().count()));
            let string = IpcString::decode(&mut Reader::new(&bytes)).unwrap();
            let taken = bytes_max(|| drop(string.to_unicode()));
            assert!(taken <= 4 * bytes.len() + 16, "{sample} × {len}: {taken} for {}", bytes.len());
        }
    }
    // This is text up to its last unit.
    let bytes = wire(std::iter::repeat_n(0x61, 30_000).chain([0xd800]));
    let string = IpcString::decode(&mut Reader::new(&bytes)).unwrap();
    let taken = bytes_max(|| assert_eq!(string.to_unicode(), None));
    assert!(taken <= 4 * bytes.len(), "{taken}");
}

#[test]
fn encode_allocates_message_size_or_nothing() {
    let text = "x".repeat(32_751);
    for (len, size) in [(0, 30), (1, 32), (1000, 2030), (32_751, 65_532)] {
        let request = SetEnvironmentVariable { name: text[..len].into(), value: IpcString::ABSENT };
        let mut made = Vec::new();
        let taken = bytes_max(|| {
            made = encode_to_vec(Command::SET_ENVIRONMENT_VARIABLE, &request).unwrap();
        });
        assert_eq!((made.len(), taken), (size, size));
    }
    let long = "x".repeat(32_753);
    let request = SetEnvironmentVariable { name: long.as_str().into(), value: IpcString::ABSENT };
    let AllocationInfo { count_total, .. } = measure(|| {
        let refused = encode_to_vec(Command::SET_ENVIRONMENT_VARIABLE, &request);
        assert_eq!(refused, Err(EncodeError::MessageTooLarge { len: 65_536 }));
    });
    assert_eq!(count_total, 0);
}

/// Every accepted connection costs the same, even while the table grows.
#[test]
fn held_connection_allocates_at_most_192_bytes() {
    for connections in [1u32, 8, 9, 100, 1000, 10_000] {
        let taken = bytes_max(|| {
            let mut port = DiagnosticPort::sorted(10_000);
            for number in 0..connections {
                let mut cookie = [0; 16];
                cookie[..4].copy_from_slice(&number.to_le_bytes());
                let advertise = Advertise {
                    runtime_cookie: Guid::from_bytes(cookie),
                    process_id: 1,
                    future: 0,
                };
                assert!(port.hold(advertise, number).is_ok());
            }
        });
        let most = 192 * usize::try_from(connections).unwrap().max(8);
        assert!(taken <= most, "{connections}: {taken} of {most}");
    }
}

/// The values of the vectors, which tools print: an id of four bytes becomes a JSON number, a
/// provider of twenty bytes an object. Tries one false count in `share`.
#[track_caller]
fn false_counts_allocate_constant_times_their_bytes(share: usize) {
    const EACH: usize = 60;
    const ONCE: usize = 8_192;
    let mut checked = 0;
    let mut check = |group: &vectors::Group, bytes: &[u8]| {
        let subject = group.subject().unwrap();
        let taken = bytes_max(|| {
            drop(subject.decode(bytes));
            drop(subject.explain(bytes));
        });
        checked += 1;
        let most = ONCE + EACH * bytes.len();
        assert!(taken <= most, "{}: {taken} of {most} for {}", group.name, hex::encode(bytes));
    };
    for file in vectors::files().unwrap() {
        for group in &file.groups {
            for test in &group.tests {
                let Some(bytes) = test.wire.as_deref() else { continue };
                check(group, bytes);
                // Try every place that may be a count, but only the first 120 of long vectors.
                for at in 0..bytes.len().saturating_sub(3).min(120) {
                    for claim in CLAIMS {
                        let nth = at + claim as usize % 10 + test.tc_id as usize;
                        if nth % share != 0 {
                            continue;
                        }
                        let mut lying = bytes.to_vec();
                        lying[at..at + 4].copy_from_slice(&claim.to_le_bytes());
                        check(group, &lying);
                    }
                }
            }
        }
    }
    assert!(checked > 50_000 / share);
}

#[test]
fn value_false_count_allocates_constant_times_its_bytes() {
    false_counts_allocate_constant_times_their_bytes(20);
}

#[test]
#[ignore = "long: .ci/nightly long"]
fn value_each_false_count_allocates_constant_times_its_bytes() {
    false_counts_allocate_constant_times_their_bytes(1);
}
