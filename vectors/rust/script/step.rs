//! The steps of a script: one verb each.

use alloc::{
    format,
    string::{String, ToString as _},
    vec::Vec,
};

use serde::{Deserialize, Deserializer, Serialize, de::Error as _};
use serde_json::Value;

use super::ask::is_false;
use super::{ExpectFile, ExpectSocket, ExpectTarget, Literal, Pattern, Signal};

macro_rules! steps {
    ($($(#[$meta:meta])* $Verb:ident($verb:literal);)*) => {
        /// A step. `vectors/exchanges/README.md` defines each verb and its keys.
        ///
        /// ```
        /// use dotnet_diagnostics_ipc_vectors::script::{ExpectNothing, Step};
        ///
        /// let step: Step = serde_json::from_str(r#"{ "on": "a", "expect_nothing": 300 }"#)?;
        /// assert_eq!(step, Step::ExpectNothing(ExpectNothing { on: "a".into(), expect_nothing: 300 }));
        /// assert_eq!((step.verb(), step.within_ms()), ("expect_nothing", None));
        /// # Ok::<(), serde_json::Error>(())
        /// ```
        #[derive(Clone, Debug, PartialEq, Serialize)]
        #[serde(untagged)]
        pub enum Step {
            $($(#[$meta])* $Verb($Verb),)*
        }

        impl Step {
            /// Its verb, the key of that name.
            pub const fn verb(&self) -> &'static str {
                match self {
                    $(Self::$Verb(_) => $verb,)*
                }
            }
        }

        impl Step {
            /// By the verb, so that an error mentions its keys, not all possible steps.
            pub(super) fn read(value: Value) -> Result<Self, String> {
                const VERBS: &[&str] = &[$($verb),*];
                let keys: Vec<&str> = value.as_object().into_iter().flat_map(|object| object.keys().map(String::as_str)).collect();
                let verbs: Vec<&str> = keys.iter().copied().filter(|key| VERBS.contains(key)).collect();
                let step = match verbs.as_slice() {
                    $([$verb] => serde_json::from_value(value).map(Self::$Verb),)*
                    several => {
                        let found = if several.is_empty() { "none" } else { "several" };
                        return Err(format!("expected exactly one verb, not {found}: {}", keys.join(", ")));
                    }
                };
                step.map_err(|error| error.to_string())
            }
        }
    };
}

impl<'de> Deserialize<'de> for Step {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::read(Value::deserialize(deserializer)?).map_err(D::Error::custom)
    }
}

impl Step {
    /// The action and its connection, without the bytes.
    ///
    /// ```
    /// use dotnet_diagnostics_ipc_vectors::script::Step;
    ///
    /// let step: Step = serde_json::from_str(r#"{ "on": "a", "expect": ["00"] }"#)?;
    /// assert_eq!(step.in_words(), "expect on a");
    /// # Ok::<(), serde_json::Error>(())
    /// ```
    pub fn in_words(&self) -> String {
        let on = match self {
            Self::Open(step) => &step.open,
            Self::Accept(step) => &step.accept,
            Self::Send(step) => &step.on,
            Self::Expect(step) => &step.on,
            Self::ExpectAnyOf(step) => &step.on,
            Self::ExpectNothing(step) => &step.on,
            Self::Drain(step) => &step.on,
            Self::ExpectEnd(step) => &step.on,
            Self::EndStep(step) => &step.on,
            Self::Listen(_)
            | Self::ExpectNoConnection(_)
            | Self::Wait(_)
            | Self::ExpectTarget(_)
            | Self::Signal(_)
            | Self::ExpectSocket(_)
            | Self::ExpectFile(_) => return self.verb().to_string(),
        };
        format!("{} on {on}", self.verb())
    }
}

steps! {
    /// The player opens a connection.
    Open("open");
    /// The side under test opens a connection.
    Accept("accept");
    /// The player starts or stops listening.
    Listen("listen");
    /// No connection is opened.
    ExpectNoConnection("expect_no_connection");
    /// Bytes are sent.
    Send("send");
    /// These bytes follow.
    Expect("expect");
    /// One of these follows.
    ExpectAnyOf("expect_any_of");
    /// Neither a byte nor the end follows.
    ExpectNothing("expect_nothing");
    /// Input is read in the background.
    Drain("drain");
    /// The end follows.
    ExpectEnd("expect_end");
    /// The player ends a connection, or one direction of it.
    EndStep("end");
    /// Nothing for some time.
    Wait("wait");
    /// The target is alive or dead.
    ExpectTarget("expect_target");
    /// The target's process gets a signal.
    Signal("signal");
    /// The file of the default port's socket exists or not.
    ExpectSocket("expect_socket");
    /// The target has written a file.
    ExpectFile("expect_file");
}

/// `{"open": "a"}`, with a port if the script plays the runtime and the client owns one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Open {
    /// The name of the connection.
    pub open: String,
    /// The port; `None` is the default port.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub port: Option<String>,
    /// The time limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub within_ms: Option<u32>,
}

/// `{"accept": "a"}`, with a port if the script plays the client.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Accept {
    /// The name of the connection.
    pub accept: String,
    /// The port; `None` is the default port.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub port: Option<String>,
    /// The time limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub within_ms: Option<u32>,
}

/// `{"listen": true, "port": "p"}`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Listen {
    /// Whether it starts or stops.
    pub listen: bool,
    /// The port.
    pub port: String,
}

/// `{"expect_no_connection": 300, "port": "p"}`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExpectNoConnection {
    /// For how many milliseconds.
    pub expect_no_connection: u32,
    /// The port; `None` is the default port.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub port: Option<String>,
}

/// `{"on": "a", "send": […]}`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Send {
    /// The connection.
    pub on: String,
    /// The bytes.
    pub send: Vec<Literal>,
    /// The sizes of the pieces; empty for any.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub chunks: Vec<usize>,
    /// The descriptor attached to the first byte.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub with_fd: Option<FdKind>,
    /// Whether the peer may have closed already.
    #[serde(default, skip_serializing_if = "is_false")]
    pub may_fail: bool,
    /// The time limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub within_ms: Option<u32>,
}

/// The file of a descriptor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FdKind {
    /// `/dev/null`.
    Null,
    /// The writing end of a pipe.
    Pipe,
    /// `user_events_data` of tracefs.
    UserEventsData,
}

/// `{"on": "a", "expect": […]}`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Expect {
    /// The connection.
    pub on: String,
    /// The expected bytes.
    pub expect: Pattern,
    /// Whether one of the bytes carries a descriptor.
    #[serde(default, skip_serializing_if = "is_false")]
    pub with_fd: bool,
    /// The time limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub within_ms: Option<u32>,
}

/// `{"on": "a", "expect_any_of": […]}`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExpectAnyOf {
    /// The connection.
    pub on: String,
    /// None is a prefix of another.
    pub expect_any_of: Vec<Alternative>,
    /// The time limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub within_ms: Option<u32>,
}

/// One of the alternatives.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Alternative {
    /// Its name, for reports.
    pub label: String,
    /// The expected bytes.
    pub expect: Pattern,
}

/// `{"on": "a", "expect_nothing": 300}`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExpectNothing {
    /// The connection.
    pub on: String,
    /// For how many milliseconds.
    pub expect_nothing: u32,
}

/// `{"on": "a", "drain": true}`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Drain {
    /// The connection.
    pub on: String,
    /// True.
    pub drain: bool,
}

/// `{"on": "a", "expect_end": "closed"}`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExpectEnd {
    /// The connection.
    pub on: String,
    /// The expected end.
    pub expect_end: ExpectedEnd,
    /// The last drained bytes.
    #[serde(default, with = "crate::hexadecimal", skip_serializing_if = "Vec::is_empty")]
    pub last: Vec<u8>,
    /// The last drained bytes equal one of these. If empty, they are not checked.
    #[serde(default, with = "crate::hexadecimal", skip_serializing_if = "Vec::is_empty")]
    pub last_any_of: Vec<Vec<u8>>,
    /// Whether the time restarts while the memory of the target's process grows: it limits
    /// progress.
    #[serde(default, skip_serializing_if = "is_false")]
    pub while_memory_grows: bool,
    /// The time limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub within_ms: Option<u32>,
}

/// Which end is expected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ExpectedEnd {
    /// The end of the input.
    Closed,
    /// An error of reading.
    Reset,
    /// Either.
    Any,
}

/// `{"on": "a", "end": "close"}`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EndStep {
    /// The connection.
    pub on: String,
    /// How.
    pub end: Ending,
}

/// How the player ends a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ending {
    /// Only the sending direction.
    HalfClose,
    /// Both.
    Close,
    /// So that the peer's read fails.
    Reset,
}

/// `{"wait": 300}`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Wait {
    /// For how many milliseconds.
    pub wait: u32,
}

impl Step {
    /// The time limit, if the step gives one.
    pub const fn within_ms(&self) -> Option<u32> {
        match self {
            Self::Open(step) => step.within_ms,
            Self::Accept(step) => step.within_ms,
            Self::Send(step) => step.within_ms,
            Self::Expect(step) => step.within_ms,
            Self::ExpectAnyOf(step) => step.within_ms,
            Self::ExpectEnd(step) => step.within_ms,
            Self::ExpectTarget(step) => step.within_ms,
            Self::ExpectSocket(step) => step.within_ms,
            Self::ExpectFile(step) => step.within_ms,
            Self::Listen(_)
            | Self::ExpectNoConnection(_)
            | Self::ExpectNothing(_)
            | Self::Drain(_)
            | Self::EndStep(_)
            | Self::Signal(_)
            | Self::Wait(_) => None,
        }
    }
}
