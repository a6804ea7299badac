//! What recorded builds show, and which of them are nearest to a target.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::{Deserialize, Serialize};

use super::profile::{Build, Family, Profile};
use crate::embedded::VECTORS;

/// Written from `evidence/` by the test `shown_json_is_that_of_the_recordings`, with `DIAG_UPDATE=1`.
const TEXT: &str = include_str!("shown.json");

/// What the recordings show, by builds, or in tests by their names.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Shown<B> {
    pub(super) recorded: Vec<B>,
    /// By the fact and the text of a row.
    pub(super) rows: BTreeMap<String, Vec<B>>,
    /// By the fact of a deviation.
    pub(super) deviations: BTreeMap<String, Vec<B>>,
    /// The builds that did not survive a case, by its last word: a `tcId`, or the name of a script.
    pub(super) ended: BTreeMap<String, String>,
}

static SHOWN: LazyLock<Shown<Profile>> = LazyLock::new(|| {
    let mut shown: Shown<Profile> = serde_json::from_str(TEXT).unwrap_or_default();
    // The oldest first; a build with glibc, and the same with musl, are one.
    shown.recorded.sort_by_key(|one| one.build());
    shown.recorded.dedup();
    shown
});

/// Returns the builds that show the row of this key.
pub(super) fn showing(key: &str) -> &'static [Profile] {
    SHOWN.rows.get(key).map_or(&[], Vec::as_slice)
}

/// Returns the builds that a script went otherwise on by this fact.
pub(super) fn deviating(fact: &str) -> &'static [Profile] {
    SHOWN.deviations.get(fact).map_or(&[], Vec::as_slice)
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
    let ended = SHOWN.ended.get(case);
    ended.map_or_else(|| "harmful".into(), |names| format!("harmful: ended {names}"))
}

/// Returns the recorded builds of a target's platform that are nearest to it: those that it may be,
/// or else the last ones before its version and the first ones after it.
pub(super) fn nearest(profile: Profile) -> Vec<Profile> {
    nearest_among(&SHOWN.recorded, profile)
}

/// Returns those of some builds that are nearest to a target: see [`nearest`].
pub(super) fn nearest_among(recorded: &[Profile], profile: Profile) -> Vec<Profile> {
    let is_own = |one: &&Profile| one.platform() == profile.platform();
    let own: Vec<Profile> = recorded.iter().filter(is_own).copied().collect();
    let of_version: Vec<_> =
        own.iter().copied().filter(|one| profile.is_of_version(*one)).collect();
    let builds = if of_version.is_empty() { own } else { of_version };
    let (first, last) = profile.range();
    let of = |is_meant: &dyn Fn(Build) -> bool| -> Vec<Profile> {
        builds.iter().copied().filter(|one| one.build().is_some_and(is_meant)).collect()
    };
    let own = of(&|build| (first..=last).contains(&build));
    if !own.is_empty() {
        return own;
    }
    let built = || builds.iter().filter_map(|one| one.build());
    let before = built().filter(|build| *build < first).max();
    let after = built().filter(|build| *build > last).min();
    of(&|build| Some(build) == before || Some(build) == after)
}

impl Profile {
    /// Whether it is known from recordings: its own, or those of builds around it. Otherwise it must
    /// follow the document.
    pub fn is_known(self) -> bool {
        !nearest(self).is_empty()
    }

    /// Whether another build is of its version; every one, if it has none.
    fn is_of_version(self, other: Self) -> bool {
        self.version().is_none() || other.version() == self.version()
    }

    /// Whether no build of its family and version was recorded.
    pub(crate) fn is_predicted(self) -> bool {
        self.platform().is_some() && !nearest(self).iter().any(|one| self.is_of_version(*one))
    }

    /// Whether its version, or that of the recordings nearest to it, is between those of some builds.
    pub(super) fn is_within(self, builds: &[Self]) -> bool {
        let versions = builds.iter().filter_map(|one| one.version());
        let is_between =
            |own| versions.clone().min() <= Some(own) && Some(own) <= versions.clone().max();
        let mut nearest = nearest(self).into_iter().filter_map(Self::version);
        self.family() == Family::CoreClr
            && (self.version().is_none_or(is_between) || nearest.any(is_between))
    }

    /// Returns its expected behaviour in words: `compared with the recordings of coreclr-10.0.12`.
    pub fn held_to(self) -> String {
        let nearest = nearest(self);
        if nearest.is_empty() {
            let never = if self.family() == Family::Strict { "" } else { "never recorded: " };
            return format!("{never}compared only with the document");
        }
        if nearest == [self] {
            return "compared with its recording".into();
        }
        let never = if self.is_predicted() { "never recorded: " } else { "" };
        let names: Vec<_> = nearest.iter().map(ToString::to_string).collect();
        let names = match names.split_last() {
            Some((last, others)) if !others.is_empty() => {
                format!("{} and {last}", others.join(", "))
            }
            _ => names.concat(),
        };
        format!("{never}compared with the recordings of {names}")
    }

    /// The build imitated by the reference runtime: its own, or the first recorded one of its
    /// version. Without a version, the newest.
    pub(crate) fn model(self) -> Self {
        let is_own = |one: &&Self| one.platform() == self.platform() && self.is_of_version(**one);
        if self.build().is_some() {
            return self;
        }
        // Rather one whose replies about itself are in the vectors.
        let own: Vec<&Self> = SHOWN.recorded.iter().filter(is_own).collect();
        let told: Vec<&Self> = own.iter().copied().filter(|one| one.has_replies()).collect();
        let own = if told.is_empty() { own } else { told };
        let model = if self.version().is_none() { own.last() } else { own.first() };
        model.map_or(self, |model| **model)
    }

    /// Whether a file of the vectors has its recorded replies.
    fn has_replies(self) -> bool {
        let file = self.recording_of_build().map(|name| format!("runtime-{name}.json"));
        VECTORS.iter().any(|(name, _)| Some(*name) == file.as_deref())
    }

    /// The name in vectors and scripts of the build imitated by the reference runtime: `net8.0.30`.
    /// `None` if it was never observed.
    ///
    /// ```
    /// use diagipc::known::Profile;
    ///
    /// assert_eq!(Profile::CORECLR_8.recording().as_deref(), Some("net8.0.30"));
    /// assert_eq!(Profile::NATIVE_AOT_9.recording().as_deref(), Some("aot9.0.20"));
    /// assert_eq!(Profile::core_clr(7, 0).recording(), None);
    /// ```
    pub fn recording(self) -> Option<String> {
        self.model().recording_of_build()
    }

    fn recording_of_build(self) -> Option<String> {
        let (major, minor, patch) = self.build()?;
        Some(format!("{}{major}.{minor}.{patch}", self.family().prefix()))
    }
}
