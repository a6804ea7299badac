//! The texts of the program, as of the build. `build.rs` packs them.
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

/// A packed text.
#[derive(Debug)]
pub struct Text {
    packed: &'static [u8],
    /// A digest of the text by FNV-1a: the same on every machine.
    pub digest: [u8; 8],
}

/// Texts of files by name.
pub type Texts = &'static [(&'static str, Text)];

/// A file of vectors and its name without `.json`.
#[derive(Clone, Debug)]
pub struct NamedFile {
    /// `grammar`.
    pub name: String,
    /// The contents.
    pub file: File,
}

/// The expression that `build.rs` wrote.
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
/// What is about testing others.
pub static COMPANIONS: Texts = packed!("companions");

impl Text {
    /// The text. Each call unpacks it.
    pub fn unpacked(&self) -> String {
        // An unreadable text would be empty; the tests of what reads them find that.
        let bytes = lz4_flex::decompress_size_prepended(self.packed).unwrap_or_default();
        String::from_utf8(bytes).unwrap_or_default()
    }
}

/// The text of the file of this name.
pub fn text(files: Texts, name: &str) -> Option<String> {
    files.iter().find(|(file, _)| *file == name).map(|(_, text)| text.unpacked())
}

/// The vectors, which are parsed once.
///
/// # Errors
/// The texts in the program are valid, as the crate's tests check, so no error occurs.
pub fn vectors() -> Result<&'static [NamedFile], LoadError> {
    static FILES: OnceLock<Result<Vec<NamedFile>, LoadError>> = OnceLock::new();
    let parsed = |name: &str, text: &str| {
        let file = parse(name, text)?;
        Ok(NamedFile { name: name.trim_end_matches(".json").to_owned(), file })
    };
    FILES.get_or_init(|| read(VECTORS, parsed)).as_deref().map_err(Clone::clone)
}

/// The exchange scripts by the names of their files, without `.json`. They are parsed once.
///
/// # Errors
/// The texts in the program are valid, as the crate's tests check, so no error occurs.
pub fn scripts() -> Result<&'static [(&'static str, ScriptFile)], LoadError> {
    static FILES: OnceLock<Result<Vec<(&str, ScriptFile)>, LoadError>> = OnceLock::new();
    let parsed = |name: &'static str, text: &str| {
        Ok((name.trim_end_matches(".json"), parse_scripts(name, text)?))
    };
    FILES.get_or_init(|| read(SCRIPTS, parsed)).as_deref().map_err(Clone::clone)
}

/// What is made of the name and text of each file. A debug build needs a while for it, so each file
/// has a thread.
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
