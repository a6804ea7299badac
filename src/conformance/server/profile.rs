//! Which runtime the target is, and so which deviations are known of it.

use alloc::{format, string::String};
use core::{fmt, str::FromStr};

use crate::command::Command;
use crate::hresult::HResult;
use crate::vectors::Script;

/// What a target is held to.
///
/// ```
/// use dotnet_diagnostics_ipc::conformance::server::Profile;
///
/// let profile: Profile = "coreclr-10".parse()?;
/// assert_eq!(profile, Profile::CoreClr { major: 10, minor: 0 });
/// assert!(profile.has("9.0") && !profile.has("11.0"));
/// assert!(profile.is_called("net10.0.9") && !profile.is_called("net9.0.5"));
/// # Ok::<(), String>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Profile {
    /// The newest edition of the document, with its errors corrected; no deviation is known.
    Strict,
    /// .NET with `CoreCLR`, of this version.
    CoreClr {
        /// 10 of 10.0.9.
        major: u32,
        /// 0 of 10.0.9.
        minor: u32,
    },
    /// A program compiled ahead of time.
    NativeAot,
    /// .NET with Mono.
    Mono,
}

impl Profile {
    /// The names that [`Profile::from_str`] is asked for most.
    pub const NAMES: [&'static str; 8] =
        ["coreclr-3.1", "coreclr-8", "coreclr-9", "coreclr-10", "coreclr-11", "nativeaot", "mono", "strict"];

    /// The profile of what `ProcessInfo2` calls `clrProductVersion`: `10.0.9`. It does not tell `CoreCLR` from the others.
    pub fn of_version(text: &str) -> Option<Self> {
        let (major, minor) = version(text)?;
        Some(Self::CoreClr { major, minor })
    }

    /// Whether it has what came with the version `since`.
    pub fn has(self, since: &str) -> bool {
        match self {
            Self::CoreClr { major, minor } => version(since).is_none_or(|since| since <= (major, minor)),
            Self::Strict | Self::NativeAot | Self::Mono => true,
        }
    }

    /// Whether the vectors and scripts mean this when they say `net10.0.9`. What was not recorded is held to what is known of the nearest
    /// that was: 11 to that of 10, 6 and 7 to that of 8.
    pub fn is_called(self, name: &str) -> bool {
        let Self::CoreClr { major, .. } = self else { return false };
        let nearest = match major {
            0..=4 => (3, 1),
            5..=8 => (8, 0),
            9 => (9, 0),
            10.. => (10, 0),
        };
        name.strip_prefix("net").and_then(version) == Some(nearest)
    }

    /// The name by which the deviations of `script` speak of it, if they do.
    pub fn name_in(self, script: &Script) -> Option<&str> {
        let crate::vectors::Plays::Client(part) = &script.plays else { return None };
        part.deviations.iter().flat_map(|deviation| &deviation.on).map(String::as_str).find(|name| self.is_called(name))
    }

    /// The fact by which this runtime refuses `command` with `hresult`, where another one does not.
    pub fn refuses(self, command: Command, hresult: HResult) -> Option<(&'static str, &'static str)> {
        let is_set = |set| command.set == set;
        match self {
            Self::Mono if hresult == HResult::NOT_SUPPORTED => {
                let lacks = is_set(Command::GENERATE_CORE_DUMP.set)
                    || is_set(Command::ATTACH_PROFILER.set)
                    || [Command::ENABLE_PERF_MAP, Command::DISABLE_PERF_MAP, Command::APPLY_STARTUP_HOOK].contains(&command);
                lacks.then_some(("F-63", "Mono has no dumps, profilers, perf maps and startup hooks"))
            }
            Self::CoreClr { .. }
                if cfg!(windows) && command == Command::SET_ENVIRONMENT_VARIABLE && hresult == HResult::ENVVAR_NOT_FOUND =>
            {
                Some(("P-41", "on Windows an absent name is one that is not there"))
            }
            Self::NativeAot if command == Command::SET_ENVIRONMENT_VARIABLE && hresult == HResult(0x0000_FFFF) => {
                Some(("F-12", "NativeAOT sets no variables"))
            }
            Self::NativeAot if hresult == HResult::NOT_SUPPORTED && is_set(Command::ATTACH_PROFILER.set) => {
                Some(("F-56", "a runtime without profiling refuses every command of it"))
            }
            Self::NativeAot
                if hresult == HResult::NOT_SUPPORTED
                    && [Command::ENABLE_PERF_MAP, Command::DISABLE_PERF_MAP].contains(&command) =>
            {
                Some(("F-46", "a runtime without perf maps refuses them"))
            }
            Self::NativeAot if hresult == HResult::NOT_SUPPORTED && command == Command::APPLY_STARTUP_HOOK => {
                Some(("F-63", "what is compiled ahead of time loads no hook"))
            }
            _ => None,
        }
    }

    /// The fact by which this runtime says OK to `command` and does nothing.
    pub fn pretends(self, command: Command) -> Option<(&'static str, &'static str)> {
        let is_known = self == Self::NativeAot && command.set == Command::GENERATE_CORE_DUMP.set;
        is_known.then_some(("F-63", "NativeAOT answers a dump with OK at once, and writes none"))
    }

    /// The fact by which this runtime refuses a message that comes in pieces, as malformed, where another one waits for the rest.
    pub fn refuses_pieces(self) -> Option<(&'static str, &'static str)> {
        let is_known = cfg!(windows) && matches!(self, Self::CoreClr { .. });
        is_known.then_some(("P-39", "from a pipe the runtime takes what one read gives for the whole header, or the whole payload"))
    }
}

/// The first two numbers of `10.0.9`, `3.1` or `10`.
fn version(text: &str) -> Option<(u32, u32)> {
    let mut numbers = text.split(['.', '-', '+', ' ']);
    let major = numbers.next()?.parse().ok()?;
    Some((major, numbers.next().and_then(|minor| minor.parse().ok()).unwrap_or(0)))
}

impl FromStr for Profile {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "strict" => Ok(Self::Strict),
            "nativeaot" => Ok(Self::NativeAot),
            "mono" => Ok(Self::Mono),
            _ => {
                let version = text.strip_prefix("coreclr-").and_then(Self::of_version);
                version.ok_or_else(|| format!("no profile; there are {}", Self::NAMES.join(", ")))
            }
        }
    }
}

impl fmt::Display for Profile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Strict => f.write_str("strict"),
            Self::CoreClr { major, minor: 0 } => write!(f, "coreclr-{major}"),
            Self::CoreClr { major, minor } => write!(f, "coreclr-{major}.{minor}"),
            Self::NativeAot => f.write_str("nativeaot"),
            Self::Mono => f.write_str("mono"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fact(known: Option<(&'static str, &'static str)>) -> Option<&'static str> {
        known.map(|(fact, _)| fact)
    }

    #[test]
    fn what_mono_and_programs_compiled_ahead_of_time_lack_is_known_by_its_fact() {
        let (lacks, unknown) = (HResult::NOT_SUPPORTED, HResult::UNKNOWN_COMMAND);
        for (command, mono, nativeaot) in [
            (Command::GENERATE_CORE_DUMP2, Some("F-63"), None),
            (Command::ATTACH_PROFILER, Some("F-63"), Some("F-56")),
            (Command::STARTUP_PROFILER, Some("F-63"), Some("F-56")),
            (Command::ENABLE_PERF_MAP, Some("F-63"), Some("F-46")),
            (Command::DISABLE_PERF_MAP, Some("F-63"), Some("F-46")),
            (Command::APPLY_STARTUP_HOOK, Some("F-63"), Some("F-63")),
            (Command::COLLECT_TRACING2, None, None),
            (Command::RESUME_RUNTIME, None, None),
        ] {
            assert_eq!(fact(Profile::Mono.refuses(command, lacks)), mono, "{command}");
            assert_eq!(fact(Profile::NativeAot.refuses(command, lacks)), nativeaot, "{command}");
            // Neither says so by another error, and no other runtime lacks it.
            for profile in [Profile::Mono, Profile::NativeAot] {
                assert_eq!(profile.refuses(command, unknown), None, "{profile}: {command}");
            }
            for profile in [Profile::Strict, Profile::CoreClr { major: 10, minor: 0 }] {
                assert_eq!(profile.refuses(command, lacks), None, "{profile}: {command}");
            }
        }
        // F-12: no variable is set, and the error is a number of 16 bits.
        let set = |profile: Profile, code| fact(profile.refuses(Command::SET_ENVIRONMENT_VARIABLE, HResult(code)));
        assert_eq!((set(Profile::NativeAot, 0xffff), set(Profile::NativeAot, 0x8000_4005)), (Some("F-12"), None));
        assert_eq!(set(Profile::Mono, 0xffff), None);
    }

    #[test]
    fn an_ok_to_a_dump_is_a_pretence_of_programs_compiled_ahead_of_time_alone() {
        assert_eq!(fact(Profile::NativeAot.pretends(Command::GENERATE_CORE_DUMP3)), Some("F-63"));
        assert_eq!(Profile::NativeAot.pretends(Command::RESUME_RUNTIME), None);
        assert_eq!(Profile::Mono.pretends(Command::GENERATE_CORE_DUMP3), None);
    }

    #[test]
    fn what_is_known_of_pipes_is_known_on_windows_alone() {
        let runtime = Profile::CoreClr { major: 10, minor: 0 };
        let absent = |profile: Profile, command| fact(profile.refuses(command, HResult::ENVVAR_NOT_FOUND));
        let there = |known: &'static str| cfg!(windows).then_some(known);
        assert_eq!(absent(runtime, Command::SET_ENVIRONMENT_VARIABLE), there("P-41"));
        assert_eq!(absent(runtime, Command::RESUME_RUNTIME), None);
        assert_eq!(absent(Profile::Strict, Command::SET_ENVIRONMENT_VARIABLE), None);
        assert_eq!(runtime.refuses(Command::SET_ENVIRONMENT_VARIABLE, HResult::FAIL), None);
        assert_eq!((fact(runtime.refuses_pieces()), fact(Profile::Mono.refuses_pieces())), (there("P-39"), None));
    }
}
