//! Real sockets and pipes: the exchanges with deadlines, and what a tool needs to find a runtime and trust it.
//!
//! The only place in the crate that does I/O. Everything here drives the state machines of [`exchange`](crate::exchange); any
//! other kind of I/O can do the same.
//!
//! | | |
//! |---|---|
//! | [`Client`] | asks a runtime: one method a command, one connection a call |
//! | [`Connection`] | one request over one connection that is there already |
//! | [`Trace`], [`Stopper`] | the stream of a session, and its stop from another thread |
//! | [`Endpoint`] | a process, a socket, a pipe; found ([`discovery`]) and looked at ([`trust`]) before a byte is sent |
//! | [`Deadlines`], [`Canceller`] | how long each phase may take, and what ends it early |
//! | [`port_listener`] | a diagnostic port: the runtimes that connect to it, without a thread for each |
//! | [`server`] | the runtime's side: a [`Handler`](server::Handler) with a method a command |
//! | `AsyncClient`, `AsyncConnection`, `AsyncTrace`, `AsyncStopper` | the same over tokio, with feature `tokio` |
//! | [`Transport`], [`Stream`] | what an exchange needs of a connection; anything that reads and writes will do |

pub mod discovery;
pub mod port_listener;
pub mod server;
pub mod trust;
#[cfg(windows)]
pub mod windows;

mod answer;
mod canceller;
mod client;
mod commands;
mod connect;
mod connection;
mod deadlines;
mod drive;
mod endpoint;
mod environment;
mod error;
#[cfg(unix)]
mod listening_path;
mod session;
mod stopper;
#[cfg(feature = "tokio")]
mod tokio;
mod trace;
mod transport;
#[cfg(unix)]
pub(crate) mod unix;
#[cfg(unix)]
mod unix_address;
#[cfg(unix)]
pub(crate) mod unix_fd;
#[cfg(unix)]
mod user_events;

#[cfg(feature = "tokio")]
pub use self::tokio::{AsyncClient, AsyncConnect, AsyncConnection, AsyncStopper, AsyncTrace};
pub use answer::Answer;
pub use canceller::Canceller;
pub use client::Client;
pub use connect::Connect;
pub use connection::Connection;
pub use deadlines::{Deadlines, ReplyWithin};
pub use endpoint::Endpoint;
pub use environment::EnvironmentBlock;
pub use error::{Error, ErrorKind, Phase};
#[cfg(unix)]
pub use listening_path::{UnlinkOnDrop, bind_private};
pub use stopper::Stopper;
pub use trace::Trace;
pub use transport::{Stopped, Stream, Transport, Until};
#[cfg(unix)]
pub use unix::UnixTransport;
#[cfg(unix)]
pub use user_events::UserEvents;
