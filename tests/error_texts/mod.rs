//! The texts of all errors of a package, for review: a file with a line for every kind, `kind |
//! text`.

use std::any::type_name;
use std::fmt::{Debug, Display};
use std::fs;
use std::path::{Path, PathBuf};

use crate::snapshot::assert_file;

/// Lines of the file, as the code has them now.
#[derive(Default)]
pub(crate) struct Texts(Vec<String>);

impl Texts {
    pub(crate) const fn new() -> Self {
        Self(Vec::new())
    }

    pub(crate) fn add<T: Debug + Display>(&mut self, error: T) {
        let path = type_name::<T>();
        let path = path.split('<').next().unwrap();
        let name = path.rsplit("::").next().unwrap();
        let kind = format!("{error:?}");
        let kind = if kind.starts_with(name) { kind } else { format!("{name}::{kind}") };
        self.0.push(format!("{kind} | {error}"));
    }

    pub(crate) fn all<T: Debug + Display>(&mut self, errors: impl IntoIterator<Item = T>) {
        errors.into_iter().for_each(|error| self.add(error));
    }
}

/// A file below the directory of a package.
pub(crate) struct Snapshot {
    pub(crate) root: &'static str,
    pub(crate) file: &'static str,
    /// The arguments of `cargo test` that renew it.
    pub(crate) renewed_by: &'static str,
}

impl Snapshot {
    fn path(&self) -> PathBuf {
        Path::new(self.root).join(self.file)
    }

    /// Compares the parts of the file, by their headings.
    #[track_caller]
    pub(crate) fn equals<const N: usize>(&self, parts: [(&str, Texts); N]) {
        let file = fs::read_to_string(self.path()).unwrap();
        let texts = parts.map(|(name, Texts(lines))| {
            // Without its feature a part has no lines: it stays as it is.
            let is_absent = lines.is_empty() && name == "io";
            let lines = if is_absent { part(&file, name).join("\n") } else { lines.join("\n") };
            format!("# {name}\n\n{lines}\n")
        });
        assert_file(self.path(), &texts.join("\n"), self.renewed_by);
    }
}

/// The lines of a part of the file.
fn part<'f>(file: &'f str, name: &str) -> Vec<&'f str> {
    let lines = file.lines().skip_while(|line| *line != format!("# {name}")).skip(1);
    lines.take_while(|line| !line.starts_with("# ")).filter(|line| !line.is_empty()).collect()
}
