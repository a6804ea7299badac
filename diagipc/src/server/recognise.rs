//! A target's profile, concluded from its behaviour: `--profile auto`.
//!
//! A version text is not enough: a server that is not recognisably .NET must follow the document.

use dotnet_diagnostics_ipc::hresult::HResult;
use dotnet_diagnostics_ipc_vectors::script::Ability;

use super::abilities::{Abilities, Has};
use crate::conversation::Exchange;
use crate::known::{Family, Profile};

/// The systems and processors reported by runtimes.
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
/// The oldest and the newest .NET that knows `ProcessInfo2`.
const VERSIONS: std::ops::RangeInclusive<u8> = 6..=11;

/// A target's answers to the questions of [`conclude`].
#[derive(Clone, Debug, Default)]
pub(super) struct Recognition {
    /// To `ProcessInfo2`.
    pub(super) process_info2: Option<Exchange>,
    /// To an unknown id of the profiler set; `None` if it was not asked: it may cost a runtime a
    /// descriptor (F-74).
    pub(super) unknown_profiler_id: Option<Exchange>,
    /// To a startup hook without a path, which no runtime applies; `None` if it was not asked.
    pub(super) absent_hook: Option<Exchange>,
    /// To a dump of type 0; `None` if it was not asked.
    pub(super) dump_type_0: Option<Exchange>,
    /// To a `ProcessInfo2` whose header arrives in two pieces: .NET 3 refuses that (P-39).
    pub(super) header_in_pieces: Option<Exchange>,
}

/// A profile, and the reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Conclusion {
    pub(super) profile: Profile,
    pub(super) why: String,
}

impl Conclusion {
    fn strict(why: &str) -> Self {
        Self { profile: Profile::STRICT, why: format!("not recognised as a .NET runtime: {why}") }
    }

    /// For the notes of a report.
    pub(super) fn note(&self) -> String {
        let Self { profile, why } = self;
        format!("profile {profile}, {}: {why}; --profile NAME overrides it", profile.held_to())
    }
}

/// Concludes a target's profile. `abilities` has the commands that can be asked for harmlessly.
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
        None => match version(came) {
            Ok((text, major)) => conclude_version(&text, major, recognition, abilities),
            Err(why) => Conclusion::strict(&why),
        },
    }
}

/// .NET Core 3 knows neither `ProcessInfo2` nor its set, and refuses a header in pieces.
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
    let fits = format!("{says}, and its commands are those of .NET {major}");
    let Some(came) = &recognition.unknown_profiler_id else {
        let hook = "the reply to a startup hook without a path is";
        let (profile, why) = match recognition.absent_hook.as_ref().and_then(error_of) {
            Some(HResult::NOT_SUPPORTED) => {
                (native_aot, format!("{hook} NOTSUPPORTED: NativeAOT (F-93)"))
            }
            Some(HResult::INVALID_ARG) => (profile, format!("{hook} INVALIDARG: CoreCLR")),
            _ => (
                profile,
                "CoreCLR is assumed: asking may cost the target a descriptor (F-74)".to_owned(),
            ),
        };
        return Conclusion { profile, why: format!("{fits}; {why}") };
    };
    let asked = "the reply to an unknown id of the profiler set is";
    match came.reply.error() {
        Some(HResult::UNKNOWN_COMMAND) => {
            Conclusion { profile, why: format!("{fits}; {asked} UNKNOWN_COMMAND: CoreCLR") }
        }
        Some(HResult::NOT_SUPPORTED) => match recognition.dump_type_0.as_ref().map(error_of) {
            Some(Some(HResult::NOT_SUPPORTED)) => Conclusion {
                profile: profile.of_family(Family::Mono),
                why: format!("{fits}; {asked} NOTSUPPORTED, and so is that to a dump: Mono"),
            },
            Some(Some(HResult::FAIL)) => Conclusion {
                profile: native_aot,
                why: format!(
                    "{fits}; {asked} NOTSUPPORTED, and that to a dump of type 0 is E_FAIL: NativeAOT"
                ),
            },
            None => Conclusion {
                profile: native_aot,
                why: format!("{fits}; {asked} NOTSUPPORTED: NativeAOT"),
            },
            _ => Conclusion::strict(&format!(
                "{says}; {asked} NOTSUPPORTED, but that to a dump of type 0 is not E_FAIL"
            )),
        },
        _ => Conclusion::strict(&format!("{says}; {asked} not one of a runtime: {came}")),
    }
}

/// Whether a target knows the commands of a profile, and no later ones, as far as it was asked.
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

/// The version in a reply to `ProcessInfo2`, if all of it can be a runtime's.
fn version(came: &Exchange) -> Result<(String, u8), String> {
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
    let major = known_version(text)
        .ok_or_else(|| format!("its clrProductVersion {text:?} is not that of a released .NET"))?;
    let is_one_of =
        |names: &[&str], name: &str| names.iter().any(|one| one.eq_ignore_ascii_case(name));
    if process_id == 0 || !is_one_of(&SYSTEMS, os) || !is_one_of(&PROCESSORS, arch) {
        return Err(format!(
            "its process id {process_id}, OS {os} and architecture {arch} are not those of a runtime"
        ));
    }
    Ok((text.to_owned(), major))
}

/// The major version of `10.0.9` and `11.0.0-preview.1`, if it is of a .NET that knows
/// `ProcessInfo2`.
pub(super) fn known_version(text: &str) -> Option<u8> {
    let release = text.split(['-', '+', ' ']).next()?;
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

    fn unknown() -> Has {
        Has::No("UNKNOWN_COMMAND".to_owned())
    }

    /// The abilities of a runtime of this version.
    fn runtime(profile: Profile) -> Abilities {
        const ASKED: [Command; 6] = [
            Command::PROCESS_INFO,
            Command::PROCESS_INFO3,
            Command::STOP_TRACING,
            Command::COLLECT_TRACING2,
            Command::COLLECT_TRACING3,
            Command::COLLECT_TRACING5,
        ];
        let has = |command| if profile.knows(command) { Has::Yes } else { unknown() };
        Abilities {
            commands: ASKED.map(|command| (command, has(command))).into(),
            ..Abilities::default()
        }
    }

    fn concluded(recognition: &Recognition, abilities: &Abilities) -> String {
        conclude(recognition, abilities).profile.to_string()
    }

    #[test]
    fn runtime_is_recognised_by_its_fields_commands_and_profiler_set() {
        let ask = |version, set| Recognition {
            process_info2: Some(says(version, "Linux")),
            unknown_profiler_id: Some(error(set)),
            ..Recognition::default()
        };
        let (nine, ten) = (runtime(Profile::CORECLR_9), runtime(Profile::CORECLR_10));
        assert_eq!(concluded(&ask("9.0.5", HResult::UNKNOWN_COMMAND), &nine), "coreclr-9.0.5");
        assert_eq!(
            concluded(&ask("10.0.0-rc.1.25451.107", HResult::UNKNOWN_COMMAND), &ten),
            "coreclr-10"
        );
        assert_eq!(concluded(&ask("9.0.20", HResult::NOT_SUPPORTED), &nine), "nativeaot-9.0.20");
        let aot = Recognition {
            dump_type_0: Some(error(HResult::FAIL)),
            ..ask("9.0.20", HResult::NOT_SUPPORTED)
        };
        assert_eq!(concluded(&aot, &nine), "nativeaot-9.0.20");
        let dump = Recognition {
            dump_type_0: Some(error(HResult::NOT_SUPPORTED)),
            ..ask("9.0.20", HResult::NOT_SUPPORTED)
        };
        assert_eq!(concluded(&dump, &nine), "mono-9.0.20");
        // Where that may not be asked, a hook without a path says it.
        let hook = |hresult| Recognition {
            absent_hook: Some(error(hresult)),
            unknown_profiler_id: None,
            ..ask("9.0.20", HResult::OK)
        };
        assert_eq!(concluded(&hook(HResult::NOT_SUPPORTED), &nine), "nativeaot-9.0.20");
        assert_eq!(concluded(&hook(HResult::INVALID_ARG), &nine), "coreclr-9.0.20");
        // Unasked commands are assumed, and the note says so.
        let running = Recognition { unknown_profiler_id: None, ..ask("9.0.5", HResult::OK) };
        assert!(conclude(&running, &nine).note().contains("assumed"));
        // .NET 3 knows neither.
        let old = Recognition {
            process_info2: Some(error(HResult::UNKNOWN_COMMAND)),
            header_in_pieces: Some(error(HResult::BAD_ENCODING)),
            ..Recognition::default()
        };
        assert_eq!(concluded(&old, &runtime(Profile::CORECLR_3_1)), "coreclr-3.1");
    }

    #[test]
    fn server_without_dotnet_evidence_is_strict() {
        let ask = |reply| Recognition {
            process_info2: Some(reply),
            unknown_profiler_id: Some(error(HResult::UNKNOWN_COMMAND)),
            ..Recognition::default()
        };
        let nine = runtime(Profile::CORECLR_9);
        let strict = |recognition: &Recognition, abilities: &Abilities, why: &str| {
            let conclusion = conclude(recognition, abilities);
            assert!(
                conclusion.profile == Profile::STRICT && conclusion.why.contains(why),
                "{conclusion:?}"
            );
        };
        strict(&ask(says("1.0.0", "Linux")), &nine, "\"1.0.0\"");
        strict(&ask(says("9", "Linux")), &nine, "\"9\"");
        strict(&ask(says("9.1.0", "Linux")), &nine, "\"9.1.0\"");
        strict(&ask(says("9.0.5", "TempleOS")), &nine, "TempleOS");
        strict(
            &ask(says("9.0.5", "Linux")),
            &runtime(Profile::CORECLR_8),
            "it does not know CollectTracing3",
        );
        strict(
            &ask(says("9.0.5", "Linux")),
            &runtime(Profile::CORECLR_10),
            "CollectTracing5, which is newer",
        );
        strict(&ask(error(HResult::FAIL)), &nine, "ProcessInfo2 with 0x80004005");
        strict(&ask(came(&[])), &nine, "ProcessInfo2: no reply");
        strict(&Recognition::default(), &nine, "does not answer");
        let other = Recognition {
            unknown_profiler_id: Some(error(HResult::FAIL)),
            ..ask(says("9.0.5", "Linux"))
        };
        strict(&other, &nine, "profiler set");
        let beside = Has::No("it answers a second client".to_owned());
        let concurrent =
            Abilities { features: [(Ability::OneClientAtATime, beside)].into(), ..nine.clone() };
        strict(&ask(says("9.0.5", "Linux")), &concurrent, "a second client");
        // Three commands without ProcessInfo2 alone do not mean .NET 3.
        let small = Recognition {
            header_in_pieces: Some(error(HResult::UNKNOWN_COMMAND)),
            ..ask(error(HResult::UNKNOWN_COMMAND))
        };
        strict(&small, &runtime(Profile::CORECLR_3_1), "accepts a header in pieces");
    }
}
