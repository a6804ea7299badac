//! The time and program of a report.

use serde::{Deserialize, Serialize};

/// The time and program of a report.
///
/// ```
/// use diagipc::report::Made;
///
/// let made = Made::now(None, ["diagipc", "server", "--process-id", "4711"].map(String::from));
/// assert_eq!(made.by, concat!("diagipc ", env!("CARGO_PKG_VERSION")));
/// assert!(made.at.ends_with('Z'));
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Made {
    /// The program and its version: `diagipc 0.1.0`.
    pub by: String,
    /// The version of the suite: a digest of its vectors, scripts or scenarios, the same on every
    /// machine. Absent if others were read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub suite: Option<String>,
    /// The time, in UTC: `2026-11-22T21:04:05Z`.
    pub at: String,
    /// The command line. After `--` only the program, and `…` for its arguments.
    pub command: Vec<String>,
}

impl Made {
    /// Now, by this version, with this suite and command line.
    pub fn now(suite: Option<String>, command: impl IntoIterator<Item = String>) -> Self {
        let at = chrono::DateTime::<chrono::Utc>::from(std::time::SystemTime::now());
        Self {
            by: concat!("diagipc ", env!("CARGO_PKG_VERSION")).to_owned(),
            suite,
            at: at.to_rfc3339_opts(chrono::SecondsFormat::Secs, true),
            command: command.into_iter().collect(),
        }
    }
}
