//! `diagipc proxy` and `trace` with a command at a terminal: it can read the terminal, and gets the Ctrl-C
//! of `proxy`.

use std::process::{Command, Output};

use crate::tool::{DIAGIPC, Runtime};

/// Runs the rest of the command line at a new terminal, types the first argument once `ready` is
/// shown, prints what the terminal shows, and exits with the status of the program.
const AT_A_TERMINAL: &str = "
import os, pty, sys
pid, terminal = pty.fork()
if pid == 0:
    os.execvp(sys.argv[2], sys.argv[2:])
shown, typed = b'', False
while True:
    try:
        piece = os.read(terminal, 4096)
    except OSError:
        piece = b''
    if not piece:
        break
    shown += piece
    if not typed and b'ready' in shown:
        typed = True
        os.write(terminal, sys.argv[1].encode())
print(shown.decode())
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
";

/// What `proxy` with this client does if these characters are typed.
fn recorded(typed: &str, client: &str) -> Output {
    let (peer, out) = (Runtime::start(&[]), crate::tool::directory());
    let mut command = Command::new("python3");
    command.args(["-c", AT_A_TERMINAL, typed, DIAGIPC, "proxy", "--out"]).arg(out.path());
    command
        .args(["--to", &peer.socket, "--", "sh", "-c", client])
        .env("TMPDIR", out.path())
        .output()
        .unwrap()
}

#[track_caller]
fn check(output: &Output, status: i32, said: &[&str]) {
    let shown = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(status), "{shown}{errors}");
    for part in said {
        assert!(shown.contains(part), "{part}: {shown}{errors}");
    }
}

/// In its own process group it would be stopped.
#[test]
fn recorded_client_reads_the_terminal() {
    let output = recorded("typed\n", "echo ready; read line; echo got $line");
    check(&output, 0, &["got typed", "the client ended: exit status: 0"]);
}

/// Like a client that stops its trace first.
#[test]
fn recorded_client_ends_by_itself_after_ctrl_c() {
    let client =
        "trap 'sleep 0.3; echo stopped; exit 7' INT; echo ready; while :; do sleep 0.01; done";
    check(
        &recorded("\x03", client),
        130,
        &["stopped", "the client ended: exit status: 7", "INTERRUPTED  "],
    );
    // One without a last line.
    check(
        &recorded("\x03", "echo ready; exec sleep 1000"),
        130,
        &["the client ended: signal: 2 (SIGINT)", "INTERRUPTED  "],
    );
}

/// It would end a runtime before its rundown.
#[test]
fn traced_command_does_not_get_ctrl_c() {
    let home = crate::tool::directory();
    let file = home.path().join("file");
    let file = file.to_str().unwrap();
    // The reference runtime always handles SIGINT, and would get it in the group of the terminal.
    let script =
        "trap 'echo interrupted' INT; trap 'echo asked; exit' TERM; setsid \"$0\" runtime &
        while ! [ -s \"$1\" ]; do sleep 0.01; done; echo ready; wait $!";
    let tool = DIAGIPC;
    let mut command = Command::new("python3");
    command.args(["-c", AT_A_TERMINAL, "\x03", tool, "trace", "-o", file, "--"]);
    let output = command.args(["sh", "-c", script, tool, file]).output().unwrap();
    check(&output, 0, &["bytes, complete", "asked"]);
    assert!(!String::from_utf8_lossy(&output.stdout).contains("interrupted"));
}
