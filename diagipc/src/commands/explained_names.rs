//! Explains names that no file of texts has: error codes, profiles and levels.

use diagipc::known::{Family, Profile};
use dotnet_diagnostics_ipc::hresult::HResult;

use crate::commands::event_names::{LEVELS, OTHER_PROFILES, PROFILES};

/// Returns the meaning of a name, and the facts that support it.
pub(crate) fn meaning(name: &str) -> Option<(String, &'static [&'static str])> {
    let without_facts = |text| (text, &[][..]);
    hresult(name).or_else(|| level(name).or_else(|| profile(name)).map(without_facts))
}

fn level(name: &str) -> Option<String> {
    let at = LEVELS.iter().position(|level| level.eq_ignore_ascii_case(name))?;
    let rest = match at {
        0 => {
            "an event of this level is always sent, and a provider with it has no limit".to_owned()
        }
        _ => format!(
            "with the events of the levels below it; from 1, {}, to 5, {}",
            LEVELS[1], LEVELS[5]
        ),
    };
    Some(format!("{}: level {at} of events, {rest}", LEVELS[at]))
}

fn profile(name: &str) -> Option<String> {
    let is_it = |known: &str| known.eq_ignore_ascii_case(name);
    if let Some(known) = PROFILES.iter().find(|known| is_it(known.name)) {
        return Some(format!("{}: a profile of `trace --profile`. {}", known.name, known.about));
    }
    if let Some((known, route)) = OTHER_PROFILES.iter().find(|(known, _)| is_it(known)) {
        return Some(format!("{known}: a profile of other tools; {route}"));
    }
    let recorded = Profile::of_recording(name).filter(|known| known.is_known());
    let known = recorded.or_else(|| {
        let known: Profile = name.parse().ok()?;
        // A number alone may be anything.
        (known.to_string() == name).then_some(known)
    })?;
    let family = match known.family() {
        Family::CoreClr => ".NET with CoreCLR",
        Family::NativeAot => "programs compiled ahead of time (NativeAOT)",
        Family::Mono => ".NET with Mono",
        _ => {
            return Some(format!(
                "{name}: the rules of the document alone, with its errors corrected"
            ));
        }
    };
    let rules = "the rules for a target, from recorded builds";
    let version = known.version().map(|version| format!(" of version {version}"));
    Some(format!("{name}: {rules}: {family}{}", version.unwrap_or_default()))
}

/// Explains an error code, given as a hexadecimal or signed number or by its name in any edition.
fn hresult(name: &str) -> Option<(String, &'static [&'static str])> {
    let bare = |name: &str| {
        let name = name.to_ascii_uppercase();
        let parts = ["CORDIAGIPC_", "DS_IPC_"].iter().find_map(|front| name.strip_prefix(front));
        parts.map_or_else(|| name.clone(), str::to_owned)
    };
    let named = || {
        let is_it = |known: &&HResult| known.name().is_some_and(|known| bare(known) == bare(name));
        HResult::NAMED.iter().find(is_it).copied()
    };
    let lower = name.to_ascii_lowercase();
    let code = match (lower.strip_prefix("0x"), lower.starts_with('-')) {
        (Some(digits), _) if digits.len() == 8 => HResult(u32::from_str_radix(digits, 16).ok()?),
        (None, true) => HResult(u32::from_ne_bytes(lower.parse::<i32>().ok()?.to_ne_bytes())),
        _ => named()?,
    };
    let (meaning, facts) = meaning_of(code);
    Some((format!("{code}: {meaning}"), facts))
}

fn meaning_of(code: HResult) -> (String, &'static [&'static str]) {
    let (text, facts): (&str, &[&str]) = match code {
        HResult::OK => ("success", &[]),
        HResult::BAD_ENCODING => {
            ("the request does not decode, or a value is out of range", &["F-12"])
        }
        HResult::UNKNOWN_COMMAND => (
            "the runtime does not have the command: `explain F-48` says which version has it",
            &["F-48", "F-12"],
        ),
        HResult::UNKNOWN_MAGIC => ("the request does not begin with DOTNET_IPC_V1", &["F-12"]),
        HResult::UNKNOWN_ERROR => {
            ("listed up to the .NET 10 edition; no runtime sends it", &["F-12"])
        }
        HResult::NOT_SUPPORTED => ("this build of the runtime does not support it", &["F-12"]),
        HResult::FAIL => (
            "a failure without further reason, such as a session beyond the 64 that a runtime has at once",
            &["F-32"],
        ),
        HResult::NOT_YET_AVAILABLE => ("the runtime has not started yet", &["F-56"]),
        HResult::RUNTIME_UNINITIALIZED => ("the runtime is not initialised", &["F-56"]),
        HResult::INVALID_ARG => ("an argument is out of range", &["F-12"]),
        HResult::INSUFFICIENT_BUFFER => {
            ("listed in the last edition; no command returns it", &["F-12"])
        }
        HResult::ENVVAR_NOT_FOUND_PRINTED => (
            "the environment variable to delete does not exist, as printed in the document",
            &["F-80"],
        ),
        HResult::ENVVAR_NOT_FOUND => {
            ("the environment variable to delete does not exist, as runtimes send it", &["F-80"])
        }
        HResult::MODULE_NOT_FOUND => (
            "a library cannot be loaded: it, or a library that it needs, is not there for the process",
            &["P-5"],
        ),
        HResult::NOT_ENOUGH_MEMORY => (
            "out of memory; also the name of a variable that begins with an equals sign",
            &["P-48"],
        ),
        HResult::PROFILER_ALREADY_ACTIVE => ("another profiler is attached already", &["F-12"]),
        HResult::SETENV_FAILED => {
            ("NativeAOT: the value that `setenv` returned when it failed", &["F-96"])
        }
        HResult::FILE_NOT_FOUND => ("a file does not exist for the process (Win32 error 2)", &[]),
        HResult::PATH_NOT_FOUND => {
            ("a directory of a path does not exist for the process (Win32 error 3)", &[])
        }
        HResult::ACCESS_DENIED => {
            ("access denied: the process has no right to it (Win32 error 5)", &[])
        }
        HResult::OUT_OF_MEMORY => ("the process is out of memory (Win32 error 14)", &[]),
        HResult::ALREADY_EXISTS => ("it exists already (Win32 error 183)", &[]),
        HResult(code) => return (unnamed(code), &["F-12"]),
    };
    (text.to_owned(), facts)
}

fn unnamed(code: u32) -> String {
    match code >> 16 {
        0x8007 => format!("the Win32 error {}, as an HRESULT", code & 0xffff),
        0x8013 => "an error of the .NET runtime: its corerror.h has the name".to_owned(),
        _ if code < 0x8000_0000 => "no error: the top bit of an HRESULT means failure".to_owned(),
        _ => "a failure; the protocol does not define this code".to_owned(),
    }
}
