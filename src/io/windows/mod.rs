//! Named pipes, on both sides, with deadlines.
//!
//! | | |
//! |---|---|
//! | [`PipeTransport`] | one end of a connected pipe |
//! | [`PipeListener`] | a pipe that clients connect to |
//!
//! A pipe is in byte mode, takes no remote clients, and has buffers of 16 KiB, as that of a runtime has (F-62). There is no
//! half-close on a pipe, and no descriptor passes through one.
//!
//! # What wine cannot show
//!
//! The tests run under wine 8. It does what Windows documents where these calls read, write, wait and cancel; the rest is taken
//! from that documentation:
//!
//! - A client on another machine is refused (`PIPE_REJECT_REMOTE_CLIENTS`).
//! - A server learns who a client is, and cannot act in its name (`SECURITY_SQOS_PRESENT | SECURITY_IDENTIFICATION`).
//! - A pipe of a name that is taken cannot be made (`FILE_FLAG_FIRST_PIPE_INSTANCE`): wine does not look at this. The test of it is
//!   ignored there, and meant for Windows.
//! - A write of no bytes is a read of no bytes at the other end, which is not its end. Under wine such a write is nothing at all.
//! - How much of a write went out that is cancelled: the documentation does not say, so nothing more can be sent then.
//! - Who may open a pipe: this user, administrators and the system. Under wine there is one user.
mod event;
mod handle;
mod listener;
mod path;
mod pipe;
mod turn;
mod user;
mod watched;

pub(super) use event::Event;
pub(super) use handle::{server_process_id, wait_for_either};
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
