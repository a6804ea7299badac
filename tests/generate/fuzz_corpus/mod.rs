//! The bodies of the fuzz targets, run without a fuzzer over their seeds and over everything that a
//! fuzzer ever found.

mod cli_decode;

use std::collections::BTreeSet;
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use dotnet_diagnostics_ipc::conformance::corpus::{self, Seed};
use dotnet_diagnostics_ipc::conformance::{Adapter, AdapterCommand};
use dotnet_diagnostics_ipc::testing::fuzzing;

fn here(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(name)
}

/// What a fuzzer found, by target. Each file was once an input that failed.
fn finds(target: &str) -> Vec<Seed> {
    let Ok(files) = fs::read_dir(here("tests/generate/fuzz_corpus/finds").join(target)) else {
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
    assert!(seeds.len() >= 10 || target == "diagnostic_port", "{target}: {} seeds", seeds.len());
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

macro_rules! bodies {
    ($($name:ident)*) => {
        $(
            #[test]
            fn $name() {
                replay(stringify!($name), &mut fuzzing::$name);
            }
        )*

        const TESTED: &[&str] = &[$(stringify!($name)),*];
    };
}

bodies! {
    decode_any roundtrip canonical client_exchange server_exchange diagnostic_port conversations environment ports endpoint_names user_events
}

#[test]
fn cli_decode() {
    replay("cli_decode", &mut cli_decode::cli_decode);
}

/// What a body that asks a program in C does with its input.
type Asking = fn(&[u8], &mut dyn FnMut(&str) -> String);

/// The fuzzer's programs link the C code; here it is asked over pipes.
fn replay_with_c(target: &str, source: &str, body: Asking) {
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
        .args([&here("c"), Path::new("-o"), &program, &here(source)])
        .status();
    assert!(compiled.expect("a C compiler, cc").success());
    let command = AdapterCommand {
        program: program.into(),
        arguments: Vec::new(),
        deadline: Duration::from_secs(20),
    };
    let mut adapter = Adapter::start(command).unwrap();
    replay(target, &mut |input| {
        body(input, &mut |question| {
            adapter.ask(question).unwrap_or_else(|trouble| panic!("{trouble}"))
        });
    });
    assert_eq!(adapter.finish(), None);
}

#[test]
fn differential() {
    replay_with_c("differential", "vectors/adapters/c/adapter.c", fuzzing::differential);
}

#[test]
fn c_header() {
    replay_with_c("c_header", "vectors/adapters/c_header/adapter.c", fuzzing::c_header);
}

/// A target that is not built, run or described breaks unnoticed.
#[test]
fn fuzz_targets_are_built_tested_and_described() {
    let targets: BTreeSet<_> =
        fuzzing::BODIES.iter().map(|(name, _)| *name).chain(fuzzing::OTHERS).collect();
    assert_eq!(targets, BTreeSet::from(corpus::TARGETS));
    let tested: BTreeSet<_> = TESTED.iter().copied().chain(fuzzing::OTHERS).collect();
    assert_eq!(tested, targets);
    assert!(
        targets.len() == 14
            && finds("no such target").is_empty()
            && corpus::seeds("no such target").unwrap().is_empty()
    );
    // Not present in a published package.
    let Ok(manifest) = fs::read_to_string(here("fuzz/Cargo.toml")) else { return };
    let readme = fs::read_to_string(here("fuzz/README.md")).unwrap();
    for target in targets {
        assert!(manifest.contains(&format!("name = \"{target}\"")), "{target} in fuzz/Cargo.toml");
        assert!(readme.contains(&format!("| `{target}` |")), "{target} in fuzz/README.md");
        assert!(here(&format!("fuzz/fuzz_targets/{target}.rs")).is_file(), "{target}");
    }
}

#[test]
fn vectors_corpus_writes_seeds_and_dictionary() {
    let directory = tempfile::tempdir().unwrap();
    let place = directory.path().join("new/corpus");
    let status = Command::new(env!("CARGO_BIN_EXE_diagipc"))
        .args(["vectors", "corpus"])
        .arg(&place)
        .output()
        .unwrap()
        .status;
    assert!(status.success());
    for target in fuzzing::BODIES.iter().map(|(name, _)| *name).chain(fuzzing::OTHERS) {
        let seeds = corpus::seeds(target).unwrap();
        assert_eq!(fs::read_dir(place.join(target)).unwrap().count(), seeds.len(), "{target}");
        assert_eq!(fs::read(place.join(target).join(&seeds[0].name)).unwrap(), seeds[0].input);
    }
    assert_eq!(fs::read_to_string(place.join("dictionary.txt")).unwrap(), corpus::dictionary());
}

/// One word a line, `name="bytes"`, as libFuzzer reads it.
#[test]
fn dictionary_has_protocol_words() {
    let dictionary = corpus::dictionary();
    let words: Vec<_> = dictionary.lines().filter(|line| !line.starts_with('#')).collect();
    assert!(words.contains(&r#"CollectTracing2="\x02\x03""#), "{dictionary}");
    assert!(
        words.contains(&r#"magic="\x44\x4f\x54\x4e\x45\x54\x5f\x49\x50\x43\x5f\x56\x31\x00""#),
        "{dictionary}"
    );
    assert!(words.contains(&r#"string="\x02\x00\x00\x00\x61\x00\x00\x00""#), "{dictionary}");
    for word in words {
        let (name, bytes) = word.split_once("=\"").unwrap();
        assert!(
            name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
                && bytes.ends_with('"')
                && bytes.len() % 4 == 1,
            "{word}"
        );
    }
}
