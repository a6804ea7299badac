//! Looks up requests in the table of known behaviour, to imitate the runtime of the profile.

use dotnet_diagnostics_ipc::command::Command;
use dotnet_diagnostics_ipc::exchange::RefusalReason;
use dotnet_diagnostics_ipc::hresult::HResult;
use dotnet_diagnostics_ipc::message::process::SetEnvironmentVariable;

use crate::known::{Does, Family, Layer, Profile, Quirk, Request, Row, rows};

impl Profile {
    /// Returns the answer to a request that the exchange refuses.
    pub(super) fn refusal(self, command: Option<Command>, reason: RefusalReason) -> HResult {
        let known = match (reason, command) {
            // The command is checked before the payload.
            (RefusalReason::UnknownCommand { command }, _) => {
                refusal_of(rows(self, Request::refused(command, reason)))
            }
            (RefusalReason::OverLimit(_) | RefusalReason::Malformed(_), Some(command)) => {
                refusal_of_platform(rows(self, Request::refused(command, reason)))
            }
            _ => None,
        };
        known.unwrap_or_else(|| reason.hresult())
    }

    /// Whether the connection stays open after that refusal.
    pub(super) fn stays_open(self, command: Option<Command>, reason: RefusalReason) -> bool {
        let command = match reason {
            RefusalReason::UnknownCommand { command } => Some(command),
            _ => command,
        };
        let leaves_open = Does::LeavesOpen(reason.hresult());
        command.is_some_and(|command| {
            rows(self, Request::refused(command, reason))
                .any(|row| row.layer == Layer::Server && row.does == leaves_open)
        })
    }

    /// Whether a valid request kills the suspended runtime.
    pub(super) fn dies_suspended(self, command: Command) -> bool {
        self.dies_of(Request { is_suspended: true, ..Request::right(command) })
    }

    /// Whether a valid request about a variable kills the runtime (F-95).
    pub(super) fn dies_of_variable(self, request: &SetEnvironmentVariable<'_>) -> bool {
        self.dies_of(variable_request(request))
    }

    fn dies_of(self, request: Request) -> bool {
        rows(self, request).any(|row| row.does == Does::Dies)
    }

    /// Returns the error for a valid request about a variable (F-96).
    pub(super) fn refuses_variable(self, request: &SetEnvironmentVariable<'_>) -> Option<HResult> {
        refusal_of(rows(self, variable_request(request)))
    }

    /// Returns an environment entry that is not UTF-8 as the runtime reports it: an unreadable byte
    /// becomes U+FFFD (F-79). Returns `None` if it kills the runtime; only a truncated character at
    /// the very end does not, and is dropped (F-97).
    pub(super) fn reads_entry(self, entry: &[u8]) -> Option<String> {
        let request = Request { is_harmful: true, ..Request::right(Command::PROCESS_ENVIRONMENT) };
        if !self.dies_of(request) {
            return Some(String::from_utf8_lossy(entry).into_owned());
        }
        let error = match std::str::from_utf8(entry) {
            Ok(text) => return Some(text.to_owned()),
            Err(error) => error,
        };
        let whole = entry.get(..error.valid_up_to()).filter(|_| error.error_len().is_none())?;
        std::str::from_utf8(whole).ok().map(ToOwned::to_owned)
    }

    /// Whether a header or a payload that arrives in pieces is refused.
    pub(super) fn refuses_pieces(self) -> bool {
        refusal_of(rows(self, Request { in_pieces: true, ..Request::right(Command::OK) })).is_some()
    }

    /// Returns the error for a request whose payload continues after its last field, if that is not
    /// ignored.
    pub(super) fn refuses_surplus(self, command: Command) -> Option<HResult> {
        let request = Request { has_surplus: true, ..Request::right(command) };
        refusal_of(rows(self, request).filter(|row| row.layer == Layer::Server))
    }

    /// Returns the platform's error for the command, even if the request is valid.
    pub(super) fn lacks(self, command: Command) -> Option<HResult> {
        refusal_of_platform(rows(self, Request::right(command)))
    }

    /// Whether the program is a single file, which writes only full dumps, and no reports (P-31,
    /// P-56).
    pub(super) fn is_single_file(self) -> bool {
        self.is_one_of(&["net10.0.9", "net10.0.11"])
    }

    /// Whether the createdump cannot be executed (P-6).
    pub(super) fn lacks_createdump(self) -> bool {
        self.is_one_of(&["net9.0.5"])
    }

    /// Whether a startup hook that was given during suspension, and cannot be loaded, ends the
    /// runtime after the resume (P-27).
    pub(super) fn dies_of_hook_at_its_start(self) -> bool {
        self.is_one_of(&["net8.0.30", "net9.0.5", "net10.0.12"])
    }

    /// Whether a session that was stopped before the start begins with the next one (F-160, F-172).
    pub(super) fn starts_stopped_sessions(self) -> bool {
        let is_of_these = [Family::CoreClr, Family::NativeAot].contains(&self.family());
        is_of_these && self.has("9.0") && !self.has("11.0")
    }

    /// Whether one of these builds is imitated. No case of the suites distinguishes their programs.
    fn is_one_of(self, builds: &[&str]) -> bool {
        builds.iter().any(|name| Self::of_recording(name) == Some(self.model()))
    }

    /// Returns what happens to a dump that can be written, if that is not just written.
    pub(super) fn dumps(self) -> Option<Does> {
        self.host_does(Request::right(Command::GENERATE_CORE_DUMP))
    }

    /// Returns what a started runtime does with a startup hook that cannot be loaded.
    pub(super) fn misses_hook(self) -> Option<Does> {
        let detail = Quirk::MissingHook;
        self.host_does(Request { detail, ..Request::right(Command::APPLY_STARTUP_HOOK) })
    }

    fn host_does(self, request: Request) -> Option<Does> {
        let mut of_host = rows(self, request).filter(|row| matches!(row.layer, Layer::Host));
        of_host.find_map(|row| match row.does {
            does @ (Does::Dies | Does::Refuses(_) | Does::LeavesOpen(_)) => Some(does),
            _ => None,
        })
    }
}

fn variable_request(request: &SetEnvironmentVariable<'_>) -> Request {
    Request {
        detail: Quirk::of_variable(request),
        ..Request::right(Command::SET_ENVIRONMENT_VARIABLE)
    }
}

fn refusal_of_platform(rows: impl Iterator<Item = &'static Row>) -> Option<HResult> {
    refusal_of(rows.filter(|row| matches!(row.layer, Layer::Platform(_))))
}

fn refusal_of(mut rows: impl Iterator<Item = &'static Row>) -> Option<HResult> {
    rows.find_map(|row| match row.does {
        Does::Refuses(hresult) => Some(hresult),
        _ => None,
    })
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    /// P-6, P-27 and P-31 depend on the recorded program, so no other build has them.
    #[test]
    fn facts_of_a_program_are_those_of_its_build() {
        let builds = ["8.0.30", "9.0.5", "10.0.9", "10.0.12", "9.0.6"];
        let of = |is_so: fn(Profile) -> bool| builds.map(|build| is_so(build.parse().unwrap()));
        assert_eq!(of(Profile::lacks_createdump), [false, true, false, false, false]);
        assert_eq!(of(Profile::is_single_file), [false, false, true, false, false]);
        assert_eq!(of(Profile::dies_of_hook_at_its_start), [true, true, false, true, false]);
    }
}
