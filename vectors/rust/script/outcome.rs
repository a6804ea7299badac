//! The result that a client under test reports.

use alloc::{borrow::ToOwned as _, boxed::Box, string::String, vec::Vec};

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use dotnet_diagnostics_ipc::exchange::End;
use dotnet_diagnostics_ipc::wire::{WireError, WireErrorKind};

/// The result that a client under test reports. `vectors/exchanges/README.md` defines each key.
///
/// ```
/// use dotnet_diagnostics_ipc_vectors::script::{ScriptEnd, ScriptOutcome};
///
/// let outcome: ScriptOutcome = serde_json::from_str(r#"{ "outcome": "cut", "received": 19, "end": "reset" }"#)?;
/// assert_eq!(outcome, ScriptOutcome::Cut { received: 19, end: ScriptEnd::Reset });
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "outcome", rename_all = "snake_case", deny_unknown_fields)]
pub enum ScriptOutcome {
    /// The command succeeded.
    Ok(Box<OkOutcome>),
    /// The runtime refused the command.
    Error {
        /// The code of the error, such as `0x80131385`.
        hresult: String,
        /// The text in the reply to `GenerateCoreDump3`. `Some(null)` if it is absent on the wire,
        /// `None` if the reply has no text.
        #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
        message: Option<Value>,
        /// The commands in the order in which they were sent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        asked: Option<Vec<String>>,
        /// The runtime's advertise.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        advertise: Option<Value>,
    },
    /// The message received is not a reply.
    Malformed {
        /// The reason why it is not a reply.
        error: ScriptFault,
    },
    /// The connection ended before the reply.
    NoReply {
        /// How the connection ended.
        end: ScriptEnd,
    },
    /// The connection ended inside the reply.
    Cut {
        /// The number of bytes received of the reply.
        received: usize,
        /// How the connection ended.
        end: ScriptEnd,
    },
    /// The reply is larger than the buffer.
    BufferTooSmall {
        /// The required size of the buffer.
        size: usize,
    },
    /// The bytes of a runtime are not an advertise, so nothing was sent.
    BadAdvertise {
        /// The reason why they are not an advertise.
        error: ScriptFault,
    },
    /// The advertise ended early, so nothing was sent.
    CutAdvertise {
        /// The number of bytes received of the advertise.
        received: usize,
        /// How the connection ended.
        end: ScriptEnd,
    },
}

/// The report of a client about a successful command.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OkOutcome {
    /// The payload of the reply in the value form.
    pub reply: Value,
    /// The state of the connection after the reply.
    pub then: ScriptAfterReply,
    /// The commands in the order in which they were sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asked: Option<Vec<String>>,
    /// The runtime's advertise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub advertise: Option<Value>,
    /// The outcome of the stream.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stream: Option<ScriptStream>,
    /// The outcome of `StopTracing`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop: Option<ScriptStop>,
    /// The environment block.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub environment: Option<ScriptEnvironment>,
    /// The outcome of the second reply.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub second: Option<ScriptOutcome>,
}

/// The state of a connection after an OK, named as in [`AfterReply`](dotnet_diagnostics_ipc::exchange::AfterReply).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs, reason = "the names are those of vectors/exchanges/README.md")]
pub enum ScriptAfterReply {
    Close,
    AnotherReply,
    Stream,
    Environment,
    UserEvents,
    Unknown,
}

/// How a connection ended, named as in [`End`](dotnet_diagnostics_ipc::exchange::End).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs, reason = "the names are those of vectors/exchanges/README.md")]
pub enum ScriptEnd {
    Closed,
    Reset,
    TimedOut,
}

/// The reason why bytes are refused. Other implementations must match only `layer`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScriptFault {
    /// The layer, as in [`VectorFault`](crate::VectorFault).
    pub layer: String,
    /// The kind, as in [`VectorFault`](crate::VectorFault).
    pub kind: String,
    /// The offset, as in [`VectorFault`](crate::VectorFault).
    pub offset: usize,
}

/// The outcome of a stream.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScriptStream {
    /// The number of bytes that the client accepted.
    pub bytes: u64,
    /// How the stream ended.
    pub end: ScriptStreamEnd,
}

/// How a stream ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ScriptStreamEnd {
    /// The session was stopped, and the stream ended after the stop was sent.
    Complete,
    /// The stream ended otherwise.
    Incomplete,
    /// The stream exceeded the limit.
    TooLong,
}

/// The outcome of `StopTracing`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ScriptStop {
    /// The stop was not sent.
    NotSent,
    /// The runtime answered with the session's id.
    Ok,
    /// The runtime answered with the generic OK.
    OkWithoutId,
    /// The connection ended without an answer.
    NoReply,
    /// The runtime refused with this code.
    Hresult(String),
    /// The runtime answered OK for another session.
    AnotherSession(String),
    /// The message received is not a reply.
    Malformed(ScriptFault),
}

/// The result of reading an environment block.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScriptEnvironment {
    /// The accepted entries in the value form, with `"too_long"` for an entry over the limit.
    pub entries: Vec<Value>,
    /// The reason why the block is incomplete.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<ScriptFault>,
    /// The code of an error message in the block.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hresult: Option<String>,
    /// How the connection ended inside the block.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cut: Option<ScriptEnd>,
}

/// Reads a key that is present, even if it is null.
fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(deserializer).map(Some)
}

impl From<End> for ScriptEnd {
    fn from(end: End) -> Self {
        match end {
            End::Closed => Self::Closed,
            End::Reset => Self::Reset,
            End::TimedOut => Self::TimedOut,
        }
    }
}

impl From<WireError> for ScriptFault {
    fn from(error: WireError) -> Self {
        Self::new(error.kind(), error.offset())
    }
}

impl ScriptFault {
    /// Returns the reason at `offset`.
    pub fn new(kind: WireErrorKind, offset: usize) -> Self {
        Self { layer: kind.layer().name().to_owned(), kind: kind.name().to_owned(), offset }
    }
}
