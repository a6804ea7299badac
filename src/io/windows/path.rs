//! The path of a pipe, as passed to the system.
#![forbid(unsafe_code)]

use std::io;
use std::string::String;
use std::vec::Vec;

use crate::endpoint::PIPE_PREFIX;

/// The longest path in units, by the documentation of `CreateNamedPipeW`.
const MOST: usize = 256;

/// The path of a pipe on this machine: UTF-16 with one NUL, which is its last unit.
///
/// `units` is private to this file, since the calls of [`handle`](super::handle) rely on the NUL.
#[derive(Clone, Debug)]
pub(in crate::io) struct PipePath {
    units: Vec<u16>,
    text: String,
}

impl PipePath {
    /// The path of a name, with or without `\\.\pipe\`.
    ///
    /// # Errors
    /// `InvalidInput` for text that cannot be the name of a pipe on this machine.
    pub(in crate::io) fn new(name: &str) -> io::Result<Self> {
        let rest = stripped(name);
        let fault = if rest.is_empty() {
            "the pipe name is empty"
        } else if rest.contains('\0') {
            "the pipe name contains a NUL"
        } else if rest.starts_with('\\') {
            // `\\server\pipe\name` is a pipe on another machine.
            "not the name of a pipe on this machine"
        } else {
            let text = std::format!("{PIPE_PREFIX}{rest}");
            let mut units: Vec<u16> = text.encode_utf16().collect();
            if units.len() <= MOST {
                units.push(0);
                return Ok(Self { units, text });
            }
            "the pipe name is longer than 256 units"
        };
        Err(io::Error::new(io::ErrorKind::InvalidInput, fault))
    }

    /// The path, with its NUL.
    pub(in crate::io) fn units(&self) -> &[u16] {
        &self.units
    }

    /// The path, for display.
    pub(in crate::io) fn text(&self) -> &str {
        &self.text
    }
}

/// Windows accepts either case here.
fn stripped(name: &str) -> &str {
    match name.split_at_checked(PIPE_PREFIX.len()) {
        Some((prefix, rest)) if prefix.eq_ignore_ascii_case(PIPE_PREFIX) => rest,
        _ => name,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pipe_path_with_and_without_prefix_is_equal() {
        for name in [
            "dotnet-diagnostic-12",
            r"\\.\pipe\dotnet-diagnostic-12",
            r"\\.\PIPE\dotnet-diagnostic-12",
        ] {
            let path = PipePath::new(name).unwrap();
            assert_eq!(path.text(), r"\\.\pipe\dotnet-diagnostic-12");
            assert_eq!(path.units().iter().position(|unit| *unit == 0), Some(29));
            assert_eq!(path.units().len(), 30);
        }
    }

    #[test]
    fn pipe_path_invalid_name_is_refused() {
        let longest = "é".repeat(247);
        assert_eq!(PipePath::new(&longest).unwrap().units().len(), 257);
        for name in
            ["", r"\\.\pipe\", "a\0b", r"\\server\pipe\name", r"\\?\pipe\name", &(longest + "a")]
        {
            assert_eq!(
                PipePath::new(name).unwrap_err().kind(),
                io::ErrorKind::InvalidInput,
                "{name}"
            );
        }
    }
}
