//! A handler that records what it was asked.

use std::fmt::Debug;
use std::io::Write as _;
use std::os::fd::OwnedFd;
use std::sync::{Condvar, Mutex};
use std::time::Duration;

use dotnet_diagnostics_ipc::hresult::HResult;
use dotnet_diagnostics_ipc::io::server::{
    Entries, Handler, HeldSession, Refusal, Served, StreamSession,
};
use dotnet_diagnostics_ipc::message::dump::{
    GenerateCoreDump, GenerateCoreDump2, GenerateCoreDump3,
};
use dotnet_diagnostics_ipc::message::eventpipe::*;
use dotnet_diagnostics_ipc::message::process::*;
use dotnet_diagnostics_ipc::message::profiler::{AttachProfiler, StartupProfiler};
use dotnet_diagnostics_ipc::message::server::ResultReply;
use dotnet_diagnostics_ipc::wire::{Guid, IpcString};

/// A handler that records in words what it was asked.
#[derive(Default)]
pub(crate) struct Runtime {
    pub(crate) asked: Mutex<Vec<String>>,
    pub(crate) served: Mutex<Vec<Served>>,
    pub(crate) stop: (Mutex<bool>, Condvar),
    pub(crate) broken_off: Option<(u32, HResult)>,
}

const OK: Result<ResultReply, HResult> = Ok(ResultReply { hresult: HResult::OK });

impl Runtime {
    fn note(&self, request: impl Debug) -> Result<ResultReply, HResult> {
        self.asked.lock().unwrap().push(format!("{request:?}"));
        OK
    }

    fn stream(&self, request: impl Debug) -> Result<StreamSession<'_>, HResult> {
        self.note(request)?;
        Ok(StreamSession::new(42, |stream| stream.write_all(b"Nettrace and more")))
    }

    /// The results of the connections, once this many have ended.
    pub(crate) fn served(&self, count: usize) -> Vec<Served> {
        crate::server::eventually(|| self.served.lock().unwrap().len() >= count);
        self.served.lock().unwrap().clone()
    }
}

/// Methods that write their request down, and answer OK or stream.
macro_rules! noted {
    ($($method:ident($Request:ty) -> $Reply:ty = $answer:ident;)*) => {$(
        fn $method(&self, request: $Request) -> Result<$Reply, HResult> {
            self.$answer(request)
        }
    )*};
}

impl Handler for Runtime {
    noted! {
        generate_core_dump(GenerateCoreDump<'_>) -> ResultReply = note;
        generate_core_dump2(GenerateCoreDump2<'_>) -> ResultReply = note;
        collect_tracing(CollectTracing<'_>) -> StreamSession<'_> = stream;
        collect_tracing4(CollectTracing4<'_>) -> StreamSession<'_> = stream;
        collect_tracing5(StreamingSession<'_>) -> StreamSession<'_> = stream;
        collect_tracing6(StreamingSession6<'_>) -> StreamSession<'_> = stream;
        attach_profiler(AttachProfiler<'_>) -> ResultReply = note;
        startup_profiler(StartupProfiler<'_>) -> ResultReply = note;
        resume_runtime(ResumeRuntime) -> ResultReply = note;
        set_environment_variable(SetEnvironmentVariable<'_>) -> ResultReply = note;
        enable_perf_map(EnablePerfMap) -> ResultReply = note;
        disable_perf_map(DisablePerfMap) -> ResultReply = note;
        apply_startup_hook(ApplyStartupHook<'_>) -> ResultReply = note;
    }
    fn generate_core_dump3(&self, request: GenerateCoreDump3<'_>) -> Result<ResultReply, Refusal> {
        let _ = self.note(request);
        Err(Refusal { hresult: HResult::FAIL, message: Some("the disk is full".into()) })
    }
    fn stop_tracing(&self, request: StopTracing) -> Result<SessionReply, HResult> {
        *self.stop.0.lock().unwrap() = true;
        self.stop.1.notify_all();
        Ok(SessionReply { session_id: request.session_id })
    }
    /// The session lasts until it is stopped.
    fn collect_tracing2(&self, _: CollectTracing2<'_>) -> Result<StreamSession<'_>, HResult> {
        Ok(StreamSession::new(7, |stream| {
            stream.write_all(b"Nettrace")?;
            while !*self.stop.0.lock().unwrap() {
                if stream.pause(Duration::from_millis(5))? {
                    return Ok(());
                }
            }
            stream.write_all(b" tail")
        }))
    }
    /// Never stops, and waits only for the client.
    fn collect_tracing3(&self, _: CollectTracing3<'_>) -> Result<StreamSession<'_>, HResult> {
        Ok(StreamSession::new(3, |stream| {
            let much = vec![0x55; 100_000];
            loop {
                stream.write_all(&much)?;
            }
        }))
    }
    fn collect_user_events(
        &self,
        request: UserEventsSession<'_>,
        fd: OwnedFd,
    ) -> Result<HeldSession<'_>, HResult> {
        let _ = self.note(format_args!("user_events {}", request.providers.len()));
        Ok(HeldSession::new(9, |connection| {
            let mut file = std::fs::File::from(fd);
            file.write_all(b"written by the server").unwrap();
            while let Ok(false) = connection.wait(None) {}
            let _ = self.note(format_args!("hung up"));
        }))
    }
    fn process_info(&self) -> Result<ProcessInfoReply<'_>, HResult> {
        Ok(INFO)
    }
    fn process_environment(&self) -> Result<Entries<'_>, HResult> {
        Ok(Entries { broken_off: self.broken_off, ..ENVIRONMENT.into_iter().collect() })
    }
    fn process_info2(&self) -> Result<ProcessInfo2Reply<'_>, HResult> {
        Ok(INFO2)
    }
    fn process_info3(&self) -> Result<ProcessInfo3Reply<'_>, HResult> {
        Err(HResult::NOT_SUPPORTED)
    }
    fn served(&self, served: &Served) {
        self.served.lock().unwrap().push(*served);
    }
}

const ENVIRONMENT: [&str; 2] = ["A=1", "=C:=C:\\"];
pub(crate) const INFO: ProcessInfoReply<'_> = ProcessInfoReply {
    process_id: 12345,
    runtime_cookie: Guid::NIL,
    command_line: IpcString::new("app"),
    os: IpcString::new("Linux"),
    arch: IpcString::new("x64"),
};
pub(crate) const INFO2: ProcessInfo2Reply<'_> = ProcessInfo2Reply {
    process_id: 12345,
    runtime_cookie: Guid::NIL,
    command_line: IpcString::new("app"),
    os: IpcString::new("Linux"),
    arch: IpcString::new("x64"),
    managed_entrypoint_assembly_name: IpcString::new("app"),
    clr_product_version: IpcString::new("10.0"),
};
