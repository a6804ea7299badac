//! The steps of a script: one verb each.

use alloc::{
    format,
    string::{String, ToString as _},
    vec::Vec,
};

use serde::{Deserialize, Deserializer, Serialize, de::Error as _};
use serde_json::Value;

use super::{Literal, Pattern};

/// Declares the struct of each verb, and [`Step`], which is one of them. `on` is the key with the
/// name of the connection; `timed` steps have a time limit.
macro_rules! steps {
    ($(
        $(#[$meta:meta])*
        $Verb:ident = $verb:literal $(on $on:ident)? $(timed $within_ms:ident)? {
            $($(#[$attribute:meta])* $key:ident: $T:ty,)*
        }
    )*) => {
        $(
            $(#[$meta])*
            #[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
            #[serde(deny_unknown_fields)]
            pub struct $Verb {
                $($(#[$attribute])* pub $key: $T,)*
                $(
                    /// The time limit.
                    #[serde(default, skip_serializing_if = "Option::is_none")]
                    pub $within_ms: Option<u32>,
                )?
            }
        )*

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

            /// The time limit, if the step gives one.
            pub const fn within_ms(&self) -> Option<u32> {
                match self {
                    $($(Self::$Verb(step) => step.$within_ms,)?)*
                    _ => None,
                }
            }

            /// The name of the step's connection.
            fn on(&self) -> Option<&str> {
                match self {
                    $($(Self::$Verb(step) => Some(&step.$on),)?)*
                    _ => None,
                }
            }

            /// Reads a step by its verb, so that an error mentions its keys, not all possible steps.
            pub(super) fn read(value: Value) -> Result<Self, String> {
                const VERBS: &[&str] = &[$($verb),*];
                let keys: Vec<&str> =
                    value.as_object().into_iter().flat_map(|object| object.keys().map(String::as_str)).collect();
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

steps! {
    /// The player opens a connection: `{"open": "a"}`, with a port if the script plays the runtime
    /// and the client owns one.
    Open = "open" on open timed within_ms {
        /// The name of the connection.
        open: String,
        /// The port; `None` is the default port.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        port: Option<String>,
    }

    /// The side under test opens a connection: `{"accept": "a"}`, with a port if the script plays
    /// the client.
    Accept = "accept" on accept timed within_ms {
        /// The name of the connection.
        accept: String,
        /// The port; `None` is the default port.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        port: Option<String>,
    }

    /// The player starts or stops listening: `{"listen": true, "port": "p"}`.
    Listen = "listen" {
        /// Whether it starts or stops.
        listen: bool,
        /// The port.
        port: String,
    }

    /// No connection is opened: `{"expect_no_connection": 300, "port": "p"}`.
    ExpectNoConnection = "expect_no_connection" {
        /// For how many milliseconds.
        expect_no_connection: u32,
        /// The port; `None` is the default port.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        port: Option<String>,
    }

    /// Bytes are sent: `{"on": "a", "send": […]}`.
    Send = "send" on on timed within_ms {
        /// The connection.
        on: String,
        /// The bytes.
        send: Vec<Literal>,
        /// The sizes of the pieces; empty for any.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        chunks: Vec<usize>,
        /// The descriptor attached to the first byte.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        with_fd: Option<FdKind>,
        /// Whether the peer may have closed already.
        #[serde(default, skip_serializing_if = "core::ops::Not::not")]
        may_fail: bool,
    }

    /// These bytes follow: `{"on": "a", "expect": […]}`.
    Expect = "expect" on on timed within_ms {
        /// The connection.
        on: String,
        /// The expected bytes.
        expect: Pattern,
        /// Whether one of the bytes carries a descriptor.
        #[serde(default, skip_serializing_if = "core::ops::Not::not")]
        with_fd: bool,
    }

    /// One of these follows: `{"on": "a", "expect_any_of": […]}`.
    ExpectAnyOf = "expect_any_of" on on timed within_ms {
        /// The connection.
        on: String,
        /// None is a prefix of another.
        expect_any_of: Vec<Alternative>,
    }

    /// Neither a byte nor the end follows, on a drained connection not the end:
    /// `{"on": "a", "expect_nothing": 300}`.
    ExpectNothing = "expect_nothing" on on {
        /// The connection.
        on: String,
        /// For how many milliseconds.
        expect_nothing: u32,
    }

    /// The stream of a session has no event yet: nothing follows, or only its start, as .NET 11 sends
    /// it before the runtime is resumed (F-169): `{"on": "a", "expect_no_event": 500}`. What came is
    /// kept for the next step on this connection.
    ExpectNoEvent = "expect_no_event" on on {
        /// The connection.
        on: String,
        /// For how many milliseconds.
        expect_no_event: u32,
    }

    /// If the start of the stream came in an `expect_no_event`, more of it follows, as a runtime that
    /// was resumed has events: `{"on": "a", "expect_event": true}`.
    ExpectEvent = "expect_event" on on timed within_ms {
        /// The connection.
        on: String,
        /// True.
        expect_event: bool,
    }

    /// Input is read in the background: `{"on": "a", "drain": true}`.
    Drain = "drain" on on {
        /// The connection.
        on: String,
        /// True.
        drain: bool,
    }

    /// The end follows: `{"on": "a", "expect_end": "closed"}`.
    ExpectEnd = "expect_end" on on timed within_ms {
        /// The connection.
        on: String,
        /// The expected end.
        expect_end: ExpectedEnd,
        /// The last drained bytes.
        #[serde(default, with = "crate::hexadecimal", skip_serializing_if = "Vec::is_empty")]
        last: Vec<u8>,
        /// The last drained bytes equal one of these. If empty, they are not checked.
        #[serde(default, with = "crate::hexadecimal", skip_serializing_if = "Vec::is_empty")]
        last_any_of: Vec<Vec<u8>>,
        /// Whether the time restarts while the memory of the target's process grows: it limits
        /// progress.
        #[serde(default, skip_serializing_if = "core::ops::Not::not")]
        while_memory_grows: bool,
    }

    /// The player ends a connection, or one direction of it: `{"on": "a", "end": "close"}`.
    EndStep = "end" on on {
        /// The connection.
        on: String,
        /// How.
        end: Ending,
    }

    /// Nothing for some time: `{"wait": 300}`.
    Wait = "wait" {
        /// For how many milliseconds.
        wait: u32,
    }

    /// The target is alive or dead: `{"expect_target": "alive"}`.
    ExpectTarget = "expect_target" timed within_ms {
        /// The expected state.
        expect_target: Life,
    }

    /// The target's process gets a signal: `{"signal": "term"}`.
    Signal = "signal" {
        /// The signal.
        signal: SignalKind,
    }

    /// The file of the default port's socket exists or not: `{"expect_socket": "gone"}`.
    ExpectSocket = "expect_socket" timed within_ms {
        /// The expected state.
        expect_socket: Presence,
    }

    /// The target has written a file: `{"expect_file": "core.dmp", "begins": […]}`.
    ExpectFile = "expect_file" timed within_ms {
        /// Its name in the target's current directory.
        expect_file: String,
        /// Its first bytes.
        begins: Pattern,
    }
}

impl<'de> Deserialize<'de> for Step {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::read(Value::deserialize(deserializer)?).map_err(D::Error::custom)
    }
}

impl ExpectEnd {
    /// Whether the connection is the stream of a session, whose last bytes are known.
    pub fn is_of_stream(&self) -> bool {
        !self.last.is_empty() || !self.last_any_of.is_empty()
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
        match self.on() {
            Some(on) => format!("{} on {on}", self.verb()),
            None => self.verb().to_string(),
        }
    }
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

/// One of the alternatives.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Alternative {
    /// Its name, for reports.
    pub label: String,
    /// The expected bytes.
    pub expect: Pattern,
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

/// Whether a process exists.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Life {
    /// It is alive.
    Alive,
    /// It ends in time.
    Dead,
}

/// A signal that the target's process gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SignalKind {
    /// `SIGTERM`.
    Term,
    /// `SIGINT`.
    Int,
    /// `SIGHUP`.
    Hup,
    /// `SIGKILL`.
    Kill,
}

/// Whether a file exists.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Presence {
    /// It exists.
    There,
    /// It does not.
    Gone,
}
