//! Forwards between clients and a runtime.

use std::io;
use std::os::fd::AsFd as _;
use std::os::unix::net::{UnixListener, UnixStream};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use dotnet_diagnostics_ipc::io::{Canceller, Connect as _, Endpoint, ErrorKind, WaitLimit};
use dotnet_diagnostics_ipc_vectors::Direction;
use dotnet_diagnostics_ipc_vectors::script::Ending;

use super::log::{Log, Recording, Witness};
use super::relay;
use super::relay::{ConnectionSummary, relay};

/// How long a connection to the other side may take.
const PATIENCE: Duration = Duration::from_secs(5);
/// How often to retry connecting to a tool that does not listen yet.
const PAUSE: Duration = Duration::from_millis(50);

/// How often a failing accept is retried.
const ATTEMPTS: u32 = 100;

/// Accepts connections, opens one to the other side for each, and forwards bytes, descriptors and
/// ends.
///
/// ```no_run
/// use std::os::unix::net::UnixListener;
/// use diagipc::record::Proxy;
/// use dotnet_diagnostics_ipc::io::{Canceller, Endpoint};
///
/// let listener = UnixListener::bind("/tmp/proxy")?;
/// let proxy = Proxy::new(listener, Endpoint::process(12345)).recording();
/// let recording = proxy.run(&Canceller::new()?, Some(1), &|summary| eprintln!("{} bytes", summary.client))?;
/// println!("{} connections", recording.conversation.connections.len());
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug)]
pub struct Proxy {
    listener: UnixListener,
    to: Endpoint,
    runtime_connects: bool,
    records: bool,
    witness: Option<Arc<dyn Witness>>,
    closing: Option<Canceller>,
}

impl Proxy {
    /// Clients connect to `listener`; a runtime listens at `to`.
    pub const fn new(listener: UnixListener, to: Endpoint) -> Self {
        Self { listener, to, runtime_connects: false, records: false, witness: None, closing: None }
    }

    /// The reverse: runtimes connect to `listener`, their diagnostic port, and a tool listens at
    /// the endpoint.
    #[must_use]
    pub fn of_a_port(mut self) -> Self {
        self.runtime_connects = true;
        self
    }

    /// Records the messages.
    #[must_use]
    pub fn recording(mut self) -> Self {
        self.records = true;
        self
    }

    /// Passes every event to a witness, whether it is recorded or not.
    #[must_use]
    pub fn witnessed_by(mut self, witness: Arc<dyn Witness>) -> Self {
        self.witness = Some(witness);
        self
    }

    /// Stops accepting on `closing`, and continues until the open connections have ended.
    #[must_use]
    pub fn until(mut self, closing: Canceller) -> Self {
        self.closing = Some(closing);
        self
    }

    /// Forwards until `connections` have been served, or until `canceller`. `told` is called for
    /// each finished connection.
    ///
    /// # Errors
    /// If accepting fails.
    pub fn run(
        &self,
        canceller: &Canceller,
        connections: Option<u64>,
        told: &(dyn Fn(&ConnectionSummary) + Sync),
    ) -> io::Result<Recording> {
        let (began, mut log) = (Instant::now(), Log::new(self.runtime_connects));
        if let Some(witness) = &self.witness {
            log = log.witnessed_by(Arc::clone(witness));
        }
        if !self.records {
            log = log.without_recording();
        }
        self.listener.set_nonblocking(true)?;
        let until = WaitLimit {
            deadline: None,
            canceller: Some(self.closing.as_ref().unwrap_or(canceller)),
        };
        let accepted: io::Result<()> = thread::scope(|scope| {
            let (mut number, mut failures) = (0_u64, 0);
            while connections.is_none_or(|most| number < most) && !canceller.is_cancelled() {
                let stream = match self.listener.accept() {
                    Ok((stream, _)) => stream,
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                        match until.readable(&self.listener) {
                            Ok(()) => continue,
                            Err(ErrorKind::Io(error)) => return Err(error),
                            // Clients that connected before that are accepted.
                            Err(_) => return Ok(()),
                        }
                    }
                    // Too many may be open for a while.
                    Err(_) if failures < ATTEMPTS => {
                        failures += 1;
                        thread::sleep(PAUSE);
                        continue;
                    }
                    Err(error) => return Err(error),
                };
                failures = 0;
                number += 1;
                let log = &log;
                thread::Builder::new().spawn_scoped(scope, move || {
                    told(&self.forward(stream, number, began, log, canceller));
                })?;
            }
            Ok(())
        });
        accepted.map(|()| log.take())
    }

    fn forward(
        &self,
        accepted: UnixStream,
        number: u64,
        began: Instant,
        log: &Log,
        canceller: &Canceller,
    ) -> ConnectionSummary {
        let connection = if self.records || self.witness.is_some() { log.opened() } else { None };
        let mut summary =
            ConnectionSummary { number, began: began.elapsed(), ..ConnectionSummary::default() };
        let relayed = self.other_side(&accepted, canceller).and_then(|other| {
            let (client, runtime) =
                if self.runtime_connects { (other, accepted) } else { (accepted, other) };
            relay(&client, &runtime, log, connection, canceller, &mut summary)
                .map_err(|error| error.to_string())
        });
        if let Err(why) = relayed {
            // An opened connection is closed silently.
            log.ended(
                connection,
                if self.runtime_connects { Direction::Client } else { Direction::Server },
                Ending::Close,
            );
            summary.trouble = Some(why);
        }
        summary.over = began.elapsed();
        summary
    }

    fn other_side(
        &self,
        accepted: &UnixStream,
        canceller: &Canceller,
    ) -> Result<UnixStream, String> {
        loop {
            let until = WaitLimit {
                deadline: Instant::now().checked_add(PATIENCE),
                canceller: Some(canceller),
            };
            let connected = self.to.connect(&until);
            match connected {
                Ok(transport) => {
                    return transport.stream().try_clone().map_err(|error| error.to_string());
                }
                // A rejected runtime reconnects immediately and repeatedly (F-77): it is held until
                // the tool listens.
                Err(_)
                    if self.runtime_connects
                        && !canceller.is_cancelled()
                        && !relay::has_hung_up(accepted.as_fd()) =>
                {
                    thread::sleep(PAUSE);
                }
                Err(error) => return Err(std::format!("{error:#}")),
            }
        }
    }
}
