//! What runtimes report about themselves, taken only from the recorded replies of the vectors.

use dotnet_diagnostics_ipc::message::process::{ProcessInfo3, ProcessInfo3Reply};
use dotnet_diagnostics_ipc::message::server::ErrorReply;
use dotnet_diagnostics_ipc::message::{Message, Reply};
use dotnet_diagnostics_ipc::wire::{Array, Decode as _, IpcString, Reader};
use dotnet_diagnostics_ipc_vectors::{File, parse};

use crate::embedded::{self, VECTORS};
use crate::known::{Family, Profile};

pub(super) struct Recorded {
    pub(super) running: RecordedInfo,
    pub(super) suspended: RecordedInfo,
    pub(super) environment: Vec<String>,
    /// The text of a failed dump, if there was one.
    pub(super) dump_error: Option<String>,
}

/// The reply to `ProcessInfo3`, except for the process id and cookie.
#[derive(Clone)]
pub(super) struct RecordedInfo {
    pub(super) command_line: String,
    pub(super) os: String,
    pub(super) arch: String,
    pub(super) entry_assembly: String,
    pub(super) version: String,
    pub(super) rid: String,
}

impl Recorded {
    /// Returns the values of a runtime; `None` if the vectors have none.
    pub(super) fn of(profile: Profile) -> Option<Self> {
        let runtime = recording_of(profile)?;
        let file = vectors_of(&format!("runtime-{runtime}.json"))?;
        let mut recorded = Self {
            running: info(&file, &format!("{runtime}-reply-processinfo3"))?,
            suspended: info(&file, &format!("{runtime}-suspended-reply-processinfo3"))?,
            environment: entries(wires(&file, &format!("{runtime}-environment-block")).next()?)?,
            dump_error: wires(&file, &format!("{runtime}-error-generatecoredump3"))
                .find_map(text_of),
        };
        if cfg!(windows) {
            // A runtime for Windows says the same while it is suspended (F-126).
            let file = vectors_of("runtime-windows.json")?;
            recorded.running = info(&file, "win-net10.0.9-reply-processinfo3")?;
            recorded.suspended = recorded.running.clone();
        }
        // The values may be those of another build.
        let first = || profile.version().map(|version| (version.major, version.minor, 0));
        if let Some((major, minor, patch)) = profile.model().build().or_else(first) {
            for info in [&mut recorded.running, &mut recorded.suspended] {
                info.version = format!("{major}.{minor}.{patch}");
            }
        }
        Some(recorded)
    }

    /// Replaces the recorded command line and assembly. While the runtime is suspended, the command
    /// line is shortened as the recorded one is.
    pub(super) fn describe(&mut self, command_line: Option<&str>, entry_assembly: Option<&str>) {
        let Self { running, suspended, .. } = self;
        if let Some(text) = command_line {
            let is_whole = suspended.command_line == running.command_line;
            let known = if is_whole { text } else { executable(text) };
            known.clone_into(&mut suspended.command_line);
            text.clone_into(&mut running.command_line);
        }
        if let Some(name) = entry_assembly {
            // Recorded runtimes report this name before their start too.
            for info in [suspended, running] {
                name.clone_into(&mut info.entry_assembly);
            }
        }
    }
}

fn vectors_of(name: &str) -> Option<File> {
    parse(name, &embedded::text(VECTORS, name)?).ok()
}

/// Returns the bytes of the tests of a group.
fn wires<'f>(file: &'f File, group: &str) -> impl Iterator<Item = &'f [u8]> {
    let group = file.groups.iter().find(|one| one.name == group);
    group.into_iter().flat_map(|group| &group.tests).filter_map(|test| test.wire.as_deref())
}

/// Returns the first word of a command line, which may be in quotes.
fn executable(command_line: &str) -> &str {
    let quoted = command_line.strip_prefix('"').and_then(|rest| rest.split_once('"'));
    let word = || command_line.split_whitespace().next().unwrap_or_default();
    quoted.map_or_else(word, |(path, _)| path)
}

/// Returns the nearest recording, which is that of this build, of its family and version, or of the
/// next version of `CoreCLR` that has one (3 has none, F-68).
fn recording_of(profile: Profile) -> Option<&'static str> {
    let model = profile.model();
    let named =
        VECTORS.iter().filter_map(|(file, _)| file.strip_prefix("runtime-")?.strip_suffix(".json"));
    let recordings: Vec<_> =
        named.filter_map(|name| Some((Profile::of_recording(name)?, name))).collect();
    let is_alike = |(one, _): &&(Profile, _)| {
        (one.family(), one.version()) == (model.family(), model.version())
    };
    let own = recordings
        .iter()
        .find(|(one, _)| *one == model)
        .or_else(|| recordings.iter().find(is_alike));
    let core_clr =
        || recordings.iter().filter(|(one, _)| one.family() == Family::CoreClr && one.has("8.0"));
    let later = || {
        core_clr().filter(|(one, _)| model.version().is_some_and(|own| one.version() >= Some(own)))
    };
    let own = own.filter(|(one, _)| one.has("5.0"));
    let chosen = own
        .or_else(|| later().min_by_key(|(one, _)| one.build()))
        .or_else(|| core_clr().max_by_key(|(one, _)| one.build()));
    chosen.map(|(_, name)| *name)
}

fn info(file: &File, group: &str) -> Option<RecordedInfo> {
    let message = Message::decode(wires(file, group).next()?).ok()?;
    let Ok(Reply::Ok(info)) = message.reply_as::<ProcessInfo3>() else { return None };
    let ProcessInfo3Reply {
        command_line,
        os,
        arch,
        managed_entrypoint_assembly_name,
        clr_product_version,
        ..
    } = info;
    Some(RecordedInfo {
        command_line: command_line.to_string(),
        os: os.to_string(),
        arch: arch.to_string(),
        entry_assembly: managed_entrypoint_assembly_name.to_string(),
        version: clr_product_version.to_string(),
        rid: info.runtime_identifier.to_string(),
    })
}

fn entries(block: &[u8]) -> Option<Vec<String>> {
    let entries = Array::<IpcString<'_>>::decode(&mut Reader::new(block)).ok()?;
    Some(entries.iter().map(|entry| entry.to_string()).collect())
}

fn text_of(error: &[u8]) -> Option<String> {
    let message = Message::decode(error).ok()?;
    let error = ErrorReply::from_message(
        &message,
        Some(dotnet_diagnostics_ipc::command::Command::GENERATE_CORE_DUMP3),
    )
    .ok()?;
    error.message.map(|text| text.to_string()).filter(|text| !text.is_empty())
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn every_profile_has_its_values() {
        let versions = Profile::ALL.map(|profile| Recorded::of(profile).unwrap().running.version);
        assert_eq!(
            versions,
            [
                "3.1.23", "8.0.30", "9.0.5", "10.0.9", "11.0.0", "8.0.31", "9.0.20", "9.0.20",
                "11.0.0", "10.0.12"
            ]
        );
        // The values are those of the nearest recorded version, with this version's name.
        let seven = Recorded::of(Profile::core_clr(7, 0)).unwrap();
        assert_eq!(seven.running.version, "7.0.0");
        assert_eq!(
            seven.running.command_line,
            Recorded::of(Profile::CORECLR_8).unwrap().running.command_line
        );
    }

    #[test]
    fn suspended_command_line_has_only_the_executable() {
        for profile in Profile::ALL {
            let recorded = Recorded::of(profile).unwrap();
            if profile.family() == Family::NativeAot {
                // The command line is always the same, without arguments (F-100).
                assert_eq!(recorded.running.command_line, recorded.suspended.command_line);
                assert!(recorded.running.command_line.ends_with("/subject"));
                continue;
            }
            assert!(recorded.running.command_line.starts_with(&recorded.suspended.command_line));
            assert!(recorded.running.command_line.contains(".dll"));
            assert!(!recorded.suspended.command_line.contains(' '));
            assert!(recorded.environment.iter().any(|entry| entry == "PATH=/usr/bin:/bin"));
        }
    }

    #[test]
    fn given_words_are_shortened_while_suspended_as_recorded_ones() {
        for (profile, line) in [
            (Profile::CORECLR_10, "/opt/my app"),
            // The command line is always the same (F-100).
            (Profile::NATIVE_AOT_9, "\"/opt/my app\" my.dll --port 80"),
        ] {
            let mut recorded = Recorded::of(profile).unwrap();
            recorded.describe(Some("\"/opt/my app\" my.dll --port 80"), Some("my"));
            let Recorded { running, suspended, .. } = recorded;
            assert_eq!(running.command_line, "\"/opt/my app\" my.dll --port 80");
            assert_eq!((&*running.entry_assembly, &*suspended.entry_assembly), ("my", "my"));
            assert_eq!(suspended.command_line, line);
        }
        assert_eq!(executable("dotnet my.dll"), "dotnet");
        assert_eq!(executable(""), "");
    }

    #[test]
    fn failed_dump_text_depends_on_version() {
        let text = |profile| Recorded::of(profile).unwrap().dump_error;
        assert!(
            text(Profile::CORECLR_10)
                .unwrap()
                .starts_with("[createdump] Only full dumps are supported by single file apps")
        );
        assert!(text(Profile::CORECLR_9).unwrap().starts_with("Problem launching createdump"));
        assert_eq!(text(Profile::CORECLR_8), None);
    }
}
