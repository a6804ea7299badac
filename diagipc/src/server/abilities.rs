//! What a target supports, and which cases it therefore cannot play.

use std::collections::{BTreeMap, BTreeSet};

use dotnet_diagnostics_ipc::command::Command;
use dotnet_diagnostics_ipc::hresult::HResult;
use dotnet_diagnostics_ipc::message::eventpipe::Format;
use dotnet_diagnostics_ipc_vectors::script::Ability;
use dotnet_diagnostics_ipc_vectors::{ExpectedResult, Value};
use serde::Deserialize;

use super::{ServerCase, ServerCaseKind};
use crate::known::{Family, Profile};

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Has {
    Yes,
    /// The target declared or showed that it does not support it; the text says how.
    No(String),
    /// Two attempts timed out; the text says what was not received.
    TimedOut(String),
    /// The target was asked, but the answer is unclear.
    Unclear,
    /// The target did not answer although it must.
    Silent,
}

/// What a target supports, as declared or found out by asking. Anything else is unknown.
#[derive(Clone, Debug, Default)]
pub(super) struct Abilities {
    pub(super) commands: BTreeMap<Command, Has>,
    pub(super) features: BTreeMap<Ability, Has>,
    /// The target keeps a connection open after its reply, and serves the next request on it.
    pub(super) keeps_open: bool,
    /// The wrong error with which the target answers a command that does not exist.
    pub(super) wrong_unknown: Option<HResult>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Lack {
    /// The target's file does not claim it.
    Unclaimed(String),
    /// The target was asked, and does not support it.
    Missing(String),
    /// The target was asked and did not answer; this is waited for only once.
    Silent(String),
    /// The target may support it, but no attempt showed a sign of it.
    TimedOut(String),
}

impl Abilities {
    pub(super) fn served(&self) -> impl Iterator<Item = Command> {
        self.commands.iter().filter(|(_, has)| **has == Has::Yes).map(|(command, _)| *command)
    }

    /// Returns what `case` needs and the target does not support.
    ///
    /// Whatever a profile includes is required, even if the target reports otherwise.
    pub(super) fn lack(
        &self,
        case: &ServerCase<'_>,
        profile: Profile,
        claims: &Claims,
    ) -> Option<Lack> {
        let is_of_a_version = [Family::CoreClr, Family::NativeAot].contains(&profile.family())
            && profile.version().is_some();
        let lacks_command = |command: Command| {
            let name = command.name().unwrap_or_default();
            let must_have = is_of_a_version && profile.knows(command);
            match (claims.claims(command), self.commands.get(&command)) {
                (Some(false), _) => Some(Lack::Unclaimed(format!("{name}: not claimed"))),
                (None, Some(Has::Silent)) => {
                    let silent = "no reply to a complete and valid message, so it was not sent";
                    Some(Lack::Silent(format!("{name}: {silent}")))
                }
                (None, Some(Has::No(why))) if !must_have => {
                    Some(Lack::Missing(format!("{name}: {why}")))
                }
                (None, Some(Has::Unclear) | None) if is_of_a_version && !must_have => {
                    Some(Lack::Missing(format!("{name}: newer than {profile}, and not tried")))
                }
                _ => None,
            }
        };
        let known = case.wanted_commands().into_iter().filter(|one| one.since().is_some());
        if let Some(lack) = known.into_iter().find_map(lacks_command) {
            return Some(lack);
        }
        case.wants().into_iter().find_map(|ability| {
            match (claims.has(ability), self.features.get(&ability)) {
                (Some(false), _) => Some(Lack::Unclaimed(format!("{ability}: not claimed"))),
                (None, Some(Has::No(why))) => Some(Lack::Missing(format!("{ability}: {why}"))),
                (None, Some(Has::TimedOut(why))) => {
                    Some(Lack::TimedOut(format!("{ability}: {why}")))
                }
                (Some(true) | None, _) => None,
            }
        })
    }
}

impl ServerCase<'_> {
    /// Returns the abilities that it needs, among those that the document leaves open.
    pub(super) fn wants(&self) -> Vec<Ability> {
        let target = match self.kind {
            ServerCaseKind::Script { target, .. } => target,
            ServerCaseKind::Request { .. } if self.wants_descriptor() => {
                return [Ability::UserEvents].into();
            }
            ServerCaseKind::Request { test, .. } => {
                let format = ["format", "streaming_format"]
                    .into_iter()
                    .find_map(|key| test.value.get(key))
                    .and_then(Value::as_u64);
                let is_netperf = test.result != ExpectedResult::Invalid
                    && format == Some(Format::NET_PERF.0.into());
                return if is_netperf { [Ability::Netperf].into() } else { Vec::new() };
            }
        };
        let mut wants = target.wants.clone();
        if !target.ports.is_empty() {
            wants.push(Ability::Ports);
        }
        if target.suspended || target.ports.iter().any(|port| port.suspend) {
            wants.push(Ability::Suspension);
        }
        wants
    }
}

/// What a server's author declares as supported or unsupported. The rest is found out by asking.
///
/// Claims are checked: a claim that is not met is a failure. Unsupported parts are skipped.
///
/// ```
/// use dotnet_diagnostics_ipc::command::Command;
/// use diagipc::server::Claims;
/// use dotnet_diagnostics_ipc_vectors::script::Ability;
///
/// let claims = Claims::parse("my-engine.toml", r#"
///     commands = ["ProcessInfo", "CollectTracing2", "StopTracing"]
///     [abilities]
///     ports = false
/// "#)?;
/// assert_eq!(claims.claims(Command::PROCESS_INFO), Some(true));
/// assert_eq!(claims.claims(Command::PROCESS_INFO3), Some(false));
/// assert_eq!((claims.has(Ability::Ports), claims.has(Ability::Netperf)), (Some(false), None));
///
/// let error = Claims::parse("my-engine.toml", "commands = [\"ProcessInfo9\"]").unwrap_err();
/// assert_eq!(error, "my-engine.toml: commands has ProcessInfo9: expected the name or the code (0x0404) of a command");
/// # Ok::<(), String>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Claims {
    /// The name of the server in reports.
    pub name: Option<String>,
    /// The profile that the server is judged by.
    pub profile: Option<Profile>,
    commands: Option<BTreeSet<Command>>,
    without: BTreeSet<u8>,
    abilities: BTreeMap<Ability, bool>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawClaims {
    name: Option<String>,
    profile: Option<String>,
    commands: Option<Vec<String>>,
    #[serde(default)]
    abilities: BTreeMap<Claim, bool>,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Claim {
    Ports,
    Suspension,
    UserEvents,
    OneClientAtATime,
    Netperf,
    Dumps,
    Streams,
    Profilers,
}

impl Claims {
    /// Parses `text`, the content of `file`; errors contain the name `file`.
    ///
    /// # Errors
    /// Returns what is wrong, and where.
    pub fn parse(file: &str, text: &str) -> Result<Self, String> {
        let raw: RawClaims = toml::from_str(text).map_err(|error| {
            let before = error.span().and_then(|span| text.get(..span.start));
            let line = before.map_or_else(String::new, |before| {
                format!(", line {}", before.matches('\n').count() + 1)
            });
            format!("{file}{line}: {}", error.message())
        })?;
        let profile = raw
            .profile
            .filter(|name| name != "auto")
            .map(|name| name.parse::<Profile>())
            .transpose();
        let command = |name: String| {
            let wanted = "expected the name or the code (0x0404) of a command";
            name.parse::<Command>().map_err(|_| format!("{file}: commands has {name}: {wanted}"))
        };
        let commands = raw
            .commands
            .map(|names| names.into_iter().map(command).collect::<Result<BTreeSet<_>, _>>())
            .transpose()?;
        let mut claims = Self {
            name: raw.name,
            profile: profile.map_err(|error| format!("{file}: {error}"))?,
            commands,
            ..Self::default()
        };
        for (claim, has) in raw.abilities {
            let part = match claim {
                Claim::Ports => Ok(Ability::Ports),
                Claim::Suspension => Ok(Ability::Suspension),
                Claim::UserEvents => Ok(Ability::UserEvents),
                Claim::OneClientAtATime => Ok(Ability::OneClientAtATime),
                Claim::Netperf => Ok(Ability::Netperf),
                Claim::Dumps => Err(Command::GENERATE_CORE_DUMP.set),
                Claim::Streams => Err(Command::COLLECT_TRACING.set),
                Claim::Profilers => Err(Command::ATTACH_PROFILER.set),
            };
            match part {
                Ok(ability) => _ = claims.abilities.insert(ability, has),
                Err(set) if !has => _ = claims.without.insert(set),
                Err(_) => {}
            }
        }
        Ok(claims)
    }

    /// Whether the command is declared as supported; `None` if it is not mentioned.
    pub fn claims(&self, command: Command) -> Option<bool> {
        if self.without.contains(&command.set) {
            return Some(false);
        }
        Some(self.commands.as_ref()?.contains(&command))
    }

    /// Whether the ability is declared as supported; `None` if it is not mentioned.
    pub fn has(&self, ability: Ability) -> Option<bool> {
        self.abilities.get(&ability).copied()
    }
}
