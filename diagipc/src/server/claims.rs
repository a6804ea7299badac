//! What a server's author declares: the file of `--claims`.

use std::collections::{BTreeMap, BTreeSet};

use dotnet_diagnostics_ipc::command::Command;
use dotnet_diagnostics_ipc_vectors::script::Ability;
use serde::Deserialize;

use crate::known::Profile;

/// What a server's author declares as supported and unsupported. Anything else is found out by
/// asking.
///
/// Claims are checked against the protocol, and fail if they are not met. Unsupported parts are
/// skipped.
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
    /// The server's name in reports.
    pub name: Option<String>,
    /// Its profile.
    pub profile: Option<Profile>,
    commands: Option<BTreeSet<Command>>,
    /// Unsupported command sets.
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
    abilities: RawAbilities,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct RawAbilities {
    ports: Option<bool>,
    suspension: Option<bool>,
    user_events: Option<bool>,
    one_client_at_a_time: Option<bool>,
    netperf: Option<bool>,
    dumps: Option<bool>,
    streams: Option<bool>,
    profilers: Option<bool>,
}

impl Claims {
    /// Reads the text of `file`; errors contain its name.
    ///
    /// # Errors
    /// What is wrong, and where.
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
        let RawAbilities {
            ports,
            suspension,
            user_events,
            one_client_at_a_time,
            netperf,
            dumps,
            streams,
            profilers,
        } = raw.abilities;
        let abilities = [
            (Ability::Ports, ports),
            (Ability::Suspension, suspension),
            (Ability::UserEvents, user_events),
            (Ability::OneClientAtATime, one_client_at_a_time),
            (Ability::Netperf, netperf),
        ];
        let sets = [
            (Command::GENERATE_CORE_DUMP.set, dumps),
            (Command::COLLECT_TRACING.set, streams),
            (Command::ATTACH_PROFILER.set, profilers),
        ];
        Ok(Self {
            name: raw.name,
            profile: profile.map_err(|error| format!("{file}: {error}"))?,
            commands,
            without: sets
                .into_iter()
                .filter(|(_, has)| *has == Some(false))
                .map(|(set, _)| set)
                .collect(),
            abilities: abilities
                .into_iter()
                .filter_map(|(ability, has)| Some((ability, has?)))
                .collect(),
        })
    }

    /// Whether it declares a command as known; `None` if it says nothing about it.
    pub fn claims(&self, command: Command) -> Option<bool> {
        if self.without.contains(&command.set) {
            return Some(false);
        }
        Some(self.commands.as_ref()?.contains(&command))
    }

    /// Whether it declares an ability; `None` if it says nothing about it.
    pub fn has(&self, ability: Ability) -> Option<bool> {
        self.abilities.get(&ability).copied()
    }
}
