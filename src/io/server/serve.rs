//! Serves many connections.

use core::ops::Deref;
use std::string::String;
use std::thread;

use super::connection::Conversation;
use super::gate::Gate;
use super::listen::pause;
use super::{Handler, Listen, ServeOptions};
use crate::io::{Canceller, Error, ErrorKind, Until};

/// Serves every client, a thread for each connection, until `shutdown`. Sessions end with the
/// shutdown.
///
/// A silent client occupies one of the places of [`ServeOptions::most_at_once`] for the time of
/// [`ServeOptions::request`], so only trusted clients should reach the socket.
///
/// ```
/// use dotnet_diagnostics_ipc::io::server::{Handler, ServeOptions, serve};
/// use dotnet_diagnostics_ipc::io::{Canceller, UnixTransport};
/// use std::os::unix::net::{UnixListener, UnixStream};
///
/// struct Nothing;
/// impl Handler for Nothing {}
///
/// let directory = tempfile::tempdir()?;
/// let listener = UnixListener::bind(directory.path().join("socket"))?;
/// let shutdown = Canceller::new()?;
/// std::thread::scope(|scope| {
///     scope.spawn(|| serve(&listener, &Nothing, &ServeOptions::DEFAULT, &shutdown));
///     // … clients connect …
///     shutdown.cancel();
/// });
/// # Ok::<(), std::io::Error>(())
/// ```
///
/// # Errors
/// [`Phase::Listen`](crate::io::Phase::Listen): the listener failed. Sessions end then too, by
/// `shutdown`.
///
/// # Panics
/// If a method of the handler panics, once the server has ended; the others are served until then.
pub fn serve<L, H>(
    listener: L,
    handler: &H,
    options: &ServeOptions,
    shutdown: &Canceller,
) -> Result<(), Error>
where
    L: Listen<Transport: Send>,
    H: Handler + Sync + ?Sized,
{
    serve_with(listener, |_| handler, options, shutdown)
}

/// As [`serve`], with a handler for each connection, which `handler_of` chooses before its first
/// byte is read: by who connects, or by what was already read of it.
///
/// ```
/// # #[cfg(unix)] {
/// use dotnet_diagnostics_ipc::io::Canceller;
/// use dotnet_diagnostics_ipc::io::server::{Handler, ServeOptions, serve_with};
/// use dotnet_diagnostics_ipc::io::trust::peer_of;
/// use std::os::unix::net::UnixListener;
///
/// struct Client(Option<u32>);
/// impl Handler for Client {}
///
/// let directory = tempfile::tempdir()?;
/// let listener = UnixListener::bind(directory.path().join("socket"))?;
/// let shutdown = Canceller::new()?;
/// std::thread::scope(|scope| {
///     scope.spawn(|| {
///         let handler_of = |client: &_| {
///             Box::new(Client(peer_of(client).ok().and_then(|peer| peer.process_id)))
///         };
///         serve_with(&listener, handler_of, &ServeOptions::DEFAULT, &shutdown)
///     });
///     // … clients connect …
///     shutdown.cancel();
/// });
/// # }
/// # Ok::<(), std::io::Error>(())
/// ```
///
/// # Errors
/// As [`serve`].
///
/// # Panics
/// As [`serve`]; and if `handler_of` panics.
pub fn serve_with<L, H>(
    mut listener: L,
    handler_of: impl Fn(&L::Transport) -> H,
    options: &ServeOptions,
    shutdown: &Canceller,
) -> Result<(), Error>
where
    L: Listen<Transport: Send>,
    H: Deref<Target: Handler> + Send,
{
    let (requests, sessions) =
        (Gate::new(options.most_at_once.max(1)), Gate::new(options.most_sessions));
    let until = Until { deadline: None, canceller: Some(shutdown) };
    thread::scope(|scope| {
        loop {
            // Those inside leave on shutdown.
            let place = requests.enter();
            let transport = match listener.accept(&until) {
                Ok(transport) => transport,
                Err(error) => match error.kind() {
                    ErrorKind::Cancelled => return Ok(()),
                    ErrorKind::TimedOut => continue,
                    ErrorKind::Io(reason) if passes(reason) => {
                        drop(place);
                        pause(shutdown);
                        continue;
                    }
                    _ => {
                        shutdown.cancel();
                        return Err(error);
                    }
                },
            };
            let (sessions, handler) = (&sessions, handler_of(&transport));
            let served = thread::Builder::new()
                .name(String::from("diagnostics server"))
                .spawn_scoped(scope, move || {
                    let mut conversation =
                        Conversation::new(transport, &*handler, options, Some(shutdown));
                    (conversation.place, conversation.sessions) = (Some(place), Some(sessions));
                    // Cancelled, as the caller knows.
                    let _ = conversation.run();
                });
            if served.is_err() {
                // No thread: the client was disconnected. Others may end meanwhile.
                pause(shutdown);
            }
        }
    })
}

/// Whether descriptors and memory may be available again later.
fn passes(error: &std::io::Error) -> bool {
    #[cfg(unix)]
    {
        use rustix::io::Errno;
        let errno = Errno::from_io_error(error);
        matches!(errno, Some(Errno::MFILE | Errno::NFILE | Errno::NOBUFS | Errno::NOMEM))
    }
    #[cfg(not(unix))]
    {
        error.kind() == std::io::ErrorKind::OutOfMemory
    }
}
