//! Reads the files of `vectors/`.

use alloc::{
    string::{String, ToString as _},
    vec::Vec,
};
use core::fmt;

use super::File;
use crate::documents::VECTORS;

/// A file that is not vectors, or not exchange scripts.
#[derive(Clone, Debug)]
pub struct LoadError {
    name: String,
    message: String,
}

impl LoadError {
    pub(super) fn new(name: &str, message: String) -> Self {
        Self { name: name.into(), message }
    }
}

impl fmt::Display for LoadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.name, self.message)
    }
}

impl core::error::Error for LoadError {}

/// The files embedded in the crate.
///
/// # Errors
/// None, as the crate's tests check; the type leaves that to the caller.
pub fn files() -> Result<Vec<File>, LoadError> {
    VECTORS.iter().map(|(name, text)| parse(name, text)).collect()
}

/// Reads the text of a file called `name`.
///
/// # Errors
/// If it is not JSON, or has keys that `vectors/README.md` does not define.
pub fn parse(name: &str, text: &str) -> Result<File, LoadError> {
    serde_json::from_str(text).map_err(|error| LoadError::new(name, error.to_string()))
}
