//! TCP connections, which reach devices and browsers through a router or a forwarded port.

use std::net::{SocketAddr, TcpListener, TcpStream};

use super::trust::TrustPolicy;
use super::{Error, ErrorKind, Phase};

/// Listens at a TCP address of this machine, for a [server](super::server). 0 picks a free port.
///
/// Any user of the machine can connect there. An address that other machines reach is refused, unless
/// the policy is [`TrustPolicy::allowing_any_address`].
///
/// ```
/// use dotnet_diagnostics_ipc::io::{ErrorKind, bind_tcp, trust::TrustPolicy};
///
/// let listener = bind_tcp(([127, 0, 0, 1], 0), TrustPolicy::CHECKED)?;
/// assert_ne!(listener.local_addr()?.port(), 0);
///
/// let refused = bind_tcp(([0, 0, 0, 0], 9000), TrustPolicy::CHECKED).unwrap_err();
/// assert!(matches!(refused.kind(), ErrorKind::Untrusted(_)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// Fails in [`Phase::Trust`] or [`Phase::Listen`].
pub fn bind_tcp(address: impl Into<SocketAddr>, policy: TrustPolicy) -> Result<TcpListener, Error> {
    let address = address.into();
    policy.check_address(address).map_err(|reason| Error::new(Phase::Trust, reason))?;
    TcpListener::bind(address).map_err(|error| Error::new(Phase::Listen, error))
}

/// Returns the error of an attempt to connect.
pub(super) fn failed(address: SocketAddr, stopped: ErrorKind) -> Error {
    match stopped {
        ErrorKind::Io(error) if error.kind() == std::io::ErrorKind::ConnectionRefused => {
            let text = std::format!("no process listens at {address}");
            Error::new(Phase::Find, ErrorKind::NotAnEndpoint(text))
        }
        ErrorKind::Io(error) => Error::connecting(error),
        stopped => Error::new(Phase::Connect, stopped),
    }
}

/// Makes the stream send small messages at once. Fails if the stream is connected to itself, as can
/// happen when no process listens at the port.
pub(super) fn prepare(stream: &TcpStream) -> std::io::Result<()> {
    if stream.local_addr()? == stream.peer_addr()? {
        return Err(std::io::ErrorKind::ConnectionRefused.into());
    }
    stream.set_nodelay(true)
}

/// Accepts a connection that sends small messages at once.
pub(super) fn accept(listener: &TcpListener) -> std::io::Result<TcpStream> {
    let (stream, _) = listener.accept()?;
    // On a failure, small messages only arrive later.
    let _ = stream.set_nodelay(true);
    Ok(stream)
}
