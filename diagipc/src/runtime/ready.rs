//! The events of the reference runtime.

/// The next event for the server thread.
pub(super) enum Ready {
    Nothing,
    /// A client connects to the default port.
    Default,
    /// An event on the connection to a port: a request arrived, or the tool ended it.
    Port {
        nth: usize,
        is_request: bool,
    },
}
