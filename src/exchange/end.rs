//! How a connection ended.

use core::fmt;

/// How a connection ended, as reported by the caller's socket.
///
/// ```
/// use dotnet_diagnostics_ipc::exchange::{Client, ClientAction, End, Outcome};
/// use dotnet_diagnostics_ipc::message::process::ProcessInfo2;
///
/// let mut buffer = [0; 512];
/// let mut client = Client::new(&ProcessInfo2 {}, &mut buffer)?;
/// client.sent(20)?;
/// client.ended(End::Closed)?;
/// assert_eq!(client.action(), ClientAction::Finished(Outcome::NoReply { end: End::Closed, request_sent: true }));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum End {
    /// A read returned 0 bytes: the peer has closed, or sends no more.
    Closed,
    /// A read failed, usually with `ECONNRESET`: the peer closed with unread bytes (F-70), or died.
    Reset,
    /// Nothing arrived within the caller's time limit. A stopped runtime, or one busy with another
    /// client, looks like this (F-75).
    TimedOut,
}

impl End {
    /// Its name: `closed`, `reset`, `timed_out`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Closed => "closed",
            Self::Reset => "reset",
            Self::TimedOut => "timed_out",
        }
    }
}

impl fmt::Display for End {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Closed => "the connection was closed",
            Self::Reset => "the connection was reset",
            Self::TimedOut => "timed out",
        })
    }
}
