//! Run an exchange with your own I/O: both sides of every flow (`spec/GUIDE.md`) as state machines
//! without I/O, clock or allocation.
//!
//! An exchange names its next action; the caller performs it on any socket, and reports the result.
#![cfg_attr(doc, doc = include_str!("../pictures/exchange.svg"))]
//!
//! # The run loop
//!
//! The contract is the same for every exchange:
//!
//! 1. Call `action()`. It returns the next action and changes nothing, however often it is called.
//! 2. Perform that action on your socket or pipe: blocking, polled or async, one byte at a time or
//!    all at once.
//! 3. Report the result with the method that belongs to the action. Any other method, 0 bytes, and
//!    more bytes than the action names are a [`MisuseError`] and change nothing.
//! 4. Lend the same buffer each time, all of it. Actions name ranges of it: the request is at its
//!    front, and the reply overwrites it. A number of bytes comes last: `sent(n)`,
//!    `received(buffer, n)`, `piece(buffer, n)`. What is written into the buffer comes before it:
//!    `respond(reply, buffer)`. A [`Session`] has no buffer: it is given the bytes.
//! 5. Never read more than `Receive` names. What follows belongs to the stream or the block after
//!    the reply. Where nothing follows it ([`Continuation::Close`]), you may read as much as fits
//!    behind, and report it in parts, each as long as the current range.
//! 6. A read or write that a signal interrupted (`EINTR`, `Interrupted`) is not reported: do it again. One that would block
//!    (`EAGAIN`, `WouldBlock`) is not reported either: wait until the socket is ready. On Unix, `WouldBlock` is also what a time
//!    limit of the socket gives (`SO_RCVTIMEO`); give up with [`Client::ended`] and [`End::TimedOut`].
//! 7. If a write fails, report it and go on reading: a server that refuses a request early closes
//!    without reading all of it, and its reply may be waiting.
//! 8. Report end of input too: closed, reset or timed out. Each has a named outcome.
//! 9. You own the timeouts: [`ReplyDeadline::of`] says how long a reply may take. Nothing here
//!    waits.
//! 10. `Finished` carries the outcome. [`Client::reply`] reads the reply from the buffer;
//!     [`AfterReply`] gives the state of the connection.
//! 11. After an error, drop the connection. Not every runtime closes it (F-5), so do not wait for
//!     that.
//!
//! ```
//! use std::io::{ErrorKind, Read, Write};
//! use dotnet_diagnostics_ipc::exchange::{AfterReply, Client, ClientAction, End, Outcome};
//! use dotnet_diagnostics_ipc::message::{Message, Reply, process::{EnablePerfMap, PerfMapType}};
//!
//! /// Goes on as far as the socket allows. `None`: it is not ready now, or its time limit is over. Call this again later, or
//! /// give up with `client.ended(End::TimedOut)`.
//! fn ask(client: &mut Client, buffer: &mut [u8], peer: &mut (impl Read + Write)) -> Result<Option<Outcome>, Box<dyn std::error::Error>> {
//!     loop {
//!         let done = match client.action() {
//!             ClientAction::Send(range) => peer.write(&buffer[range]),
//!             ClientAction::Receive(range) => peer.read(&mut buffer[range]),
//!             ClientAction::SendFd(_) => return Err("this loop has no descriptor to pass".into()),
//!             ClientAction::Finished(outcome) => return Ok(Some(outcome)),
//!         };
//!         let is_sending = matches!(client.action(), ClientAction::Send(_));
//!         match done {
//!             Ok(n @ 1..) if is_sending => client.sent(n)?,
//!             Ok(n @ 1..) => client.received(buffer, n)?,
//!             Err(error) if error.kind() == ErrorKind::Interrupted => {} // a signal: try again
//!             Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(None),
//!             Err(error) if error.kind() == ErrorKind::TimedOut => client.ended(End::TimedOut)?,
//!             Ok(_) | Err(_) if is_sending => client.send_failed()?,
//!             Ok(_) => client.ended(End::Closed)?,
//!             Err(_) => client.ended(End::Reset)?,
//!         }
//!     }
//! }
//!
//! // A peer in memory that reads and writes 5 bytes at a time, is interrupted, and once has nothing to read.
//! struct Peer(Vec<u8>, &'static [u8], Vec<ErrorKind>);
//! impl Write for Peer {
//!     fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> { self.0.write(&bytes[..bytes.len().min(5)]) }
//!     fn flush(&mut self) -> std::io::Result<()> { Ok(()) }
//! }
//! impl Read for Peer {
//!     fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
//!         if let Some(kind) = self.2.pop() {
//!             return Err(kind.into());
//!         }
//!         let n = into.len().min(5);
//!         self.1.read(&mut into[..n])
//!     }
//! }
//!
//! let reply = b"DOTNET_IPC_V1\0\x18\0\xff\0\0\0\0\0\0\0";
//! let mut peer = Peer(Vec::new(), reply, vec![ErrorKind::Interrupted, ErrorKind::WouldBlock]);
//! let mut buffer = [0; 256];
//! let mut client = Client::new(&EnablePerfMap { perf_map_type: PerfMapType::PERF_MAP }, &mut buffer)?;
//! assert_eq!(ask(&mut client, &mut buffer, &mut peer)?, None);
//! // It is ready now.
//! let outcome = ask(&mut client, &mut buffer, &mut peer)?.ok_or("not ready")?;
//! assert_eq!(peer.0, b"DOTNET_IPC_V1\0\x18\0\x04\x05\0\0\x03\0\0\0");
//! let Outcome::Ok { size, then: AfterReply::Close } = outcome else { panic!("{outcome:?}") };
//! let reply = Message::decode(&buffer[..size.into()])?.reply_as::<EnablePerfMap>()?;
//! assert!(matches!(reply, Reply::Ok(result) if result.hresult.is_success()));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # What is here
//!
//! | | |
//! |---|---|
//! | [`Client`] | the tool's side of one connection: request, descriptor, reply, and the state of the connection after it ([`AfterReply`]) |
//! | [`Server`] | the runtime's side of one connection: request, descriptor, reply, and what follows, in pieces |
//! | [`Session`] | a tracing session: its stream, and its stop on a second connection |
//! | [`ReplyDeadline`] | how long the reply to a command may take |
//! | [`fallback`] | the older command if the runtime does not know the newer one, and the fields that it drops |
//! | [`ConnectPort`] | the runtime's side of a diagnostic port: connect, advertise, wait, connect again |
//! | [`DiagnosticPort`], [`AdvertiseReceiver`] | the tool's side of one: reads advertises, holds the connections until they are used |
//!
//! # Limits
//!
//! Nothing here allocates, or sizes a buffer, by a number that the peer sent. The caller sets these limits on a peer:
//!
//! | limit | where | default |
//! |---|---|---|
//! | size of a message | the lent buffer: [`Outcome::BufferTooSmall`], [`ServerOutcome::BufferTooSmall`] | 65,535 is always enough |
//! | bytes of a stream | [`Session::streaming`] | none, the caller chooses: a session streams as long as it lasts |
//! | bytes and entries of an environment block | [`EnvironmentLimits`](crate::continuation::EnvironmentLimits) | 32 MiB, 65,536 |
//! | waiting connections of a port | [`DiagnosticPort`] | the number of lent slots, or the limit of a sorted port |
//!
//! [`Continuation::Close`]: crate::command::Continuation::Close
#![forbid(unsafe_code)]

pub mod diagnostic_port;
pub mod fallback;

mod advertise_receiver;
mod client;
mod connect_port;
mod framing;
mod outcome;
mod server;
mod session;

pub use client::{Client, ClientAction, RequestError};
pub use connect_port::{ConnectPort, ConnectPortAction};
pub use diagnostic_port::{AdvertiseAction, AdvertiseOutcome, AdvertiseReceiver, DiagnosticPort};
pub use outcome::{AfterReply, End, MisuseError, Outcome, ReplyDeadline};
pub use server::{KnownCommands, RefusalReason, RespondError, Server, ServerAction, ServerOutcome};
pub use session::{Session, SessionAction, SessionEnd, SessionOutcome, StopOutcome};
