//! The checks, which run on any machine.

use dotnet_diagnostics_ipc::exchange::{
    AfterReply, ClientAction, ClientExchange, End, Outcome, Server, ServerAction, ServerOutcome,
};
use dotnet_diagnostics_ipc::message::eventpipe::{
    CollectTracing2, EventLevel, Format, ProviderConfig, SessionReply, StopTracing,
};
use dotnet_diagnostics_ipc::message::{AnyRequest, Message, Request as _};
use dotnet_diagnostics_ipc::wire::{Array, WireErrorKind};

type Check = fn() -> Option<()>;

/// The checks in order. The last one is a whole exchange.
pub const CHECKS: [Check; 3] =
    [encodes_a_request, refuses_a_short_payload, a_client_and_a_server_talk];

/// 0, or the number of the first check that failed.
pub fn run() -> u8 {
    for (number, check) in (1..).zip(CHECKS) {
        if check().is_none() {
            return number;
        }
    }
    0
}

const COLLECT_TRACING2: &[u8; 81] = b"DOTNET_IPC_V1\0\x51\0\x02\x03\0\0\
    \xfa\0\0\0\x01\0\0\0\x01\x01\0\0\0\
    \x64\0\0\0\0\0\0\0\x02\0\0\0\
    \x0e\0\0\0M\0y\0E\0v\0e\0n\0t\0S\0o\0u\0r\0c\0e\0\0\0\
    \0\0\0\0";

const PROVIDERS: &[ProviderConfig<'_>] =
    &[ProviderConfig::new("MyEventSource", 100, EventLevel::ERROR)];

const REQUEST: CollectTracing2<'_> = CollectTracing2 {
    circular_buffer_mb: 250,
    format: Format::NET_TRACE,
    request_rundown: true,
    providers: Array::new(PROVIDERS),
};

/// Returns `Some` if the condition holds.
fn so(it_is: bool) -> Option<()> {
    it_is.then_some(())
}

fn encodes_a_request() -> Option<()> {
    let mut buffer = [0; 128];
    let len = REQUEST.encode_message(&mut buffer).ok()?;
    so(buffer.get(..len)? == COLLECT_TRACING2)?;
    so(Message::decode(COLLECT_TRACING2).ok()?.request_as() == Ok(REQUEST))
}

fn refuses_a_short_payload() -> Option<()> {
    let message = Message::decode(b"DOTNET_IPC_V1\0\x16\0\x02\x01\0\0\x2a\0").ok()?;
    let error = message.request_as::<StopTracing>().err()?;
    so(error.kind() == WireErrorKind::UnexpectedEnd { needed: 8, remaining: 2 }
        && error.offset() == 20)
}

const STREAM: &[u8] = b"Nettrace and what follows";

/// A tracing session from request to the end of its stream, both sides, through a pipe of one byte
/// each way.
fn a_client_and_a_server_talk() -> Option<()> {
    let (mut ours, mut theirs) = ([0; 128], [0; 128]);
    let mut client = ClientExchange::new(&REQUEST, &mut ours).ok()?;
    let mut server = Server::new();
    let (mut to_server, mut to_client) = (None, None);
    let (mut sent, mut heard) = (0, 0);
    let mut server_outcome = None;
    for _ in 0..10_000 {
        match client.action() {
            ClientAction::Send(range) if to_server.is_none() => {
                to_server = ours.get(range.start).copied();
                client.sent(1).ok()?;
            }
            ClientAction::Receive(range) => match to_client.take() {
                Some(byte) => {
                    *ours.get_mut(range.start)? = byte;
                    client.received(&ours, 1).ok()?;
                }
                None if server_outcome.is_some() => client.ended(End::Closed).ok()?,
                None => {}
            },
            ClientAction::SendFd(_) => return None,
            ClientAction::Finished(outcome) => {
                so(outcome
                    == Outcome::Ok { size: 28, then: AfterReply::Stream { session_id: Some(7) } })?;
                match to_client.take() {
                    Some(byte) => {
                        so(STREAM.get(heard) == Some(&byte))?;
                        heard += 1;
                    }
                    None if server_outcome.is_some() => {
                        return so(heard == STREAM.len()
                            && server_outcome == Some(ServerOutcome::Answered));
                    }
                    None => {}
                }
            }
            _ => {}
        }
        match server.action() {
            ServerAction::Receive(range) => {
                if let Some(byte) = to_server.take() {
                    *theirs.get_mut(range.start)? = byte;
                    server.received(&theirs, 1).ok()?;
                }
            }
            ServerAction::Decode(_) => {
                let request = server.request(&theirs).ok()?;
                so(
                    matches!(request, Some(AnyRequest::CollectTracing2(request)) if request == REQUEST),
                )?;
            }
            ServerAction::Respond => {
                server.respond(&SessionReply { session_id: 7 }, &mut theirs).ok()?
            }
            ServerAction::Send(range) if to_client.is_none() => {
                to_client = theirs.get(range.start).copied();
                server.sent(1).ok()?;
            }
            ServerAction::Continue { .. } => match STREAM.get(sent) {
                Some(byte) => {
                    *theirs.first_mut()? = *byte;
                    sent += 1;
                    server.piece(&theirs, 1).ok()?;
                }
                None => server.continuation_ended().ok()?,
            },
            ServerAction::Close => server.closed().ok()?,
            ServerAction::Finished(outcome) => server_outcome = Some(outcome),
            _ => {}
        }
    }
    None
}
