//! Something that no server may do, and the message that causes it.

use std::fmt;

use dotnet_diagnostics_ipc::command::Command;
use serde::Serialize;
use serde::ser::{SerializeStruct as _, Serializer};

use super::case::{Delivery, FuzzCase};
use super::cause::{Cause, verdict_of};
use super::memory::Growth;
use super::verdict::CaseVerdict;
use crate::KnownDeviation;
use crate::server::Death;

/// A finding: one for each cause, which is the server's reaction and, if it matters, the fault in
/// the request.
#[derive(Clone, Debug)]
pub struct Finding {
    /// From 1.
    pub number: u32,
    pub(super) cause: Cause,
    /// The cases that lead to it, before shortening.
    pub(super) found: Vec<Cause>,
    /// The observation, with its numbers.
    pub(super) text: Option<String>,
    /// The first case that led to it.
    pub case: FuzzCase,
    /// The shortest that still does.
    pub minimised: FuzzCase,
    /// Whether it was repeated with a target started for it. `None`: none could be started.
    pub reproduced: Option<bool>,
    /// How many messages were tried to shorten it.
    pub tries: u32,
    /// How many cases led to it.
    pub times: u64,
    /// The fact that explains it for this runtime.
    pub known: Option<KnownDeviation>,
    /// How the memory of the target grew, if that is the finding.
    pub memory: Option<Growth>,
    /// Requests of other commands with the same cause, each with its shortest message.
    pub further: Vec<Self>,
    /// How many bytes were received in the case of its script.
    pub(super) seen: usize,
}

impl Finding {
    /// The command of its messages.
    pub fn command(&self) -> Command {
        self.case.command()
    }

    /// The server's reaction.
    pub const fn verdict(&self) -> CaseVerdict {
        verdict_of(self.cause.fault)
    }

    /// Its identity: `crash:unexpected-end`, `magic-unchecked`, `size-wrong`.
    pub fn cause(&self) -> String {
        self.cause.name()
    }

    /// The kinds of mutation.
    pub fn mutation(&self) -> String {
        self.case.mutation()
    }

    /// How its process ended.
    pub const fn death(&self) -> Option<Death> {
        self.cause.death
    }

    /// Its name in file names: `crash-process-setenvironmentvariable-3`.
    pub fn name(&self) -> String {
        let words =
            format!("{} {} {}", self.verdict(), self.command(), self.number).to_ascii_lowercase();
        words.replace([' ', '/', '_'], "-")
    }

    /// Itself, and its further requests.
    pub(super) fn members(&self) -> impl Iterator<Item = &Self> {
        std::iter::once(self).chain(&self.further)
    }

    /// The first member for which `is_wanted` returns true.
    pub(super) fn member_mut(&mut self, is_wanted: impl Fn(&Self) -> bool) -> Option<&mut Self> {
        if is_wanted(self) {
            Some(self)
        } else {
            self.further.iter_mut().find(|member| is_wanted(member))
        }
    }

    /// Whether a case of this command and cause is already counted.
    pub(super) fn has(&self, found: &Cause, command: Command) -> bool {
        self.members().any(|member| member.command() == command && member.found.contains(found))
    }

    /// Whether the other has the same cause: the same fact, if known, or else the same kind. A
    /// known finding hides only known ones.
    pub(super) fn is_of_one_cause_with(&self, other: &Self) -> bool {
        match (&self.known, &other.known) {
            (Some(one), Some(other_fact)) => {
                one.fact == other_fact.fact && self.verdict() == other.verdict()
            }
            (None, None) => self.cause == other.cause,
            _ => false,
        }
    }
}

/// A line.
impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}: {}", self.number, self.command(), self.cause())?;
        if let Some(death) = self.death() {
            write!(f, " (the target {death})")?;
        }
        if let Some(growth) = &self.memory {
            write!(f, " ({growth})")?;
        }
        if let Some(text) = &self.text {
            write!(f, " ({text})")?;
        }
        write!(f, " by {} in case {}", self.mutation(), self.case.number)?;
        match self.reproduced {
            Some(false) => {
                write!(f, "; not reproduced with a new target, {} bytes", self.case.message.len())?;
            }
            None => write!(f, "; {} bytes", self.case.message.len())?,
            Some(true) => write!(
                f,
                "; {} bytes, of {}",
                self.minimised.message.len(),
                self.case.message.len()
            )?,
        }
        match &self.known {
            Some(known) => write!(f, "; {}: {}", known.fact, known.text),
            None => Ok(()),
        }
    }
}

impl Serialize for Finding {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut object = serializer.serialize_struct("Finding", 17)?;
        object.serialize_field("number", &self.number)?;
        object.serialize_field("name", &self.name())?;
        object.serialize_field("cause", &self.cause())?;
        object.serialize_field("text", &self.text)?;
        object.serialize_field("command", &format!("{}", self.command()))?;
        object.serialize_field("verdict", &self.verdict())?;
        object.serialize_field("mutation", &self.mutation())?;
        object.serialize_field("death", &self.death())?;
        object.serialize_field("case", &self.case.number)?;
        object.serialize_field("tcId", &self.case.tc_id)?;
        object.serialize_field("times", &self.times)?;
        object.serialize_field("found", &Sent(&self.case))?;
        object.serialize_field("minimised", &Sent(&self.minimised))?;
        object.serialize_field("reproduced", &self.reproduced)?;
        object.serialize_field("known", &self.known)?;
        object.serialize_field("memory", &self.memory)?;
        object.serialize_field("further", &self.further)?;
        object.end()
    }
}

/// The bytes sent in a case.
struct Sent<'c>(&'c FuzzCase);

impl Serialize for Sent<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut object = serializer.serialize_struct("Sent", 3)?;
        object.serialize_field("message", &hex::encode(&self.0.message))?;
        object.serialize_field("delivery", self.0.delivery.name())?;
        let chunks =
            if let Delivery::Pieces(sizes) = &self.0.delivery { sizes.as_slice() } else { &[] };
        object.serialize_field("chunks", chunks)?;
        object.end()
    }
}
