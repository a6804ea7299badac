//! The steps of a script: one verb each.

use alloc::{
    format,
    string::{String, ToString as _},
    vec::Vec,
};

use serde::{Deserialize, Deserializer, Serialize, de::Error as _};
use serde_json::Value;

use super::ask::is_false;
use super::{Literal, Pattern};

macro_rules! steps {
    ($($(#[$meta:meta])* $Verb:ident($verb:literal);)*) => {
        /// A step. `vectors/exchanges/README.md` says what each verb means, and what its keys are.
        ///
        /// ```
        /// use dotnet_diagnostics_ipc::vectors::script::{ExpectNothing, Step};
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

        /// By the verb, so that an error speaks of its keys and not of all steps that there are.
        impl<'de> Deserialize<'de> for Step {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                const VERBS: &[&str] = &[$($verb),*];
                let value = Value::deserialize(deserializer)?;
                let keys: Vec<&str> = value.as_object().into_iter().flat_map(|object| object.keys().map(String::as_str)).collect();
                let verbs: Vec<&str> = keys.iter().copied().filter(|key| VERBS.contains(key)).collect();
                let step = match verbs.as_slice() {
                    $([$verb] => serde_json::from_value(value).map(Self::$Verb),)*
                    several => {
                        let found = if several.is_empty() { "none" } else { "several" };
                        return Err(D::Error::custom(format!("expected exactly one verb, not {found}: {}", keys.join(", "))));
                    }
                };
                step.map_err(|error| D::Error::custom(error.to_string()))
            }
        }
    };
}

impl Step {
    /// What it does, and on which connection, without its bytes.
    ///
    /// ```
    /// use dotnet_diagnostics_ipc::vectors::script::Step;
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
            Self::Listen(_) | Self::ExpectNoConnection(_) | Self::Wait(_) | Self::ExpectTarget(_) => {
                return self.verb().to_string();
            }
        };
        format!("{} on {on}", self.verb())
    }
}

steps! {
    /// A connection is opened by the player.
    Open("open");
    /// A connection is opened by the side under test.
    Accept("accept");
    /// The player begins or stops to listen.
    Listen("listen");
    /// Nobody connects.
    ExpectNoConnection("expect_no_connection");
    /// Bytes are sent.
    Send("send");
    /// These bytes come next.
    Expect("expect");
    /// One of these comes next.
    ExpectAnyOf("expect_any_of");
    /// Neither a byte nor the end comes.
    ExpectNothing("expect_nothing");
    /// What comes is read in the background.
    Drain("drain");
    /// The end comes.
    ExpectEnd("expect_end");
    /// The player ends a connection, or one direction of it.
    EndStep("end");
    /// Nothing for a while.
    Wait("wait");
    /// The target lives or dies.
    ExpectTarget("expect_target");
}

/// `{"open": "a"}`, with a port where the script plays the runtime and the client owns one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Open {
    /// The name of the connection.
    pub open: String,
    /// The port; `None` is the default port.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub port: Option<String>,
    /// How long it may take.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub within_ms: Option<u32>,
}

/// `{"accept": "a"}`, with a port where the script plays the client.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Accept {
    /// The name of the connection.
    pub accept: String,
    /// The port; `None` is the default port.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub port: Option<String>,
    /// How long it may take.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub within_ms: Option<u32>,
}

/// `{"listen": true, "port": "p"}`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Listen {
    /// Whether it begins or stops.
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
    /// The sizes of the pieces; none is any.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub chunks: Vec<usize>,
    /// The descriptor that the first byte carries.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub with_fd: Option<FdKind>,
    /// Whether the peer may have closed already.
    #[serde(default, skip_serializing_if = "is_false")]
    pub may_fail: bool,
    /// How long it may take.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub within_ms: Option<u32>,
}

/// What a descriptor is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FdKind {
    /// `/dev/null`.
    Null,
    /// The writing end of a pipe.
    Pipe,
    /// That file of tracefs.
    UserEventsData,
}

/// `{"on": "a", "expect": […]}`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Expect {
    /// The connection.
    pub on: String,
    /// What comes.
    pub expect: Pattern,
    /// Whether one of the bytes carries a descriptor.
    #[serde(default, skip_serializing_if = "is_false")]
    pub with_fd: bool,
    /// How long it may take.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub within_ms: Option<u32>,
}

/// `{"on": "a", "expect_any_of": […]}`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExpectAnyOf {
    /// The connection.
    pub on: String,
    /// None is the beginning of another.
    pub expect_any_of: Vec<Alternative>,
    /// How long it may take.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub within_ms: Option<u32>,
}

/// One of what may come.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Alternative {
    /// A word for it, for reports.
    pub label: String,
    /// What comes.
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
    /// Which end.
    pub expect_end: ExpectedEnd,
    /// The last bytes that were drained.
    #[serde(default, with = "super::literal::hexadecimal", skip_serializing_if = "Vec::is_empty")]
    pub last: Vec<u8>,
    /// The last bytes that were drained are those of one of these. None are looked at where it is empty.
    #[serde(default, with = "super::literal::hexadecimals", skip_serializing_if = "Vec::is_empty")]
    pub last_any_of: Vec<Vec<u8>>,
    /// Whether the time begins anew as long as the memory of the target's process grows: it is a bound on progress.
    #[serde(default, skip_serializing_if = "is_false")]
    pub while_memory_grows: bool,
    /// How long it may take.
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
    /// The sending direction alone.
    HalfClose,
    /// Both.
    Close,
    /// So that the peer's reading fails.
    Reset,
}

/// `{"wait": 300}`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Wait {
    /// For how many milliseconds.
    pub wait: u32,
}

/// `{"expect_target": "alive"}`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExpectTarget {
    /// Which.
    pub expect_target: Life,
    /// How long it may take.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub within_ms: Option<u32>,
}

/// Whether a process is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Life {
    /// It lives.
    Alive,
    /// It ends in time.
    Dead,
}

impl Step {
    /// How long it may take, where the step says it itself.
    pub const fn within_ms(&self) -> Option<u32> {
        match self {
            Self::Open(step) => step.within_ms,
            Self::Accept(step) => step.within_ms,
            Self::Send(step) => step.within_ms,
            Self::Expect(step) => step.within_ms,
            Self::ExpectAnyOf(step) => step.within_ms,
            Self::ExpectEnd(step) => step.within_ms,
            Self::ExpectTarget(step) => step.within_ms,
            Self::Listen(_)
            | Self::ExpectNoConnection(_)
            | Self::ExpectNothing(_)
            | Self::Drain(_)
            | Self::EndStep(_)
            | Self::Wait(_) => None,
        }
    }
}
