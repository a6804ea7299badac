//! A runtime connected to a port.

use std::fmt;
use std::sync::Arc;

use super::{PeerTransport, Questions, RuntimeFilter, take};
use crate::advertise::Advertise;
use crate::hresult::HResult;
use crate::io::{Connect, Connection, Deadlines, Error, Until};
use crate::message::process::ResumeRuntime;
use crate::wire::Guid;

/// A runtime connected to a [`PortListener`](super::PortListener). Connecting to it takes its next
/// connection, so a [`Client`](crate::io::Client) works as with a socket or pipe.
///
/// ```no_run
/// use dotnet_diagnostics_ipc::io::Client;
/// use dotnet_diagnostics_ipc::io::port_listener::PortRuntime;
///
/// fn command_line(runtime: &PortRuntime) -> Result<String, Box<dyn std::error::Error>> {
///     let answer = Client::new(runtime.clone()).process_info()?;
///     Ok(answer.payload().map(|info| info.command_line.to_string()).unwrap_or_default())
/// }
/// ```
#[derive(Clone)]
pub struct PortRuntime {
    pub(super) queue: Arc<Questions>,
    pub(super) advertise: Advertise,
}

impl PortRuntime {
    /// Its advertise.
    pub const fn advertise(&self) -> Advertise {
        self.advertise
    }

    /// Its identity.
    pub const fn cookie(&self) -> Guid {
        self.advertise.runtime_cookie
    }

    /// Its process id, in its own namespace.
    pub const fn process_id(&self) -> u64 {
        self.advertise.process_id
    }

    /// Resumes it if it waits on this port; otherwise does nothing (F-42). Takes its next
    /// connection for this.
    ///
    /// `until` limits the wait for the connection; the request uses [`Deadlines::DEFAULT`].
    ///
    /// # Errors
    /// [`Error`], as for every call.
    pub fn resume(&self, until: &Until<'_>) -> Result<HResult, Error> {
        let mut connection =
            Connection::new(self.connect(until)?).with_deadlines(Deadlines::DEFAULT);
        if let Some(canceller) = until.canceller {
            connection = connection.with_canceller(canceller.clone());
        }
        connection.call(&ResumeRuntime {}).map(|answer| answer.result())
    }
}

impl Connect for PortRuntime {
    type Transport = PeerTransport;

    fn connect(&self, until: &Until<'_>) -> Result<PeerTransport, Error> {
        take(&self.queue, RuntimeFilter::Cookie(self.cookie()), until)
            .map(|(_, transport)| transport)
    }
}

impl fmt::Debug for PortRuntime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PortRuntime").field("advertise", &self.advertise).finish_non_exhaustive()
    }
}
