//! Errors with their kind, offset, path, layer, and a server's answer.

use core::fmt;

use super::field::Field;
use super::path::{Path, Root, clamp};
use crate::hresult::HResult;

/// Where the fault lies: in the frame, the header, the payload, the limits or the reply code. The `layer` of the vectors, and the only part of
/// an error that other implementations must match.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Layer {
    /// The bytes end too early, or `size` is impossible.
    Transport,
    /// Magic or command code.
    Header,
    /// The grammar of the payload.
    Payload,
    /// The bytes decode, but a server refuses the values (F-16).
    Limits,
    /// A server's message is not a reply.
    Reply,
}

impl Layer {
    /// The name in the vectors: `"transport"`, `"header"`, `"payload"`, `"limits"`, `"reply"`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Transport => "transport",
            Self::Header => "header",
            Self::Payload => "payload",
            Self::Limits => "limits",
            Self::Reply => "reply",
        }
    }
}

impl fmt::Display for Layer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The kind of a [`WireError`]. Sealed.
///
/// | kind | error |
/// |---|---|
/// | [`DecodeErrorKind`](super::DecodeErrorKind) | [`DecodeError`](super::DecodeError) |
/// | [`LimitKind`](super::LimitKind) | [`LimitError`](super::LimitError) |
/// | [`EnvironmentErrorKind`](crate::continuation::EnvironmentErrorKind) | [`EnvironmentError`](crate::continuation::EnvironmentError) |
/// | [`UserEventsErrorKind`](crate::user_events::UserEventsErrorKind) | [`UserEventsError`](crate::user_events::UserEventsError) |
pub trait WireErrorKind: Copy + fmt::Display + sealed::Sealed {
    /// The layer of this kind of fault.
    fn layer(self) -> Layer;
    /// The name in the vectors, such as `"missing_terminator"`.
    fn name(self) -> &'static str;
    /// The HRESULT that a server answers to a request with this fault.
    fn hresult(self) -> HResult;
}

pub(crate) mod sealed {
    pub trait Sealed {}
}

/// An error with its kind, its byte offset and the path of the field. `Copy`, and no larger than 32
/// bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WireError<K> {
    kind: K,
    offset: u32,
    path: Path,
}

impl<K: WireErrorKind> WireError<K> {
    #[doc(hidden)]
    pub fn new(kind: K, offset: usize) -> Self {
        Self { kind, offset: clamp(offset), path: Path::EMPTY }
    }

    /// What is wrong.
    pub const fn kind(&self) -> K {
        self.kind
    }

    /// Offset in bytes from the start of the message, or of the decoded piece.
    pub const fn offset(&self) -> usize {
        self.offset as usize
    }

    /// The path of the field from the message's name.
    pub const fn path(&self) -> Path {
        self.path
    }

    /// The layer of the fault.
    pub fn layer(&self) -> Layer {
        self.kind.layer()
    }

    /// The HRESULT that a server answers to such a request.
    pub fn hresult(&self) -> HResult {
        self.kind.hresult()
    }

    /// The same place with another kind of error.
    pub(crate) fn map<L>(self, kind: impl FnOnce(K) -> L) -> WireError<L> {
        WireError { kind: kind(self.kind), offset: self.offset, path: self.path }
    }

    /// The path, to extend it in place: an error is too large to pass from function to function.
    pub(crate) const fn path_mut(&mut self) -> &mut Path {
        &mut self.path
    }

    /// Counts the offset from `n` bytes earlier.
    #[cold]
    #[inline(never)]
    pub(crate) fn move_behind(&mut self, n: usize) {
        self.offset = self.offset.saturating_add(clamp(n));
    }

    /// Prepends `field` to the path.
    #[cold]
    #[inline(never)]
    #[must_use]
    #[doc(hidden)]
    pub fn within(mut self, field: Field) -> Self {
        self.path.push(field);
        self
    }

    /// Gives the index `index` to the field that `within` will prepend next.
    #[cold]
    #[inline(never)]
    #[must_use]
    pub(crate) fn at_index(mut self, index: usize) -> Self {
        self.path.index(index);
        self
    }

    /// Makes `root` the start of the path, unless it has one.
    #[cold]
    #[inline(never)]
    #[must_use]
    #[doc(hidden)]
    pub fn in_root(mut self, root: Root) -> Self {
        self.path.begin(root);
        self
    }
}

impl<K: WireErrorKind> fmt::Display for WireError<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.path.is_empty() {
            write!(f, "at byte {}: {}", self.offset, self.kind)
        } else {
            write!(f, "{} at byte {}: {}", self.path, self.offset, self.kind)
        }
    }
}

impl<K: WireErrorKind + fmt::Debug> core::error::Error for WireError<K> {}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::super::{DecodeError, DecodeErrorKind, LimitError};
    use super::*;
    use crate::command::Command;
    use std::string::ToString;

    fn at(offset: usize) -> DecodeError {
        DecodeError::new(DecodeErrorKind::BadMagic, offset)
    }

    #[test]
    fn path_prints_outermost_first() {
        let e = at(9)
            .at_index(2)
            .within(Field::EventIds)
            .at_index(1)
            .within(Field::Tracepoints)
            .within(Field::Config);
        let e = e
            .at_index(70_000)
            .within(Field::Providers)
            .in_root(Root::of(Command::COLLECT_TRACING5));
        assert_eq!(
            e.path().to_string(),
            "CollectTracing5.providers[70000].config.tracepoints[1].event_ids[2]"
        );
        let segments = [
            ("CollectTracing5", None),
            ("providers", Some(70_000)),
            ("config", None),
            ("tracepoints", Some(1)),
        ];
        assert!(e.path().segments().eq(segments.into_iter().chain([("event_ids", Some(2))])));
    }

    #[test]
    fn piece_alone_has_path_without_root() {
        assert_eq!(at(0).path().to_string(), "");
        assert!(at(0).path().is_empty());
        assert_eq!(at(0).within(Field::EventIds).path().to_string(), "event_ids");
        assert_eq!(at(0).at_index(1).path().to_string(), "[1]");
        assert!(at(0).at_index(1).path().segments().eq([("", Some(1))]));
        assert_eq!(at(0).path().segments().count(), 0);
        assert_eq!(at(0).to_string(), "at byte 0: magic mismatch, expected \"DOTNET_IPC_V1\\0\"");
    }

    #[test]
    fn error_is_small() {
        assert!(size_of::<DecodeError>() <= 32, "{}", size_of::<DecodeError>());
        assert!(size_of::<LimitError>() <= 32, "{}", size_of::<LimitError>());
        assert_eq!(size_of::<Path>(), 16);
    }
}
