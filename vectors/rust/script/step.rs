//! The steps of a script, each with one verb.

use alloc::{
    format,
    string::{String, ToString as _},
    vec::Vec,
};

use serde::{Deserialize, Deserializer, Serialize, de::Error as _};
use serde_json::Value;

use super::{Literal, Pattern};

/// Declares the struct of each verb, and the enum [`Step`] of all verbs. `on` is the key with the
/// name of the connection. `timed` steps have a time limit.
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

        /// A step of a script. `vectors/exchanges/README.md` defines each verb and its keys.
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
            /// Returns the verb, which is the name of its key.
            pub const fn verb(&self) -> &'static str {
                match self {
                    $(Self::$Verb(_) => $verb,)*
                }
            }

            /// Returns the time limit, if the step gives one.
            pub const fn within_ms(&self) -> Option<u32> {
                match self {
                    $($(Self::$Verb(step) => step.$within_ms,)?)*
                    _ => None,
                }
            }

            /// Returns the name of the step's connection.
            fn on(&self) -> Option<&str> {
                match self {
                    $($(Self::$Verb(step) => Some(&step.$on),)?)*
                    _ => None,
                }
            }

            /// Reads a step by its verb, so that an error mentions only the keys of that verb.
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
    /// The player opens a connection: `{"open": "a"}`. The step has a port if the script plays the
    /// runtime and the client owns a port.
    Open = "open" on open timed within_ms {
        /// The name of the connection.
        open: String,
        /// The port, or `None` for the default port.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        port: Option<String>,
    }

    /// The side under test opens a connection: `{"accept": "a"}`. The step has a port if the script
    /// plays the client.
    Accept = "accept" on accept timed within_ms {
        /// The name of the connection.
        accept: String,
        /// The port, or `None` for the default port.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        port: Option<String>,
    }

    /// The player starts or stops listening: `{"listen": true, "port": "p"}`.
    Listen = "listen" {
        /// Whether the player starts (true) or stops listening.
        listen: bool,
        /// The port.
        port: String,
    }

    /// No connection is opened: `{"expect_no_connection": 300, "port": "p"}`.
    ExpectNoConnection = "expect_no_connection" {
        /// The time in milliseconds.
        expect_no_connection: u32,
        /// The port, or `None` for the default port.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        port: Option<String>,
    }

    /// The player sends bytes: `{"on": "a", "send": […]}`.
    Send = "send" on on timed within_ms {
        /// The connection.
        on: String,
        /// The bytes.
        send: Vec<Literal>,
        /// The sizes of the pieces, or empty for any sizes.
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

    /// One of these patterns follows: `{"on": "a", "expect_any_of": […]}`.
    ExpectAnyOf = "expect_any_of" on on timed within_ms {
        /// The connection.
        on: String,
        /// The patterns, none of which is a prefix of another.
        expect_any_of: Vec<Alternative>,
    }

    /// Neither a byte nor the end follows: `{"on": "a", "expect_nothing": 300}`. On a drained
    /// connection, only the end must not follow.
    ExpectNothing = "expect_nothing" on on {
        /// The connection.
        on: String,
        /// The time in milliseconds.
        expect_nothing: u32,
    }

    /// The stream of a session has no event yet: `{"on": "a", "expect_no_event": 500}`. Either
    /// nothing follows, or only the start of the stream, which .NET 11 sends before it is resumed
    /// (F-169). The next step on this connection gets the bytes.
    ExpectNoEvent = "expect_no_event" on on {
        /// The connection.
        on: String,
        /// The time in milliseconds.
        expect_no_event: u32,
    }

    /// The stream of a session has an event, as that of a resumed runtime: `{"on": "a",
    /// "expect_event": true}`. Only checked if its start was received in an `expect_no_event`.
    ExpectEvent = "expect_event" on on timed within_ms {
        /// The connection.
        on: String,
        /// Always true.
        expect_event: bool,
    }

    /// The player reads in the background from now on: `{"on": "a", "drain": true}`.
    Drain = "drain" on on {
        /// The connection.
        on: String,
        /// Always true.
        drain: bool,
    }

    /// The connection ends: `{"on": "a", "expect_end": "closed"}`.
    ExpectEnd = "expect_end" on on timed within_ms {
        /// The connection.
        on: String,
        /// How it ends.
        expect_end: ExpectedEnd,
        /// The expected last bytes of a drained connection.
        #[serde(default, with = "crate::hexadecimal", skip_serializing_if = "Vec::is_empty")]
        last: Vec<u8>,
        /// The last drained bytes equal one of these. If this is empty, they are not checked.
        #[serde(default, with = "crate::hexadecimal", skip_serializing_if = "Vec::is_empty")]
        last_any_of: Vec<Vec<u8>>,
        /// Whether the time limit begins again while the memory of the target's process grows.
        #[serde(default, skip_serializing_if = "core::ops::Not::not")]
        while_memory_grows: bool,
    }

    /// The player closes a connection, or one direction of it: `{"on": "a", "end": "close"}`.
    EndStep = "end" on on {
        /// The connection.
        on: String,
        /// How it is closed.
        end: Ending,
    }

    /// The player waits: `{"wait": 300}`.
    Wait = "wait" {
        /// The time in milliseconds.
        wait: u32,
    }

    /// The target is alive or dead: `{"expect_target": "alive"}`.
    ExpectTarget = "expect_target" timed within_ms {
        /// The expected state.
        expect_target: Life,
    }

    /// The player sends a signal to the target's process: `{"signal": "term"}`.
    Signal = "signal" {
        /// The signal.
        signal: SignalKind,
    }

    /// The file of the default port's socket exists or is gone: `{"expect_socket": "gone"}`.
    ExpectSocket = "expect_socket" timed within_ms {
        /// The expected state.
        expect_socket: Presence,
    }

    /// The target has written a file: `{"expect_file": "core.dmp", "begins": […]}`.
    ExpectFile = "expect_file" timed within_ms {
        /// The name of the file in the target's current directory.
        expect_file: String,
        /// The first bytes of the file.
        begins: Pattern,
    }
}

impl<'de> Deserialize<'de> for Step {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::read(Value::deserialize(deserializer)?).map_err(D::Error::custom)
    }
}

impl ExpectEnd {
    /// Returns whether the connection is the stream of a session with known last bytes.
    pub fn is_of_stream(&self) -> bool {
        !self.last.is_empty() || !self.last_any_of.is_empty()
    }
}

impl Step {
    /// Returns the action and its connection in words, without the bytes.
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

/// The file to which a descriptor refers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FdKind {
    /// `/dev/null`.
    Null,
    /// The writing end of a pipe.
    Pipe,
    /// `user_events_data` in tracefs.
    UserEventsData,
}

/// One of the patterns of [`ExpectAnyOf`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Alternative {
    /// The name of the pattern in reports.
    pub label: String,
    /// The expected bytes.
    pub expect: Pattern,
}

/// The kind of end that a step expects.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ExpectedEnd {
    /// A read returns the end of the input.
    Closed,
    /// A read fails.
    Reset,
    /// Either kind of end.
    Any,
}

/// How the player closes a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ending {
    /// The player closes only its sending direction.
    HalfClose,
    /// The player closes both directions.
    Close,
    /// The player resets the connection, so that the peer's read fails.
    Reset,
}

/// The state of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Life {
    /// The process is alive.
    Alive,
    /// The process ends in time.
    Dead,
}

/// A signal for the target's process.
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

/// The state of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Presence {
    /// The file exists.
    There,
    /// The file does not exist.
    Gone,
}
