//! The files of a target started by the player.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::PathBuf;

use dotnet_diagnostics_ipc::vectors::player::PlayerError;

use super::NOT_OURS;

/// The files in the target's own current directory.
#[derive(Default)]
pub(super) struct FilesOfTarget {
    /// That directory, if it has one.
    pub(super) directory: Option<PathBuf>,
}

impl FilesOfTarget {
    /// The first bytes of a file, at most `most`; `None` if it does not exist.
    pub(super) fn first_bytes(
        &self,
        name: &str,
        most: usize,
    ) -> Result<Option<Vec<u8>>, PlayerError> {
        let Some(directory) = &self.directory else {
            return Err(PlayerError::Unavailable(NOT_OURS.to_owned()));
        };
        let mut bytes = Vec::new();
        let read = File::open(directory.join(name))
            .and_then(|file| file.take(most as u64).read_to_end(&mut bytes));
        match read {
            Ok(_) => Ok(Some(bytes)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(PlayerError::differs(format!("reading {name}: {error}"))),
        }
    }
}
