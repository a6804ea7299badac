//! What a target supports, and which cases need something unsupported.

use std::collections::BTreeMap;

use dotnet_diagnostics_ipc::command::Command;
use dotnet_diagnostics_ipc::hresult::HResult;
use dotnet_diagnostics_ipc::message::eventpipe::Format;
use dotnet_diagnostics_ipc_vectors::script::Ability;
use dotnet_diagnostics_ipc_vectors::{ExpectedResult, Value};

use super::{Claims, ServerCase, ServerCaseKind};
use crate::known::{Family, Profile};

/// Whether a target supports something.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Has {
    /// Yes.
    Yes,
    /// No, by declaration or observation: how.
    No(String),
    /// It was asked, without a clear answer.
    Unclear,
    /// It is silent where it must answer.
    Silent,
}

/// What a target supports: declared, or found out by asking. Anything else is unknown.
#[derive(Clone, Debug, Default)]
pub(super) struct Abilities {
    pub(super) commands: BTreeMap<Command, Has>,
    pub(super) features: BTreeMap<Ability, Has>,
    /// It keeps a connection open after its reply, and serves the next request on it.
    pub(super) keeps_open: bool,
    /// The wrong error to a command that does not exist.
    pub(super) wrong_unknown: Option<HResult>,
}

/// Why a case is not played.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Lack {
    /// The target's file does not claim it.
    Unclaimed(String),
    /// The target does not support it: it was asked.
    Missing(String),
    /// It was asked, and was silent. That is waited for once.
    Silent(String),
}

impl Abilities {
    /// The result for a command.
    pub(super) fn command(&self, command: Command) -> Option<&Has> {
        self.commands.get(&command)
    }

    /// The commands that are answered.
    pub(super) fn served(&self) -> impl Iterator<Item = Command> {
        self.commands.iter().filter(|(_, has)| **has == Has::Yes).map(|(command, _)| *command)
    }

    /// What `case` needs and the target does not support.
    ///
    /// What a profile includes is required, whatever the target reports.
    pub(super) fn lack(
        &self,
        case: &ServerCase<'_>,
        profile: Profile,
        claims: &Claims,
    ) -> Option<Lack> {
        for command in
            case.wanted_commands().into_iter().filter(|command| command.since().is_some())
        {
            let name = command.name().unwrap_or_default();
            match claims.claims(command) {
                Some(true) => continue,
                Some(false) => return Some(Lack::Unclaimed(format!("{name}: not claimed"))),
                None => {}
            }
            if self.command(command) == Some(&Has::Silent) {
                let silent = "no reply to a complete and valid message, so it was not sent";
                return Some(Lack::Silent(format!("{name}: {silent}")));
            }
            let is_of_a_version = [Family::CoreClr, Family::NativeAot].contains(&profile.family())
                && profile.version().is_some();
            let must_have = is_of_a_version && profile.knows(command);
            let is_known = self
                .command(command)
                .is_some_and(|has| *has == Has::Yes || matches!(has, Has::No(_)));
            if is_of_a_version && !must_have && !is_known {
                return Some(Lack::Missing(format!("{name}: newer than {profile}, and not tried")));
            }
            if let Some(Has::No(why)) = self.command(command).filter(|_| !must_have) {
                return Some(Lack::Missing(format!("{name}: {why}")));
            }
        }
        case.wants().into_iter().find_map(|ability| {
            match (claims.has(ability), self.features.get(&ability)) {
                (Some(false), _) => Some(Lack::Unclaimed(format!("{ability}: not claimed"))),
                (None, Some(Has::No(why))) => Some(Lack::Missing(format!("{ability}: {why}"))),
                (Some(true) | None, _) => None,
            }
        })
    }
}

impl ServerCase<'_> {
    /// Its needs besides commands, of what the document leaves open.
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
