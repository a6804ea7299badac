//! What bytes are read as in the targets that take any type of the vectors.

use alloc::{string::String, vec::Vec};
use std::sync::LazyLock;

use crate::vectors::{self, Direction, Subject};

/// What a group of the vectors is read as, and its names in the line protocol.
#[derive(Clone, Debug)]
pub struct Asked {
    /// The type, and the command that it belongs to.
    pub subject: Subject,
    /// The command by name.
    pub command: Option<String>,
    /// Who sends it.
    pub direction: Option<Direction>,
}

/// One of each; the first byte of an input chooses.
pub static SUBJECTS: LazyLock<Vec<Asked>> = LazyLock::new(|| {
    let mut subjects: Vec<Asked> = Vec::new();
    for group in vectors::files().unwrap_or_default().iter().flat_map(|file| &file.groups) {
        let Some(subject) = group.subject() else { continue };
        if subjects.iter().all(|known| known.subject != subject) {
            subjects.push(Asked { subject, command: group.command.clone(), direction: group.direction });
        }
    }
    subjects
});

#[cfg(test)]
mod tests {
    #[test]
    fn byte_chooses_any_of_them() {
        assert!((1..=256).contains(&super::SUBJECTS.len()));
    }
}
