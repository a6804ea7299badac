//! Captures written by hand.

use super::*;
use crate::Direction;
use crate::pasted::PastedPart;

const STOP: &[u8] = b"DOTNET_IPC_V1\0\x1c\0\x02\x01\0\0\x0a\0\0\0\x0d\x0a\x20\x41";
const STOPPED: &[u8] = b"DOTNET_IPC_V1\0\x1c\0\xff\0\0\0\x2a\0\0\0\0\0\0\0";
const CLIENT: Option<Direction> = Some(Direction::Client);
const SERVER: Option<Direction> = Some(Direction::Server);

/// The ports of a client and a server.
const UP: [u8; 4] = [0xd4, 0x31, 0x23, 0x28];
const DOWN: [u8; 4] = [0x23, 0x28, 0xd4, 0x31];

/// Returns a segment over IPv4, from 127.0.0.1 to itself.
fn ipv4(ports: [u8; 4], number: u32, flags: u8, bytes: &[u8]) -> Vec<u8> {
    let len = u16::try_from(40 + bytes.len()).unwrap().to_be_bytes();
    let ip = [&b"\x45\0"[..], &len, b"\0\0\0\0\x40\x06\0\0\x7f\0\0\x01\x7f\0\0\x01"].concat();
    [&*ip, &tcp(ports, number, flags), bytes].concat()
}

/// Returns a TCP header without options.
fn tcp(ports: [u8; 4], number: u32, flags: u8) -> Vec<u8> {
    let header = [&ports[..], &number.to_be_bytes(), b"\0\0\0\0\x50", &[flags], b"\0\0\0\0\0\0"];
    header.concat()
}

/// Returns a segment over IPv6, from `::1` to itself.
fn ipv6(ports: [u8; 4], number: u32, flags: u8, bytes: &[u8]) -> Vec<u8> {
    let len = u16::try_from(20 + bytes.len()).unwrap().to_be_bytes();
    let loopback = b"\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x01";
    let ip = [&b"\x60\0\0\0"[..], &len, b"\x06\x40", loopback, loopback].concat();
    [&*ip, &tcp(ports, number, flags), bytes].concat()
}

fn block(kind: u32, body: &[u8], is_big: bool) -> Vec<u8> {
    let in_order = |number: u32| if is_big { number.to_be_bytes() } else { number.to_le_bytes() };
    let mut body = body.to_vec();
    body.resize(body.len().next_multiple_of(4), 0);
    let len = in_order(u32::try_from(body.len() + 12).unwrap());
    [&in_order(kind)[..], &len, &body, &len].concat()
}

/// Returns a file of these packets, which were captured whole.
fn pcapng(link: u16, packets: &[Vec<u8>], is_big: bool) -> Vec<u8> {
    let in_order = |number: u32| if is_big { number.to_be_bytes() } else { number.to_le_bytes() };
    let link = if is_big { link.to_be_bytes() } else { link.to_le_bytes() };
    let section = [&in_order(0x1a2b_3c4d)[..], &[0; 12]].concat();
    let mut file = block(0x0a0d_0d0a, &section, is_big);
    file.extend(block(1, &[&link[..], &[0; 6]].concat(), is_big));
    // These are statistics, which are skipped.
    file.extend(block(5, b"whatever", is_big));
    for packet in packets {
        let len = in_order(u32::try_from(packet.len()).unwrap());
        file.extend(block(6, &[&[0; 12][..], &len, &len, packet].concat(), is_big));
    }
    file
}

fn part(len: usize, sender: Option<Direction>) -> PastedPart {
    PastedPart { len, sender, gap: None }
}

#[test]
fn conversation_over_tcp_is_read_from_each_link_layer() {
    let conversation = |segment: fn([u8; 4], u32, u8, &[u8]) -> Vec<u8>| {
        [
            segment(UP, 100, 2, b""),
            segment(DOWN, u32::MAX, 0x12, b""),
            segment(UP, 101, 0x18, &STOP[..10]),
            // This was sent again with more bytes.
            segment(UP, 101, 0x18, STOP),
            segment(DOWN, 0, 0x18, STOPPED),
            segment(UP, 129, 0x11, b""),
            segment(DOWN, 28, 0x11, b""),
            segment(UP, 130, 0x10, b""),
        ]
    };
    let with = |front: &[u8], packets: &[Vec<u8>]| -> Vec<Vec<u8>> {
        packets.iter().map(|packet| [front, packet].concat()).collect()
    };
    let (four, six) = (conversation(ipv4), conversation(ipv6));
    let ethernet = [&[0; 12][..], &[8, 0]].concat();
    let tagged = [&[0; 12][..], &[0x81, 0, 0, 7, 8, 0]].concat();
    for (link, packets) in [
        (0, with(&[2, 0, 0, 0], &four)),
        (1, with(&ethernet, &four)),
        (1, with(&tagged, &six)),
        (101, with(b"", &four)),
        (101, with(b"", &six)),
        (113, with(&[0; 16], &four)),
        (276, with(&[0; 20], &six)),
    ] {
        for is_big in [false, true] {
            let file = pcapng(link, &packets, is_big);
            assert!(is_capture(&file));
            let read = read_capture(&file).unwrap();
            assert_eq!(read.bytes, [STOP, STOPPED].concat(), "{link}");
            assert_eq!(read.parts, [part(28, CLIENT), part(28, SERVER)], "{link}");
        }
    }
    // `tcpdump -w` writes this.
    let mut pcap = b"\xd4\xc3\xb2\xa1\x02\0\x04\0\0\0\0\0\0\0\0\0\0\0\x04\0\x65\0\0\0".to_vec();
    for packet in &four {
        let len = u32::try_from(packet.len()).unwrap().to_le_bytes();
        pcap.extend([&[0; 8][..], &len, &len, packet].concat());
    }
    assert_eq!(read_capture(&pcap).unwrap().parts, [part(28, CLIENT), part(28, SERVER)]);
    let error = read_capture(&pcap[..pcap.len() - 1]).unwrap_err();
    assert_eq!(error, "the capture is cut in the packet at byte 482");
}

#[test]
fn bytes_that_were_not_captured_are_a_gap() {
    let lost = [
        ipv4(UP, 100, 2, b""),
        ipv4(UP, 101, 0x18, &STOP[..20]),
        ipv4(UP, 125, 0x18, &STOP[24..]),
        ipv4(DOWN, 7, 0x18, STOPPED),
    ];
    let read = read_capture(&pcapng(101, &lost, false)).unwrap();
    assert_eq!(read.bytes, [&STOP[..20], &STOP[24..], STOPPED].concat());
    let gap = "4 bytes that the capture does not have, or has later";
    assert_eq!(
        read.parts,
        [
            PastedPart { len: 20, sender: CLIENT, gap: Some(gap.into()) },
            part(4, CLIENT),
            part(28, SERVER)
        ]
    );
    // 4 of the 60 bytes are missing at the end, as after dumpcap -s 64.
    let packet = ipv4(UP, 101, 0x18, STOP);
    let mut body = [&[0; 12][..], b"\x40\0\0\0\x44\0\0\0", &packet[..64]].concat();
    let mut file = pcapng(101, &[], false);
    file.extend(block(6, &body, false));
    assert_eq!(read_capture(&file).unwrap().gaps(), [format!("after byte 24: {gap}")]);
    // This length is more than the block has.
    body[12] = 0xff;
    let mut file = pcapng(101, &[], false);
    let at = file.len();
    file.extend(block(6, &body, false));
    let wrong = format!("the capture is cut or wrong in the block at byte {at}");
    assert_eq!(read_capture(&file).unwrap_err(), wrong);
}

#[test]
fn capture_of_the_proxy_is_read_and_others_are_named() {
    let packets = [
        b"DIPC\x01\x00\x00\x00\x05\0\0\0".to_vec(),
        [&b"DIPC\x01\x01\x00\x02\x05\0\0\0\x00\x01"[..], STOP].concat(),
        [&b"DIPC\x01\x01\x01\x00\x05\0\0\0"[..], STOPPED].concat(),
        b"DIPC\x01\x02\x01\x01\x05\0\0\0".to_vec(),
    ];
    let read = read_capture(&pcapng(147, &packets, false)).unwrap();
    assert_eq!(read.bytes, [STOP, STOPPED].concat());
    assert_eq!(read.parts, [part(28, CLIENT), part(28, SERVER)]);
    for (link, packet, error) in [
        (
            101,
            ipv4(UP, 0, 0x18, b"GET / HTTP/1.1"),
            "none of the 1 packets begins with DOTNET_IPC_V1 or ADVR_V1",
        ),
        (
            195,
            b"?".to_vec(),
            "none of the 1 packets begins with DOTNET_IPC_V1 or ADVR_V1; link type 195 is not read",
        ),
    ] {
        assert_eq!(read_capture(&pcapng(link, &[packet], false)).unwrap_err(), error);
    }
    // A cut or changed byte must not panic.
    let file = pcapng(147, &packets, false);
    for at in 0..file.len() {
        let _ = read_capture(&file[..at]);
        let mut changed = file.clone();
        changed[at] ^= 0xff;
        let _ = read_capture(&changed);
    }
}
