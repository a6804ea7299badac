//! The requirements of `spec/requirements.toml`, and which of them something shows.

use serde::Deserialize;

/// All of them.
#[derive(Deserialize)]
pub(crate) struct Requirements {
    requirement: Vec<Requirement>,
}

/// One sentence of the document, in our words.
#[derive(Deserialize)]
pub(crate) struct Requirement {
    id: String,
    pub(crate) level: String,
    pub(crate) edition: Vec<String>,
    pub(crate) section: String,
    #[serde(default)]
    pub(crate) fact: Vec<String>,
    pub(crate) shown_by: Vec<String>,
}

impl Requirements {
    pub(crate) fn read() -> anyhow::Result<Self> {
        Ok(toml::from_str(include_str!("../../../spec/requirements.toml"))?)
    }

    pub(crate) fn get(&self, id: &str) -> Option<&Requirement> {
        self.requirement.iter().find(|one| one.id == id)
    }

    /// Those that a fact differs from.
    pub(crate) fn of_fact(&self, fact: &str) -> Vec<&str> {
        let differs = |one: &&Requirement| one.fact.iter().any(|other| other == fact);
        self.requirement.iter().filter(differs).map(|one| one.id.as_str()).collect()
    }
}

/// How many requirements there are, and how many of them a vector or test shows.
pub(crate) struct Coverage {
    all: usize,
    unshown: Vec<String>,
}

impl Coverage {
    pub(crate) fn read() -> anyhow::Result<Self> {
        let file = Requirements::read()?;
        let all = file.requirement.len();
        let unshown = file.requirement.into_iter().filter(|one| one.shown_by.is_empty()).map(|one| one.id).collect();
        Ok(Self { all, unshown })
    }

    /// A line about it.
    pub(crate) fn line(&self) -> String {
        let shown = self.all.saturating_sub(self.unshown.len());
        let unshown = if self.unshown.is_empty() { String::new() } else { format!("; not shown yet: {}", self.unshown.join(", ")) };
        format!("{} requirements, {shown} of them shown by a vector or a test{unshown}", self.all)
    }
}
