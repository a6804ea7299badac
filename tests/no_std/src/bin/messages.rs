//! Every message read and written: requests by their header's code, replies by the command that
//! they answer. Nothing is judged or exchanged.

#![no_std]
#![no_main]

use dotnet_diagnostics_ipc::command::Command;
use dotnet_diagnostics_ipc::message::{Message, encode};
use no_std::{keep, unknown};

#[unsafe(no_mangle)]
extern "C" fn _start() {
    let (input, output) = (&*unknown(), unknown());
    let Ok((message, _)) = Message::decode_prefix(input) else { return };
    if let Ok(request) = message.request() {
        keep(encode(request.command(), &request, output));
    }
    for command in Command::known() {
        if let Ok(reply) = message.reply_to(Some(command)) {
            keep(encode(reply.command(), &reply, output));
        }
    }
}
