//! The application's reaction to the request of one connection, and its answer.

use std::fs::File;
use std::io::Write as _;
#[cfg(unix)]
use std::os::fd::OwnedFd;
use std::path::{Component, Path};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use dotnet_diagnostics_ipc::command::Command;
use dotnet_diagnostics_ipc::exchange::RefusalReason;
use dotnet_diagnostics_ipc::hresult::HResult;
use dotnet_diagnostics_ipc::io::server::{Entries, Handler, Refusal, StreamSession};
use dotnet_diagnostics_ipc::message::dump::{
    DumpFlags, DumpType, GenerateCoreDump, GenerateCoreDump2, GenerateCoreDump3,
};
use dotnet_diagnostics_ipc::message::eventpipe::{
    CollectTracing, CollectTracing2, CollectTracing3, CollectTracing4, Format, SessionReply,
    StopTracing, StreamingProviderConfig, StreamingSession, StreamingSession6,
};
use dotnet_diagnostics_ipc::message::process::{
    ApplyStartupHook, DisablePerfMap, EnablePerfMap, ProcessInfo2Reply, ProcessInfo3Reply,
    ProcessInfoReply, ResumeRuntime, SetEnvironmentVariable, Tail,
};
use dotnet_diagnostics_ipc::message::profiler::{AttachProfiler, StartupProfiler};
use dotnet_diagnostics_ipc::message::server::ResultReply;
use dotnet_diagnostics_ipc::message::{AnyRequest, Message};
use dotnet_diagnostics_ipc::port::PortId;
use dotnet_diagnostics_ipc::wire::{Encode as _, IpcString, WireErrorKind};
#[cfg(unix)]
use dotnet_diagnostics_ipc::{io::server::HeldSession, message::eventpipe::UserEventsSession};
#[cfg(unix)]
use rustix::fs::{FileType, fstat};

use super::application::Application;
use super::misbehaviour::MisbehaviourKind as Kind;
use super::session::RequestedEvents;
use super::session::Session;
use super::system;
use crate::known::{Does, is_told};

/// The error `HRESULT_FROM_WIN32(ERROR_MOD_NOT_FOUND)` (P-5).
const NO_SUCH_MODULE: HResult = HResult(0x8007_007E);
/// The time between the reply to a resume and the death of a runtime by a startup hook (P-27).
const DEATH_DELAY: Duration = Duration::from_millis(100);

/// How long a dump takes.
const DUMP_TIME: Duration = Duration::from_millis(400);

/// The message of a createdump that cannot write a crash report for a single file (P-56).
const NO_CRASH_REPORT: &str = "[createdump] The app model does not support crash report generation\n[createdump] Failure took 0ms\n";

/// The start of a core file: ELF, 64 bits, little-endian, version 1, any system, `ET_CORE`.
const CORE: &[u8] = b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0\x04\0";

const DONE: ResultReply = ResultReply { hresult: HResult::OK };

pub(super) struct Answers {
    pub(super) application: Arc<Application>,
    port: PortId,
    /// The entries at the time of the request for the environment.
    environment: OnceLock<Vec<String>>,
    /// A session whose reply was sent before its descriptor was received.
    early: Mutex<Option<Session>>,
    stays_open: AtomicBool,
    /// Whether the payload of the request continues after its last field.
    has_surplus: AtomicBool,
}

impl Answers {
    pub(super) const fn new(application: Arc<Application>, port: PortId) -> Self {
        let (stays_open, has_surplus) = (AtomicBool::new(false), AtomicBool::new(false));
        Self {
            application,
            port,
            environment: OnceLock::new(),
            early: Mutex::new(None),
            stays_open,
            has_surplus,
        }
    }

    /// Whether the connection stays open although nothing more is sent (F-5, F-74).
    pub(super) fn stays_open(&self) -> bool {
        self.stays_open.load(Ordering::Relaxed)
    }

    pub(super) fn stay_open(&self, stays_open: bool) {
        self.stays_open.store(stays_open, Ordering::Relaxed);
    }

    pub(super) fn look(&self, message: &Message<'_>) {
        let needed = message.request().ok().and_then(|request| request.encoded_len().ok());
        self.has_surplus
            .store(needed.is_some_and(|needed| needed < message.payload.len()), Ordering::Relaxed);
    }

    /// Whether any profiler command is refused because the runtime has not started (F-153).
    fn is_too_early(&self, command: Option<Command>, reason: RefusalReason) -> bool {
        let is_of_payload =
            matches!(reason, RefusalReason::Malformed(_) | RefusalReason::OverLimit(_));
        is_of_payload
            && command == Some(Command::ATTACH_PROFILER)
            && self.application.profile.lacks(Command::ATTACH_PROFILER).is_none()
            && !self.application.state().is_started()
    }

    /// Returns the result of attaching a profiler with this path. None can be loaded before the
    /// start (P-5), and there is none. A path that begins with a NUL counts as missing (P-43).
    fn attach(&self, path: IpcString<'_>) -> HResult {
        let application = &self.application;
        // This comes before the check of the payload.
        if !application.state().is_started() {
            return HResult::NOT_YET_AVAILABLE;
        }
        let surplus = application.profile.refuses_surplus(Command::ATTACH_PROFILER);
        if let Some(hresult) = surplus.filter(|_| self.has_surplus.load(Ordering::Relaxed)) {
            return hresult;
        }
        if path.is_empty_to_runtimes() { HResult::FAIL } else { NO_SUCH_MODULE }
    }

    #[cfg(unix)]
    /// Starts a session before its descriptor is received. Returns its id, or 0.
    pub(super) fn begin_early(&self) -> u64 {
        let session = Session::begin(&self.application);
        let id = session.as_ref().map_or(0, Session::id);
        *self.early.lock().unwrap_or_else(PoisonError::into_inner) = session;
        id
    }

    /// Starts a session, unless there are too many (F-32).
    fn begin(&self) -> Result<Session, HResult> {
        let early = self.early.lock().unwrap_or_else(PoisonError::into_inner).take();
        early.or_else(|| Session::begin(&self.application)).ok_or(HResult::FAIL)
    }

    fn stream<'p>(
        &self,
        format: Format,
        rundown: bool,
        providers: impl Iterator<Item = StreamingProviderConfig<'p>>,
    ) -> Result<StreamSession<'_>, HResult> {
        let session = self.begin()?;
        let rundown = rundown && !is_told(self.application.profile, "F-104");
        let events = RequestedEvents::of(providers, self.application.state().is_started());
        Ok(StreamSession::new(session.id(), move |stream| {
            session.stream(stream, format, rundown, events)
        }))
    }

    fn die_if(&self, kills: bool) {
        if kills {
            self.application.die();
        }
    }

    /// Answers a dump, with messages as recorded for single files.
    fn dump(
        &self,
        dump_type: DumpType,
        flags: DumpFlags,
        name: IpcString<'_>,
    ) -> Result<ResultReply, Refusal> {
        let application = &self.application;
        // No other client is served meanwhile (F-75).
        application.wait(Some(DUMP_TIME), |_| None::<()>);
        if application.wrong.has(Kind::SocketGone) {
            system::remove(&application.socket);
        }
        let profile = application.profile;
        let failed = |message| Err(Refusal { hresult: HResult::FAIL, message });
        let is_partial = dump_type != DumpType::FULL;
        if profile.lacks_createdump() || profile.is_single_file() && is_partial {
            return failed(application.recorded.dump_error.clone());
        }
        if profile.is_single_file() && flags.0 & DumpFlags::CRASH_REPORT.0 != 0 {
            return failed(Some(NO_CRASH_REPORT.to_string()));
        }
        match profile.dumps() {
            Some(Does::LeavesOpen(hresult)) if hresult != HResult::OK => {
                self.stay_open(true);
                Err(hresult.into())
            }
            // The directory does not exist (P-46).
            None if !is_writable(application.dumps.as_deref(), name) => {
                failed(Some(not_written(name, DUMP_TIME)))
            }
            does => {
                self.stay_open(matches!(does, Some(Does::LeavesOpen(_))));
                if let Some(directory) = &application.dumps {
                    write_dump(directory, name);
                }
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
        let command = request.command();
        // An empty text follows the code (F-98).
        let message = (command == Command::GENERATE_CORE_DUMP3).then(String::new);
        self.application
            .profile
            .lacks(command)
            .map_or(Ok(()), |hresult| Err(Refusal { hresult, message }))
    }

    fn refuse(&self, request: Option<Message<'_>>, reason: RefusalReason) -> Refusal {
        let (profile, command) = (self.application.profile, request.map(|request| request.command));
        if self.is_too_early(command, reason) {
            self.stay_open(false);
            return HResult::NOT_YET_AVAILABLE.into();
        }
        let is_malformed = matches!(reason, RefusalReason::Malformed(_));
        let is_empty = request.is_some_and(|request| request.payload.is_empty());
        let hresult = profile.refusal(command, reason);
        // Another error shows that the payload is not read (F-91).
        let is_read = is_malformed && hresult == reason.hresult();
        if is_read && is_empty && self.application.wrong.has(Kind::DiesOfEmptyPayload) {
            std::process::abort();
        }
        self.stay_open(profile.stays_open(command, reason));
        let is_dump_type = matches!(
            reason,
            RefusalReason::OverLimit(error) if matches!(error.kind(), WireErrorKind::UnknownDumpType { .. })
        );
        // This error has an empty text (P-3).
        let message =
            (is_dump_type && command == Some(Command::GENERATE_CORE_DUMP3)).then(String::new);
        Refusal { hresult, message }
    }

    fn generate_core_dump(&self, request: GenerateCoreDump<'_>) -> Result<ResultReply, HResult> {
        self.dump(request.dump_type, DumpFlags::NONE, request.dump_name)
            .map_err(|refusal| refusal.hresult)
    }

    fn generate_core_dump2(&self, request: GenerateCoreDump2<'_>) -> Result<ResultReply, HResult> {
        self.dump(request.dump_type, request.flags, request.dump_name)
            .map_err(|refusal| refusal.hresult)
    }

    fn generate_core_dump3(&self, request: GenerateCoreDump3<'_>) -> Result<ResultReply, Refusal> {
        self.dump(request.dump_type, request.flags, request.dump_name)
    }

    fn stop_tracing(&self, request: StopTracing) -> Result<SessionReply, HResult> {
        let (application, id) = (&self.application, request.session_id);
        application.stop_session(id);
        // The rest of the stream is written first, which requires a reader (F-75).
        application.wait(None, |state| state.is_over(id).then_some(()));
        Ok(SessionReply {
            session_id: id.wrapping_add(u64::from(application.wrong.has(Kind::StopAnother))),
        })
    }

    fn collect_tracing(&self, request: CollectTracing<'_>) -> Result<StreamSession<'_>, HResult> {
        self.stream(request.format, true, request.providers.iter().map(Into::into))
    }

    fn collect_tracing2(&self, request: CollectTracing2<'_>) -> Result<StreamSession<'_>, HResult> {
        let rundown = request.request_rundown;
        self.stream(request.format, rundown, request.providers.iter().map(Into::into))
    }

    fn collect_tracing3(&self, request: CollectTracing3<'_>) -> Result<StreamSession<'_>, HResult> {
        let rundown = request.request_rundown;
        self.stream(request.format, rundown, request.providers.iter().map(Into::into))
    }

    fn collect_tracing4(&self, request: CollectTracing4<'_>) -> Result<StreamSession<'_>, HResult> {
        let rundown = request.rundown_keyword != 0;
        self.stream(request.format, rundown, request.providers.iter().map(Into::into))
    }

    fn collect_tracing5(
        &self,
        request: StreamingSession<'_>,
    ) -> Result<StreamSession<'_>, HResult> {
        self.stream(request.format, request.rundown_keyword != 0, request.providers.iter())
    }

    fn collect_tracing6(
        &self,
        request: StreamingSession6<'_>,
    ) -> Result<StreamSession<'_>, HResult> {
        self.stream(request.format, request.rundown_keyword != 0, request.providers.iter())
    }

    #[cfg(unix)]
    fn collect_user_events(
        &self,
        request: UserEventsSession<'_>,
        fd: OwnedFd,
    ) -> Result<HeldSession<'_>, HResult> {
        // The user events file is a regular file, or a socket that replaces it in tests. The kernel
        // registers nothing for any other kind.
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
        let ProcessInfo3Reply { process_id, runtime_cookie, command_line, os, arch, .. } =
            self.process_info3()?;
        Ok(ProcessInfoReply { process_id, runtime_cookie, command_line, os, arch })
    }

    fn resume_runtime(&self, _: ResumeRuntime) -> Result<ResultReply, HResult> {
        if self.application.resume(self.port) {
            // The death comes after the reply.
            let application = Arc::clone(&self.application);
            std::thread::spawn(move || {
                std::thread::sleep(DEATH_DELAY);
                application.die();
            });
        }
        Ok(DONE)
    }

    fn process_environment(&self) -> Result<Entries<'_>, HResult> {
        if self.application.kills_by_its_environment {
            self.die_if(true);
            // This is the answer if the runtime must not die.
            return Err(HResult::FAIL);
        }
        let entries = self.environment.get_or_init(|| self.application.state().environment.clone());
        Ok(entries.iter().map(String::as_str).collect())
    }

    fn set_environment_variable(
        &self,
        request: SetEnvironmentVariable<'_>,
    ) -> Result<ResultReply, HResult> {
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

    fn enable_perf_map(&self, request: EnablePerfMap) -> Result<ResultReply, HResult> {
        let is_suspended = !self.application.state().is_started();
        self.die_if(
            is_suspended && self.application.profile.dies_suspended(Command::ENABLE_PERF_MAP),
        );
        self.application.write_perf_maps(request.perf_map_type);
        Ok(DONE)
    }

    fn disable_perf_map(&self, _: DisablePerfMap) -> Result<ResultReply, HResult> {
        Ok(DONE)
    }

    /// Applies a startup hook (P-1, P-2, P-27, P-43).
    fn apply_startup_hook(&self, request: ApplyStartupHook<'_>) -> Result<ResultReply, HResult> {
        let (application, path) = (&self.application, request.startup_hook_path);
        if path.is_empty_to_runtimes() || Path::new(&path.to_string()).exists() {
            return Ok(DONE);
        }
        if !application.state().is_started() {
            application.state().is_doomed |= application.profile.dies_of_hook_at_its_start();
            return Ok(DONE);
        }
        match application.profile.misses_hook() {
            None | Some(Does::LeavesOpen(HResult::OK)) => Ok(DONE),
            Some(Does::Refuses(hresult) | Does::LeavesOpen(hresult)) => Err(hresult),
            Some(_) => {
                application.die();
                // This is the answer if the runtime must not die.
                Err(HResult::INVALID_ARG)
            }
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

/// Whether a dump with that name could be written: its directory exists, and the name is not that
/// of a directory (P-46). A relative name is looked up in the directory of dumps. Without that
/// directory it must have no other directory. For an empty name the runtime chooses a file.
fn is_writable(directory: Option<&Path>, name: IpcString<'_>) -> bool {
    let name = name.to_string();
    let path = Path::new(name.split('\0').next().unwrap_or_default());
    let path = match directory {
        Some(directory) if !path.has_root() => directory.join(path),
        None if path.components().count() < 2 => return true,
        _ => path.to_path_buf(),
    };
    name.is_empty() || (path.parent().is_none_or(Path::is_dir) && !path.is_dir())
}

/// Writes the start of a 64-bit core file, if the name has no directory and no such file exists.
fn write_dump(directory: &Path, name: IpcString<'_>) {
    let name = name.to_string();
    let mut parts = Path::new(name.split('\0').next().unwrap_or_default()).components();
    if let (Some(Component::Normal(file)), None) = (parts.next(), parts.next()) {
        // The caller is not told whether it could be written.
        let created = File::options().write(true).create_new(true).open(directory.join(file));
        let _ = created.and_then(|mut file| file.write_all(CORE));
    }
}

/// Returns the message of a createdump about a missing directory (P-46).
fn not_written(name: IpcString<'_>, took: Duration) -> String {
    let took = took.as_millis();
    format!(
        "[createdump] Could not create output file '{name}': No such file or directory (2)\n[createdump] Failure took {took}ms\n"
    )
}

#[cfg(unix)]
/// Whether the kernel accepts the tracepoints. It refuses an empty default name (P-7, P-43); the
/// limits have already refused other invalid names.
fn registers(request: &UserEventsSession<'_>) -> bool {
    request.providers.iter().all(|provider| {
        let name = provider.config.default_tracepoint_name;
        name.is_absent() || !name.is_empty_to_runtimes()
    })
}
