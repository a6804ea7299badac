//! What an endpoint keeps from one connection to the next, and when it checks again.

use std::fs::{self, Permissions};
use std::io::{Read as _, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};

use dotnet_diagnostics_ipc::io::trust::{Distrust, TrustPolicy};
use dotnet_diagnostics_ipc::io::{Connect as _, Endpoint, Error, ErrorKind, Phase, WaitLimit};

fn place() -> (tempfile::TempDir, PathBuf) {
    let directory = crate::directory();
    let path = directory.path().join("socket");
    (directory, path)
}

fn connect(endpoint: &Endpoint) -> Result<(), Error> {
    endpoint.connect(&WaitLimit::FOREVER).map(drop)
}

fn mode(path: &Path, mode: u32) {
    fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
}

#[track_caller]
fn distrust(endpoint: &Endpoint) -> Distrust {
    let error = connect(endpoint).unwrap_err();
    assert_eq!(error.phase(), Phase::Trust);
    let ErrorKind::Untrusted(distrust) = error.kind() else { panic!("{error:?}") };
    distrust.clone()
}

#[test]
fn endpoint_same_socket_is_connected_to_again() {
    let (_directory, path) = place();
    let listener = UnixListener::bind(&path).unwrap();
    let endpoint = Endpoint::socket(&path);
    for _ in 0..3 {
        let mut transport = endpoint.connect(&WaitLimit::FOREVER).unwrap();
        let (mut accepted, _) = listener.accept().unwrap();
        accepted.write_all(b"x").unwrap();
        let mut byte = [0; 4];
        assert_eq!(
            dotnet_diagnostics_ipc::io::Transport::receive(
                &mut transport,
                &mut byte,
                &WaitLimit::FOREVER
            )
            .unwrap(),
            1
        );
        drop(transport);
        assert_eq!(accepted.read(&mut byte).unwrap(), 0);
    }
}

#[test]
fn endpoint_recreated_socket_is_found() {
    let (_directory, path) = place();
    let endpoint = Endpoint::socket(&path);
    for _ in 0..3 {
        let listener = UnixListener::bind(&path).unwrap();
        connect(&endpoint).unwrap();
        listener.accept().unwrap();
        fs::remove_file(&path).unwrap();
        // A listener that still exists cannot be reached by that path.
        let error = connect(&endpoint).unwrap_err();
        assert_error!(error, Find, ErrorKind::NotFound(_));
    }
}

#[test]
fn endpoint_socket_replaced_in_now_shared_directory_is_refused() {
    let (directory, path) = place();
    let _listener = UnixListener::bind(&path).unwrap();
    let endpoint = Endpoint::socket(&path);
    connect(&endpoint).unwrap();
    mode(directory.path(), 0o777);
    let other = directory.path().join("other");
    let _other = UnixListener::bind(&other).unwrap();
    fs::rename(other, &path).unwrap();
    assert!(matches!(distrust(&endpoint), Distrust::SharedDirectory { mode: 0o777, .. }));
}

#[test]
fn endpoint_renamed_socket_is_checked_again() {
    let (directory, path) = place();
    let _listener = UnixListener::bind(&path).unwrap();
    let endpoint = Endpoint::socket(&path);
    connect(&endpoint).unwrap();
    mode(directory.path(), 0o777);
    fs::hard_link(&path, directory.path().join("other")).unwrap();
    assert!(matches!(distrust(&endpoint), Distrust::SharedDirectory { .. }));
}

#[test]
fn endpoint_path_leading_elsewhere_is_checked_again() {
    let (directory, _) = place();
    let (ours, shared) = (directory.path().join("ours"), directory.path().join("shared"));
    let mut listeners = Vec::new();
    for place in [&ours, &shared] {
        fs::create_dir(place).unwrap();
        listeners.push(UnixListener::bind(place.join("socket")).unwrap());
    }
    mode(&shared, 0o777);
    let link = directory.path().join("link");
    std::os::unix::fs::symlink(&ours, &link).unwrap();
    let endpoint = Endpoint::socket(link.join("socket"));
    connect(&endpoint).unwrap();
    fs::remove_file(&link).unwrap();
    std::os::unix::fs::symlink(&shared, &link).unwrap();
    assert!(matches!(distrust(&endpoint), Distrust::SharedDirectory { .. }));
}

/// Without checks any socket at the path will do, but one must be there.
#[test]
fn endpoint_unchecked_socket_replaced_is_connected_to() {
    let (directory, path) = place();
    let listener = UnixListener::bind(&path).unwrap();
    let endpoint = Endpoint::socket(&path).trusting(TrustPolicy::UNCHECKED);
    connect(&endpoint).unwrap();
    listener.accept().unwrap();
    mode(directory.path(), 0o777);
    fs::remove_file(&path).unwrap();
    let error = connect(&endpoint).unwrap_err();
    assert_error!(error, Find, ErrorKind::NotFound(_));
    let other = UnixListener::bind(&path).unwrap();
    connect(&endpoint).unwrap();
    other.accept().unwrap();
    assert!(matches!(
        distrust(&endpoint.trusting(TrustPolicy::CHECKED)),
        Distrust::SharedDirectory { .. }
    ));
}

#[test]
fn endpoint_with_other_policy_is_checked_again() {
    let (directory, path) = place();
    let _listener = UnixListener::bind(&path).unwrap();
    mode(directory.path(), 0o777);
    let lenient =
        Endpoint::socket(&path).trusting(TrustPolicy::CHECKED.allowing_shared_directory());
    connect(&lenient).unwrap();
    // A clone shares the result of the search.
    connect(&lenient.clone()).unwrap();
    assert!(matches!(
        distrust(&lenient.trusting(TrustPolicy::CHECKED)),
        Distrust::SharedDirectory { .. }
    ));
}

#[test]
fn endpoint_without_listener_is_reported() {
    let (_directory, path) = place();
    let listener = UnixListener::bind(&path).unwrap();
    let endpoint = Endpoint::socket(&path);
    connect(&endpoint).unwrap();
    drop(listener);
    // A process that another test starts holds the listener until its `exec`.
    let began = std::time::Instant::now();
    let error = loop {
        match connect(&endpoint) {
            Err(error) => break error,
            Ok(()) => assert!(began.elapsed() < std::time::Duration::from_secs(20)),
        }
    };
    assert_error!(error, Find, ErrorKind::NotAnEndpoint(_));
}
