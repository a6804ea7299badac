//! The bodies of the fuzz targets, run without a fuzzer over their seeds and over everything that a
//! fuzzer ever found.

use std::collections::BTreeSet;
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use diagipc::embedded::corpus::{self, Seed};
use diagipc::{Adapter, AdapterCommand, Program};
use dotnet_diagnostics_ipc_fuzz::bodies;

fn here(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(name)
}

/// What a fuzzer found, by target. Each file was once an input that failed.
fn finds(target: &str) -> Vec<Seed> {
    let Ok(files) = fs::read_dir(here("tests/corpus/finds").join(target)) else {
        return Vec::new();
    };
    let read =
        |path: PathBuf| Seed { name: path.display().to_string(), input: fs::read(&path).unwrap() };
    files.map(|file| read(file.unwrap().path())).collect()
}

/// Runs a body over its seeds, each also cut short, with one more byte, and with a bit changed; and
/// over all finds.
fn replay(target: &str, body: &mut dyn FnMut(&[u8])) {
    let mut one = |name: &str, input: &[u8]| {
        let outcome = catch_unwind(AssertUnwindSafe(|| body(input)));
        assert!(outcome.is_ok(), "{target}: {name}: {}", hex::encode(input));
    };
    let seeds = corpus::seeds(target).unwrap();
    assert!(seeds.len() >= 10, "{target}: {} seeds", seeds.len());
    one("nothing", &[]);
    for Seed { name, input } in &seeds {
        one(name, input);
        one(name, &input[..input.len() - input.len().min(1)]);
        one(name, &input[..input.len() / 2]);
        one(name, &[input, &[0][..]].concat());
        let mut changed = input.clone();
        let at = changed.len() * 2 / 3;
        if let Some(byte) = changed.get_mut(at) {
            *byte ^= 1 << (at % 8);
        }
        one(name, &changed);
    }
    for Seed { name, input } in finds(target) {
        one(&name, &input);
    }
}

macro_rules! tests {
    ($($name:ident)*) => {
        $(
            #[test]
            fn $name() {
                replay(stringify!($name), &mut bodies::$name);
            }
        )*

        const TESTED: &[&str] = &[$(stringify!($name)),*];
    };
}

tests! {
    decode_any roundtrip exchanges environment names user_events cli_decode
}

/// The fuzzer's program links the C code; here it is asked over pipes.
#[test]
fn c_header() {
    let directory = tempfile::tempdir().unwrap();
    let program = directory.path().join("adapter");
    let compiled = Command::new("cc")
        .args([
            "-std=c99",
            "-O1",
            "-fsanitize=address,undefined",
            "-fno-sanitize-recover=all",
            "-I",
        ])
        .args([
            &here("../c"),
            Path::new("-o"),
            &program,
            &here("../diagipc/adapters/c_header/adapter.c"),
        ])
        .status();
    assert!(compiled.expect("a C compiler, cc").success());
    let command = AdapterCommand {
        program: Program::new(program, [""; 0]),
        deadline: Duration::from_secs(20),
    };
    let mut adapter = Adapter::start(command).unwrap();
    replay(bodies::C_HEADER, &mut |input| {
        bodies::c_header(input, &mut |question| {
            adapter.ask(question).unwrap_or_else(|trouble| panic!("{trouble}"))
        });
    });
    assert_eq!(adapter.finish(), None);
}

/// A target that is not built, run or described breaks unnoticed.
#[test]
fn fuzz_targets_are_built_tested_and_described() {
    let targets: BTreeSet<_> =
        bodies::BODIES.iter().map(|(name, _)| *name).chain([bodies::C_HEADER]).collect();
    assert_eq!(targets, BTreeSet::from(corpus::TARGETS));
    let tested: BTreeSet<_> = TESTED.iter().copied().chain([bodies::C_HEADER]).collect();
    assert_eq!(tested, targets);
    assert!(
        targets.len() == 8
            && finds("no such target").is_empty()
            && corpus::seeds("no such target").unwrap().is_empty()
    );
    let manifest = fs::read_to_string(here("Cargo.toml")).unwrap();
    let readme = fs::read_to_string(here("README.md")).unwrap();
    for target in targets {
        assert!(manifest.contains(&format!("name = \"{target}\"")), "{target} in fuzz/Cargo.toml");
        assert!(readme.contains(&format!("| `{target}` |")), "{target} in fuzz/README.md");
        assert!(here(&format!("fuzz_targets/{target}.rs")).is_file(), "{target}");
    }
}
