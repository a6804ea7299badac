//! `check.py` builds this and looks for panics in it. The program passes standard input through
//! every decoder and through both sides of an exchange, so that all of them are linked in; its exit
//! status depends on all of it.

#![no_std]
#![no_main]

use core::ffi::{c_char, c_int};
use core::fmt::{self, Write as _};

use dotnet_diagnostics_ipc::advertise::Advertise;
use dotnet_diagnostics_ipc::command::Command;
use dotnet_diagnostics_ipc::continuation::{Environment, EnvironmentDecoder, StreamDetector};
use dotnet_diagnostics_ipc::endpoint::{PipeName, ProcessStat, SocketName};
use dotnet_diagnostics_ipc::exchange::{Client, ClientAction, End, Server, ServerAction};
use dotnet_diagnostics_ipc::header::Header;
use dotnet_diagnostics_ipc::legacy::{
    OldReply, SessionIdWidth, SessionLayout, decode_without_filter_data,
};
use dotnet_diagnostics_ipc::message::Message;
use dotnet_diagnostics_ipc::message::process::ProcessInfo3;
use dotnet_diagnostics_ipc::port::Ports;
use dotnet_diagnostics_ipc::user_events::{Record, TracepointCommand, UserReg, WrittenRecord};
use dotnet_diagnostics_ipc::wire::Reader;

#[link(name = "c")]
unsafe extern "C" {
    safe fn abort() -> !;
    fn read(fd: c_int, into: *mut u8, len: usize) -> isize;
}

#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    abort()
}

#[unsafe(no_mangle)]
extern "C" fn rust_eh_personality() {}

/// Sums everything that is written to it, so that everything is read.
struct Sum(u64);

impl fmt::Write for Sum {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for byte in text.bytes() {
            self.0 = self.0.wrapping_mul(31).wrapping_add(byte.into());
        }
        Ok(())
    }
}

static mut INPUT: [u8; 65_536] = [0; 65_536];

#[unsafe(no_mangle)]
extern "C" fn main(_argc: c_int, _argv: *const *const c_char) -> c_int {
    // One thread, and nothing else refers to it.
    let buffer = unsafe { &mut *(&raw mut INPUT) };
    let n = unsafe { read(0, buffer.as_mut_ptr(), buffer.len()) };
    let Some((input, rest)) = usize::try_from(n).ok().and_then(|n| buffer.split_at_mut_checked(n))
    else {
        return 1;
    };
    let mut sum = Sum(0);
    decode(input, &mut sum);
    converse(input, rest, &mut sum);
    beside(input, rest, &mut sum);
    (sum.0 & 0x7f) as c_int
}

/// Every decoder, and all parts of what it returns.
fn decode(input: &[u8], sum: &mut Sum) {
    let _ = write!(sum, "{:?} {:?}", Header::decode(input).ok(), Advertise::decode(input).ok());
    if let Ok((message, _)) = Message::decode_prefix(input) {
        match message.request() {
            Ok(request) => drop(write!(sum, "{request:?} {:?}", request.check_limits())),
            Err(error) => drop(write!(sum, "{error}")),
        }
        for command in Command::known() {
            match message.reply_to(Some(command)) {
                Ok(reply) => drop(write!(sum, "{reply:?}")),
                Err(error) => drop(write!(sum, "{error}")),
            }
        }
    }
    if let Ok(text) = core::str::from_utf8(input) {
        for port in Ports::new(text) {
            let _ = write!(sum, "{port:?}");
        }
    }
}

/// Both sides of an exchange, fed with the input.
fn converse(input: &[u8], buffer: &mut [u8], sum: &mut Sum) {
    let mut server = Server::new();
    let mut rest = input;
    while let ServerAction::Receive(range) = server.action() {
        let Some(into) = buffer.get_mut(range) else { break };
        let n = into.len().min(rest.len());
        let (now, later) = rest.split_at_checked(n).unwrap_or((rest, &[]));
        rest = later;
        for (into, from) in into.iter_mut().zip(now) {
            *into = *from;
        }
        let said = if n == 0 { server.ended(End::Closed) } else { server.received(buffer, n) };
        if said.is_err() {
            break;
        }
    }
    let _ = write!(sum, "{:?} {:?}", server.action(), server.request(buffer));
    if let Ok(mut client) = Client::new(&ProcessInfo3 {}, buffer) {
        let mut rest = input;
        loop {
            let said = match client.action() {
                ClientAction::Send(range) => client.sent(range.len()),
                ClientAction::Receive(range) => {
                    let Some(into) = buffer.get_mut(range) else { break };
                    let n = into.len().min(rest.len());
                    let (now, later) = rest.split_at_checked(n).unwrap_or((rest, &[]));
                    rest = later;
                    for (into, from) in into.iter_mut().zip(now) {
                        *into = *from;
                    }
                    if n == 0 { client.ended(End::Closed) } else { client.received(buffer, n) }
                }
                ClientAction::Finished(outcome) => {
                    let _ = write!(sum, "{outcome:?}");
                    break;
                }
            };
            if said.is_err() {
                break;
            }
        }
    }
}

/// What follows a reply, is written to `user_events`, or belongs to the older protocols.
fn beside(input: &[u8], buffer: &mut [u8], sum: &mut Sum) {
    if let Ok(size) = u32::try_from(input.len()) {
        let mut decoder = EnvironmentDecoder::new(size, buffer);
        let mut rest = input;
        while let Ok(Some(event)) = decoder.decode(&mut rest) {
            let _ = write!(sum, "{event:?}");
        }
        let _ = write!(sum, "{:?}", decoder.finish());
    }
    let _ = write!(sum, "{:?} {:?}", Environment::decode(input), StreamDetector::new().look(input));
    if let Ok(WrittenRecord { record: Record::V1(record), .. }) =
        WrittenRecord::decode(&mut Reader::new(input))
    {
        let _ = write!(sum, "{record:?} {:?}", record.extension());
    }
    let _ = write!(
        sum,
        "{:?} {:?}",
        TracepointCommand::parse(input),
        UserReg::decode(&mut Reader::new(input))
    );
    for layout in
        [SessionLayout::Draft, SessionLayout::CollectTracing, SessionLayout::CollectTracing2]
    {
        if let Ok((message, _)) = Message::decode_prefix(input) {
            let _ = write!(sum, "{:?}", decode_without_filter_data(&message, layout));
        }
    }
    let _ = write!(sum, "{:?}", OldReply::decode_prefix(input, SessionIdWidth::Bits64));
    let _ = write!(sum, "{:?}", ProcessStat::parse(input));
    if let Ok(text) = core::str::from_utf8(input) {
        let _ = write!(
            sum,
            "{:?} {:?} {:?}",
            SocketName::from_path(text),
            PipeName::parse(text),
            text.parse::<Command>()
        );
    }
}
