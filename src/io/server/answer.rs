//! The handler's answer to a request.

use super::{Entries, HeldSession, Refusal, StreamSession};
use crate::message::AnyReply;

/// A received descriptor, on systems that support it.
#[cfg(unix)]
pub(super) type Passed = Option<std::os::fd::OwnedFd>;
#[cfg(not(unix))]
pub(super) type Passed = Option<core::convert::Infallible>;

/// The handler's answer.
pub(super) enum Answer<'h> {
    Reply(AnyReply<'h>),
    Environment(Entries<'h>),
    Stream(StreamSession<'h>),
    // Impossible on systems without descriptors.
    #[cfg_attr(not(unix), allow(dead_code))]
    Held(HeldSession<'h>),
    Refused(Refusal),
}
