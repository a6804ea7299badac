//! `diagipc proxy --pcapng`: the file, read by hand as spec/GRAMMAR.md says.

use std::fs;
use std::io::{BufRead as _, BufReader, IoSlice};
use std::os::fd::AsFd as _;
use std::process::{Command, Stdio};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg};

use super::*;
use crate::tool;

const RESUME: &[u8] = b"DOTNET_IPC_V1\0\x14\0\x04\x01\0\0";
const DEFAULT_PORT: [&str; 2] = ["--listen", "--to"];
const OK: &[u8] = b"DOTNET_IPC_V1\0\x18\0\xff\0\0\0\0\0\0\0";

/// What a block is, and its contents.
type Block = (u32, Vec<u8>);
/// The time in nanoseconds, and the data.
type Packet = (u64, Vec<u8>);

fn blocks(file: &[u8]) -> (Vec<Block>, Vec<Packet>) {
    let number = |bytes: &[u8]| u32::from_le_bytes(bytes[..4].try_into().unwrap());
    let (mut blocks, mut packets, mut rest) = (Vec::new(), Vec::new(), file);
    while !rest.is_empty() {
        let size = number(&rest[4..]) as usize;
        assert_eq!((size % 4, number(&rest[size - 4..]) as usize), (0, size));
        let body = rest[8..size - 4].to_vec();
        if number(rest) == 6 {
            let (time, length) = (
                (u64::from(number(&body[4..])) << 32) + u64::from(number(&body[8..])),
                number(&body[12..]) as usize,
            );
            assert_eq!(
                (number(&body), number(&body[16..]) as usize),
                (0, length),
                "its interface, and its whole length"
            );
            packets.push((time, body[20..20 + length].to_vec()));
        }
        blocks.push((number(rest), body));
        rest = &rest[size..];
    }
    (blocks, packets)
}

/// The header of a packet of connection 0, and what follows it.
fn packet(event: u8, side: u8, detail: u8, rest: &[u8]) -> Vec<u8> {
    [&b"DIPC\x01"[..], &[event, side, detail, 0, 0, 0, 0], rest].concat()
}

/// Captures one connection with `options` that name the listener: a request, a byte with a
/// descriptor if `passes`, and an answer.
fn captured([at_option, to_option]: [&str; 2], passes: bool, answer: &'static [u8]) -> Vec<u8> {
    let directory = TempDir::new().unwrap();
    let [at, to, file] = ["at", "to", "said.pcapng"].map(|name| directory.path().join(name));
    let runtime = UnixListener::bind(&to).unwrap();
    let [at_path, to_path, file_path] = [&at, &to, &file].map(|path| path.to_str().unwrap());
    let mut proxy = tool::diagipc();
    proxy.args(["proxy", "--once", at_option, at_path, to_option, to_path, "--pcapng", file_path]);
    let mut proxy = proxy.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut socket = String::new();
    BufReader::new(proxy.stdout.take().unwrap()).read_line(&mut socket).unwrap();
    let answering = thread::spawn(move || {
        let (mut connection, _) = runtime.accept().unwrap();
        connection.read_exact(&mut vec![0; RESUME.len() + usize::from(passes)]).unwrap();
        connection.write_all(answer).unwrap();
    });
    let mut client = UnixStream::connect(socket.trim_end()).unwrap();
    client.write_all(RESUME).unwrap();
    if passes {
        let null = fs::File::open("/dev/null").unwrap();
        let (fds, mut space) =
            ([null.as_fd()], [std::mem::MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))]);
        let mut control = SendAncillaryBuffer::new(&mut space);
        assert!(control.push(SendAncillaryMessage::ScmRights(&fds)));
        sendmsg(&client, &[IoSlice::new(b"\0")], &mut control, SendFlags::empty()).unwrap();
    }
    let mut said = Vec::new();
    client.read_to_end(&mut said).unwrap();
    assert_eq!(said, answer);
    answering.join().unwrap();
    assert!(proxy.wait().unwrap().success());
    let name = if to_option == "--to" { to } else { at };
    let name = name.to_str().unwrap().as_bytes();
    let bytes = fs::read(&file).unwrap();
    assert!(
        bytes.windows(name.len()).any(|window| window == name),
        "the interface is named after the endpoint"
    );
    bytes
}

/// The bytes of each side, and the packets that are not data.
fn sorted(packets: &[Packet]) -> ([Vec<u8>; 2], Vec<Vec<u8>>) {
    let (mut sides, mut others) = ([Vec::new(), Vec::new()], Vec::new());
    for (_, packet) in packets {
        match packet[5] {
            1 if packet[7] == 0 => sides[usize::from(packet[6])].extend_from_slice(&packet[12..]),
            _ => others.push(packet.clone()),
        }
    }
    (sides, others)
}

#[test]
fn capture_has_bytes_ends_and_times_of_each_side() {
    let before = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_nanos();
    let file = captured(DEFAULT_PORT, false, OK);
    let after = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_nanos();
    let (blocks, packets) = blocks(&file);
    assert_eq!(blocks[0].0, 0x0A0D_0D0A, "a section");
    assert_eq!(&blocks[0].1[..8], b"\x4d\x3c\x2b\x1a\x01\0\0\0", "little-endian, version 1.0");
    assert_eq!(
        (blocks[1].0, &blocks[1].1[..8]),
        (1, &b"\x93\0\0\0\0\0\0\0"[..]),
        "an interface of type USER0, without a limit"
    );
    assert!(
        blocks[1].1.windows(5).any(|option| option == b"\x09\0\x01\0\x09"),
        "timestamps of nanoseconds"
    );
    assert!(packets.is_sorted_by_key(|(time, _)| *time));
    assert!(packets.iter().all(|(time, _)| (before..=after).contains(&u128::from(*time))));
    let (sides, others) = sorted(&packets);
    assert_eq!(sides, [RESUME.to_vec(), OK.to_vec()]);
    assert_eq!(
        others,
        [packet(0, 0, 0, b""), packet(2, 1, 1, b"")],
        "opened by the client, closed by the runtime"
    );
}

#[test]
fn capture_describes_descriptor_at_its_byte() {
    let (sides, others) = sorted(&blocks(&captured(DEFAULT_PORT, true, OK)).1);
    assert_eq!(sides, [RESUME.to_vec(), OK.to_vec()]);
    assert_eq!(others[1], packet(1, 0, 1, b"\0\0"), "of /dev/null");
}

#[test]
fn capture_of_port_shows_runtime_connecting() {
    let (sides, others) = sorted(&blocks(&captured(["--port", "--to-port"], false, OK)).1);
    // The runtime is the one that connects, whatever it sends.
    assert_eq!(sides, [OK.to_vec(), RESUME.to_vec()]);
    assert_eq!(others[0], packet(0, 1, 0, b""));
}

/// More than a recording keeps of a side.
#[test]
fn capture_is_whole_when_recording_is_cut() {
    let long: &'static [u8] = vec![7; Recording::KEPT * 3].leak();
    let (sides, _) = sorted(&blocks(&captured(DEFAULT_PORT, false, long)).1);
    assert_eq!(sides[1].len(), long.len());
}

/// A Wireshark that is paused does not read.
#[test]
fn capture_without_reader_blocks_neither_traffic_nor_end() {
    const LEN: usize = 48 << 20;

    let directory = TempDir::new().unwrap();
    let [at, to, fifo] = ["at", "to", "fifo"].map(|name| directory.path().join(name));
    assert!(Command::new("mkfifo").arg(&fifo).status().unwrap().success());
    let reader = fs::File::options().read(true).write(true).open(&fifo).unwrap();
    let runtime = UnixListener::bind(&to).unwrap();
    let [at_path, to_path, fifo_path] = [&at, &to, &fifo].map(|path| path.to_str().unwrap());
    let mut proxy = tool::diagipc();
    proxy.args(["proxy", "--listen", at_path, "--to", to_path, "--pcapng", fifo_path]);
    let mut proxy = proxy.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    BufReader::new(proxy.stdout.take().unwrap()).read_line(&mut String::new()).unwrap();
    let answering = thread::spawn(move || {
        let (mut connection, _) = runtime.accept().unwrap();
        connection.read_exact(&mut vec![0; RESUME.len()]).unwrap();
        // An error is seen by the client, which gets less.
        let _ = connection.write_all(&vec![7; LEN]);
    });
    let mut client = UnixStream::connect(&at).unwrap();
    client.set_read_timeout(Some(WITHIN)).unwrap();
    client.write_all(RESUME).unwrap();
    let received = std::io::copy(&mut client, &mut std::io::sink());
    drop(client);
    tool::signal(&proxy, "-TERM");
    let began = Instant::now();
    let ended = loop {
        match proxy.try_wait().unwrap() {
            None if began.elapsed() < WITHIN => thread::sleep(Duration::from_millis(20)),
            ended => break ended,
        }
    };
    let _ = proxy.kill();
    let output = proxy.wait_with_output().unwrap();
    let errors = String::from_utf8(output.stderr).unwrap();
    answering.join().unwrap();
    drop(reader);
    assert_eq!(received.map_err(|error| error.kind()), Ok(LEN as u64));
    assert!(ended.is_some_and(|status| status.success()), "{ended:?}: {errors}");
    let missing = errors.lines().find_map(|line| {
        line.strip_prefix("the capture fell behind: ")?.strip_suffix(" packets are missing")
    });
    assert!(missing.is_some_and(|count| count.parse::<u32>().unwrap() > 0), "{errors}");
}

#[test]
fn capture_failure_ends_proxy_with_2() {
    let directory = TempDir::new().unwrap();
    let [at, to] = ["at", "to"].map(|name| directory.path().join(name).display().to_string());
    let _runtime = UnixListener::bind(&to).unwrap();
    let file = "/nowhere/said.pcapng";
    let said = tool::errors(&["proxy", "--listen", &at, "--to", &to, "--pcapng", file], 2);
    assert!(said.contains(file), "{said}");
    // An older capture is kept if the proxy cannot listen.
    let old = directory.path().join("old.pcapng").display().to_string();
    std::fs::write(&old, "mine").unwrap();
    tool::errors(&["proxy", "--listen", &to, "--to", &to, "--pcapng", &old], 2);
    assert_eq!(std::fs::read(&old).unwrap(), b"mine");
}
