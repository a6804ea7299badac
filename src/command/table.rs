//! The tables of commands and replies, with one line for each. All code that has a part for each
//! command or reply is generated from them.

/// Passes every command to the macro `$do`, in the order of the codes. A line has the constant, the
/// code, the set, the type of the request in its module (named like the command), the first .NET
/// version that has it, the reply, and what follows the reply. The versions are those of F-48 and,
/// for older and newer commands, F-68; 3.1 is the oldest runtime tested.
macro_rules! each_command {
    ($do:ident) => {
        $do! {
            /// Write a dump. Called `CreateCoreDump` in older editions (F-49).
            GENERATE_CORE_DUMP = 0x0101, "Dump" dump::GenerateCoreDump<'a>, since (3, 1), Result, Close;
            /// Write a dump, with flags.
            GENERATE_CORE_DUMP2 = 0x0102, "Dump" dump::GenerateCoreDump2<'a>, since (6, 0), Result, Close;
            /// Write a dump, with flags. A failure includes a text.
            GENERATE_CORE_DUMP3 = 0x0103, "Dump" dump::GenerateCoreDump3<'a>, since (7, 0), Result, Close;
            /// Stop a session.
            STOP_TRACING = 0x0201, "EventPipe" eventpipe::StopTracing, since (3, 1), Session, Close;
            /// Start a session.
            COLLECT_TRACING = 0x0202, "EventPipe" eventpipe::CollectTracing<'a>, since (3, 1), Session, Nettrace;
            /// Start a session, with or without rundown.
            COLLECT_TRACING2 = 0x0203, "EventPipe" eventpipe::CollectTracing2<'a>, since (3, 1), Session, Nettrace;
            /// Start a session, with or without stacks.
            COLLECT_TRACING3 = 0x0204, "EventPipe" eventpipe::CollectTracing3<'a>, since (9, 0), Session, Nettrace;
            /// Start a session, with a rundown keyword.
            COLLECT_TRACING4 = 0x0205, "EventPipe" eventpipe::CollectTracing4<'a>, since (9, 0), Session, Nettrace;
            /// Start a session that streams, or one that writes `user_events`.
            COLLECT_TRACING5 = 0x0206, "EventPipe" eventpipe::CollectTracing5<'a>, since (10, 0), Session, BySessionType;
            /// Start a session that streams and may block when its buffer is full, or one that writes `user_events`.
            COLLECT_TRACING6 = 0x0207, "EventPipe" eventpipe::CollectTracing6<'a>, since (11, 0), Session, BySessionType;
            /// Attach a profiler.
            ATTACH_PROFILER = 0x0301, "Profiler" profiler::AttachProfiler<'a>, since (3, 1), Result, Close;
            /// Set the start-up profiler of a suspended runtime.
            STARTUP_PROFILER = 0x0302, "Profiler" profiler::StartupProfiler<'a>, since (6, 0), Result, Close;
            /// Ask for pid, cookie, command line, OS and architecture.
            PROCESS_INFO = 0x0400, "Process" process::ProcessInfo, since (5, 0), ProcessInfo, Close;
            /// Let a suspended runtime start.
            RESUME_RUNTIME = 0x0401, "Process" process::ResumeRuntime, since (5, 0), Result, Close;
            /// Ask for the environment block.
            PROCESS_ENVIRONMENT = 0x0402, "Process" process::ProcessEnvironment, since (5, 0), ProcessEnvironment, EnvironmentBlock;
            /// Set or delete an environment variable.
            SET_ENVIRONMENT_VARIABLE = 0x0403, "Process" process::SetEnvironmentVariable<'a>, since (6, 0), Result, Close;
            /// As `ProcessInfo`, plus the entry assembly's name and the runtime's version.
            PROCESS_INFO2 = 0x0404, "Process" process::ProcessInfo2, since (6, 0), ProcessInfo2, Close;
            /// Write a perf map or jitdump.
            ENABLE_PERF_MAP = 0x0405, "Process" process::EnablePerfMap, since (8, 0), Result, Close;
            /// Stop writing the perf map or jitdump.
            DISABLE_PERF_MAP = 0x0406, "Process" process::DisablePerfMap, since (8, 0), Result, Close;
            /// Run a startup hook.
            APPLY_STARTUP_HOOK = 0x0407, "Process" process::ApplyStartupHook<'a>, since (8, 0), Result, Close;
            /// As `ProcessInfo2`, plus the runtime identifier, in a versioned form.
            PROCESS_INFO3 = 0x0408, "Process" process::ProcessInfo3, since (8, 0), ProcessInfo3, Close;
        }
    };
}

/// Passes every OK reply to the macro `$do`: its name, the type of its payload in its module, and
/// what the reply tells the exchange about the bytes that follow, with the fields for that.
macro_rules! each_reply {
    ($do:ident) => {
        $do! {
            /// The HRESULT that answers every command that only succeeds or fails.
            Result(server::ResultReply), announces Nothing {};
            /// The session id that answers `StopTracing` and every `CollectTracing…`.
            Session(eventpipe::SessionReply), announces Session { session_id };
            /// The reply to `ProcessInfo`.
            ProcessInfo(process::ProcessInfoReply<'a>), announces Nothing {};
            /// The reply to `ProcessInfo2`.
            ProcessInfo2(process::ProcessInfo2Reply<'a>), announces Nothing {};
            /// The reply to `ProcessInfo3`.
            ProcessInfo3(process::ProcessInfo3Reply<'a>), announces Nothing {};
            /// The reply to `ProcessEnvironment`.
            ProcessEnvironment(process::ProcessEnvironmentReply), announces EnvironmentBlock { n_incoming_bytes };
        }
    };
}

pub(crate) use {each_command, each_reply};
