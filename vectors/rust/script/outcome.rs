//! The result of a client under test.

use alloc::{borrow::ToOwned as _, boxed::Box, string::String, vec::Vec};

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use dotnet_diagnostics_ipc::exchange::End;
use dotnet_diagnostics_ipc::wire::{WireError, WireErrorKind};

/// The result of a client under test. `vectors/exchanges/README.md` defines each key.
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
    /// The runtime refused.
    Error {
        /// As `0x80131385`.
        hresult: String,
        /// The text after `GenerateCoreDump3`: `Some(null)` if it is absent on the wire, `None` if
        /// there was none.
        #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
        message: Option<Value>,
        /// The commands in the order of sending.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        asked: Option<Vec<String>>,
        /// The runtime's advertise.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        advertise: Option<Value>,
    },
    /// The message received is not a reply.
    Malformed {
        /// The reason.
        error: ScriptFault,
    },
    /// The connection ended before the reply.
    NoReply {
        /// How.
        end: ScriptEnd,
    },
    /// It ended inside the reply.
    Cut {
        /// After this many bytes.
        received: usize,
        /// How.
        end: ScriptEnd,
    },
    /// The reply is larger than the buffer.
    BufferTooSmall {
        /// The required size.
        size: usize,
    },
    /// The bytes of a runtime are not an advertise; nothing was sent.
    BadAdvertise {
        /// The reason.
        error: ScriptFault,
    },
    /// The advertise ended early; nothing was sent.
    CutAdvertise {
        /// After this many bytes.
        received: usize,
        /// How.
        end: ScriptEnd,
    },
}

/// A client's report of a successful command.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OkOutcome {
    /// The reply's payload in the form of the vectors.
    pub reply: Value,
    /// The state of the connection.
    pub then: ScriptAfterReply,
    /// The commands in the order of sending.
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

/// The state of a connection after an OK: the names of [`AfterReply`](dotnet_diagnostics_ipc::exchange::AfterReply).
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

/// How a connection ended: the names of [`End`](dotnet_diagnostics_ipc::exchange::End).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs, reason = "the names are those of vectors/exchanges/README.md")]
pub enum ScriptEnd {
    Closed,
    Reset,
    TimedOut,
}

/// Why bytes are refused. Other implementations must match only `layer`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScriptFault {
    /// As in [`VectorFault`](crate::VectorFault).
    pub layer: String,
    /// As in [`VectorFault`](crate::VectorFault).
    pub kind: String,
    /// As in [`VectorFault`](crate::VectorFault).
    pub offset: usize,
}

/// The outcome of a stream.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScriptStream {
    /// How many bytes were accepted.
    pub bytes: u64,
    /// How it ended.
    pub end: ScriptStreamEnd,
}

/// How a stream ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ScriptStreamEnd {
    /// The session was stopped, and the stream ended after the stop was sent.
    Complete,
    /// It ended otherwise.
    Incomplete,
    /// It exceeded the limit.
    TooLong,
}

/// The outcome of `StopTracing`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ScriptStop {
    /// It was not sent.
    NotSent,
    /// The id was echoed.
    Ok,
    /// The generic OK.
    OkWithoutId,
    /// The connection ended without an answer.
    NoReply,
    /// A refusal.
    Hresult(String),
    /// An OK for another session.
    AnotherSession(String),
    /// The message received is not a reply.
    Malformed(ScriptFault),
}

/// The result of reading an environment block.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScriptEnvironment {
    /// Those accepted, in the form of the vectors; `"too_long"` for one over the limit.
    pub entries: Vec<Value>,
    /// Why the block is incomplete.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<ScriptFault>,
    /// The result of an error message in it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hresult: Option<String>,
    /// How the connection ended inside it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cut: Option<ScriptEnd>,
}

/// A key that is present, even if null.
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
    /// The reason at `offset`.
    pub fn new(kind: WireErrorKind, offset: usize) -> Self {
        Self { layer: kind.layer().name().to_owned(), kind: kind.name().to_owned(), offset }
    }
}
