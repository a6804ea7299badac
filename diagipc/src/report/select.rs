//! Selects cases by the patterns of a command line.

use dotnet_diagnostics_ipc::command::Command;
use dotnet_diagnostics_ipc_vectors::Hazard;

use super::Level;

/// A case that a suite can play, as far as patterns can select it.
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
    /// Returns the name, which is unique in the suite and stable.
    fn name(&self) -> String;

    /// Returns other words that select it, such as its parts, its number or its type.
    fn words(&self) -> Vec<String>;

    /// Returns the facts and requirements that it is based on.
    fn spec(&self) -> Vec<String>;

    /// Returns the commands that it tests.
    fn commands(&self) -> Vec<Command>;

    /// Returns the effect on a live target.
    fn hazard(&self) -> Option<Hazard> {
        None
    }

    /// Returns how strongly the document requires it.
    fn level(&self) -> Level {
        Level::of(&self.spec())
    }

    /// Whether a pattern selects it by its name or one of its words, or by what `rule:`, `fact:`,
    /// `command:` or `level:` names.
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

/// A pattern for names. `*` is any text, even with slashes, and `?` is one byte.
///
/// ```
/// use diagipc::Glob;
///
/// assert!(Glob::new("grammar/*/decode").matches("grammar/grammar-string/1/decode"));
/// assert!(!Glob::new("grammar").matches("grammar/grammar-string"));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Glob(String);

impl Glob {
    /// Returns a pattern with this text.
    pub fn new(pattern: impl Into<String>) -> Self {
        Self(pattern.into())
    }

    /// Returns the word before the first colon and the pattern after it, as in `rule:R-EVP-*`.
    pub fn kind(&self) -> Option<(&str, Self)> {
        self.0.split_once(':').map(|(kind, rest)| (kind, Self::new(rest)))
    }

    /// Whether the pattern matches all of `text`.
    pub fn matches(&self, text: &str) -> bool {
        let (mut pattern, mut rest) = (self.0.as_bytes(), text.as_bytes());
        // The pattern after the last star, and the text at the earliest end of that star's match.
        let mut star: Option<(&[u8], &[u8])> = None;
        loop {
            match (pattern.split_first(), rest.split_first()) {
                (Some((b'*', behind)), _) => {
                    star = Some((behind, rest));
                    pattern = behind;
                }
                (Some((wanted, behind)), Some((byte, more)))
                    if *wanted == b'?' || wanted == byte =>
                {
                    (pattern, rest) = (behind, more);
                }
                (None, None) => return true,
                _ => {
                    // Extend the star's match by one byte.
                    let Some((behind, (_, more))) =
                        star.and_then(|(behind, from)| Some((behind, from.split_first()?)))
                    else {
                        return false;
                    };
                    star = Some((behind, more));
                    (pattern, rest) = (behind, more);
                }
            }
        }
    }
}

impl std::fmt::Display for Glob {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::Glob;

    #[test]
    fn star_matches_any_text_and_question_mark_one_byte() {
        for (pattern, text, expected) in [
            ("", "", true),
            ("", "a", false),
            ("*", "", true),
            ("*", "a/b", true),
            ("a*c", "abbc", true),
            ("a*c", "abbcd", false),
            ("*b*b", "abab", true),
            ("*bc", "abbc", true),
            ("a?c", "abc", true),
            ("a?c", "ac", false),
            ("a?", "a", false),
            ("**a**", "xay", true),
            ("array<byte>", "array<byte>", true),
        ] {
            assert_eq!(Glob::new(pattern).matches(text), expected, "{pattern} {text}");
        }
    }

    #[test]
    fn many_stars_match_in_bounded_time() {
        assert!(!Glob::new("*a".repeat(100)).matches(&"a".repeat(99)));
        assert!(Glob::new("*a".repeat(100)).matches(&"a".repeat(10_000)));
    }
}
