//! The manual `diagipc/README.md` has every command, and shows what the tool prints.

use std::fs;
use std::process::Command;

use crate::cli::{run, text};

const MANUAL: &str = include_str!("../../README.md");
/// The commands whose output depends only on the tool, or on a server of the repository. The others are
/// about processes.
const REPEATABLE: [&str; 5] = ["decode", "encode", "explain", "list", "server --spawn"];

/// Each command of the console blocks, with the lines that follow it.
fn examples() -> Vec<(&'static str, Vec<&'static str>)> {
    let mut examples: Vec<(&str, Vec<&str>)> = Vec::new();
    let mut inside = false;
    for line in MANUAL.lines() {
        if line.starts_with("```") {
            inside = line == "```console";
        } else if let Some(command) = line.strip_prefix("$ ").filter(|_| inside) {
            examples.push((command, Vec::new()));
        } else if let Some((_, lines)) = examples.last_mut().filter(|_| inside) {
            lines.push(line);
        }
    }
    examples
}

/// Whether `printed` matches `expected`, in which `…` is any number of lines, or the rest of a
/// line.
fn matches(printed: &[&str], expected: &[&str]) -> bool {
    let Some((&first, rest)) = expected.split_first() else { return printed.is_empty() };
    if first == "…" {
        return (0..=printed.len()).any(|skipped| matches(&printed[skipped..], rest));
    }
    let Some((line, others)) = printed.split_first() else { return false };
    let same =
        first.strip_suffix('…').map_or(line.trim_end() == first, |start| line.starts_with(start));
    same && matches(others, rest)
}

#[test]
fn manual_output_equals_tool_output() {
    assert!(
        matches(&["a", "bc", "d"], &["a", "b…", "d"]) && matches(&["a", "b", "c"], &["…", "c"])
    );
    assert!(
        !matches(&["a", "b"], &["a"])
            && !matches(&["a"], &["a", "b"])
            && !matches(&["ab"], &["b…"])
    );

    let mut compared = 0;
    for (command, expected) in examples() {
        let name = command.strip_prefix("diagipc ").expect("a command of the tool");
        if !REPEATABLE.iter().any(|one| name.starts_with(one)) {
            continue;
        }
        // The command finds the tool by its name.
        let mut shell = Command::new("sh");
        shell.args(["-c", command]).env("PATH", crate::tool::search_path());
        let output =
            shell.current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/..")).output().unwrap();
        let printed = text(&output);
        let lines: Vec<_> = printed.trim_end().lines().collect();
        assert!(
            matches(&lines, &expected),
            "$ {command}\nprints\n{printed}\nand the manual has\n{}",
            expected.join("\n")
        );
        compared += 1;
    }
    assert!(compared >= 7, "{compared}");
}

#[test]
fn manual_names_every_command() {
    for name in crate::cli::listed_commands() {
        assert!(MANUAL.contains(&format!("`{name}`")), "{name} is not in diagipc/README.md");
    }
}

/// Each command is in one group of `--help`, because manual pages exist for all that are not
/// hidden.
#[test]
fn help_lists_every_command_once() {
    let directory = crate::tool::directory();
    run(&["dev", "man", directory.path().to_str().unwrap()], b"", 0);
    let pages = fs::read_dir(directory.path()).unwrap().filter_map(|page| {
        let name = page.unwrap().file_name().into_string().unwrap();
        Some(name.strip_prefix("diagipc-")?.strip_suffix(".1")?.to_owned())
    });
    let mut pages: Vec<String> = pages
        .filter(|name| name != "help" && (name == "fuzz-server" || !name.contains('-')))
        .collect();
    let page = fs::read_to_string(directory.path().join("diagipc-trace.1")).unwrap();
    assert!(page.contains(".TH diagipc-trace 1") && page.contains("nettrace"), "{page}");
    run(&["dev", "man", directory.path().join("missing").to_str().unwrap()], b"", 2);
    let mut listed = crate::cli::listed_commands();
    pages.sort();
    listed.sort();
    assert_eq!(listed, pages);
}

/// `-h` fits on a screen, and `--help` on two. Only `--help` has the exit statuses.
#[test]
fn help_of_every_command_is_short() {
    for name in crate::cli::listed_commands() {
        let [short, long] = ["-h", "--help"].map(|option| text(&run(&[&name, option], b"", 0)));
        let lines = [&short, &long].map(|help| help.lines().count());
        assert!(lines[0] <= 40 && lines[1] <= 80, "{name}: {lines:?} lines");
        assert!(long.contains("\nExit status:\n  0 "), "{long}");
        assert!(!short.contains("Exit status"), "{short}");
    }
    for (name, said) in [("proxy", "`{target}`"), ("encode", "canonical"), ("explain", "F-19")] {
        assert!(text(&run(&[name, "--help"], b"", 0)).contains(said), "{name} lacks {said}");
    }
}
