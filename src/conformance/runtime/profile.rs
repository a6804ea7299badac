//! Which runtime the reference runtime is like.

use core::fmt;
use core::str::FromStr;
use std::format;
use std::string::String;

use crate::command::{Command, DotnetVersion};
use crate::exchange::{KnownCommands, RefusalReason, ServerOptions};
use crate::hresult::HResult;

/// Which runtime the reference runtime is like: the commands that it knows (F-68), what it says of itself, and in what it deviates.
///
/// ```
/// use dotnet_diagnostics_ipc::command::Command;
/// use dotnet_diagnostics_ipc::conformance::runtime::Profile;
///
/// let profile: Profile = "coreclr-8".parse()?;
/// assert_eq!((profile, profile.recorded()), (Profile::CoreClr8, "net8.0.30"));
/// assert!(profile.knows(Command::COLLECT_TRACING2) && !profile.knows(Command::COLLECT_TRACING5));
/// # Ok::<(), dotnet_diagnostics_ipc::conformance::runtime::UnknownProfile>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Profile {
    /// As recorded from net3.1.23.
    CoreClr31,
    /// As recorded from net8.0.30.
    CoreClr8,
    /// As recorded from net9.0.5.
    CoreClr9,
    /// As recorded from net10.0.9.
    #[default]
    CoreClr10,
    /// As .NET 10, and knows `CollectTracing6`. Not recorded.
    CoreClr11,
    /// `NativeAOT` as F-12 and F-63 tell of it. Not recorded.
    NativeAot,
    /// Mono as F-63 tells of it. Not recorded.
    Mono,
    /// No known deviation: all goes as the scripts say. Knows all commands.
    Strict,
}

impl Profile {
    /// All of them.
    pub const ALL: [Self; 8] = [
        Self::CoreClr31,
        Self::CoreClr8,
        Self::CoreClr9,
        Self::CoreClr10,
        Self::CoreClr11,
        Self::NativeAot,
        Self::Mono,
        Self::Strict,
    ];

    /// Its name, as [`parse`](str::parse) reads it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::CoreClr31 => "coreclr-3.1",
            Self::CoreClr8 => "coreclr-8",
            Self::CoreClr9 => "coreclr-9",
            Self::CoreClr10 => "coreclr-10",
            Self::CoreClr11 => "coreclr-11",
            Self::NativeAot => "nativeaot",
            Self::Mono => "mono",
            Self::Strict => "strict",
        }
    }

    /// The runtime whose values it has, as vectors and scripts name it.
    pub const fn recorded(self) -> &'static str {
        match self {
            Self::CoreClr31 => "net3.1.23",
            Self::CoreClr8 => "net8.0.30",
            Self::CoreClr9 => "net9.0.5",
            Self::CoreClr10 | Self::CoreClr11 | Self::NativeAot | Self::Mono | Self::Strict => "net10.0.9",
        }
    }

    /// The .NET whose commands it knows.
    pub const fn version(self) -> DotnetVersion {
        let (major, minor) = match self {
            Self::CoreClr31 => (3, 1),
            Self::CoreClr8 => (8, 0),
            Self::CoreClr9 => (9, 0),
            Self::CoreClr10 | Self::NativeAot | Self::Mono => (10, 0),
            Self::CoreClr11 | Self::Strict => (11, 0),
        };
        DotnetVersion { major, minor }
    }

    /// Whether it knows the command.
    pub fn knows(self, command: Command) -> bool {
        KnownCommands::UpTo(self.version()).contains(command)
    }

    /// As the exchange takes it.
    pub(super) fn options(self) -> ServerOptions {
        ServerOptions { commands: KnownCommands::UpTo(self.version()), ..ServerOptions::DEFAULT }
    }

    /// What it answers to a request that the exchange refuses.
    pub(super) fn refusal(self, reason: RefusalReason) -> HResult {
        match reason {
            // F-68.
            RefusalReason::UnknownCommand { command } if self == Self::CoreClr31 && is_profiler(command) => HResult::BAD_ENCODING,
            // F-56: every profiler id.
            RefusalReason::UnknownCommand { command } if self.lacks_tools() && is_profiler(command) => HResult::NOT_SUPPORTED,
            _ => reason.hresult(),
        }
    }

    /// Whether the connection stays open behind that refusal (F-5, F-74).
    pub(super) fn stays_open(self, command: Option<Command>, reason: RefusalReason) -> bool {
        let refuses = matches!(self, Self::CoreClr9 | Self::CoreClr10 | Self::CoreClr11);
        match reason {
            RefusalReason::UnknownCommand { command } => is_profiler(command) && (refuses || self == Self::CoreClr8),
            _ => refuses && reason.hresult() == HResult::BAD_ENCODING && command.is_some_and(begins_session),
        }
    }

    /// Whether it is a build without profiling, perf map and startup hooks (F-46, F-56, F-63).
    pub(super) const fn lacks_tools(self) -> bool {
        matches!(self, Self::NativeAot | Self::Mono)
    }
}

fn is_profiler(command: Command) -> bool {
    command.set == Command::ATTACH_PROFILER.set
}

fn begins_session(command: Command) -> bool {
    command.set == Command::COLLECT_TRACING.set && command != Command::STOP_TRACING
}

impl fmt::Display for Profile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// By its name; `8` is `coreclr-8`.
impl FromStr for Profile {
    type Err = UnknownProfile;

    fn from_str(text: &str) -> Result<Self, UnknownProfile> {
        let long = format!("coreclr-{text}");
        let found = Self::ALL.into_iter().find(|profile| profile.name() == text || profile.name() == long);
        found.ok_or_else(|| UnknownProfile(String::from(text)))
    }
}

/// Text that names no profile.
///
/// ```
/// use dotnet_diagnostics_ipc::conformance::runtime::Profile;
///
/// let error = "coreclr-7".parse::<Profile>().unwrap_err();
/// assert!(error.to_string().starts_with("no profile coreclr-7: there are coreclr-3.1, coreclr-8,"));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownProfile(String);

impl fmt::Display for UnknownProfile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "no profile {}: there are ", self.0)?;
        for (nth, profile) in Profile::ALL.into_iter().enumerate() {
            write!(f, "{}{profile}", if nth == 0 { "" } else { ", " })?;
        }
        Ok(())
    }
}

impl core::error::Error for UnknownProfile {}
