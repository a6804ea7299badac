//! A runtime of the tests.

use std::io::Write as _;
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use dotnet_diagnostics_ipc::hresult::HResult;
use dotnet_diagnostics_ipc::io::Canceller;
use dotnet_diagnostics_ipc::io::server::{Entries, Handler, ServeOptions, StreamSession, serve};
use dotnet_diagnostics_ipc::message::eventpipe::{CollectTracing2, SessionReply, StopTracing};
use dotnet_diagnostics_ipc::message::process::{ProcessInfo3Reply, ResumeRuntime, Tail};
use dotnet_diagnostics_ipc::message::server::ResultReply;
use dotnet_diagnostics_ipc::wire::Guid;
use tempfile::TempDir;

/// A runtime. Each counts as another process.
pub(crate) struct Runtime {
    pub(crate) number: u8,
    pub(crate) os: &'static str,
    pub(crate) stops: bool,
    pub(crate) session: AtomicU64,
    pub(crate) running: AtomicU64,
}

impl Runtime {
    pub(crate) const fn new(number: u8) -> Self {
        Self {
            number,
            os: "Linux",
            stops: true,
            session: AtomicU64::new(number as u64),
            running: AtomicU64::new(0),
        }
    }
}

impl Handler for Runtime {
    fn process_info3(&self) -> Result<ProcessInfo3Reply<'_>, HResult> {
        Ok(ProcessInfo3Reply {
            version: 1,
            process_id: self.number.into(),
            runtime_cookie: Guid::from_bytes([self.number; 16]),
            command_line: ["app", "app --longer"][usize::from(self.number % 2)].into(),
            os: self.os.into(),
            arch: "x64".into(),
            managed_entrypoint_assembly_name: "app".into(),
            clr_product_version: "10.0.0".into(),
            runtime_identifier: "linux-x64".into(),
            tail: Tail(&[]),
        })
    }

    fn process_environment(&self) -> Result<Entries<'_>, HResult> {
        Ok(["A=1", "B=2", "C=3"].iter().copied().take(self.number.into()).collect())
    }

    fn resume_runtime(&self, _: ResumeRuntime) -> Result<ResultReply, HResult> {
        Ok(ResultReply { hresult: HResult::OK })
    }

    fn collect_tracing2(&self, _: CollectTracing2<'_>) -> Result<StreamSession<'_>, HResult> {
        let id = self.session.fetch_add(100, Ordering::SeqCst) + 100;
        self.running.store(id, Ordering::SeqCst);
        Ok(StreamSession::new(id, move |stream| {
            stream.write_all(b"Nettrace")?;
            stream.write_all(&vec![self.number; 1000 * usize::from(self.number)])?;
            while self.running.load(Ordering::SeqCst) == id
                && !stream.pause(Duration::from_millis(5))?
            {}
            stream.write_all(b"\x01")
        }))
    }

    fn stop_tracing(&self, request: StopTracing) -> Result<SessionReply, HResult> {
        let _ = self.running.compare_exchange(
            request.session_id,
            0,
            Ordering::SeqCst,
            Ordering::SeqCst,
        );
        if self.stops {
            Ok(SessionReply { session_id: request.session_id })
        } else {
            Err(HResult::FAIL)
        }
    }
}

/// Cancels on drop: a failed check ends its test, and does not block it.
pub(crate) struct Cancels<'c>(pub(crate) &'c Canceller);

impl Drop for Cancels<'_> {
    fn drop(&mut self) {
        self.0.cancel();
    }
}

/// Calls `with` with the socket of a runtime.
pub(crate) fn with_runtime<T>(runtime: &Runtime, with: impl FnOnce(&Path) -> T) -> T {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("runtime");
    let (listener, shutdown) = (UnixListener::bind(&path).unwrap(), Canceller::new().unwrap());
    thread::scope(|scope| {
        let serving = scope.spawn(|| serve(&listener, runtime, &ServeOptions::DEFAULT, &shutdown));
        let cancels = Cancels(&shutdown);
        let given = with(&path);
        drop(cancels);
        serving.join().unwrap().unwrap();
        given
    })
}
