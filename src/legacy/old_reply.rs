//! Replies of the previous protocol.

use crate::wire::{Decode as _, Encode, EncodeError, Field, Reader, Sink, WireError};

/// How many bits the session id of an [`OldReply`] has. No edition gives it.
///
/// ```
/// use dotnet_diagnostics_ipc::legacy::SessionIdWidth;
///
/// assert_eq!((SessionIdWidth::Bits32.bytes(), SessionIdWidth::Bits64.bytes()), (4, 8));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SessionIdWidth {
    /// 4 bytes, as "control is handled via `uint32` enum values" may be read.
    Bits32,
    /// 8 bytes, as in sources of that time.
    Bits64,
}

impl SessionIdWidth {
    /// 4 or 8.
    pub const fn bytes(self) -> usize {
        match self {
            Self::Bits32 => 4,
            Self::Bits64 => 8,
        }
    }
}

/// The reply of the old protocol to each [`OldRequest`](super::OldRequest): a bare session id,
/// without header.
///
/// | bytes | what |
/// |---|---|
/// | 4 or 8 | session id, little-endian; 0 is an error, and the runtime closes |
///
/// The bytes do not show the width, so the caller gives it.
///
/// ```
/// use dotnet_diagnostics_ipc::legacy::{OldReply, SessionIdWidth};
///
/// // Eight bytes, and the first of the stream.
/// let (reply, stream) = OldReply::decode_prefix(b"\x07\0\0\0\0\0\0\0N", SessionIdWidth::Bits64)?;
/// assert_eq!((reply.session_id(), stream), (Some(7), &b"N"[..]));
/// assert_eq!(OldReply::new_32(0).session_id(), None);
/// # Ok::<(), dotnet_diagnostics_ipc::wire::WireError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OldReply(Id);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Id {
    Bits32(u32),
    Bits64(u64),
}

impl OldReply {
    /// A reply of 4 bytes; an id of 0 is the error.
    pub const fn new_32(session_id: u32) -> Self {
        Self(Id::Bits32(session_id))
    }

    /// A reply of 8 bytes; an id of 0 is the error.
    pub const fn new_64(session_id: u64) -> Self {
        Self(Id::Bits64(session_id))
    }

    /// Reads the reply at the front of `bytes`. Also returns the rest, which belongs to the stream.
    ///
    /// # Errors
    /// [`UnexpectedEnd`](crate::wire::WireErrorKind::UnexpectedEnd) if there are fewer bytes than
    /// `width`.
    pub fn decode_prefix(bytes: &[u8], width: SessionIdWidth) -> Result<(Self, &[u8]), WireError> {
        let mut reader = Reader::new(bytes);
        let id = match width {
            SessionIdWidth::Bits32 => u32::decode(&mut reader).map(Id::Bits32),
            SessionIdWidth::Bits64 => u64::decode(&mut reader).map(Id::Bits64),
        };
        Ok((Self(id.map_err(|error| error.within(Field::SessionId))?), reader.rest()))
    }

    /// The session; `None` if the reply is the error.
    pub fn session_id(self) -> Option<u64> {
        let id = match self.0 {
            Id::Bits32(id) => id.into(),
            Id::Bits64(id) => id,
        };
        (id != 0).then_some(id)
    }

    /// The width of the id.
    pub const fn width(self) -> SessionIdWidth {
        match self.0 {
            Id::Bits32(_) => SessionIdWidth::Bits32,
            Id::Bits64(_) => SessionIdWidth::Bits64,
        }
    }
}

impl Encode for OldReply {
    fn encode<S: Sink + ?Sized>(&self, sink: &mut S) -> Result<(), EncodeError> {
        match self.0 {
            Id::Bits32(id) => id.encode(sink),
            Id::Bits64(id) => id.encode(sink),
        }
    }
}
