//! What the application does for a request, and what it then says.

use std::path::Path;
use std::string::{String, ToString as _};

use super::Profile;
use super::application::Application;
use super::misbehaviour::MisbehaviourKind as Kind;
use crate::exchange::{RespondError, Server};
use crate::hresult::HResult;
use crate::message::dump::DumpType;
use crate::message::eventpipe::{CollectTracing5, CollectTracing6, Format, UserEventsSession};
use crate::message::process::{ProcessInfo2Reply, ProcessInfo3Reply, ProcessInfoReply, Tail};
use crate::message::{AnyReply, AnyRequest};
use crate::port::PortId;
use crate::wire::IpcString;

/// `HRESULT_FROM_WIN32(ERROR_MOD_NOT_FOUND)` (P-5).
const NO_SUCH_MODULE: HResult = HResult(0x8007_007E);

/// What a request leads to, once nothing of it is needed any more.
pub(super) enum Answer {
    Done,
    Fails(HResult),
    Dump(Dump),
    ProcessInfo(u8),
    Environment,
    Session {
        format: Format,
        rundown: bool,
    },
    UserEvents {
        registers: bool,
    },
    Stop(u64),
    /// The process dies of it.
    Dies,
}

/// What becomes of a dump.
pub(super) enum Dump {
    Written,
    /// A child that does not end keeps the connection open (P-30).
    NotClosed,
    /// With text, where the command's errors have it.
    Fails(Option<String>),
}

impl Application {
    pub(super) fn answer(&self, request: &AnyRequest<'_>, port: PortId) -> Answer {
        use AnyRequest as Ask;
        if let Some(hresult) = self.wrong.number(Kind::Refuse) {
            return Answer::Fails(HResult(hresult));
        }
        let session = |format, rundown| Answer::Session { format, rundown };
        match request {
            Ask::ProcessInfo(_) => Answer::ProcessInfo(1),
            Ask::ProcessInfo2(_) => Answer::ProcessInfo(2),
            Ask::ProcessInfo3(_) => Answer::ProcessInfo(3),
            Ask::ProcessEnvironment(_) => Answer::Environment,
            Ask::SetEnvironmentVariable(request) => self.set_variable(request).map_or_else(Answer::Fails, |()| Answer::Done),
            Ask::ResumeRuntime(_) => {
                self.resume(port);
                Answer::Done
            }
            Ask::StopTracing(request) => Answer::Stop(request.session_id),
            Ask::CollectTracing(request) => session(request.format, true),
            Ask::CollectTracing2(request) => session(request.format, request.request_rundown),
            Ask::CollectTracing3(request) => session(request.format, request.request_rundown),
            Ask::CollectTracing4(request) => session(request.format, request.rundown_keyword != 0),
            Ask::CollectTracing5(CollectTracing5::Streaming(request)) => session(request.format, request.rundown_keyword != 0),
            Ask::CollectTracing6(CollectTracing6::Streaming(request)) => session(request.format, request.rundown_keyword != 0),
            Ask::CollectTracing5(CollectTracing5::UserEvents(request))
            | Ask::CollectTracing6(CollectTracing6::UserEvents(request)) => Answer::UserEvents { registers: registers(request) },
            // F-46, F-56, F-63.
            Ask::AttachProfiler(_)
            | Ask::StartupProfiler(_)
            | Ask::EnablePerfMap(_)
            | Ask::DisablePerfMap(_)
            | Ask::ApplyStartupHook(_)
                if self.profile.lacks_tools() =>
            {
                Answer::Fails(HResult::NOT_SUPPORTED)
            }
            Ask::GenerateCoreDump(_) | Ask::GenerateCoreDump2(_) | Ask::GenerateCoreDump3(_) if self.profile == Profile::Mono => {
                Answer::Fails(HResult::NOT_SUPPORTED)
            }
            // No profiler is there to be loaded, and none can be before the start (P-5).
            Ask::AttachProfiler(_) if !self.state().is_started() => Answer::Fails(HResult::NOT_YET_AVAILABLE),
            Ask::AttachProfiler(request) if request.profiler_path.is_absent() => Answer::Fails(HResult::FAIL),
            Ask::AttachProfiler(_) => Answer::Fails(NO_SUCH_MODULE),
            Ask::GenerateCoreDump(request) => self.dump(request.dump_type),
            Ask::GenerateCoreDump2(request) => self.dump(request.dump_type),
            Ask::GenerateCoreDump3(request) => self.dump(request.dump_type),
            Ask::ApplyStartupHook(request) => self.hook(request.startup_hook_path),
            _ => Answer::Done,
        }
    }

    /// No dump is ever written. What is said of it is what the recorded single files say.
    fn dump(&self, dump_type: DumpType) -> Answer {
        let fails = || Dump::Fails(self.recorded.dump_error.clone());
        Answer::Dump(match self.profile {
            Profile::CoreClr8 => Dump::NotClosed,
            // P-6.
            Profile::CoreClr9 => fails(),
            // P-31.
            Profile::CoreClr10 | Profile::CoreClr11 if dump_type != DumpType::FULL => fails(),
            _ => Dump::Written,
        })
    }

    /// P-1, P-2.
    fn hook(&self, path: IpcString<'_>) -> Answer {
        let loads = path.is_empty() || !self.state().is_started() || Path::new(&path.to_string()).exists();
        match self.profile {
            Profile::CoreClr9 if !loads && self.dies => Answer::Dies,
            Profile::CoreClr8 | Profile::CoreClr9 if !loads => Answer::Fails(HResult::INVALID_ARG),
            _ => Answer::Done,
        }
    }

    pub(super) fn process_info(&self, version: u8, server: &mut Server, buffer: &mut [u8]) -> Result<(), RespondError> {
        let info = self.info();
        let (process_id, runtime_cookie) = (u64::from(self.process_id), self.cookie);
        let (command_line, os, arch) = (info.command_line.as_str().into(), info.os.as_str().into(), info.arch.as_str().into());
        let managed_entrypoint_assembly_name = info.entry_assembly.as_str().into();
        let clr_product_version = info.version.as_str().into();
        let reply = match version {
            1 => AnyReply::ProcessInfo(ProcessInfoReply { process_id, runtime_cookie, command_line, os, arch }),
            2 => AnyReply::ProcessInfo2(ProcessInfo2Reply {
                process_id,
                runtime_cookie,
                command_line,
                os,
                arch,
                managed_entrypoint_assembly_name,
                clr_product_version,
            }),
            _ => AnyReply::ProcessInfo3(ProcessInfo3Reply {
                version: 1,
                process_id,
                runtime_cookie,
                command_line,
                os,
                arch,
                managed_entrypoint_assembly_name,
                clr_product_version,
                runtime_identifier: info.rid.as_str().into(),
                tail: Tail::default(),
            }),
        };
        server.respond(&reply, buffer)
    }
}

/// Whether the kernel takes the tracepoints: an empty default, which is no name, it does not (P-7). The limits have refused what
/// else it would not take.
fn registers(request: &UserEventsSession<'_>) -> bool {
    request.providers.iter().all(|provider| {
        let name = provider.config.default_tracepoint_name;
        name.is_absent() || !name.is_empty()
    })
}
