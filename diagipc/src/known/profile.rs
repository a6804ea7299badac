//! A target's profile: its family and its version.

use std::fmt;
use std::str::FromStr;

use dotnet_diagnostics_ipc::command::{Command, DotnetVersion};
use dotnet_diagnostics_ipc::exchange::KnownCommands;

use super::builds::{Build, SEEN_CORE_CLR, SEEN_NATIVE_AOT};

/// The kinds of servers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Family {
    /// .NET with `CoreCLR`.
    CoreClr,
    /// A program compiled ahead of time.
    NativeAot,
    /// .NET with Mono.
    Mono,
    /// A server that follows only the document: the newest edition, with its errors corrected.
    Strict,
}

/// The expected behaviour of a target, or the model of the reference runtime: a family and, if
/// known, a version or a build.
///
/// All knowledge comes from observed builds. The profile of a version allows what any build of it
/// does; the profile of a build what that build does: `coreclr-10.0.12`. A family or version that
/// was never observed must follow the document ([`is_seen`]); its commands are its own: only 11
/// knows `CollectTracing6`.
///
/// ```
/// use diagipc::known::{Family, Profile};
///
/// let profile: Profile = "coreclr-10".parse()?;
/// assert_eq!((profile, profile.family()), (Profile::CORECLR_10, Family::CoreClr));
/// assert!(profile.has("9.0") && !profile.has("11.0"));
/// // The number alone means CoreCLR.
/// assert_eq!("8.0.31".parse(), Ok("coreclr-8.0.31".parse::<Profile>()?));
/// assert_eq!(Profile::of_recording("aot9.0.20"), Some("nativeaot-9.0.20".parse()?));
/// assert!(profile.is_seen() && !"coreclr-7".parse::<Profile>()?.is_seen());
/// # Ok::<(), diagipc::known::UnknownProfile>(())
/// ```
///
/// [`is_seen`]: Self::is_seen
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Profile {
    family: Family,
    version: Option<DotnetVersion>,
    patch: Option<u16>,
}

impl Profile {
    /// .NET Core 3.1.
    pub const CORECLR_3_1: Self = Self::core_clr(3, 1);
    /// .NET 8.
    pub const CORECLR_8: Self = Self::core_clr(8, 0);
    /// .NET 9.
    pub const CORECLR_9: Self = Self::core_clr(9, 0);
    /// .NET 10.
    pub const CORECLR_10: Self = Self::core_clr(10, 0);
    /// .NET 11, never observed.
    pub const CORECLR_11: Self = Self::core_clr(11, 0);
    /// `NativeAOT` 8.
    pub const NATIVE_AOT_8: Self = Self::native_aot(8);
    /// `NativeAOT` 9.
    pub const NATIVE_AOT_9: Self = Self::native_aot(9);
    /// `NativeAOT` of any version.
    pub const NATIVE_AOT: Self = Self { family: Family::NativeAot, version: None, patch: None };
    /// Mono of any version, never observed.
    pub const MONO: Self = Self { family: Family::Mono, version: None, patch: None };
    /// No deviation is known.
    pub const STRICT: Self = Self { family: Family::Strict, version: None, patch: None };
    /// The most common ones.
    pub const ALL: [Self; 10] = [
        Self::CORECLR_3_1,
        Self::CORECLR_8,
        Self::CORECLR_9,
        Self::CORECLR_10,
        Self::CORECLR_11,
        Self::NATIVE_AOT_8,
        Self::NATIVE_AOT_9,
        Self::NATIVE_AOT,
        Self::MONO,
        Self::STRICT,
    ];

    /// .NET with `CoreCLR`, of this version.
    pub const fn core_clr(major: u8, minor: u8) -> Self {
        Self { family: Family::CoreClr, version: Some(DotnetVersion { major, minor }), patch: None }
    }

    /// `NativeAOT` of this version: the server of that version, on another platform.
    pub const fn native_aot(major: u8) -> Self {
        Self {
            family: Family::NativeAot,
            version: Some(DotnetVersion { major, minor: 0 }),
            patch: None,
        }
    }

    /// The profile of what `ProcessInfo2` calls `clrProductVersion`, of `CoreCLR`: `10.0.9`. The
    /// text does not show the family.
    pub fn of_version(text: &str) -> Option<Self> {
        let (version, patch) = version(text)?;
        Some(Self { patch, ..Self::core_clr(version.major, version.minor) })
    }

    /// The profile of a build by its name in vectors and scripts: `net10.0.9`, `aot9.0.20`,
    /// `win-net6.0.13`.
    pub fn of_recording(name: &str) -> Option<Self> {
        match name.strip_prefix("aot") {
            Some(version) => {
                Self::of_version(version).map(|profile| profile.of_family(Family::NativeAot))
            }
            None => {
                Self::of_version(name.strip_prefix("win-").unwrap_or(name).strip_prefix("net")?)
            }
        }
    }

    /// The same version of another family.
    pub(crate) const fn of_family(self, family: Family) -> Self {
        Self { family, ..self }
    }

    /// The kind of server.
    pub const fn family(self) -> Family {
        self.family
    }

    /// Its version; `None` if the profile is not of one version.
    pub const fn version(self) -> Option<DotnetVersion> {
        self.version
    }

    /// Its build; `None` if the profile is of a whole version.
    pub(crate) fn build(self) -> Option<Build> {
        Some(Build::new(self.version?.major, self.version?.minor, self.patch?))
    }

    /// Its version, as counted by commands and vectors: 3.0 has everything of 3.1 (F-131).
    const fn edition(self) -> Option<DotnetVersion> {
        match self.version {
            Some(DotnetVersion { major: 3, minor: 0 }) => {
                Some(DotnetVersion { major: 3, minor: 1 })
            }
            version => version,
        }
    }

    /// Whether it has the features of the version `since`.
    pub fn has(self, since: &str) -> bool {
        match (self.edition(), version(since)) {
            (Some(own), Some((since, _))) => since <= own,
            _ => true,
        }
    }

    /// The commands that it knows. Without a version, those of .NET 10; a server of the document
    /// has those of .NET 11.
    pub fn commands(self) -> KnownCommands {
        let newest = if self.family == Family::Strict { 11 } else { 10 };
        KnownCommands::UpTo(self.edition().unwrap_or(DotnetVersion { major: newest, minor: 0 }))
    }

    /// Whether it knows the command.
    pub fn knows(self, command: Command) -> bool {
        self.commands().contains(command)
    }

    /// The builds of this family and version that were seen, oldest first.
    fn seen(self) -> impl Iterator<Item = &'static Build> {
        let of_family = match self.family {
            Family::CoreClr => SEEN_CORE_CLR,
            Family::NativeAot => SEEN_NATIVE_AOT,
            Family::Mono | Family::Strict => &[],
        };
        let is_own = move |build: &&Build| {
            self.version.is_none_or(|own| (own.major, own.minor) == (build.major, build.minor))
        };
        of_family.iter().filter(is_own)
    }

    /// Whether builds of its family and version were observed. Otherwise it must follow the
    /// document.
    pub fn is_seen(self) -> bool {
        self.seen().next().is_some()
    }

    /// Its expected behaviour, in words: `compared with the known behaviour of 10.0.9 to 10.0.14`.
    pub fn held_to(self) -> String {
        let (Some(first), Some(last)) = (self.seen().next(), self.seen().last()) else {
            let never = if self.family == Family::Strict { "" } else { "never observed: " };
            return format!("{never}compared only with the document");
        };
        match self.build() {
            Some(build) if self.seen().any(|seen| *seen == build) => {
                "compared with its known behaviour".into()
            }
            _ if first == last => {
                format!("compared with the known behaviour of {}", first.number())
            }
            _ => format!(
                "compared with the known behaviour of {} to {}",
                first.number(),
                last.number()
            ),
        }
    }

    /// The build imitated by the reference runtime: its own, or the first recorded one of its
    /// version.
    pub(crate) fn model(self) -> Self {
        let recorded = match (self.family, self.version.map(|own| (own.major, own.minor))) {
            _ if self.patch.is_some() => self.patch,
            (Family::CoreClr, Some((3, 1))) => Some(23),
            (Family::CoreClr, Some((8, 0))) => Some(30),
            (Family::CoreClr, Some((9, 0))) => Some(5),
            (Family::CoreClr, Some((10, 0))) => Some(9),
            _ => self.seen().next().map(|build| build.patch),
        };
        let newest =
            if self.is_seen() && self.version.is_none() { self.seen().last() } else { None };
        let of = |build: &Build| {
            Self::core_clr(build.major, build.minor).with_patch(build.patch).of_family(self.family)
        };
        newest.map_or(Self { patch: recorded, ..self }, of)
    }

    /// The name in vectors and scripts of the build imitated by the reference runtime: `net8.0.30`.
    /// `None` if it was never observed.
    ///
    /// ```
    /// use diagipc::known::Profile;
    ///
    /// assert_eq!(Profile::CORECLR_8.recording().as_deref(), Some("net8.0.30"));
    /// assert_eq!(Profile::NATIVE_AOT_9.recording().as_deref(), Some("aot9.0.20"));
    /// assert_eq!(Profile::CORECLR_11.recording(), None);
    /// ```
    pub fn recording(self) -> Option<String> {
        let build = self.model().build()?.number();
        let prefix = if self.family == Family::NativeAot { "aot" } else { "net" };
        Some(format!("{prefix}{build}"))
    }

    const fn with_patch(self, patch: u16) -> Self {
        Self { patch: Some(patch), ..self }
    }
}

/// .NET 10.
impl Default for Profile {
    fn default() -> Self {
        Self::CORECLR_10
    }
}

/// The version of `10.0.9`, `3.1` or `10`, and the build if it is a release:
/// `10.0.0-rc.1.25451.107` is not.
fn version(text: &str) -> Option<(DotnetVersion, Option<u16>)> {
    let release = text.split(['+', ' ']).next()?;
    let (numbers, is_preview) =
        release.split_once('-').map_or((release, false), |(numbers, _)| (numbers, true));
    let mut numbers = numbers.split('.');
    let major = numbers.next()?.parse().ok()?;
    let minor = numbers.next().and_then(|minor| minor.parse().ok()).unwrap_or(0);
    let patch = numbers.next().and_then(|patch| patch.parse().ok()).filter(|_| !is_preview);
    Some((DotnetVersion { major, minor }, patch))
}

impl FromStr for Profile {
    type Err = UnknownProfile;

    fn from_str(text: &str) -> Result<Self, UnknownProfile> {
        match text {
            "strict" => Ok(Self::STRICT),
            "nativeaot" => Ok(Self::NATIVE_AOT),
            "mono" => Ok(Self::MONO),
            _ => {
                let (family, number) = match text.strip_prefix("nativeaot-") {
                    Some(number) => (Family::NativeAot, number),
                    None => (Family::CoreClr, text.strip_prefix("coreclr-").unwrap_or(text)),
                };
                let profile = Self::of_version(number).map(|profile| profile.of_family(family));
                profile.ok_or_else(|| UnknownProfile(text.into()))
            }
        }
    }
}

impl fmt::Display for Profile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.family {
            Family::CoreClr => "coreclr",
            Family::NativeAot => "nativeaot",
            Family::Mono => "mono",
            Family::Strict => "strict",
        })?;
        match (self.version, self.patch) {
            (None, _) => Ok(()),
            (Some(DotnetVersion { major, minor }), Some(patch)) => {
                write!(f, "-{major}.{minor}.{patch}")
            }
            (Some(DotnetVersion { major, minor: 0 }), None) => write!(f, "-{major}"),
            (Some(DotnetVersion { major, minor }), None) => write!(f, "-{major}.{minor}"),
        }
    }
}

/// Text that is not a profile.
///
/// ```
/// use diagipc::known::Profile;
///
/// let error = "coreclr-x".parse::<Profile>().unwrap_err();
/// assert_eq!(error.to_string(), "unknown profile coreclr-x: expected coreclr-VERSION, nativeaot-VERSION, nativeaot, mono or strict");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownProfile(String);

impl fmt::Display for UnknownProfile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "unknown profile {}: expected coreclr-VERSION, nativeaot-VERSION, nativeaot, mono or strict",
            self.0
        )
    }
}

impl std::error::Error for UnknownProfile {}
