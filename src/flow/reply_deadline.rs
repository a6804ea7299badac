//! How long a reply may take.

use core::time::Duration;

/// How long a client should wait for the reply, from the end of its request.
///
/// ```
/// use core::time::Duration;
/// use dotnet_diagnostics_ipc::{command::Command, flow::{Deadline, Flow}};
///
/// let flow = Flow::of(Command::ATTACH_PROFILER, None).unwrap();
/// assert_eq!(flow.reply, Deadline::AttachTimeoutAnd(Duration::from_secs(5)));
/// ```
///
/// The document only says that a client must survive a server that does not answer; the figures are ours. A server answers one
/// client at a time (F-75), so every one of them is for a runtime that is otherwise idle.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Deadline {
    /// This long.
    Within(Duration),
    /// The request's own `attachTimeout`, and this long.
    AttachTimeoutAnd(Duration),
    /// This long after the stream has been read to its end: before that the runtime does not answer (F-75, F-76).
    OnceDrained(Duration),
}
