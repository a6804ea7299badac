//! What the application does for the request of one connection, and what it then says.

use std::format;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::string::{String, ToString as _};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;
use std::vec::Vec;

use rustix::fs::{FileType, fstat};

use super::application::Application;
use super::misbehaviour::MisbehaviourKind as Kind;
use super::profile::Fate;
use super::session::Session;
use crate::command::Command;
use crate::conformance::known::is_told;
use crate::exchange::RefusalReason;
use crate::hresult::HResult;
use crate::io::server::{Entries, Handler, HeldSession, Refusal, StreamSession};
use crate::message::dump::{DumpType, GenerateCoreDump, GenerateCoreDump2, GenerateCoreDump3};
use crate::message::eventpipe::{
    CollectTracing, CollectTracing2, CollectTracing3, CollectTracing4, Format, SessionReply, StopTracing, StreamingSession,
    StreamingSession6, UserEventsSession,
};
use crate::message::process::{
    ApplyStartupHook, DisablePerfMap, EnablePerfMap, ProcessInfo2Reply, ProcessInfo3Reply, ProcessInfoReply, ResumeRuntime,
    SetEnvironmentVariable, Tail,
};
use crate::message::profiler::{AttachProfiler, StartupProfiler};
use crate::message::server::ResultReply;
use crate::message::{AnyRequest, Message};
use crate::port::PortId;
use crate::wire::{Decode as _, Encode as _, IpcString, LimitKind, Reader};

/// `HRESULT_FROM_WIN32(ERROR_MOD_NOT_FOUND)` (P-5).
const NO_SUCH_MODULE: HResult = HResult(0x8007_007E);
/// How long after the reply to a resume the runtime dies of a startup hook (P-27).
const DIES_AFTER: Duration = Duration::from_millis(100);
/// How long a dump takes.
const DUMP_TAKES: Duration = Duration::from_millis(400);

const DONE: ResultReply = ResultReply { hresult: HResult::OK };

/// The answers on one connection.
pub(super) struct Answers {
    pub(super) application: Arc<Application>,
    port: PortId,
    /// The entries, as they were when the block was asked for.
    environment: OnceLock<Vec<String>>,
    /// A session whose reply went out before its descriptor came.
    early: Mutex<Option<Session>>,
    stays_open: AtomicBool,
    /// The payload of the request goes on behind its last field.
    has_surplus: AtomicBool,
}

impl Answers {
    pub(super) const fn new(application: Arc<Application>, port: PortId) -> Self {
        let (stays_open, has_surplus) = (AtomicBool::new(false), AtomicBool::new(false));
        Self { application, port, environment: OnceLock::new(), early: Mutex::new(None), stays_open, has_surplus }
    }

    /// Whether the connection stays open, though the runtime has nothing to say any more (F-5, F-74).
    pub(super) fn stays_open(&self) -> bool {
        self.stays_open.load(Ordering::Relaxed)
    }

    pub(super) fn stay_open(&self, stays_open: bool) {
        self.stays_open.store(stays_open, Ordering::Relaxed);
    }

    /// Looks at a whole request.
    pub(super) fn look(&self, message: &Message<'_>) {
        let needed = message.request().ok().and_then(|request| request.encoded_len().ok());
        self.has_surplus.store(needed.is_some_and(|needed| needed < message.payload.len()), Ordering::Relaxed);
    }

    /// What becomes of a profiler with this path. None is there to be loaded, and none can be before the start (P-5). A path that ends
    /// at once is none (P-43).
    fn attach(&self, path: IpcString<'_>) -> HResult {
        let application = &self.application;
        // Before the payload is looked at.
        if !application.state().is_started() {
            return HResult::NOT_YET_AVAILABLE;
        }
        let surplus = application.profile.refuses_surplus(Command::ATTACH_PROFILER);
        if let Some(hresult) = surplus.filter(|_| self.has_surplus.load(Ordering::Relaxed)) {
            return hresult;
        }
        if path.is_empty_to_runtimes() { HResult::FAIL } else { NO_SUCH_MODULE }
    }

    /// Begins a session before its descriptor is there: its id, or 0.
    pub(super) fn begin_early(&self) -> u64 {
        let session = Session::begin(&self.application);
        let id = session.as_ref().map_or(0, Session::id);
        *self.early.lock().unwrap_or_else(PoisonError::into_inner) = session;
        id
    }

    /// F-32.
    fn begin(&self) -> Result<Session, HResult> {
        let early = self.early.lock().unwrap_or_else(PoisonError::into_inner).take();
        early.or_else(|| Session::begin(&self.application)).ok_or(HResult::FAIL)
    }

    fn stream(&self, format: Format, rundown: bool) -> Result<StreamSession<'_>, HResult> {
        let session = self.begin()?;
        let rundown = rundown && !is_told(self.application.profile, "F-104");
        Ok(StreamSession::new(session.id(), move |stream| session.stream(stream, format, rundown)))
    }

    fn die_if(&self, kills: bool) {
        if kills && self.application.dies {
            std::process::abort();
        }
    }

    /// No dump is ever written. What is said of it is what the recorded single files say.
    fn dump(&self, dump_type: DumpType, name: IpcString<'_>) -> Result<ResultReply, Refusal> {
        let application = &self.application;
        // Nobody else is served meanwhile (F-75).
        if !application.profile.pretends(Command::GENERATE_CORE_DUMP) {
            application.wait(Some(DUMP_TAKES), |_| None::<()>);
        }
        if application.wrong.has(Kind::SocketGone) {
            // It may be gone already.
            let _ = std::fs::remove_file(&application.socket);
        }
        let (profile, recorded) = (application.profile, &application.recorded);
        match (profile.dumps(dump_type, false), profile.dumps(dump_type, !is_writable(name))) {
            (Fate::Refused(hresult), _) => Err(Refusal { hresult, message: recorded.dump_error.clone() }),
            (_, Fate::Refused(hresult)) => Err(Refusal { hresult, message: Some(not_written(name)) }),
            (Fate::RefusedNotClosed(hresult), _) => {
                self.stay_open(true);
                Err(hresult.into())
            }
            (fate, _) => {
                self.stay_open(fate == Fate::NotClosed);
                Ok(DONE)
            }
        }
    }
}

impl Handler for Answers {
    fn check(&self, request: &AnyRequest<'_>) -> Result<(), Refusal> {
        if let Some(hresult) = self.application.wrong.number(Kind::Refuse) {
            return Err(HResult(hresult).into());
        }
        self.application.profile.lacks(request.command()).map_or(Ok(()), |hresult| Err(hresult.into()))
    }

    fn refuse(&self, request: Option<Message<'_>>, reason: RefusalReason) -> Refusal {
        let (profile, command) = (self.application.profile, request.map(|request| request.command));
        if let Some(path) = request.filter(|message| profile.takes(message, reason)).and_then(|message| profiler_path(&message)) {
            // F-54.
            return self.attach(path).into();
        }
        let kills = request.is_some_and(|message| profile.dies_of(&message, reason));
        self.die_if(kills);
        // Where a runtime dies there is nothing to be like.
        self.stay_open(!kills && profile.stays_open(command, reason));
        let is_dump_type = matches!(reason, RefusalReason::OverLimit { kind: LimitKind::UnknownDumpType(_), .. });
        // P-3.
        let message = (is_dump_type && command == Some(Command::GENERATE_CORE_DUMP3)).then(String::new);
        Refusal { hresult: profile.refusal(command, reason), message }
    }

    fn generate_core_dump(&self, request: GenerateCoreDump<'_>) -> Result<ResultReply, HResult> {
        self.dump(request.dump_type, request.dump_name).map_err(|refusal| refusal.hresult)
    }

    fn generate_core_dump2(&self, request: GenerateCoreDump2<'_>) -> Result<ResultReply, HResult> {
        self.dump(request.dump_type, request.dump_name).map_err(|refusal| refusal.hresult)
    }

    fn generate_core_dump3(&self, request: GenerateCoreDump3<'_>) -> Result<ResultReply, Refusal> {
        self.dump(request.dump_type, request.dump_name)
    }

    fn stop_tracing(&self, request: StopTracing) -> Result<SessionReply, HResult> {
        let (application, id) = (&self.application, request.session_id);
        application.stop_session(id);
        // The stream is written to its end first, and that needs a reader (F-75).
        application.wait(None, |state| state.is_over(id).then_some(()));
        Ok(SessionReply { session_id: id.wrapping_add(u64::from(application.wrong.has(Kind::StopAnother))) })
    }

    fn collect_tracing(&self, request: CollectTracing<'_>) -> Result<StreamSession<'_>, HResult> {
        self.stream(request.format, true)
    }

    fn collect_tracing2(&self, request: CollectTracing2<'_>) -> Result<StreamSession<'_>, HResult> {
        self.stream(request.format, request.request_rundown)
    }

    fn collect_tracing3(&self, request: CollectTracing3<'_>) -> Result<StreamSession<'_>, HResult> {
        self.stream(request.format, request.request_rundown)
    }

    fn collect_tracing4(&self, request: CollectTracing4<'_>) -> Result<StreamSession<'_>, HResult> {
        self.stream(request.format, request.rundown_keyword != 0)
    }

    fn collect_tracing5(&self, request: StreamingSession<'_>) -> Result<StreamSession<'_>, HResult> {
        self.stream(request.format, request.rundown_keyword != 0)
    }

    fn collect_tracing6(&self, request: StreamingSession6<'_>) -> Result<StreamSession<'_>, HResult> {
        self.stream(request.format, request.rundown_keyword != 0)
    }

    fn collect_user_events(&self, request: UserEventsSession<'_>, fd: OwnedFd) -> Result<HeldSession<'_>, HResult> {
        // The file of user events is a regular one, and what stands for it in tests a socket. What is neither, the kernel does not
        // register at.
        let kind = fstat(&fd).map(|stat| FileType::from_raw_mode(stat.st_mode));
        if !matches!(kind, Ok(FileType::RegularFile | FileType::Socket)) || !registers(&request) {
            return Err(HResult::FAIL);
        }
        let session = self.begin()?;
        Ok(HeldSession::new(session.id(), move |connection| session.hold(connection)))
    }

    fn attach_profiler(&self, request: AttachProfiler<'_>) -> Result<ResultReply, HResult> {
        Err(self.attach(request.profiler_path))
    }

    fn startup_profiler(&self, _: StartupProfiler<'_>) -> Result<ResultReply, HResult> {
        Ok(DONE)
    }

    fn process_info(&self) -> Result<ProcessInfoReply<'_>, HResult> {
        let ProcessInfo3Reply { process_id, runtime_cookie, command_line, os, arch, .. } = self.process_info3()?;
        Ok(ProcessInfoReply { process_id, runtime_cookie, command_line, os, arch })
    }

    fn resume_runtime(&self, _: ResumeRuntime) -> Result<ResultReply, HResult> {
        if self.application.resume(self.port) && self.application.dies {
            // After the reply.
            std::thread::spawn(|| {
                std::thread::sleep(DIES_AFTER);
                std::process::abort();
            });
        }
        Ok(DONE)
    }

    fn process_environment(&self) -> Result<Entries<'_>, HResult> {
        let entries = self.environment.get_or_init(|| self.application.state().environment.clone());
        Ok(entries.iter().map(String::as_str).collect())
    }

    fn set_environment_variable(&self, request: SetEnvironmentVariable<'_>) -> Result<ResultReply, HResult> {
        let profile = self.application.profile;
        self.die_if(profile.dies_of_variable(&request));
        profile.refuses_variable(&request).map_or(Ok(()), Err)?;
        self.application.set_variable(&request).map(|()| DONE)
    }

    fn process_info2(&self) -> Result<ProcessInfo2Reply<'_>, HResult> {
        let info = self.process_info3()?;
        Ok(ProcessInfo2Reply {
            process_id: info.process_id,
            runtime_cookie: info.runtime_cookie,
            command_line: info.command_line,
            os: info.os,
            arch: info.arch,
            managed_entrypoint_assembly_name: info.managed_entrypoint_assembly_name,
            clr_product_version: info.clr_product_version,
        })
    }

    fn enable_perf_map(&self, _: EnablePerfMap) -> Result<ResultReply, HResult> {
        let is_suspended = !self.application.state().is_started();
        self.die_if(is_suspended && self.application.profile.dies_suspended(Command::ENABLE_PERF_MAP));
        Ok(DONE)
    }

    fn disable_perf_map(&self, _: DisablePerfMap) -> Result<ResultReply, HResult> {
        Ok(DONE)
    }

    /// P-1, P-2, P-27, P-43.
    fn apply_startup_hook(&self, request: ApplyStartupHook<'_>) -> Result<ResultReply, HResult> {
        let (application, path) = (&self.application, request.startup_hook_path);
        if path.is_empty_to_runtimes() || Path::new(&path.to_string()).exists() {
            return Ok(DONE);
        }
        let is_suspended = !application.state().is_started();
        let fate = application.profile.misses_hook(is_suspended);
        if is_suspended {
            application.state().is_doomed |= fate == Fate::Dies;
            return Ok(DONE);
        }
        self.die_if(fate == Fate::Dies);
        match fate {
            Fate::Done | Fate::NotClosed => Ok(DONE),
            Fate::Refused(hresult) | Fate::RefusedNotClosed(hresult) => Err(hresult),
            // Where it may not die.
            Fate::Dies => Err(HResult::INVALID_ARG),
        }
    }

    fn process_info3(&self) -> Result<ProcessInfo3Reply<'_>, HResult> {
        let info = self.application.info();
        Ok(ProcessInfo3Reply {
            version: 1,
            process_id: self.application.process_id.into(),
            runtime_cookie: self.application.cookie,
            command_line: info.command_line.as_str().into(),
            os: info.os.as_str().into(),
            arch: info.arch.as_str().into(),
            managed_entrypoint_assembly_name: info.entry_assembly.as_str().into(),
            clr_product_version: info.version.as_str().into(),
            runtime_identifier: info.rid.as_str().into(),
            tail: Tail::default(),
        })
    }
}

/// The path in an `AttachProfiler`, whatever follows it.
fn profiler_path<'a>(message: &Message<'a>) -> Option<IpcString<'a>> {
    let behind_guid = message.payload.get(20..).filter(|_| message.command == Command::ATTACH_PROFILER)?;
    IpcString::decode(&mut Reader::new(behind_guid)).ok()
}

/// Whether a dump of that name could be written: its directory is there, and it is none itself (P-46). An empty name is that of a
/// file of the runtime's own choice.
fn is_writable(name: IpcString<'_>) -> bool {
    let name = name.to_string();
    let path = Path::new(name.split('\0').next().unwrap_or_default());
    let directory = path.parent().is_none_or(|parent| parent.as_os_str().is_empty() || parent.is_dir());
    name.is_empty() || (directory && !path.is_dir())
}

/// What a createdump says of a dump whose directory is not there (P-46).
fn not_written(name: IpcString<'_>) -> String {
    let took = DUMP_TAKES.as_millis();
    format!(
        "[createdump] Could not create output file '{name}': No such file or directory (2)\n[createdump] Failure took {took}ms\n"
    )
}

/// Whether the kernel takes the tracepoints: an empty default, which is no name, it does not (P-7, P-43). The limits have refused what
/// else it would not take.
fn registers(request: &UserEventsSession<'_>) -> bool {
    request.providers.iter().all(|provider| {
        let name = provider.config.default_tracepoint_name;
        name.is_absent() || !name.is_empty_to_runtimes()
    })
}
