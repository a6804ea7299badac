//! What a target is: its family and its version.

use alloc::string::String;
use core::fmt;
use core::str::FromStr;

use super::builds::{Build, RECORDED};
use crate::command::{Command, DotnetVersion};
use crate::exchange::KnownCommands;
use crate::vectors::script::{Plays, Script};

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
    /// A server of the document alone: the newest edition, with its errors corrected.
    Strict,
}

/// What a target is held to, and what the reference runtime is like: a family and, where it is known, a version.
///
/// A version of which nothing was recorded is held to what is known of the nearest that was: 5, 6 and 7 to 8.0.30, 11 and later to
/// 10.0.9. Its commands are its own: `CollectTracing6` is known to 11 alone.
///
/// ```
/// use dotnet_diagnostics_ipc::conformance::known::{Family, Profile};
///
/// let profile: Profile = "coreclr-10".parse()?;
/// assert_eq!((profile, profile.family()), (Profile::CORECLR_10, Family::CoreClr));
/// assert!(profile.has("9.0") && !profile.has("11.0"));
/// assert!(profile.is_called("net10.0.9") && !profile.is_called("net9.0.5"));
/// // The number alone means CoreCLR.
/// assert_eq!("7".parse(), Ok("coreclr-7".parse::<Profile>()?));
/// assert_eq!("coreclr-7".parse::<Profile>()?.recorded(), "net8.0.30");
/// # Ok::<(), dotnet_diagnostics_ipc::conformance::known::UnknownProfile>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Profile {
    family: Family,
    version: Option<DotnetVersion>,
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
    /// .NET 11, which was not recorded.
    pub const CORECLR_11: Self = Self::core_clr(11, 0);
    /// `NativeAOT` of any version.
    pub const NATIVE_AOT: Self = Self { family: Family::NativeAot, version: None };
    /// Mono of any version.
    pub const MONO: Self = Self { family: Family::Mono, version: None };
    /// No deviation is known.
    pub const STRICT: Self = Self { family: Family::Strict, version: None };
    /// Those that are asked for most.
    pub const ALL: [Self; 8] = [
        Self::CORECLR_3_1,
        Self::CORECLR_8,
        Self::CORECLR_9,
        Self::CORECLR_10,
        Self::CORECLR_11,
        Self::NATIVE_AOT,
        Self::MONO,
        Self::STRICT,
    ];

    /// .NET with `CoreCLR`, of this version.
    pub const fn core_clr(major: u8, minor: u8) -> Self {
        Self { family: Family::CoreClr, version: Some(DotnetVersion { major, minor }) }
    }

    /// `NativeAOT` of this version: the server of that version, on a platform of its own.
    pub const fn native_aot(major: u8) -> Self {
        Self { family: Family::NativeAot, version: Some(DotnetVersion { major, minor: 0 }) }
    }

    /// The profile of what `ProcessInfo2` calls `clrProductVersion`: `10.0.9`. It does not tell `CoreCLR` from the others.
    pub fn of_version(text: &str) -> Option<Self> {
        version(text).map(|DotnetVersion { major, minor }| Self::core_clr(major, minor))
    }

    /// The kind of server.
    pub const fn family(self) -> Family {
        self.family
    }

    /// Its version; `None` where the profile is not of one version.
    pub const fn version(self) -> Option<DotnetVersion> {
        self.version
    }

    /// Whether it has what came with the version `since`.
    pub fn has(self, since: &str) -> bool {
        match (self.version, version(since)) {
            (Some(own), Some(since)) => since <= own,
            _ => true,
        }
    }

    /// The commands that it knows. What is of no version knows those of .NET 10, and a server of the document those of .NET 11.
    pub fn commands(self) -> KnownCommands {
        let newest = if self.family == Family::Strict { 11 } else { 10 };
        KnownCommands::UpTo(self.version.unwrap_or(DotnetVersion { major: newest, minor: 0 }))
    }

    /// Whether it knows the command.
    pub fn knows(self, command: Command) -> bool {
        self.commands().contains(command)
    }

    /// The recorded build whose behaviour it has; `None` where the version is not known.
    pub(in crate::conformance) fn build(self) -> Option<Build> {
        let nearest = match self.version?.major {
            0..=4 => 0,
            5..=8 => 1,
            9 => 2,
            10.. => 3,
        };
        RECORDED.get(nearest).copied()
    }

    /// The runtime that was recorded for it, as vectors and scripts name it: `net8.0.30`.
    pub fn recorded(self) -> String {
        alloc::format!("{}", self.build().unwrap_or(Build::NEWEST))
    }

    /// Whether the vectors and scripts mean this when they say `net10.0.9`.
    pub fn is_called(self, name: &str) -> bool {
        let (Some(own), Ok(named)) = (self.build(), name.parse::<Build>()) else { return false };
        (own.major, own.minor) == (named.major, named.minor)
    }

    /// The name by which the deviations of `script` speak of it, if they do.
    pub fn name_in(self, script: &Script) -> Option<&str> {
        let Plays::Client(part) = &script.plays else { return None };
        part.deviations.iter().flat_map(|deviation| &deviation.on).map(String::as_str).find(|name| self.is_called(name))
    }
}

/// .NET 10.
impl Default for Profile {
    fn default() -> Self {
        Self::CORECLR_10
    }
}

/// The first two numbers of `10.0.9`, `3.1` or `10`.
fn version(text: &str) -> Option<DotnetVersion> {
    let mut numbers = text.split(['.', '-', '+', ' ']);
    let major = numbers.next()?.parse().ok()?;
    Some(DotnetVersion { major, minor: numbers.next().and_then(|minor| minor.parse().ok()).unwrap_or(0) })
}

impl FromStr for Profile {
    type Err = UnknownProfile;

    fn from_str(text: &str) -> Result<Self, UnknownProfile> {
        match text {
            "strict" => Ok(Self::STRICT),
            "nativeaot" => Ok(Self::NATIVE_AOT),
            "mono" => Ok(Self::MONO),
            _ => {
                let of_version = match text.strip_prefix("nativeaot-") {
                    Some(number) => number.parse().ok().map(Self::native_aot),
                    None => Self::of_version(text.strip_prefix("coreclr-").unwrap_or(text)),
                };
                of_version.ok_or_else(|| UnknownProfile(text.into()))
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
        match self.version {
            None => Ok(()),
            Some(DotnetVersion { major, minor: 0 }) => write!(f, "-{major}"),
            Some(DotnetVersion { major, minor }) => write!(f, "-{major}.{minor}"),
        }
    }
}

/// Text that names no profile.
///
/// ```
/// use dotnet_diagnostics_ipc::conformance::known::Profile;
///
/// let error = "coreclr-x".parse::<Profile>().unwrap_err();
/// assert_eq!(error.to_string(), "no profile coreclr-x: expected coreclr-VERSION, nativeaot-VERSION, nativeaot, mono or strict");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownProfile(String);

impl fmt::Display for UnknownProfile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "no profile {}: expected coreclr-VERSION, nativeaot-VERSION, nativeaot, mono or strict", self.0)
    }
}

impl core::error::Error for UnknownProfile {}
