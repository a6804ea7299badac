//! Signals during a run: what was started is ended, what was created is removed, and the report has
//! the results so far.
#![cfg(target_os = "linux")]

mod orphans;
mod subcommands;
mod terminal;

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use crate::cli::signalled;

/// The time limit for anything here on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);
/// Waits until `there` returns a value.
#[track_caller]
pub(crate) fn until<T>(what: &str, mut there: impl FnMut() -> Option<T>) -> T {
    let began = Instant::now();
    loop {
        if let Some(there) = there() {
            return there;
        }
        assert!(began.elapsed() < PATIENCE, "{what}");
        thread::sleep(Duration::from_millis(5));
    }
}

/// Whether a process has a handler for SIGTERM.
pub(crate) fn handles_sigterm(pid: u32) -> bool {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:"));
    caught
        .and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok())
        .is_some_and(|mask| mask & (1 << 14) != 0)
}

/// Returns the command lines of the processes whose environment contains this directory. A zombie
/// has none.
fn processes_in(directory: &Path) -> Vec<String> {
    let name = directory.to_str().unwrap().as_bytes();
    let entries = fs::read_dir("/proc").unwrap().filter_map(|entry| Some(entry.ok()?.path()));
    let there = entries.filter(|path| {
        let environment = fs::read(path.join("environ")).unwrap_or_default();
        environment.windows(name.len()).any(|part| part == name)
    });
    let line = |path: &Path| {
        String::from_utf8_lossy(&fs::read(path.join("cmdline")).unwrap_or_default())
            .replace('\0', " ")
    };
    there.map(|path| format!("{} {}", path.display(), line(&path))).collect()
}

fn files_in(directory: &Path) -> Vec<String> {
    fs::read_dir(directory)
        .unwrap()
        .map(|entry| entry.unwrap().path().display().to_string())
        .collect()
}

/// A temporary directory. Dropping it ends all processes that have it in their environment.
struct Tmpdir(tempfile::TempDir);

impl Tmpdir {
    fn new() -> Self {
        Self(crate::tool::directory())
    }

    fn path(&self) -> &Path {
        self.0.path()
    }
}

impl Drop for Tmpdir {
    fn drop(&mut self) {
        for line in processes_in(self.path()) {
            let pid = line.split([' ', '/']).find(|part| part.parse::<u32>().is_ok()).unwrap();
            // The process may have ended since.
            let _ = Command::new("kill").args(["-KILL", pid]).stderr(Stdio::null()).status();
        }
    }
}

/// A run whose temporary files are in a directory of its own.
struct Run {
    child: Child,
    tmpdir: Tmpdir,
}

impl Run {
    /// Starts the run, and waits until it handles signals.
    fn start(command: Command) -> Self {
        let run = Self::begin(Tmpdir::new(), command, Stdio::null());
        run.wait_for_handler();
        run
    }

    fn begin(tmpdir: Tmpdir, mut command: Command, stdin: Stdio) -> Self {
        command
            .env("TMPDIR", tmpdir.path())
            .stdin(stdin)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        Self { child: command.spawn().unwrap(), tmpdir }
    }

    fn wait_for_handler(&self) {
        until("it has no handler for signals", || handles_sigterm(self.child.id()).then_some(()));
    }

    /// Waits for the processes of [`SILENT`].
    fn wait_for_target(&self) {
        until("the target does not start", || {
            let there = processes_in(self.tmpdir.path());
            ["sleep 1000", "sleep 1001", "python3"]
                .iter()
                .all(|name| there.iter().any(|line| line.contains(name)))
                .then_some(())
        });
    }

    fn signal(&self, name: &str) {
        let pid = self.child.id().to_string();
        assert!(Command::new("kill").args([name, &pid]).status().unwrap().success());
    }

    /// Waits for the end of the run, after which nothing of it may be left.
    #[track_caller]
    fn end(self, about: &str) -> Output {
        let Self { mut child, tmpdir } = self;
        // The input must last as long as the run.
        let _stdin = child.stdin.take();
        let (sender, ended) = mpsc::channel();
        thread::spawn(move || sender.send(child.wait_with_output().unwrap()));
        let output = ended.recv_timeout(PATIENCE).expect(about);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(!errors.contains("panicked"), "{about}: {errors}");
        until(&format!("{about}: processes are left"), || {
            processes_in(tmpdir.path()).is_empty().then_some(())
        });
        assert_eq!(files_in(tmpdir.path()), [""; 0], "{about}");
        output
    }
}

/// A target in its own process that accepts connections and never answers, so that the first
/// question waits.
/// Its first child stays in the group, the second has left it and has no parent.
const SILENT: &str = "sleep 1000 & (setsid sleep 1001 &) ; exec python3 -c 'import os, socket, time
listener = socket.socket(socket.AF_UNIX)
path = os.environ[\"TMPDIR\"] + \"/silent\"
listener.bind(path)
listener.listen(16)
print(path, flush=True)
time.sleep(1000)'";

fn silent(options: &[&str]) -> Run {
    let run = Run::start(signalled(
        &[&["server", "--spawn", "--timeout", "600000"], options, &["--", "sh", "-c", SILENT]]
            .concat(),
    ));
    run.wait_for_target();
    run
}

#[test]
fn interrupted_run_is_reported_in_every_format() {
    let directory = crate::tool::directory();
    let [junit, html] = ["report.xml", "report.html"].map(|name| directory.path().join(name));
    let run = silent(&["--junit", junit.to_str().unwrap(), "--html", html.to_str().unwrap()]);
    run.signal("-INT");
    let output = run.end("text");
    assert_eq!(output.status.code(), Some(130));
    let text = String::from_utf8(output.stdout).unwrap();
    let line = text.lines().find_map(|line| line.strip_prefix("INTERRUPTED  ")).unwrap();
    let not_run: usize = line.strip_suffix(" cases were not run").unwrap().parse().unwrap();
    assert!(not_run > 100, "{text}");
    let [xml, page] = [junit, html].map(|path| fs::read_to_string(path).unwrap());
    assert!(
        xml.contains(r#"<testcase name="interrupted""#)
            && xml.contains(&format!(r#"message="{line}""#)),
        "{xml}"
    );
    roxmltree::Document::parse(&xml).unwrap();
    assert!(page.contains("INTERRUPTED") && page.contains(line), "{page}");
}

/// The report is not read, so the run waits for its reader. The second signal does not wait.
#[test]
fn second_signal_ends_at_once() {
    let mut run = Run::start(signalled(&["check", "--json"]));
    run.signal("-TERM");
    let status = until("it does not end", || {
        run.signal("-TERM");
        run.child.try_wait().unwrap()
    });
    assert_eq!(status.code(), Some(143));
    run.end("twice");
}

/// Kills a run, or its group as a shell or `timeout` does it, once it has started its programs.
#[track_caller]
fn killed_leaves_nothing(run: Run, is_group: bool) {
    let pid = format!("{}{}", if is_group { "-" } else { "" }, run.child.id());
    assert!(Command::new("kill").args(["-KILL", "--", &pid]).status().unwrap().success());
    let Run { child, tmpdir } = run;
    child.wait_with_output().unwrap();
    until("its programs run on", || processes_in(tmpdir.path()).is_empty().then_some(()));
    until("its directories stay", || files_in(tmpdir.path()).is_empty().then_some(()));
}

/// The list has the target, its child, a process that has left their group, and their directory.
#[test]
fn killed_server_leaves_nothing() {
    use std::os::unix::process::CommandExt as _;

    killed_leaves_nothing(silent(&[]), false);
    let mut command = signalled(&["server", "--spawn", "--", "sh", "-c", SILENT]);
    command.process_group(0);
    let run = Run::begin(Tmpdir::new(), command, Stdio::null());
    run.wait_for_target();
    killed_leaves_nothing(run, true);
}

#[test]
fn killed_check_leaves_nothing() {
    let run = Run::start(signalled(&["check", "--json"]));
    until("it starts nothing", || {
        let there = processes_in(run.tmpdir.path());
        let has = |command: &str| there.iter().any(|line| line.contains(command));
        (has(" runtime ") && has(" stand-in")).then_some(())
    });
    killed_leaves_nothing(run, false);
}
