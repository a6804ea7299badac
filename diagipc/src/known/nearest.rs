//! The recorded builds by which a target is foretold: of its server, and of its platform.

use super::builds::Build;
use super::profile::Platform;
use super::shown::recorded;
use super::{Family, Profile};
use crate::embedded::VECTORS;

/// The recorded builds nearest to a target: its own, or those around it.
#[derive(Clone, Debug)]
pub(super) struct Nearest {
    pub(super) profile: Profile,
    /// Those whose server is nearest: of its version and platform, of its version, or of the
    /// versions around it.
    pub(super) servers: Vec<Profile>,
    /// Those of its platform that are nearest: of its version, or of the versions around it.
    pub(super) platforms: Vec<Profile>,
    /// Those of the versions of `platforms` on other platforms.
    others: Vec<Profile>,
    /// All that there are.
    all: Vec<Profile>,
}

impl Nearest {
    /// Those of all recorded builds.
    pub(super) fn to(profile: Profile) -> Self {
        Self::among(recorded(), profile)
    }

    /// Those of some recorded builds.
    pub(super) fn among(all: &[Profile], profile: Profile) -> Self {
        // None of a server of the document.
        let own: Vec<_> =
            all.iter().copied().filter(|one| one.platform() == profile.platform()).collect();
        let of_version = |builds: &[Profile]| -> Vec<Profile> {
            let is_own = |one: &Profile| profile.is_of_version(*one);
            around(profile, &builds.iter().copied().filter(is_own).collect::<Vec<_>>())
        };
        let platforms = or(of_version(&own), || around(profile, &own));
        let servers = match profile.version() {
            None => of_version(&own),
            Some(_) => or(of_version(&own), || or(of_version(all), || around(profile, all))),
        };
        let is_other = |one: &Profile| {
            one.platform() != profile.platform()
                && platforms.iter().any(|platform| platform.version() == one.version())
        };
        let others = all.iter().copied().filter(is_other).collect();
        Self { profile, servers, platforms, others, all: all.to_vec() }
    }

    /// The same with the server of the recordings of its platform: for a build that was never
    /// recorded, that of an older or newer version.
    pub(super) fn on_the_server_of_its_platform(&self) -> Self {
        Self { servers: self.platforms.clone(), ..self.clone() }
    }

    /// Those of a platform; none if the target is of another one.
    pub(super) fn of_platform(&self, platform: Platform) -> &[Profile] {
        if self.profile.platform() == Some(platform) { &self.platforms } else { &[] }
    }

    /// Those that decide what differs between platforms.
    ///
    /// Where the recordings of its platform are as the others of their versions are, the server
    /// decides, else the platform. `is_alike` compares the two.
    pub(super) fn deciding(&self, is_alike: impl Fn(&[Profile], &[Profile]) -> bool) -> &[Profile] {
        let is_of_server = self.platforms.is_empty() || is_alike(&self.platforms, &self.others);
        if is_of_server { &self.servers } else { &self.platforms }
    }

    /// Whether it does what these builds do.
    pub(super) fn does(&self, builds: &[Profile]) -> bool {
        let is_done = |some: &[Profile]| some.iter().any(|one| builds.contains(one));
        is_done(self.deciding(|own, others| is_done(own) == is_done(others)))
    }

    /// Whether its version, or that of the recordings of its platform, is between those of some
    /// builds, as far as they are recorded.
    pub(super) fn is_within(&self, builds: &[Profile]) -> bool {
        let recorded = builds.iter().filter(|one| self.all.contains(one));
        let versions = recorded.filter_map(|one| one.version());
        let is_between =
            |own| versions.clone().min() <= Some(own) && Some(own) <= versions.clone().max();
        let mut of_platform = self.platforms.iter().filter_map(|one| one.version());
        self.profile.family() == Family::CoreClr
            && (self.profile.version().is_none_or(is_between) || of_platform.any(is_between))
    }
}

impl Profile {
    /// Whether it is known from recordings: its own, or those of builds around it. Otherwise it must
    /// follow the document.
    pub fn is_known(self) -> bool {
        !Nearest::to(self).servers.is_empty()
    }

    /// Whether another build is of its version; every one, if it has none.
    fn is_of_version(self, other: Self) -> bool {
        self.version().is_none() || other.version() == self.version()
    }

    /// Whether no build of its family and version was recorded.
    pub(crate) fn is_foretold(self) -> bool {
        let Nearest { servers, platforms, .. } = Nearest::to(self);
        self.platform().is_some() && (servers != platforms || servers.is_empty())
    }

    /// Its expected behaviour, in words: `compared with the recordings of coreclr-10.0.12`.
    pub fn held_to(self) -> String {
        let Nearest { servers, platforms, .. } = Nearest::to(self);
        if servers.is_empty() {
            let never = if self.family() == Family::Strict { "" } else { "never recorded: " };
            return format!("{never}compared only with the document");
        }
        if servers == [self] {
            return "compared with its recording".into();
        }
        if servers == platforms {
            return format!("compared with the recordings of {}", names(&servers));
        }
        format!(
            "never recorded: compared with the server of {} on the platform of {}",
            names(&servers),
            names(&platforms)
        )
    }

    /// The build imitated by the reference runtime: its own, or the first recorded one of its
    /// version. Without a version, the newest.
    pub(crate) fn model(self) -> Self {
        let is_own = |one: &&Self| one.platform() == self.platform() && self.is_of_version(**one);
        if self.build().is_some() {
            return self;
        }
        // Rather one whose replies about itself are in the vectors.
        let own: Vec<&Self> = recorded().iter().filter(is_own).collect();
        let told: Vec<&Self> = own.iter().copied().filter(|one| one.has_replies()).collect();
        let own = if told.is_empty() { own } else { told };
        let model = if self.version().is_none() { own.last() } else { own.first() };
        model.map_or(self, |model| **model)
    }

    /// Whether a file of the vectors has its recorded replies.
    fn has_replies(self) -> bool {
        let build = self.build().map(Build::number).unwrap_or_default();
        let file = format!("runtime-{}{build}.json", self.family().prefix());
        VECTORS.iter().any(|(name, _)| *name == file)
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
        let build = self.model().build()?.number();
        Some(format!("{}{build}", self.family().prefix()))
    }
}

/// `net10.0.9, net10.0.11 and net10.0.12`.
fn names(builds: &[Profile]) -> String {
    let names: Vec<_> = builds.iter().map(ToString::to_string).collect();
    match names.split_last() {
        Some((last, others)) if !others.is_empty() => format!("{} and {last}", others.join(", ")),
        _ => names.concat(),
    }
}

fn or(some: Vec<Profile>, others: impl FnOnce() -> Vec<Profile>) -> Vec<Profile> {
    if some.is_empty() { others() } else { some }
}

/// Those that the target may be, or the last ones before it and the first ones after it.
fn around(profile: Profile, builds: &[Profile]) -> Vec<Profile> {
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
