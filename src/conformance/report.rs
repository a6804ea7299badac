//! What a run found: plain data, the same for every kind of target.

use alloc::{borrow::ToOwned as _, string::String, vec::Vec};

use serde::{Deserialize, Serialize};

use crate::vectors::{Hazard, Value};

/// What became of a case.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Grade {
    /// As it must be.
    Pass,
    /// Allowed, where a stricter implementation refuses.
    PassLenient,
    /// The target says that it does not have this.
    Unimplemented,
    /// Seen and not judged.
    Informational,
    /// Not as it must be.
    Fail,
}

/// How many cases have which grade.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Counts {
    /// [`Grade::Pass`].
    pub pass: usize,
    /// [`Grade::PassLenient`].
    pub pass_lenient: usize,
    /// [`Grade::Unimplemented`].
    pub unimplemented: usize,
    /// [`Grade::Informational`].
    pub informational: usize,
    /// [`Grade::Fail`].
    pub fail: usize,
}

impl Counts {
    /// One case more.
    pub fn add(&mut self, grade: Grade) {
        let count = match grade {
            Grade::Pass => &mut self.pass,
            Grade::PassLenient => &mut self.pass_lenient,
            Grade::Unimplemented => &mut self.unimplemented,
            Grade::Informational => &mut self.informational,
            Grade::Fail => &mut self.fail,
        };
        *count = count.saturating_add(1);
    }

    /// Cases of any grade.
    pub fn all(&self) -> usize {
        [self.pass, self.pass_lenient, self.unimplemented, self.informational, self.fail].into_iter().fold(0, usize::saturating_add)
    }
}

/// One case and its grade.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Case {
    /// Unique in the suite, and the same in every run: `grammar/grammar-string/1200/decode`.
    pub name: String,
    /// What the counts are kept for: of vectors, the file.
    pub section: String,
    /// The group within it.
    pub group: String,
    /// What is special.
    pub title: String,
    /// The grade.
    pub grade: Grade,
    /// What it rests on: facts (`F-19`), requirements.
    pub spec: Vec<String>,
    /// What was seen, unless it passed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<Detail>,
    /// It went another way, as this target is known to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deviation: Option<Deviation>,
    /// The name of the fault, of those that clients are known for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fault: Option<String>,
    /// What the case may do to a live target.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hazard: Option<Hazard>,
}

/// Another way that a target is known to go.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Deviation {
    /// By which it is known: `F-72`.
    pub fact: String,
    /// What it does, in words.
    pub text: String,
}

/// What was seen in a case.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Detail {
    /// What the target was given.
    pub sent: Value,
    /// What should have come.
    pub expected: String,
    /// What came; null where nothing did.
    pub seen: Value,
    /// What is to say about it, a line each.
    pub found: Vec<String>,
}

/// The cases of a section, counted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Section {
    /// Its name.
    pub name: String,
    /// Its cases.
    pub counts: Counts,
}

/// That the target was lost on the way.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Lost {
    /// How.
    pub reason: String,
    /// How many cases were not tried for it.
    pub not_run: usize,
}

/// A whole run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Report {
    /// The version of this form: 1.
    pub format: u32,
    /// What was asked: `codec`.
    pub suite: String,
    /// Who was asked: the command line, or the endpoint.
    pub target: String,
    /// What the target says it is: `.NET 10.0.9`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub runtime: Option<String>,
    /// What it was held to: `coreclr-10`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile: Option<String>,
    /// Over all cases.
    pub counts: Counts,
    /// The same by section, in the order of the cases.
    pub sections: Vec<Section>,
    /// The cases, in the order of the run.
    pub cases: Vec<Case>,
    /// Where the run broke off.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lost: Option<Lost>,
    /// What there is to say that belongs to no case.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

impl Report {
    /// An empty report.
    pub fn new(suite: &str, target: &str) -> Self {
        Self {
            format: 1,
            suite: suite.to_owned(),
            target: target.to_owned(),
            runtime: None,
            profile: None,
            counts: Counts::default(),
            sections: Vec::new(),
            cases: Vec::new(),
            lost: None,
            notes: Vec::new(),
        }
    }

    /// Takes a case, and counts it.
    pub fn add(&mut self, case: Case) {
        self.counts.add(case.grade);
        if let Some(section) = self.sections.iter_mut().find(|section| section.name == case.section) {
            section.counts.add(case.grade);
        } else {
            let mut counts = Counts::default();
            counts.add(case.grade);
            self.sections.push(Section { name: case.section.clone(), counts });
        }
        self.cases.push(case);
    }

    /// The cases that failed.
    pub fn failures(&self) -> impl Iterator<Item = &Case> {
        self.cases.iter().filter(|case| case.grade == Grade::Fail)
    }
}
