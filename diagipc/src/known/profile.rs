//! A target's profile: its family and its version.

use std::fmt;
use std::str::FromStr;

use dotnet_diagnostics_ipc::command::{Command, DotnetVersion};
use dotnet_diagnostics_ipc::exchange::KnownCommands;
use serde::Deserialize;

/// The full version of a .NET build, such as 10.0.9.
pub(crate) type Build = (u8, u8, u16);

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
    /// A server that follows only the document's newest edition, with its errors corrected.
    Strict,
}

/// The expected behaviour of a target, or the model of the reference runtime: a family and, if
/// known, a version or a build.
///
/// All knowledge comes from recorded builds. The profile of a version allows what any recorded
/// build of that version does; the profile of a build, such as `coreclr-10.0.12`, allows what that
/// build does. A build that was never recorded is compared with the nearest recorded builds of its
/// family ([`held_to`]), but supports the commands of its own version.
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
/// assert!(profile.is_known() && "coreclr-7".parse::<Profile>()?.is_known());
/// assert!(!Profile::STRICT.is_known());
/// # Ok::<(), diagipc::known::UnknownProfile>(())
/// ```
///
/// [`held_to`]: Self::held_to
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Deserialize)]
#[serde(try_from = "String")]
pub struct Profile {
    family: Family,
    version: Option<DotnetVersion>,
    patch: Option<u16>,
    is_on_windows: bool,
}

/// A platform of the server: the runtime and the operating system.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Platform {
    /// `CoreCLR` on Linux and macOS.
    CoreClr,
    /// `CoreCLR` on Windows.
    Windows,
    /// Programs compiled ahead of time.
    NativeAot,
    /// Mono.
    Mono,
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
    /// .NET 11.
    pub const CORECLR_11: Self = Self::core_clr(11, 0);
    /// `NativeAOT` 8.
    pub const NATIVE_AOT_8: Self = Self::native_aot(8);
    /// `NativeAOT` 9.
    pub const NATIVE_AOT_9: Self = Self::native_aot(9);
    /// `NativeAOT` of any version.
    pub const NATIVE_AOT: Self = Self::any(Family::NativeAot);
    /// Mono of any version.
    pub const MONO: Self = Self::any(Family::Mono);
    /// A server with no known deviations.
    pub const STRICT: Self = Self::any(Family::Strict);
    /// The most common profiles.
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

    const fn any(family: Family) -> Self {
        Self { family, version: None, patch: None, is_on_windows: cfg!(windows) }
    }

    /// Returns the profile of .NET with `CoreCLR` of this version.
    pub const fn core_clr(major: u8, minor: u8) -> Self {
        Self { version: Some(DotnetVersion { major, minor }), ..Self::any(Family::CoreClr) }
    }

    /// Returns the profile of `NativeAOT` of this version: the same server on another platform.
    pub const fn native_aot(major: u8) -> Self {
        Self::core_clr(major, 0).of_family(Family::NativeAot)
    }

    /// Returns the `CoreCLR` profile of a `clrProductVersion` in a reply to `ProcessInfo2`, such as
    /// `10.0.9`. This text does not show the family.
    pub fn of_version(text: &str) -> Option<Self> {
        let (version, patch) = version(text)?;
        Some(Self { patch, ..Self::core_clr(version.major, version.minor) })
    }

    /// Returns the profile of a build by its name in vectors and scripts, such as `net10.0.9`,
    /// `aot9.0.20`, `win-net6.0.13` or `mono11.0.0`. Builds for musl, arm64 or macOS
    /// (`musl-net10.0.0`) have the same profile.
    pub fn of_recording(name: &str) -> Option<Self> {
        let systems = ["musl-", "arm64-", "macos-"].into_iter();
        let name = systems.fold(name, |name, one| name.strip_prefix(one).unwrap_or(name));
        let (is_on_windows, name) =
            name.strip_prefix("win-").map_or((false, name), |name| (true, name));
        let (family, prefix) = [Family::CoreClr, Family::NativeAot, Family::Mono]
            .into_iter()
            .map(|family| (family, family.prefix()))
            .find(|(_, prefix)| name.starts_with(prefix))?;
        let profile = Self::of_version(name.strip_prefix(prefix)?)?;
        Some(Self { is_on_windows, ..profile.of_family(family) })
    }

    /// Returns the same version of another family.
    pub(crate) const fn of_family(self, family: Family) -> Self {
        Self { family, ..self }
    }

    /// Returns the kind of server.
    pub const fn family(self) -> Family {
        self.family
    }

    /// Returns the version; `None` if the profile is not limited to one version.
    pub const fn version(self) -> Option<DotnetVersion> {
        self.version
    }

    /// Returns the platform; `None` for a server that follows only the document.
    pub(crate) const fn platform(self) -> Option<Platform> {
        match (self.family, self.is_on_windows) {
            (Family::CoreClr, false) => Some(Platform::CoreClr),
            (Family::CoreClr, true) => Some(Platform::Windows),
            (Family::NativeAot, _) => Some(Platform::NativeAot),
            (Family::Mono, _) => Some(Platform::Mono),
            (Family::Strict, _) => None,
        }
    }

    /// Returns the build; `None` if the profile covers a whole version.
    pub(crate) fn build(self) -> Option<Build> {
        Some((self.version?.major, self.version?.minor, self.patch?))
    }

    /// Returns the version in terms of commands and vectors: 3.0 has everything of 3.1 (F-131).
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

    /// Returns the supported commands. Without a version they are those of .NET 10; for a server of
    /// the document they are those of .NET 11.
    pub fn commands(self) -> KnownCommands {
        let newest = if self.family == Family::Strict { 11 } else { 10 };
        KnownCommands::UpTo(self.edition().unwrap_or(DotnetVersion { major: newest, minor: 0 }))
    }

    /// Whether the command is supported.
    pub fn knows(self, command: Command) -> bool {
        self.commands().contains(command)
    }

    /// Returns the first and the last build that the target may be.
    pub(super) fn range(self) -> (Build, Build) {
        let Some(version) = self.version else { return ((0, 0, 0), (u8::MAX, u8::MAX, u16::MAX)) };
        let of = |patch| (version.major, version.minor, patch);
        self.patch.map_or((of(0), of(u16::MAX)), |patch| (of(patch), of(patch)))
    }
}

impl Family {
    /// Returns the prefix of the names of its recordings.
    pub(super) const fn prefix(self) -> &'static str {
        match self {
            Self::NativeAot => "aot",
            Self::Mono => "mono",
            Self::CoreClr | Self::Strict => "net",
        }
    }
}

/// The default is .NET 10.
impl Default for Profile {
    fn default() -> Self {
        Self::CORECLR_10
    }
}

/// Returns the version in `10.0.9`, `3.1` or `10`, and the build if it is a release, which
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
                let families = [
                    ("nativeaot-", Family::NativeAot),
                    ("mono-", Family::Mono),
                    ("coreclr-", Family::CoreClr),
                    ("", Family::CoreClr),
                ];
                let profile = families.into_iter().find_map(|(prefix, family)| {
                    Some(Self::of_version(text.strip_prefix(prefix)?)?.of_family(family))
                });
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

/// Parses the name of a recorded build.
impl TryFrom<String> for Profile {
    type Error = UnknownProfile;

    fn try_from(name: String) -> Result<Self, UnknownProfile> {
        Self::of_recording(&name).ok_or(UnknownProfile(name))
    }
}

/// The error for text that is not a profile.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownProfile(String);

impl fmt::Display for UnknownProfile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "unknown profile {}: expected coreclr-VERSION, nativeaot-VERSION, nativeaot, mono-VERSION, mono or strict",
            self.0
        )
    }
}

impl std::error::Error for UnknownProfile {}
