//! What a server is asked: the exchange scripts that play the client, and every request of the vectors.

use alloc::{
    borrow::ToOwned as _,
    format,
    string::{String, ToString as _},
    vec::Vec,
};

use crate::command::Command;
use crate::conformance::{Glob, codec::NamedFile};
use crate::vectors::script::{Plays, Script, Step, Target};
use crate::vectors::{Direction, Group, Hazard, ScriptFile, Test, Type};

/// One case.
#[derive(Clone, Copy, Debug)]
pub struct ServerCase<'v> {
    /// The name of the file it stands in, without `.json`.
    pub file: &'v str,
    /// What is played.
    pub kind: ServerCaseKind<'v>,
}

/// What is played in a case.
#[derive(Clone, Copy, Debug)]
pub enum ServerCaseKind<'v> {
    /// A whole conversation.
    Script {
        /// How long a step may take that does not say it itself, in milliseconds.
        within_ms: u32,
        /// The script.
        script: &'v Script,
        /// Its other side.
        target: &'v Target,
    },
    /// One request of the vectors, whose answer must fit what it is.
    Request {
        /// The vector's group.
        group: &'v Group,
        /// The vector.
        test: &'v Test,
    },
}

/// All cases, in the order in which they are played.
pub fn cases<'v>(scripts: &'v [(&'v str, ScriptFile)], vectors: &'v [NamedFile]) -> Vec<ServerCase<'v>> {
    let scripts = scripts.iter().flat_map(|(file, scripts)| {
        scripts.scripts.iter().filter_map(move |script| {
            let Plays::Client(part) = &script.plays else { return None };
            let kind = ServerCaseKind::Script { within_ms: scripts.within_ms, script, target: &part.target };
            Some(ServerCase { file, kind })
        })
    });
    let requests = vectors.iter().flat_map(|NamedFile { name, file }| {
        let groups = file.groups.iter().filter(|group| group.kind == Type::Request && group.direction == Some(Direction::Client));
        groups.flat_map(move |group| {
            let tests = group.tests.iter().filter(|test| test.wire.is_some());
            tests.map(move |test| ServerCase { file: name, kind: ServerCaseKind::Request { group, test } })
        })
    });
    scripts.chain(requests).collect()
}

impl ServerCase<'_> {
    /// `scripts/FILE/NAME`, or `requests/FILE/TCID`.
    pub fn name(&self) -> String {
        match self.kind {
            ServerCaseKind::Script { script, .. } => format!("scripts/{}/{}", self.file, script.name),
            ServerCaseKind::Request { test, .. } => format!("requests/{}/{}", self.file, test.tc_id),
        }
    }

    /// What the counts are kept for.
    pub fn section(&self) -> String {
        match self.kind {
            ServerCaseKind::Script { .. } => format!("scripts/{}", self.file),
            ServerCaseKind::Request { .. } => format!("requests/{}", self.file),
        }
    }

    /// The group of the vector; of a script its number.
    pub fn group(&self) -> String {
        match self.kind {
            ServerCaseKind::Script { script, .. } => script.sc_id.to_string(),
            ServerCaseKind::Request { group, .. } => group.name.clone(),
        }
    }

    /// What is special.
    pub fn title(&self) -> String {
        match self.kind {
            ServerCaseKind::Script { script, .. } => script.comment.clone(),
            ServerCaseKind::Request { group, test } => match &group.command {
                Some(command) => format!("{command}: {}", test.comment),
                None => test.comment.clone(),
            },
        }
    }

    /// What it may do to a live target. Nothing else decides.
    pub const fn hazard(&self) -> Option<Hazard> {
        match self.kind {
            ServerCaseKind::Script { script, .. } => script.hazard,
            ServerCaseKind::Request { test, .. } => test.hazard,
        }
    }

    /// The first version of .NET that has what it is about.
    pub fn since(&self) -> Option<&str> {
        match self.kind {
            ServerCaseKind::Script { script, .. } => script.since.as_deref(),
            ServerCaseKind::Request { group, .. } => group.since.as_deref(),
        }
    }

    /// The system for which it is meant; `None` is any.
    pub fn platform(&self) -> Option<&str> {
        match self.kind {
            ServerCaseKind::Script { target, .. } => target.platform.as_deref(),
            ServerCaseKind::Request { .. } => None,
        }
    }

    /// The facts and requirements that it rests on.
    pub fn spec(&self) -> Vec<String> {
        match self.kind {
            ServerCaseKind::Script { script, .. } => script.spec.clone(),
            ServerCaseKind::Request { group, .. } => group.spec.clone(),
        }
    }

    /// Whether it wants a target that was started for it alone.
    pub fn wants_own_target(&self) -> bool {
        match self.kind {
            ServerCaseKind::Script { target, script, .. } => {
                target.suspended || !target.ports.is_empty() || !target.environment.is_empty() || is_harmful(script.hazard)
            }
            // A dump may take the target's socket with it (P-6).
            ServerCaseKind::Request { group, test } => {
                is_harmful(test.hazard) || (test.hazard.is_some() && group.command.as_deref().is_some_and(is_dump))
            }
        }
    }

    /// Whether a message is sent in pieces: in chunks, or by several steps without a reply between them.
    pub(super) fn sends_in_pieces(&self) -> bool {
        let ServerCaseKind::Script { script, .. } = self.kind else { return false };
        let mut sent: Vec<&str> = Vec::new();
        script.steps.iter().any(|step| match step {
            Step::Send(step) => {
                let again = sent.contains(&step.on.as_str());
                sent.push(&step.on);
                again || step.chunks.len() > 1
            }
            Step::Expect(step) => {
                sent.retain(|on| *on != step.on);
                false
            }
            _ => false,
        })
    }

    /// Whether `glob` chooses this by its name, or a part of it, or its number.
    pub fn is_chosen(&self, glob: &Glob) -> bool {
        let number = match self.kind {
            ServerCaseKind::Script { script, .. } => script.sc_id,
            ServerCaseKind::Request { test, .. } => test.tc_id,
        };
        let name = self.name();
        let words = [self.file.to_owned(), self.section(), self.group(), number.to_string()];
        glob.matches(&name)
            || name.rsplit('/').next().is_some_and(|last| glob.matches(last))
            || words.iter().any(|word| glob.matches(word))
    }
}

fn is_dump(command: &str) -> bool {
    command.parse::<Command>().is_ok_and(|command| command.set == Command::GENERATE_CORE_DUMP.set)
}

fn is_harmful(hazard: Option<Hazard>) -> bool {
    hazard == Some(Hazard::Harmful)
}
