//! Numbers of bytes in texts.

use std::fmt;

/// `1 byte`, `2 bytes`.
#[derive(Clone, Copy)]
pub(crate) struct ByteCount(pub(crate) usize);

impl fmt::Display for ByteCount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ending = if self.0 == 1 { "" } else { "s" };
        write!(f, "{} byte{ending}", self.0)
    }
}
