//! Says for each call how much stack it took at most, and with which of the inputs: `name <TAB>
//! bytes <TAB> number of the input`.

#![no_std]
#![no_main]

mod machine;

use core::hint::black_box;

use dotnet_diagnostics_ipc::command::Command;
use dotnet_diagnostics_ipc::exchange::{ClientAction, ClientExchange, Server, ServerAction};
use dotnet_diagnostics_ipc::message::eventpipe::{
    CollectTracing5, EventFilter, EventLevel, Format, StreamingProviderConfig, StreamingSession,
    TracepointConfig, TracepointSet, UserEventsProviderConfig, UserEventsSession,
};
use dotnet_diagnostics_ipc::message::{AnyRequest, Message, encode};
use dotnet_diagnostics_ipc::wire::Array;
use machine::{keep, memory, say, say_number, stack_of};

/// What `small.py` writes: for each input the command's code or 0, its kind, its length in 4 bytes,
/// its bytes.
static INPUTS: &[u8] = include_bytes!(env!("STACK_INPUTS"));

/// A call, and the most that it took.
struct Worst {
    name: &'static str,
    bytes: usize,
    input: usize,
}

impl Worst {
    const fn of(name: &'static str) -> Self {
        Self { name, bytes: 0, input: 0 }
    }

    #[inline(never)]
    fn call(&mut self, input: usize, call: &mut dyn FnMut()) {
        let bytes = stack_of(call);
        if bytes > self.bytes {
            (self.bytes, self.input) = (bytes, input);
        }
    }
}

macro_rules! calls {
    ($($name:ident: $said:literal,)*) => {
        struct Calls { $($name: Worst),* }
        impl Calls {
            const NEW: Self = Self { $($name: Worst::of(concat!($said, "\0"))),* };
            fn all(&self) -> [&Worst; [$($said),*].len()] { [$(&self.$name),*] }
        }
    };
}

// The other calls of a client take at most 64 bytes.
calls! {
    client_with_payload: "ClientExchange::with_payload",
    client_with_decoded: "ClientExchange::with_payload of a decoded request",
    client_received: "ClientExchange::received",
    client_enlarged: "ClientExchange::enlarged",
    request: "Message::request",
    reply: "Message::reply_to",
    check_limits: "AnyRequest::check_limits",
    is_canonical: "Message::is_canonical",
    encode: "message::encode",
    server_received: "Server::received",
    server_request: "Server::request",
}

pub fn main() {
    let buffer = memory::<0x1_0000>();
    let mut calls = Calls::NEW;
    let (mut rest, mut number) = (INPUTS, 0);
    while let [set, id, is_reply, a, b, c, d, behind @ ..] = rest {
        let (input, next) = behind.split_at(u32::from_le_bytes([*a, *b, *c, *d]) as usize);
        let command = Command { set: *set, id: *id };
        if *is_reply == 0 {
            request(&mut calls, number, input, buffer);
        } else {
            reply(&mut calls, number, command, input, buffer);
        }
        (rest, number) = (next, number + 1);
    }
    built(&mut calls, number, buffer);
    for worst in calls.all() {
        say(worst.name.as_bytes());
        say(b"\t\0");
        say_number(worst.bytes);
        say(b"\t\0");
        say_number(worst.input);
        say(b"\n\0");
    }
}

/// Requests of a caller's own values, with texts to transcode. The most that nests.
fn built(calls: &mut Calls, number: usize, buffer: &mut [u8; 0x1_0000]) {
    let set = TracepointSet { tracepoint_name: "Überall".into(), event_ids: Array::new(&[1, 2]) };
    let sets = [set];
    let config =
        TracepointConfig { default_tracepoint_name: "T".into(), tracepoints: Array::new(&sets) };
    let filter = EventFilter { enable: true, event_ids: Array::new(&[1, 2, 3]) };
    let (keywords, log_level) = (u64::MAX, EventLevel::VERBOSE);
    let (provider_name, arguments) = ("Microsoft-Windows-DotNETRuntime".into(), "a=ü".into());
    let providers =
        [StreamingProviderConfig { keywords, log_level, provider_name, arguments, filter }];
    let with_tracepoints = [UserEventsProviderConfig {
        keywords,
        log_level,
        provider_name,
        arguments,
        filter,
        config,
    }];
    let streaming = StreamingSession {
        circular_buffer_mb: 16,
        format: Format::NET_TRACE,
        rundown_keyword: 0,
        request_stackwalk: false,
        providers: Array::new(&providers),
    };
    let user_events =
        UserEventsSession { rundown_keyword: 0, providers: Array::new(&with_tracepoints) };
    for request in [CollectTracing5::Streaming(streaming), CollectTracing5::UserEvents(user_events)]
    {
        written(calls, number, &AnyRequest::CollectTracing5(request), true, buffer);
    }
}

/// What a client does with a request before it is sent. A decoded request is measured apart: each item
/// of its arrays is on the stack while it is encoded again.
fn written(
    calls: &mut Calls,
    number: usize,
    request: &AnyRequest,
    is_built: bool,
    buffer: &mut [u8; 0x1_0000],
) {
    let command = request.command();
    calls.check_limits.call(number, &mut || keep(black_box(request).check_limits()));
    calls.encode.call(number, &mut || keep(encode(command, black_box(request), buffer)));
    let with_payload =
        if is_built { &mut calls.client_with_payload } else { &mut calls.client_with_decoded };
    with_payload.call(number, &mut || {
        keep(ClientExchange::with_payload(
            command,
            request.continuation(),
            black_box(request),
            buffer,
        ))
    });
}

fn request(calls: &mut Calls, number: usize, input: &[u8], buffer: &mut [u8; 0x1_0000]) {
    let mut server = Server::new();
    let mut at = 0;
    while let ServerAction::Receive(range) = server.action() {
        let end = input.len().min(at + range.len());
        if end == at {
            break;
        }
        buffer[at..end].copy_from_slice(&input[at..end]);
        calls.server_received.call(number, &mut || keep(server.received(buffer, end - at)));
        at = end;
    }
    if let ServerAction::Decode(_) = server.action() {
        calls.server_request.call(number, &mut || keep(server.request(buffer)));
    }
    let Ok((message, _)) = Message::decode_prefix(input) else { return };
    calls.request.call(number, &mut || keep(black_box(&message).request()));
    let Ok(request) = message.request() else { return };
    calls.is_canonical.call(number, &mut || keep(black_box(&message).is_canonical(&request)));
    written(calls, number, &request, false, buffer);
}

fn reply(
    calls: &mut Calls,
    number: usize,
    command: Command,
    input: &[u8],
    buffer: &mut [u8; 0x1_0000],
) {
    if let Ok((message, _)) = Message::decode_prefix(input) {
        calls.reply.call(number, &mut || keep(black_box(&message).reply_to(Some(command))));
    }
    // First into a buffer that only has room for the header.
    let Ok(mut client) = ClientExchange::with_payload(command, None, &(), buffer) else { return };
    if let ClientAction::Send(range) = client.action() {
        let _ = client.sent(range.len());
    }
    let (mut at, mut room) = (0, 20);
    loop {
        match client.action() {
            ClientAction::Receive(range) => {
                let end = input.len().min(range.end).min(room);
                if end <= at {
                    return;
                }
                buffer[at..end].copy_from_slice(&input[at..end]);
                calls
                    .client_received
                    .call(number, &mut || keep(client.received(&buffer[..room], end - at)));
                at = end;
            }
            ClientAction::Finished(_) if room == 20 && at == 20 => {
                room = buffer.len();
                calls.client_enlarged.call(number, &mut || keep(client.enlarged(buffer)));
                if let ClientAction::Finished(_) = client.action() {
                    return;
                }
            }
            _ => return,
        }
    }
}
