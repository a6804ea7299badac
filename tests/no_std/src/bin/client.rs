//! A client of one command: `ProcessInfo3` is asked, and the reply read.

#![no_std]
#![no_main]

use dotnet_diagnostics_ipc::exchange::{ClientAction, ClientExchange};
use dotnet_diagnostics_ipc::message::{Message, process::ProcessInfo3};
use no_std::{keep, unknown};

#[unsafe(no_mangle)]
extern "C" fn _start() {
    let buffer = unknown();
    let Ok(mut client) = ClientExchange::new(&ProcessInfo3 {}, buffer) else { return };
    loop {
        let done = match client.action() {
            ClientAction::Send(range) => client.sent(core::hint::black_box(range.len())),
            ClientAction::Receive(range) => {
                client.received(buffer, core::hint::black_box(range.len()))
            }
            ClientAction::SendFd(_) => client.send_failed(),
            ClientAction::Finished(outcome) => {
                return keep((
                    outcome,
                    Message::decode(buffer).map(|reply| reply.reply_as::<ProcessInfo3>()),
                ));
            }
        };
        keep(done);
    }
}
