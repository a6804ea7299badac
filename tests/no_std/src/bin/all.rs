//! Everything: each command read, written and judged, the server's side, the environment,
//! `user_events`.

#![no_std]
#![no_main]

use dotnet_diagnostics_ipc::advertise::Advertise;
use dotnet_diagnostics_ipc::command::Command;
use dotnet_diagnostics_ipc::continuation::{Environment, EnvironmentDecoder};
use dotnet_diagnostics_ipc::exchange::DiagnosticPort;
use dotnet_diagnostics_ipc::exchange::{Client, Server, ServerAction};
use dotnet_diagnostics_ipc::message::{Message, encode};
use dotnet_diagnostics_ipc::user_events::{TracepointCommand, UserReg, WrittenRecord};
use dotnet_diagnostics_ipc::wire::{Encode as _, Reader, SliceSink};
use no_std::{keep, unknown};

#[unsafe(no_mangle)]
extern "C" fn _start() {
    messages();
    server();
    beside();
}

fn messages() {
    let (input, output) = (&*unknown(), unknown());
    let Ok((message, _)) = Message::decode_prefix(input) else { return };
    if let Ok(request) = message.request() {
        keep(request.check_limits());
        keep(Client::with_any(&request, output));
        keep(message.is_canonical(&request));
    }
    for command in Command::known() {
        if let Ok(reply) = message.reply_to(Some(command)) {
            keep(encode(command, &reply, output));
        }
    }
}

fn server() {
    let buffer = unknown();
    let mut server = Server::new();
    match server.action() {
        ServerAction::Receive(range) => keep(server.received(buffer, range.len())),
        ServerAction::Decode(_) => keep(server.request(buffer)),
        ServerAction::Refuse(reason) => keep(server.refuse(reason.hresult(), buffer)),
        ServerAction::Respond => keep(server.respond(&(), buffer)),
        ServerAction::Send(range) => keep(server.sent(range.len())),
        ServerAction::Close => keep(server.closed()),
        _ => {}
    }
}

fn beside() {
    let (mut input, output) = (&*unknown(), unknown());
    let environment = Environment::decode(input);
    if let Ok(environment) = environment {
        keep(environment.encode(&mut SliceSink::new(output)));
        environment.iter().for_each(keep);
    }
    let mut decoder = EnvironmentDecoder::new(1000, output);
    keep(decoder.decode(&mut input));
    keep(decoder.finish());
    keep(WrittenRecord::decode(&mut Reader::new(input)));
    keep(TracepointCommand::parse(input));
    keep(UserReg::decode(&mut Reader::new(input)));
    let mut slots = [const { None }; 8];
    let mut port = DiagnosticPort::new(&mut slots);
    if let Ok(advertise) = Advertise::decode(input) {
        keep(port.hold(advertise, 1u32));
        keep(port.take(advertise.runtime_cookie));
    }
}
