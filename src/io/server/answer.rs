//! From a request to the handler's method, and back.

use super::{Entries, Handler, HeldSession, Refusal, StreamSession};
use crate::hresult::HResult;
use crate::message::eventpipe::{CollectTracing5, CollectTracing6};
use crate::message::{AnyReply, AnyRequest};

/// A received descriptor, on systems that support it.
#[cfg(unix)]
pub(super) type Passed = Option<std::os::fd::OwnedFd>;
#[cfg(not(unix))]
pub(super) type Passed = Option<core::convert::Infallible>;

/// The handler's answer.
pub(super) enum Answer<'h> {
    Reply(AnyReply<'h>),
    Environment(Entries<'h>),
    Stream(StreamSession<'h>),
    // Impossible on systems without descriptors.
    #[cfg_attr(not(unix), allow(dead_code))]
    Held(HeldSession<'h>),
    Refused(Refusal),
}

/// Calls the handler. The answer borrows from the handler, not from the request, which the reply
/// will overwrite.
pub(super) fn ask<'h, H: Handler + ?Sized>(
    handler: &'h H,
    request: &AnyRequest<'_>,
    fd: Passed,
) -> Answer<'h> {
    try_ask(handler, request, fd).unwrap_or_else(Answer::Refused)
}

fn try_ask<'h, H: Handler + ?Sized>(
    handler: &'h H,
    request: &AnyRequest<'_>,
    fd: Passed,
) -> Result<Answer<'h>, Refusal> {
    use AnyRequest as Ask;
    handler.check(request)?;
    let result = match *request {
        Ask::GenerateCoreDump(request) => handler.generate_core_dump(request)?,
        Ask::GenerateCoreDump2(request) => handler.generate_core_dump2(request)?,
        Ask::GenerateCoreDump3(request) => handler.generate_core_dump3(request)?,
        Ask::AttachProfiler(request) => handler.attach_profiler(request)?,
        Ask::StartupProfiler(request) => handler.startup_profiler(request)?,
        Ask::ResumeRuntime(request) => handler.resume_runtime(request)?,
        Ask::SetEnvironmentVariable(request) => handler.set_environment_variable(request)?,
        Ask::EnablePerfMap(request) => handler.enable_perf_map(request)?,
        Ask::DisablePerfMap(request) => handler.disable_perf_map(request)?,
        Ask::ApplyStartupHook(request) => handler.apply_startup_hook(request)?,
        Ask::StopTracing(request) => {
            return Ok(Answer::Reply(AnyReply::Session(handler.stop_tracing(request)?)));
        }
        Ask::ProcessInfo(_) => {
            return Ok(Answer::Reply(AnyReply::ProcessInfo(handler.process_info()?)));
        }
        Ask::ProcessInfo2(_) => {
            return Ok(Answer::Reply(AnyReply::ProcessInfo2(handler.process_info2()?)));
        }
        Ask::ProcessInfo3(_) => {
            return Ok(Answer::Reply(AnyReply::ProcessInfo3(handler.process_info3()?)));
        }
        Ask::ProcessEnvironment(_) => {
            return Ok(Answer::Environment(handler.process_environment()?));
        }
        Ask::CollectTracing(request) => {
            return Ok(Answer::Stream(handler.collect_tracing(request)?));
        }
        Ask::CollectTracing2(request) => {
            return Ok(Answer::Stream(handler.collect_tracing2(request)?));
        }
        Ask::CollectTracing3(request) => {
            return Ok(Answer::Stream(handler.collect_tracing3(request)?));
        }
        Ask::CollectTracing4(request) => {
            return Ok(Answer::Stream(handler.collect_tracing4(request)?));
        }
        Ask::CollectTracing5(CollectTracing5::Streaming(request)) => {
            return Ok(Answer::Stream(handler.collect_tracing5(request)?));
        }
        Ask::CollectTracing6(CollectTracing6::Streaming(request)) => {
            return Ok(Answer::Stream(handler.collect_tracing6(request)?));
        }
        Ask::CollectTracing5(CollectTracing5::UserEvents(request))
        | Ask::CollectTracing6(CollectTracing6::UserEvents(request)) => {
            return user_events(handler, request, fd);
        }
        Ask::Unknown { .. } => return Err(HResult::UNKNOWN_COMMAND.into()),
    };
    Ok(Answer::Reply(AnyReply::Result(result)))
}

#[cfg(unix)]
fn user_events<'h, H: Handler + ?Sized>(
    handler: &'h H,
    request: crate::message::eventpipe::UserEventsSession<'_>,
    fd: Passed,
) -> Result<Answer<'h>, Refusal> {
    // Without one it is refused earlier (F-21).
    let fd = fd.ok_or(HResult::BAD_ENCODING)?;
    Ok(Answer::Held(handler.collect_user_events(request, fd)?))
}

#[cfg(not(unix))]
fn user_events<'h, H: Handler + ?Sized>(
    _: &'h H,
    _: crate::message::eventpipe::UserEventsSession<'_>,
    _: Passed,
) -> Result<Answer<'h>, Refusal> {
    Err(HResult::NOT_SUPPORTED.into())
}
