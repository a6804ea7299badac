//! Exchanges: a step, and whole conversations.

use std::hint::black_box;

use dotnet_diagnostics_ipc::command::Command;
use dotnet_diagnostics_ipc::exchange::{Client, ClientAction, ParsedRequest, Server, ServerAction};
use dotnet_diagnostics_ipc::hresult::HResult;
use dotnet_diagnostics_ipc::message::eventpipe::StopTracing;
use dotnet_diagnostics_ipc::message::process::{ProcessInfo2, ProcessInfo3Reply, Tail};
use dotnet_diagnostics_ipc::message::{encode, server::ResultReply};
use dotnet_diagnostics_ipc::wire::{Encode, Guid};

use crate::case::Case;
use crate::plain;

/// Bytes of a payload that arrive one by one.
const STEPS: usize = 10_000;

pub fn cases() -> Vec<Case> {
    let [small, large] = server_exchanges();
    vec![client_steps(), server_steps(), client_exchange(), small, large]
}

/// The payload of a reply, a byte at a time: `action` and `received`.
fn client_steps() -> Case {
    let reply = plain::message(0xff00, |bytes| bytes.resize(20 + STEPS, 0));
    let mut buffer = vec![0; 65_535];
    let mut start = Client::new(&ProcessInfo2 {}, &mut buffer).unwrap();
    start.sent(20).unwrap();
    buffer[..reply.len()].copy_from_slice(&reply);
    start.received(&buffer, 20).unwrap();
    Case::new("Client, a step", STEPS - 1).by("ours", move || {
        let mut client = start.clone();
        for _ in 1..STEPS {
            let ClientAction::Receive(range) = black_box(&client).action() else {
                panic!("it wants no more")
            };
            black_box(range);
            client.received(black_box(&buffer), 1).unwrap();
        }
    })
}

/// The same of a request.
fn server_steps() -> Case {
    let request = plain::message(0x0403, |bytes| bytes.resize(20 + STEPS, 0));
    let mut start = Server::new();
    start
        .received(&request[..20].iter().copied().chain(vec![0; 65_000]).collect::<Vec<_>>(), 20)
        .unwrap();
    Case::new("Server, a step", STEPS - 1).by("ours", move || {
        let mut server = start;
        for _ in 1..STEPS {
            let ServerAction::Receive(range) = black_box(&server).action() else {
                panic!("it wants no more")
            };
            black_box(range);
            server.received(black_box(&request), 1).unwrap();
        }
    })
}

/// A whole small request and its reply.
fn client_exchange() -> Case {
    const REPLY: &[u8; 28] = b"DOTNET_IPC_V1\0\x1c\0\xff\0\0\0\x2a\0\0\0\0\0\0\0";
    let mut buffer = vec![0; 256];
    Case::new("Client, a whole StopTracing", 1).by("ours", move || {
        let mut client =
            Client::new(&StopTracing { session_id: black_box(42) }, &mut buffer).unwrap();
        loop {
            match client.action() {
                ClientAction::Send(range) => client.sent(black_box(range).len()).unwrap(),
                ClientAction::Receive(range) => {
                    let n = range.len();
                    buffer[range.clone()].copy_from_slice(&REPLY[range]);
                    client.received(&buffer, n).unwrap();
                }
                ClientAction::Finished(outcome) => {
                    black_box(outcome);
                    break;
                }
            }
        }
    })
}

/// The server's side of whole requests. What the reply's encoding takes is a contender.
fn server_exchanges() -> [Case; 2] {
    let info = ProcessInfo3Reply {
        version: 1,
        process_id: 12345,
        runtime_cookie: Guid::from_bytes([5; 16]),
        command_line: "/usr/share/dotnet/dotnet /srv/app/Example.Service.dll".into(),
        os: "Linux".into(),
        arch: "x64".into(),
        managed_entrypoint_assembly_name: "Example.Service".into(),
        clr_product_version: "10.0.9".into(),
        runtime_identifier: "linux-x64".into(),
        tail: Tail(&[]),
    };
    let result = ResultReply { hresult: HResult::OK };
    [
        server_exchange("EnablePerfMap", b"DOTNET_IPC_V1\0\x18\0\x04\x05\0\0\x03\0\0\0", result),
        server_exchange("ProcessInfo3", b"DOTNET_IPC_V1\0\x14\0\x04\x08\0\0", info),
    ]
}

fn server_exchange<T: Encode + Copy + 'static>(
    name: &str,
    request: &'static [u8],
    reply: T,
) -> Case {
    let (mut buffer, mut other) = (vec![0; 1024], vec![0; 1024]);
    Case::new(format!("Server, a whole {name}"), 1)
        .by("ours", move || {
            let mut server = Server::new();
            loop {
                match server.action() {
                    ServerAction::Receive(range) => {
                        let n = range.len();
                        buffer[range.clone()].copy_from_slice(&request[range]);
                        server.received(&buffer, n).unwrap();
                    }
                    ServerAction::Decode(_) => match server.request(&buffer).unwrap() {
                        ParsedRequest::Request(request) => {
                            black_box(&request);
                        }
                        _ => panic!("another request"),
                    },
                    ServerAction::Respond => {
                        server.respond(black_box(&reply), &mut buffer).unwrap();
                    }
                    ServerAction::Send(range) => server.sent(black_box(range).len()).unwrap(),
                    ServerAction::Close => server.closed().unwrap(),
                    ServerAction::Finished(outcome) => {
                        black_box(outcome);
                        break;
                    }
                    _ => panic!("not asked for"),
                }
            }
        })
        .by("encode", move || {
            black_box(encode(Command::OK, black_box(&reply), black_box(&mut other)).unwrap());
        })
}
