//! A client of whatever request is given to it, which reads whatever reply comes. It leaves out the check of the values, which takes 11 KB.

#![no_std]
#![no_main]

use core::hint::black_box;

use dotnet_diagnostics_ipc::exchange::{ClientAction, ClientExchange};
use dotnet_diagnostics_ipc::message::Message;
use no_std::{keep, unknown};

#[unsafe(no_mangle)]
extern "C" fn _start() {
    let (request, buffer) = (&*unknown(), unknown());
    // What is asked is not known when this is built.
    let Ok(Ok(request)) = Message::decode(request).map(|message| message.request()) else { return };
    let (command, continuation) = (request.command(), request.continuation());
    let Ok(mut client) = ClientExchange::with_payload(command, continuation, &request, buffer)
    else {
        return;
    };
    loop {
        let done = match client.action() {
            ClientAction::Send(range) => client.sent(black_box(range.len())),
            ClientAction::SendFd(_) => client.fd_sent(),
            ClientAction::Receive(range) => client.received(buffer, black_box(range.len())),
            ClientAction::Finished(outcome) => {
                return keep((
                    outcome,
                    Message::decode(buffer).map(|reply| reply.reply_to(Some(request.command()))),
                ));
            }
        };
        keep(done);
    }
}
