//! Many connections.

use core::ops::Deref;
use std::string::String;
use std::thread;

use super::connection::Conversation;
use super::gate::Gate;
use super::listen::pause;
use super::{Handler, Listen, ServeOptions};
use crate::io::{Canceller, Error, ErrorKind, Until};

/// Serves every client that comes, until `shutdown` is used; each connection has a thread. Sessions end with the shutdown.
///
/// A client that says nothing holds one of the places of [`ServeOptions::most_at_once`] for the time of
/// [`ServeOptions::request`]; so let only those reach the socket that are trusted.
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
///     // … clients come …
///     shutdown.cancel();
/// });
/// # Ok::<(), std::io::Error>(())
/// ```
///
/// # Errors
/// [`Phase::Listen`](crate::io::Phase::Listen): the listener failed. Sessions are ended then too, by `shutdown`.
///
/// # Panics
/// Where a method of the handler has, once the server has ended; the others are served until then.
pub fn serve<L, H>(listener: L, handler: &H, options: &ServeOptions, shutdown: &Canceller) -> Result<(), Error>
where
    L: Listen<Transport: Send>,
    H: Handler + Sync + ?Sized,
{
    serve_each(listener, |_| handler, options, shutdown)
}

/// The same, with a handler for each connection.
pub(crate) fn serve_each<L, H>(
    mut listener: L,
    handler_of: impl Fn(&L::Transport) -> H,
    options: &ServeOptions,
    shutdown: &Canceller,
) -> Result<(), Error>
where
    L: Listen<Transport: Send>,
    H: Deref<Target: Handler> + Send,
{
    let (requests, sessions) = (Gate::new(options.most_at_once.max(1)), Gate::new(options.most_sessions));
    let until = Until { deadline: None, canceller: Some(shutdown) };
    thread::scope(|scope| {
        loop {
            // Whoever is inside leaves it on shutdown.
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
            let served = thread::Builder::new().name(String::from("diagnostics server")).spawn_scoped(scope, move || {
                let mut conversation = Conversation::new(transport, &*handler, options, Some(shutdown));
                (conversation.place, conversation.sessions) = (Some(place), Some(sessions));
                // Cancelled, which the caller knows.
                let _ = conversation.run();
            });
            if served.is_err() {
                // No thread: the client was hung up on. Others may end meanwhile.
                pause(shutdown);
            }
        }
    })
}

/// Whether there may be descriptors and memory again later.
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
