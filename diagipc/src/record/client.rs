//! Runs a client with a proxy in place of its runtime.

use std::ffi::{OsStr, OsString};
use std::io::{self, IsTerminal as _};
use std::os::unix::process::ExitStatusExt as _;
use std::process::{ChildStdout, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use dotnet_diagnostics_ipc::io::{Canceller, ErrorKind, WaitLimit};
use rustix::process::Signal;

use crate::process::program::{Captured, Keep};
use crate::process::{OwnDirectory, Started};

/// The maximum length of a proxy's first line; a path is shorter.
const MAX_LINE_LEN: usize = 64 * 1024;
/// The polling interval.
const POLL_INTERVAL: Duration = Duration::from_millis(5);
/// How long it may take to notice a signal.
const SIGNAL_TIMEOUT: Duration = Duration::from_millis(500);
/// How long a client may take to end when signalled.
const END_TIMEOUT: Duration = Duration::from_secs(2);
/// How long a client may take at a terminal, where it receives Ctrl-C itself and may have to stop a
/// trace.
const TERMINAL_END_TIMEOUT: Duration = Duration::from_secs(10);

/// How the client and the proxy ended.
#[derive(Clone, Debug)]
pub struct ClientRun {
    /// The status of the proxy; `None` if unknown.
    pub proxy: Option<ExitStatus>,
    /// The status of the client; `None` if unknown, or not started because the proxy has no socket.
    pub client: Option<ExitStatus>,
    /// Whether the client was cancelled, or was not started because of that, or was ended by a
    /// signal that was sent to this process too.
    pub is_interrupted: bool,
}

/// Runs a client and the proxy that replaces its runtime, until the client ends. Both are given as
/// a program with its arguments.
///
/// They run in one directory, which is their `TMPDIR` and replaces `{tmpdir}` in their arguments.
/// For the client `{pid}` is the process of the proxy, `{socket}` its socket, and `{target}` the
/// runtime. The proxy is a separate process because clients check who listens. Its first line is
/// its socket, and it ends when its standard input does.
///
/// On cancellation the client is signalled, and killed if it does not end; the proxy is given time
/// to write the messages so far. At a terminal the client is in the group of this process, and may
/// read the input. Otherwise it has its own group, which is ended completely.
///
/// # Errors
/// Returns an error if one of them cannot be started.
pub fn run_client(
    proxy_words: &[OsString],
    client_words: &[OsString],
    target: &str,
    canceller: &Canceller,
) -> io::Result<ClientRun> {
    let directory = OwnDirectory::new("diagipc-")?;
    let tmpdir = directory.path().to_string_lossy().into_owned();
    let command = |words: &[OsString], places: &[(&str, &str)]| {
        let mut words = words.iter().map(|word| filled(word, places));
        let mut command = Command::new(words.next().unwrap_or_default());
        command.args(words).env("TMPDIR", directory.path());
        command
    };
    // The proxy ends with its input, and so with this process.
    let mut proxy = command(proxy_words, &[("{tmpdir}", &tmpdir)]);
    let mut proxy = Started::start(proxy.stdin(Stdio::piped()).stdout(Stdio::piped()))
        .map_err(named(proxy_words))?;
    let input = proxy.take_input();
    let socket = first_line(proxy.take_output().0, canceller);
    let mut run = ClientRun { proxy: None, client: None, is_interrupted: canceller.is_cancelled() };
    if let Some(socket) = socket.filter(|_| !run.is_interrupted) {
        let pid = proxy.id().to_string();
        let mut client = command(
            client_words,
            &[("{pid}", &pid), ("{socket}", &socket), ("{tmpdir}", &tmpdir), ("{target}", target)],
        );
        let mut client = Started::for_the_user(&mut client)?;
        run.is_interrupted = !client.ends_before(|| canceller.is_cancelled());
        if run.is_interrupted
            && !(io::stdin().is_terminal() && ends_within(&mut client, TERMINAL_END_TIMEOUT))
        {
            // Another user's process, as after `sudo`, cannot be signalled, and is left running.
            if client.ask_to_end().is_ok() {
                ends_within(&mut client, END_TIMEOUT);
            }
        }
        run.client = client.end();
        run.is_interrupted = run.is_interrupted || was_meant_too(run.client, canceller);
    }
    drop(input);
    proxy.ends_before(|| false);
    run.proxy = proxy.end();
    Ok(run)
}

/// Whether the signal that ended the client was sent to this process too: Ctrl-C may end the client
/// before it is noticed here.
fn was_meant_too(client: Option<ExitStatus>, canceller: &Canceller) -> bool {
    let ends = [Signal::HUP, Signal::INT, Signal::TERM].map(Signal::as_raw);
    let is_one =
        client.and_then(|status| status.signal()).is_some_and(|signal| ends.contains(&signal));
    let until = WaitLimit {
        deadline: Instant::now().checked_add(SIGNAL_TIMEOUT),
        canceller: Some(canceller),
    };
    is_one && matches!(until.sleep(), Err(ErrorKind::Cancelled))
}

fn named(words: &[OsString]) -> impl Fn(io::Error) -> io::Error {
    let program = words.first().map(|word| word.to_string_lossy().into_owned()).unwrap_or_default();
    move |error| io::Error::new(error.kind(), format!("{program}: {error}"))
}

/// Returns the word with its placeholders replaced. A word that is not text has no placeholders.
fn filled(word: &OsStr, places: &[(&str, &str)]) -> OsString {
    let Some(text) = word.to_str() else { return word.to_owned() };
    places.iter().fold(String::from(text), |text, (name, value)| text.replace(name, value)).into()
}

/// Returns the first line of a proxy; `None` if there is none before its end or cancellation.
fn first_line(stdout: Option<ChildStdout>, canceller: &Canceller) -> Option<String> {
    let stdout = Captured::start(stdout, Keep::First(MAX_LINE_LEN));
    loop {
        let is_over = stdout.is_over() || canceller.is_cancelled();
        match stdout.first_line() {
            None if is_over => return None,
            None => thread::sleep(POLL_INTERVAL),
            Some(line) => return line.ok(),
        }
    }
}

/// Waits for the end of a process, but at most `most`. Returns whether it has ended.
fn ends_within(process: &mut Started, most: Duration) -> bool {
    let began = Instant::now();
    process.ends_before(|| began.elapsed() >= most)
}
