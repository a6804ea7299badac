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
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use = "an action that is not done leaves the exchange where it is"]
pub enum ConnectPortAction {
    /// Connect to the port, within [`CONNECT_TIMEOUT`](super::ConnectPort::CONNECT_TIMEOUT). Then
    /// [`connected`](super::ConnectPort::connected) or [`connect_failed`](super::ConnectPort::connect_failed).
    Connect,
    /// Send these bytes of the buffer; all of the advertise has [`ADVERTISE_TIMEOUT`](super::ConnectPort::ADVERTISE_TIMEOUT). Then
    /// [`sent`](super::ConnectPort::sent) or [`send_failed`](super::ConnectPort::send_failed).
    Send(Range<usize>),
    /// Wait until the connection can be read, without a time-out, and read nothing: the bytes are the server exchange's. Then
    /// [`request_arrived`](super::ConnectPort::request_arrived) or [`ended`](super::ConnectPort::ended).
    ///
    /// Where a connection does not say whether it can be read, read what the server exchange asks for first, and acknowledge
    /// here as soon as there is a byte.
    AwaitRequest,
    /// Give the connection to a server exchange. Then [`handed_over`](super::ConnectPort::handed_over): at once, or, as runtimes do, after
    /// the answer.
    HandOver,
    /// There is no connection; wait this long. Then [`waited`](super::ConnectPort::waited).
    Wait(Duration),
}
