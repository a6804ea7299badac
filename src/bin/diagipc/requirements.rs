//! Which requirements of `spec/requirements.toml` something shows.

use std::collections::BTreeMap;
use std::io::Write;

use serde::Deserialize;

use crate::check::table;

#[derive(Deserialize)]
struct File {
    requirement: Vec<Requirement>,
}

#[derive(Deserialize)]
struct Requirement {
    id: String,
    shown_by: Vec<String>,
}

/// How many requirements there are, by area, and how many of them a vector or test shows.
pub(crate) struct Coverage {
    areas: BTreeMap<String, (usize, usize)>,
    unshown: Vec<String>,
}

impl Coverage {
    pub(crate) fn read() -> anyhow::Result<Self> {
        let file: File = toml::from_str(include_str!("../../../spec/requirements.toml"))?;
        let mut coverage = Self { areas: BTreeMap::new(), unshown: Vec::new() };
        for Requirement { id, shown_by } in file.requirement {
            let area = id.split('-').nth(1).unwrap_or_default().to_owned();
            let (all, shown) = coverage.areas.entry(area).or_default();
            *all = all.saturating_add(1);
            if shown_by.is_empty() {
                coverage.unshown.push(id);
            } else {
                *shown = shown.saturating_add(1);
            }
        }
        Ok(coverage)
    }

    pub(crate) fn all(&self) -> usize {
        self.areas.values().map(|(all, _)| all).sum()
    }

    pub(crate) fn shown(&self) -> usize {
        self.all().saturating_sub(self.unshown.len())
    }

    pub(crate) fn unshown(&self) -> &[String] {
        &self.unshown
    }

    pub(crate) fn write(&self, out: &mut dyn Write) -> anyhow::Result<()> {
        let mut areas = table(["area", "requirements", "shown"]);
        for (area, (all, shown)) in &self.areas {
            areas.add_row([area, &all.to_string(), &shown.to_string()]);
        }
        writeln!(out, "\n{areas}\n\n{} requirements, {} of them shown by a vector or a test", self.all(), self.shown())?;
        if !self.unshown.is_empty() {
            writeln!(out, "not shown yet: {}", self.unshown.join(", "))?;
        }
        Ok(())
    }
}
