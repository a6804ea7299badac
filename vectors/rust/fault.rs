//! The reasons why bytes are refused or values not encoded, in the form of the vectors.

use alloc::{
    borrow::ToOwned as _,
    string::{String, ToString as _},
    vec::Vec,
};
use core::fmt;

use serde::{Deserialize, Serialize};

use super::ValueError;
use dotnet_diagnostics_ipc::hresult::HResult;
use dotnet_diagnostics_ipc::wire::{Encode, EncodeError, WireError};

/// The `error` of the vectors: the reason why decoding or the limits refuse bytes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct VectorFault {
    /// The layer: `transport`, `header`, `payload`, `limits` or `reply`.
    pub layer: String,
    /// The kind of error, in snake case.
    pub kind: String,
    /// The offset from the first byte.
    pub offset: usize,
    /// The path of the field, or `null` if the error is in a piece itself.
    pub field: Option<String>,
}

impl From<WireError> for VectorFault {
    fn from(error: WireError) -> Self {
        Self {
            layer: error.layer().name().to_owned(),
            kind: error.kind().name().to_owned(),
            offset: error.offset(),
            field: (!error.path().is_empty()).then(|| error.path().to_string()),
        }
    }
}

impl fmt::Display for VectorFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} at byte {}", self.layer, self.kind, self.offset)?;
        self.field.as_ref().map_or(Ok(()), |field| write!(f, " in {field}"))
    }
}

/// The reason why a value was not encoded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EncodeFailure {
    /// The JSON is not a value of the type.
    Value(ValueError),
    /// The value does not fit in a message.
    Encode(EncodeError),
}

impl From<ValueError> for EncodeFailure {
    fn from(error: ValueError) -> Self {
        Self::Value(error)
    }
}

impl From<EncodeError> for EncodeFailure {
    fn from(error: EncodeError) -> Self {
        Self::Encode(error)
    }
}

impl EncodeFailure {
    /// Returns the failure in the form of the vectors. A message that is too large is reported at
    /// its size field; other failures have only a kind. `None` if the JSON is not a value of the
    /// type, or if no vector can show the failure.
    pub fn fault(&self) -> Option<VectorFault> {
        let Self::Encode(error) = self else { return None };
        let kind = match error {
            EncodeError::MessageTooLarge { .. } => "message_too_large",
            EncodeError::PartTooLong { .. } => "part_too_long",
            EncodeError::EmptyName => "empty_name",
            EncodeError::ForbiddenUnit { .. } => "forbidden_unit",
            EncodeError::UnknownLabelNotLast { .. } => "unknown_label_not_last",
            _ => return None,
        };
        let (layer, offset, field) = match error {
            EncodeError::MessageTooLarge { .. } => {
                ("transport", 14, Some("header.size".to_owned()))
            }
            _ => ("payload", 0, None),
        };
        Some(VectorFault { layer: layer.to_owned(), kind: kind.to_owned(), offset, field })
    }
}

impl fmt::Display for EncodeFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Value(error) => error.fmt(f),
            Self::Encode(error) => error.fmt(f),
        }
    }
}

impl core::error::Error for EncodeFailure {}

/// The reason why bytes were refused: the error, its text, and the server's answer if there is one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DecodeRefusal {
    /// The error with its location.
    #[serde(flatten)]
    pub fault: VectorFault,
    /// The text of the error.
    pub message: String,
    /// The server's answer to such a request, or `None` if it is not a request. Not in JSON.
    #[serde(skip)]
    pub answer: Option<HResult>,
}

impl From<WireError> for DecodeRefusal {
    fn from(error: WireError) -> Self {
        Self {
            fault: error.into(),
            message: error.kind().to_string(),
            answer: Some(error.hresult()),
        }
    }
}

impl From<DecodeRefusal> for VectorFault {
    fn from(refusal: DecodeRefusal) -> Self {
        refusal.fault
    }
}

impl fmt::Display for DecodeRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.message, self.fault)
    }
}

impl core::error::Error for DecodeRefusal {}

/// Encodes a value.
pub(super) fn encoded(value: &impl Encode) -> Result<Vec<u8>, EncodeFailure> {
    let mut bytes = Vec::new();
    value.encode(&mut bytes)?;
    Ok(bytes)
}

/// Returns whether a value that was read from `wire` is encoded as `wire`.
pub(super) fn is_canonical(value: &impl Encode, wire: &[u8]) -> bool {
    encoded(value).is_ok_and(|bytes| bytes == wire)
}
