//! The stream of a session: a nettrace file without events, in pieces.

use dotnet_diagnostics_ipc::message::eventpipe::Format;

const BEGIN: u8 = 5;
const END: u8 = 6;
/// The tag of no object: used in place of a type, and after the last object.
const NULL: u8 = 1;
/// The number of addresses in each stack of a rundown.
const ADDRESSES: usize = 2048;
const STACKS: usize = 32;

/// The front of a stream: its name and the object that describes the trace.
pub(super) fn start(format: Format, process_id: u32) -> Vec<u8> {
    let mut bytes = Vec::new();
    let version: u32 = if format == Format::NET_PERF {
        3
    } else {
        bytes.extend(b"Nettrace");
        4
    };
    bytes.extend(b"\x14\0\0\0!FastSerialization.1");
    object(&mut bytes, b"Trace", version, |bytes| {
        // Year, month, day of the week, day, hour, minute, second, millisecond.
        for part in [2024u16, 1, 1, 1, 0, 0, 0, 0] {
            bytes.extend(part.to_le_bytes());
        }
        // The same time on the clock of the events, and its frequency.
        for part in [0u64, 1_000_000_000] {
            bytes.extend(part.to_le_bytes());
        }
        // Pointer size, process, processors, sampling rate.
        for part in [8, process_id, 1, 1_000_000] {
            bytes.extend(part.to_le_bytes());
        }
    });
    bytes
}

/// The rundown at the end of a session, more than a socket holds: stacks without events. After
/// `start` bytes, since blocks are aligned in the whole stream.
pub(super) fn rundown(start: usize) -> Vec<u8> {
    let mut bytes = std::vec![0; start];
    for _ in 0..STACKS {
        let len = ADDRESSES * 8;
        object(&mut bytes, b"StackBlock", 2, |bytes| {
            bytes.extend(number(len + 12));
            bytes.resize(bytes.len().next_multiple_of(4), 0);
            // First id, how many, and the size of the one.
            bytes.extend([number(1), number(1), number(len)].concat());
            bytes.resize(bytes.len() + len, 0);
        });
    }
    bytes.split_off(start)
}

/// The bytes after the last object.
pub(super) const LAST: &[u8] = &[NULL];

fn object(bytes: &mut Vec<u8>, name: &[u8], version: u32, body: impl FnOnce(&mut Vec<u8>)) {
    bytes.extend([BEGIN, BEGIN, NULL]);
    // Its version, and the oldest reader that understands it.
    bytes.extend([version.to_le_bytes(), version.to_le_bytes(), number(name.len())].concat());
    bytes.extend(name);
    bytes.push(END);
    body(bytes);
    bytes.push(END);
}

fn number(number: usize) -> [u8; 4] {
    u32::try_from(number).unwrap_or(u32::MAX).to_le_bytes()
}
