//! Which requirements of `spec/requirements.toml` something shows.

use serde::Deserialize;

#[derive(Deserialize)]
struct File {
    requirement: Vec<Requirement>,
}

#[derive(Deserialize)]
struct Requirement {
    id: String,
    shown_by: Vec<String>,
}

/// How many requirements there are, and how many of them a vector or test shows.
pub(crate) struct Coverage {
    all: usize,
    unshown: Vec<String>,
}

impl Coverage {
    pub(crate) fn read() -> anyhow::Result<Self> {
        let file: File = toml::from_str(include_str!("../../../spec/requirements.toml"))?;
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
