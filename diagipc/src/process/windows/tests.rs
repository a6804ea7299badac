use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::process::{ChildStdout, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

use super::super::Started;
use super::*;

const ROLE: &str = "DIAGIPC_TEST_ROLE";
const SAYS: &str = "it holds the pipe";
const LONG: Duration = Duration::from_secs(30);

/// This program in another role, with our standard output unless changed.
fn this(role: &str) -> Command {
    let mut this = Command::new(std::env::current_exe().unwrap());
    this.args(["--exact", "--nocapture", "process::windows::tests::plays_a_role"])
        .env(ROLE, role)
        .stdin(Stdio::null());
    this
}

/// What the programs of the other tests do; alone it does nothing.
#[test]
fn plays_a_role() {
    match std::env::var(ROLE).as_deref() {
        Ok("grandchild") => {
            writeln!(io::stdout(), "{SAYS}").unwrap();
            thread::sleep(LONG * 3);
        }
        Ok("child") => {
            this("grandchild").status().unwrap();
        }
        Ok("child that ends") => {
            #[allow(clippy::zombie_processes, reason = "it outlives this process")]
            this("grandchild").spawn().unwrap();
        }
        Ok("tool") => {
            let _child = Started::start(&mut this("child")).unwrap();
            thread::sleep(LONG * 3);
        }
        _ => {}
    }
}

/// Waits until a grandchild holds the pipe. Then something comes once nobody holds it any more.
fn held(pipe: ChildStdout) -> Receiver<()> {
    let mut pipe = BufReader::new(pipe);
    let mut line = String::new();
    while !line.contains(SAYS) {
        assert_ne!(pipe.read_line(&mut line).unwrap(), 0, "{line}");
    }
    let (sender, receiver) = channel();
    thread::spawn(move || {
        pipe.read_to_string(&mut String::new()).unwrap();
        let _ = sender.send(());
    });
    receiver
}

#[test]
fn started_ends_with_its_children() {
    let mut started = Started::start(this("child").stdout(Stdio::piped())).unwrap();
    let is_free = held(started.take_output().0.unwrap());
    assert_eq!(started.death(), None);
    started.end();
    is_free.recv_timeout(LONG).unwrap();
}

#[test]
fn started_that_has_ended_leaves_no_children() {
    let command = &mut this("child that ends");
    let mut started = Started::start(command.stdout(Stdio::piped())).unwrap();
    let is_free = held(started.take_output().0.unwrap());
    let began = Instant::now();
    while started.death().is_none() && began.elapsed() < LONG {
        thread::sleep(Duration::from_millis(5));
    }
    assert_eq!(started.end().and_then(|status| status.code()), Some(0));
    is_free.recv_timeout(LONG).unwrap();
}

#[test]
fn killed_tool_leaves_nothing_started() {
    let mut tool = this("tool").stdout(Stdio::piped()).spawn().unwrap();
    let is_free = held(tool.stdout.take().unwrap());
    tool.kill().unwrap();
    tool.wait().unwrap();
    is_free.recv_timeout(LONG).unwrap();
}
