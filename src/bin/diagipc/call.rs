//! `diagipc call`: a client of all commands, which `diagipc client` can be tried with.

use std::fs::{self, File};
use std::io::{self, IsTerminal as _, Write};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, anyhow, bail};
use clap::{Args, Subcommand};
use dotnet_diagnostics_ipc::exchange::StreamEnd;
use dotnet_diagnostics_ipc::exchange::fallback::{FallbackRequest as _, TracingFallback};
use dotnet_diagnostics_ipc::hresult::HResult;
use dotnet_diagnostics_ipc::io::port_listener::{PortListener, PortOptions, PortRuntime, RuntimeFilter};
use dotnet_diagnostics_ipc::io::{Answer, Canceller, Client, Connect, Deadlines, Endpoint, Error, ReplyWithin, Until};
use dotnet_diagnostics_ipc::message::dump::{DumpFlags, DumpType, GenerateCoreDump, GenerateCoreDump2, GenerateCoreDump3};
use dotnet_diagnostics_ipc::message::eventpipe::{
    CollectTracing, CollectTracing5, CollectTracing6, EventFilter, EventLevel, Format, ProviderConfig, SessionBufferMode,
    StreamingProviderConfig, StreamingSession, StreamingSession6,
};
#[cfg(unix)]
use dotnet_diagnostics_ipc::message::eventpipe::{TracepointConfig, UserEventsProviderConfig, UserEventsSession};
use dotnet_diagnostics_ipc::message::process::PerfMapType;
use dotnet_diagnostics_ipc::message::profiler::{AttachProfiler, StartupProfiler};
use dotnet_diagnostics_ipc::wire::{Array, IpcString};

use crate::printable::{printable, printable_lines};
use crate::{Outcome, interrupt};

/// Asks a runtime one thing.
#[derive(Args)]
pub(crate) struct Arguments {
    /// The process
    #[arg(long, required_unless_present = "socket", conflicts_with = "socket")]
    pid: Option<u32>,

    /// The path of its socket, or on Windows the name of its pipe
    #[arg(long)]
    socket: Option<PathBuf>,

    /// How long to wait for a next byte
    #[arg(long, value_name = "MS", default_value_t = 5000)]
    patience: u64,

    #[command(subcommand)]
    operation: Operation,
}

#[derive(Subcommand)]
enum Operation {
    ProcessInfo {
        #[arg(long, default_value = "ProcessInfo3")]
        command: String,
    },
    Environment,
    Resume,
    SetEnv {
        name: String,
        value: String,
    },
    UnsetEnv {
        name: String,
    },
    StartupHook {
        path: String,
    },
    PerfMap {
        kind: u32,
    },
    PerfMapOff,
    Dump {
        path: String,
        kind: u32,
        flags: u32,
        #[arg(long, default_value = "GenerateCoreDump3")]
        command: String,
    },
    Attach {
        clsid: String,
        path: String,
        data: PathBuf,
        timeout: u32,
    },
    StartupProfiler {
        clsid: String,
        path: String,
    },
    Trace(Trace),
    Stop {
        session: u64,
    },
    #[cfg(unix)]
    UserEvents(UserEvents),
    ListenPort {
        path: PathBuf,
    },
    TracePort {
        #[arg(long)]
        port: PathBuf,
        #[command(flatten)]
        trace: Trace,
    },
}

#[derive(Args)]
struct Provider {
    #[arg(long = "provider")]
    name: String,
    #[arg(long)]
    keywords: u64,
    #[arg(long)]
    level: u32,
    #[arg(long, default_value = "", allow_hyphen_values = true)]
    arguments: String,
}

#[cfg(unix)]
#[derive(Args)]
struct UserEvents {
    #[command(flatten)]
    provider: Provider,
    #[arg(long)]
    tracepoint: String,
    #[arg(long)]
    data: PathBuf,
    #[arg(long, default_value = "CollectTracing5")]
    command: String,
    #[arg(long)]
    duration: u64,
}

#[derive(Args)]
struct Trace {
    #[command(flatten)]
    provider: Provider,
    #[arg(long)]
    buffer: u32,
    #[arg(long)]
    rundown: u64,
    #[arg(long)]
    stacks: String,
    #[arg(long, default_value = "")]
    events: String,
    #[arg(long)]
    mode: u32,
    #[arg(long)]
    command: String,
    #[arg(long)]
    duration: u64,
    #[arg(long)]
    output: PathBuf,
}

pub(crate) fn run(arguments: &Arguments, out: &mut dyn Write) -> anyhow::Result<Outcome> {
    let patience = Some(Duration::from_millis(arguments.patience));
    let deadlines = Deadlines {
        connect: patience,
        send: patience,
        reply: ReplyWithin::Fixed(patience),
        continuation: patience,
        ..Deadlines::NONE
    };
    let endpoint = match (&arguments.socket, arguments.pid) {
        (Some(path), _) => at_address(path),
        (None, pid) => Endpoint::process(pid.context("a process or a socket")?),
    };
    let waits = Waits { deadlines, canceller: interrupt::canceller()? };
    match (ask(&arguments.operation, &waits.client(endpoint), &waits, out), interrupt::signal()) {
        (Ok(()), _) => Ok(Outcome::Well),
        (Err(_), Some(signal)) => Ok(Outcome::Interrupted(signal)),
        (Err(error), None) => {
            // Standard error may be closed as well.
            let _ = writeln!(io::stderr(), "diagipc call: {}", printable_lines(&format!("{error:#}")));
            Ok(Outcome::Faulty)
        }
    }
}

#[cfg(unix)]
fn at_address(path: &Path) -> Endpoint {
    Endpoint::socket(path)
}

#[cfg(windows)]
fn at_address(name: &Path) -> Endpoint {
    Endpoint::pipe(name.to_string_lossy())
}

/// What ends a wait: its deadline, or a signal.
struct Waits {
    deadlines: Deadlines,
    canceller: Canceller,
}

impl Waits {
    fn client<C: Connect>(&self, at: C) -> Client<C> {
        Client::new(at).with_deadlines(self.deadlines).with_canceller(self.canceller.clone())
    }
}

fn ask(operation: &Operation, client: &Client, waits: &Waits, out: &mut dyn Write) -> anyhow::Result<()> {
    match operation {
        Operation::ProcessInfo { command } => process_info(client, command, out),
        Operation::Environment => environment(client, out),
        Operation::Resume => Ok(client.resume()?),
        Operation::SetEnv { name, value } => Ok(client.set_environment_variable(name, Some(value))?),
        Operation::UnsetEnv { name } => Ok(client.set_environment_variable(name, None)?),
        Operation::StartupHook { path } => Ok(client.apply_startup_hook(path)?),
        Operation::PerfMap { kind } => Ok(client.enable_perf_map(PerfMapType(*kind))?),
        Operation::PerfMapOff => Ok(client.disable_perf_map()?),
        Operation::Dump { path, kind, flags, command } => dump(client, path, DumpType(*kind), DumpFlags(*flags), command),
        Operation::Attach { clsid, path, data, timeout } => {
            let data = fs::read(data).with_context(|| data.display().to_string())?;
            let profiler_guid = clsid.parse()?;
            let request =
                AttachProfiler { attach_timeout: *timeout, profiler_guid, profiler_path: path.as_str().into(), client_data: &data };
            Ok(client.attach_profiler(&request)?)
        }
        Operation::StartupProfiler { clsid, path } => {
            Ok(client.startup_profiler(&StartupProfiler { profiler_guid: clsid.parse()?, profiler_path: path.as_str().into() })?)
        }
        Operation::Trace(trace) => trace.run(client),
        Operation::Stop { session } => match client.stop_tracing(*session)? {
            Some(other) if other != *session => bail!("session {other} was stopped"),
            _ => Ok(()),
        },
        #[cfg(unix)]
        Operation::UserEvents(user_events) => user_events.run(client, &waits.canceller),
        Operation::ListenPort { path } => {
            let (_port, runtime) = at_port(path, waits)?;
            Ok(waits.client(runtime).resume()?)
        }
        Operation::TracePort { port, trace } => {
            let (_port, runtime) = at_port(port, waits)?;
            trace.run(&waits.client(runtime))
        }
    }
}

/// The first runtime that connects, and the port, which lasts as long as it is held.
fn at_port(path: &Path, waits: &Waits) -> anyhow::Result<(PortListener, PortRuntime)> {
    let port = PortListener::bind(path, PortOptions::DEFAULT)?;
    let deadline = waits.deadlines.connect.and_then(|patience| Instant::now().checked_add(patience));
    let runtime = port.wait_for(RuntimeFilter::Any, &Until { deadline, canceller: Some(&waits.canceller) })?;
    Ok((port, runtime))
}

/// `None` if the runtime is older than the command.
fn if_known<T>(answer: Result<T, Error>) -> Result<Option<T>, Error> {
    match answer {
        Err(error) if error.hresult() == Some(HResult::UNKNOWN_COMMAND) => Ok(None),
        answer => answer.map(Some),
    }
}

fn process_info(client: &Client, command: &str, out: &mut dyn Write) -> anyhow::Result<()> {
    // The newest that it knows says the most.
    let says_nothing = || anyhow!("an OK that says nothing");
    if command == "ProcessInfo3" {
        if let Some(answer) = if_known(client.process_info3())? {
            let info = answer.payload().ok_or_else(says_nothing)?;
            writeln!(out, "{}\n{}", info.process_id, info.runtime_cookie)?;
            let newer = [info.managed_entrypoint_assembly_name, info.clr_product_version, info.runtime_identifier];
            return [info.command_line, info.os, info.arch].iter().chain(&newer).try_for_each(|text| say(text, out));
        }
    }
    if command != "ProcessInfo" {
        if let Some(answer) = if_known(client.process_info2())? {
            let info = answer.payload().ok_or_else(says_nothing)?;
            writeln!(out, "{}\n{}", info.process_id, info.runtime_cookie)?;
            let newer = [info.managed_entrypoint_assembly_name, info.clr_product_version];
            return [info.command_line, info.os, info.arch].iter().chain(&newer).try_for_each(|text| say(text, out));
        }
    }
    let answer: Answer<_> = client.process_info()?;
    let info = answer.payload().ok_or_else(says_nothing)?;
    writeln!(out, "{}\n{}", info.process_id, info.runtime_cookie)?;
    [info.command_line, info.os, info.arch].iter().try_for_each(|text| say(text, out))
}

/// A line of the target's text: as it is for a program that reads it, and printable on a terminal.
fn say(text: &impl std::fmt::Display, out: &mut dyn Write) -> anyhow::Result<()> {
    if io::stdout().is_terminal() {
        writeln!(out, "{}", printable(&text.to_string()))?;
    } else {
        writeln!(out, "{text}")?;
    }
    Ok(())
}

fn environment(client: &Client, out: &mut dyn Write) -> anyhow::Result<()> {
    let mut written = Ok(());
    client.environment()?.for_each(|entry| {
        if written.is_ok() {
            written = say(&entry.text(), out);
        }
    })?;
    written
}

fn dump(client: &Client, path: &str, dump_type: DumpType, flags: DumpFlags, command: &str) -> anyhow::Result<()> {
    let dump_name = IpcString::new(path);
    if command == "GenerateCoreDump3"
        && if_known(client.generate_core_dump3(&GenerateCoreDump3 { dump_name, dump_type, flags }))?.is_some()
    {
        return Ok(());
    }
    let two = GenerateCoreDump2 { dump_name, dump_type, flags };
    if command != "GenerateCoreDump" {
        match client.generate_core_dump2(&two) {
            // The oldest has one flag.
            Err(error) if error.hresult() == Some(HResult::UNKNOWN_COMMAND) && DumpFlags::LOGGING.contains(flags) => {}
            answer => return Ok(answer?),
        }
    }
    Ok(client.generate_core_dump(&GenerateCoreDump { dump_name, dump_type, diagnostics: flags.0 & 1 })?)
}

#[cfg(unix)]
impl UserEvents {
    fn run(&self, client: &Client, canceller: &Canceller) -> anyhow::Result<()> {
        let data = File::options().read(true).write(true).open(&self.data).with_context(|| self.data.display().to_string())?;
        let providers = [UserEventsProviderConfig {
            keywords: self.provider.keywords,
            log_level: EventLevel(self.provider.level),
            provider_name: self.provider.name.as_str().into(),
            arguments: self.provider.arguments(),
            filter: EventFilter::ALL,
            config: TracepointConfig { default_tracepoint_name: self.tracepoint.as_str().into(), tracepoints: Array::EMPTY },
        }];
        let session = UserEventsSession { rundown_keyword: 0, providers: Array::new(&providers) };
        let session = if self.command == "CollectTracing6" {
            client.user_events(&CollectTracing6::UserEvents(session), &data)?
        } else {
            client.user_events(&CollectTracing5::UserEvents(session), &data)?
        };
        let deadline = Instant::now().checked_add(Duration::from_millis(self.duration));
        match session.wait(&Until { deadline, canceller: Some(canceller) }) {
            Err(error) if !matches!(error.kind(), dotnet_diagnostics_ipc::io::ErrorKind::TimedOut) => Err(error.into()),
            _ => Ok(()),
        }
    }
}

impl Provider {
    fn arguments(&self) -> IpcString<'_> {
        if self.arguments.is_empty() { IpcString::ABSENT } else { IpcString::new(&self.arguments) }
    }
}

impl Trace {
    fn run<C: Connect + Send + Sync + 'static>(&self, client: &Client<C>) -> anyhow::Result<()> {
        let ids: Vec<u32> = self.events.split(',').filter(|id| !id.is_empty()).map(str::parse).collect::<Result<_, _>>()?;
        let filter = if ids.is_empty() { EventFilter::ALL } else { EventFilter { enable: true, event_ids: Array::new(&ids) } };
        let providers = [StreamingProviderConfig {
            keywords: self.provider.keywords,
            log_level: EventLevel(self.provider.level),
            provider_name: self.provider.name.as_str().into(),
            arguments: self.provider.arguments(),
            filter,
        }];
        let session = StreamingSession {
            circular_buffer_mb: self.buffer,
            format: Format::NET_TRACE,
            rundown_keyword: self.rundown,
            request_stackwalk: self.stacks.parse()?,
            providers: Array::new(&providers),
        };
        let StreamingSession { circular_buffer_mb, format, rundown_keyword, request_stackwalk, providers } = session;
        let six = CollectTracing6::Streaming(StreamingSession6 {
            circular_buffer_mb,
            format,
            rundown_keyword,
            request_stackwalk,
            providers,
            session_buffer_mode: SessionBufferMode(self.mode),
        });
        let five = CollectTracing5::Streaming(session);
        if self.command == "CollectTracing" {
            let provider = ProviderConfig {
                arguments: self.provider.arguments(),
                ..ProviderConfig::new(&self.provider.name, self.provider.keywords, EventLevel(self.provider.level))
            };
            let providers = [provider];
            let request = CollectTracing { circular_buffer_mb, format, providers: Array::new(&providers) };
            return self.record(client, client.trace(&request)?);
        }
        let mut fallback = if self.command == "CollectTracing6" { TracingFallback::new(&six) } else { TracingFallback::new(&five) };
        while fallback.request().command().name() != Some(self.command.as_str()) {
            // As if it had been asked already.
            fallback.refused(HResult::UNKNOWN_COMMAND)?;
        }
        self.record(client, client.trace_by(fallback)?.0)
    }

    fn record<C: Connect + Send + Sync + 'static>(
        &self,
        client: &Client<C>,
        mut trace: dotnet_diagnostics_ipc::io::Trace<C::Transport>,
    ) -> anyhow::Result<()> {
        let mut file = File::create(&self.output).with_context(|| self.output.display().to_string())?;
        let stopper = trace.stopper(client);
        let duration = Duration::from_millis(self.duration);
        let stopping = thread::spawn(move || {
            thread::sleep(duration);
            stopper.stop()
        });
        let bytes = io::copy(&mut trace, &mut file)?;
        if trace.outcome().is_none() {
            // The stop is on its way.
            stopping.join().map_err(|_| anyhow!("the thread that stops the session died"))??;
        }
        if trace.outcome().and_then(|outcome| outcome.stream_end()) == Some(StreamEnd::Complete) {
            return Ok(());
        }
        bail!("the stream was cut short after {bytes} bytes")
    }
}
