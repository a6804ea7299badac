//! The parts of a network that differ with Windows pipes: their instances, and what they lack.

use std::convert::Infallible;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use std::{io, thread};

use dotnet_diagnostics_ipc::io::windows::{PipeListener, PipeTransport};
use dotnet_diagnostics_ipc::io::{Canceller, Error, ErrorKind, Phase, Transport as _, WaitLimit};
use dotnet_diagnostics_ipc_vectors::player::{Flow, PlayerError};
use dotnet_diagnostics_ipc_vectors::script::{
    EndStep, Ending, ExpectEnd, ExpectedEnd, FdKind, SignalKind, Step,
};
use windows_sys::Win32::Foundation::{ERROR_BROKEN_PIPE, ERROR_NO_DATA, ERROR_PIPE_NOT_CONNECTED};

use super::{Background, cancelled, tcp_address};

/// The interval of polling.
const POLL_INTERVAL: Duration = Duration::from_millis(10);
/// How long there may be no pipe between two clients of a live server.
const PIPE_TIMEOUT: Duration = Duration::from_millis(500);
/// The time between two connections. .NET creates a pipe for the next client when one has
/// connected. It misses a client that opens the pipe too early, and then serves no client any more
/// (seen on 10.0.9 under wine).
const CONNECT_INTERVAL: Duration = Duration::from_millis(20);

const NO_HALF_CLOSE: &str = "a pipe has no half-close";
const NO_RESET: &str = "a pipe has no reset: its end looks the same with and without unread bytes";
const NO_DESCRIPTORS: &str = "a pipe cannot pass descriptors";
const NO_SIGNALS: &str = "Windows has no signals";
const NO_FILE_OF_THE_PORT: &str = "a pipe has no file that can remain";

pub(super) type Stream = PipeTransport;

/// A pipe on which the player listens.
#[derive(Clone, Debug)]
pub struct PortPipe(Arc<Mutex<PipeState>>);

#[derive(Debug)]
struct PipeState {
    listener: PipeListener,
    /// A client that has connected, and was not accepted yet.
    called: Option<PipeTransport>,
}

impl PortPipe {
    /// Listens at the pipe of this name, with or without `\\.\pipe\`.
    ///
    /// # Errors
    /// Fails as [`PipeListener::bind`] does.
    pub fn bind(address: impl AsRef<Path>) -> Result<Self, Error> {
        if tcp_address(address.as_ref()).is_some() {
            let why = "on Windows a port is a pipe; dotnet-dsrouter listens on TCP";
            return Err(Error::new(Phase::Listen, ErrorKind::Unsupported(why)));
        }
        let listener = PipeListener::bind(&address.as_ref().to_string_lossy())?;
        Ok(Self(Arc::new(Mutex::new(PipeState { listener, called: None }))))
    }

    /// Accepts a connection, or `None` on a timeout.
    pub(super) fn accept(&self, until: &WaitLimit<'_>) -> Result<Option<Stream>, PlayerError> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).accept(until)
    }

    /// Returns whether a connection arrives in time, and keeps it for [`accept`](Self::accept).
    pub(super) fn is_called(&self, until: &WaitLimit<'_>) -> Result<bool, PlayerError> {
        let mut listening = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        listening.called = listening.accept(until)?;
        Ok(listening.called.is_some())
    }
}

impl PipeState {
    fn accept(&mut self, until: &WaitLimit<'_>) -> Result<Option<Stream>, PlayerError> {
        if let Some(called) = self.called.take() {
            return Ok(Some(called));
        }
        match self.listener.accept(until) {
            Ok(pipe) => Ok(Some(pipe)),
            Err(error) => match error.kind() {
                ErrorKind::TimedOut => Ok(None),
                ErrorKind::Cancelled => Err(cancelled()),
                _ => Err(PlayerError::differs(format!("{error:#}"))),
            },
        }
    }
}

/// Returns the reason why no pipe can play a step, if there is one.
pub(crate) const fn lacks(step: &Step) -> Option<&'static str> {
    match step {
        Step::EndStep(EndStep { end: Ending::HalfClose, .. }) => Some(NO_HALF_CLOSE),
        Step::EndStep(EndStep { end: Ending::Reset, .. })
        | Step::ExpectEnd(ExpectEnd { expect_end: ExpectedEnd::Reset, .. }) => Some(NO_RESET),
        Step::Signal(_) => Some(NO_SIGNALS),
        Step::ExpectSocket(_) => Some(NO_FILE_OF_THE_PORT),
        Step::Send(step) if step.with_fd.is_some() => Some(NO_DESCRIPTORS),
        Step::Expect(step) if step.with_fd => Some(NO_DESCRIPTORS),
        _ => None,
    }
}

/// Opens the pipe, which may be missing for a moment between two clients.
pub(super) fn connect(pipe: &Path, until: &WaitLimit<'_>) -> Result<Stream, PlayerError> {
    let (began, name) = (Instant::now(), pipe.to_string_lossy());
    loop {
        match PipeTransport::connect(&name, until) {
            Ok(pipe) => return Ok(pipe),
            Err(error)
                if matches!(error.kind(), ErrorKind::NotFound(_))
                    && began.elapsed() < PIPE_TIMEOUT
                    && until.check().is_ok() =>
            {
                thread::sleep(POLL_INTERVAL);
            }
            Err(error) => return Err(PlayerError::differs(format!("{error:#}"))),
        }
    }
}

/// Gives the server the time to wait for the next client.
pub(super) fn after_connecting() {
    thread::sleep(CONNECT_INTERVAL);
}

/// Returns whether the pipe exists, which disappears with its process. Connecting would add a
/// connection without data (F-75).
pub(crate) fn is_served(pipe: &Path) -> bool {
    let (began, name) = (Instant::now(), pipe.to_string_lossy());
    while matches!(PipeTransport::is_there(&name), Ok(false)) {
        if began.elapsed() >= PIPE_TIMEOUT {
            return false;
        }
        thread::sleep(POLL_INTERVAL);
    }
    true
}

/// Fails; a step that sends a signal is not played.
pub(super) fn signal(_: u32, _: SignalKind) -> io::Result<()> {
    Err(io::Error::new(io::ErrorKind::Unsupported, NO_SIGNALS))
}

/// Returns `None`, because the name of a pipe has the process id.
pub(super) const fn peer_process(_: &Stream) -> Option<u32> {
    None
}

pub(super) fn send(
    pipe: &mut Stream,
    bytes: &[u8],
    _: Option<&Infallible>,
    until: &WaitLimit<'_>,
) -> Result<usize, ErrorKind> {
    pipe.send(bytes, until)
}

pub(super) fn receive(
    pipe: &mut Stream,
    into: &mut [u8],
    until: &WaitLimit<'_>,
) -> Result<(usize, Vec<FdKind>), ErrorKind> {
    Ok((pipe.receive(into, until)?, Vec::new()))
}

/// Returns whether the system reports that the peer has closed its end.
pub(super) fn is_gone(error: &io::Error) -> bool {
    let code = error.raw_os_error().and_then(|raw| u32::try_from(raw).ok());
    code.is_some_and(|code| {
        [ERROR_BROKEN_PIPE, ERROR_NO_DATA, ERROR_PIPE_NOT_CONNECTED].contains(&code)
    })
}

pub(super) fn half_close(_: &Stream) -> io::Result<()> {
    Err(io::Error::new(io::ErrorKind::Unsupported, NO_HALF_CLOSE))
}

pub(super) fn in_background(pipe: &Stream, flow: Flow) -> io::Result<Background> {
    let (mut reader, canceller) = (pipe.try_clone()?, Canceller::new()?);
    let stopper = canceller.clone();
    let read = move |into: &mut [u8]| {
        let until = WaitLimit { deadline: None, canceller: Some(&canceller) };
        reader.receive(into, &until).map_err(|stopped| match stopped {
            ErrorKind::Io(error) => error,
            _ => io::ErrorKind::TimedOut.into(),
        })
    };
    Background::start(flow, read, move || stopper.cancel())
}

/// Descriptors for pipes, which can pass none.
#[derive(Default)]
pub(super) struct NoDescriptors {}

impl NoDescriptors {
    pub(super) const fn new(_: bool) -> Self {
        Self {}
    }

    pub(super) fn open(_: &mut Self, _: FdKind) -> Result<Infallible, PlayerError> {
        Err(PlayerError::Unavailable(NO_DESCRIPTORS.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use dotnet_diagnostics_ipc_vectors::player::{Difference, Link, Network as _, Player};
    use dotnet_diagnostics_ipc_vectors::script::Life;

    use super::*;
    use crate::network::LiveNetwork;

    fn steps(json: &str) -> Vec<Step> {
        serde_json::from_str(json).unwrap()
    }

    #[test]
    fn script_unplayable_over_pipes_is_not_begun() {
        let mut listener = PipeListener::bind("dotnet-diagnostics-ipc-test-lacks").unwrap();
        let mut network = LiveNetwork::to("dotnet-diagnostics-ipc-test-lacks");
        for (step, why) in [
            (r#"{ "on": "a", "end": "half_close" }"#, NO_HALF_CLOSE),
            (r#"{ "on": "a", "end": "reset" }"#, NO_RESET),
            (r#"{ "on": "a", "expect_end": "reset" }"#, NO_RESET),
            (r#"{ "on": "a", "send": ["00"], "with_fd": "null" }"#, NO_DESCRIPTORS),
            (r#"{ "signal": "term" }"#, NO_SIGNALS),
            (r#"{ "expect_socket": "gone" }"#, NO_FILE_OF_THE_PORT),
        ] {
            let script = steps(&format!(r#"[{{ "open": "a" }}, {step}]"#));
            let failure =
                Player::new(&mut network, Duration::from_secs(5)).play(&script).unwrap_err();
            assert_eq!(
                (failure.step, failure.trouble),
                (1, PlayerError::Unavailable(why.to_owned())),
                "{step}"
            );
        }
        let until = WaitLimit {
            deadline: Instant::now().checked_add(Duration::from_millis(100)),
            ..WaitLimit::FOREVER
        };
        assert!(
            matches!(listener.accept(&until).unwrap_err().kind(), ErrorKind::TimedOut),
            "somebody has connected"
        );
    }

    #[test]
    fn bytes_are_sent_while_others_are_drained() {
        let mut listener = PipeListener::bind("dotnet-diagnostics-ipc-test-drain").unwrap();
        let server = thread::spawn(move || {
            let mut pipe = listener.accept(&WaitLimit::FOREVER).unwrap();
            // These are more bytes than a pipe holds, and then proof that a byte arrived meanwhile.
            let bytes = vec![7; 100_000];
            let mut rest = bytes.as_slice();
            while !rest.is_empty() {
                rest = &rest[pipe.send(rest, &WaitLimit::FOREVER).unwrap()..];
            }
            let mut byte = [0];
            assert_eq!(pipe.receive(&mut byte, &WaitLimit::FOREVER).unwrap(), 1);
            pipe.send(&byte, &WaitLimit::FOREVER).unwrap();
        });
        let mut network = LiveNetwork::to("dotnet-diagnostics-ipc-test-drain");
        let script = steps(
            r#"[{ "open": "a" }, { "on": "a", "drain": true }, { "wait": 50 }, { "on": "a", "send": ["2a"] },
                { "on": "a", "expect_end": "closed", "last": "072a" }]"#,
        );
        Player::new(&mut network, Duration::from_secs(20)).play(&script).unwrap();
        server.join().unwrap();
        assert_eq!(network.drained(Link::new(0), Duration::ZERO).unwrap().len, 100_001);
    }

    #[test]
    fn server_lives_as_long_as_its_pipe() {
        let name = "dotnet-diagnostics-ipc-test-life";
        let listener = PipeListener::bind(name).unwrap();
        let mut network = LiveNetwork::to(name).with_process(|| is_served(Path::new(name)));
        assert_eq!(network.life(Life::Dead, Duration::ZERO).unwrap(), Life::Alive);
        // The pipe exists even while it is busy.
        let link = network.open(None, Duration::from_secs(5)).unwrap();
        assert_eq!(network.life(Life::Alive, Duration::ZERO).unwrap(), Life::Alive);
        network.end(link, Ending::Close).unwrap();
        drop(listener);
        assert_eq!(network.life(Life::Alive, Duration::ZERO).unwrap(), Life::Dead);
    }

    #[test]
    fn runtime_at_port_is_asked_after_its_advertise() {
        let name = "dotnet-diagnostics-ipc-test-port-player";
        let mut network = LiveNetwork::at_port(PortPipe::bind(name).unwrap());
        let runtime = thread::spawn(move || {
            for (advertise, is_one) in [
                (&b"ADVR_V1\0................\x2a\0\0\0\0\0\0\0\0\0"[..], true),
                (b"GET / HTTP", false),
            ] {
                let mut pipe = PipeTransport::connect(name, &WaitLimit::FOREVER).unwrap();
                pipe.send(advertise, &WaitLimit::FOREVER).unwrap();
                if is_one {
                    assert_eq!(pipe.receive(&mut [0; 20], &WaitLimit::FOREVER).unwrap(), 20);
                    pipe.send(b"DOTNET_IPC_V1\0\x18\0\xff\0\0\0\0\0\0\0", &WaitLimit::FOREVER)
                        .unwrap();
                }
            }
        });
        let script = steps(
            r#"[{ "open": "a" }, { "on": "a", "send": ["444f544e45545f4950435f563100", "1400", "0401", "0000"] },
                { "on": "a", "expect": ["444f544e45545f4950435f563100", "1800", "ff00", "0000", "00000000"] },
                { "on": "a", "expect_end": "closed" }]"#,
        );
        Player::new(&mut network, Duration::from_secs(20)).play(&script).unwrap();
        let failure = network.open(None, Duration::from_secs(40)).unwrap_err();
        assert_eq!(failure, PlayerError::differs("the connection was closed inside the advertise"));
        runtime.join().unwrap();
        let failure = network.open(None, Duration::ZERO).unwrap_err();
        assert_eq!(failure, Difference::NotConnected.into());
    }

    #[test]
    fn player_listens_as_runtime_and_at_ports() {
        let (own, port) =
            ("dotnet-diagnostics-ipc-test-ours", "dotnet-diagnostics-ipc-test-ours-port");
        let listener = PortPipe::bind(own).unwrap();
        let mut network = LiveNetwork::in_place_of_a_runtime(listener).with_port("p", port);
        network.listen("p", true).unwrap();
        let client = thread::spawn(move || {
            for name in [own, port] {
                let mut pipe = PipeTransport::connect(name, &WaitLimit::FOREVER).unwrap();
                pipe.send(b"\x2a", &WaitLimit::FOREVER).unwrap();
                assert_eq!(pipe.receive(&mut [0; 4], &WaitLimit::FOREVER).unwrap(), 0);
            }
        });
        let script = steps(
            r#"[{ "accept": "a" }, { "on": "a", "expect": ["2a"] }, { "on": "a", "end": "close" },
                { "accept": "b", "port": "p" }, { "on": "b", "expect": ["2a"] }, { "on": "b", "end": "close" },
                { "listen": false, "port": "p" }, { "listen": true, "port": "p" }, { "expect_no_connection": 50, "port": "p" }]"#,
        );
        Player::new(&mut network, Duration::from_secs(20)).play(&script).unwrap();
        client.join().unwrap();
    }
}
