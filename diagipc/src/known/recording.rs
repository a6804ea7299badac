//! A build's behaviour in each case, as stored in `evidence/`.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::{Outcome, Profile};

/// A file of `evidence/`.
#[derive(Clone, Debug)]
pub(crate) struct Recording {
    /// Its name in vectors and scripts: `net10.0.9`.
    pub(crate) build: String,
    pub(crate) profile: Profile,
    /// By the name of the case.
    pub(crate) outcomes: BTreeMap<String, Outcome>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    build: String,
    #[allow(dead_code, reason = "for who reads the file")]
    system: String,
    outcomes: BTreeMap<String, String>,
}

impl Recording {
    /// Reads the text of a file.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let File { build, outcomes, .. } =
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
