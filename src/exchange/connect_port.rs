//! The runtime's side of a diagnostic port: connects, advertises, and waits for requests.

use core::ops::Range;
use core::time::Duration;

use super::MisuseError;
use super::framing::Outgoing;
use crate::advertise::{ADVERTISE_LEN, Advertise};
use crate::wire::clamp;

/// The delays of runtimes in ms, as observed. All later delays are 500 ms (F-77).
const DELAYS: [u16; 20] =
    [10, 12, 15, 18, 22, 27, 33, 41, 51, 63, 78, 97, 121, 151, 188, 235, 293, 366, 457, 571];

/// The number of failed attempts after the end of a connection, which a runtime treats like an
/// expired delay of 10 ms.
const AFTER_AN_END: u32 = 1;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Connect,
    Send(Outgoing),
    AwaitRequest,
    HandOver,
    /// The attempt with this number has failed; the first is 0.
    Wait(u32),
}

/// The runtime's side of one diagnostic port (section "Diagnostic Ports"). It connects, sends the
/// advertise, waits for a request, hands the connection over, and connects again.
///
/// | what happens | what follows |
/// |---|---|
/// | connecting fails, or takes more than 100 ms | a delay of [`retry_delay`](Self::retry_delay) (F-57), then connecting |
/// | sending the advertise fails, or takes more than 100 ms | the delay of a failed connection |
/// | the tool closes a waiting connection | connecting without delay; the next delays begin with 12 ms (F-77) |
/// | a request begins | handing over the connection, then connecting without delay (R-FLW-013) |
/// | a command arrives on another port | [`reset_delay`](Self::reset_delay), which connects without delay (F-77) |
/// | a waiting connection on another port ends | [`end_elsewhere`](Self::end_elsewhere), which connects without delay |
///
/// The port has at most one waiting connection (F-77) and owns it from `connected` until
/// `handed_over`, `send_failed` or `ended`. The caller closes the connection after the last two.
///
/// A runtime serves all its ports with one thread, so it answers a request before it connects again
/// (F-75).
///
/// ```
/// use core::time::Duration;
/// use dotnet_diagnostics_ipc::advertise::Advertise;
/// use dotnet_diagnostics_ipc::exchange::{ConnectPort, ConnectPortAction};
///
/// let cookie = "123e4567-e89b-12d3-a456-426614174000".parse()?;
/// let advertise = Advertise { runtime_cookie: cookie, process_id: 12345, future: 0 };
/// let mut port = ConnectPort::new(advertise);
/// let (mut buffer, mut wire, mut attempts, mut handed_over) = ([0; 64], Vec::new(), 0, 0);
/// while handed_over < 2 {
///     match port.action() {
///         ConnectPortAction::Connect if attempts < 2 => {
///             attempts += 1; // No tool listens yet.
///             port.connect_failed()?;
///         }
///         ConnectPortAction::Connect => port.connected(&mut buffer)?,
///         ConnectPortAction::Send(range) => {
///             let piece = &buffer[range][..1];
///             wire.extend_from_slice(piece);
///             port.sent(piece.len())?;
///         }
///         ConnectPortAction::AwaitRequest => port.request_arrived()?,
///         ConnectPortAction::HandOver => {
///             handed_over += 1;
///             port.handed_over()?;
///         }
///         ConnectPortAction::Wait(delay) => {
///             assert!(delay <= Duration::from_millis(12));
///             port.waited()?;
///         }
///     }
/// }
/// assert_eq!(wire, [advertise.to_bytes(), advertise.to_bytes()].concat());
/// # Ok::<(), Box<dyn core::error::Error>>(())
/// ```
///
/// Several ports can suspend one runtime, and a resume counts for the port on which it arrived
/// (F-42). [`Suspension`](crate::port::Suspension) keeps track of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConnectPort {
    advertise: Advertise,
    /// Failed attempts since the delays began again.
    failures: u32,
    state: State,
}

/// The next action of a [`ConnectPort`].
///
/// ```
/// use dotnet_diagnostics_ipc::advertise::Advertise;
/// use dotnet_diagnostics_ipc::exchange::{ConnectPort, ConnectPortAction};
/// use dotnet_diagnostics_ipc::wire::Guid;
///
/// let advertise = Advertise { runtime_cookie: Guid::NIL, process_id: 12345, future: 0 };
/// let mut port = ConnectPort::new(advertise);
/// assert_eq!(port.action(), ConnectPortAction::Connect);
/// port.connect_failed()?;
/// assert_eq!(port.action(), ConnectPortAction::Wait(core::time::Duration::from_millis(10)));
/// # Ok::<(), dotnet_diagnostics_ipc::exchange::MisuseError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[must_use = "the exchange advances only when the action is done"]
pub enum ConnectPortAction {
    /// Connect to the port within [`CONNECT_TIMEOUT`](ConnectPort::CONNECT_TIMEOUT). Then call
    /// [`connected`](ConnectPort::connected) or [`connect_failed`](ConnectPort::connect_failed).
    Connect,
    /// Send these bytes of the buffer; the whole advertise has
    /// [`ADVERTISE_TIMEOUT`](ConnectPort::ADVERTISE_TIMEOUT). Then call [`sent`](ConnectPort::sent)
    /// or [`send_failed`](ConnectPort::send_failed).
    Send(Range<usize>),
    /// Wait without a timeout until the connection is readable, but read nothing, because the bytes
    /// belong to the server exchange. Then call [`request_arrived`](ConnectPort::request_arrived)
    /// or [`ended`](ConnectPort::ended).
    ///
    /// If the connection cannot report that it is readable, start the server exchange's first read,
    /// and call `request_arrived` as soon as it has a byte.
    AwaitRequest,
    /// Give the connection to a server exchange. Then call
    /// [`handed_over`](ConnectPort::handed_over) immediately or, as runtimes do, after the answer.
    HandOver,
    /// There is no connection. Wait this long, then call [`waited`](ConnectPort::waited).
    Wait(Duration),
}

impl ConnectPort {
    /// The time that a runtime tries to connect before it gives up and waits (F-57). On Linux the
    /// attempt lasts longer if the listener's backlog is full, and no port is served meanwhile.
    pub const CONNECT_TIMEOUT: Duration = Duration::from_millis(100);

    /// The time that a runtime tries to send an advertise before it gives up and waits (F-57).
    pub const ADVERTISE_TIMEOUT: Duration = Duration::from_millis(100);

    /// Returns a port without a connection. Each connection begins with `advertise`.
    pub const fn new(advertise: Advertise) -> Self {
        Self { advertise, failures: 0, state: State::Connect }
    }

    /// Returns the delay of a runtime after this failed attempt, counted from 0. Each delay is 1.25
    /// times the previous one, rounded down to ms, and 500 ms after a delay of 500 ms or more; one
    /// of the delays is 571 ms. The document prints min(10 × 1.25ⁿ, 500) ms (F-57, F-77).
    ///
    /// ```
    /// use dotnet_diagnostics_ipc::exchange::ConnectPort;
    ///
    /// let ms: Vec<_> = (0..22).map(|attempt| ConnectPort::retry_delay(attempt).as_millis()).collect();
    /// assert_eq!(ms, [10, 12, 15, 18, 22, 27, 33, 41, 51, 63, 78, 97, 121, 151, 188, 235, 293, 366, 457, 571, 500, 500]);
    /// ```
    pub fn retry_delay(attempt: u32) -> Duration {
        let ms = usize::try_from(attempt).ok().and_then(|attempt| DELAYS.get(attempt));
        Duration::from_millis(ms.map_or(500, |ms| u64::from(*ms)))
    }

    /// Returns the current action, and changes nothing.
    pub fn action(&self) -> ConnectPortAction {
        match self.state {
            State::Connect => ConnectPortAction::Connect,
            State::Send(outgoing) => ConnectPortAction::Send(outgoing.range()),
            State::AwaitRequest => ConnectPortAction::AwaitRequest,
            State::HandOver => ConnectPortAction::HandOver,
            State::Wait(attempt) => ConnectPortAction::Wait(Self::retry_delay(attempt)),
        }
    }

    /// Reports that the connection is established. Writes the advertise to the first 34 bytes of `buffer`, which
    /// must be kept until they are sent.
    ///
    /// # Errors
    /// [`MisuseError::BufferTooShort`] if `buffer` has fewer than 34 bytes;
    /// [`MisuseError::NotAsked`].
    pub fn connected(&mut self, buffer: &mut [u8]) -> Result<(), MisuseError> {
        asked(self.state == State::Connect)?;
        let front = buffer
            .first_chunk_mut()
            .ok_or(MisuseError::BufferTooShort { needed: ADVERTISE_LEN })?;
        *front = self.advertise.to_bytes();
        self.state = State::Send(Outgoing::new(clamp(ADVERTISE_LEN)));
        Ok(())
    }

    /// Reports that connecting failed, or was given up after [`CONNECT_TIMEOUT`](Self::CONNECT_TIMEOUT).
    pub fn connect_failed(&mut self) -> Result<(), MisuseError> {
        asked(self.state == State::Connect)?;
        self.fail();
        Ok(())
    }

    /// Reports that the first `n` bytes of the [`Send`](ConnectPortAction::Send) range were sent.
    pub fn sent(&mut self, n: usize) -> Result<(), MisuseError> {
        let State::Send(outgoing) = &mut self.state else { return Err(MisuseError::NotAsked) };
        if outgoing.sent(n)? {
            self.state = State::AwaitRequest;
        }
        Ok(())
    }

    /// Reports that sending failed, or was given up after [`ADVERTISE_TIMEOUT`](Self::ADVERTISE_TIMEOUT). The
    /// caller closes the connection.
    pub fn send_failed(&mut self) -> Result<(), MisuseError> {
        asked(matches!(self.state, State::Send(_)))?;
        self.fail();
        Ok(())
    }

    /// Reports that the first byte of a request can be read. As for runtimes, a half-close counts too,
    /// because the tool still reads. The server exchange then finds the end of the input.
    pub fn request_arrived(&mut self) -> Result<(), MisuseError> {
        asked(self.state == State::AwaitRequest)?;
        self.state = State::HandOver;
        Ok(())
    }

    /// Reports that the waiting connection was closed or reset before any byte of a request
    /// arrived. The caller closes it.
    pub fn ended(&mut self) -> Result<(), MisuseError> {
        asked(self.state == State::AwaitRequest)?;
        self.connect(AFTER_AN_END);
        Ok(())
    }

    /// Reports that a server exchange now owns the connection.
    pub fn handed_over(&mut self) -> Result<(), MisuseError> {
        asked(self.state == State::HandOver)?;
        self.connect(0);
        Ok(())
    }

    /// Reports that the delay has passed.
    pub fn waited(&mut self) -> Result<(), MisuseError> {
        asked(matches!(self.state, State::Wait(_)))?;
        self.connect(self.failures);
        Ok(())
    }

    /// Reports that a command arrived on another port, including the default port. Ends a delay early, and the
    /// next delays begin with 10 ms (F-77). A runtime does this after the answer. Always allowed.
    pub fn reset_delay(&mut self) {
        self.woken(0);
    }

    /// Reports that a waiting connection on another port of the runtime ended. Ends a delay early, and the next
    /// delays begin with 12 ms. Observed with net8.0.30, net9.0.5 and net10.0.9. Always allowed.
    pub fn end_elsewhere(&mut self) {
        self.woken(AFTER_AN_END);
    }

    fn woken(&mut self, failures: u32) {
        if matches!(self.state, State::Wait(_)) {
            self.connect(failures);
        } else {
            self.failures = failures;
        }
    }

    fn connect(&mut self, failures: u32) {
        self.failures = failures;
        self.state = State::Connect;
    }

    fn fail(&mut self) {
        self.state = State::Wait(self.failures);
        self.failures = self.failures.saturating_add(1);
    }
}

const fn asked(is_asked: bool) -> Result<(), MisuseError> {
    if is_asked { Ok(()) } else { Err(MisuseError::NotAsked) }
}

#[cfg(test)]
mod tests {
    extern crate std;

    use super::*;
    use crate::wire::Guid;
    use std::vec::Vec;

    const ADVERTISE: Advertise =
        Advertise { runtime_cookie: Guid::from_bytes([7; 16]), process_id: 12345, future: 0x1234 };

    fn ms(port: &ConnectPort) -> u128 {
        let ConnectPortAction::Wait(delay) = port.action() else { panic!("{:?}", port.action()) };
        delay.as_millis()
    }

    /// Returns a port whose connection waits for a request.
    fn waiting() -> ConnectPort {
        let mut port = ConnectPort::new(ADVERTISE);
        port.connected(&mut [0; ADVERTISE_LEN]).unwrap();
        port.sent(ADVERTISE_LEN).unwrap();
        port
    }

    #[test]
    fn connect_port_is_at_most_64_bytes() {
        assert!(size_of::<ConnectPort>() <= 64, "{}", size_of::<ConnectPort>());
    }

    #[test]
    fn advertise_is_sent_in_any_pieces() {
        for piece in 1..=ADVERTISE_LEN {
            let mut port = ConnectPort::new(ADVERTISE);
            let (mut buffer, mut wire) = ([0xEE; 40], Vec::new());
            port.connected(&mut buffer).unwrap();
            assert_eq!(buffer[ADVERTISE_LEN..], [0xEE; 6]);
            while let ConnectPortAction::Send(range) = port.action() {
                let count = range.len().min(piece);
                wire.extend_from_slice(&buffer[range][..count]);
                assert_eq!(port.sent(0), Err(MisuseError::NoBytes));
                port.sent(count).unwrap();
            }
            assert_eq!(wire, ADVERTISE.to_bytes());
            assert_eq!(port.action(), ConnectPortAction::AwaitRequest);
        }
    }

    #[test]
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, clippy::cast_precision_loss)] // as runtimes compute it
    fn failures_delay_as_runtimes_do_until_advertise_is_sent() {
        let (mut port, mut delay) = (ConnectPort::new(ADVERTISE), 10u32);
        for attempt in 0..1000 {
            port.connect_failed().unwrap();
            assert_eq!(ms(&port), delay.into(), "{attempt}");
            port.waited().unwrap();
            delay = if delay >= 500 { 500 } else { (delay as f32 * 1.25) as u32 };
        }
        assert_eq!(ConnectPort::retry_delay(u32::MAX), Duration::from_millis(500));
        // A connection counts as a success only once the advertise is sent.
        port.connected(&mut [0; ADVERTISE_LEN]).unwrap();
        port.sent(33).unwrap();
        port.send_failed().unwrap();
        assert_eq!(ms(&port), 500);
    }

    /// `the_delays_between_attempts` (diagipc/tests/live/ports.py) observed the later delays.
    #[test]
    fn connects_again_at_once_after_request_or_end() {
        let mut port = waiting();
        port.request_arrived().unwrap();
        assert_eq!(port.action(), ConnectPortAction::HandOver);
        port.handed_over().unwrap();
        port.connect_failed().unwrap();
        assert_eq!(ms(&port), 10);

        let mut port = waiting();
        port.ended().unwrap();
        port.connect_failed().unwrap();
        assert_eq!(ms(&port), 12);
    }

    #[test]
    fn event_on_other_port_resets_delays() {
        let mut port = ConnectPort::new(ADVERTISE);
        for _ in 0..10 {
            port.connect_failed().unwrap();
            port.waited().unwrap();
        }
        port.connect_failed().unwrap();
        assert_eq!(ms(&port), 78);
        let (mut command, mut end) = (port, port);
        command.reset_delay();
        end.end_elsewhere();
        for (port, delay) in [(&mut command, 10), (&mut end, 12)] {
            assert_eq!(port.action(), ConnectPortAction::Connect);
            port.connect_failed().unwrap();
            assert_eq!(ms(port), delay);
        }
        // The report does not change the state of a connection.
        let mut port = waiting();
        port.reset_delay();
        port.end_elsewhere();
        assert_eq!(port.action(), ConnectPortAction::AwaitRequest);
    }

    #[test]
    fn short_buffer_is_reported_and_can_be_retried() {
        let mut port = ConnectPort::new(ADVERTISE);
        assert_eq!(port.connected(&mut [0; 33]), Err(MisuseError::BufferTooShort { needed: 34 }));
        assert_eq!(port.action(), ConnectPortAction::Connect);
        assert_eq!(port.connected(&mut [0; 34]), Ok(()));
    }
}
