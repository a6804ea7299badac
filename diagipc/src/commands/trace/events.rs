//! The events of a trace: profiles and keywords by the names that dotnet-trace gives them.

use std::fmt;
use std::str::FromStr;

use anyhow::{Context as _, bail};
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use dotnet_diagnostics_ipc::message::eventpipe::{
    EventFilter, EventLevel, StreamingProviderConfig,
};
use dotnet_diagnostics_ipc::wire::{Guid, IpcString};

use crate::commands::event_names::{
    DIAGNOSTIC_SOURCE, EventProfile, LEVELS, OTHER_PROFILES, PROFILES, RUNTIME, level,
};
use crate::commands::printable::{printable, say};

/// Which events are traced.
#[derive(Clone, clap::Args)]
pub(crate) struct EventArguments {
    /// Providers of events: NAME[:KEYWORDS[:LEVEL[:KEY=VALUE;…]]]
    ///
    /// KEYWORDS are hexadecimal, by default all. LEVEL is 0 to 5 or a name, by default 4
    /// (Informational). A comma that is not between quotes begins the next provider.
    #[arg(short, long = "providers", value_name = "PROVIDER,…")]
    providers: Vec<Providers>,

    /// Sets of events for a purpose
    ///
    /// Without any option of events, they are dotnet-common and dotnet-sampled-thread-time.
    /// `diagipc explain gc-verbose` says what that set contains.
    #[arg(long, value_name = "PROFILE,…", value_delimiter = ',', value_parser = profiles())]
    profile: Vec<&'static EventProfile>,

    /// Events of the runtime, chosen by keywords: gc+jit+exception
    #[arg(long, value_name = "KEYWORD+…")]
    clrevents: Option<Keywords>,

    /// The level of --clrevents, from 0 to 5 or by name
    #[arg(long, value_name = "LEVEL", default_value = "Informational", requires = "clrevents", value_parser = level)]
    clreventlevel: EventLevel,
}

impl EventArguments {
    /// Returns the chosen providers, each once. A provider that is chosen twice has the keywords of
    /// both choices, and the higher level.
    pub(crate) fn providers(&self) -> anyhow::Result<Vec<Provider>> {
        let provider = |name: &str, keywords, level| Provider {
            name: name.to_owned(),
            keywords,
            level,
            arguments: (name == DIAGNOSTIC_SOURCE).then(database),
        };
        let clr = self.clrevents.map(|Keywords(bits)| provider(RUNTIME, bits, self.clreventlevel));
        let profiles = self.profiles().into_iter().flat_map(|profile| profile.providers);
        let profiles = profiles.map(|(name, keywords, level)| provider(name, *keywords, *level));
        let own = self.providers.iter().flat_map(Providers::iter).cloned();
        Provider::merged(profiles.chain(clr).chain(own))
    }

    /// Warns about names that no provider has.
    pub(crate) fn say_doubts(&self) {
        let own = self.providers.iter().flat_map(Providers::iter);
        own.filter_map(Provider::doubt).for_each(|doubt| say(&printable(&doubt)));
    }

    /// Returns whether the events need a rundown, which writes method and type names at the end.
    pub(crate) fn need_rundown(&self) -> bool {
        !self.providers.is_empty()
            || self.clrevents.is_some()
            || self.profiles().iter().any(|profile| profile.needs_rundown)
    }

    fn profiles(&self) -> Vec<&'static EventProfile> {
        let is_any_chosen =
            !(self.profile.is_empty() && self.providers.is_empty() && self.clrevents.is_none());
        if is_any_chosen { self.profile.clone() } else { PROFILES.iter().take(2).collect() }
    }
}

/// Returns which diagnostic events become events, and with which values. Connection strings are
/// left out, because they may contain a password.
fn database() -> String {
    const SQL: &str = "Command.CommandText;Command.CommandType;Command.CommandTimeout;Command.Connection.Database;Command.Connection.DataSource";
    let sql = |client: &str| {
        format!(
            "SqlClientDiagnosticListener/{client}.WriteCommandBefore@Activity1Start:-ConnectionId;Operation;{SQL}\n\
             SqlClientDiagnosticListener/{client}.WriteCommandAfter@Activity1Stop:\n"
        )
    };
    let core = "Microsoft.EntityFrameworkCore/Microsoft.EntityFrameworkCore.Database.Command";
    format!(
        "FilterAndPayloadSpecs=\"{}{}{core}.CommandExecuting@Activity2Start:-ConnectionId;IsAsync;{SQL}\n\
         {core}.CommandExecuted@Activity2Stop:\"",
        sql("System.Data.SqlClient"),
        sql("Microsoft.Data.SqlClient")
    )
}

fn profiles() -> impl TypedValueParser<Value = &'static EventProfile> {
    let names = PROFILES.iter().map(|profile| PossibleValue::new(profile.name).help(profile.about));
    let others = OTHER_PROFILES.iter().map(|(name, _)| PossibleValue::new(name).hide(true));
    PossibleValuesParser::new(names.chain(others)).try_map(|name| {
        let route =
            || OTHER_PROFILES.iter().find(|(other, _)| *other == name).map(|(_, route)| *route);
        let profile = PROFILES.iter().find(|profile| profile.name == name);
        profile.ok_or_else(|| route().unwrap_or("expected a profile"))
    })
}

/// Keywords of the runtime's provider, one bit each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Keywords(u64);

impl FromStr for Keywords {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> anyhow::Result<Self> {
        let mut all = 0;
        for name in text.split('+') {
            let known = KEYWORDS.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
            let Some((_, keyword)) = known else {
                let names: Vec<_> = KEYWORDS.iter().map(|(name, _)| *name).collect();
                bail!("{name:?} is not a keyword: expected {}", names.join(", "));
            };
            all |= keyword;
        }
        Ok(Self(all))
    }
}

/// The keywords of the runtime's manifest, by the names that dotnet-trace gives them.
const KEYWORDS: [(&str, u64); 41] = [
    ("gc", 0x1),
    ("gchandle", 0x2),
    ("assemblyloader", 0x4),
    ("fusion", 0x4),
    ("loader", 0x8),
    ("jit", 0x10),
    ("ngen", 0x20),
    ("startenumeration", 0x40),
    ("endenumeration", 0x80),
    ("security", 0x400),
    ("appdomainresourcemanagement", 0x800),
    ("jittracing", 0x1000),
    ("interop", 0x2000),
    ("contention", 0x4000),
    ("exception", 0x8000),
    ("threading", 0x1_0000),
    ("jittedmethodiltonativemap", 0x2_0000),
    ("overrideandsuppressngenevents", 0x4_0000),
    ("type", 0x8_0000),
    ("gcheapdump", 0x10_0000),
    ("gcsampledobjectallocationhigh", 0x20_0000),
    ("gcheapsurvivalandmovement", 0x40_0000),
    ("gcheapcollect", 0x80_0000),
    ("managedheadcollect", 0x80_0000),
    ("gcheapandtypenames", 0x100_0000),
    ("gcsampledobjectallocationlow", 0x200_0000),
    ("perftrack", 0x2000_0000),
    ("stack", 0x4000_0000),
    ("threadtransfer", 0x8000_0000),
    ("debugger", 0x1_0000_0000),
    ("monitoring", 0x2_0000_0000),
    ("codesymbols", 0x4_0000_0000),
    ("eventsource", 0x8_0000_0000),
    ("compilation", 0x10_0000_0000),
    ("compilationdiagnostic", 0x20_0000_0000),
    ("methoddiagnostic", 0x40_0000_0000),
    ("typediagnostic", 0x80_0000_0000),
    ("jitinstrumentationdata", 0x100_0000_0000),
    ("profiler", 0x200_0000_0000),
    ("waithandle", 0x400_0000_0000),
    ("allocationsampling", 0x800_0000_0000),
];

/// The providers of one argument, with commas between them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Providers(Vec<Provider>);

impl FromStr for Providers {
    type Err = anyhow::Error;

    /// Splits at commas as dotnet-trace does, except between quotes, where a runtime accepts any
    /// value of an argument.
    fn from_str(text: &str) -> anyhow::Result<Self> {
        let mut is_quoted = false;
        let parts: Vec<_> = text
            .split(|c| {
                is_quoted ^= c == '"';
                c == ',' && !is_quoted
            })
            .map(str::trim)
            .filter(|part| !part.is_empty())
            .collect();
        if is_quoted {
            bail!("{text:?} has an odd number of quotes: expected a closing one");
        }
        if parts.is_empty() {
            bail!("a provider needs a name");
        }
        if parts.iter().all(|part| part.bytes().all(|byte| byte.is_ascii_digit())) {
            bail!(
                "{text} is a number: expected a provider. In dotnet-trace -p is the process, which here is TARGET or --process-id"
            );
        }
        Ok(Self(parts.into_iter().map(str::parse).collect::<anyhow::Result<_>>()?))
    }
}

impl Providers {
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Provider> {
        self.0.iter()
    }
}

impl Provider {
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Returns what is odd about a name that no provider has. The session would have no events.
    fn doubt(&self) -> Option<String> {
        let name = &self.name;
        let is_guid = name.trim_matches(['{', '}']).parse::<Guid>().is_ok();
        if is_guid {
            return Some(format!(
                "{name} is a GUID: a runtime compares names, expected one such as {RUNTIME}"
            ));
        }
        name.contains([';', '=']).then(|| {
            format!("{name:?} is taken for a name: arguments follow the level, as in NAME:0x1:5:KEY=VALUE;KEY=VALUE")
        })
    }
}

impl fmt::Display for Provider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let level = usize::try_from(self.level.0).ok().and_then(|level| LEVELS.get(level));
        write!(f, "{}:{:#x}:{}", self.name, self.keywords, level.unwrap_or(&"?"))?;
        self.arguments.as_ref().map_or(Ok(()), |arguments| write!(f, ":{arguments}"))
    }
}

/// A provider, in the syntax of dotnet-trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Provider {
    name: String,
    keywords: u64,
    level: EventLevel,
    arguments: Option<String>,
}

impl Provider {
    /// Merges providers of the same name, as dotnet-trace does; a runtime ignores the second one.
    pub(crate) fn merged(all: impl Iterator<Item = Self>) -> anyhow::Result<Vec<Self>> {
        let mut merged: Vec<Self> = Vec::new();
        for provider in all {
            let known = merged.iter_mut().find(|at| at.name.eq_ignore_ascii_case(&provider.name));
            let Some(known) = known else {
                merged.push(provider);
                continue;
            };
            if known.arguments.is_some() && provider.arguments.is_some() {
                bail!("{} has arguments twice: expected them once", known.name);
            }
            known.keywords |= provider.keywords;
            // LogAlways, the lowest number, means no limit.
            known.level = match (known.level, provider.level) {
                (EventLevel(0), _) | (_, EventLevel(0)) => EventLevel(0),
                (one, other) => EventLevel(one.0.max(other.0)),
            };
            known.arguments = known.arguments.take().or(provider.arguments);
        }
        Ok(merged)
    }

    pub(crate) fn config(&self) -> StreamingProviderConfig<'_> {
        StreamingProviderConfig {
            keywords: self.keywords,
            log_level: self.level,
            provider_name: IpcString::new(&self.name),
            arguments: self.arguments.as_deref().map_or(IpcString::ABSENT, IpcString::new),
            filter: EventFilter::ALL,
        }
    }
}

impl FromStr for Provider {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> anyhow::Result<Self> {
        let mut parts = text.splitn(4, ':');
        let name = parts
            .next()
            .filter(|name| !name.is_empty())
            .context("a provider needs a name")?
            .to_owned();
        let mut next = || parts.next().filter(|part| !part.is_empty());
        let keywords = match next() {
            Some(text) => {
                let digits =
                    text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")).unwrap_or(text);
                u64::from_str_radix(digits, 16)
                    .with_context(|| format!("{text:?} is not a hexadecimal number"))?
            }
            None => u64::MAX,
        };
        let level = match next() {
            Some(text) => level(text)?,
            None => EventLevel::INFORMATIONAL,
        };
        Ok(Self { name, keywords, level, arguments: next().map(str::to_owned) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser as _;

    #[derive(clap::Parser)]
    struct Line {
        #[command(flatten)]
        events: EventArguments,
    }

    fn chosen(arguments: &[&str]) -> (Vec<String>, bool) {
        let line = Line::parse_from([&["trace"], arguments].concat());
        let providers = line.events.providers().unwrap();
        (providers.iter().map(ToString::to_string).collect(), line.events.need_rundown())
    }

    /// The figures are those of dotnet-trace 10, in its table of providers.
    #[test]
    fn chosen_events_have_the_keywords_of_dotnet_trace() {
        let common = "Microsoft-Windows-DotNETRuntime:0x100003801d:Informational";
        let samples = "Microsoft-DotNETCore-SampleProfiler:0xf00000000000:Informational";
        let private = "Microsoft-Windows-DotNETRuntimePrivate:0x1:Informational";
        let gc = "Microsoft-Windows-DotNETRuntime:0x1:Informational";
        let verbose = "Microsoft-Windows-DotNETRuntime:0x8003:Verbose";
        let heap = "Microsoft-Windows-DotNETRuntime:0x1980001:Verbose";
        let jit = "Microsoft-Windows-DotNETRuntime:0x11:Verbose";
        let merged = "Microsoft-Windows-DotNETRuntime:0x8011:Verbose";
        for (arguments, providers, needs_rundown) in [
            ("", &[common, samples][..], true),
            ("--profile dotnet-common,dotnet-sampled-thread-time", &[common, samples], true),
            ("--profile dotnet-common", &[common], true),
            ("--profile gc-collect", &[gc, private], false),
            ("--profile gc-verbose", &[verbose], true),
            ("--profile gcdump", &[heap], false),
            ("--clrevents gc+JIT --clreventlevel 5", &[jit], true),
            (
                "--profile gc-collect --clrevents jit -p microsoft-windows-dotnetruntime:8000:5,A:1",
                &[merged, private, "A:0x1:Informational"],
                true,
            ),
        ] {
            let words: Vec<_> = arguments.split_whitespace().collect();
            let providers = providers.iter().map(ToString::to_string).collect();
            assert_eq!(chosen(&words), (providers, needs_rundown), "{arguments}");
        }
        let (database, _) = chosen(&["--profile", "database"]);
        assert_eq!(database[0], "System.Threading.Tasks.TplEventSource:0x80:Informational");
        assert!(database[1].starts_with(
            "Microsoft-Diagnostics-DiagnosticSource:0x3:Verbose:FilterAndPayloadSpecs=\"SqlClientDiagnosticListener/System.Data.SqlClient.WriteCommandBefore@Activity1Start:-"
        ));
        assert!(!database[1].contains("ConnectionString"));
        let unknown = "gc+nothing".parse::<Keywords>().unwrap_err().to_string();
        let expected = "\"nothing\" is not a keyword: expected gc, gchandle,";
        assert!(unknown.starts_with(expected), "{unknown}");
    }

    #[test]
    fn provider_parses_like_dotnet_trace() {
        let provider = |text: &str| {
            let Provider { name, keywords, level, arguments } = text.parse().unwrap();
            (name, keywords, level.0, arguments)
        };
        assert_eq!(provider("P"), ("P".to_owned(), u64::MAX, 4, None));
        assert_eq!(provider("P:1c019"), ("P".to_owned(), 0x1_c019, 4, None));
        assert_eq!(provider("P::verbose"), ("P".to_owned(), u64::MAX, 5, None));
        assert_eq!(
            provider("P:0x10:0:A=1;B=2:3"),
            ("P".to_owned(), 16, 0, Some("A=1;B=2:3".to_owned()))
        );
        for (text, why) in [
            ("", "a provider needs a name"),
            (",", "a provider needs a name"),
            (":1", "a provider needs a name"),
            ("P:1:4:A=\"1", "\"P:1:4:A=\\\"1\" has an odd number of quotes"),
            ("P:x1", "\"x1\" is not a hexadecimal"),
            ("4242", "4242 is a number: expected a provider. In dotnet-trace -p is the process"),
            ("P:1:6", "\"6\" is not a level: expected 0 to 5"),
        ] {
            let error = format!("{:#}", text.parse::<Providers>().unwrap_err());
            assert!(error.starts_with(why), "{error}");
        }
    }

    #[test]
    fn providers_are_split_and_merged_like_in_dotnet_trace() {
        let enabled = |arguments: &[&str]| {
            let all: Vec<Providers> = arguments.iter().map(|text| text.parse().unwrap()).collect();
            let merged = Provider::merged(all.iter().flat_map(Providers::iter).cloned())?;
            Ok::<_, anyhow::Error>(merged.iter().map(ToString::to_string).collect::<Vec<_>>())
        };
        assert_eq!(
            enabled(&["A:1:4:X=1, B:2,,", "C:3:0"]).unwrap(),
            ["A:0x1:Informational:X=1", "B:0x2:Informational", "C:0x3:LogAlways"]
        );
        assert_eq!(
            enabled(&["M:1:4:Metrics=\"a,b\",N:1"]).unwrap(),
            ["M:0x1:Informational:Metrics=\"a,b\"", "N:0x1:Informational"]
        );
        assert_eq!(enabled(&["A:1:2", "a:2:5:X=1"]).unwrap(), ["A:0x3:Verbose:X=1"]);
        assert_eq!(enabled(&["A:1:0,A:2:5"]).unwrap(), ["A:0x3:LogAlways"]);
        let error = enabled(&["A:::X=1,A:::X=2"]).unwrap_err();
        assert_eq!(error.to_string(), "A has arguments twice: expected them once");
    }
}
