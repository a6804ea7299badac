//! The types of bytes in the targets that accept any type of the vectors.

use std::sync::LazyLock;

use dotnet_diagnostics_ipc_vectors::{Direction, Type, TypedCodec};

use crate::embedded;

/// The type of a group of vectors, with its names in the line protocol.
#[derive(Clone, Debug)]
pub struct Asked {
    /// The type, and its command.
    pub subject: TypedCodec,
    /// The command by name.
    pub command: Option<String>,
    /// The sender.
    pub direction: Option<Direction>,
}

/// One of each; the first byte of an input chooses.
pub static SUBJECTS: LazyLock<Vec<Asked>> = LazyLock::new(|| {
    let mut subjects: Vec<Asked> = Vec::new();
    for group in embedded::vectors().unwrap_or_default().iter().flat_map(|one| &one.file.groups) {
        let Some(subject) = group.subject() else { continue };
        if subjects.iter().all(|known| known.subject != subject) {
            subjects.push(Asked {
                subject,
                command: group.command.clone(),
                direction: group.direction,
            });
        }
    }
    subjects
});

/// Those that `c/dotnet_ipc.h` has as well: whole messages, and what a client reads after a reply.
pub fn asked_of_c_header() -> impl Iterator<Item = &'static Asked> {
    use Type::{Advertise, Environment, Error, Reply, Request, StreamStart};
    SUBJECTS.iter().filter(|asked| {
        matches!(
            asked.subject.kind,
            Request | Reply | Error | Advertise | Environment | StreamStart
        )
    })
}

#[cfg(test)]
mod tests {
    #[test]
    fn subjects_fit_one_byte() {
        assert!((1..=256).contains(&super::SUBJECTS.len()));
    }
}
