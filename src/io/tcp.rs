//! TCP, by which devices and browsers are reached: through a router, or through a forwarded port.

use std::net::{SocketAddr, TcpListener, TcpStream};

use super::trust::TrustPolicy;
use super::{Error, ErrorKind, Phase};

/// Listens at a TCP address of this machine, for a [server](super::server). Port 0 is a free port.
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
/// [`Phase::Trust`], [`Phase::Listen`].
pub fn bind_tcp(address: impl Into<SocketAddr>, policy: TrustPolicy) -> Result<TcpListener, Error> {
    let address = address.into();
    policy.check_address(address).map_err(|reason| Error::new(Phase::Trust, reason))?;
    TcpListener::bind(address).map_err(|error| Error::new(Phase::Listen, error))
}

/// The error of an attempt to connect.
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

/// Lets small messages be sent at once. A connection to a free port may have that port itself, and is
/// then one to nobody.
pub(super) fn prepare(stream: &TcpStream) -> std::io::Result<()> {
    if stream.local_addr()? == stream.peer_addr()? {
        return Err(std::io::ErrorKind::ConnectionRefused.into());
    }
    stream.set_nodelay(true)
}

/// Accepts a connection, whose small messages are sent at once.
pub(super) fn accept(listener: &TcpListener) -> std::io::Result<TcpStream> {
    let (stream, _) = listener.accept()?;
    // Without it they are only later.
    let _ = stream.set_nodelay(true);
    Ok(stream)
}
