//! The result of reading a request.

use crate::message::AnyRequest;
use crate::wire::WireError;

/// A request, or the reason for refusing it: the result of
/// [`Server::request`](super::Server::request).
///
/// ```
/// use dotnet_diagnostics_ipc::exchange::{ParsedRequest, Server, ServerAction};
///
/// // EnablePerfMap (0x0405) without its payload.
/// let buffer = *b"DOTNET_IPC_V1\0\x14\0\x04\x05\0\0";
/// let mut server = Server::new();
/// server.received(&buffer, 20)?;
/// let ParsedRequest::Malformed(error) = server.request(&buffer)? else { panic!() };
/// assert_eq!(error.to_string(), "EnablePerfMap.perfMapType at byte 20: the field needs 4 bytes, the payload has 0 left");
/// assert!(matches!(server.action(), ServerAction::Refuse(_)));
/// # Ok::<(), dotnet_diagnostics_ipc::exchange::MisuseError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ParsedRequest<'b> {
    /// A request that decodes, and is within the limits.
    Request(AnyRequest<'b>),
    /// It does not decode.
    Malformed(WireError),
    /// A runtime refuses such a value.
    OverLimit(WireError),
    /// It has more providers than the caller's limit.
    TooManyProviders {
        /// The limit.
        limit: u32,
        /// The number of providers.
        found: u32,
    },
}
