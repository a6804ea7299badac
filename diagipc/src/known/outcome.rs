//! The outcome of a case, in the words of `evidence/`, and the recording of a build.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use dotnet_diagnostics_ipc::hresult::HResult;
use serde::Deserialize;

use super::profile::Profile;
use super::row::Effect;
use crate::conversation::ReplyKind;

/// What a target did in a case of the server suite.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum CaseOutcome {
    /// The answer to a request, and its effects.
    Answered(Effect),
    /// A script was played as written.
    AsWritten,
    /// A script was played as in its deviation of this fact.
    Deviated(String),
    /// A script failed, with the answer if that was the cause.
    Otherwise(Option<Effect>),
}

impl fmt::Display for CaseOutcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Answered(seen) => seen.fmt(f),
            Self::AsWritten => f.write_str("as-written"),
            Self::Deviated(fact) => f.write_str(fact),
            Self::Otherwise(None) => f.write_str("otherwise"),
            Self::Otherwise(Some(seen)) => write!(f, "otherwise {seen}"),
        }
    }
}

/// Parses an outcome. The error is the text.
impl FromStr for CaseOutcome {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.split_once(' ').unwrap_or((text, "")) {
            ("as-written", "") => Ok(Self::AsWritten),
            ("otherwise", "") => Ok(Self::Otherwise(None)),
            ("otherwise", seen) => seen.parse().map(|seen| Self::Otherwise(Some(seen))),
            (fact, "") if fact.starts_with("F-") || fact.starts_with("P-") => {
                Ok(Self::Deviated(fact.to_string()))
            }
            _ => text.parse().map(Self::Answered),
        }
    }
}

impl fmt::Display for Effect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { answer, died, left_open, wrong } = *self;
        match answer {
            ReplyKind::Ok => f.write_str("OK")?,
            ReplyKind::Error(HResult(code)) => write!(f, "0x{code:08X}")?,
            ReplyKind::NoHeader => f.write_str("no-header")?,
            ReplyKind::Nothing => f.write_str("nothing")?,
            ReplyKind::Other => f.write_str("closed")?,
        }
        for (is_so, word) in [(died, "died"), (left_open, "left-open"), (wrong, "malformed")] {
            if is_so {
                write!(f, " {word}")?;
            }
        }
        Ok(())
    }
}

/// Parses an effect. The error is the text.
impl FromStr for Effect {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut words = text.split(' ');
        let answer = match words.next().unwrap_or_default() {
            "OK" => ReplyKind::Ok,
            "no-header" => ReplyKind::NoHeader,
            "nothing" => ReplyKind::Nothing,
            "closed" => ReplyKind::Other,
            code => {
                let digits =
                    code.strip_prefix("0x").filter(|digits| digits.len() == 8).ok_or(text)?;
                ReplyKind::Error(HResult(u32::from_str_radix(digits, 16).map_err(|_| text)?))
            }
        };
        let mut seen = Self { answer, died: false, left_open: false, wrong: false };
        for word in words {
            match word {
                "died" => seen.died = true,
                "left-open" => seen.left_open = true,
                "malformed" => seen.wrong = true,
                _ => return Err(text.into()),
            }
        }
        Ok(seen)
    }
}

/// The recording of a build, which is a file of `evidence/`.
#[derive(Clone, Debug)]
pub(crate) struct BuildRecording {
    /// The name of the build in vectors and scripts, such as `net10.0.9`.
    pub(crate) build: String,
    pub(crate) profile: Profile,
    /// The outcomes by the names of the cases.
    pub(crate) outcomes: BTreeMap<String, CaseOutcome>,
}

#[derive(Deserialize)]
struct File {
    build: String,
    outcomes: BTreeMap<String, String>,
}

impl BuildRecording {
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let File { build, outcomes } =
            serde_json::from_str(text).map_err(|error| error.to_string())?;
        let profile = Profile::of_recording(&build)
            .ok_or_else(|| format!("unknown build {build}: expected net10.0.9 or aot9.0.20"))?;
        let read = |(case, text): (String, String)| match text.parse() {
            Ok(outcome) => Ok((case, outcome)),
            Err(text) => Err(format!("{case}: no outcome {text}")),
        };
        Ok(Self {
            build,
            profile,
            outcomes: outcomes.into_iter().map(read).collect::<Result<_, _>>()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outcome_text_roundtrips() {
        let texts = "OK,0x80131384 left-open,closed died,no-header,nothing,OK malformed,as-written,\
                     F-74,otherwise,otherwise 0x80131515";
        for text in texts.split(',') {
            assert_eq!(
                text.parse::<CaseOutcome>().map(|outcome| outcome.to_string()),
                Ok(text.into())
            );
        }
        for text in ["", "ok", "0x8013138", "0x8013138g", "OK dead", "OK  died", "as-written died"]
        {
            assert_eq!(text.parse::<CaseOutcome>(), Err(text.into()), "{text}");
        }
    }
}
