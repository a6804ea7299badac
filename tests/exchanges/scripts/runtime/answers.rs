//! What the application does for a request, and what it answers then.

use dotnet_diagnostics_ipc::continuation::{Entry, EnvironmentEncoder};
use dotnet_diagnostics_ipc::exchange::Server;
use dotnet_diagnostics_ipc::hresult::HResult;
use dotnet_diagnostics_ipc::message::AnyRequest;
use dotnet_diagnostics_ipc::message::eventpipe::{
    CollectTracing5, CollectTracing6, Format, SessionReply, UserEventsSession,
};
use dotnet_diagnostics_ipc::message::process::{
    ProcessInfo2Reply, ProcessInfo3Reply, ProcessInfoReply, SetEnvironmentVariable, Tail,
};
use dotnet_diagnostics_ipc::message::server::ResultReply;
use dotnet_diagnostics_ipc::port::PortId;
use dotnet_diagnostics_ipc::wire::IpcString;

use super::{Application, COOKIE, PROCESS_ID, Session};
use crate::scripts::executor::within;

const MOST_SESSIONS: usize = 64;
/// In milliseconds.
const DUMP_TAKES: u64 = 400;
/// `HRESULT_FROM_WIN32(ERROR_ENVVAR_NOT_FOUND)` and `(ERROR_MOD_NOT_FOUND)` (F-80).
const NO_SUCH_VARIABLE: HResult = HResult(0x8007_00CB);
const NO_SUCH_MODULE: HResult = HResult(0x8007_007E);
/// `CORPROF_E_RUNTIME_UNINITIALIZED` as it is seen before the runtime runs (F-56).
const NOT_RUNNING_YET: HResult = HResult(0x8013_135B);

/// What a request leads to; independent of its bytes.
pub(super) enum Answer {
    Done,
    Fails(HResult),
    Dump,
    ProcessInfo(u8),
    Environment,
    Session { format: Format, rundown: bool },
    UserEvents { registers: bool },
    Stop(u64),
}

impl Application {
    /// What the runtime does for a request.
    pub(super) fn answer(&self, request: &AnyRequest<'_>, port: PortId) -> Answer {
        let session = |format, rundown| Answer::Session { format, rundown };
        match request {
            AnyRequest::ProcessInfo(_) => Answer::ProcessInfo(1),
            AnyRequest::ProcessInfo2(_) => Answer::ProcessInfo(2),
            AnyRequest::ProcessInfo3(_) => Answer::ProcessInfo(3),
            AnyRequest::ProcessEnvironment(_) => Answer::Environment,
            AnyRequest::SetEnvironmentVariable(request) => self.set_variable(request),
            AnyRequest::ResumeRuntime(_) => {
                self.suspension.borrow_mut().resume(port).unwrap();
                Answer::Done
            }
            AnyRequest::StopTracing(request) => Answer::Stop(request.session_id),
            AnyRequest::CollectTracing(request) => session(request.format, true),
            AnyRequest::CollectTracing2(request) => {
                session(request.format, request.request_rundown)
            }
            AnyRequest::CollectTracing3(request) => {
                session(request.format, request.request_rundown)
            }
            AnyRequest::CollectTracing4(request) => {
                session(request.format, request.rundown_keyword != 0)
            }
            AnyRequest::CollectTracing5(CollectTracing5::Streaming(request)) => {
                session(request.format, request.rundown_keyword != 0)
            }
            AnyRequest::CollectTracing6(CollectTracing6::Streaming(request)) => {
                session(request.format, request.rundown_keyword != 0)
            }
            AnyRequest::CollectTracing5(CollectTracing5::UserEvents(request))
            | AnyRequest::CollectTracing6(CollectTracing6::UserEvents(request)) => {
                Answer::UserEvents { registers: registers(request) }
            }
            // There is no profiler to load, and before the start none can be loaded (F-56).
            AnyRequest::AttachProfiler(_) if !self.suspension.borrow().is_started() => {
                Answer::Fails(NOT_RUNNING_YET)
            }
            AnyRequest::AttachProfiler(request) if request.profiler_path.is_absent() => {
                Answer::Fails(HResult::FAIL)
            }
            AnyRequest::AttachProfiler(_) => Answer::Fails(NO_SUCH_MODULE),
            AnyRequest::GenerateCoreDump(_)
            | AnyRequest::GenerateCoreDump2(_)
            | AnyRequest::GenerateCoreDump3(_) => Answer::Dump,
            _ => Answer::Done,
        }
    }

    /// F-80.
    fn set_variable(&self, request: &SetEnvironmentVariable<'_>) -> Answer {
        let text =
            |string: IpcString<'_>| string.to_string().split('\0').next().unwrap().to_owned();
        let prefix = format!("{}=", text(request.name));
        let mut environment = self.environment.borrow_mut();
        let there = environment.iter().any(|entry| entry.starts_with(&prefix));
        if prefix == "=" {
            return Answer::Done;
        }
        if request.value.is_absent() && !there {
            return Answer::Fails(NO_SUCH_VARIABLE);
        }
        environment.retain(|entry| !entry.starts_with(&prefix));
        if !request.value.is_absent() {
            environment.push(prefix + &text(request.value));
        }
        Answer::Done
    }

    /// Gives the answer. Returns what is left of an environment.
    pub(super) async fn respond(
        &self,
        server: &mut Server,
        buffer: &mut [u8],
        answer: &Answer,
    ) -> Option<(Vec<String>, usize)> {
        let full = self.sessions.borrow().values().filter(|session| !session.over).count()
            >= MOST_SESSIONS;
        match answer {
            Answer::Done => server.respond(&ResultReply { hresult: HResult::OK }, buffer).unwrap(),
            Answer::Fails(hresult) => server.refuse(*hresult, buffer).unwrap(),
            Answer::Dump => {
                // No other client is served meanwhile (F-75).
                within(&self.net, Some(DUMP_TAKES), |_| None::<()>).await;
                server.respond(&ResultReply { hresult: HResult::OK }, buffer).unwrap();
            }
            Answer::ProcessInfo(version) => self.process_info(*version, server, buffer),
            Answer::Environment => {
                let entries = self.environment.borrow().clone();
                let encoder =
                    EnvironmentEncoder::new(entries.iter().map(|entry| Entry::new(entry))).unwrap();
                server.respond(&encoder.reply(), buffer).unwrap();
                return Some((entries, 0));
            }
            Answer::UserEvents { registers: false } => {
                server.refuse(HResult::FAIL, buffer).unwrap();
            }
            Answer::Session { .. } | Answer::UserEvents { .. } if full => {
                server.refuse(HResult::FAIL, buffer).unwrap();
            }
            Answer::Session { .. } | Answer::UserEvents { .. } => {
                let id = self.last_session.get() + 0x110;
                self.last_session.set(id);
                self.sessions.borrow_mut().insert(id, Session { stop: false, over: false });
                server.respond(&SessionReply { session_id: id }, buffer).unwrap();
            }
            Answer::Stop(id) => {
                if let Some(session) = self.sessions.borrow_mut().get_mut(id) {
                    session.stop = true;
                }
                // The stream is written to its end first, and that needs a reader (F-75).
                within(&self.net, None, |_| {
                    self.sessions.borrow().get(id).is_none_or(|session| session.over).then_some(())
                })
                .await;
                server.respond(&SessionReply { session_id: *id }, buffer).unwrap();
            }
        }
        None
    }

    fn process_info(&self, version: u8, server: &mut Server, buffer: &mut [u8]) {
        let started = self.suspension.borrow().is_started();
        // F-79.
        let command_line =
            IpcString::new(if started { "/app/app app.dll --serve" } else { "/app/app" });
        let (process_id, runtime_cookie, os, arch) =
            (PROCESS_ID, COOKIE, "Linux".into(), "x64".into());
        let managed_entrypoint_assembly_name = IpcString::new(if started { "app" } else { "" });
        let (clr_product_version, runtime_identifier) = ("10.0.9".into(), "linux-x64".into());
        let responded = match version {
            1 => server.respond(
                &ProcessInfoReply { process_id, runtime_cookie, command_line, os, arch },
                buffer,
            ),
            2 => {
                let reply = ProcessInfo2Reply {
                    process_id,
                    runtime_cookie,
                    command_line,
                    os,
                    arch,
                    managed_entrypoint_assembly_name,
                    clr_product_version,
                };
                server.respond(&reply, buffer)
            }
            _ => {
                let reply = ProcessInfo3Reply {
                    version: 1,
                    process_id,
                    runtime_cookie,
                    command_line,
                    os,
                    arch,
                    managed_entrypoint_assembly_name,
                    clr_product_version,
                    runtime_identifier,
                    tail: Tail::default(),
                };
                server.respond(&reply, buffer)
            }
        };
        responded.unwrap();
    }
}

/// Whether the kernel accepts the tracepoints: it refuses an empty default, which is not a name
/// (P-7). The limits have refused what else it would refuse.
fn registers(request: &UserEventsSession<'_>) -> bool {
    request.providers.iter().all(|provider| {
        let name = provider.config.default_tracepoint_name;
        name.is_absent() || !name.is_empty()
    })
}
