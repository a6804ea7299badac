//! Compares the texts of all errors of a package with a file for review, which has a line `kind |
//! text` for every kind.

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
            // A part without lines, because its feature is off, stays as it is.
            let is_absent = lines.is_empty() && name == "io";
            let lines = if is_absent { part(&file, name).join("\n") } else { lines.join("\n") };
            format!("# {name}\n\n{lines}\n")
        });
        assert_file(self.path(), &texts.join("\n"), self.renewed_by);
    }

    /// The variants of every public enum that is printed, from the source: the file must have all
    /// of them. Returns how many there are.
    pub(crate) fn has_every_kind_of(&self, source: &str, left_out: &[&str]) -> usize {
        let file = fs::read_to_string(self.path()).unwrap();
        let mut directories = vec![Path::new(self.root).join(source)];
        let (mut kinds, mut missing) = (0, Vec::new());
        while let Some(directory) = directories.pop() {
            for entry in fs::read_dir(directory).unwrap() {
                let path = entry.unwrap().path();
                let name = path.file_name().unwrap().to_str().unwrap();
                if path.is_dir() && !left_out.contains(&name) {
                    directories.push(path);
                } else if path.extension().is_some_and(|extension| extension == "rs") {
                    for kind in printed_kinds(&fs::read_to_string(&path).unwrap()) {
                        kinds += 1;
                        if !file.lines().any(|line| {
                            line.strip_prefix(&kind)
                                .is_some_and(|rest| rest.starts_with([' ', '(']))
                        }) {
                            missing.push(kind);
                        }
                    }
                }
            }
        }
        assert!(
            missing.is_empty(),
            "{} lacks these kinds: add them to its test, then run `DIAG_UPDATE=1 cargo test {}`: {missing:#?}",
            self.path().display(),
            self.renewed_by
        );
        kinds
    }
}

/// The lines of a part of the file.
fn part<'f>(file: &'f str, name: &str) -> Vec<&'f str> {
    let lines = file.lines().skip_while(|line| *line != format!("# {name}")).skip(1);
    lines.take_while(|line| !line.starts_with("# ")).filter(|line| !line.is_empty()).collect()
}

/// `Enum::Variant` for each enum of a file that has a `Display` there.
fn printed_kinds(source: &str) -> Vec<String> {
    let syn::File { items, .. } = syn::parse_file(source).unwrap();
    let mut printed = Vec::new();
    for item in &items {
        let syn::Item::Impl(syn::ItemImpl { trait_: Some((_, path, _)), self_ty, .. }) = item
        else {
            continue;
        };
        if let (true, syn::Type::Path(of)) =
            (path.segments.last().unwrap().ident == "Display", &**self_ty)
        {
            printed.push(&of.path.segments.last().unwrap().ident);
        }
    }
    let mut kinds = Vec::new();
    for item in &items {
        if let syn::Item::Macro(item) = item {
            if item.mac.path.is_ident("reasons") {
                kinds.extend(item.mac.parse_body_with(reasons).unwrap());
            }
        }
        let syn::Item::Enum(item) = item else { continue };
        if matches!(item.vis, syn::Visibility::Public(_)) && printed.contains(&&item.ident) {
            kinds.extend(
                item.variants.iter().map(|variant| format!("{}::{}", item.ident, variant.ident)),
            );
        }
    }
    kinds
}

/// `Enum::Variant` for each line of the macro `reasons`, which also writes a `Display`.
fn reasons(input: syn::parse::ParseStream<'_>) -> syn::Result<Vec<String>> {
    syn::Attribute::parse_outer(input)?;
    let _: (syn::Visibility, syn::Token![enum]) = (input.parse()?, input.parse()?);
    let name: syn::Ident = input.parse()?;
    let lines;
    syn::braced!(lines in input);
    let mut kinds = Vec::new();
    while !lines.is_empty() {
        let variant: syn::Variant = lines.parse()?;
        kinds.push(format!("{name}::{}", variant.ident));
        for _ in 0..2 {
            let _: (syn::Token![,], syn::LitStr) = (lines.parse()?, lines.parse()?);
        }
        lines.parse::<syn::Token![;]>()?;
    }
    Ok(kinds)
}
