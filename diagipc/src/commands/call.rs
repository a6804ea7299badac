//! `diagipc call`: a client of all commands, for trying `diagipc client`.

use std::io::{self, IsTerminal as _, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use std::{fs, thread};

use anyhow::{Context as _, anyhow, bail};
use clap::{Args, Subcommand};
use dotnet_diagnostics_ipc::command::Command;
use dotnet_diagnostics_ipc::exchange::fallback::Fallback;
use dotnet_diagnostics_ipc::hresult::HResult;
#[cfg(unix)]
use dotnet_diagnostics_ipc::io::ErrorKind;
use dotnet_diagnostics_ipc::io::port_listener::{
    PortEvent, PortListener, PortOptions, PortRuntime,
};
use dotnet_diagnostics_ipc::io::{
    Canceller, Client, Connect, Deadlines, Endpoint, ReplyWithin, WaitLimit,
};
use dotnet_diagnostics_ipc::message::AnyRequest;
use dotnet_diagnostics_ipc::message::dump::{
    DumpFlags, DumpType, GenerateCoreDump, GenerateCoreDump2, GenerateCoreDump3,
};
use dotnet_diagnostics_ipc::message::eventpipe::{
    CollectTracing, CollectTracing6, EventFilter, EventLevel, Format, ProviderConfig,
    SessionBufferMode, StreamingProviderConfig, StreamingSession, StreamingSession6,
};
#[cfg(unix)]
use dotnet_diagnostics_ipc::message::eventpipe::{
    CollectTracing5, TracepointConfig, UserEventsProviderConfig, UserEventsSession,
};
use dotnet_diagnostics_ipc::message::process::PerfMapType;
use dotnet_diagnostics_ipc::message::profiler::{AttachProfiler, StartupProfiler};
use dotnet_diagnostics_ipc::wire::{Array, IpcString};

use crate::commands::printable::{printable, say};
use crate::commands::runtime_info::Info;
use crate::commands::{Outcome, interrupt, output_file, refusal};

/// Sends one request to a runtime.
#[derive(Args)]
pub(crate) struct Arguments {
    /// The process id
    #[arg(long, required_unless_present = "socket", conflicts_with = "socket")]
    pid: Option<u32>,

    /// The path of its socket or HOST:PORT, on Windows the name of its pipe
    #[arg(long)]
    socket: Option<PathBuf>,

    /// Time limit for the next byte
    #[arg(long, value_name = "MS", default_value_t = 5000)]
    patience: u64,

    /// Also send requests that a runtime would refuse, or crash on
    #[arg(long)]
    unchecked: bool,

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
    // A stream may be silent until it is stopped.
    let until_the_stop = match &arguments.operation {
        Operation::Trace(trace) | Operation::TracePort { trace, .. } => trace.duration,
        _ => 0,
    };
    let deadlines = Deadlines {
        stream: patience.map(|patience| patience + Duration::from_millis(until_the_stop)),
        connect: patience,
        send: patience,
        reply: ReplyWithin::Fixed(patience),
        continuation: patience,
        ..Deadlines::NONE
    };
    let endpoint = match (&arguments.socket, arguments.pid) {
        (Some(path), _) => at_address(path),
        (None, pid) => Endpoint::process(pid.context("expected a process or a socket")?),
    };
    let waits =
        Waits { deadlines, canceller: interrupt::canceller()?, unchecked: arguments.unchecked };
    match (ask(&arguments.operation, &waits.client(endpoint), &waits, out), interrupt::signal()) {
        (Ok(()), _) => Ok(Outcome::Well),
        (Err(_), Some(signal)) => Ok(Outcome::Interrupted(signal)),
        (Err(error), None) => {
            let error = refusal::explained(error, arguments.operation.request());
            say(&format!("diagipc call: {error:#}"));
            Ok(Outcome::Faulty)
        }
    }
}

impl Operation {
    /// Returns the command that the operation sends, the newest of several.
    fn request(&self) -> Option<Command> {
        Some(match self {
            Self::ProcessInfo { command } | Self::Dump { command, .. } => {
                return command.parse().ok();
            }
            Self::Trace(trace) | Self::TracePort { trace, .. } => {
                return trace.command.parse().ok();
            }
            #[cfg(unix)]
            Self::UserEvents(session) => return session.command.parse().ok(),
            Self::Environment => Command::PROCESS_ENVIRONMENT,
            Self::Resume | Self::ListenPort { .. } => Command::RESUME_RUNTIME,
            Self::SetEnv { .. } | Self::UnsetEnv { .. } => Command::SET_ENVIRONMENT_VARIABLE,
            Self::StartupHook { .. } => Command::APPLY_STARTUP_HOOK,
            Self::PerfMap { .. } => Command::ENABLE_PERF_MAP,
            Self::PerfMapOff => Command::DISABLE_PERF_MAP,
            Self::Attach { .. } => Command::ATTACH_PROFILER,
            Self::StartupProfiler { .. } => Command::STARTUP_PROFILER,
            Self::Stop { .. } => Command::STOP_TRACING,
        })
    }
}

#[cfg(unix)]
use diagipc::network::endpoint_at as at_address;

#[cfg(windows)]
fn at_address(name: &Path) -> Endpoint {
    Endpoint::pipe(name.to_string_lossy())
}

/// What ends a wait: its deadlines, or a signal.
struct Waits {
    deadlines: Deadlines,
    canceller: Canceller,
    /// Whether to send requests that a runtime would refuse.
    unchecked: bool,
}

impl Waits {
    fn client<C: Connect>(&self, at: C) -> Client<C> {
        let client =
            Client::new(at).with_deadlines(self.deadlines).with_canceller(self.canceller.clone());
        if self.unchecked { client.unchecked() } else { client }
    }
}

fn ask(
    operation: &Operation,
    client: &Client,
    waits: &Waits,
    out: &mut dyn Write,
) -> anyhow::Result<()> {
    match operation {
        Operation::ProcessInfo { command } => process_info(client, command, out),
        Operation::Environment => environment(client, out),
        Operation::Resume => Ok(client.resume()?),
        Operation::SetEnv { name, value } => {
            Ok(client.set_environment_variable(name, Some(value))?)
        }
        Operation::UnsetEnv { name } => Ok(client.set_environment_variable(name, None)?),
        Operation::StartupHook { path } => Ok(client.apply_startup_hook(path)?),
        Operation::PerfMap { kind } => Ok(client.enable_perf_map(PerfMapType(*kind))?),
        Operation::PerfMapOff => Ok(client.disable_perf_map()?),
        Operation::Dump { path, kind, flags, command } => {
            let (dump_name, dump_type) = (path.as_str().into(), DumpType(*kind));
            let flags = DumpFlags(*flags);
            match command.as_str() {
                "GenerateCoreDump" => {
                    let diagnostics = u32::from(flags.contains(DumpFlags::LOGGING));
                    let request = GenerateCoreDump { dump_name, dump_type, diagnostics };
                    client.generate_core_dump(&request)?;
                }
                "GenerateCoreDump2" => {
                    let request = GenerateCoreDump2 { dump_name, dump_type, flags };
                    client.generate_core_dump2(&request)?;
                }
                _ => client.dump(&GenerateCoreDump3 { dump_name, dump_type, flags })?,
            }
            Ok(())
        }
        Operation::Attach { clsid, path, data, timeout } => {
            let data = fs::read(data).with_context(|| data.display().to_string())?;
            let profiler_guid = clsid.parse()?;
            let request = AttachProfiler {
                attach_timeout: *timeout,
                profiler_guid,
                profiler_path: path.as_str().into(),
                client_data: &data,
            };
            Ok(client.attach_profiler(&request)?)
        }
        Operation::StartupProfiler { clsid, path } => {
            Ok(client.startup_profiler(&StartupProfiler {
                profiler_guid: clsid.parse()?,
                profiler_path: path.as_str().into(),
            })?)
        }
        Operation::Trace(trace) => trace.run(client),
        Operation::Stop { session } => match client.stop_tracing(*session)? {
            Some(other) if other != *session => {
                bail!("session {other} was stopped, expected {session}")
            }
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

/// Returns the first runtime that connects, and the port, which must be kept.
fn at_port(path: &Path, waits: &Waits) -> anyhow::Result<(PortListener, PortRuntime)> {
    let port = PortListener::bind(path, PortOptions::DEFAULT)?;
    let deadline =
        waits.deadlines.connect.and_then(|patience| Instant::now().checked_add(patience));
    let until = WaitLimit { deadline, canceller: Some(&waits.canceller) };
    loop {
        if let PortEvent::New(runtime) = port.next_event(&until)? {
            return Ok((port, runtime));
        }
    }
}

fn process_info(client: &Client, command: &str, out: &mut dyn Write) -> anyhow::Result<()> {
    let no_payload = || anyhow!("the runtime answered OK without a payload");
    let info = match command {
        "ProcessInfo" => client.process_info()?.payload().ok_or_else(no_payload)?.into(),
        "ProcessInfo2" => client.process_info2()?.payload().ok_or_else(no_payload)?.into(),
        _ => client.info()?,
    };
    Info(info).rows().iter().try_for_each(|(_, text)| line(text, out))
}

/// Writes a line of the target's text, unchanged for a program and escaped for a terminal.
fn line(text: &impl std::fmt::Display, out: &mut dyn Write) -> anyhow::Result<()> {
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
            written = line(&entry.text(), out);
        }
    })?;
    written
}

#[cfg(unix)]
impl UserEvents {
    fn run(&self, client: &Client, canceller: &Canceller) -> anyhow::Result<()> {
        let data = fs::File::options()
            .read(true)
            .write(true)
            .open(&self.data)
            .with_context(|| self.data.display().to_string())?;
        let providers = [UserEventsProviderConfig {
            keywords: self.provider.keywords,
            log_level: EventLevel(self.provider.level),
            provider_name: self.provider.name.as_str().into(),
            arguments: self.provider.arguments(),
            filter: EventFilter::ALL,
            config: TracepointConfig {
                default_tracepoint_name: self.tracepoint.as_str().into(),
                tracepoints: Array::EMPTY,
            },
        }];
        let session = UserEventsSession { rundown_keyword: 0, providers: Array::new(&providers) };
        let session = if self.command == "CollectTracing6" {
            client.user_events(&CollectTracing6::UserEvents(session), &data)?
        } else {
            client.user_events(&CollectTracing5::UserEvents(session), &data)?
        };
        let deadline = Instant::now().checked_add(Duration::from_millis(self.duration));
        match session.wait(&WaitLimit { deadline, canceller: Some(canceller) }) {
            Err(error) if !matches!(error.kind(), ErrorKind::TimedOut) => Err(error.into()),
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
        let ids = self.events.split(',').filter(|id| !id.is_empty()).map(str::parse);
        let ids = ids.collect::<Result<Vec<u32>, _>>()?;
        let filter = if ids.is_empty() {
            EventFilter::ALL
        } else {
            EventFilter { enable: true, event_ids: Array::new(&ids) }
        };
        let (name, log_level) = (self.provider.name.as_str(), EventLevel(self.provider.level));
        let providers = [StreamingProviderConfig {
            keywords: self.provider.keywords,
            log_level,
            provider_name: name.into(),
            arguments: self.provider.arguments(),
            filter,
        }];
        let format = Format::NET_TRACE;
        if self.command == "CollectTracing" {
            let provider = ProviderConfig {
                arguments: self.provider.arguments(),
                ..ProviderConfig::new(name, self.provider.keywords, log_level)
            };
            let providers = [provider];
            let providers = Array::new(&providers);
            let request = CollectTracing { circular_buffer_mb: self.buffer, format, providers };
            return self.record(client, client.trace(&request)?);
        }
        let session = StreamingSession {
            circular_buffer_mb: self.buffer,
            format,
            rundown_keyword: self.rundown,
            request_stackwalk: self.stacks.parse()?,
            providers: Array::new(&providers),
        };
        let newest = CollectTracing6::Streaming(StreamingSession6 {
            session_buffer_mode: SessionBufferMode(self.mode),
            ..session.into()
        });
        let mut fallback = Fallback::new(AnyRequest::CollectTracing6(newest));
        while fallback.command().name() != Some(self.command.as_str()) {
            // Continue as if the command had been sent and refused.
            fallback.refused(HResult::UNKNOWN_COMMAND)?;
        }
        self.record(client, client.trace_by(fallback)?.0)
    }

    fn record<C: Connect + Send + Sync + 'static>(
        &self,
        client: &Client<C>,
        mut trace: dotnet_diagnostics_ipc::io::Trace<C::Transport>,
    ) -> anyhow::Result<()> {
        let mut file = output_file::create(&self.output)?;
        let stop_handle = trace.stop_handle(client);
        let duration = Duration::from_millis(self.duration);
        let stopping = thread::spawn(move || {
            thread::sleep(duration);
            stop_handle.stop()
        });
        let bytes = io::copy(&mut trace, &mut file)?;
        if bytes > 0 {
            file.finish().with_context(|| self.output.display().to_string())?;
        }
        if trace.outcome().is_none() {
            // The stop is pending.
            stopping.join().map_err(|_| anyhow!("the thread that stops the session died"))??;
        }
        if trace.outcome().is_some_and(|outcome| outcome.is_complete()) {
            return Ok(());
        }
        bail!("the stream was cut short after {bytes} bytes")
    }
}
