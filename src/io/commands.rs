//! One method per command: for the blocking client, and again with `async` and `await`.

use super::{Answer, Client, Connect, Error};
#[cfg(feature = "tokio")]
use super::{AsyncClient, AsyncConnect};
use crate::message::dump::{GenerateCoreDump, GenerateCoreDump2, GenerateCoreDump3};
use crate::message::eventpipe::{SessionReply, StopTracing};
use crate::message::process::{
    ApplyStartupHook, DisablePerfMap, EnablePerfMap, PerfMapType, ProcessInfo, ProcessInfo2,
    ProcessInfo3, ResumeRuntime, SetEnvironmentVariable,
};
use crate::message::profiler::{AttachProfiler, StartupProfiler};
use crate::wire::IpcString;

macro_rules! commands {
    ($client:ident, $connect:ident, [$($async:tt)*], [$($await:tt)*]) => {
        impl<C: $connect> $client<C> {
            /// `ProcessInfo`. Since .NET 5.
            ///
            /// # Errors
            /// [`Error`], as for every call.
            pub $($async)* fn process_info(&self) -> Result<Answer<ProcessInfo>, Error> {
                self.call(&ProcessInfo {})$($await)*
            }

            /// `ProcessInfo2`: also the entry assembly and the version. Since .NET 6.
            ///
            /// # Errors
            /// [`Error`], as for every call.
            pub $($async)* fn process_info2(&self) -> Result<Answer<ProcessInfo2>, Error> {
                self.call(&ProcessInfo2 {})$($await)*
            }

            /// `ProcessInfo3`: also the runtime identifier. Since .NET 8.
            ///
            /// # Errors
            /// [`Error`], as for every call.
            pub $($async)* fn process_info3(&self) -> Result<Answer<ProcessInfo3>, Error> {
                self.call(&ProcessInfo3 {})$($await)*
            }

            /// `ResumeRuntime`: resumes the port of this client (F-42).
            ///
            /// # Errors
            /// [`Error`], as for every call.
            pub $($async)* fn resume(&self) -> Result<(), Error> {
                self.done(&ResumeRuntime {})$($await)*
            }

            /// `SetEnvironmentVariable`: sets a variable of the process, or deletes it.
            ///
            /// # Errors
            /// [`Error`], as for every call; deleting a missing variable is refused (F-80).
            pub $($async)* fn set_environment_variable(&self, name: &str, value: Option<&str>) -> Result<(), Error> {
                let value = value.map_or(IpcString::ABSENT, IpcString::new);
                self.done(&SetEnvironmentVariable { name: name.into(), value })$($await)*
            }

            /// `EnablePerfMap`.
            ///
            /// # Errors
            /// [`Error`], as for every call.
            pub $($async)* fn enable_perf_map(&self, perf_map_type: PerfMapType) -> Result<(), Error> {
                self.done(&EnablePerfMap { perf_map_type })$($await)*
            }

            /// `DisablePerfMap`.
            ///
            /// # Errors
            /// [`Error`], as for every call.
            pub $($async)* fn disable_perf_map(&self) -> Result<(), Error> {
                self.done(&DisablePerfMap {})$($await)*
            }

            /// `ApplyStartupHook`. A hook that cannot be loaded ends a 9.0 process (P-2, P-27).
            ///
            /// # Errors
            /// [`Error`], as for every call.
            pub $($async)* fn apply_startup_hook(&self, path: &str) -> Result<(), Error> {
                self.done(&ApplyStartupHook { startup_hook_path: path.into() })$($await)*
            }

            /// `AttachProfiler`: the reply may take as long as the request's `attachTimeout`.
            ///
            /// # Errors
            /// [`Error`], as for every call.
            pub $($async)* fn attach_profiler(&self, request: &AttachProfiler<'_>) -> Result<(), Error> {
                self.done(request)$($await)*
            }

            /// `StartupProfiler`, of a suspended runtime.
            ///
            /// # Errors
            /// [`Error`], as for every call.
            pub $($async)* fn startup_profiler(&self, request: &StartupProfiler<'_>) -> Result<(), Error> {
                self.done(request)$($await)*
            }

            /// `GenerateCoreDump`: returns once the dump is written.
            ///
            /// # Errors
            /// [`Error`], as for every call.
            pub $($async)* fn generate_core_dump(&self, request: &GenerateCoreDump<'_>) -> Result<(), Error> {
                self.done(request)$($await)*
            }

            /// `GenerateCoreDump2`: with flags. Since .NET 6.
            ///
            /// # Errors
            /// [`Error`], as for every call.
            pub $($async)* fn generate_core_dump2(&self, request: &GenerateCoreDump2<'_>) -> Result<(), Error> {
                self.done(request)$($await)*
            }

            /// `GenerateCoreDump3`: a failure includes a text. Since .NET 7.
            ///
            /// # Errors
            /// [`Error`], as for every call.
            pub $($async)* fn generate_core_dump3(&self, request: &GenerateCoreDump3<'_>) -> Result<(), Error> {
                self.done(request)$($await)*
            }

            /// `StopTracing` of a session by its id; returns the id that the runtime echoes. An unknown id is OK too (F-31). The
            /// reply arrives once the session's stream is drained, so only [`Deadlines::whole`](crate::io::Deadlines::whole) limits
            /// it. For your own sessions use a trace's `stop_handle`.
            ///
            /// # Errors
            /// [`Error`], as for every call.
            pub $($async)* fn stop_tracing(&self, session_id: u64) -> Result<Option<u64>, Error> {
                let answer = self.call(&StopTracing { session_id })$($await)*?;
                Ok(answer.payload().map(|reply: SessionReply| reply.session_id))
            }
        }
    };
}

commands!(Client, Connect, [], []);
#[cfg(feature = "tokio")]
commands!(AsyncClient, AsyncConnect, [async], [.await]);
