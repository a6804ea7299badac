//! The cases that cannot be played here, and why.

use super::ServerCase;

/// The names of the cases by reason, in order of appearance.
#[derive(Default)]
pub(super) struct LeftOut(Vec<(String, Vec<String>)>);

impl LeftOut {
    /// Adds a case that cannot be played here, for this reason.
    pub(super) fn push(&mut self, case: &ServerCase<'_>, why: String) {
        match self.0.iter_mut().find(|(reason, _)| *reason == why) {
            Some((_, cases)) => cases.push(case.name()),
            None => self.0.push((why, vec![case.name()])),
        }
    }

    /// A line for each reason.
    pub(super) fn notes(&self) -> impl Iterator<Item = String> {
        self.0.iter().map(|(why, cases)| {
            let s = if cases.len() == 1 { "" } else { "s" };
            format!("{} case{s} cannot be played here: {why}: {}", cases.len(), cases.join(", "))
        })
    }
}
