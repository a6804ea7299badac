//! The program under test, how tests run it, and what they read in its reports.

use std::env;
use std::ffi::OsString;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::sync::OnceLock;
use std::thread;

use diagipc::Report;

#[cfg(unix)]
pub(crate) use self::unix::{Runtime, case, causes, fixture, found, python, signal};

pub(crate) const DIAGIPC: &str = env!("CARGO_BIN_EXE_diagipc");

/// Makes new files and directories writable for their owner only, whatever the umask of the user:
/// others are rightly not trusted. What the tests start inherits it.
pub(crate) fn set_umask() {
    #[cfg(unix)]
    rustix::process::umask(rustix::fs::Mode::from_raw_mode(0o022));
}

/// A new directory, on Unix below /tmp: a path in TMPDIR may be too long for sockets.
pub(crate) fn directory() -> tempfile::TempDir {
    set_umask();
    let place =
        if cfg!(unix) { Path::new("/tmp").canonicalize().unwrap() } else { env::temp_dir() };
    tempfile::tempdir_in(place).unwrap()
}

/// `diagipc`, with itself and [`python`] on its search path.
pub(crate) fn diagipc() -> Command {
    set_umask();
    let mut command = Command::new(DIAGIPC);
    command.env("PATH", search_path());
    command
}

/// The interpreter. With a version manager, `python3` on the search path may be a script that starts
/// dozens of processes each time.
pub(crate) fn interpreter() -> &'static str {
    static PATH: OnceLock<String> = OnceLock::new();
    PATH.get_or_init(|| {
        let output =
            Command::new("python3").args(["-c", "import sys; print(sys.executable)"]).output();
        let said = output.ok().and_then(|output| String::from_utf8(output.stdout).ok());
        let path = said.map(|said| said.trim_end().to_owned()).filter(|path| !path.is_empty());
        path.unwrap_or_else(|| "python3".to_owned())
    })
}

/// Runs `diagipc`, which must end with `status` and without a panic.
#[track_caller]
pub(crate) fn run(arguments: &[&str], input: &[u8], status: i32) -> Output {
    let mut command = diagipc();
    command.args(arguments);
    run_command(command, input, status)
}

#[track_caller]
pub(crate) fn run_command(mut command: Command, input: &[u8], status: i32) -> Output {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("it starts");
    let mut stdin = child.stdin.take().expect("a pipe");
    let input = input.to_vec();
    // In parallel, because a large input may be answered before it is read to its end.
    let writer = thread::spawn(move || drop(stdin.write_all(&input)));
    let output = child.wait_with_output().expect("it ends");
    writer.join().expect("the writer ends");
    let errors = String::from_utf8_lossy(&output.stderr);
    let shown = failed_cases(&output.stdout);
    assert_eq!(output.status.code(), Some(status), "{command:?}: {errors}{shown}");
    assert!(!errors.contains("panicked"), "{errors}");
    output
}

/// The failed cases of a report, or the beginning of another output.
pub(crate) fn failed_cases(output: &[u8]) -> String {
    let text = String::from_utf8_lossy(output);
    match Report::parse(&text) {
        Ok(report) => format!("{:#?}", report.failures().collect::<Vec<_>>()),
        Err(_) => text.chars().take(4000).collect(),
    }
}

/// Standard output.
pub(crate) fn text(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).expect("text")
}

/// Standard error of `diagipc`.
#[track_caller]
pub(crate) fn errors(arguments: &[&str], status: i32) -> String {
    String::from_utf8(run(arguments, b"", status).stderr).expect("text")
}

/// The report of a suite, whose name is the first argument.
#[track_caller]
pub(crate) fn report(arguments: &[&str], status: i32) -> Report {
    let (suite, options) = arguments.split_at(1);
    let output = run(&[suite, &["--json"], options].concat(), b"", status);
    Report::parse(&text(&output)).expect("a report")
}

/// The search path with the tool and the interpreter at its front.
pub(crate) fn search_path() -> &'static OsString {
    static PATH: OnceLock<OsString> = OnceLock::new();
    PATH.get_or_init(|| {
        let own =
            [DIAGIPC, interpreter()].into_iter().filter_map(|program| Path::new(program).parent());
        let own = own.filter(|directory| directory.is_absolute());
        let others = env::var_os("PATH").unwrap_or_default();
        env::join_paths(own.map(Path::to_owned).chain(env::split_paths(&others))).unwrap()
    })
}

#[cfg(unix)]
mod unix {
    use std::io::{BufRead as _, BufReader};
    use std::process::{Child, Command, ExitStatus, Stdio};
    use std::thread;
    use std::time::{Duration, Instant};

    use diagipc::{Case, Report};

    use super::{diagipc, directory, search_path};

    /// A file of `tests/fixtures`.
    pub(crate) fn fixture(name: &str) -> String {
        format!("{}/tests/fixtures/{name}", env!("CARGO_MANIFEST_DIR"))
    }

    /// `python3`, also for a user who may not read where the [`interpreter`] is.
    pub(crate) fn python() -> Command {
        let mut command = Command::new("python3");
        command.env("PATH", search_path());
        command
    }

    #[track_caller]
    pub(crate) fn case<'r>(report: &'r Report, name: &str) -> &'r Case {
        let case = report.cases.iter().find(|case| case.name == name);
        case.unwrap_or_else(|| panic!("{name} was not played"))
    }

    /// Returns what was found in a case, separated by `; `.
    pub(crate) fn found(case: &Case) -> String {
        case.detail.as_ref().map(|detail| detail.found.join("; ")).unwrap_or_default()
    }

    /// The name and the number of failures of each cause.
    pub(crate) fn causes(report: &Report) -> Vec<(&str, usize)> {
        report.causes.iter().map(|cause| (cause.name.as_str(), cause.cases)).collect()
    }

    /// A reference runtime in a process and a directory of its own, both of which end with it.
    pub(crate) struct Runtime {
        pub(crate) process: Child,
        /// Returns the path of its socket.
        pub(crate) socket: String,
        pub(crate) home: tempfile::TempDir,
    }

    impl Runtime {
        pub(crate) fn start(options: &[&str]) -> Self {
            Self::start_with(options, |_| {})
        }

        pub(crate) fn start_with(options: &[&str], prepare: impl FnOnce(&mut Command)) -> Self {
            let home = directory();
            let mut command = diagipc();
            command.args(["runtime", "--until-eof"]).args(options).env("TMPDIR", home.path());
            command.current_dir(home.path()).stdin(Stdio::piped()).stdout(Stdio::piped());
            prepare(&mut command);
            let mut process = command.spawn().unwrap();
            let mut socket = String::new();
            BufReader::new(process.stdout.take().unwrap()).read_line(&mut socket).unwrap();
            Self { process, socket: socket.trim_end().to_owned(), home }
        }

        pub(crate) fn pid(&self) -> String {
            self.process.id().to_string()
        }

        /// Returns a path in its directory.
        pub(crate) fn path(&self, name: &str) -> String {
            self.home.path().join(name).to_str().unwrap().to_owned()
        }

        /// Returns the status of the process, once it has ended by itself.
        pub(crate) fn status(&mut self) -> ExitStatus {
            let began = Instant::now();
            loop {
                if let Some(status) = self.process.try_wait().unwrap() {
                    return status;
                }
                assert!(began.elapsed() < Duration::from_secs(60), "the runtime does not end");
                thread::sleep(Duration::from_millis(10));
            }
        }
    }

    impl Drop for Runtime {
        fn drop(&mut self) {
            drop(self.process.stdin.take());
            let began = Instant::now();
            while matches!(self.process.try_wait(), Ok(None)) {
                if began.elapsed() > Duration::from_secs(30) {
                    let _ = self.process.kill();
                }
                thread::sleep(Duration::from_millis(2));
            }
        }
    }

    /// Sends a signal, such as `-TERM`, to a process that was started.
    #[track_caller]
    pub(crate) fn signal(child: &Child, name: &str) {
        let pid = child.id().to_string();
        assert!(Command::new("kill").args([name, &pid]).status().unwrap().success());
    }
}
