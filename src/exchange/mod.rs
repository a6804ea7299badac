//! Run an exchange over your own I/O. Both sides of every flow in `spec/GUIDE.md` are state machines
//! that do no I/O, read no clock and allocate nothing.
//!
//! An exchange names its next action. The caller performs it on any socket and reports the result.
#![cfg_attr(doc, doc = include_str!("../pictures/exchange.svg"))]
//!
//! # The run loop
//!
//! The contract is the same for every exchange:
//!
//! 1. Call `action()`. It returns the next action and changes nothing, however often it is called.
//! 2. Perform that action on your socket or pipe: blocking, polled or async, one byte at a time or
//!    all at once.
//! 3. Report the result with the method that belongs to the action. Any other method, a count of 0,
//!    and a count larger than the action's range return a [`MisuseError`] and change nothing.
//! 4. Pass the same buffer each time, and all of it. Actions name ranges of it: the request is at the front,
//!    and the reply overwrites the request. A byte count is the last argument: `sent(n)`,
//!    `received(buffer, n)`, `piece(buffer, n)`. A value to encode comes before the buffer:
//!    `respond(reply, buffer)`. A [`Session`] has no buffer and takes the bytes themselves.
//! 5. Never read more than the range of `Receive`, because the bytes after it belong to the stream or
//!    block that follows the reply. Only if nothing follows the reply ([`Continuation::Close`]) may you fill
//!    the rest of the buffer in one read. Report those bytes in parts, each at most as long as the
//!    current range.
//! 6. If a signal interrupts a read or write (`EINTR`, `Interrupted`), report nothing and try again.
//!    If it would block (`EAGAIN`, `WouldBlock`), report nothing and wait until the socket is ready.
//!    On Unix, a read also fails with `WouldBlock` when the socket's own timeout (`SO_RCVTIMEO`)
//!    expires; give up with [`ClientExchange::ended`] and [`End::TimedOut`].
//! 7. If a write fails, report it and continue with reading. A server that refuses a request early
//!    closes the connection without reading the rest, and its reply may be waiting.
//! 8. Report the end of input too: closed, reset or timed out. Each has its own outcome.
//! 9. Apply timeouts yourself, because an exchange has no clock. [`ReplyDeadline::of`] returns how long a reply
//!    may take.
//! 10. `Finished` carries the outcome. [`ClientExchange::reply`] reads the reply from the buffer;
//!     [`AfterReply`] gives the state of the connection.
//! 11. After an error, drop the connection. Do not wait for the runtime to close it, because some
//!     runtimes keep it open (F-5).
//!
//! ```
//! use std::io::{ErrorKind, Read, Write};
//! use dotnet_diagnostics_ipc::exchange::{AfterReply, ClientExchange, ClientAction, End, Outcome};
//! use dotnet_diagnostics_ipc::message::{Message, Reply, process::{EnablePerfMap, PerfMapType}};
//!
//! /// Continues as far as the socket allows. Returns `None` if the socket is not ready or has timed
//! /// out: call it again later, or give up with `client.ended(End::TimedOut)`.
//! fn ask(client: &mut ClientExchange, buffer: &mut [u8], peer: &mut (impl Read + Write)) -> Result<Option<Outcome>, Box<dyn std::error::Error>> {
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
//! // An in-memory peer that moves 5 bytes at a time. One read would block, and one is interrupted.
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
//! let mut client = ClientExchange::new(&EnablePerfMap { perf_map_type: PerfMapType::PERF_MAP }, &mut buffer)?;
//! assert_eq!(ask(&mut client, &mut buffer, &mut peer)?, None);
//! // Now the socket is ready.
//! let outcome = ask(&mut client, &mut buffer, &mut peer)?.ok_or("not ready")?;
//! assert_eq!(peer.0, b"DOTNET_IPC_V1\0\x18\0\x04\x05\0\0\x03\0\0\0");
//! let Outcome::Ok { size, then: AfterReply::Close } = outcome else { panic!("{outcome:?}") };
//! let reply = Message::decode(&buffer[..size.into()])?.reply_as::<EnablePerfMap>()?;
//! assert!(matches!(reply, Reply::Ok(result) if result.hresult.is_success()));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Types
//!
//! | | |
//! |---|---|
//! | [`ClientExchange`] | the tool's side of one connection: request, descriptor, reply, and the state of the connection after it ([`AfterReply`]) |
//! | [`Server`] | the runtime's side of one connection: request, descriptor, reply, and what follows, in pieces |
//! | [`Session`] | a tracing session: its stream, and its stop on a second connection |
//! | [`ReplyDeadline`] | how long the reply to a command may take |
//! | [`fallback`] | the older command to send if the runtime lacks the newer one, and the fields that are lost |
//! | [`ConnectPort`] | the runtime's side of a diagnostic port: connect, advertise, wait, connect again |
//! | [`DiagnosticPort`], [`AdvertiseReceiver`] | the tool's side of a diagnostic port: reads advertises, holds connections until they are used |
//!
//! # Limits
//!
//! No number that the peer sends sizes an allocation or a buffer. The caller limits the peer:
//!
//! | limit | where | default |
//! |---|---|---|
//! | size of a message | the lent buffer: [`Outcome::BufferTooSmall`], [`ServerOutcome::BufferTooSmall`] | 65,535 is always enough |
//! | bytes of a stream | [`Session::streaming`] | none; the caller chooses, because a session streams until it stops |
//! | bytes and entries of an environment block | [`EnvironmentLimits`](crate::continuation::EnvironmentLimits) | 32 MiB, 65,536 |
//! | waiting connections of a port | [`DiagnosticPort`] | the number of lent slots, or the limit that `DiagnosticPort::sorted` is given |
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

pub use client::{ClientAction, ClientExchange, RequestError};
pub use connect_port::{ConnectPort, ConnectPortAction};
pub use diagnostic_port::{AdvertiseAction, AdvertiseOutcome, AdvertiseReceiver, DiagnosticPort};
pub use outcome::{AfterReply, End, MisuseError, Outcome, ReplyDeadline};
pub use server::{KnownCommands, RefusalReason, RespondError, Server, ServerAction, ServerOutcome};
pub use session::{Session, SessionAction, SessionEnd, SessionOutcome, StopOutcome};
