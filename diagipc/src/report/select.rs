//! Which cases the patterns of a command line select.

use dotnet_diagnostics_ipc::command::Command;
use dotnet_diagnostics_ipc_vectors::Hazard;

use super::Level;
use crate::Glob;

/// A case that a suite can play.
///
/// ```
/// use diagipc::{Glob, Playable as _, codec, embedded};
///
/// let files = embedded::vectors()?;
/// let cases = codec::cases(&files);
/// let chosen = |pattern: &str| cases.iter().filter(|case| case.is_chosen(&Glob::new(pattern))).count();
/// assert!(chosen("rule:R-GRM-*") > 100 && chosen("fact:F-8") > 0);
/// assert_eq!(chosen("command:StopTracing"), chosen("command:EventPipe/StopTracing"));
/// assert_eq!(chosen("level:must") + chosen("level:should") + chosen("level:may"), cases.len());
/// # Ok::<(), dotnet_diagnostics_ipc_vectors::LoadError>(())
/// ```
pub trait Playable {
    /// Unique in the suite, and stable.
    fn name(&self) -> String;

    /// What selects it besides its name: its parts, its number, its type.
    fn words(&self) -> Vec<String>;

    /// Its facts and requirements.
    fn spec(&self) -> Vec<String>;

    /// The commands that it is about.
    fn commands(&self) -> Vec<Command>;

    /// Its effect on a live target.
    fn hazard(&self) -> Option<Hazard> {
        None
    }

    /// How strongly the document requires it.
    fn level(&self) -> Level {
        Level::of(&self.spec())
    }

    /// Whether a pattern selects it: by its name or one of its words, or, after `rule:`, `fact:`,
    /// `command:` or `level:`, by that.
    fn is_chosen(&self, glob: &Glob) -> bool {
        let cites = |id: &Glob, kinds: &[char]| {
            self.spec().iter().any(|one| one.starts_with(kinds) && id.matches(one))
        };
        match glob.kind() {
            Some(("rule", id)) => cites(&id, &['R']),
            Some(("fact", id)) => cites(&id, &['F', 'P']),
            Some(("command", name)) => self.commands().iter().any(|command| {
                let (full, code) = (command.to_string(), format!("{:#06x}", command.code()));
                name.matches(&full)
                    || name.matches(&code)
                    || full.rsplit('/').next().is_some_and(|last| name.matches(last))
            }),
            Some(("level", level)) => level.matches(self.level().name()),
            _ => glob.matches(&self.name()) || self.words().iter().any(|word| glob.matches(word)),
        }
    }
}
