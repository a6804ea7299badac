//! Any peer, in any pieces, against both sides: the outcome is the same as at once, and not a byte too many is read.
#![no_main]

use dotnet_diagnostics_ipc::command::{Command, Continuation};
use dotnet_diagnostics_ipc::exchange::{
    Asked, CheckOrder, Client, ClientAction, End, Outcome, Reason, Server, ServerAction, ServerOptions,
};
use libfuzzer_sys::fuzz_target;

/// Sizes of pieces, again and again; without any, all at once.
struct Pieces<'p>(std::iter::Cycle<std::slice::Iter<'p, u8>>);

impl<'p> Pieces<'p> {
    fn new(sizes: &'p [u8]) -> Self {
        Self(sizes.iter().cycle())
    }

    fn next(&mut self) -> usize {
        self.0.next().map_or(usize::MAX, |size| usize::from(*size).max(1))
    }
}

const COMMANDS: [(Command, Continuation); 6] = [
    (Command::PROCESS_INFO3, Continuation::Close),
    (Command::GENERATE_CORE_DUMP3, Continuation::Close),
    (Command::STOP_TRACING, Continuation::Close),
    (Command::COLLECT_TRACING5, Continuation::UserEvents),
    (Command::COLLECT_TRACING2, Continuation::Nettrace),
    (Command::PROCESS_ENVIRONMENT, Continuation::EnvironmentBlock),
];

fn client(which: u8, peer: &[u8], sizes: &[u8], room: usize) -> (Outcome, usize) {
    let (command, continuation) = COMMANDS[usize::from(which) % COMMANDS.len()];
    let mut buffer = vec![0; room];
    let mut client = Client::with_payload(command, Some(continuation), &(), &mut buffer).unwrap();
    let (mut pieces, mut taken) = (Pieces::new(sizes), 0);
    loop {
        assert_eq!(client.action(), client.action());
        match client.action() {
            ClientAction::Send(range) => client.sent(range.len().min(pieces.next())).unwrap(),
            ClientAction::SendFd => client.fd_sent().unwrap(),
            ClientAction::Receive(range) => {
                let n = range.len().min(pieces.next()).min(peer.len() - taken);
                buffer[range.start..range.start + n].copy_from_slice(&peer[taken..taken + n]);
                taken += n;
                if n == 0 { client.ended(End::Closed).unwrap() } else { client.received(&buffer, n).unwrap() }
            }
            ClientAction::Finished(outcome) => return (outcome, taken),
        }
    }
}

fn server(order: CheckOrder, peer: &[u8], sizes: &[u8]) -> (Result<Command, Reason>, usize) {
    let mut server = Server::with_options(ServerOptions { order, ..ServerOptions::DEFAULT });
    let mut buffer = vec![0; 65_535];
    let (mut pieces, mut taken) = (Pieces::new(sizes), 0);
    loop {
        match server.action() {
            ServerAction::Receive(range) => {
                let n = range.len().min(pieces.next()).min(peer.len() - taken);
                buffer[range.start..range.start + n].copy_from_slice(&peer[taken..taken + n]);
                taken += n;
                if n == 0 {
                    server.ended(End::Closed).unwrap();
                    if server.action() == ServerAction::Close {
                        return (Err(Reason::EndOfInput { received: 0 }), taken);
                    }
                } else {
                    server.received(&buffer, n).unwrap();
                }
            }
            ServerAction::Decode(range) => {
                assert_eq!(range.end, taken);
                if let Asked::Request(request) = server.request(&buffer).unwrap() {
                    return (Ok(request.command()), taken);
                }
            }
            ServerAction::ReceiveFd => server.fd_received().unwrap(),
            ServerAction::Refuse(reason) => return (Err(reason), taken),
            other => panic!("{other:?}"),
        }
    }
}

fuzz_target!(|input: (u8, u8, [u8; 4], &[u8])| {
    let (which, room, sizes, peer) = input;
    let room = 24 + usize::from(room);
    let (outcome, taken) = client(which, peer, &[], room);
    assert_eq!(client(which, peer, &sizes, room).0, outcome);
    if let Outcome::Ok { size, .. } | Outcome::Error { size, .. } = outcome {
        assert_eq!(usize::from(size), taken);
    }
    for order in [CheckOrder::AsShipped, CheckOrder::Strict] {
        let (judged, taken) = server(order, peer, &[]);
        let (again, _) = server(order, peer, &sizes);
        assert_eq!(again, judged);
        assert!(taken <= peer.len());
    }
});
