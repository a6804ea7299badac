//! All harmless commands, with a real runtime through `io::Client`.
//!
//! ```text
//! python3 diagipc/tests/live/runtime_tests.py
//! ```
//!
//! builds this, starts runtimes, and runs it against each. The runtimes belong to the test: they
//! are stopped, traced and written to. So each test needs `DIAG_SOCKET`, `DIAG_PID`,
//! `DIAG_RUNTIME`, `DIAG_TMPDIR`, `DIAG_SUSPENDED`, `DIAG_PORTS` as diagipc/tests/live/launch.py sets them,
//! and `DIAG_SIDE_EFFECTS=1`; without them it fails.

use std::fs;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};

use dotnet_diagnostics_ipc::hresult::HResult;
use dotnet_diagnostics_ipc::io::{Client, Endpoint, Error, Phase};

mod commands;
mod ports;
mod stopped;
mod stream;
mod suspended;
mod traces;

const RUNTIME_PROVIDER: &str = "Microsoft-Windows-DotNETRuntime";

/// The runtime, for one test at a time: it answers one client after the other (F-75), and some
/// tests stop it.
struct Target {
    client: Client,
    process_id: u32,
    directory: PathBuf,
    /// The version of .NET: 3, 8, 9, 10.
    major: u32,
    version: String,
    _alone: MutexGuard<'static, ()>,
}

fn variable(name: &str) -> String {
    std::env::var(name)
        .unwrap_or_else(|_| panic!("{name} is not set: run diagipc/tests/live/runtime_tests.py"))
}

fn target() -> Target {
    static ALONE: Mutex<()> = Mutex::new(());
    assert_eq!(
        variable("DIAG_SIDE_EFFECTS"),
        "1",
        "only for a runtime that was started for these tests"
    );
    let version = variable("DIAG_RUNTIME").strip_prefix("net").unwrap().to_owned();
    Target {
        client: Client::new(Endpoint::socket(variable("DIAG_SOCKET"))),
        process_id: variable("DIAG_PID").parse().unwrap(),
        directory: variable("DIAG_TMPDIR").into(),
        major: version.split('.').next().unwrap().parse().unwrap(),
        version,
        _alone: ALONE.lock().unwrap_or_else(PoisonError::into_inner),
    }
}

#[track_caller]
fn assert_refused<T: std::fmt::Debug>(result: Result<T, Error>, expected: HResult) {
    let error = result.unwrap_err();
    assert_eq!((error.phase(), error.hresult()), (Phase::Reply, Some(expected)), "{error}");
}

impl Target {
    /// Whether it knows commands since this version of .NET. If not, it must report so.
    #[track_caller]
    fn knows<T: std::fmt::Debug>(
        &self,
        since: u32,
        result: Result<T, Error>,
    ) -> Option<Result<T, Error>> {
        if self.major >= since {
            return Some(result);
        }
        assert_refused(result, HResult::UNKNOWN_COMMAND);
        None
    }

    /// These always still work.
    #[track_caller]
    fn still_answers(&self) {
        match self.knows(5, self.client.process_info()) {
            Some(answer) => assert_eq!(
                answer.unwrap().payload().unwrap().process_id,
                u64::from(self.process_id)
            ),
            None => assert_eq!(self.client.stop_tracing(0).unwrap(), Some(0)),
        }
    }

    /// The command line of a suspended one is only its executable (F-79).
    fn runs_managed_code(&self) -> bool {
        let answer = self.client.process_info().unwrap();
        answer.payload().unwrap().command_line.to_string().contains(".dll")
    }

    fn environment(&self) -> Vec<String> {
        let mut entries = Vec::new();
        self.client
            .environment()
            .unwrap()
            .for_each(|entry| entries.push(entry.text().to_string()))
            .unwrap();
        entries
    }
}

/// The open descriptors of a process, and their targets.
fn descriptors(process_id: u32) -> Vec<String> {
    let of = |entry: std::io::Result<fs::DirEntry>| {
        let entry = entry.unwrap();
        format!(
            "{} -> {}",
            entry.path().display(),
            fs::read_link(entry.path()).unwrap_or_default().display()
        )
    };
    fs::read_dir(format!("/proc/{process_id}/fd")).unwrap().map(of).collect()
}
