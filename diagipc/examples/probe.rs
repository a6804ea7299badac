//! Sends a live runtime every request that does no harm, and prints the answers.
//!
//! ```text
//! cargo run -p diagipc --example probe -- /tmp/dotnet-diagnostic-PID-KEY-socket
//! ```
//!
//! On Windows it is a pipe: `\\.\pipe\dotnet-diagnostic-PID`. The variable `DIAG_SOCKET` may also
//! give the socket. By default the example requests only the process info, the environment, and a
//! short trace with each `CollectTracing…`. With `--side-effects` it also sets and deletes an
//! environment variable, enables and disables the perf map, resumes, and sends requests that a
//! runtime must refuse. With `--dump` it finally requests a dump that cannot be written, after
//! which the runtime may lose its socket (P-6). With `--record FILE` it writes the bytes of
//! requests and replies for `vectors/source/runtimes.py`.

use std::error::Error;
use std::fs;
use std::io::{self, Read, Write};
use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant};

use clap::Parser;
use dotnet_diagnostics_ipc::command::{Command, Continuation};
use dotnet_diagnostics_ipc::header::{HEADER_LEN, Header};
use dotnet_diagnostics_ipc::hresult::HResult;
use dotnet_diagnostics_ipc::io::trust::TrustPolicy;
use dotnet_diagnostics_ipc::io::{Connect, Endpoint, ErrorKind, Transport, WaitLimit};
use dotnet_diagnostics_ipc::message::dump::{DumpFlags, DumpType, GenerateCoreDump3};
use dotnet_diagnostics_ipc::message::eventpipe::{
    CollectTracing, CollectTracing2, CollectTracing3, CollectTracing4, CollectTracing5,
    CollectTracing6, DEFAULT_RUNDOWN_KEYWORD, EventFilter, EventLevel, Format, ProviderConfig,
    StopTracing, StreamingProviderConfig, StreamingSession,
};
use dotnet_diagnostics_ipc::message::process::{
    ApplyStartupHook, DisablePerfMap, EnablePerfMap, PerfMapType, ProcessEnvironment, ProcessInfo,
    ProcessInfo2, ProcessInfo3, ResumeRuntime, SetEnvironmentVariable,
};
use dotnet_diagnostics_ipc::message::profiler::{AttachProfiler, StartupProfiler};
use dotnet_diagnostics_ipc::message::{AnyReply, Message, Request};
use dotnet_diagnostics_ipc::wire::{Array, Clsid, Decode as _, IpcString, Reader};

type Outcome<T = ()> = Result<T, Box<dyn Error>>;

/// Sends a live runtime every request that does no harm, and prints the answers.
#[derive(Parser)]
#[allow(clippy::struct_excessive_bools, reason = "these are the switches of a command")]
struct Arguments {
    /// The runtime's socket; on Windows its pipe
    #[arg(env = "DIAG_SOCKET")]
    socket: String,

    /// Also send requests that change the runtime; only for one that you started for this
    #[arg(long)]
    side_effects: bool,

    /// Leave out the requests about variables that kill NativeAOT (F-95, F-96)
    #[arg(long, requires = "side_effects")]
    spare_native_aot: bool,

    /// At the end, request a dump that cannot be written
    #[arg(long, requires = "side_effects")]
    dump: bool,

    /// Only request the process info: for a suspended runtime
    #[arg(long, conflicts_with = "side_effects")]
    info_only: bool,

    /// Write requests and replies to this file
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,
}

/// A runtime, and the messages so far.
struct Probe {
    endpoint: Endpoint,
    record: Vec<serde_json::Value>,
    /// The number of replies that do not encode to their own bytes.
    changed: usize,
}

/// A connection to a runtime, with time limits.
struct Link<T>(T);

fn within(time: Duration) -> WaitLimit<'static> {
    WaitLimit { deadline: Instant::now().checked_add(time), ..WaitLimit::FOREVER }
}

fn error(stopped: ErrorKind) -> io::Error {
    match stopped {
        ErrorKind::Io(error) => error,
        _ => io::ErrorKind::TimedOut.into(),
    }
}

impl<T: Transport> Read for Link<T> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        self.0.receive(into, &within(Duration::from_secs(20))).map_err(error)
    }
}

impl<T: Transport> Write for Link<T> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.send(bytes, &within(Duration::from_secs(5))).map_err(error)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

type Connection = Link<<Endpoint as Connect>::Transport>;

impl Probe {
    fn connect(&self) -> Outcome<Connection> {
        Ok(Link(self.endpoint.connect(&within(Duration::from_secs(20)))?))
    }

    /// Sends a request and prints the reply. Returns the connection, for the rest, and the reply's
    /// bytes.
    fn ask<'a, R: Request<'a>>(
        &mut self,
        comment: &str,
        request: &R,
    ) -> Outcome<(Connection, Vec<u8>)> {
        let mut buffer = [0; 4096];
        let len = request.encode_message(&mut buffer)?;
        self.ask_bytes(comment, R::COMMAND, &buffer[..len])
    }

    fn ask_bytes(
        &mut self,
        comment: &str,
        command: Command,
        request: &[u8],
    ) -> Outcome<(Connection, Vec<u8>)> {
        let mut stream = self.connect()?;
        stream.write_all(request)?;
        #[cfg(unix)]
        if request.len() < HEADER_LEN {
            rustix::net::shutdown(&stream.0, rustix::net::Shutdown::Write)?;
        }
        let bytes = read_message(&mut stream)?;
        let message = Message::decode(&bytes)?;
        let reply = message.reply_to(Some(command))?;
        let canonical = message.is_canonical(&reply);
        println!(
            "{command}: {comment}\n  {reply:?}{}",
            if canonical { "" } else { "\n  NOT CANONICAL" }
        );
        self.changed += usize::from(!canonical);
        self.record(comment, Some(command), request, &bytes);
        Ok((stream, bytes))
    }

    fn record(&mut self, comment: &str, command: Option<Command>, request: &[u8], reply: &[u8]) {
        let command = command.map(|command| command.to_string());
        let (request, reply) = (hex::encode(request), hex::encode(reply));
        self.record.push(serde_json::json!({ "comment": comment, "command": command, "request": request, "reply": reply }));
    }

    fn info(&mut self) -> Outcome {
        self.ask("process information", &ProcessInfo {})?;
        self.ask("and its entry assembly and version", &ProcessInfo2 {})?;
        self.ask("and its runtime identifier", &ProcessInfo3 {})?;
        Ok(())
    }

    fn environment(&mut self) -> Outcome {
        let (mut stream, reply) =
            self.ask("size of the environment block", &ProcessEnvironment {})?;
        let AnyReply::ProcessEnvironment(reply) =
            Message::decode(&reply)?.reply_to(Some(Command::PROCESS_ENVIRONMENT))?
        else {
            return Ok(()); // an error, such as from .NET Core 3.1
        };
        let mut block = Vec::new();
        stream.read_to_end(&mut block)?;
        // Each entry is an array of wchar that ends with a NUL, so it has the form of a string.
        let entries = Array::<IpcString<'_>>::decode(&mut Reader::new(&block))?;
        println!(
            "  {} bytes, {} announced, {} entries:",
            block.len(),
            reply.n_incoming_bytes,
            entries.len()
        );
        entries.iter().for_each(|entry| println!("    {entry:?}"));
        self.record("the environment block", None, &[], &block);
        Ok(())
    }

    /// Starts a session, lets it run, stops it on a second connection, and reads the stream to its
    /// end.
    fn trace<'a, R: Request<'a>>(&mut self, comment: &str, request: &R) -> Outcome {
        let (mut stream, reply) = self.ask(comment, request)?;
        let AnyReply::Session(session) = Message::decode(&reply)?.reply_to(Some(R::COMMAND))?
        else {
            return Ok(());
        };
        if request.continuation() != Continuation::Nettrace {
            return Err("not a stream".into());
        }
        // Reads on another thread: StopTracing is answered only once the stream is drained (F-75).
        let reader = thread::spawn(move || {
            let mut bytes = Vec::new();
            stream.read_to_end(&mut bytes).map(|_| bytes)
        });
        thread::sleep(Duration::from_millis(200));
        self.ask(
            "stop it, on a second connection",
            &StopTracing { session_id: session.session_id },
        )?;
        let bytes = reader.join().map_err(|_| "the reader thread died")??;
        let start: String = bytes.iter().take(8).map(|byte| char::from(*byte)).collect();
        println!("  the stream ended after {} bytes; it begins with {start:?}", bytes.len());
        Ok(())
    }

    fn traces(&mut self) -> Outcome {
        const NAME: &str = "Microsoft-Windows-DotNETRuntime";
        let providers = [ProviderConfig::new(NAME, 1, EventLevel::INFORMATIONAL)];
        let providers = Array::new(&providers);
        let filtered = [StreamingProviderConfig {
            keywords: 1,
            log_level: EventLevel::INFORMATIONAL,
            provider_name: NAME.into(),
            arguments: IpcString::ABSENT,
            filter: EventFilter::ALL,
        }];
        let filtered = Array::new(&filtered);
        let (circular_buffer_mb, format, request_rundown, request_stackwalk) =
            (16, Format::NET_TRACE, false, false);
        let rundown_keyword = 0;
        self.trace("start a session", &CollectTracing { circular_buffer_mb, format, providers })?;
        let request = CollectTracing2 { circular_buffer_mb, format, request_rundown, providers };
        self.trace("start a session without rundown", &request)?;
        let request = CollectTracing3 {
            circular_buffer_mb,
            format,
            request_rundown,
            request_stackwalk,
            providers,
        };
        self.trace("start a session without stacks", &request)?;
        let request = CollectTracing4 {
            circular_buffer_mb,
            format,
            rundown_keyword: DEFAULT_RUNDOWN_KEYWORD,
            request_stackwalk,
            providers,
        };
        self.trace("start a session with the usual rundown keyword", &request)?;
        let session = StreamingSession {
            circular_buffer_mb,
            format,
            rundown_keyword,
            request_stackwalk,
            providers: filtered,
        };
        self.trace("start a session that streams", &CollectTracing5::Streaming(session))?;
        self.trace(
            "start a session that drops events when its buffer is full",
            &CollectTracing6::Streaming(session.into()),
        )?;
        self.ask("stop an unknown session", &StopTracing { session_id: 0 })?;
        Ok(())
    }

    fn side_effects(&mut self, kills_native_aot: bool) -> Outcome {
        let (name, value) = ("DIAGIPC_PROBE".into(), "h\u{e4}\u{1f600}".into());
        self.ask("set a variable", &SetEnvironmentVariable { name, value })?;
        self.ask("set it to the empty string", &SetEnvironmentVariable { name, value: "".into() })?;
        if kills_native_aot {
            self.ask("delete it", &SetEnvironmentVariable { name, value: IpcString::ABSENT })?;
            self.ask(
                "delete it again",
                &SetEnvironmentVariable { name, value: IpcString::ABSENT },
            )?;
            self.ask(
                "set a variable without a name",
                &SetEnvironmentVariable { name: IpcString::ABSENT, value },
            )?;
        }
        self.ask("enable the perf map", &EnablePerfMap { perf_map_type: PerfMapType::PERF_MAP })?;
        self.ask("disable the perf map", &DisablePerfMap {})?;
        self.ask(
            "enable a perf map of type 0",
            &EnablePerfMap { perf_map_type: PerfMapType::DISABLED },
        )?;
        self.ask("enable a perf map of type 4", &EnablePerfMap { perf_map_type: PerfMapType(4) })?;
        self.ask("resume a runtime that is not suspended", &ResumeRuntime {})?;
        let request = StartupProfiler { profiler_guid: Clsid::NIL, profiler_path: "/none".into() };
        self.ask("set a start-up profiler after start-up", &request)?;
        let attach_timeout = 1000; // milliseconds
        let request = AttachProfiler {
            attach_timeout,
            profiler_guid: Clsid::NIL,
            profiler_path: "/none.so".into(),
            client_data: &[],
        };
        self.ask("attach a missing profiler", &request)?;
        self.ask(
            "run a startup hook without a path",
            &ApplyStartupHook { startup_hook_path: IpcString::ABSENT },
        )?;
        self.ask(
            "run a startup hook with an empty path",
            &ApplyStartupHook { startup_hook_path: "".into() },
        )?;
        let request = GenerateCoreDump3 {
            dump_name: "/none/dump".into(),
            dump_type: DumpType(9),
            flags: DumpFlags::NONE,
        };
        self.ask("write a dump of an unknown type", &request)?;
        Ok(())
    }

    /// Harmless requests that a runtime must refuse.
    fn refusals(&mut self) -> Outcome {
        for (comment, code) in [
            ("an unknown id of a known set", 0x0463),
            ("an unknown set", 0x6301),
            ("the server's own OK", 0xff00),
        ] {
            let request = Header { size: 20, command: Command::from_code(code), reserved: 0 };
            self.ask_bytes(comment, Command::from_code(code), &request.to_bytes())?;
        }
        let good = Header { size: 20, command: Command::PROCESS_INFO, reserved: 0 }.to_bytes();
        let mut bad = good;
        bad[12] = b'2';
        self.ask_bytes("a magic that says version 2", Command::PROCESS_INFO, &bad)?;
        let short = Header { size: 19, ..Header::decode(&good)? }.to_bytes();
        self.ask_bytes("a size of 19", Command::PROCESS_INFO, &short)?;
        // A pipe cannot be closed in one direction only.
        if cfg!(unix) {
            self.ask_bytes("half a header, and the end", Command::PROCESS_INFO, &good[..10])?;
        }
        let reserved = Header { reserved: 0xffff, ..Header::decode(&good)? }.to_bytes();
        let (_, reply) =
            self.ask_bytes("a reserved field that is not 0", Command::PROCESS_INFO, &reserved)?;
        let Command { set, id } = Message::decode(&reply)?.command;
        println!("  answered with {set:#04x} {id:#04x}");
        Ok(())
    }
}

/// Reads one message, and nothing after it.
fn read_message(stream: &mut impl Read) -> Outcome<Vec<u8>> {
    let mut bytes = vec![0; HEADER_LEN];
    stream.read_exact(&mut bytes)?;
    let header = Header::decode(&bytes)?;
    bytes.resize(header.size.into(), 0);
    stream.read_exact(&mut bytes[HEADER_LEN..])?;
    Ok(bytes)
}

fn main() -> Outcome {
    let arguments = Arguments::parse();
    let endpoint = if cfg!(windows) {
        Endpoint::pipe(arguments.socket)
    } else {
        Endpoint::socket(arguments.socket)
    };
    // The user named this runtime, so no check is needed.
    let endpoint = endpoint.trusting(TrustPolicy::UNCHECKED);
    let mut probe = Probe { endpoint, record: Vec::new(), changed: 0 };
    probe.info()?;
    if !arguments.info_only {
        probe.environment()?;
        probe.traces()?;
    }
    if arguments.side_effects {
        probe.side_effects(!arguments.spare_native_aot)?;
        probe.refusals()?;
        probe.ask("it still answers", &ProcessInfo {})?;
    }
    if arguments.dump {
        let request = GenerateCoreDump3 {
            dump_name: "/none/dump".into(),
            dump_type: DumpType::NORMAL,
            flags: DumpFlags::NONE,
        };
        probe.ask("write a dump into a missing directory", &request)?;
    }
    if let Some(path) = arguments.record {
        let lines: Vec<String> = probe.record.iter().map(ToString::to_string).collect();
        fs::write(path, format!("[\n{}\n]\n", lines.join(",\n")))?;
    }
    let errors = probe
        .record
        .iter()
        .filter(|row| row["reply"].as_str().is_some_and(|reply| reply.get(32..36) == Some("ffff")));
    println!(
        "{} replies, {} of them errors, {} not canonical",
        probe.record.len(),
        errors.count(),
        probe.changed
    );
    match probe.changed {
        0 => Ok(()),
        _ => Err(format!("a reply does not encode to its own bytes ({})", HResult::FAIL).into()),
    }
}
