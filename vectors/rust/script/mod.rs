//! Read an exchange script: a conversation in which one side is played and the other is tested.

mod pattern;
mod step;
mod target;

pub use pattern::{
    Any, Captures, Comparison, Length, LengthOf, Literal, Mismatch, Part, Pattern, Uncaptured,
    Until,
};
pub use step::{
    Accept, Alternative, Drain, EndStep, Ending, Expect, ExpectAnyOf, ExpectEnd, ExpectEvent,
    ExpectFile, ExpectNoConnection, ExpectNoEvent, ExpectNothing, ExpectSocket, ExpectTarget,
    ExpectedEnd, FdKind, Life, Listen, Open, Presence, Send, Signal, SignalKind, Step, Wait,
};
pub use target::{Ability, Ask, AskLimits, Target, TargetPort, VariableValue};

use alloc::{
    boxed::Box,
    format,
    string::{String, ToString as _},
    vec::Vec,
};

use serde::{Deserialize, Deserializer, Serialize, de::Error as _};
use serde_json::Value;

use super::Hazard;

/// A script: a whole conversation of which one side is played.
///
/// ```
/// use dotnet_diagnostics_ipc_vectors::script_files;
/// use dotnet_diagnostics_ipc_vectors::script::Plays;
///
/// for script in script_files()?.iter().flat_map(|file| &file.scripts) {
///     match &script.plays {
///         Plays::Client(part) => println!("{}: a runtime is under test; {} ports", script.name, part.target.ports.len()),
///         Plays::Runtime(part) => println!("{}: the client must send {:?}", script.name, part.ask.command),
///     }
/// }
/// # Ok::<(), dotnet_diagnostics_ipc_vectors::LoadError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Script {
    /// The number of the script, unique across all files.
    pub sc_id: u32,
    /// The name of the script, also unique.
    pub name: String,
    /// The subject of the script.
    pub comment: String,
    /// The facts and requirements on which the script is based.
    pub spec: Vec<String>,
    /// The first .NET version with the command, such as `8.0`.
    pub since: Option<String>,
    /// The effect of the script on a live runtime.
    pub hazard: Option<Hazard>,
    /// The played side, and the keys of that side.
    #[serde(flatten)]
    pub plays: Plays,
    /// The steps, in order.
    #[serde(deserialize_with = "steps")]
    pub steps: Vec<Step>,
}

/// The side that a script plays.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "plays", rename_all = "lowercase")]
pub enum Plays {
    /// The script plays the tool, and a runtime is under test.
    Client(ClientPart),
    /// The script plays the runtime, and a client is under test.
    Runtime(Box<RuntimePart>),
}

/// The keys of a script that plays the client.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct ClientPart {
    /// How the runtime must be started.
    pub target: Target,
    /// The fact by which runtimes do something that the document leaves open. Other servers may
    /// differ.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub habit: Option<String>,
    /// The runtimes that were observed to behave like this.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub seen_on: Vec<String>,
    /// The runtimes that were observed to deviate.
    #[serde(default, deserialize_with = "deviations", skip_serializing_if = "Vec::is_empty")]
    pub deviations: Vec<Deviation>,
}

/// The keys of a script that plays the runtime.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct RuntimePart {
    /// The task of the client.
    #[serde(deserialize_with = "ask")]
    pub ask: Ask,
    /// The expected result of the client, in the form that `exchanges/README.md` describes.
    /// Parsing does not check its keys; `schema/exchanges.schema.json` does.
    pub outcome: Value,
}

/// Runtimes that deviate from a script.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Deviation {
    /// The runtimes, such as `net8.0.30`.
    pub on: Vec<String>,
    /// The fact that describes the deviation.
    pub fact: String,
    /// The deviation in words.
    pub text: String,
    /// The index of the first step that is replaced.
    pub from: usize,
    /// The steps that replace it and all later ones.
    #[serde(deserialize_with = "steps")]
    pub steps: Vec<Step>,
}

impl Script {
    /// Returns the steps of a runtime with this deviation.
    pub fn steps_of<'s>(&'s self, deviation: &'s Deviation) -> Vec<&'s Step> {
        self.steps.iter().take(deviation.from).chain(&deviation.steps).collect()
    }
}

/// Reads a list, and adds the number of the item to its error.
fn numbered<'de, D: Deserializer<'de>, T>(
    deserializer: D,
    item: &str,
    read: impl Fn(Value) -> Result<T, String>,
) -> Result<Vec<T>, D::Error> {
    let values = Vec::<Value>::deserialize(deserializer)?.into_iter().enumerate();
    values
        .map(|(nth, value)| {
            read(value).map_err(|error| D::Error::custom(format!("{item} {nth}: {error}")))
        })
        .collect()
}

fn steps<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Step>, D::Error> {
    numbered(deserializer, "step", Step::read)
}

fn deviations<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Deviation>, D::Error> {
    numbered(deserializer, "deviation", |value| {
        serde_json::from_value(value).map_err(|error| error.to_string())
    })
}

fn ask<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Ask, D::Error> {
    let ask = Ask::deserialize(deserializer)?;
    if ask.command.is_some() == ask.old_protocol {
        return Err(D::Error::custom("ask: expected either command or old_protocol"));
    }
    Ok(ask)
}
