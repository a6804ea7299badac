//! Something that no server may do, and the message that makes it do so.

use alloc::{format, string::String};
use core::fmt;

use serde::Serialize;
use serde::ser::{SerializeStruct as _, Serializer};

use super::case::{Delivery, FuzzCase};
use super::verdict::CaseVerdict;
use crate::command::Command;
use crate::conformance::KnownDeviation;
use crate::conformance::server::Death;

/// What two cases have in common that are one finding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Key {
    pub(super) command: Command,
    pub(super) verdict: CaseVerdict,
    pub(super) mutation: String,
    pub(super) death: Option<Death>,
}

impl Key {
    /// Whether only what was done to the message tells them apart.
    pub(super) fn is_like(&self, other: &Self) -> bool {
        (self.command, self.verdict, self.death) == (other.command, other.verdict, other.death)
    }
}

/// Something that was found: one for each command, verdict, kind of mutation, and end of the process.
#[derive(Clone, Debug)]
pub struct Finding {
    /// From 1.
    pub number: u32,
    pub(super) key: Key,
    /// The first case that led to it.
    pub case: FuzzCase,
    /// The shortest that still does it. It is another finding's where [`Finding::same_as`] says so.
    pub minimised: FuzzCase,
    /// The finding that comes down to the same message.
    pub same_as: Option<u32>,
    /// Whether it came again with a target that was started for it. `None`: none could be.
    pub reproduced: Option<bool>,
    /// How many messages were tried to make it shorter.
    pub tries: u32,
    /// How many cases led to it.
    pub times: u64,
    /// The fact by which it is known of this runtime.
    pub known: Option<KnownDeviation>,
    /// How many bytes came of the case that its script plays.
    pub(super) seen: usize,
}

impl Finding {
    /// The command that its messages name.
    pub const fn command(&self) -> Command {
        self.key.command
    }

    /// What the server did.
    pub const fn verdict(&self) -> CaseVerdict {
        self.key.verdict
    }

    /// The kinds of mutation.
    pub fn mutation(&self) -> &str {
        &self.key.mutation
    }

    /// How its process ended.
    pub const fn death(&self) -> Option<Death> {
        self.key.death
    }

    /// The case that its script plays: the shortest, or its own where that is another finding's.
    pub const fn played(&self) -> &FuzzCase {
        if self.same_as.is_some() { &self.case } else { &self.minimised }
    }

    /// Its name in files: `crash-process-setenvironmentvariable-3`.
    pub fn name(&self) -> String {
        let words = format!("{} {} {}", self.key.verdict, self.key.command, self.number).to_ascii_lowercase();
        words.replace([' ', '/', '_'], "-")
    }
}

/// A line.
impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}: {}", self.number, self.key.command, self.key.verdict)?;
        if let Some(death) = &self.key.death {
            write!(f, " (the target {death})")?;
        }
        write!(f, " by {} in case {}", self.key.mutation, self.case.number)?;
        match (self.same_as, self.reproduced) {
            (_, Some(false)) => write!(f, "; not again with a new target, {} bytes", self.case.message.len())?,
            (Some(other), _) => write!(f, "; comes down to {other}")?,
            (None, None) => write!(f, "; {} bytes", self.case.message.len())?,
            (None, Some(true)) => write!(f, "; {} bytes, of {}", self.minimised.message.len(), self.case.message.len())?,
        }
        match &self.known {
            Some(known) => write!(f, "; {}: {}", known.fact, known.text),
            None => Ok(()),
        }
    }
}

impl Serialize for Finding {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut object = serializer.serialize_struct("Finding", 14)?;
        object.serialize_field("number", &self.number)?;
        object.serialize_field("name", &self.name())?;
        object.serialize_field("command", &format!("{}", self.key.command))?;
        object.serialize_field("verdict", &self.key.verdict)?;
        object.serialize_field("mutation", &self.key.mutation)?;
        object.serialize_field("death", &self.key.death)?;
        object.serialize_field("case", &self.case.number)?;
        object.serialize_field("tcId", &self.case.tc_id)?;
        object.serialize_field("times", &self.times)?;
        object.serialize_field("found", &Sent(&self.case))?;
        object.serialize_field("minimised", &Sent(&self.minimised))?;
        object.serialize_field("sameAs", &self.same_as)?;
        object.serialize_field("reproduced", &self.reproduced)?;
        object.serialize_field("known", &self.known)?;
        object.end()
    }
}

/// What is sent in a case.
struct Sent<'c>(&'c FuzzCase);

impl Serialize for Sent<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut object = serializer.serialize_struct("Sent", 3)?;
        object.serialize_field("message", &hex::encode(&self.0.message))?;
        object.serialize_field("delivery", self.0.delivery.name())?;
        let chunks = if let Delivery::Pieces(sizes) = &self.0.delivery { sizes.as_slice() } else { &[] };
        object.serialize_field("chunks", chunks)?;
        object.end()
    }
}
