//! Checks which modules may use which, and that files have no import cycles.
//!
//! Reads every file of `src/`: its `use` lines, and the paths `crate::…` elsewhere in its code and
//! in its macros. A name that a module re-exports counts as use of the file that defines it. Tests
//! inside `src/` are not checked, nor is `pub use`, which is a module's table of contents.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use proc_macro2::{TokenStream, TokenTree};
use syn::visit::Visit;

/// The floors of a package, lowest first. A file uses its own floor and those below it.
pub(crate) struct Floors {
    /// The directory of the package.
    pub(crate) root: &'static str,
    pub(crate) floors: &'static [&'static [&'static str]],
}

impl Floors {
    /// The files of the package, which are read once.
    fn files(&self) -> &'static [File] {
        static FILES: OnceLock<Vec<File>> = OnceLock::new();
        FILES.get_or_init(|| read(Path::new(self.root)))
    }

    pub(crate) fn imports_point_downwards(&self) {
        let files = self.files();
        let mut wrong = String::new();
        assert!(edges(files).len() > files.len(), "the imports were not understood");
        for (from, to) in edges(files) {
            let [above, below] = [from, to].map(|file| floor(self.floors, &files[file].module));
            if below > above {
                writeln!(wrong, "{} uses {}", files[from].path.display(), files[to].path.display())
                    .unwrap();
            }
        }
        assert!(
            wrong.is_empty(),
            "these files use a higher floor (the order is in tests/architecture.rs):\n{wrong}"
        );
    }

    pub(crate) fn files_have_no_import_cycles(&self) {
        let files = self.files();
        let mut wrong = String::new();
        for circle in circles(files.len(), &edges(files)) {
            let names: Vec<_> =
                circle.iter().map(|&file| files[file].path.display().to_string()).collect();
            writeln!(wrong, "{}", names.join(" -> ")).unwrap();
        }
        assert!(
            wrong.is_empty(),
            "each of these files uses the next one, and the last one the first:\n{wrong}"
        );
    }

    pub(crate) fn every_module_has_a_floor(&self) {
        let files = self.files();
        let modules: BTreeSet<_> =
            files.iter().filter_map(|file| file.module.first()).map(String::as_str).collect();
        let ordered: BTreeSet<_> = self.floors.concat().into_iter().collect();
        assert_eq!(modules, ordered);
    }
}

/// A module's path from the root, such as `["wire", "reader"]`.
type Module = Vec<String>;

/// One file: its module, what it uses, and what it re-exports.
struct File {
    path: PathBuf,
    module: Module,
    uses: Vec<Vec<String>>,
    /// By the name under which it is exported.
    exports: BTreeMap<String, Vec<String>>,
}

/// The files of `src/`, with what they name.
fn read(root: &Path) -> Vec<File> {
    let mut files = Vec::new();
    let mut directories = vec![root.join("src")];
    while let Some(directory) = directories.pop() {
        for entry in std::fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                directories.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs")
                && !path.file_stem().unwrap().to_str().unwrap().ends_with("tests")
            {
                let text = std::fs::read_to_string(&path).unwrap();
                let parsed = syn::parse_file(&text).unwrap();
                let path = path.strip_prefix(root).unwrap().to_path_buf();
                files.push(file(path.clone(), module(&path), &parsed));
            }
        }
    }
    files.sort_by(|one, other| one.path.cmp(&other.path));
    assert!(files.len() > 50, "only {} files were found", files.len());
    files
}

/// `src/wire/reader.rs` is `wire::reader`.
fn module(path: &Path) -> Module {
    let names = path
        .with_extension("")
        .components()
        .skip(1)
        .map(|name| name.as_os_str().to_str().unwrap().to_owned())
        .collect();
    let mut names: Module = names;
    if names.last().is_some_and(|last| last == "mod" || (last == "lib" && names.len() == 1)) {
        names.pop();
    }
    names
}

fn floor(floors: &[&[&str]], module: &Module) -> usize {
    // The root only names modules.
    let Some(name) = module.first() else { return floors.len() };
    floors
        .iter()
        .position(|floor| floor.contains(&name.as_str()))
        .unwrap_or_else(|| panic!("{name} is on no floor"))
}

fn file(path: PathBuf, module: Module, parsed: &syn::File) -> File {
    let mut paths = Paths { inside: Vec::new(), uses: Vec::new(), exports: Vec::new() };
    if !is_test(&parsed.attrs) {
        paths.visit_file(parsed);
    }
    let absolute = |(inside, names): (Vec<String>, Vec<String>)| {
        absolute(&[module.clone(), inside].concat(), &names)
    };
    let exports = paths
        .exports
        .into_iter()
        .filter_map(|(name, inside, names)| Some((name, absolute((inside, names))?)))
        .collect();
    File { path, uses: paths.uses.into_iter().filter_map(absolute).collect(), exports, module }
}

/// A path from the root of the crate; `None` if it is of another one.
fn absolute(module: &[String], names: &[String]) -> Option<Vec<String>> {
    let rest = |n: usize| names.get(n..).unwrap_or_default();
    let (base, rest) = match names.first()?.as_str() {
        // `diagipc`: the tool's library, from its program.
        "crate" | "diagipc" => (&[][..], rest(1)),
        "self" => (module, rest(1)),
        "super" => {
            let up = names.iter().take_while(|name| *name == "super").count();
            (&module[..module.len().checked_sub(up)?], rest(up))
        }
        // Of this module or another crate: what is not a file is dropped later.
        _ => (module, names),
    };
    Some([base, rest].concat())
}

#[derive(Default)]
struct Paths {
    /// The modules inside the file that the visitor is in.
    inside: Vec<String>,
    uses: Vec<(Vec<String>, Vec<String>)>,
    exports: Vec<(String, Vec<String>, Vec<String>)>,
}

impl Paths {
    fn tree(&mut self, tree: &syn::UseTree, before: &[String], exported: bool) {
        let mut take = |name: String, alias: String| {
            let names = if name == "self" { before.to_vec() } else { [before, &[name]].concat() };
            if exported {
                self.exports.push((alias, self.inside.clone(), names));
            } else {
                self.uses.push((self.inside.clone(), names));
            }
        };
        match tree {
            syn::UseTree::Path(path) => {
                self.tree(&path.tree, &[before, &[path.ident.to_string()]].concat(), exported);
            }
            syn::UseTree::Group(group) => {
                group.items.iter().for_each(|tree| self.tree(tree, before, exported));
            }
            syn::UseTree::Name(name) => take(name.ident.to_string(), name.ident.to_string()),
            syn::UseTree::Rename(rename) => {
                take(rename.ident.to_string(), rename.rename.to_string());
            }
            syn::UseTree::Glob(_) => take("self".into(), "*".into()),
        }
    }

    /// Every `crate::…` of the tokens of a macro, or of its definition.
    fn tokens(&mut self, tokens: TokenStream) {
        let tokens: Vec<_> = tokens.into_iter().collect();
        for (at, token) in tokens.iter().enumerate() {
            match token {
                TokenTree::Group(group) => self.tokens(group.stream()),
                TokenTree::Ident(ident) if ident == "crate" => {
                    let mut names = vec![String::from("crate")];
                    let mut rest = &tokens[at + 1..];
                    while let [
                        TokenTree::Punct(one),
                        TokenTree::Punct(two),
                        TokenTree::Ident(name),
                        more @ ..,
                    ] = rest
                    {
                        if (one.as_char(), two.as_char()) != (':', ':') {
                            break;
                        }
                        names.push(name.to_string());
                        rest = more;
                    }
                    self.uses.push((self.inside.clone(), names));
                }
                _ => {}
            }
        }
    }
}

fn is_test(attributes: &[syn::Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        attribute.path().is_ident("cfg")
            && attribute.parse_args::<syn::Path>().is_ok_and(|path| path.is_ident("test"))
    })
}

impl<'ast> Visit<'ast> for Paths {
    fn visit_item_mod(&mut self, item: &'ast syn::ItemMod) {
        if !is_test(&item.attrs) {
            self.inside.push(item.ident.to_string());
            syn::visit::visit_item_mod(self, item);
            self.inside.pop();
        }
    }

    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        if !is_test(&item.attrs) {
            self.tree(&item.tree, &[], !matches!(item.vis, syn::Visibility::Inherited));
        }
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        let names: Vec<_> = path.segments.iter().map(|segment| segment.ident.to_string()).collect();
        if matches!(names.first().map(String::as_str), Some("crate" | "super" | "self"))
            && names.len() > 1
        {
            self.uses.push((self.inside.clone(), names));
        }
        syn::visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, item: &'ast syn::Macro) {
        self.tokens(item.tokens.clone());
    }
}

/// Finds which file uses which.
fn edges(files: &[File]) -> BTreeSet<(usize, usize)> {
    let by_module: BTreeMap<_, _> =
        files.iter().enumerate().map(|(nth, file)| (&file.module[..], nth)).collect();
    let mut edges = BTreeSet::new();
    for (from, file) in files.iter().enumerate() {
        for names in &file.uses {
            if let Some(to) = defined_in(files, &by_module, names).filter(|to| *to != from) {
                edges.insert((from, to));
            }
        }
    }
    edges
}

/// The file that defines what the path names.
fn defined_in(
    files: &[File],
    by_module: &BTreeMap<&[String], usize>,
    names: &[String],
) -> Option<usize> {
    let mut names = names.to_vec();
    // A re-export may lead to another one.
    for _ in 0..8 {
        let len = (1..=names.len()).rev().find(|len| by_module.contains_key(&names[..*len]))?;
        let file = by_module[&names[..len]];
        let exported = names.get(len).and_then(|name| files[file].exports.get(name));
        // A macro is exported from where it is defined.
        let Some(next) = exported.filter(|next| **next != names[..=len]) else { return Some(file) };
        names = [next, names.get(len + 1..).unwrap_or_default()].concat();
    }
    panic!("{names:?} is re-exported in a circle");
}

/// One path around each cycle.
fn circles(len: usize, edges: &BTreeSet<(usize, usize)>) -> Vec<Vec<usize>> {
    let reach = |from: usize| {
        let (mut before, mut open) = (BTreeMap::new(), vec![from]);
        while let Some(file) = open.pop() {
            for &(_, next) in edges.range((file, 0)..=(file, len)) {
                before.entry(next).or_insert_with(|| {
                    open.push(next);
                    file
                });
            }
        }
        before
    };
    let (mut seen, mut found) = (BTreeSet::<usize>::new(), Vec::new());
    for start in 0..len {
        let before = reach(start);
        if seen.contains(&start) || !before.contains_key(&start) {
            continue;
        }
        let mut circle = vec![start];
        let mut at = before[&start];
        while at != start {
            circle.push(at);
            at = before[&at];
        }
        circle.reverse();
        seen.extend(before.keys().filter(|&&other| reach(other).contains_key(&start)));
        found.push(circle);
    }
    found
}
