//! One message, advertise or continuation.

use alloc::{
    borrow::ToOwned as _,
    string::{String, ToString as _},
};

use serde::{Deserialize, Serialize};

use crate::{DecodeRefusal, ReadAs, Type, Value};

/// The longest environment block whose entries are shown, and the longest piece that is read: an
/// entry of 4 bytes takes 700 bytes of memory in an annotated dump. Messages are always shorter.
pub const MOST_IN_FIELDS: usize = 1 << 20;

/// The kind of an [`Item`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ItemKind {
    /// A message of a command that is not an answer.
    Request,
    /// The OK answer to a request.
    Reply,
    /// An error answer.
    Error,
    /// `ADVR_V1`.
    Advertise,
    /// What follows a reply.
    Continuation,
    /// Not of the protocol, or cut.
    Unknown,
    /// Not a message: see `type`.
    Piece,
}

impl ItemKind {
    /// The type of such a message in the vectors; `None` for a continuation and a piece.
    pub const fn message(self) -> Option<Type> {
        match self {
            Self::Request => Some(Type::Request),
            Self::Reply => Some(Type::Reply),
            Self::Error => Some(Type::Error),
            Self::Advertise => Some(Type::Advertise),
            Self::Unknown => Some(Type::Unknown),
            Self::Continuation | Self::Piece => None,
        }
    }
}

/// One message, advertise or continuation: an item of `diagipc decode --json`.
///
/// ```
/// use dotnet_diagnostics_ipc_vectors::{Type, explain::Item};
///
/// let item = Item::whole(Type::String, b"\x02\0\0\0\x61\0\x62\0");
/// assert_eq!(item.error.as_ref().map(|error| error.fault.kind.as_str()), Some("missing_terminator"));
/// assert_eq!(serde_json::to_value(&item)?["type"], "string");
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Item {
    /// Its offset in the input.
    pub offset: usize,
    /// Its length in bytes.
    pub size: usize,
    /// What it is.
    pub kind: ItemKind,
    /// The type of a piece.
    #[serde(rename = "type", default, skip_serializing_if = "Option::is_none")]
    pub piece: Option<Type>,
    /// The request, or the request that the reply answers.
    pub command: Option<String>,
    /// From the header.
    pub code: Option<String>,
    /// Whether encoding it again gives the same bytes.
    pub canonical: bool,
    /// Its value form.
    pub value: Value,
    /// Why a server would refuse it although it decodes. Offsets count from its start.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limits: Option<DecodeRefusal>,
    /// Why it does not decode. Offsets count from its start.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<DecodeRefusal>,
    /// What its bytes are annotated as.
    #[serde(skip)]
    pub subject: Option<ReadAs>,
}

impl Item {
    /// All of `bytes` as one of `kind`.
    pub fn whole(kind: Type, bytes: &[u8]) -> Self {
        let from_server = matches!(kind, Type::Advertise | Type::Reply | Type::Error);
        let subject = ReadAs { kind, command: None, from_server };
        let (shown, piece) = if kind == Type::Advertise {
            (ItemKind::Advertise, None)
        } else {
            (ItemKind::Piece, Some(kind))
        };
        Self { piece, ..Self::decoded(shown, subject, bytes) }
    }

    /// Its bytes in the input.
    pub fn bytes_in<'b>(&self, input: &'b [u8]) -> &'b [u8] {
        input.get(self.offset..self.offset.saturating_add(self.size)).unwrap_or_default()
    }

    pub(super) fn decoded(kind: ItemKind, subject: ReadAs, wire: &[u8]) -> Self {
        let mut item = Self {
            offset: 0,
            size: wire.len(),
            kind,
            piece: None,
            command: subject.command.map(|command| command.to_string()),
            code: None,
            canonical: false,
            value: Value::Null,
            limits: None,
            error: None,
            subject: Some(subject),
        };
        match subject.decode(wire) {
            Ok(decoded) => {
                item.canonical = decoded.canonical;
                item.value = decoded.value;
                item.limits = decoded.limit.map(DecodeRefusal::from);
            }
            Err(error) => item.error = Some(error),
        }
        item
    }

    /// What follows a reply to a request: the entries of an environment, if it is read as `subject`,
    /// or bytes of a stream.
    pub(super) fn following(
        offset: usize,
        command: Option<String>,
        subject: Option<ReadAs>,
        bytes: &[u8],
    ) -> Self {
        let mut value = serde_json::Map::new();
        value.insert("bytes".to_owned(), hex::encode(bytes).into());
        let mut error = None;
        match subject.map(|subject| subject.decode(bytes)) {
            Some(Ok(decoded)) => {
                value.insert("entries".to_owned(), decoded.value);
            }
            Some(Err(refusal)) => error = Some(refusal),
            None => {}
        }
        Self {
            offset,
            size: bytes.len(),
            kind: ItemKind::Continuation,
            piece: None,
            command,
            code: None,
            canonical: true,
            value: value.into(),
            limits: None,
            error,
            subject,
        }
    }
}
