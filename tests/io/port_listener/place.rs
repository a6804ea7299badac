//! Where a port listens in these tests, and how a runtime connects to it: a socket, or a pipe.

pub(super) use system::{Peer, PeerTransport, Place, connect, connect_transport};

#[cfg(unix)]
mod system {
    use std::io;
    use std::os::unix::net::{UnixListener, UnixStream};
    use std::path::{Path, PathBuf};

    use dotnet_diagnostics_ipc::io::SocketTransport;

    /// A connection as any client makes it: its reads and writes block.
    pub(crate) type Peer = UnixStream;
    pub(crate) type PeerTransport = SocketTransport;

    pub(crate) struct Place {
        pub(crate) path: PathBuf,
        _directory: tempfile::TempDir,
    }

    impl Place {
        pub(crate) fn listen() -> (UnixListener, Self) {
            let directory = crate::directory();
            let path = directory.path().join("port");
            (UnixListener::bind(&path).unwrap(), Self { path, _directory: directory })
        }
    }

    pub(crate) fn connect(path: &Path) -> io::Result<Peer> {
        UnixStream::connect(path)
    }

    pub(crate) fn connect_transport(path: &Path) -> Option<SocketTransport> {
        Some(SocketTransport::new(connect(path).ok()?))
    }
}

#[cfg(windows)]
mod system {
    use std::fs::{File, OpenOptions};
    use std::io;
    use std::path::{Path, PathBuf};
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::thread;
    use std::time::Duration;

    use dotnet_diagnostics_ipc::io::WaitLimit;
    use dotnet_diagnostics_ipc::io::windows::{PipeListener, PipeTransport};

    pub(crate) type Peer = File;
    pub(crate) type PeerTransport = PipeTransport;

    /// `CreateFile` fails with it while every pipe has its client.
    const ERROR_PIPE_BUSY: i32 = 231;

    pub(crate) struct Place {
        pub(crate) path: PathBuf,
    }

    impl Place {
        pub(crate) fn listen() -> (PipeListener, Self) {
            static NEXT: AtomicUsize = AtomicUsize::new(0);
            let nth = NEXT.fetch_add(1, Ordering::SeqCst);
            let listener = PipeListener::bind(&format!(
                "dotnet-diagnostics-ipc-port-{}-{nth}",
                std::process::id()
            ))
            .unwrap();
            let path = PathBuf::from(listener.path());
            (listener, Self { path })
        }
    }

    pub(crate) fn connect(path: &Path) -> io::Result<Peer> {
        for _ in 0..500 {
            match OpenOptions::new().read(true).write(true).open(path) {
                Err(error) if error.raw_os_error() == Some(ERROR_PIPE_BUSY) => {
                    thread::sleep(Duration::from_millis(10));
                }
                opened => return opened,
            }
        }
        Err(io::ErrorKind::TimedOut.into())
    }

    pub(crate) fn connect_transport(path: &Path) -> Option<PipeTransport> {
        PipeTransport::connect(path.to_str().unwrap(), &WaitLimit::FOREVER).ok()
    }
}
