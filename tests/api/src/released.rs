//! What the last release had, and whether this version may drop some of it.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result, bail};

/// The version in the manifest of the crate.
pub fn version_of(manifest: &Path) -> Result<String> {
    let text = fs::read_to_string(manifest)?;
    let version =
        text.lines().find_map(|line| line.strip_prefix("version = \"")?.strip_suffix('"'));
    Ok(version.context("no version in Cargo.toml")?.to_owned())
}

/// Copies `api/NAME.txt` to `api/released/`, for this version.
pub fn write(
    root: &Path,
    version: &str,
    names: impl IntoIterator<Item = &'static str>,
) -> Result<()> {
    let released = root.join("api/released");
    fs::create_dir_all(&released)?;
    for name in names {
        let file = format!("{name}.txt");
        fs::copy(root.join("api").join(&file), released.join(&file)).with_context(|| file)?;
    }
    fs::write(released.join("VERSION"), format!("{version}\n"))?;
    println!("api/released/ is the public API of {version}");
    Ok(())
}

/// Compares with `api/released/`, if there is a release.
///
/// # Errors
/// Reports what was removed or changed, unless `version` allows it.
pub fn check(root: &Path, version: &str, now: &BTreeSet<String>) -> Result<()> {
    let released = root.join("api/released");
    let Ok(before) = fs::read_to_string(released.join("VERSION")) else {
        println!("there was no release: nothing to keep");
        return Ok(());
    };
    let before = before.trim();
    let mut items = BTreeSet::new();
    for entry in fs::read_dir(&released)? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "txt") {
            items.extend(fs::read_to_string(path)?.lines().map(str::to_owned));
        }
    }
    let breaks = breaks(&items, now);
    if breaks.is_empty() || may_break(before, version)? {
        println!("{} items of {before} were removed or changed; this is {version}", breaks.len());
        return Ok(());
    }
    for item in &breaks {
        println!("{before}: {item}");
    }
    bail!(
        "{} changes break users of {before}, and {version} is no version step that allows it",
        breaks.len()
    )
}

/// What users of `before` may miss in `now`: an item that was removed or changed, a trait that a
/// type no longer has, and what was added to an enum or struct that users may list in full.
fn breaks(before: &BTreeSet<String>, now: &BTreeSet<String>) -> Vec<String> {
    let mut breaks = Vec::new();
    for item in before.difference(now) {
        // Traits of a type are one line: an additional trait is not a break.
        let Some((of, had)) = traits(item) else {
            breaks.push(format!("- {item}"));
            continue;
        };
        let has = now
            .iter()
            .filter_map(|item| traits(item))
            .find(|(other, _)| *other == of)
            .map(|(_, has)| has)
            .unwrap_or_default();
        breaks.extend(had.difference(&has).map(|name| format!("- impl {name} for {of}")));
    }
    for item in now.difference(before) {
        // Fields and variants are a path after `pub`; all others have a word there.
        let Some(path) = item.strip_prefix("pub ").and_then(|rest| rest.split(['(', ' ']).next())
        else {
            continue;
        };
        let Some((parent, _)) = path.trim_end_matches(':').rsplit_once("::") else { continue };
        let is_member = ["pub enum ", "pub struct "].iter().any(|kind| {
            let open = format!("{kind}{parent}");
            before.iter().any(|item| {
                item.strip_prefix(&open)
                    .is_some_and(|rest| rest.is_empty() || rest.starts_with(['<', '(']))
            })
        });
        if is_member {
            breaks.push(format!("+ {item}"));
        }
    }
    breaks
}

/// The type of a line `impl for TYPE: A + B`, and its traits.
fn traits(item: &str) -> Option<(&str, BTreeSet<&str>)> {
    let (of, names) = item.strip_prefix("impl for ")?.split_once(": ")?;
    Some((of, names.split(" + ").collect()))
}

/// Whether `now` may drop something that `before` had.
fn may_break(before: &str, now: &str) -> Result<bool> {
    let (before, now) = (numbers(before)?, numbers(now)?);
    Ok(if before[0] == 0 && now[0] == 0 { now[1] > before[1] } else { now[0] > before[0] })
}

fn numbers(version: &str) -> Result<[u64; 3]> {
    let numbers: Vec<u64> = version
        .split('.')
        .map(str::parse)
        .collect::<Result<_, _>>()
        .with_context(|| version.to_owned())?;
    numbers.try_into().ok().with_context(|| format!("{version} is not MAJOR.MINOR.PATCH"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(lines: &[&str]) -> BTreeSet<String> {
        lines.iter().map(|line| (*line).to_owned()).collect()
    }

    const BEFORE: [&str; 6] = [
        "pub enum a::Open",
        "pub a::Open::One",
        "pub fn a::f(u8) -> u8",
        "pub struct a::Fields",
        "pub a::Fields::x: u8",
        "impl for a::Open: Clone + Debug",
    ];

    #[track_caller]
    fn assert_breaks(gone: &str, new: &[&str], expected: &[&str]) {
        let now: Vec<_> =
            BEFORE.into_iter().filter(|line| *line != gone).chain(new.iter().copied()).collect();
        assert_eq!(breaks(&set(&BEFORE), &set(&now)), expected);
    }

    #[test]
    fn new_items_break_nothing() {
        assert_breaks(
            "",
            &[
                "pub fn a::g()",
                "pub enum a::Other",
                "pub a::Other::One",
                "pub mod b",
                "pub const fn a::Open::h(self)",
            ],
            &[],
        );
    }

    #[test]
    fn removed_or_changed_item_is_a_break() {
        assert_breaks(
            "pub fn a::f(u8) -> u8",
            &["pub fn a::f(u16) -> u8"],
            &["- pub fn a::f(u8) -> u8"],
        );
    }

    #[test]
    fn lost_trait_is_a_break_and_new_trait_is_not() {
        assert_breaks(
            "impl for a::Open: Clone + Debug",
            &["impl for a::Open: Debug + Eq"],
            &["- impl Clone for a::Open"],
        );
        assert_breaks(
            "impl for a::Open: Clone + Debug",
            &["impl for a::Open: Clone + Debug + Eq"],
            &[],
        );
    }

    #[test]
    fn new_variant_or_field_of_an_exhaustive_type_is_a_break() {
        assert_breaks("", &["pub a::Open::Two(u8)"], &["+ pub a::Open::Two(u8)"]);
        assert_breaks("", &["pub a::Fields::y: u8"], &["+ pub a::Fields::y: u8"]);
        let before = set(&["#[non_exhaustive] pub enum a::Open", "pub a::Open::One"]);
        let now =
            set(&["#[non_exhaustive] pub enum a::Open", "pub a::Open::One", "pub a::Open::Two"]);
        assert_eq!(breaks(&before, &now), Vec::<String>::new());
    }

    #[test]
    fn minor_step_allows_a_break_before_1_0_and_major_step_after() {
        let may = |before, now| may_break(before, now).unwrap();
        assert!(may("0.2.0", "0.3.0") && may("0.9.1", "1.0.0") && may("1.4.0", "2.0.0"));
        assert!(!may("0.2.0", "0.2.1") && !may("1.4.0", "1.5.0") && !may("0.2.0", "0.2.0"));
    }
}
