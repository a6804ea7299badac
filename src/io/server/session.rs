//! Answers that include more than a reply.

use std::boxed::Box;
use std::fmt;
use std::io;
use std::string::String;
use std::vec::Vec;

use super::{HeldConnection, StreamWriter};
use crate::continuation::Entry;
use crate::hresult::HResult;

/// A session whose stream follows the reply.
///
/// ```
/// use dotnet_diagnostics_ipc::io::server::StreamSession;
///
/// let session = StreamSession::new(1, |stream| std::io::Write::write_all(stream, b"Nettrace"));
/// assert_eq!(session.session_id(), 1);
/// ```
pub struct StreamSession<'h> {
    session_id: u64,
    pub(super) stream: Stream<'h>,
}

type Stream<'h> = Box<dyn FnOnce(&mut StreamWriter<'_>) -> io::Result<()> + 'h>;

impl<'h> StreamSession<'h> {
    /// `stream` is called once the reply is sent, and writes the stream; the connection is closed
    /// when it returns. If the reply cannot be sent, it is dropped without a call.
    pub fn new(
        session_id: u64,
        stream: impl FnOnce(&mut StreamWriter<'_>) -> io::Result<()> + 'h,
    ) -> Self {
        Self { session_id, stream: Box::new(stream) }
    }

    /// The id of the reply.
    pub const fn session_id(&self) -> u64 {
        self.session_id
    }
}

impl fmt::Debug for StreamSession<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StreamSession")
            .field("session_id", &self.session_id)
            .finish_non_exhaustive()
    }
}

/// A `user_events` session, which lasts as long as its connection (F-23).
///
/// ```
/// use dotnet_diagnostics_ipc::io::server::HeldSession;
///
/// // Ends when the client hangs up.
/// let session = HeldSession::new(2, |connection| while let Ok(false) = connection.wait(None) {});
/// assert_eq!(session.session_id(), 2);
/// ```
pub struct HeldSession<'h> {
    session_id: u64,
    pub(super) hold: Hold<'h>,
}

type Hold<'h> = Box<dyn FnOnce(&mut HeldConnection<'_>) + 'h>;

impl<'h> HeldSession<'h> {
    /// `hold` is called once the reply is sent, and lasts as long as the session; the connection is
    /// closed when it returns. If the reply cannot be sent, it is dropped without a call.
    pub fn new(session_id: u64, hold: impl FnOnce(&mut HeldConnection<'_>) + 'h) -> Self {
        Self { session_id, hold: Box::new(hold) }
    }

    /// The id of the reply.
    pub const fn session_id(&self) -> u64 {
        self.session_id
    }
}

impl fmt::Debug for HeldSession<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HeldSession").field("session_id", &self.session_id).finish_non_exhaustive()
    }
}

/// The entries of an environment block.
///
/// ```
/// use dotnet_diagnostics_ipc::io::server::Entries;
///
/// let entries: Entries = ["HOME=/", "no equals sign"].into_iter().collect();
/// assert_eq!(entries.entries.len(), 2);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Entries<'h> {
    /// The entries to send, in this order.
    pub entries: Vec<Entry<'h>>,
    /// Interrupts the block with an error after this many of its bytes, like a runtime that fails
    /// while sending (F-43).
    pub broken_off: Option<(u32, HResult)>,
}

impl<'h, E: Into<Entry<'h>>> FromIterator<E> for Entries<'h> {
    fn from_iter<I: IntoIterator<Item = E>>(entries: I) -> Self {
        Self { entries: entries.into_iter().map(Into::into).collect(), broken_off: None }
    }
}

/// Why a request is refused; `GenerateCoreDump3` may include a text (F-50).
///
/// ```
/// use dotnet_diagnostics_ipc::hresult::HResult;
/// use dotnet_diagnostics_ipc::io::server::Refusal;
///
/// assert_eq!(Refusal::from(HResult::FAIL).message, None);
/// let refusal = Refusal { hresult: HResult::FAIL, message: Some("the disk is full".into()) };
/// assert_eq!(refusal.to_string(), "refused with 0x80004005 DS_IPC_E_FAIL: the disk is full");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The code.
    pub hresult: HResult,
    /// The text; `None` if the message ends with the code.
    pub message: Option<String>,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "refused with {}", self.hresult)?;
        self.message.as_ref().map_or(Ok(()), |message| write!(f, ": {message}"))
    }
}

impl std::error::Error for Refusal {}

impl From<HResult> for Refusal {
    fn from(hresult: HResult) -> Self {
        Self { hresult, message: None }
    }
}
