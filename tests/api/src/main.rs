//! Compares the public API of each feature with `api/*.txt`.
//!
//! `cargo run` compares, and prints what differs; `cargo run -- --write` writes the files. Each
//! file has what its feature adds to the files before it. The standard library's traits that a type
//! implements, `Send` and `Sync` among them, are one line.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::{Command, ExitCode};
use std::{env, fs};

use anyhow::{Context as _, Result, bail};

/// Its rustdoc writes the JSON that `public-api` of Cargo.toml reads.
const TOOLCHAIN: &str = "1.95.0";

/// Features, each after those of this list that it needs.
const FEATURES: [(&str, &[&str]); 6] = [
    ("core", &[]),
    ("alloc", &["alloc"]),
    ("io-adapters", &["io-adapters"]),
    ("tokio", &["tokio"]),
    ("arbitrary", &["arbitrary"]),
    ("proptest", &["proptest"]),
];

fn main() -> ExitCode {
    // Show all causes without the backtrace, which would otherwise end the log.
    match compare_or_write() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("Error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn compare_or_write() -> Result<()> {
    let writes = env::args().any(|argument| argument == "--write");
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).context("no root")?;
    let (mut known, mut differs) = (BTreeSet::new(), false);
    for (name, features) in FEATURES {
        let items = public_items(root, features)?;
        let added: Vec<_> = items.into_iter().filter(|item| known.insert(item.clone())).collect();
        let path = root.join("api").join(name).with_extension("txt");
        if writes {
            fs::create_dir_all(root.join("api"))?;
            fs::write(&path, added.into_iter().map(|item| item + "\n").collect::<String>())
                .with_context(|| path.display().to_string())?;
        } else {
            let text = fs::read_to_string(&path).with_context(|| path.display().to_string())?;
            differs |= print_difference(name, &text, &added);
        }
    }
    let silent = without_debug(&known);
    if !silent.is_empty() {
        bail!("these types have no Debug: {}", silent.join(", "));
    }
    if differs {
        bail!(
            "the public API differs from api/*.txt; if that is meant: (cd tests/api && cargo run -- --write)"
        );
    }
    println!("the public API is that of api/*.txt: {} items", known.len());
    Ok(())
}

/// In rustdoc's order, one line each.
fn public_items(root: &Path, features: &[&str]) -> Result<Vec<String>> {
    let target =
        env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), Into::into).join("api");
    let status = Command::new("cargo")
        .arg(format!("+{TOOLCHAIN}"))
        .args([
            "rustdoc",
            "--quiet",
            "--lib",
            "--no-default-features",
            "--features",
            &features.join(","),
            "--manifest-path",
        ])
        .arg(root.join("Cargo.toml"))
        // `--cfg docsrs` as docs.rs has it: badges of features.
        .args([
            "--",
            "-Zunstable-options",
            "--output-format=json",
            "--cap-lints=allow",
            "--cfg=docsrs",
        ])
        // The format of the JSON is not stable; the toolchain is pinned instead.
        .env("RUSTC_BOOTSTRAP", "1")
        .env("CARGO_TARGET_DIR", &target)
        .env_remove("RUSTUP_TOOLCHAIN")
        .status()?;
    if !status.success() {
        bail!("cargo rustdoc failed");
    }
    let json = target.join("doc/dotnet_diagnostics_ipc.json");
    let api = public_api::Builder::from_rustdoc_json(json).omit_blanket_impls(true).build()?;
    Ok(condensed(api.items().map(|item| item.to_string().replace("dotnet_diagnostics_ipc::", ""))))
}

/// One line for all standard library traits of a type, and none for the methods of a trait that it
/// implements.
fn condensed(lines: impl Iterator<Item = String>) -> Vec<String> {
    let mut condensed: Vec<String> = Vec::new();
    // The type whose implementation of a trait the lines are in.
    let mut in_trait: Option<String> = None;
    for line in lines {
        let is_method =
            line.starts_with("pub ") && (line.contains(" fn ") || line.starts_with("pub const "));
        let Some((name, of)) = line.strip_prefix("impl").and_then(|rest| rest.split_once(" for "))
        else {
            // A function of a module may follow.
            in_trait = in_trait.filter(|of| {
                (is_method && line.contains(&format!(" {of}::"))) || line.starts_with("pub type ")
            });
            if !(in_trait.is_some() && is_method) {
                condensed.push(line);
            }
            continue;
        };
        in_trait = Some(of.to_owned());
        let name = name.rsplit_once("> ").map_or(name, |(_, name)| name).trim_start();
        if !["core::", "std::", "alloc::"].iter().any(|from| name.starts_with(from)) {
            condensed.push(line);
            continue;
        }
        let name = if name.contains('<') { name } else { name.rsplit("::").next().unwrap_or(name) };
        if ["Freeze", "Unpin", "UnsafeUnpin", "RefUnwindSafe", "UnwindSafe", "StructuralPartialEq"]
            .contains(&name)
        {
            continue;
        }
        let start = format!("impl for {of}: ");
        match condensed.last_mut().filter(|last| last.starts_with(&start)) {
            Some(last) => *last += &format!(" + {name}"),
            None => condensed.push(start + name),
        }
    }
    condensed
}

/// The public types of `items` that cannot be printed for debugging.
fn without_debug(items: &BTreeSet<String>) -> Vec<&str> {
    let debug: BTreeSet<_> = items
        .iter()
        .filter_map(|item| item.strip_prefix("impl for ")?.split_once(": "))
        .filter(|(_, traits)| traits.split(" + ").any(|name| name == "Debug"))
        .map(|(of, _)| last(of.split('<').next().unwrap_or(of)))
        .collect();
    let types = items.iter().filter_map(|item| {
        let item = item.strip_prefix("#[non_exhaustive] ").unwrap_or(item);
        let name = item.strip_prefix("pub struct ").or_else(|| item.strip_prefix("pub enum "))?;
        name.split(['<', '(', ' ']).next()
    });
    // A type that is exported twice has its traits at one of its paths.
    types.filter(|name| !debug.contains(last(name))).collect()
}

fn last(path: &str) -> &str {
    path.rsplit("::").next().unwrap_or(path)
}

/// Whether something differs.
fn print_difference(name: &str, text: &str, items: &[String]) -> bool {
    let (was, is): (BTreeSet<&str>, BTreeSet<&str>) =
        (text.lines().collect(), items.iter().map(String::as_str).collect());
    for line in was.difference(&is) {
        println!("{name}: - {line}");
    }
    for line in is.difference(&was) {
        println!("{name}: + {line}");
    }
    was != is
}
