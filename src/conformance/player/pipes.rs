//! Connections over Windows pipes.

use alloc::{borrow::ToOwned as _, format, string::String, vec, vec::Vec};
use core::time::Duration;
use std::io;
use std::thread;
use std::time::Instant;

use windows_sys::Win32::Foundation::{ERROR_BROKEN_PIPE, ERROR_NO_DATA, ERROR_PIPE_NOT_CONNECTED};

use super::background::Background;
use super::{Drained, Link, Network, PlayerError, Received, Sent};
use crate::exchange::End;
use crate::io::windows::PipeTransport;
use crate::io::{Canceller, Error, ErrorKind, Stopped, Transport as _, Until};
use crate::vectors::script::{EndStep, Ending, ExpectEnd, ExpectedEnd, FdKind, Life, Step};

/// How long to wait before something is looked at again.
const PAUSE: Duration = Duration::from_millis(10);
/// How long there may be no pipe between two clients of a server that lives.
const BETWEEN: Duration = Duration::from_millis(500);
/// From one connection to the next. .NET makes a pipe for the next client when one has come, and takes no notice of a client that
/// opens it before it waits for one: neither that one nor any later one is served then (seen on 10.0.9 under wine).
const UNTIL_THE_NEXT: Duration = Duration::from_millis(20);
/// The most that is read at once.
const PIECE: usize = 65_536;

const NO_HALF_CLOSE: &str = "a pipe has no half-close";
const NO_RESET: &str = "a pipe has no reset: its end looks the same whether bytes were left unread or not";
const NO_DESCRIPTORS: &str = "no descriptor passes through a pipe";
const NO_PORTS: &str = "the player has no ports over pipes";

struct Connection {
    pipe: PipeTransport,
    background: Option<Background>,
}

/// A Windows pipe of this machine.
///
/// A pipe has neither half-close nor reset, and no descriptor passes through one. [`Network::lacks`] says so of the steps that need
/// it. The player listens at no pipe.
///
/// ```
/// use std::time::Duration;
/// use dotnet_diagnostics_ipc::conformance::player::{Network, PipeNetwork, Player};
/// use dotnet_diagnostics_ipc::io::windows::PipeListener;
/// use dotnet_diagnostics_ipc::io::{Transport, Until};
/// use dotnet_diagnostics_ipc::vectors::script::Step;
///
/// // A server that knows no command at all.
/// let mut listener = PipeListener::bind("dotnet-diagnostics-ipc-doc-player")?;
/// let server = std::thread::spawn(move || {
///     let mut pipe = listener.accept(&Until::FOREVER).unwrap();
///     assert_eq!(pipe.receive(&mut [0; 20], &Until::FOREVER).unwrap(), 20);
///     pipe.send(b"DOTNET_IPC_V1\0\x18\0\xff\xff\0\0\x85\x13\x13\x80", &Until::FOREVER).unwrap();
/// });
///
/// let steps: Vec<Step> = serde_json::from_str(r#"[
///     { "open": "a" },
///     { "on": "a", "send": ["444f544e45545f4950435f563100", "1400", "0404", "0000"] },
///     { "on": "a", "expect": ["444f544e45545f4950435f563100", "1800", "ffff", "0000", "85131380"] },
///     { "on": "a", "expect_end": "closed" }]"#)?;
/// let mut network = PipeNetwork::to_pipe("dotnet-diagnostics-ipc-doc-player");
/// assert!(steps.iter().all(|step| network.lacks(step).is_none()));
/// Player::new(&mut network, Duration::from_secs(5)).play(&steps)?;
/// server.join().unwrap();
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct PipeNetwork {
    began: Instant,
    name: String,
    connections: Vec<Option<Connection>>,
}

impl PipeNetwork {
    /// The side under test listens at the pipe of this name, with or without `\\.\pipe\`.
    pub fn to_pipe(name: impl Into<String>) -> Self {
        Self { began: Instant::now(), name: name.into(), connections: Vec::new() }
    }

    /// The pipe's name, as it was given.
    pub(in crate::conformance) fn pipe(&self) -> &str {
        &self.name
    }

    /// Until a time of [`Network::now`].
    fn until(&self, until: Duration) -> Until<'static> {
        Until { deadline: self.began.checked_add(until), canceller: None }
    }

    /// Opens the pipe, which may not be there for a moment between two clients.
    fn connect(&self, until: &Until<'_>) -> Result<PipeTransport, Error> {
        let began = Instant::now();
        loop {
            match PipeTransport::connect(&self.name, until) {
                Err(error) if matches!(error.kind(), ErrorKind::NotFound(_)) => {
                    thread::sleep(PAUSE);
                    if began.elapsed() >= BETWEEN || until.check().is_err() {
                        return Err(error);
                    }
                }
                done => return done,
            }
        }
    }

    /// Whether there is a pipe, which goes with its process. A connection on which nothing is sent would be one too many (F-75).
    fn is_there(&self) -> Result<bool, PlayerError> {
        let began = Instant::now();
        loop {
            if PipeTransport::is_there(&self.name).map_err(|error| PlayerError::differs(format!("{error:#}")))? {
                return Ok(true);
            }
            if began.elapsed() >= BETWEEN {
                return Ok(false);
            }
            thread::sleep(PAUSE);
        }
    }

    fn connection(&mut self, link: Link) -> Result<&mut Connection, PlayerError> {
        let connection = self.connections.get_mut(link.number()).and_then(Option::as_mut);
        connection.ok_or_else(|| PlayerError::differs("the script has closed the connection"))
    }
}

fn in_background(pipe: &PipeTransport) -> io::Result<Background> {
    let (mut reader, canceller) = (pipe.try_clone()?, Canceller::new()?);
    let stopper = canceller.clone();
    let read = move |into: &mut [u8]| {
        let until = Until { deadline: None, canceller: Some(&canceller) };
        reader.receive(into, &until).map_err(|stopped| match stopped {
            Stopped::Io(error) => error,
            Stopped::TimedOut | Stopped::Cancelled => io::ErrorKind::TimedOut.into(),
        })
    };
    Background::start(read, move || stopper.cancel())
}

fn failed(what: &str) -> impl FnOnce(io::Error) -> PlayerError + '_ {
    move |error| PlayerError::differs(format!("{what}: {error}"))
}

fn unavailable<T>(why: &str) -> Result<T, PlayerError> {
    Err(PlayerError::Unavailable(why.to_owned()))
}

/// Whether the system says that the peer has closed its end.
fn is_gone(error: &io::Error) -> bool {
    let code = error.raw_os_error().and_then(|raw| u32::try_from(raw).ok());
    code.is_some_and(|code| [ERROR_BROKEN_PIPE, ERROR_NO_DATA, ERROR_PIPE_NOT_CONNECTED].contains(&code))
}

impl Network for PipeNetwork {
    fn now(&self) -> Duration {
        self.began.elapsed()
    }

    fn lacks(&self, step: &Step) -> Option<&'static str> {
        match step {
            Step::EndStep(EndStep { end: Ending::HalfClose, .. }) => Some(NO_HALF_CLOSE),
            Step::EndStep(EndStep { end: Ending::Reset, .. })
            | Step::ExpectEnd(ExpectEnd { expect_end: ExpectedEnd::Reset, .. }) => Some(NO_RESET),
            Step::Send(step) if step.with_fd.is_some() => Some(NO_DESCRIPTORS),
            Step::Expect(step) if step.with_fd => Some(NO_DESCRIPTORS),
            Step::Open(step) if step.port.is_some() => Some(NO_PORTS),
            Step::Accept(_) | Step::Listen(_) | Step::ExpectNoConnection(_) => Some(NO_PORTS),
            _ => None,
        }
    }

    fn open(&mut self, port: Option<&str>, until: Duration) -> Result<Link, PlayerError> {
        if port.is_some() {
            return unavailable(NO_PORTS);
        }
        let pipe = self.connect(&self.until(until)).map_err(|error| PlayerError::differs(format!("{error:#}")))?;
        thread::sleep(UNTIL_THE_NEXT);
        self.connections.push(Some(Connection { pipe, background: None }));
        Ok(Link::new(self.connections.len().saturating_sub(1)))
    }

    fn accept(&mut self, _: Option<&str>, _: Duration) -> Result<Option<Link>, PlayerError> {
        unavailable(NO_PORTS)
    }

    fn is_called(&mut self, _: Option<&str>, _: Duration) -> Result<bool, PlayerError> {
        unavailable(NO_PORTS)
    }

    fn listen(&mut self, _: &str, _: bool) -> Result<(), PlayerError> {
        unavailable(NO_PORTS)
    }

    fn send(&mut self, link: Link, bytes: &[u8], fd: Option<FdKind>, until: Duration) -> Result<Sent, PlayerError> {
        if fd.is_some() {
            return unavailable(NO_DESCRIPTORS);
        }
        let until = self.until(until);
        let pipe = &mut self.connection(link)?.pipe;
        let mut rest = bytes;
        while !rest.is_empty() {
            match pipe.send(rest, &until) {
                Ok(n) => rest = rest.get(n..).unwrap_or_default(),
                Err(Stopped::Io(error)) if is_gone(&error) => {
                    return Ok(Sent::PeerGone(format!("the peer does not read any more: {error}")));
                }
                Err(Stopped::Io(error)) => return Err(failed("sending")(error)),
                Err(Stopped::TimedOut | Stopped::Cancelled) => {
                    return Err(PlayerError::differs(format!(
                        "the peer does not read: the last {} of {} bytes could not be sent in time",
                        rest.len(),
                        bytes.len()
                    )));
                }
            }
        }
        Ok(Sent::All)
    }

    fn receive(&mut self, link: Link, most: usize, until: Duration) -> Result<Received, PlayerError> {
        let until = self.until(until);
        let mut buffer = vec![0; most.min(PIECE)];
        match self.connection(link)?.pipe.receive(&mut buffer, &until) {
            Ok(0) => Ok(Received::End(End::Closed)),
            Ok(n) => {
                buffer.truncate(n);
                Ok(Received::Bytes(buffer, 0))
            }
            Err(Stopped::TimedOut | Stopped::Cancelled) => Ok(Received::Nothing),
            Err(Stopped::Io(error)) => Err(failed("receiving")(error)),
        }
    }

    fn drain(&mut self, link: Link) -> Result<(), PlayerError> {
        let connection = self.connection(link)?;
        connection.background = Some(in_background(&connection.pipe).map_err(failed("reading in the background"))?);
        Ok(())
    }

    fn drained(&mut self, link: Link, until: Duration) -> Result<Drained, PlayerError> {
        let left = until.saturating_sub(self.now());
        let Some(background) = &self.connection(link)?.background else {
            return Err(PlayerError::differs("the connection is not read in the background"));
        };
        Ok(background.drained(left))
    }

    fn end(&mut self, link: Link, how: Ending) -> Result<(), PlayerError> {
        match how {
            Ending::HalfClose => return unavailable(NO_HALF_CLOSE),
            Ending::Reset => return unavailable(NO_RESET),
            Ending::Close => {}
        }
        if let Some(connection) = self.connections.get_mut(link.number()) {
            *connection = None;
        }
        Ok(())
    }

    fn wait(&mut self, until: Duration) -> Result<(), PlayerError> {
        thread::sleep(until.saturating_sub(self.now()));
        Ok(())
    }

    fn life(&mut self, expected: Life, until: Duration) -> Result<Life, PlayerError> {
        loop {
            match (self.is_there()?, expected) {
                (false, _) => return Ok(Life::Dead),
                (true, Life::Alive) => return Ok(Life::Alive),
                (true, Life::Dead) if self.now() >= until => return Ok(Life::Alive),
                (true, Life::Dead) => thread::sleep(PAUSE),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conformance::player::Player;
    use crate::io::windows::PipeListener;

    fn steps(json: &str) -> Vec<Step> {
        serde_json::from_str(json).unwrap()
    }

    #[test]
    fn script_that_a_pipe_cannot_play_is_not_begun() {
        let mut listener = PipeListener::bind("dotnet-diagnostics-ipc-test-lacks").unwrap();
        let mut network = PipeNetwork::to_pipe("dotnet-diagnostics-ipc-test-lacks");
        for (step, why) in [
            (r#"{ "on": "a", "end": "half_close" }"#, NO_HALF_CLOSE),
            (r#"{ "on": "a", "end": "reset" }"#, NO_RESET),
            (r#"{ "on": "a", "expect_end": "reset" }"#, NO_RESET),
            (r#"{ "on": "a", "send": ["00"], "with_fd": "null" }"#, NO_DESCRIPTORS),
            (r#"{ "accept": "b", "port": "p" }"#, NO_PORTS),
        ] {
            let script = steps(&format!(r#"[{{ "open": "a" }}, {step}]"#));
            let failure = Player::new(&mut network, Duration::from_secs(5)).play(&script).unwrap_err();
            assert_eq!((failure.step, failure.trouble), (1, PlayerError::Unavailable(why.to_owned())), "{step}");
        }
        let until = Until { deadline: Instant::now().checked_add(Duration::from_millis(100)), ..Until::FOREVER };
        assert!(matches!(listener.accept(&until).unwrap_err().kind(), ErrorKind::TimedOut), "somebody has connected");
    }

    #[test]
    fn bytes_go_out_while_others_are_read_in_the_background() {
        let mut listener = PipeListener::bind("dotnet-diagnostics-ipc-test-drain").unwrap();
        let server = thread::spawn(move || {
            let mut pipe = listener.accept(&Until::FOREVER).unwrap();
            // More than a pipe holds, and then what shows that a byte came meanwhile.
            let bytes = vec![7; 100_000];
            let mut rest = bytes.as_slice();
            while !rest.is_empty() {
                rest = &rest[pipe.send(rest, &Until::FOREVER).unwrap()..];
            }
            let mut byte = [0];
            assert_eq!(pipe.receive(&mut byte, &Until::FOREVER).unwrap(), 1);
            pipe.send(&byte, &Until::FOREVER).unwrap();
        });
        let mut network = PipeNetwork::to_pipe("dotnet-diagnostics-ipc-test-drain");
        let script = steps(
            r#"[{ "open": "a" }, { "on": "a", "drain": true }, { "wait": 50 }, { "on": "a", "send": ["2a"] },
                { "on": "a", "expect_end": "closed", "last": "072a" }]"#,
        );
        Player::new(&mut network, Duration::from_secs(20)).play(&script).unwrap();
        server.join().unwrap();
        assert_eq!(network.drained(Link::new(0), Duration::ZERO).unwrap().bytes, 100_001);
    }

    #[test]
    fn server_lives_as_long_as_its_pipe() {
        let listener = PipeListener::bind("dotnet-diagnostics-ipc-test-life").unwrap();
        let mut network = PipeNetwork::to_pipe("dotnet-diagnostics-ipc-test-life");
        assert_eq!(network.life(Life::Dead, Duration::ZERO).unwrap(), Life::Alive);
        // Also while it is busy.
        let link = network.open(None, Duration::from_secs(5)).unwrap();
        assert_eq!(network.life(Life::Alive, Duration::ZERO).unwrap(), Life::Alive);
        network.end(link, Ending::Close).unwrap();
        drop(listener);
        assert_eq!(network.life(Life::Alive, Duration::ZERO).unwrap(), Life::Dead);
    }
}
