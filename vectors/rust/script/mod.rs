//! Read an exchange script: a conversation in which one side is played and the other is under test.

//! # Example
//!
//! Go through the conversations:
//!
//! ```
//! use dotnet_diagnostics_ipc_vectors::script_files;
//!
//! for script in script_files()?.iter().flat_map(|file| &file.scripts) {
//!     println!("{} {}: {}", script.sc_id, script.name, script.comment);
//! }
//! # Ok::<(), dotnet_diagnostics_ipc_vectors::LoadError>(())
//! ```

mod ability;
mod ask;
mod literal;
mod outcome;
mod pattern;
mod step;
mod target;
mod target_step;

pub use ability::Ability;
pub use ask::{Ask, AskLimits};
pub use literal::{Captures, Literal, Uncaptured};
pub use outcome::{
    OkOutcome, ScriptAfterReply, ScriptEnd, ScriptEnvironment, ScriptFault, ScriptOutcome,
    ScriptStop, ScriptStream, ScriptStreamEnd,
};
pub use pattern::{Any, Comparison, Length, LengthOf, Part, Pattern, Until};
pub use step::{
    Accept, Alternative, Drain, EndStep, Ending, Expect, ExpectAnyOf, ExpectEnd,
    ExpectNoConnection, ExpectNothing, ExpectedEnd, FdKind, Listen, Open, Send, Step, Wait,
};
pub use target::{Target, TargetPort, VariableBytes, VariableValue};
pub use target_step::{ExpectFile, ExpectSocket, ExpectTarget, Life, Presence, Signal, SignalKind};

use alloc::{
    boxed::Box,
    format,
    string::{String, ToString as _},
    vec::Vec,
};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Hazard;

/// A script: a whole conversation, of which one side is played.
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
#[serde(try_from = "RawScript", into = "RawScript")]
pub struct Script {
    /// Unique across all files.
    pub sc_id: u32,
    /// Unique too.
    pub name: String,
    /// The subject.
    pub comment: String,
    /// The facts and requirements behind it.
    pub spec: Vec<String>,
    /// The first .NET with the command, as `8.0`.
    pub since: Option<String>,
    /// Its effect on a live runtime.
    pub hazard: Option<Hazard>,
    /// The played side, and the keys of that side.
    pub plays: Plays,
    /// The steps in order.
    pub steps: Vec<Step>,
}

/// The side that a script plays.
///
/// ```
/// use dotnet_diagnostics_ipc_vectors::script_files;
/// use dotnet_diagnostics_ipc_vectors::script::Plays;
///
/// let is_for_runtimes = |plays: &Plays| matches!(plays, Plays::Client(_));
/// let scripts: Vec<_> = script_files()?.into_iter().flat_map(|file| file.scripts).collect();
/// assert!(scripts.iter().any(|script| is_for_runtimes(&script.plays)));
/// # Ok::<(), dotnet_diagnostics_ipc_vectors::LoadError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub enum Plays {
    /// The tool's; a runtime is under test.
    Client(ClientPart),
    /// The runtime's; a client is under test.
    Runtime(Box<RuntimePart>),
}

/// The keys of a script that plays the client.
#[derive(Clone, Debug, PartialEq)]
pub struct ClientPart {
    /// How the runtime must be started.
    pub target: Target,
    /// The fact by which runtimes do something that the document leaves open: other servers may
    /// differ.
    pub habit: Option<String>,
    /// Runtimes seen to behave like this.
    pub seen_on: Vec<String>,
    /// Runtimes seen to deviate.
    pub deviations: Vec<Deviation>,
}

/// The keys of a script that plays the runtime.
#[derive(Clone, Debug, PartialEq)]
pub struct RuntimePart {
    /// The client's task.
    pub ask: Ask,
    /// The expected result.
    pub outcome: ScriptOutcome,
}

/// Runtimes that deviate from a script.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "RawDeviation", into = "RawDeviation")]
pub struct Deviation {
    /// The runtimes, as `net8.0.30`.
    pub on: Vec<String>,
    /// The fact behind it.
    pub fact: String,
    /// In words.
    pub text: String,
    /// The first step that is replaced, from 0.
    pub from: usize,
    /// The steps that replace it and all later ones.
    pub steps: Vec<Step>,
}

impl Script {
    /// The steps with a runtime of this deviation.
    pub fn steps_of<'s>(&'s self, deviation: &'s Deviation) -> Vec<&'s Step> {
        self.steps.iter().take(deviation.from).chain(&deviation.steps).collect()
    }

    /// The steps as seen on `runtime`, such as `net8.0.30`, and its deviation.
    pub fn steps_on(&self, runtime: &str) -> (Vec<&Step>, Option<&Deviation>) {
        let deviations = match &self.plays {
            Plays::Client(part) => part.deviations.as_slice(),
            Plays::Runtime(_) => &[],
        };
        match deviations.iter().find(|deviation| deviation.on.iter().any(|on| on == runtime)) {
            Some(deviation) => (self.steps_of(deviation), Some(deviation)),
            None => (self.steps.iter().collect(), None),
        }
    }
}

/// The steps of `steps`, or the number of an invalid one.
fn read_steps(steps: Vec<Value>) -> Result<Vec<Step>, String> {
    let read = |(nth, step): (usize, Value)| {
        Step::read(step).map_err(|error| format!("step {nth}: {error}"))
    };
    steps.into_iter().enumerate().map(read).collect()
}

/// The steps as JSON; a step always has a form.
fn write_steps(steps: &[Step]) -> Vec<Value> {
    steps.iter().filter_map(|step| serde_json::to_value(step).ok()).collect()
}

#[derive(Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum RawSide {
    Client,
    Runtime,
}

#[derive(Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct RawScript {
    sc_id: u32,
    name: String,
    comment: String,
    plays: RawSide,
    spec: Vec<String>,
    since: Option<String>,
    hazard: Option<Hazard>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    habit: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    target: Option<Target>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    ask: Option<Ask>,
    steps: Vec<Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    outcome: Option<Value>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    seen_on: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    deviations: Vec<Value>,
}

#[derive(Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawDeviation {
    on: Vec<String>,
    fact: String,
    text: String,
    from: usize,
    steps: Vec<Value>,
}

impl TryFrom<RawScript> for Script {
    type Error = String;

    fn try_from(raw: RawScript) -> Result<Self, String> {
        let missing = |key: &str| format!("{key} is missing");
        let plays = match raw.plays {
            RawSide::Client => {
                if raw.ask.is_some() || raw.outcome.is_some() {
                    return Err(
                        "ask and outcome belong to scripts that play the runtime".to_string()
                    );
                }
                let deviations = raw.deviations.into_iter().enumerate();
                let read = |(nth, one): (usize, Value)| {
                    serde_json::from_value(one).map_err(|error| format!("deviation {nth}: {error}"))
                };
                let deviations = deviations.map(read).collect::<Result<_, _>>()?;
                let target = raw.target.ok_or_else(|| missing("target"))?;
                Plays::Client(ClientPart {
                    target,
                    habit: raw.habit,
                    seen_on: raw.seen_on,
                    deviations,
                })
            }
            RawSide::Runtime => {
                if raw.target.is_some()
                    || raw.habit.is_some()
                    || !raw.seen_on.is_empty()
                    || !raw.deviations.is_empty()
                {
                    return Err("target, habit, seenOn and deviations belong to scripts that play the client".to_string());
                }
                let outcome = raw.outcome.ok_or_else(|| missing("outcome"))?;
                let outcome =
                    serde_json::from_value(outcome).map_err(|error| format!("outcome: {error}"))?;
                let ask = raw.ask.ok_or_else(|| missing("ask"))?;
                if ask.command.is_some() == ask.old_protocol {
                    return Err("ask: expected either command or old_protocol".to_string());
                }
                Plays::Runtime(Box::new(RuntimePart { ask, outcome }))
            }
        };
        let steps = read_steps(raw.steps)?;
        Ok(Self {
            sc_id: raw.sc_id,
            name: raw.name,
            comment: raw.comment,
            spec: raw.spec,
            since: raw.since,
            hazard: raw.hazard,
            plays,
            steps,
        })
    }
}

impl From<Script> for RawScript {
    fn from(script: Script) -> Self {
        let mut raw = Self {
            sc_id: script.sc_id,
            name: script.name,
            comment: script.comment,
            plays: RawSide::Client,
            spec: script.spec,
            since: script.since,
            hazard: script.hazard,
            habit: None,
            target: None,
            ask: None,
            steps: write_steps(&script.steps),
            outcome: None,
            seen_on: Vec::new(),
            deviations: Vec::new(),
        };
        match script.plays {
            Plays::Client(part) => {
                raw.target = Some(part.target);
                raw.habit = part.habit;
                raw.seen_on = part.seen_on;
                raw.deviations = part
                    .deviations
                    .iter()
                    .filter_map(|one| serde_json::to_value(one).ok())
                    .collect();
            }
            Plays::Runtime(part) => {
                raw.plays = RawSide::Runtime;
                raw.ask = Some(part.ask);
                raw.outcome = serde_json::to_value(part.outcome).ok();
            }
        }
        raw
    }
}

impl TryFrom<RawDeviation> for Deviation {
    type Error = String;

    fn try_from(raw: RawDeviation) -> Result<Self, String> {
        Ok(Self {
            on: raw.on,
            fact: raw.fact,
            text: raw.text,
            from: raw.from,
            steps: read_steps(raw.steps)?,
        })
    }
}

impl From<Deviation> for RawDeviation {
    fn from(one: Deviation) -> Self {
        Self {
            on: one.on,
            fact: one.fact,
            text: one.text,
            from: one.from,
            steps: write_steps(&one.steps),
        }
    }
}
