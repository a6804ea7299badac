//! Serve the protocol over real sockets: a handler with a method for each command, served with
//! deadlines.
//!
//! Unlike a runtime, a server of this module does not block forever on half a request (F-6), or on
//! a client that does not read. It answers errors as runtimes do.
//!
//! | | |
//! |---|---|
//! | [`Handler`] | the server's implementation |
//! | [`serve`] | many clients: a thread each, or one after another as in runtimes ([`ServeOptions::most_at_once`]) |
//! | [`serve_connection`] | one connection of any kind |
//! | [`StreamSession`], [`HeldSession`], [`Entries`] | what follows a reply |
//! | [`Listen`], [`ServerTransport`] | sources of connections, and connections |
//!
//! ```
//! use std::os::unix::net::UnixListener;
//! use dotnet_diagnostics_ipc::exchange::{Client, ClientAction, Outcome};
//! use dotnet_diagnostics_ipc::hresult::HResult;
//! use dotnet_diagnostics_ipc::io::server::{Handler, ServeOptions, StreamSession, serve};
//! use dotnet_diagnostics_ipc::io::Canceller;
//! use dotnet_diagnostics_ipc::message::eventpipe::{CollectTracing2, EventLevel, Format, ProviderConfig};
//! use dotnet_diagnostics_ipc::wire::Array;
//! use std::io::{Read as _, Write as _};
//!
//! struct Runtime;
//! impl Handler for Runtime {
//!     fn collect_tracing2(&self, _: CollectTracing2<'_>) -> Result<StreamSession<'_>, HResult> {
//!         Ok(StreamSession::new(1, |stream| stream.write_all(b"Nettrace")))
//!     }
//! }
//!
//! let directory = tempfile::tempdir()?;
//! let path = directory.path().join("socket");
//! let (listener, shutdown) = (UnixListener::bind(&path)?, Canceller::new()?);
//! let stream = std::thread::scope(|scope| {
//!     scope.spawn(|| serve(&listener, &Runtime, &ServeOptions::DEFAULT, &shutdown));
//!     let mut socket = std::os::unix::net::UnixStream::connect(&path)?;
//!     let providers = [ProviderConfig::new("Provider", 0, EventLevel::VERBOSE)];
//!     let request = CollectTracing2 {
//!         circular_buffer_mb: 1, format: Format::NET_TRACE, request_rundown: false, providers: Array::new(&providers),
//!     };
//!     let mut buffer = [0; 256];
//!     let mut client = Client::new(&request, &mut buffer)?;
//!     loop {
//!         match client.action() {
//!             ClientAction::Send(range) => client.sent(socket.write(&buffer[range])?)?,
//!             ClientAction::Receive(range) => { let n = socket.read(&mut buffer[range])?; client.received(&buffer, n)? }
//!             ClientAction::Finished(Outcome::Ok { .. }) => break,
//!             other => panic!("{other:?}"),
//!         }
//!     }
//!     let mut stream = Vec::new();
//!     socket.read_to_end(&mut stream)?;
//!     shutdown.cancel();
//!     Ok::<_, Box<dyn std::error::Error>>(stream)
//! })?;
//! assert_eq!(stream, b"Nettrace");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod answer;
mod connection;
mod gate;
mod handler;
mod listen;
mod options;
mod serve;
mod session;
mod writer;

pub use connection::serve_connection;
pub use handler::Handler;
pub use listen::{Listen, ServerTransport};
pub use options::{ServeOptions, Served};
pub use serve::{serve, serve_with};
pub use session::{Entries, HeldSession, Refusal, StreamSession};
pub use writer::{HeldConnection, StreamWriter};
