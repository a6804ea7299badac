//! The runtime's side of a diagnostic port.

mod action;
#[cfg(test)]
mod tests;

use core::time::Duration;

pub use action::ConnectPortAction;

use super::outgoing::Outgoing;
use super::{MisuseError, RetryPolicy};
use crate::advertise::{ADVERTISE_LEN, Advertise};
use crate::wire::clamp;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Connect,
    Send(Outgoing),
    AwaitRequest,
    HandOver,
    /// This attempt has failed, counted from 0.
    Wait(u32),
}

/// The runtime's side of one diagnostic port (section "Diagnostic Ports"): connect, advertise, wait
/// for a request, hand the connection over, and connect again.
///
/// | what happens | what follows |
/// |---|---|
/// | connecting fails, or takes more than 100 ms | a delay by [`RetryPolicy`] (F-57) |
/// | sending the advertise fails, or takes more than 100 ms | the same |
/// | the tool ends a waiting connection | connecting, without delay (F-77). As shipped, the next delays begin with 12 ms |
/// | a request begins | the connection is handed over; then connecting, without delay (R-FLW-013) |
/// | a command arrives on another port | [`reset_delay`](Self::reset_delay): connecting, without delay (F-77) |
/// | a waiting connection on another port ends | [`end_elsewhere`](Self::end_elsewhere): connecting, without delay |
///
/// The port has at most one waiting connection (F-77). The port owns the connection from
/// `connected` until it is handed over, or until `send_failed` or `ended`: then the caller closes
/// it.
///
/// A runtime has one thread for all of its ports: it answers a request before it connects again
/// (F-75).
///
/// ```
/// use core::time::Duration;
/// use dotnet_diagnostics_ipc::advertise::Advertise;
/// use dotnet_diagnostics_ipc::exchange::{ConnectPortAction, ConnectPort, RetryPolicy};
///
/// let cookie = "123e4567-e89b-12d3-a456-426614174000".parse()?;
/// let advertise = Advertise { runtime_cookie: cookie, process_id: 12345, future: 0 };
/// let mut port = ConnectPort::new(advertise, RetryPolicy::AsShipped);
/// let (mut buffer, mut wire, mut attempts, mut handed_over) = ([0; 64], Vec::new(), 0, 0);
/// while handed_over < 2 {
///     match port.action() {
///         ConnectPortAction::Connect if attempts < 2 => {
///             attempts += 1; // Nobody listens yet.
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
/// Several ports can suspend one runtime; a resume counts for the port on which it arrived (F-42):
///
/// ```
/// use dotnet_diagnostics_ipc::advertise::Advertise;
/// use dotnet_diagnostics_ipc::exchange::{ConnectPortAction, ConnectPort, RetryPolicy};
/// use dotnet_diagnostics_ipc::port::{PortId, Ports, ResumeEffect, Suspension};
/// use dotnet_diagnostics_ipc::wire::Guid;
///
/// let text = "/run/a;/run/b,nosuspend;/run/c";
/// let advertise = Advertise { runtime_cookie: Guid::NIL, process_id: 12345, future: 0 };
/// let mut ports: Vec<_> = Ports::new(text).map(|_| ConnectPort::new(advertise, RetryPolicy::AsShipped)).collect();
/// let mut suspension = Suspension::<8>::new(false, Ports::new(text)).expect("room for three ports");
/// let mut buffer = [0; 64];
/// let mut effects = Vec::new();
/// for index in 0..ports.len() {
///     ports[index].connected(&mut buffer)?;
///     ports[index].sent(34)?;
///     ports[index].request_arrived()?;
///     assert_eq!(ports[index].action(), ConnectPortAction::HandOver);
///     ports[index].handed_over()?;
///     // The server exchange has read a ResumeRuntime.
///     effects.push(suspension.resume(PortId::Configured(index)));
///     for other in (0..ports.len()).filter(|other| *other != index) {
///         ports[other].reset_delay();
///     }
/// }
/// let expected = [ResumeEffect::Waits { left: 1 }, ResumeEffect::Nothing, ResumeEffect::Starts];
/// assert_eq!(effects, expected.map(Some));
/// # Ok::<(), Box<dyn core::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConnectPort {
    advertise: Advertise,
    policy: RetryPolicy,
    /// Failed attempts since the delays restarted.
    failures: u32,
    state: State,
}

impl ConnectPort {
    /// How long a runtime tries to connect before it gives up and waits (F-57). On Linux it can
    /// take longer: as long as the listener's backlog is full, and no port is served meanwhile.
    pub const CONNECT_TIMEOUT: Duration = Duration::from_millis(100);

    /// How long a runtime tries to send an advertise before it gives up and waits (F-57).
    pub const ADVERTISE_TIMEOUT: Duration = Duration::from_millis(100);

    /// A port without a connection. Each connection begins with `advertise`.
    pub const fn new(advertise: Advertise, policy: RetryPolicy) -> Self {
        Self { advertise, policy, failures: 0, state: State::Connect }
    }

    /// The current action. Has no side effects.
    pub fn action(&self) -> ConnectPortAction {
        match self.state {
            State::Connect => ConnectPortAction::Connect,
            State::Send(outgoing) => ConnectPortAction::Send(outgoing.range()),
            State::AwaitRequest => ConnectPortAction::AwaitRequest,
            State::HandOver => ConnectPortAction::HandOver,
            State::Wait(attempt) => ConnectPortAction::Wait(self.policy.delay(attempt)),
        }
    }

    /// The connection is established. Puts the advertise into the first 34 bytes of `buffer`, which
    /// must be kept until they are sent.
    ///
    /// # Errors
    /// [`MisuseError::BufferTooShort`] if `buffer` has fewer bytes; [`MisuseError::NotAsked`].
    pub fn connected(&mut self, buffer: &mut [u8]) -> Result<(), MisuseError> {
        asked(self.state == State::Connect)?;
        let front = buffer
            .first_chunk_mut()
            .ok_or(MisuseError::BufferTooShort { needed: ADVERTISE_LEN })?;
        *front = self.advertise.to_bytes();
        self.state = State::Send(Outgoing::new(clamp(ADVERTISE_LEN)));
        Ok(())
    }

    /// Connecting failed, or was given up after [`CONNECT_TIMEOUT`](Self::CONNECT_TIMEOUT).
    ///
    /// # Errors
    /// [`MisuseError::NotAsked`].
    pub fn connect_failed(&mut self) -> Result<(), MisuseError> {
        asked(self.state == State::Connect)?;
        self.fail();
        Ok(())
    }

    /// The first `n` bytes of the range in [`Send`](ConnectPortAction::Send) were sent.
    ///
    /// # Errors
    /// [`MisuseError::TooMany`]; [`MisuseError::NoBytes`] if `n` is 0;
    /// [`MisuseError::NotAsked`].
    pub fn sent(&mut self, n: usize) -> Result<(), MisuseError> {
        let State::Send(outgoing) = &mut self.state else { return Err(MisuseError::NotAsked) };
        if outgoing.sent(n)? {
            self.state = State::AwaitRequest;
        }
        Ok(())
    }

    /// Sending failed, or was given up after [`ADVERTISE_TIMEOUT`](Self::ADVERTISE_TIMEOUT). The
    /// caller closes the connection.
    ///
    /// # Errors
    /// [`MisuseError::NotAsked`].
    pub fn send_failed(&mut self) -> Result<(), MisuseError> {
        asked(matches!(self.state, State::Send(_)))?;
        self.fail();
        Ok(())
    }

    /// The first byte of a request can be read. Runtimes treat a half-close as one too: the tool
    /// sends no more, but still reads. The server exchange then finds the end of the input.
    ///
    /// # Errors
    /// [`MisuseError::NotAsked`].
    pub fn request_arrived(&mut self) -> Result<(), MisuseError> {
        asked(self.state == State::AwaitRequest)?;
        self.state = State::HandOver;
        Ok(())
    }

    /// The waiting connection was closed or reset before any byte of a request. The caller closes
    /// it.
    ///
    /// # Errors
    /// [`MisuseError::NotAsked`].
    pub fn ended(&mut self) -> Result<(), MisuseError> {
        asked(self.state == State::AwaitRequest)?;
        self.connect(self.failures_after_an_end());
        Ok(())
    }

    /// A server exchange now owns the connection.
    ///
    /// # Errors
    /// [`MisuseError::NotAsked`].
    pub fn handed_over(&mut self) -> Result<(), MisuseError> {
        asked(self.state == State::HandOver)?;
        self.connect(0);
        Ok(())
    }

    /// The delay has passed.
    ///
    /// # Errors
    /// [`MisuseError::NotAsked`].
    pub fn waited(&mut self) -> Result<(), MisuseError> {
        asked(matches!(self.state, State::Wait(_)))?;
        self.connect(self.failures);
        Ok(())
    }

    /// A command arrived on another port, including the default port: ends a delay early, and the
    /// next delays begin with 10 ms (F-77). A runtime does this after the answer. Always
    /// allowed.
    pub fn reset_delay(&mut self) {
        self.woken(0);
    }

    /// A waiting connection on another port of the runtime ended: ends a delay early, and the next
    /// delays begin with 12 ms (10 ms as printed). Seen with net8.0.30, net9.0.5, net10.0.9.
    /// Always allowed.
    pub fn end_elsewhere(&mut self) {
        self.woken(self.failures_after_an_end());
    }

    /// A runtime treats the end of a connection like an expired delay of 10 ms.
    const fn failures_after_an_end(&self) -> u32 {
        match self.policy {
            RetryPolicy::AsShipped => 1,
            RetryPolicy::AsPrinted => 0,
        }
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
