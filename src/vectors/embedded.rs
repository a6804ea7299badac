//! The files of `vectors/` as of the build.

use alloc::{
    string::{String, ToString as _},
    vec::Vec,
};
use core::fmt;

use super::File;

macro_rules! embedded {
    ($($name:literal),* $(,)?) => {
        /// Name and text of each file.
        pub static EMBEDDED: &[(&str, &str)] =
            &[$(($name, include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/vectors/", $name)))),*];
    };
}

embedded! {
    "grammar.json",
    "header.json",
    "tables.json",
    "dump.json",
    "eventpipe.json",
    "eventpipe5.json",
    "profiler.json",
    "process.json",
    "server.json",
    "continuation.json",
    "legacy.json",
    "user_events.json",
    "ports.json",
    "endpoints.json",
    "runtime-net3.0.3.json",
    "runtime-net3.1.23.json",
    "runtime-net8.0.30.json",
    "runtime-net9.0.5.json",
    "runtime-net10.0.9.json",
    "runtime-net10.0.12.json",
    "runtime-aot8.0.31.json",
    "runtime-aot9.0.20.json",
    "runtime-windows.json",
    "runtime-windows6.0.13.json",
}

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
    EMBEDDED.iter().map(|(name, text)| parse(name, text)).collect()
}

/// Reads the text of a file called `name`.
///
/// # Errors
/// If it is not JSON, or has keys that `vectors/README.md` does not define.
pub fn parse(name: &str, text: &str) -> Result<File, LoadError> {
    serde_json::from_str(text).map_err(|error| LoadError::new(name, error.to_string()))
}
