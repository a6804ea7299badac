//! Which recorded builds show which row of the table, and which deviations of scripts.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use serde::{Deserialize, Serialize};

use super::Profile;

/// Written from `evidence/` by the test `shown_json_is_that_of_the_recordings`, with `DIAG_UPDATE=1`.
const TEXT: &str = include_str!("shown.json");

/// What the recordings show, by the names of their builds.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Shown {
    pub(super) recorded: Vec<String>,
    /// By the fact and the text of a row.
    pub(super) rows: BTreeMap<String, Vec<String>>,
    /// By the fact of a deviation.
    pub(super) deviations: BTreeMap<String, Vec<String>>,
    /// Those that did not survive a case, by its last word: a `tcId`, or the name of a script.
    pub(super) ended: BTreeMap<String, String>,
}

/// The same, by the builds.
#[derive(Default)]
struct Builds {
    recorded: Vec<Profile>,
    rows: BTreeMap<String, Vec<Profile>>,
    deviations: BTreeMap<String, Vec<Profile>>,
    ended: BTreeMap<String, String>,
}

impl Shown {
    /// What the file has.
    pub(super) fn read() -> serde_json::Result<Self> {
        serde_json::from_str(TEXT)
    }
}

fn builds() -> &'static Builds {
    static BUILDS: OnceLock<Builds> = OnceLock::new();
    BUILDS.get_or_init(|| {
        let Shown { recorded, rows, deviations, ended } = Shown::read().unwrap_or_default();
        let of = |names: Vec<String>| -> Vec<Profile> {
            names.iter().filter_map(|name| Profile::of_recording(name)).collect()
        };
        let all = |named: BTreeMap<String, Vec<String>>| {
            named.into_iter().map(|(key, names)| (key, of(names))).collect()
        };
        let mut sorted = of(recorded);
        sorted.sort_by_key(|one| one.build());
        let mut recorded: Vec<Profile> = Vec::new();
        // A build with glibc, and the same with musl.
        for one in sorted {
            if !recorded.contains(&one) {
                recorded.push(one);
            }
        }
        Builds { recorded, rows: all(rows), deviations: all(deviations), ended }
    })
}

/// The recorded builds, oldest first.
pub(super) fn recorded() -> &'static [Profile] {
    &builds().recorded
}

/// The builds that show the row of this key.
pub(super) fn showing(key: &str) -> &'static [Profile] {
    builds().rows.get(key).map_or(&[], Vec::as_slice)
}

/// The builds that a script went otherwise on by this fact.
pub(super) fn deviating(fact: &str) -> &'static [Profile] {
    builds().deviations.get(fact).map_or(&[], Vec::as_slice)
}

/// The recorded builds that did not survive a case, in words: `harmful: ended net8.0.30, aot9.0.20`.
///
/// `case` is the `tcId` of its request, or the name of its script. Which cases are harmful at all is
/// for the `hazard` of the vectors and scripts to say.
///
/// ```
/// use diagipc::known::harm_of;
///
/// assert!(harm_of("dump-without-payload").starts_with("harmful: ended win-net6.0.13, "));
/// assert_eq!(harm_of("6251"), "harmful");
/// ```
pub fn harm_of(case: &str) -> String {
    let ended = builds().ended.get(case);
    ended.map_or_else(|| "harmful".into(), |names| format!("harmful: ended {names}"))
}
