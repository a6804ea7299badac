//! The reference runtime, over real sockets.

mod misbehaviour;
mod profiles;
mod program;
mod recorded;
mod stand_in;

use std::fs::DirBuilder;
use std::io::{ErrorKind, Read as _, Write as _};
use std::os::unix::fs::DirBuilderExt as _;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use diagipc::runtime::{Config, ReferenceRuntime, StartError};
use dotnet_diagnostics_ipc::endpoint::{SocketName, SocketPath};
use dotnet_diagnostics_ipc::io::{Client, Endpoint};

/// A request without payload.
fn request(code: u16) -> Vec<u8> {
    message(code, &[])
}

fn message(code: u16, payload: &[u8]) -> Vec<u8> {
    let size = u16::try_from(20 + payload.len()).unwrap();
    [b"DOTNET_IPC_V1\0".as_slice(), &size.to_le_bytes(), &code.to_be_bytes(), &[0, 0], payload]
        .concat()
}

/// The state of a connection after its last byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    Closed,
    Reset,
    /// For 600 ms neither a byte nor the end arrived.
    Open,
}

/// Returns everything that arrives.
fn read(stream: &mut UnixStream) -> (Vec<u8>, End) {
    read_after(Duration::from_millis(600), stream)
}

/// Returns everything that arrives, with this time limit for the first byte.
fn read_after(first: Duration, stream: &mut UnixStream) -> (Vec<u8>, End) {
    stream.set_read_timeout(Some(first)).unwrap();
    let (mut all, mut piece) = (Vec::new(), [0; 4096]);
    loop {
        match stream.read(&mut piece) {
            Ok(0) => return (all, End::Closed),
            Ok(n) => {
                all.extend_from_slice(&piece[..n]);
                stream.set_read_timeout(Some(Duration::from_millis(600))).unwrap();
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => return (all, End::Open),
            Err(error) if error.kind() == ErrorKind::ConnectionReset => return (all, End::Reset),
            Err(error) => panic!("{error}"),
        }
    }
}

/// Sends `request` on a new connection, and reads everything that arrives.
fn ask(socket: &Path, request: &[u8]) -> (Vec<u8>, End) {
    let mut stream = UnixStream::connect(socket).unwrap();
    stream.write_all(request).unwrap();
    read(&mut stream)
}

/// Returns the answer to a dump, which takes 400 ms, and longer on a busy machine.
fn ask_for_dump(socket: &Path, request: &[u8]) -> (Vec<u8>, End) {
    let mut stream = UnixStream::connect(socket).unwrap();
    stream.write_all(request).unwrap();
    read_after(Duration::from_secs(10), &mut stream)
}

/// A runtime in its own directory.
pub(crate) fn start(configure: impl FnOnce(&mut Config)) -> (ReferenceRuntime, tempfile::TempDir) {
    let directory = crate::tool::directory();
    let mut config = Config::new(directory.path().join("socket"));
    configure(&mut config);
    (ReferenceRuntime::start(config).unwrap(), directory)
}

/// The ports in the variable are counted, and a runtime has room for a limited number; a socket may
/// have another owner.
#[test]
fn runtime_start_failure_has_reason() {
    let directory = crate::tool::directory();
    let refused = |config: Config| {
        let error = ReferenceRuntime::start(config).unwrap_err();
        let source = std::error::Error::source(&error).map(ToString::to_string);
        assert!(
            source.is_none_or(|source| !error.to_string().contains(&source)),
            "{error}: each part is said once"
        );
        error
    };
    let file = directory.path().join("file");
    std::fs::write(&file, b"not a socket").unwrap();
    let error = refused(Config::new(&file));
    assert!(matches!(&error, StartError::Socket(_)), "{error}");
    assert_eq!(std::fs::read(&file).unwrap(), b"not a socket");

    let mut config = Config::new(directory.path().join("socket"));
    let ports: Vec<String> =
        (0..1000).map(|nth| format!("{}/{nth},suspend", directory.path().display())).collect();
    config.ports = Some(ports.join(";"));
    let error = refused(config);
    assert!(matches!(&error, StartError::TooManyPorts { .. }), "{error}");
    assert!(!directory.path().join("socket").exists());
}

#[test]
fn runtime_cookie_is_unique() {
    let (one, _one) = start(|_| {});
    let (two, _two) = start(|_| {});
    assert_ne!(one.cookie(), two.cookie());
    // ProcessInfo2: after the header and the process id.
    for runtime in [&one, &two] {
        let (reply, end) = ask(runtime.socket(), &request(0x0404));
        assert_eq!((&reply[28..44], end), (&runtime.cookie().to_bytes()[..], End::Closed));
        assert!(
            format!("{runtime:?}")
                .starts_with("ReferenceRuntime { application: Application { profile: "),
            "{runtime:?}"
        );
    }
    one.stop();
}

/// R-TRN-011: a client of a sandboxed macOS application uses the container in place of `TMPDIR`.
#[test]
fn runtime_in_group_container_is_reached_by_path() {
    let home = crate::tool::directory();
    let container = home.path().join("Library/Group Containers/TEAM.group");
    DirBuilder::new().recursive(true).mode(0o700).create(&container).unwrap();
    let path =
        SocketPath { directory: container.to_str().unwrap(), name: SocketName::new(12, 345) }
            .to_string();
    let runtime = ReferenceRuntime::start(Config::new(&path)).unwrap();
    assert!(
        path.ends_with("/Library/Group Containers/TEAM.group/dotnet-diagnostic-12-345-socket"),
        "{path}"
    );
    let answer = Client::new(Endpoint::socket(&path)).process_info().unwrap();
    assert_eq!(answer.payload().unwrap().runtime_cookie, runtime.cookie());
}
