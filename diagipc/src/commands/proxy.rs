//! `diagipc proxy`.

use std::ffi::OsString;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use std::{env, fs, thread};

use anyhow::{Context as _, anyhow, bail};
use diagipc::network::{Listener, endpoint_at, place, tcp_address, trust_policy};
use diagipc::record::{ConnectionSummary, Direction, Proxy, Witness, run_client};
use diagipc::{Address, socket_name};
use dotnet_diagnostics_ipc::endpoint as names;
use dotnet_diagnostics_ipc::io::Canceller;
use dotnet_diagnostics_ipc_vectors::script::Ending;

use crate::commands::printable::say;
use crate::commands::recording::{self, Capture};
use crate::commands::target::existing;
use crate::commands::{Outcome, interrupt};

/// Forwards between clients and a runtime, and records their messages.
///
/// Forwards every byte, descriptor and end. Prints the socket where it listens, then a line on
/// standard error for each connection that has ended. SIGHUP, SIGINT or SIGTERM ends it.
///
/// With a COMMAND it runs that client, with a new directory as TMPDIR, which contains the socket of
/// a process that plays the runtime. `{pid}`, `{socket}` and `{tmpdir}` in the command are replaced
/// by theirs. A tool that compares the process id that it is given with the one in the replies or
/// events, as dotnet-gcdump does, needs `{target}`, the process id of `--to`, and the socket.
///
/// With `--out` it writes NAME.txt, the conversation in words, and NAME.json, a script for `replay`
/// that sends what the client sent and compares the header of each reply.
#[derive(clap::Args)]
#[command(
    after_long_help = exit_statuses!(
        "0      the proxy was ended, or the client succeeded",
        "1      the client failed",
        "2      usage error, or a socket or file that cannot be created",
        "3      the other side does not exist",
        "128+n  with a client: interrupted by signal n: SIGHUP, SIGINT or SIGTERM",
    )
)]
pub(crate) struct Arguments {
    /// Where clients connect: the path of a socket or HOST:PORT; or a directory, for a socket named
    /// like a runtime's; or a process id, for the socket of that process in TMPDIR
    #[arg(long, value_name = "A", required_unless_present_any = ["port", "client"], conflicts_with = "port", value_parser = place)]
    listen: Option<PathBuf>,

    /// The runtime: the path of its socket, its process id, or HOST:PORT
    #[arg(long, value_name = "B", required_unless_present = "port", conflicts_with = "to_port")]
    to: Option<String>,

    /// The reverse direction: where a runtime connects, its diagnostic port; a path or HOST:PORT
    #[arg(long, value_name = "A", requires = "to_port", value_parser = place)]
    port: Option<PathBuf>,

    /// The port where a tool listens
    #[arg(long, value_name = "B", requires = "port", value_parser = place)]
    to_port: Option<PathBuf>,

    /// The process id in the name of a socket in a directory; by default the proxy's
    #[arg(long, value_name = "N")]
    pid: Option<u32>,

    /// Write the messages to this directory
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,

    /// The name of the files; by default that of the client's program, or `recording`
    #[arg(long, value_name = "NAME", requires = "out")]
    name: Option<String>,

    /// Write the traffic to this file as it arrives, for Wireshark (`spec/GRAMMAR.md`); a named
    /// pipe can be watched live. An existing file is overwritten
    #[arg(long, value_name = "FILE")]
    pcapng: Option<PathBuf>,

    /// End after one connection
    #[arg(long, conflicts_with = "connections")]
    once: bool,

    /// End after this many connections
    #[arg(long, value_name = "N")]
    connections: Option<u64>,

    /// End when standard input ends, after the open connections
    #[arg(long, hide = true)]
    until_eof: bool,

    /// A client to run, and its arguments
    #[arg(
        last = true,
        value_name = "COMMAND",
        requires = "to",
        conflicts_with_all = ["listen", "port", "pid", "once", "connections", "until_eof"]
    )]
    client: Vec<OsString>,
}

/// How long connections may continue after their client has ended.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(2);

pub(crate) fn run(arguments: &Arguments, out: &mut dyn Write) -> anyhow::Result<Outcome> {
    if arguments.client.is_empty() { forward(arguments, out) } else { with_client(arguments, out) }
}

/// Runs a client, and between it and the runtime a proxy in a separate process.
fn with_client(arguments: &Arguments, out: &mut dyn Write) -> anyhow::Result<Outcome> {
    let canceller = interrupt::canceller()?;
    interrupt::own()?;
    let mut proxy = vec![env::current_exe().context("the path of this program")?.into()];
    let to = arguments.to.as_deref().unwrap_or_default();
    proxy.extend(["proxy", "--until-eof", "--to", to, "--listen", "{tmpdir}"].map(OsString::from));
    if let Some(directory) = &arguments.out {
        let program = arguments.client.first().map(Path::new).and_then(Path::file_stem);
        let of_program = || program.map(|name| name.to_string_lossy().into_owned());
        let name = arguments.name.clone().or_else(of_program).unwrap_or_default();
        proxy.extend(["--name".into(), name.into(), "--out".into(), directory.into()]);
    }
    if let Some(file) = &arguments.pcapng {
        proxy.extend(["--pcapng".into(), file.into()]);
    }
    let trust = trust_policy();
    if trust == trust.allowing_shared_directory() {
        proxy.push("--shared-directory".into());
    }
    if trust == trust.allowing_any_address() {
        proxy.push("--any-address".into());
    }
    let run = run_client(&proxy, &arguments.client, to, &canceller)?;
    if let Some(status) = run.client {
        writeln!(out, "the client ended: {status}")?;
    }
    let is_written = run.proxy.is_some_and(|status| status.success());
    match (run.client, interrupt::signal()) {
        (None, _) if run.proxy.and_then(|status| status.code()) == Some(3) => Ok(Outcome::Lost),
        (_, Some(signal)) if run.is_interrupted => {
            let recording = if is_written {
                "the recording has all messages until then"
            } else {
                "nothing was recorded"
            };
            writeln!(out, "INTERRUPTED  {recording}")?;
            Ok(Outcome::Interrupted(signal))
        }
        (None, _) => bail!("the proxy did not start"),
        (Some(_), _) if !is_written => bail!("the recording could not be written"),
        (Some(status), _) => Ok(if status.success() { Outcome::Well } else { Outcome::Faulty }),
    }
}

fn forward(arguments: &Arguments, out: &mut dyn Write) -> anyhow::Result<Outcome> {
    let (at, to) = match (&arguments.listen, &arguments.to, &arguments.port, &arguments.to_port) {
        (Some(at), Some(to), None, None) => {
            let runtime: Address = to.parse().map_err(anyhow::Error::msg)?;
            let endpoint = runtime.endpoint().map_err(anyhow::Error::msg)?;
            if let Err(why) = existing(&runtime) {
                say(&format!("diagipc: {why}"));
                return Ok(Outcome::Lost);
            }
            (socket(at, arguments.pid), endpoint.trusting(trust_policy()))
        }
        (None, None, Some(at), Some(to)) => (at.clone(), endpoint_at(to)),
        _ => return Err(anyhow!("expected --listen and --to, or --port and --to-port")),
    };
    if let Some(directory) = &arguments.out {
        fs::create_dir_all(directory).with_context(|| directory.display().to_string())?;
    }
    let name = || arguments.to.clone().unwrap_or_else(|| at.display().to_string());
    let (canceller, closing) = (Canceller::new()?, Canceller::new()?);
    interrupt::cancels(vec![vec![canceller.clone(), closing.clone()]])?;
    if arguments.listen.is_some() {
        says_who_looks_elsewhere(&at);
    }
    let listener = Listener::bind(&at)?;
    // This overwrites an older file.
    let capture = arguments
        .pcapng
        .as_ref()
        .map(|file| Capture::create(file, &name()).map(Arc::new))
        .transpose()?;
    let at = if tcp_address(&at).is_some() { listener.place().to_path_buf() } else { at };
    let witness = capture
        .clone()
        .map(|capture| -> Witness { Arc::new(move |event, bytes| capture.saw(event, bytes)) });
    let proxy = Proxy {
        runtime_connects: arguments.port.is_some(),
        records: arguments.out.is_some(),
        witness,
        closing: Some(closing.clone()),
        ..Proxy::new(listener, to)
    };
    if arguments.until_eof {
        let canceller = canceller.clone();
        thread::spawn(move || {
            // An unreadable input counts as ended.
            let _ = io::copy(&mut io::stdin().lock(), &mut io::sink());
            closing.cancel();
            thread::sleep(CLOSE_TIMEOUT);
            canceller.cancel();
        });
    }
    writeln!(out, "{}", at.display())?;
    out.flush()?;
    let connections = if arguments.once { Some(1) } else { arguments.connections };
    let recording = proxy.run(&canceller, connections, &report)?;
    drop(proxy);
    let captured = capture.map_or(Ok(()), |capture| capture.finish());
    if let Some(directory) = &arguments.out {
        let name = arguments.name.as_deref().unwrap_or("recording");
        recording::write(&recording, directory, name, &mut io::stderr())?;
    }
    captured?;
    Ok(Outcome::Well)
}

fn socket(at: &Path, pid: Option<u32>) -> PathBuf {
    let number = at.to_str().and_then(|text| text.parse::<u32>().ok());
    let directory = match number {
        Some(_) => PathBuf::from(names::directory(env::var("TMPDIR").ok().as_deref())),
        None if at.is_dir() => at.to_path_buf(),
        None => return at.to_path_buf(),
    };
    let process_id = number.or(pid).unwrap_or_else(std::process::id);
    directory.join(socket_name(process_id).to_string())
}

/// Warns if a client may look elsewhere: in the `TMPDIR` of the named process (F-144).
fn says_who_looks_elsewhere(at: &Path) {
    let name = at.file_name().and_then(|name| name.to_str()).map(names::SocketName::parse);
    let Some(Ok(names::SocketName { pid: process_id, .. })) = name else { return };
    let Some(environment) = diagipc::process::procfs::environment(process_id) else { return };
    let tmpdir = environment.iter().find_map(|one| one.strip_prefix(b"TMPDIR="));
    let tmpdir = tmpdir.map(|tmpdir| String::from_utf8_lossy(tmpdir).into_owned());
    let theirs = PathBuf::from(names::directory(tmpdir.as_deref()));
    let is_ours = |ours: &Path| fs::canonicalize(ours).ok() == fs::canonicalize(&theirs).ok();
    if !at.parent().is_some_and(is_ours) {
        let theirs = theirs.display();
        say(&format!(
            "note: process {process_id} has its sockets in {theirs}: a client that looks there, as the official one does, does not connect to this proxy"
        ));
    }
}

/// Writes the line of a connection.
fn report(summary: &ConnectionSummary) {
    let ConnectionSummary { number, began, over, command, client, runtime, ended, trouble } =
        summary;
    let command = command.map_or_else(|| "no request".to_owned(), |command| command.to_string());
    let ended = match (trouble, ended) {
        (Some(trouble), _) => trouble.clone(),
        (None, Some((by, how))) => format!(
            "{} by the {}",
            match how {
                Ending::HalfClose => "half-closed",
                Ending::Close => "closed",
                Ending::Reset => "reset",
            },
            match by {
                Direction::Client => "client",
                Direction::Server => "runtime",
            }
        ),
        (None, None) => "ended with the proxy".to_owned(),
    };
    let (began, over) = (began.as_secs_f64(), over.as_secs_f64());
    say(&format!(
        "{began:>9.3} s to {over:.3} s  #{number}  {command}: {client} bytes sent, {runtime} received, {ended}"
    ));
}
