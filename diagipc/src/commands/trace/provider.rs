//! The providers of a trace, in the syntax of dotnet-trace.

use std::fmt;
use std::str::FromStr;

use anyhow::{Context as _, bail};
use dotnet_diagnostics_ipc::message::eventpipe::{
    EventFilter, EventLevel, StreamingProviderConfig,
};
use dotnet_diagnostics_ipc::wire::IpcString;

/// The providers of one argument, with commas between them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Providers(Vec<Provider>);

impl FromStr for Providers {
    type Err = anyhow::Error;

    /// dotnet-trace takes every comma for the next provider. One between quotes stays here: with
    /// quotes a runtime accepts any value of an argument.
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

/// In the syntax of its argument.
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

const LEVELS: [&str; 6] = ["LogAlways", "Critical", "Error", "Warning", "Informational", "Verbose"];

impl Provider {
    pub(crate) fn new(
        name: &str,
        keywords: u64,
        level: EventLevel,
        arguments: Option<String>,
    ) -> Self {
        Self { name: name.to_owned(), keywords, level, arguments }
    }

    /// Each once, as in dotnet-trace: a runtime ignores the second of the same name.
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
            // LogAlways, the lowest number, is no limit.
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

/// A level by its name or number.
pub(crate) fn level(text: &str) -> anyhow::Result<EventLevel> {
    let named = LEVELS
        .iter()
        .zip(0..)
        .find(|(name, _)| name.eq_ignore_ascii_case(text))
        .map(|(_, level)| level);
    named.or_else(|| text.parse().ok().filter(|level| *level <= 5)).map(EventLevel).with_context(
        || format!("{text:?} is not a level: expected 0 to 5, or {}", LEVELS.join(", ")),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

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
