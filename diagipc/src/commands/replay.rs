//! `diagipc replay`.

use std::fs;
use std::io::Write;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context as _, anyhow, bail};
use diagipc::network::{Listener, LiveNetwork, place};
use diagipc::{Address, Turn};
use dotnet_diagnostics_ipc_vectors::player::{
    Conversation, Failure, Network as _, Player, PlayerError, TurnDirection,
};
use dotnet_diagnostics_ipc_vectors::script::{Plays, Script, Step};
use dotnet_diagnostics_ipc_vectors::{Hazard, parse_scripts};

use crate::commands::printable::{plain, say};
use crate::commands::target::existing;
use crate::commands::{Outcome, interrupt};

/// Plays a recorded conversation, or any exchange script, to a runtime or a client.
///
/// With `--to` it plays the side that connects: a client to a runtime, or a runtime to a tool's
/// diagnostic port. With `--listen` it plays the side that listens: a runtime for a client, or a
/// tool for a runtime with that port. If several scripts in the file fit, name one.
#[derive(clap::Args)]
#[command(
    after_long_help = exit_statuses!(
        "0      all steps matched the script",
        "1      a step differed",
        "2      usage error, or a script that cannot be played here",
        "3      the other side cannot be reached, or did not connect",
        "128+n  interrupted by signal n: SIGHUP, SIGINT or SIGTERM",
    )
)]
pub(crate) struct Arguments {
    /// A file of exchange scripts
    #[arg(value_name = "FILE")]
    file: PathBuf,

    /// The script, by its name or number
    #[arg(long, value_name = "NAME")]
    script: Option<String>,

    /// The runtime: the path of its socket, its process id or HOST:PORT; or a tool's port
    #[arg(
        long,
        value_name = "ENDPOINT",
        required_unless_present = "listen",
        conflicts_with = "listen"
    )]
    to: Option<Address>,

    /// Where a client connects, or a runtime to its port: a path or HOST:PORT
    #[arg(long, value_name = "PATH", value_parser = place)]
    listen: Option<PathBuf>,

    /// The time limit of a step that has no limit of its own [default: the file's]
    #[arg(long, value_name = "MS", value_parser = clap::value_parser!(u32).range(1..=600_000))]
    within: Option<u32>,

    /// Also play scripts that change the runtime: dumps, profilers, environment, resume
    #[arg(long)]
    allow_side_effects: bool,

    /// Also play scripts that may kill or block the runtime, or make it leak
    #[arg(long)]
    allow_harmful: bool,
}

/// The maximum number of bytes shown of one message.
const MAX_SHOWN_LEN: usize = 256;

pub(crate) fn run(arguments: &Arguments, out: &mut dyn Write) -> anyhow::Result<Outcome> {
    let file_name = arguments.file.display().to_string();
    let text = fs::read_to_string(&arguments.file).with_context(|| file_name.clone())?;
    let file = parse_scripts(&file_name, &text)?;
    let script = chosen(&file.scripts, arguments)?;
    match script.hazard {
        Some(Hazard::Harmful) if !arguments.allow_harmful => {
            bail!("{}: may kill or block the runtime (--allow-harmful plays it)", script.name);
        }
        Some(Hazard::SideEffect) if !arguments.allow_side_effects && !arguments.allow_harmful => {
            bail!("{}: changes the runtime (--allow-side-effects plays it)", script.name);
        }
        _ => {}
    }
    let canceller = interrupt::canceller()?;
    let Some(network) = network(script, arguments)? else { return Ok(Outcome::Lost) };
    let mut network = network.with_canceller(canceller);
    let within = Duration::from_millis(arguments.within.unwrap_or(file.within_ms).into());
    let mut player = Player::new(&mut network, within);
    let outcome = player.play(&script.steps);
    let name = plain(&script.name);
    let conversation = player.conversation().clone();
    let _ = player.close_all();
    match outcome {
        Ok(()) => {
            writeln!(out, "{name}: all {} steps matched the script", script.steps.len())?;
            Ok(Outcome::Well)
        }
        Err(Failure { trouble: PlayerError::Unavailable(why), step, .. }) => {
            Err(anyhow!("{name}: step {step} cannot be played here: {why}"))
        }
        Err(failure) => {
            if let Some(signal) = interrupt::signal() {
                writeln!(
                    out,
                    "INTERRUPTED  {name}: in step {} of {}",
                    failure.step,
                    script.steps.len()
                )?;
                show(&conversation, out)?;
                return Ok(Outcome::Interrupted(signal));
            }
            writeln!(out, "{name}: {}", plain(&failure.to_string()))?;
            show(&conversation, out)?;
            let meets =
                matches!(script.steps.get(failure.step), Some(Step::Open(_) | Step::Accept(_)));
            Ok(if meets && !conversation.has_bytes() { Outcome::Lost } else { Outcome::Faulty })
        }
    }
}

/// Returns whether a script connects rather than listens.
fn connects(script: &Script) -> bool {
    match &script.plays {
        Plays::Client(part) => part.target.ports.is_empty(),
        Plays::Runtime(part) => part.ask.port.is_some(),
    }
}

fn chosen<'s>(scripts: &'s [Script], arguments: &Arguments) -> anyhow::Result<&'s Script> {
    let option = if arguments.to.is_some() { "--to" } else { "--listen" };
    let fits = |script: &&Script| connects(script) == arguments.to.is_some();
    if let Some(name) = &arguments.script {
        let found =
            scripts.iter().find(|script| script.name == *name || script.sc_id.to_string() == *name);
        let script = found.ok_or_else(|| anyhow!("unknown script {name}"))?;
        if !fits(&script) {
            bail!("script {name} cannot be played with {option}");
        }
        return Ok(script);
    }
    match scripts.iter().filter(fits).collect::<Vec<_>>().as_slice() {
        [script] => Ok(script),
        [] => bail!("no script can be played with {option}"),
        several => {
            bail!("{} scripts can be played with {option}: choose one with --script", several.len())
        }
    }
}

/// Returns the sockets for the script; `None` if the other side does not exist.
fn network(script: &Script, arguments: &Arguments) -> anyhow::Result<Option<LiveNetwork>> {
    let port = match &script.plays {
        Plays::Client(part) => {
            let target = &part.target;
            // It is unknown whether the runtime was started like that.
            if target.suspended
                || !target.environment.is_empty()
                || !target.default_port
                || target.ports.len() > 1
            {
                bail!("{}: needs a runtime started for this script", script.name);
            }
            target.ports.first().map(|port| (port.id.as_str(), port.listening))
        }
        Plays::Runtime(part) => part.ask.port.as_deref().map(|port| (port, false)),
    };
    let path = match (&arguments.to, &arguments.listen) {
        (Some(to), _) => match existing(to) {
            Ok(path) => path,
            Err(why) => {
                say(&format!("diagipc: {why}"));
                return Ok(None);
            }
        },
        (None, Some(path)) => path.clone(),
        (None, None) => bail!("expected either --to or --listen"),
    };
    let Some((name, listening)) = port else {
        if arguments.to.is_none() {
            return Ok(Some(LiveNetwork::in_place_of_a_runtime(Listener::bind(path)?)));
        }
        let network = LiveNetwork::to(path);
        return Ok(Some(match arguments.to {
            Some(Address::Process(process_id)) => network.with_process_id(process_id),
            _ => network,
        }));
    };
    let mut network = LiveNetwork::to(&path).with_port(name, &path);
    if listening {
        network.listen(name, true).map_err(|trouble| anyhow!("{}: {trouble}", path.display()))?;
    }
    Ok(Some(network))
}

fn show(conversation: &Conversation, out: &mut dyn Write) -> anyhow::Result<()> {
    for turn in Turn::all(conversation) {
        let what = match turn.direction {
            TurnDirection::Sent => "sent",
            TurnDirection::Received => "seen",
        };
        let shown = turn.bytes.get(..MAX_SHOWN_LEN).unwrap_or(&turn.bytes);
        let all = turn.length.unwrap_or(turn.bytes.len() as u64);
        write!(out, "  {} {what} {all} bytes: {}", turn.connection, hex::encode(shown))?;
        let more = all - shown.len() as u64;
        if more > 0 {
            write!(out, " … {more} more")?;
        }
        if turn.fds > 0 {
            write!(out, ", with {} descriptors", turn.fds)?;
        }
        writeln!(out)?;
    }
    Ok(())
}
