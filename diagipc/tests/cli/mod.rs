//! The program `diagipc`, as people and scripts use it.

#[cfg(unix)]
mod automation;
mod check;
mod decode;
mod encode;
#[cfg(unix)]
mod explain;
mod interrupted;
mod leftovers;
#[cfg(unix)]
mod manual;
mod output_files;
mod process;
mod replay;
mod tcp;
mod trace;
mod trace_options;
mod traced_command;
mod vectors;

use std::io::Write as _;
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::tool;
pub(crate) use crate::tool::{errors, run, text};

const STOP: &str = "444f544e45545f4950435f5631001c00020100000100000000000000";
const STOPPED: &str = "444f544e45545f4950435f5631001c00ff0000000100000000000000";
const UNKNOWN_COMMAND: &str = "444f544e45545f4950435f5631001800ffff000085131380";

fn diagipc(arguments: &[&str]) -> Command {
    let mut command = tool::diagipc();
    command.args(arguments);
    command
}

/// A command that ends by the signals it gets. Tests that `nohup` or a script started in the
/// background ignore some of them, and what they start would ignore them too. Elsewhere than on
/// Linux the tool does not look whether a signal is ignored.
#[cfg(unix)]
fn signalled(arguments: &[&str]) -> Command {
    if !cfg!(target_os = "linux") {
        return diagipc(arguments);
    }
    crate::tool::set_umask();
    let mut command = Command::new("env");
    command.args(["--default-signal=HUP,INT,TERM", tool::DIAGIPC]).args(arguments);
    command
}

/// The commands in the groups of `--help`.
#[cfg(unix)]
fn listed_commands() -> Vec<String> {
    let help = text(&run(&["--help"], b"", 0));
    let groups = help.split("\nOptions:").next().unwrap_or_default();
    let names = groups.lines().filter_map(|line| line.strip_prefix("  ")?.split(' ').next());
    names.map(ToOwned::to_owned).collect()
}

fn decode(arguments: &[&str], status: i32) -> Value {
    json(&[&["decode", "--json"], arguments].concat(), status)
}

/// The JSON of a run without input.
#[track_caller]
fn json(arguments: &[&str], status: i32) -> Value {
    serde_json::from_slice(&run(arguments, b"", status).stdout).expect("JSON")
}

/// The reader closes the output early, as `head` does. The status is that of the command.
#[test]
fn output_without_reader_is_not_an_error() {
    let many = hex::decode(STOP).unwrap().repeat(20_000);
    for (arguments, input, status) in [
        (&["check", "--json", "--only", "codec/grammar/*"][..], &[][..], 0),
        (&["list", "vectors", "--json"], &[], 0),
        (&["list", "scripts"], &[], 0),
        (&["decode", "-"], &many, 0),
        (&["decode", "-"], &many[1..], 1),
    ] {
        let mut command = diagipc(arguments);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("it starts");
        drop(child.stdout.take());
        // The tool may not read all of its input.
        let _ = child.stdin.take().unwrap().write_all(input);
        let output = child.wait_with_output().expect("it ends");
        let errors = String::from_utf8_lossy(&output.stderr);
        assert_eq!((output.status.code(), &*errors), (Some(status), ""), "{arguments:?}");
    }
}

/// Text from a file or a message cannot move the cursor.
#[test]
fn text_from_file_or_message_is_escaped() {
    let directory = crate::tool::directory();
    let file = directory.path().join("operations\u{202e}.toml");
    std::fs::write(&file, "[operations]\n\"na\u{9b}me\" = []\n").unwrap();
    let errors = errors(&["client", "--operations", file.to_str().unwrap()], 2);
    assert!(
        errors.contains("na\\u{9b}me") && !errors.contains(['\u{9b}', '\u{202e}']),
        "{errors:?}"
    );
    // The value in an `ApplyStartupHook` has both.
    let hook = "444f544e45545f4950435f56310020000407000004000000";
    let output = run(&["decode", "--json", "--text", &format!("{hook}9b002e2061000000")], b"", 0);
    let json = text(&output);
    assert!(json.contains("\\u009b\\u202ea") && !json.contains(['\u{9b}', '\u{202e}']), "{json}");
}

#[test]
fn completions_of_each_shell_name_commands() {
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let script = text(&run(&["dev", "completions", shell], b"", 0));
        for command in ["trace", "fuzz-server", "decode"] {
            assert!(script.contains(command), "{shell}: {command}");
        }
    }
    run(&["dev", "completions", "tcsh"], b"", 2);
}

#[test]
fn command_of_another_tool_names_that_tool() {
    for (command, tool) in [
        ("counters", "dotnet-counters monitor --process-id PID"),
        ("convert", "dotnet-trace convert FILE"),
        ("topN", "dotnet-trace report FILE topN"),
        ("stacks", "dotnet-dump analyze FILE"),
        ("collect", "diagipc trace TARGET"),
    ] {
        let said = errors(&[command, "4242"], 2);
        assert!(said.contains(&format!("unrecognized subcommand '{command}'")), "{said}");
        assert!(said.contains(&format!("tip: `{tool}")), "{said}");
    }
}
