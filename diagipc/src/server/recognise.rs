//! Concludes a target's profile from its behaviour, for `--profile auto`.
//!
//! The version in a reply is not enough: a server must follow the document unless it is
//! recognisably .NET.

use dotnet_diagnostics_ipc::hresult::HResult;
use dotnet_diagnostics_ipc_vectors::script::Ability;

use super::abilities::{Abilities, Has};
use crate::conversation::Exchange;
use crate::known::{Family, Profile};

/// The operating systems and architectures that runtimes report.
const SYSTEMS: [&str; 9] =
    ["Linux", "Windows", "macOS", "FreeBSD", "Android", "iOS", "tvOS", "Browser", "Unknown"];
const PROCESSORS: [&str; 11] = [
    "x64",
    "x86",
    "arm32",
    "arm64",
    "armv6",
    "s390x",
    "loongarch64",
    "riscv64",
    "ppc64le",
    "Wasm",
    "Unknown",
];
/// The versions of .NET that support `ProcessInfo2`.
const VERSIONS: std::ops::RangeFrom<u8> = 6..;

/// A target's answers to the questions of [`conclude`].
#[derive(Clone, Debug, Default)]
pub(super) struct Recognition {
    /// The answer to `ProcessInfo2`.
    pub(super) process_info2: Option<Exchange>,
    /// The answer to `ProcessInfo3`, whose version may be right if that of `ProcessInfo2` is odd.
    pub(super) process_info3: Option<Exchange>,
    /// The answer to an unknown id of the profiler set; `None` if it was not sent, because it may
    /// cost a runtime a descriptor (F-74).
    pub(super) unknown_profiler_id: Option<Exchange>,
    /// The answer to a startup hook without a path, which no runtime applies; `None` if not sent.
    pub(super) absent_hook: Option<Exchange>,
    /// The answer to a dump of type 0; `None` if it was not sent.
    pub(super) dump_type_0: Option<Exchange>,
    /// The answer to a `ProcessInfo2` with its header in two pieces, which .NET 3 refuses (P-39).
    pub(super) header_in_pieces: Option<Exchange>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Conclusion {
    pub(super) profile: Profile,
    pub(super) why: String,
}

impl Conclusion {
    fn strict(why: &str) -> Self {
        Self { profile: Profile::STRICT, why: format!("not recognised as a .NET runtime: {why}") }
    }

    /// Returns the note for a report.
    pub(super) fn note(&self) -> String {
        let Self { profile, why } = self;
        format!("profile {profile}, {}: {why}; --profile NAME overrides it", profile.held_to())
    }
}

/// Concludes a target's profile. `abilities` has the commands that can be tried without harm.
pub(super) fn conclude(recognition: &Recognition, abilities: &Abilities) -> Conclusion {
    let Some(came) = &recognition.process_info2 else {
        return Conclusion::strict("it does not answer ProcessInfo2");
    };
    if abilities.keeps_open {
        return Conclusion::strict("it serves several requests on one connection");
    }
    if let Some(Has::No(how)) = abilities.features.get(&Ability::OneClientAtATime) {
        return Conclusion::strict(how);
    }
    match came.reply.error() {
        Some(HResult::UNKNOWN_COMMAND) => older(recognition, abilities),
        Some(hresult) => Conclusion::strict(&format!("it answers ProcessInfo2 with {hresult}")),
        None => match version(came, recognition.process_info3.as_ref()) {
            Ok((text, major)) => conclude_version(&text, major, recognition, abilities),
            Err(why) => Conclusion::strict(&why),
        },
    }
}

/// Concludes the profile of a target without `ProcessInfo2`. .NET Core 3 supports neither this
/// command nor its set, and refuses a header in pieces.
fn older(recognition: &Recognition, abilities: &Abilities) -> Conclusion {
    const PROFILE: Profile = Profile::CORECLR_3_1;
    if let Err(why) = commands_fit(PROFILE, abilities) {
        return Conclusion::strict(&format!(
            "it does not know ProcessInfo2 (nor does .NET 3), but {why}"
        ));
    }
    match recognition.header_in_pieces.as_ref().and_then(error_of) {
        Some(HResult::BAD_ENCODING) => Conclusion {
            profile: PROFILE,
            why: "it knows only the commands of .NET Core 3, and refuses a header that arrives in pieces".to_owned(),
        },
        _ => Conclusion::strict("it does not know ProcessInfo2 (nor does .NET 3), but accepts a header in pieces"),
    }
}

fn conclude_version(
    text: &str,
    major: u8,
    recognition: &Recognition,
    abilities: &Abilities,
) -> Conclusion {
    let says = format!("ProcessInfo2 says {text}");
    let profile = Profile::of_version(text).unwrap_or(Profile::core_clr(major, 0));
    if let Err(why) = commands_fit(profile, abilities) {
        return Conclusion::strict(&format!("{says}, but {why}"));
    }
    let native_aot = profile.of_family(Family::NativeAot);
    let hook = "the reply to a startup hook without a path is";
    let asked = "the reply to an unknown id of the profiler set is";
    let (profile, why) = match &recognition.unknown_profiler_id {
        None => match recognition.absent_hook.as_ref().and_then(error_of) {
            Some(HResult::NOT_SUPPORTED) => {
                (native_aot, format!("{hook} NOTSUPPORTED: NativeAOT (F-93)"))
            }
            Some(HResult::INVALID_ARG) => (profile, format!("{hook} INVALIDARG: CoreCLR")),
            _ => {
                let why = "CoreCLR is assumed: asking may cost the target a descriptor (F-74)";
                (profile, why.to_owned())
            }
        },
        Some(reply) => match (error_of(reply), recognition.dump_type_0.as_ref().map(error_of)) {
            (Some(HResult::UNKNOWN_COMMAND), _) => {
                (profile, format!("{asked} UNKNOWN_COMMAND: CoreCLR"))
            }
            (Some(HResult::NOT_SUPPORTED), None) => {
                (native_aot, format!("{asked} NOTSUPPORTED: NativeAOT"))
            }
            (Some(HResult::NOT_SUPPORTED), Some(Some(HResult::NOT_SUPPORTED))) => (
                profile.of_family(Family::Mono),
                format!("{asked} NOTSUPPORTED, and so is the reply to a dump: Mono"),
            ),
            (Some(HResult::NOT_SUPPORTED), Some(Some(HResult::FAIL))) => (
                native_aot,
                format!(
                    "{asked} NOTSUPPORTED, and the reply to a dump of type 0 is E_FAIL: NativeAOT"
                ),
            ),
            (Some(HResult::NOT_SUPPORTED), _) => {
                return Conclusion::strict(&format!(
                    "{says}; {asked} NOTSUPPORTED, but the reply to a dump of type 0 is not E_FAIL"
                ));
            }
            _ => {
                let text = format!("{says}; {asked} not one of a runtime: {reply}");
                return Conclusion::strict(&text);
            }
        },
    };
    let fits = format!("{says}, and its commands are those of .NET {major}");
    Conclusion { profile, why: format!("{fits}; {why}") }
}

/// Whether a target supports the commands of a profile and no later ones, as far as tried.
fn commands_fit(profile: Profile, abilities: &Abilities) -> Result<(), String> {
    for (command, has) in &abilities.commands {
        let name = command.name().unwrap_or_default();
        match (has, profile.knows(*command)) {
            (Has::No(_), true) => return Err(format!("it does not know {name}")),
            (Has::Silent, _) => return Err(format!("it does not answer {name}")),
            (Has::Yes, false) => return Err(format!("it knows {name}, which is newer")),
            _ => {}
        }
    }
    Ok(())
}

fn error_of(came: &Exchange) -> Option<HResult> {
    came.reply.error()
}

/// Returns the version in a reply to `ProcessInfo2` if the whole reply could be a runtime's.
fn version(came: &Exchange, other: Option<&Exchange>) -> Result<(String, u8), String> {
    if !came.reply.is_whole() {
        return Err(format!("no valid reply to ProcessInfo2: {came}"));
    }
    let reply = &came.reply;
    let said = reply.process.zip(reply.text("OS")).zip(reply.text("arch"));
    let (Some((((process_id, _), os), arch)), Some(text), None) =
        (said, reply.text("clrProductVersion"), &reply.refusal)
    else {
        return Err("its reply to ProcessInfo2 is malformed".to_owned());
    };
    // A fault in one field or one reply does not mean that the server is another one.
    let elsewhere = other.and_then(|other| other.reply.text("clrProductVersion"));
    let texts = [Some(text), reply.text("managedEntrypointAssemblyName"), elsewhere];
    let known = texts.into_iter().flatten().find_map(|text| Some((text, known_version(text)?)));
    let (text, major) = known
        .ok_or_else(|| format!("its clrProductVersion {text:?} is not that of a .NET from 6 on"))?;
    let is_one_of =
        |names: &[&str], name: &str| names.iter().any(|one| one.eq_ignore_ascii_case(name));
    if process_id == 0 || !is_one_of(&SYSTEMS, os) || !is_one_of(&PROCESSORS, arch) {
        return Err(format!(
            "its process id {process_id}, OS {os} and architecture {arch} are not those of a runtime"
        ));
    }
    Ok((text.to_owned(), major))
}

/// Returns the major version in texts such as `10.0.9` and `11.0.0-preview.1`, whatever surrounds
/// it, if that .NET supports `ProcessInfo2`.
pub(super) fn known_version(text: &str) -> Option<u8> {
    let release = text.trim_start_matches(|c: char| !c.is_ascii_digit());
    let release = release.split(|c: char| !c.is_ascii_digit() && c != '.').next()?;
    let numbers =
        release.split('.').map(|number| number.parse::<u32>().ok()).collect::<Option<Vec<_>>>()?;
    let [major, 0, _] = numbers.as_slice() else { return None };
    u8::try_from(*major).ok().filter(|major| VERSIONS.contains(major))
}

#[cfg(test)]
mod tests {
    use dotnet_diagnostics_ipc::command::Command;
    use dotnet_diagnostics_ipc::exchange::End;
    use dotnet_diagnostics_ipc::message::encode_to_vec;
    use dotnet_diagnostics_ipc::message::process::{ProcessInfo2, ProcessInfo2Reply};
    use dotnet_diagnostics_ipc::message::server::ErrorReply;
    use dotnet_diagnostics_ipc::wire::Guid;

    use super::*;

    fn came(bytes: &[u8]) -> Exchange {
        let request = encode_to_vec(Command::PROCESS_INFO2, &ProcessInfo2 {}).unwrap();
        Exchange::new("a", &request, bytes, End::TimedOut)
    }

    fn error(hresult: HResult) -> Exchange {
        came(&encode_to_vec(Command::ERROR, &ErrorReply { hresult, message: None }).unwrap())
    }

    fn says(version: &str, os: &str) -> Exchange {
        let info = ProcessInfo2Reply {
            process_id: 12,
            runtime_cookie: Guid::from_bytes([1; 16]),
            command_line: "app".into(),
            os: os.into(),
            arch: "x64".into(),
            managed_entrypoint_assembly_name: "app".into(),
            clr_product_version: version.into(),
        };
        came(&encode_to_vec(Command::OK, &info).unwrap())
    }

    /// Returns the abilities of a runtime of this version.
    fn runtime(profile: Profile) -> Abilities {
        const ASKED: [Command; 6] = [
            Command::PROCESS_INFO,
            Command::PROCESS_INFO3,
            Command::STOP_TRACING,
            Command::COLLECT_TRACING2,
            Command::COLLECT_TRACING3,
            Command::COLLECT_TRACING5,
        ];
        let has = |command| if profile.knows(command) { Has::Yes } else { Has::No(String::new()) };
        Abilities {
            commands: ASKED.map(|command| (command, has(command))).into(),
            ..Abilities::default()
        }
    }

    /// Each row has what a target answers, the version whose commands it supports, and a part of
    /// the profile and of the reason.
    #[test]
    fn profile_follows_from_fields_commands_and_profiler_set() {
        let ask = |version, set| Recognition {
            process_info2: Some(says(version, "Linux")),
            unknown_profiler_id: Some(error(set)),
            ..Recognition::default()
        };
        let (right, lacks) = (HResult::UNKNOWN_COMMAND, HResult::NOT_SUPPORTED);
        let dump =
            |hresult| Recognition { dump_type_0: Some(error(hresult)), ..ask("9.0.20", lacks) };
        let hook = |hresult| Recognition {
            absent_hook: Some(error(hresult)),
            unknown_profiler_id: None,
            ..ask("9.0.20", right)
        };
        let of = |reply| Recognition { process_info2: Some(reply), ..ask("9.0.5", right) };
        let old = |pieces| Recognition {
            process_info2: Some(error(right)),
            header_in_pieces: Some(error(pieces)),
            ..Recognition::default()
        };
        let unasked = Recognition { unknown_profiler_id: None, ..ask("9.0.5", right) };
        let (nine, ten) = (Profile::CORECLR_9, Profile::CORECLR_10);
        for (recognition, knows, profile, why) in vec![
            (ask("9.0.5", right), nine, "coreclr-9.0.5", "CoreCLR"),
            (ask("10.0.0-rc.1.25451.107", right), ten, "coreclr-10", "CoreCLR"),
            (ask("12.0.0", right), ten, "coreclr-12.0.0", "CoreCLR"),
            (ask("9.0.20", lacks), nine, "nativeaot-9.0.20", "NativeAOT"),
            (dump(HResult::FAIL), nine, "nativeaot-9.0.20", "E_FAIL"),
            (dump(lacks), nine, "mono-9.0.20", "Mono"),
            // If the unknown id may not be sent, a hook without a path decides.
            (hook(lacks), nine, "nativeaot-9.0.20", "F-93"),
            (hook(HResult::INVALID_ARG), nine, "coreclr-9.0.20", "INVALIDARG"),
            (unasked, nine, "coreclr-9.0.5", "assumed"),
            // .NET 3 supports neither.
            (old(HResult::BAD_ENCODING), Profile::CORECLR_3_1, "coreclr-3.1", "in pieces"),
            // Three commands without ProcessInfo2 are not enough to conclude .NET 3.
            (old(right), Profile::CORECLR_3_1, "strict", "accepts a header in pieces"),
            (ask("v9.0.5x", right), nine, "coreclr-9", "CoreCLR"),
            (ask("1.0.0", right), nine, "strict", "\"1.0.0\""),
            (
                Recognition { process_info3: Some(says("9.0.5", "Linux")), ..ask("odd", right) },
                nine,
                "coreclr-9.0.5",
                "CoreCLR",
            ),
            (ask("9", right), nine, "strict", "\"9\""),
            (ask("9.1.0", right), nine, "strict", "\"9.1.0\""),
            (of(says("9.0.5", "TempleOS")), nine, "strict", "TempleOS"),
            (ask("9.0.5", right), Profile::CORECLR_8, "strict", "does not know CollectTracing3"),
            (ask("9.0.5", right), ten, "strict", "CollectTracing5, which is newer"),
            (of(error(HResult::FAIL)), nine, "strict", "ProcessInfo2 with 0x80004005"),
            (of(came(&[])), nine, "strict", "ProcessInfo2: no reply"),
            (Recognition::default(), nine, "strict", "does not answer"),
            (ask("9.0.5", HResult::FAIL), nine, "strict", "profiler set"),
        ] {
            let conclusion = conclude(&recognition, &runtime(knows));
            let is_it = conclusion.profile.to_string() == profile && conclusion.why.contains(why);
            assert!(is_it, "expected {profile}, {why}: {conclusion:?}");
        }
        let beside = Has::No("it answers a second client".to_owned());
        let features = [(Ability::OneClientAtATime, beside)].into();
        let concurrent = Abilities { features, ..runtime(nine) };
        let conclusion = conclude(&ask("9.0.5", right), &concurrent);
        assert!(conclusion.why.contains("a second client"), "{conclusion:?}");
    }
}
