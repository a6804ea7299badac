//! Named pipes, on both sides, with deadlines.
//!
//! | | |
//! |---|---|
//! | [`PipeTransport`] | one end of a connected pipe |
//! | [`PipeListener`] | a pipe that clients connect to |
//!
//! A pipe is in byte mode, accepts no remote clients, and has buffers of 16 KiB, like a runtime's
//! (F-62). A pipe has no half-close, and cannot pass descriptors.
//!
//! # Not tested under wine
//!
//! The tests run under wine 8. It behaves as documented by Windows where these calls read, write,
//! wait and cancel; the rest is taken from that documentation:
//!
//! - A client on another machine is refused (`PIPE_REJECT_REMOTE_CLIENTS`).
//! - A server can identify a client, but not impersonate it (`SECURITY_SQOS_PRESENT |
//!   SECURITY_IDENTIFICATION`).
//! - A pipe whose name is in use cannot be created (`FILE_FLAG_FIRST_PIPE_INSTANCE`): wine ignores
//!   this. Its test is ignored there, and meant for Windows.
//! - A write of 0 bytes is a read of 0 bytes at the other end, not the end of the input. Under wine
//!   such a write does nothing.
//! - How much of a cancelled write was sent: this is undocumented, so nothing more can be sent
//!   then.
//! - Who may open a pipe: this user, administrators and the system. Under wine there is one user.
//! # Example
//!
//! Connect two ends of a pipe:
//!
//! ```no_run
//! use dotnet_diagnostics_ipc::io::Until;
//! use dotnet_diagnostics_ipc::io::windows::{PipeListener, PipeTransport};
//!
//! let mut listener = PipeListener::bind("dotnet-diagnostic-4242")?;
//! let mut client = PipeTransport::connect("dotnet-diagnostic-4242", &Until::FOREVER)?;
//! let mut server = listener.accept(&Until::FOREVER)?;
//! # Ok::<(), dotnet_diagnostics_ipc::io::Error>(())
//! ```

mod event;
mod handle;
mod listener;
mod path;
mod pipe;
mod turn;
mod user;
mod watched;

pub(super) use event::Event;
pub(super) use handle::server_process_id;
pub use listener::PipeListener;
pub(super) use listener::PipeMaker;
pub use pipe::PipeTransport;
pub(super) use user::Sid;
pub(super) use watched::Watched;
#[cfg(feature = "tokio")]
pub(super) use {
    path::PipePath,
    pipe::{opened, wait_until_free},
    turn::in_turn,
};
