//! What a [`ConnectPort`](super::ConnectPort) asks for.

use core::ops::Range;
use core::time::Duration;

/// What a [`ConnectPort`](super::ConnectPort) asks for.
///
/// ```
/// use dotnet_diagnostics_ipc::advertise::Advertise;
/// use dotnet_diagnostics_ipc::exchange::{ConnectPortAction, ConnectPort, RetryPolicy};
/// use dotnet_diagnostics_ipc::wire::Guid;
///
/// let advertise = Advertise { runtime_cookie: Guid::NIL, process_id: 12345, future: 0 };
/// let mut port = ConnectPort::new(advertise, RetryPolicy::AsShipped);
/// assert_eq!(port.action(), ConnectPortAction::Connect);
/// port.connect_failed()?;
/// assert_eq!(port.action(), ConnectPortAction::Wait(core::time::Duration::from_millis(10)));
/// # Ok::<(), dotnet_diagnostics_ipc::exchange::MisuseError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[must_use = "the exchange advances only when the action is done"]
pub enum ConnectPortAction {
    /// Connect to the port, within [`CONNECT_TIMEOUT`](super::ConnectPort::CONNECT_TIMEOUT). Then
    /// [`connected`](super::ConnectPort::connected) or
    /// [`connect_failed`](super::ConnectPort::connect_failed).
    Connect,
    /// Send these bytes of the buffer; the time limit for the whole advertise is
    /// [`ADVERTISE_TIMEOUT`](super::ConnectPort::ADVERTISE_TIMEOUT). Then
    /// [`sent`](super::ConnectPort::sent) or [`send_failed`](super::ConnectPort::send_failed).
    Send(Range<usize>),
    /// Wait without a timeout until the connection is readable, and read nothing: the bytes belong
    /// to the server exchange. Then [`request_arrived`](super::ConnectPort::request_arrived) or
    /// [`ended`](super::ConnectPort::ended).
    ///
    /// If a connection cannot report that it is readable, read what the server exchange asks for
    /// first, and report it here as soon as there is a byte.
    AwaitRequest,
    /// Give the connection to a server exchange. Then
    /// [`handed_over`](super::ConnectPort::handed_over): immediately, or, as runtimes do, after
    /// the answer.
    HandOver,
    /// There is no connection; wait this long. Then [`waited`](super::ConnectPort::waited).
    Wait(Duration),
}
