//! Texts embedded at build time. `build.rs` packs them.
//!
//! ```
//! use diagipc::embedded;
//!
//! assert!(embedded::text(embedded::PACKAGE, "README.md").is_some_and(|text| text.contains("\n## Types\n")));
//! assert!(embedded::scripts()?.iter().any(|(name, file)| *name == "streams" && file.scripts.len() > 10));
//! # Ok::<(), dotnet_diagnostics_ipc_vectors::LoadError>(())
//! ```

pub mod corpus;

use std::panic::resume_unwind;
use std::sync::OnceLock;
use std::thread::{self, ScopedJoinHandle};

use dotnet_diagnostics_ipc_vectors::{File, LoadError, ScriptFile, parse, parse_scripts};

/// A compressed text.
#[derive(Debug)]
pub struct Text {
    packed: &'static [u8],
    /// The FNV-1a digest of the text, which is the same on every machine.
    pub digest: [u8; 8],
}

/// Texts by the names of their files.
pub type Texts = &'static [(&'static str, Text)];

/// A file of vectors.
#[derive(Clone, Debug)]
pub struct NamedFile {
    /// The name of the file without `.json`, such as `grammar`.
    pub name: String,
    /// The contents.
    pub file: File,
}

/// Includes an expression written by `build.rs`.
macro_rules! packed {
    ($file:literal) => {
        include!(concat!(env!("OUT_DIR"), "/", $file, ".rs"))
    };
}

/// The files of vectors.
pub static VECTORS: Texts = packed!("vectors");
/// The files of exchange scripts.
pub static SCRIPTS: Texts = packed!("scripts");
/// The other files of `vectors/`.
pub static PACKAGE: Texts = packed!("package");
/// The files of scenarios. `diagipc/clients/README.md` defines them.
pub static SCENARIOS: Texts = packed!("scenarios");
/// Files for testing other implementations.
pub static COMPANIONS: Texts = packed!("companions");

impl Text {
    /// Returns the text, which is decompressed on each call.
    pub fn unpacked(&self) -> String {
        // A text that cannot be read would be empty, which tests of its users would notice.
        let bytes = lz4_flex::decompress_size_prepended(self.packed).unwrap_or_default();
        String::from_utf8(bytes).unwrap_or_default()
    }
}

/// Returns the text of the file with this name.
pub fn text(files: Texts, name: &str) -> Option<String> {
    files.iter().find(|(file, _)| *file == name).map(|(_, text)| text.unpacked())
}

/// Returns the vectors, which are parsed once.
///
/// # Errors
/// No error occurs, because the embedded files are valid, as the crate's tests check.
pub fn vectors() -> Result<&'static [NamedFile], LoadError> {
    static FILES: OnceLock<Result<Vec<NamedFile>, LoadError>> = OnceLock::new();
    let parsed = |name: &str, text: &str| {
        let file = parse(name, text)?;
        Ok(NamedFile { name: name.trim_end_matches(".json").to_owned(), file })
    };
    FILES.get_or_init(|| read(VECTORS, parsed)).as_deref().map_err(Clone::clone)
}

/// Returns the exchange scripts by the names of their files without `.json`. They are parsed once.
///
/// # Errors
/// No error occurs, because the embedded files are valid, as the crate's tests check.
pub fn scripts() -> Result<&'static [(&'static str, ScriptFile)], LoadError> {
    static FILES: OnceLock<Result<Vec<(&str, ScriptFile)>, LoadError>> = OnceLock::new();
    let parsed = |name: &'static str, text: &str| {
        Ok((name.trim_end_matches(".json"), parse_scripts(name, text)?))
    };
    FILES.get_or_init(|| read(SCRIPTS, parsed)).as_deref().map_err(Clone::clone)
}

/// Applies a function to the name and text of each file. Each file has its own thread, because a
/// debug build takes a while.
pub(crate) fn read<T: Send, E: Send>(
    files: Texts,
    make: impl Fn(&'static str, &str) -> Result<T, E> + Sync,
) -> Result<Vec<T>, E> {
    let one = |(name, text): &'static (&'static str, Text)| make(name, &text.unpacked());
    thread::scope(|scope| {
        let begun: Vec<_> = files.iter().map(|file| scope.spawn(|| one(file))).collect();
        let ended = begun.into_iter().map(ScopedJoinHandle::join);
        ended.map(|made| made.unwrap_or_else(|panic| resume_unwind(panic))).collect()
    })
}
