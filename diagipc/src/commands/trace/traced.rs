//! The traced runtime: one that listens, or the first that connects to a port, from a command or
//! from any other program.

use std::collections::BTreeSet;
use std::env;
use std::ffi::OsString;
use std::io::{self, IsTerminal as _};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use anyhow::{Context as _, anyhow, bail};
use diagipc::network::{advised, tcp_address, trust_policy};
use diagipc::{Address, OwnDirectory, Program, Started};
use dotnet_diagnostics_ipc::endpoint::strip_pipe_prefix;
#[cfg(unix)]
use dotnet_diagnostics_ipc::io::bind_tcp;
use dotnet_diagnostics_ipc::io::port_listener::{
    PortEvent, PortListener, PortOptions, PortRuntime,
};
use dotnet_diagnostics_ipc::io::{
    Canceller, Client, Connect, Endpoint, Error, ErrorKind, WaitLimit,
};
use dotnet_diagnostics_ipc::wire::Guid;

use crate::commands::printable::say;
use crate::commands::ps::NamedTarget;
use crate::commands::runtime_info::Info;
use crate::commands::target::{Reach, Refused};
use crate::commands::{Outcome, ps};

const PORTS: &str = "DOTNET_DiagnosticPorts";
/// How often the end of a command is checked.
const POLL_INTERVAL: Duration = Duration::from_millis(50);
/// The time without a runtime after which the user is told why there may be none.
const HINT_DELAY: Duration = Duration::from_secs(10);
/// How long another runtime that has connected may take to be resumed.
const RESUME_TIMEOUT: Duration = Duration::from_secs(10);
const WHO_CONNECTS: &str = "expected a program of .NET 5 or newer with diagnostics enabled; trace an older one by its process id";

/// A traced runtime.
#[derive(Debug)]
pub(crate) enum Runtime {
    Listens(Endpoint),
    Connects(PortRuntime),
}

impl Connect for Runtime {
    type Transport = <Endpoint as Connect>::Transport;

    fn connect(&self, until: &WaitLimit<'_>) -> Result<Self::Transport, Error> {
        match self {
            Self::Listens(endpoint) => endpoint.connect(until),
            Self::Connects(runtime) => runtime.connect(until),
        }
    }
}

pub(crate) enum Source {
    /// A runtime that listens, and its process if that is the target.
    Listens(Endpoint, Option<u32>),
    Port(Box<TracePort>),
}

impl Source {
    /// Returns the source that the arguments name. A port is open, but no command is started yet.
    pub(crate) fn new(
        target: &NamedTarget,
        command: &[OsString],
        reach: &Reach,
    ) -> anyhow::Result<Self> {
        let name = target.name().map(str::to_owned);
        let of_command = command.split_first();
        // With a command, the name is the name of one of its processes.
        let address = if of_command.is_none() { target.address()? } else { None };
        Ok(match (&address, of_command) {
            (None, Some((program, arguments))) => {
                Self::Port(Box::new(TracePort::of_command(program, arguments, name)?))
            }
            (Some(Address::Port(path)), None) => Self::Port(Box::new(TracePort::at(path, name)?)),
            (Some(address), None) => {
                let process_id = match address {
                    Address::Process(id) => Some(*id),
                    _ => None,
                };
                Self::Listens(reach.endpoint(address)?, process_id)
            }
            // The arguments exclude each other, and one is required.
            _ => bail!("expected a target or a command"),
        })
    }

    /// Returns the runtime. Waits for one that connects, after starting the command for it. A
    /// signal ends the wait.
    pub(crate) fn runtime(&self, stop: &Canceller) -> anyhow::Result<Runtime> {
        Ok(match self {
            Self::Listens(endpoint, _) => Runtime::Listens(endpoint.clone()),
            Self::Port(port) => Runtime::Connects(port.runtime(stop)?),
        })
    }

    /// Returns the process of the runtime, if it is known and its id is one of this machine.
    pub(crate) fn process_id(&self, runtime: &Runtime) -> Option<u32> {
        match (self, runtime) {
            (Self::Listens(_, process_id), _) => *process_id,
            (Self::Port(port), Runtime::Connects(runtime)) => port.process_id(runtime),
            _ => None,
        }
    }

    /// Returns whether the target is the runtime's own default port, not a tool's port.
    pub(crate) const fn has_own_port(&self) -> bool {
        matches!(self, Self::Listens(..))
    }

    /// Returns whether standard output belongs to a command.
    pub(crate) fn has_command(&self) -> bool {
        matches!(self, Self::Port(port) if port.program.is_some())
    }

    /// Records that the runtime was resumed: the end of the trace no longer ends its command.
    pub(crate) fn resumed(&self) {
        if let Self::Port(port) = self {
            port.is_resumed.store(true, Ordering::SeqCst);
        }
    }

    /// Waits for the end of the command, if there is one. Returns its status, if it ended by itself
    /// and failed; otherwise the outcome of the trace.
    ///
    /// `stop`, the first signal, asks the command to end, even if it has stopped the trace before;
    /// `kill`, the second, ends it. A command whose runtime was not resumed is ended at once.
    pub(crate) fn finish(
        &self,
        traced: anyhow::Result<Outcome>,
        stop: &Canceller,
        kill: &Canceller,
    ) -> anyhow::Result<Outcome> {
        let Self::Port(port) = self else { return traced };
        let Some(mut command) = lock(&port.running).take() else { return traced };
        // Report this now, because the command may run for long.
        let traced = traced.unwrap_or_else(|error| {
            say(&format!("diagipc trace: {error:#}"));
            Outcome::Status(2)
        });
        let is_kept = port.is_resumed.load(Ordering::SeqCst);
        let ended_itself = command.ends_before(|| !is_kept || stop.is_cancelled());
        if !ended_itself && stop.is_cancelled() {
            // Windows has no signal that asks a command to end, so it is ended at once.
            #[cfg(unix)]
            let is_asked = command.ask_to_end().is_ok();
            #[cfg(not(unix))]
            let is_asked = false;
            // A command that cannot be signalled, as after `sudo`, is left, and named.
            command.ends_before(|| !is_asked || kill.is_cancelled());
        }
        let status = command.end().map(code);
        Ok(status.filter(|status| ended_itself && *status != 0).map_or(traced, Outcome::Status))
    }
}

/// Returns what starts a program. At a terminal the program ignores Ctrl-C, which stops only the
/// trace: it would end a runtime before its rundown.
fn without_ctrl_c(program: &Program) -> Command {
    if !(cfg!(unix) && io::stdin().is_terminal()) {
        return program.command();
    }
    let mut shell = Command::new("/bin/sh");
    shell
        .args(["-c", "trap '' INT; exec \"$@\"", "sh"])
        .arg(&program.path)
        .args(&program.arguments);
    shell
}

/// Returns the exit status as a shell does: 128 plus the signal, if one ended it.
fn code(status: ExitStatus) -> i32 {
    #[cfg(unix)]
    let signal = std::os::unix::process::ExitStatusExt::signal(&status);
    #[cfg(not(unix))]
    let signal: Option<i32> = None;
    status.code().or(signal.map(|signal| 128 + signal)).unwrap_or(1)
}

/// A port of this program, where runtimes connect.
pub(crate) struct TracePort {
    listener: Arc<PortListener>,
    /// The address that runtimes get.
    address: String,
    /// Whether it is on TCP, where processes of other machines may connect.
    is_tcp: bool,
    /// The name of the traced process; `None` for any process.
    name: Option<String>,
    /// The command that is started for it.
    program: Option<Program>,
    running: Mutex<Option<Started>>,
    is_resumed: AtomicBool,
    /// Resumes the other runtimes, until it is cancelled.
    others: Mutex<Option<JoinHandle<()>>>,
    closing: Canceller,
    /// The directory of a command's port.
    directory: Option<OwnDirectory>,
}

impl TracePort {
    /// Opens a port at this path or TCP address, for any program.
    fn at(path: &Path, name: Option<String>) -> anyhow::Result<Self> {
        let options = PortOptions { trust: trust_policy(), ..PortOptions::DEFAULT };
        let failed = |error: Error| anyhow!("port:{}: {}", path.display(), advised(&error));
        if let Some(address) = tcp_address(path) {
            #[cfg(unix)]
            {
                let listener = bind_tcp(address, options.trust).map_err(failed)?;
                let address = listener.local_addr()?.to_string();
                let listener = PortListener::on_tcp(listener, options).map_err(failed)?;
                return Self::new(listener, address, name, true);
            }
            #[cfg(not(unix))]
            bail!("port:{address}: on Windows a port is a pipe; dotnet-dsrouter listens on TCP");
        }
        // A runtime may have another current directory, and adds the prefix of pipes itself (P-16).
        let absolute = if cfg!(unix) { std::path::absolute(path)? } else { path.to_owned() };
        let address = absolute
            .to_str()
            .map(|text| if cfg!(windows) { strip_pipe_prefix(text).unwrap_or(text) } else { text })
            .filter(|address| !address.contains([',', ';']))
            .with_context(|| {
                format!(
                    "{}: expected UTF-8 without `,` or `;`, which separate ports",
                    path.display()
                )
            })?
            .to_owned();
        Self::new(PortListener::bind(path, options).map_err(failed)?, address, name, false)
    }

    fn new(
        listener: PortListener,
        address: String,
        name: Option<String>,
        is_tcp: bool,
    ) -> anyhow::Result<Self> {
        Ok(Self {
            listener: Arc::new(listener),
            address,
            is_tcp,
            name,
            program: None,
            running: Mutex::new(None),
            is_resumed: AtomicBool::new(false),
            others: Mutex::new(None),
            closing: Canceller::new()?,
            directory: None,
        })
    }

    /// Opens a port at a path of its own, for a command.
    fn of_command(
        program: &OsString,
        arguments: &[OsString],
        name: Option<String>,
    ) -> anyhow::Result<Self> {
        #[cfg(unix)]
        crate::commands::interrupt::own()?;
        let directory = if cfg!(unix) { Some(OwnDirectory::new("diagipc-")?) } else { None };
        let path = match &directory {
            Some(directory) => directory.path().join("port"),
            None => PathBuf::from(format!("diagipc-{}", std::process::id())),
        };
        let mut port = Self::at(&path, name)?;
        port.program = Some(Program::new(program, arguments));
        port.directory = directory;
        Ok(port)
    }

    /// Returns the first runtime that connects. All others are resumed, until this is dropped.
    fn runtime(&self, stop: &Canceller) -> anyhow::Result<PortRuntime> {
        match &self.program {
            Some(program) => *lock(&self.running) = Some(self.start(program)?),
            None => say(&format!("waiting for a program with {PORTS}='{}'", self.address)),
        }
        let mut unanswered = BTreeSet::new();
        let runtime = self.first(&mut unanswered, stop)?;
        let (listener, closing) = (Arc::clone(&self.listener), self.closing.clone());
        let others = thread::Builder::new().spawn(move || {
            let until = WaitLimit { deadline: None, canceller: Some(&closing) };
            // An error means that the port is closed.
            while let Ok(event) = listener.next_event(&until) {
                if let Some(other) = undecided(event, &mut unanswered) {
                    resume_untraced(&other, &closing);
                }
            }
        })?;
        *lock(&self.others) = Some(others);
        Ok(runtime)
    }

    /// Returns the first runtime of the chosen name, or of any name. Those before it are resumed,
    /// unless they are `unanswered`: their connection ended while they were asked for their name.
    fn first(
        &self,
        unanswered: &mut BTreeSet<Guid>,
        stop: &Canceller,
    ) -> anyhow::Result<PortRuntime> {
        let began = Instant::now();
        let mut is_told = self.program.is_none();
        loop {
            // Check this before the wait, which then finds what had connected.
            let has_ended =
                lock(&self.running).as_mut().is_some_and(|command| command.ends_before(|| true));
            let deadline = Instant::now().checked_add(POLL_INTERVAL);
            let until = WaitLimit { deadline, canceller: Some(stop) };
            match self.listener.next_event(&until) {
                Ok(event) => {
                    let Some(runtime) = undecided(event, unanswered) else { continue };
                    match self.is_chosen(&runtime, stop) {
                        Ok(true) => return Ok(runtime),
                        Ok(false) => resume_untraced(&runtime, stop),
                        Err(error) if is_gone(&error) => {
                            // A runtime that is not gone connects again.
                            unanswered.insert(runtime.cookie());
                            let id = runtime.process_id();
                            say(&format!("process {id} was asked for its name: {error:#}"));
                        }
                        Err(error) => return Err(error),
                    }
                    continue;
                }
                Err(error) if matches!(error.kind(), ErrorKind::TimedOut) => {}
                Err(error) => return Err(error.into()),
            }
            if has_ended {
                let name = self.name.as_ref().map(|name| format!(" with the name {name}"));
                let who = name.unwrap_or_default();
                return Err(Refused(format!(
                    "the command ended before a runtime{who} connected: {WHO_CONNECTS}"
                ))
                .into());
            }
            if !is_told && began.elapsed() >= HINT_DELAY {
                is_told = true;
                say(&format!("no runtime of the command has connected yet: {WHO_CONNECTS}"));
            }
        }
    }

    /// Returns the process id of a runtime that has connected, if it is one of this machine.
    fn process_id(&self, runtime: &PortRuntime) -> Option<u32> {
        u32::try_from(runtime.process_id()).ok().filter(|_| !self.is_tcp)
    }

    fn is_chosen(&self, runtime: &PortRuntime, stop: &Canceller) -> anyhow::Result<bool> {
        let Some(name) = &self.name else { return Ok(true) };
        let client = Client::new(runtime.clone()).with_canceller(stop.clone());
        let Info(info) = Info::ask(&client)?;
        let program = self.process_id(runtime).and_then(ps::program_of);
        Ok([info.managed_entrypoint_assembly_name, program].contains(&Some(name.clone())))
    }

    fn start(&self, program: &Program) -> anyhow::Result<Started> {
        let mut ports = OsString::from(&self.address);
        // The command may have ports of its own.
        if let Some(others) = env::var_os(PORTS).filter(|others| !others.is_empty()) {
            ports.push(";");
            ports.push(others);
        }
        Ok(Started::for_the_user(without_ctrl_c(program).env(PORTS, ports))?)
    }
}

/// Returns the runtime that has connected, if it was neither chosen nor resumed before.
fn undecided(event: PortEvent, unanswered: &mut BTreeSet<Guid>) -> Option<PortRuntime> {
    match event {
        PortEvent::New(runtime) => Some(runtime),
        PortEvent::Again(runtime) => unanswered.remove(&runtime.cookie()).then_some(runtime),
        PortEvent::Gone(runtime) => {
            unanswered.remove(&runtime.cookie());
            None
        }
    }
}

/// Returns whether the process, or its connection, ended while it was asked.
fn is_gone(error: &anyhow::Error) -> bool {
    let kind = error.downcast_ref::<Error>().map(Error::kind);
    matches!(kind, Some(ErrorKind::Ended { .. } | ErrorKind::Io(_)))
}

/// Resumes a runtime, because it would wait forever if nobody did.
fn resume_untraced(runtime: &PortRuntime, canceller: &Canceller) {
    let deadline = Instant::now().checked_add(RESUME_TIMEOUT);
    let id = runtime.process_id();
    say(&match runtime.resume(&WaitLimit { deadline, canceller: Some(canceller) }) {
        Ok(_) => format!("process {id} has connected too: resumed, not traced"),
        Err(error) => format!("process {id} has connected too: not resumed: {error:#}"),
    });
}

/// Waits for the thread to end, so that the socket is removed.
impl Drop for TracePort {
    fn drop(&mut self) {
        self.closing.cancel();
        if let Some(others) = lock(&self.others).take() {
            // A panic was reported when it happened.
            let _ = others.join();
        }
    }
}

/// Locks the mutex. A thread that panicked has left the value as it was.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
