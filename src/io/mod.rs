//! Talk to real processes over sockets and pipes, with deadlines. Find runtimes, and check whom
//! you talk to.
//!
//! No other module of the crate does I/O. Everything here drives the state machines of
//! [`exchange`](crate::exchange); your own I/O can drive them too.
//!
//! | | |
//! |---|---|
//! | [`Client`] | a blocking client: one method per command, one connection per call. [`Client::info`] returns a [`RuntimeInfo`] |
//! | [`Connection`] | one request over one existing connection |
//! | [`Trace`], [`StopHandle`] | the stream of a session, and its stop from another thread |
//! | [`Endpoint`] | a process, a socket, a pipe or a TCP address. A call finds it ([`discovery`]) and checks its owner ([`trust`]) before it sends a byte |
//! | [`Deadlines`], [`Canceller`] | time limits for each phase, and early cancellation |
//! | [`port_listener`] | a diagnostic port: accepts runtimes, without a thread for each |
//! | [`server`] | the runtime's side: a [`Handler`](server::Handler) with one method per command |
//! | `AsyncClient` | the client over tokio, with the feature `tokio`; sessions and stops work with both clients, and on Unix ports |
//! | [`Transport`], [`Stream`] | the trait of a connection; a transport over anything that implements `Read` and `Write` |
//! | [`WaitLimit`] | a deadline and a canceller; on Unix it also waits for a descriptor |
//! | `fd` | on Unix, passes file descriptors over a socket |
//!
//! # Example
//!
//! This example asks a process for information, and traces it for a while:
//!
//! ```no_run
//! use dotnet_diagnostics_ipc::io::{Client, Endpoint};
//! # use dotnet_diagnostics_ipc::message::eventpipe::{CollectTracing2, EventLevel, Format, ProviderConfig};
//! # use dotnet_diagnostics_ipc::wire::Array;
//! # let providers = [ProviderConfig::new("Microsoft-Windows-DotNETRuntime", 1, EventLevel::INFORMATIONAL)];
//! # let request =
//! #     CollectTracing2 { circular_buffer_mb: 256, format: Format::NET_TRACE, request_rundown: true, providers: Array::new(&providers) };
//!
//! let client = Client::new(Endpoint::process(12345));
//! let info = client.info()?;
//! println!("{} runs {}", info.process_id, info.command_line);
//! let mut trace = client.trace(&request)?;
//! let stop_handle = trace.stop_handle(&client);
//! std::thread::spawn(move || {
//!     std::thread::sleep(std::time::Duration::from_secs(10));
//!     stop_handle.stop()
//! });
//! std::io::copy(&mut trace, &mut std::fs::File::create("12345.nettrace")?)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod discovery;
#[cfg(unix)]
pub mod fd;
pub mod port_listener;
pub mod server;
pub mod trust;
#[cfg(windows)]
pub mod windows;

mod client;
mod connection;
mod endpoint;
mod environment;
mod error;
#[cfg(unix)]
mod private_socket;
mod tcp;
#[cfg(feature = "tokio")]
mod tokio;
mod trace;
mod transport;
#[cfg(unix)]
mod unix;
#[cfg(unix)]
mod user_events;
mod wait;

#[cfg(feature = "tokio")]
pub use self::tokio::{AsyncClient, AsyncConnect, EndpointStream};
pub use client::{Client, RuntimeInfo};
pub use connection::{Answer, Connect, Connection};
pub use endpoint::Endpoint;
pub use environment::EnvironmentBlock;
pub use error::{Error, ErrorKind, Phase};
#[cfg(unix)]
pub use private_socket::{SocketGuard, bind_private, bind_trusting};
pub use tcp::bind_tcp;
pub use trace::{StopHandle, Trace};
pub use transport::{Stream, Transport};
#[cfg(unix)]
pub use unix::SocketTransport;
#[cfg(unix)]
pub use user_events::UserEvents;
pub use wait::{Canceller, Deadlines, ReplyWithin, WaitLimit};
