//! Runtimes that connect to a port, with `async`.

use super::AsyncConnect;
use super::client::blocking;
use crate::io::port_listener::{PortListener, PortRuntime, RuntimeFilter};
use crate::io::{Canceller, Connect, Error, Until};

/// As [`Connect`](crate::io::Connect) for a [`PortRuntime`]: takes its next connection. A wait for
/// one has a thread for blocking; the wait ends if the future is dropped. A connection that comes in
/// that moment is closed, and the runtime connects again (F-57).
impl AsyncConnect for PortRuntime {
    type Stream = tokio::net::UnixStream;

    async fn connect(&self) -> Result<Self::Stream, Error> {
        let runtime = self.clone();
        let transport = waiting(move |until| Connect::connect(&runtime, until)).await?;
        let stream = std::os::unix::net::UnixStream::from(transport);
        stream.set_nonblocking(true).map_err(Error::connecting)?;
        tokio::net::UnixStream::from_std(stream).map_err(Error::connecting)
    }
}

impl PortListener {
    /// As [`wait_for`](Self::wait_for), with `async`: waits for a matching runtime. The wait has a
    /// thread for blocking, and ends if the future is dropped.
    ///
    /// ```no_run
    /// use dotnet_diagnostics_ipc::io::AsyncClient;
    /// use dotnet_diagnostics_ipc::io::port_listener::{PortListener, PortOptions, RuntimeFilter};
    ///
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
    /// let port = PortListener::bind("/run/me/port", PortOptions::DEFAULT)?;
    /// let runtime = port.wait_for_async(RuntimeFilter::Any).await?;
    /// AsyncClient::new(runtime).resume().await?;
    /// # Ok::<(), dotnet_diagnostics_ipc::io::Error>(())
    /// # })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`wait_for`](Self::wait_for).
    pub async fn wait_for_async(&self, which: RuntimeFilter) -> Result<PortRuntime, Error> {
        waiting(self.waiter(which)).await
    }
}

/// Cancels on drop.
struct Guard(Canceller);

impl Drop for Guard {
    fn drop(&mut self) {
        self.0.cancel();
    }
}

/// Runs `wait` on a thread for blocking, until the future is dropped.
async fn waiting<T: Send + 'static>(
    wait: impl FnOnce(&Until<'_>) -> Result<T, Error> + Send + 'static,
) -> Result<T, Error> {
    let canceller = Canceller::new().map_err(Error::connecting)?;
    let guard = Guard(canceller.clone());
    let done = blocking(move || wait(&Until { deadline: None, canceller: Some(&canceller) })).await;
    drop(guard);
    done
}
