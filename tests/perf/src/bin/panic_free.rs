//! `panic_free.py` searches the machine code of this program for panics. The program passes its
//! standard input through every decoder and through both sides of an exchange, so that all of them
//! are linked in; its exit status depends on all results.

#![no_std]
#![no_main]

use core::ffi::{c_char, c_int};
use core::fmt::{self, Debug, Display, Write as _};
use core::ops::Range;

use dotnet_diagnostics_ipc::exchange::{ClientAction, ClientExchange, End, Server, ServerAction};
use dotnet_diagnostics_ipc::message::{Message, process::ProcessInfo3};
use dotnet_diagnostics_ipc::user_events::{Record, TracepointCommand, UserReg, WrittenRecord};
use dotnet_diagnostics_ipc::{advertise::Advertise, command::Command, header::Header};
use dotnet_diagnostics_ipc::{continuation::*, endpoint::*, legacy::*, port::Ports, wire::Reader};

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
        self.0 = text.bytes().fold(self.0, |sum, byte| sum.wrapping_mul(31) ^ u64::from(byte));
        Ok(())
    }
}

static mut INPUT: [u8; 65_536] = [0; 65_536];

#[unsafe(no_mangle)]
extern "C" fn main(_argc: c_int, _argv: *const *const c_char) -> c_int {
    // SAFETY: There is one thread, and nothing else refers to the buffer.
    let buffer = unsafe { &mut *(&raw mut INPUT) };
    // SAFETY: `read` writes at most the length of the buffer.
    let n = unsafe { read(0, buffer.as_mut_ptr(), buffer.len()) };
    let n = usize::try_from(n).unwrap_or(0);
    let Some((input, rest)) = buffer.split_at_mut_checked(n) else { return 1 };
    let mut sum = Sum(0);
    decode(input, rest, &mut sum);
    converse(input, rest, &mut sum);
    (sum.0 & 0x7f) as c_int
}

/// Prints a value or an error, so that all parts of it are read.
fn show<T: Debug, E: Display>(sum: &mut Sum, result: Result<T, E>) {
    let _ = match result {
        Ok(value) => write!(sum, "{value:?}"),
        Err(error) => write!(sum, "{error}"),
    };
}

/// Decodes the input as everything that it can be.
fn decode(input: &[u8], buffer: &mut [u8], sum: &mut Sum) {
    show(sum, Header::decode(input));
    show(sum, Advertise::decode(input));
    show(sum, Environment::decode(input));
    show(sum, TracepointCommand::parse(input));
    show(sum, UserReg::decode(&mut Reader::new(input)));
    show(sum, OldReply::decode_64(input));
    show(sum, ProcessStat::parse(input));
    let _ = write!(sum, "{:?}", StreamStart::recognise(input));
    if let Ok((message, _)) = Message::decode_prefix(input) {
        show(sum, message.request());
        show(sum, message.request().map_or(Ok(()), |request| request.check_limits()));
        Command::known().for_each(|command| show(sum, message.reply_to(Some(command))));
    }
    let written = WrittenRecord::decode(&mut Reader::new(input));
    if let Ok(Record::V1(record)) = written.map(|written| written.record) {
        show(sum, record.extension());
    }
    if let Ok(text) = core::str::from_utf8(input) {
        let (socket, pipe) = (SocketName::from_path(text), PipeName::parse(text));
        let _ = write!(sum, "{socket:?} {pipe:?} {:?}", text.parse::<Command>());
        Ports::new(text).for_each(|port| show(sum, Ok::<_, fmt::Error>(port)));
    }
    let mut decoder = EnvironmentDecoder::new(u32::try_from(input.len()).unwrap_or(0), buffer);
    let mut rest = input;
    while let Ok(Some(event)) = decoder.decode(&mut rest) {
        let _ = write!(sum, "{event:?}");
    }
    show(sum, decoder.finish());
}

/// Returns how many bytes of the input are received within a range.
fn available(input: &[u8], range: Range<usize>) -> usize {
    input.len().min(range.end).saturating_sub(range.start)
}

/// Plays both sides of an exchange, which receive the input.
fn converse(input: &[u8], buffer: &mut [u8], sum: &mut Sum) {
    let (mut server, mut is_ok) = (Server::new(), true);
    while let (true, ServerAction::Receive(range)) = (is_ok, server.action()) {
        is_ok = match available(input, range) {
            0 => server.ended(End::Closed).is_ok(),
            n => server.received(input, n).is_ok(),
        };
    }
    let _ = write!(sum, "{:?} {:?}", server.action(), server.request(input));
    let Ok(mut client) = ClientExchange::new(&ProcessInfo3 {}, buffer) else { return };
    is_ok = true;
    while is_ok {
        is_ok = match client.action() {
            ClientAction::Send(range) => client.sent(range.len()).is_ok(),
            ClientAction::Receive(range) => match available(input, range) {
                0 => client.ended(End::Closed).is_ok(),
                n => client.received(input, n).is_ok(),
            },
            ClientAction::SendFd(_) => client.fd_sent().is_ok(),
            ClientAction::Finished(outcome) => return show(sum, Ok::<_, fmt::Error>(outcome)),
        };
    }
}
