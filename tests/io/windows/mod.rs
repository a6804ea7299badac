//! Named pipes of Windows: both ends in one process, and the exchanges over them.
//!
//! Run under wine with a build for `x86_64-pc-windows-gnu`; `src/io/windows/mod.rs` lists what wine
//! cannot show. Times have only lower bounds: how late a wait ends depends on the scheduler.

mod exchanges;
mod listener;
mod port;
mod runtime_habits;
mod transport;

use std::time::{Duration, Instant};

use dotnet_diagnostics_ipc::io::windows::{PipeListener, PipeTransport};
use dotnet_diagnostics_ipc::io::{Transport, WaitLimit};

/// A time that is longer than anything here takes.
const PATIENCE: Duration = Duration::from_secs(30);
const SHORT: Duration = Duration::from_millis(120);

/// A name for each test: they run side by side.
fn name(test: &str) -> String {
    format!("dotnet-diagnostics-ipc-test-{}-{test}", std::process::id())
}

fn patience() -> WaitLimit<'static> {
    within(PATIENCE)
}

fn within(time: Duration) -> WaitLimit<'static> {
    WaitLimit { deadline: Some(Instant::now() + time), ..WaitLimit::FOREVER }
}

/// Runs a server and a client.
fn pair(test: &str) -> (PipeTransport, PipeTransport) {
    let mut listener = PipeListener::bind(&name(test)).unwrap();
    let client = PipeTransport::connect(&name(test), &patience()).unwrap();
    (listener.accept(&patience()).unwrap(), client)
}

fn send_all(pipe: &mut impl Transport, mut bytes: &[u8]) {
    while !bytes.is_empty() {
        let count = pipe.send(bytes, &patience()).unwrap();
        assert!(count > 0);
        bytes = &bytes[count..];
    }
}

/// All bytes that arrive, in reads of at most so many bytes.
fn receive_all(pipe: &mut PipeTransport, most: usize) -> Vec<u8> {
    let (mut all, mut buffer) = (Vec::new(), vec![0; most]);
    loop {
        match pipe.receive(&mut buffer, &patience()).unwrap() {
            0 => return all,
            count => all.extend_from_slice(&buffer[..count]),
        }
    }
}

/// Bytes that show their own position.
fn pattern(len: usize) -> Vec<u8> {
    (0..len).map(|i| u8::try_from((i * 7 + i / 251) % 256).unwrap()).collect()
}
