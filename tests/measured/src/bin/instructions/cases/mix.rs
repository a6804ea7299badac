//! A hundred recorded requests and their replies, of every command that a runtime has answered, read
//! as what they may be, not as what is expected.

use std::collections::BTreeMap;
use std::hint::black_box;

use dotnet_diagnostics_ipc::message::{AnyReply, AnyRequest, Message, encode};

use crate::case::{Case, keep, keep_bytes};
use crate::ck::by_hand;

const EXCHANGES: usize = 100;
/// What `vectors/source/recorded/` has of builds from 3.0 to 10.0, on Linux and Windows.
const RECORDED: [&str; 9] = [
    include_str!("../../../../../../vectors/source/recorded/net10.0.12.json"),
    include_str!("../../../../../../vectors/source/recorded/net10.0.12-suspended.json"),
    include_str!("../../../../../../vectors/source/recorded/net9.0.5-createdump.json"),
    include_str!("../../../../../../vectors/source/recorded/net9.0.5.json"),
    include_str!("../../../../../../vectors/source/recorded/net8.0.30.json"),
    include_str!("../../../../../../vectors/source/recorded/aot9.0.20.json"),
    include_str!("../../../../../../vectors/source/recorded/net10.0.9.json"),
    include_str!("../../../../../../vectors/source/recorded/win-net6.0.13.json"),
    include_str!("../../../../../../vectors/source/recorded/net3.1.23.json"),
];

/// A request, and its reply.
#[derive(Clone, Copy)]
struct Exchange {
    request: &'static [u8],
    reply: &'static [u8],
}

impl Exchange {
    fn code(&self) -> u16 {
        u16::from_be_bytes([self.request[16], self.request[17]])
    }

    /// Whether both are canonical messages: the others are refused, or written otherwise.
    fn is_whole(&self) -> bool {
        ours(self).is_some_and(|(request, reply)| {
            let mut buffer = vec![0; 65_535];
            let known = !matches!(request, AnyRequest::Unknown { .. });
            known
                && write(&request, &reply, &mut buffer, |nth, len, buffer| {
                    [self.request, self.reply][nth] == &buffer[..len]
                })
                .is_some_and(|same| same)
        })
    }
}

fn ours(exchange: &Exchange) -> Option<(AnyRequest<'static>, AnyReply<'static>)> {
    let request = Message::decode(exchange.request).ok()?.request().ok()?;
    let reply = Message::decode(exchange.reply).ok()?.reply_to(Some(request.command())).ok()?;
    Some((request, reply))
}

/// Writes both, one after the other, and says whether `see` has seen what it wanted.
#[inline]
fn write(
    request: &AnyRequest<'_>,
    reply: &AnyReply<'_>,
    buffer: &mut [u8],
    see: impl Fn(usize, usize, &[u8]) -> bool,
) -> Option<bool> {
    let len = encode(request.command(), request, buffer).ok()?;
    let first = see(0, len, buffer);
    let len = encode(reply.command(), reply, buffer).ok()?;
    Some(first && see(1, len, buffer))
}

fn hex(text: &str) -> &'static [u8] {
    let digit = |byte: u8| char::from(byte).to_digit(16).expect("hexadecimal") as u8;
    keep_bytes(text.as_bytes().chunks(2).map(|pair| digit(pair[0]) << 4 | digit(pair[1])).collect())
}

/// The whole exchanges of a recording.
fn of(recording: &'static str) -> impl Iterator<Item = Exchange> {
    let field = |line: &'static str, name: &str| {
        let (_, behind) = line.split_once(&format!("\"{name}\":\""))?;
        Some(hex(behind.split_once('"')?.0))
    };
    recording.lines().filter_map(move |line| {
        let exchange = Exchange { request: field(line, "request")?, reply: field(line, "reply")? };
        exchange.is_whole().then_some(exchange)
    })
}

/// As many of each command as possible.
fn chosen() -> Vec<Exchange> {
    let mut by_command = BTreeMap::<u16, Vec<Exchange>>::new();
    for exchange in RECORDED.into_iter().flat_map(of) {
        by_command.entry(exchange.code()).or_default().push(exchange);
    }
    let most = by_command.values().map(Vec::len).max().unwrap_or_default();
    let turns = (0..most).flat_map(|turn| by_command.values().filter_map(move |of| of.get(turn)));
    turns.take(EXCHANGES).copied().collect()
}

pub fn cases() -> Vec<Case> {
    let exchanges: &'static [Exchange] = chosen().leak();
    assert_eq!(exchanges.len(), EXCHANGES);
    let name = |what| format!("{what} a mix of {} recorded messages", 2 * EXCHANGES);
    let size = exchanges.iter().map(|both| both.request.len() + both.reply.len()).sum();
    let values = keep(exchanges.iter().map(|both| ours(both).unwrap()).collect::<Vec<_>>());
    let by_hand: &'static [_] = exchanges
        .iter()
        .map(|both| {
            let request = by_hand::request(both.request).expect("by hand");
            (both.code(), request, by_hand::reply(both.reply, both.code()).expect("by hand"))
        })
        .collect::<Vec<_>>()
        .leak();
    let mut buffer = vec![0; 65_535];
    for (both, (code, request, reply)) in exchanges.iter().zip(by_hand) {
        let len = request.write(*code, &mut buffer).unwrap();
        assert_eq!(&buffer[..len], both.request);
        let len = reply.write(u16::from_be_bytes([0xff, both.reply[17]]), &mut buffer).unwrap();
        assert_eq!(&buffer[..len], both.reply);
    }
    let (mut room, mut room_too) = (buffer.clone(), buffer);
    vec![
        Case::new(name("decode"), size)
            .by("ours", move || {
                for both in black_box(exchanges) {
                    black_box(ours(both).unwrap());
                }
            })
            .by("ck", move || {
                for both in black_box(exchanges) {
                    let request = by_hand::request(both.request).unwrap();
                    black_box((request, by_hand::reply(both.reply, both.code()).unwrap()));
                }
            }),
        Case::new(name("encode"), size)
            .by("ours", move || {
                for (request, reply) in black_box(values) {
                    write(request, reply, &mut room, |_, _, buffer| black_box(buffer).is_empty());
                }
            })
            .by("ck", move || {
                for (code, request, reply) in black_box(by_hand) {
                    request.write(*code, &mut room_too).unwrap();
                    black_box(&room_too);
                    reply.write(reply.code(), &mut room_too).unwrap();
                    black_box(&room_too);
                }
            }),
    ]
}
