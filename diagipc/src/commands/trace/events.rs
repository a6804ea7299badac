//! The events of a trace: profiles and keywords by the names that dotnet-trace gives them.

use std::str::FromStr;

use anyhow::bail;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use dotnet_diagnostics_ipc::message::eventpipe::EventLevel;

use crate::commands::trace::provider::{Provider, Providers, level};

const RUNTIME: &str = "Microsoft-Windows-DotNETRuntime";

/// Which events are traced.
#[derive(Clone, clap::Args)]
pub(crate) struct Events {
    /// NAME[:KEYWORDS[:LEVEL[:KEY=VALUE;…]]], and more after a comma that is not between quotes:
    /// keywords in hexadecimal, by default all; a level from 0 to 5 or by name, by default 4
    /// (Informational)
    #[arg(short, long = "providers", value_name = "PROVIDER,…")]
    providers: Vec<Providers>,

    /// Events for a purpose, and more after a comma; by default dotnet-common and
    /// dotnet-sampled-thread-time, if no others are chosen
    #[arg(long, value_name = "PROFILE,…", value_delimiter = ',', value_parser = profiles())]
    profile: Vec<&'static Profile>,

    /// Events of the runtime by the names of its keywords, with + between them: gc+jit+exception
    #[arg(long, value_name = "KEYWORD+…")]
    clrevents: Option<Keywords>,

    /// The level of --clrevents, from 0 to 5 or by name
    #[arg(long, value_name = "LEVEL", default_value = "Informational", value_parser = level)]
    clreventlevel: EventLevel,
}

impl Events {
    /// The chosen providers, each once: what is chosen twice has the keywords of both, and the higher
    /// level.
    pub(crate) fn providers(&self) -> anyhow::Result<Vec<Provider>> {
        let clr = self
            .clrevents
            .map(|Keywords(keywords)| Provider::new(RUNTIME, keywords, self.clreventlevel, None));
        let profiles = self.profiles().into_iter().flat_map(|profile| (profile.providers)());
        let own = self.providers.iter().flat_map(Providers::iter).cloned();
        Provider::merged(profiles.chain(clr).chain(own))
    }

    /// Whether the names of methods and types are of use, which a rundown writes at the end.
    pub(crate) fn need_rundown(&self) -> bool {
        !self.providers.is_empty()
            || self.clrevents.is_some()
            || self.profiles().iter().any(|profile| profile.needs_rundown)
    }

    fn profiles(&self) -> Vec<&'static Profile> {
        let is_any_chosen =
            !(self.profile.is_empty() && self.providers.is_empty() && self.clrevents.is_none());
        if is_any_chosen { self.profile.clone() } else { PROFILES.iter().take(2).collect() }
    }
}

/// Events for a purpose.
#[derive(Debug)]
pub(crate) struct Profile {
    name: &'static str,
    about: &'static str,
    needs_rundown: bool,
    providers: fn() -> Vec<Provider>,
}

/// The first two are the default.
static PROFILES: [Profile; 6] = [
    Profile {
        name: "dotnet-common",
        about: "GC, loader, JIT, exceptions, threading and compilation: little, and useful in most cases",
        needs_rundown: true,
        providers: || vec![runtime(0x10_0003_801d, EventLevel::INFORMATIONAL)],
    },
    Profile {
        name: "dotnet-sampled-thread-time",
        about: "The stacks of all managed threads, about 100 times a second",
        needs_rundown: true,
        providers: || {
            let sampler = "Microsoft-DotNETCore-SampleProfiler";
            vec![Provider::new(sampler, 0xf000_0000_0000, EventLevel::INFORMATIONAL, None)]
        },
    },
    Profile {
        name: "gc-verbose",
        about: "Garbage collections, handles, exceptions, and samples of allocations",
        needs_rundown: true,
        providers: || vec![runtime(0x8003, EventLevel::VERBOSE)],
    },
    Profile {
        name: "gc-collect",
        about: "Garbage collections only: the least. Alone without rundown",
        needs_rundown: false,
        providers: || {
            let private = "Microsoft-Windows-DotNETRuntimePrivate";
            vec![
                runtime(1, EventLevel::INFORMATIONAL),
                Provider::new(private, 1, EventLevel::INFORMATIONAL, None),
            ]
        },
    },
    Profile {
        name: "database",
        about: "Commands of SqlClient and Entity Framework Core, with their text",
        needs_rundown: true,
        providers: || {
            let source = "Microsoft-Diagnostics-DiagnosticSource";
            vec![
                Provider::new(
                    "System.Threading.Tasks.TplEventSource",
                    0x80,
                    EventLevel::INFORMATIONAL,
                    None,
                ),
                Provider::new(source, 3, EventLevel::VERBOSE, Some(database())),
            ]
        },
    },
    Profile {
        name: "gcdump",
        about: "The objects of the heap, their types and references, by a collection that the session causes. Alone without rundown",
        needs_rundown: false,
        providers: || vec![runtime(0x198_0001, EventLevel::VERBOSE)],
    },
];

fn runtime(keywords: u64, level: EventLevel) -> Provider {
    Provider::new(RUNTIME, keywords, level, None)
}

/// Which diagnostic events become events, and with which values: no connection string, in which there
/// may be a password.
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

fn profiles() -> impl TypedValueParser<Value = &'static Profile> {
    let names = PROFILES.iter().map(|profile| PossibleValue::new(profile.name).help(profile.about));
    PossibleValuesParser::new(names).try_map(|name| {
        PROFILES.iter().find(|profile| profile.name == name).ok_or("expected a profile")
    })
}

/// Keywords of the runtime's provider, of which it has one bit each.
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

/// Those of the runtime's manifest, by the names that dotnet-trace has for them.
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

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;

    #[derive(clap::Parser)]
    struct Line {
        #[command(flatten)]
        events: Events,
    }

    fn chosen(arguments: &[&str]) -> (Vec<String>, bool) {
        let line = Line::parse_from([&["trace"], arguments].concat());
        let providers = line.events.providers().unwrap();
        (providers.iter().map(ToString::to_string).collect(), line.events.need_rundown())
    }

    /// The figures of dotnet-trace 10, in its table of providers.
    #[test]
    fn profiles_have_the_keywords_of_dotnet_trace() {
        let common = "Microsoft-Windows-DotNETRuntime:0x100003801d:Informational";
        let samples = "Microsoft-DotNETCore-SampleProfiler:0xf00000000000:Informational";
        assert_eq!(chosen(&[]), (vec![common.into(), samples.into()], true));
        let both = ["--profile", "dotnet-common,dotnet-sampled-thread-time"];
        assert_eq!(chosen(&both), chosen(&[]));
        assert_eq!(
            chosen(&both[..1].iter().chain(&["dotnet-common"]).copied().collect::<Vec<_>>()).0,
            [common]
        );
        let private = "Microsoft-Windows-DotNETRuntimePrivate:0x1:Informational";
        assert_eq!(
            chosen(&["--profile", "gc-collect"]),
            (
                vec!["Microsoft-Windows-DotNETRuntime:0x1:Informational".into(), private.into()],
                false
            )
        );
        assert_eq!(
            chosen(&["--profile", "gc-verbose"]),
            (vec!["Microsoft-Windows-DotNETRuntime:0x8003:Verbose".into()], true)
        );
        assert_eq!(
            chosen(&["--profile", "gcdump"]),
            (vec!["Microsoft-Windows-DotNETRuntime:0x1980001:Verbose".into()], false)
        );
        let (database, _) = chosen(&["--profile", "database"]);
        assert_eq!(database[0], "System.Threading.Tasks.TplEventSource:0x80:Informational");
        assert!(database[1].starts_with(
            "Microsoft-Diagnostics-DiagnosticSource:0x3:Verbose:FilterAndPayloadSpecs=\"SqlClientDiagnosticListener/System.Data.SqlClient.WriteCommandBefore@Activity1Start:-"
        ));
        assert!(!database[1].contains("ConnectionString"));
    }

    #[test]
    fn choices_are_added_up() {
        assert_eq!(
            chosen(&["--clrevents", "gc+JIT", "--clreventlevel", "5"]),
            (vec!["Microsoft-Windows-DotNETRuntime:0x11:Verbose".into()], true)
        );
        let all = [
            "--profile",
            "gc-collect",
            "--clrevents",
            "jit",
            "-p",
            "microsoft-windows-dotnetruntime:8000:5,A:1",
        ];
        let private = "Microsoft-Windows-DotNETRuntimePrivate:0x1:Informational";
        assert_eq!(
            chosen(&all),
            (
                vec![
                    "Microsoft-Windows-DotNETRuntime:0x8011:Verbose".into(),
                    private.into(),
                    "A:0x1:Informational".into()
                ],
                true
            )
        );
        let unknown = "gc+nothing".parse::<Keywords>().unwrap_err().to_string();
        assert!(
            unknown.starts_with("\"nothing\" is not a keyword: expected gc, gchandle,"),
            "{unknown}"
        );
    }
}
