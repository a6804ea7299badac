//! Which module may use which.
//!
//! Reads the tokens of every file of `src/` for paths that begin with `crate` or with the name of
//! the package. Unit tests are not checked, nor is `pub use`, which is a module's table of contents.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use proc_macro2::{TokenStream, TokenTree};

/// Asserts that each module of a package has a floor, and uses only its own floor and those below
/// it. The lowest floor is first.
pub(crate) fn modules_use_their_floor_and_lower_ones(root: &str, floors: &[&[&str]]) {
    let numbered = floors.iter().enumerate();
    let floor_of: BTreeMap<&str, usize> = numbered
        .flat_map(|(floor, modules)| modules.iter().map(move |module| (*module, floor)))
        .collect();
    let source = Path::new(root).join("src");
    let exported = exports(&tokens(&source.join("lib.rs")));
    let (mut modules, mut wrong, mut uses) = (BTreeSet::new(), Vec::new(), 0);
    for path in files(&source) {
        let module = path.strip_prefix(&source).unwrap().with_extension("");
        let module = module.iter().next().unwrap().to_str().unwrap();
        // The root itself only names modules.
        if module == "lib" {
            continue;
        }
        modules.insert(module.to_owned());
        let own = floor_of.get(module).unwrap_or_else(|| panic!("{module} is on no floor"));
        for name in used(&tokens(&path)) {
            let name = exported.get(&name).unwrap_or(&name).as_str();
            uses += 1;
            if floor_of.get(name).is_some_and(|floor| floor > own) {
                wrong.push(format!("{} uses {name}", path.display()));
            }
        }
    }
    assert!(
        modules.iter().eq(&floors.concat().into_iter().map(str::to_owned).collect::<BTreeSet<_>>())
    );
    assert!(uses > 100, "only {uses} paths were found");
    assert!(wrong.is_empty(), "these files use a higher floor:\n{}", wrong.join("\n"));
}

/// The files of a directory and of those below it, except tests.
fn files(directory: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    let below = |path: PathBuf| if path.is_dir() { files(&path) } else { vec![path] };
    let is_code = |path: &PathBuf| {
        path.extension().is_some_and(|kind| kind == "rs")
            && !path.to_str().is_some_and(|path| path.ends_with("tests.rs"))
    };
    entries.flat_map(below).filter(is_code).collect()
}

/// The tokens of a file without its unit tests, and without the groups around them.
fn tokens(path: &Path) -> Vec<String> {
    fn flat(stream: TokenStream, into: &mut Vec<String>) {
        for token in stream {
            match token {
                TokenTree::Group(group) => {
                    into.push("{".to_owned());
                    flat(group.stream(), into);
                    into.push("}".to_owned());
                }
                other => into.push(other.to_string()),
            }
        }
    }
    let text = fs::read_to_string(path).unwrap();
    let code = if text.contains("#![cfg(test)]") {
        ""
    } else {
        text.split("\n#[cfg(test)]\nmod ").next().unwrap()
    };
    let mut all = Vec::new();
    flat(code.parse().unwrap(), &mut all);
    all
}

/// The first name after `crate::`, or each first name in the braces after it.
fn used(tokens: &[String]) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    let mut is_exported = false;
    for (at, token) in tokens.iter().enumerate() {
        match token.as_str() {
            "use" => is_exported = at > 0 && matches!(tokens[at - 1].as_str(), "pub" | "}"),
            ";" => is_exported = false,
            "crate" | "diagipc"
                if !is_exported && tokens[at + 1..].starts_with(&[":".into(), ":".into()]) =>
            {
                names.extend(first_names(&tokens[at + 3..]));
            }
            _ => {}
        }
    }
    names
}

fn first_names(tokens: &[String]) -> Vec<String> {
    if tokens.first().is_none_or(|token| token != "{") {
        return tokens.first().cloned().into_iter().collect();
    }
    let (mut names, mut depth) = (Vec::new(), 0);
    for (at, token) in tokens.iter().enumerate() {
        match token.as_str() {
            "{" => depth += 1,
            "}" if depth == 1 => break,
            "}" => depth -= 1,
            _ if depth == 1 && matches!(tokens[at - 1].as_str(), "{" | ",") => {
                names.push(token.clone());
            }
            _ => {}
        }
    }
    names
}

/// The module of each name that the root exports.
fn exports(tokens: &[String]) -> BTreeMap<String, String> {
    let mut modules = BTreeMap::new();
    for (at, _) in tokens.iter().enumerate().filter(|(_, token)| *token == "use") {
        let names = tokens[at + 1..].iter().take_while(|token| *token != ";");
        modules.extend(names.map(|name| (name.clone(), tokens[at + 1].clone())));
    }
    modules
}
