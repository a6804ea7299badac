//! The steps that check the process of the runtime under test, and its files.

use alloc::string::String;

use serde::{Deserialize, Serialize};

use super::Pattern;

/// `{"expect_target": "alive"}`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExpectTarget {
    /// The expected state.
    pub expect_target: Life,
    /// The time limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub within_ms: Option<u32>,
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

/// `{"signal": "term"}`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Signal {
    /// The signal.
    pub signal: SignalKind,
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

/// `{"expect_socket": "gone"}`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExpectSocket {
    /// The expected state.
    pub expect_socket: Presence,
    /// The time limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub within_ms: Option<u32>,
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

/// `{"expect_file": "core.dmp", "begins": […]}`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExpectFile {
    /// Its name in the target's current directory.
    pub expect_file: String,
    /// Its first bytes.
    pub begins: Pattern,
    /// The time limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub within_ms: Option<u32>,
}
