//! Every request that was sent to the recorded runtimes gets the recorded reply, byte for byte.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

use diagipc::known::Profile;
use serde_json::Value;

use crate::reference_runtime::start;

fn bytes(one: &Value, key: &str) -> Vec<u8> {
    hex::decode(one[key].as_str().unwrap()).unwrap()
}

/// What a createdump prints before the time that it took.
const TOOK: &str = "[createdump] Failure took ";

/// What differs from run to run: process and cookie, the ids of sessions, and how long a dump took.
fn blot_out(reply: &mut Vec<u8>, command: &str) {
    let took: Vec<u8> = TOOK.encode_utf16().flat_map(u16::to_le_bytes).collect();
    if let Some(at) = reply.windows(took.len()).position(|part| part == took) {
        reply.truncate(at);
        // The sizes.
        reply[14..16].fill(0);
        reply[24..28].fill(0);
    }
    let range = match command {
        "Process/ProcessInfo" | "Process/ProcessInfo2" => 20..44,
        "Process/ProcessInfo3" => 24..48,
        _ if command.starts_with("EventPipe/") => 20..28,
        _ => return,
    };
    // After OK alone.
    if reply[17] == 0 {
        reply[range].fill(0);
    }
}

/// A reply, or a block of `len` bytes after it.
fn receive(stream: &mut UnixStream, len: Option<usize>) -> Vec<u8> {
    let mut reply = vec![0; len.unwrap_or(20)];
    stream.read_exact(&mut reply).unwrap();
    if len.is_none() {
        reply.resize(usize::from(u16::from_le_bytes([reply[14], reply[15]])), 0);
        stream.read_exact(&mut reply[20..]).unwrap();
    }
    reply
}

fn replay(socket: &Path, recorded: &[Value]) {
    let connect = || {
        let stream = UnixStream::connect(socket).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
        stream
    };
    // Without a request the connection that was last used goes on; that of a session is read to its
    // end.
    let (mut stream, mut session) = (connect(), [0; 8]);
    let mut readers = Vec::new();
    for one in recorded {
        let (mut request, command) =
            (bytes(one, "request"), one["command"].as_str().unwrap_or_default());
        let mut expected = bytes(one, "reply");
        if request.is_empty() {
            assert_eq!(receive(&mut stream, Some(expected.len())), expected, "{one}");
            continue;
        }
        if one["comment"] == "stop it, on a second connection" {
            request[20..].copy_from_slice(&session);
        }
        stream = connect();
        stream.write_all(&request).unwrap();
        if request.len() < 20 {
            stream.shutdown(Shutdown::Write).unwrap();
        }
        let mut reply = receive(&mut stream, None);
        if command.starts_with("EventPipe/Collect") && reply[17] == 0 {
            session.copy_from_slice(&reply[20..28]);
            let mut stream = stream.try_clone().unwrap();
            readers.push(std::thread::spawn(move || stream.read_to_end(&mut Vec::new()).unwrap()));
        }
        blot_out(&mut reply, command);
        blot_out(&mut expected, command);
        assert_eq!(hex::encode(reply), hex::encode(expected), "{one}");
    }
    for reader in readers {
        assert!(reader.join().unwrap() > 100);
    }
}

#[test]
fn recorded_request_gets_recorded_reply() {
    let directory = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../vectors/source/recorded");
    let mut replayed = 0;
    for build in [
        "net3.0.3",
        "net3.1.23",
        "net8.0.30",
        "net9.0.5",
        "net10.0.9",
        "net10.0.12",
        "aot8.0.31",
        "aot9.0.20",
    ] {
        let profile = Profile::of_recording(build).unwrap();
        for suspended in [false, true] {
            let held = if suspended { "-suspended" } else { "" };
            // Versions 3 cannot be suspended.
            if suspended && !profile.has("5.0") {
                continue;
            }
            let text = fs::read_to_string(directory.join(format!("{build}{held}.json"))).unwrap();
            let recorded: Vec<Value> = serde_json::from_str(&text).unwrap();
            let (runtime, _directory) = start(|config| {
                config.profile = profile;
                config.suspended = suspended;
            });
            replay(runtime.socket(), &recorded);
            replayed += recorded.len();
        }
    }
    assert!(replayed >= 320, "{replayed}");
}
