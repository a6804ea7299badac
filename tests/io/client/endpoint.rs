//! Endpoints: what they keep from one connection to the next, when they check again, and waits for
//! a listener.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use dotnet_diagnostics_ipc::io::trust::{Distrust, TrustPolicy};
use dotnet_diagnostics_ipc::io::{
    Canceller, Client, Connect as _, Deadlines, Endpoint, Error, ErrorKind, Phase, WaitLimit,
};

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
fn endpoint_recreated_socket_is_found() {
    let (_directory, path) = place();
    let endpoint = Endpoint::socket(&path);
    for _ in 0..3 {
        let listener = UnixListener::bind(&path).unwrap();
        for _ in 0..2 {
            connect(&endpoint).unwrap();
            listener.accept().unwrap();
        }
        fs::remove_file(&path).unwrap();
        // A listener that still exists cannot be reached by that path.
        let error = connect(&endpoint).unwrap_err();
        assert_error!(error, Find, ErrorKind::NotFound(_));
    }
}

#[test]
fn endpoint_replaced_or_renamed_socket_in_now_shared_directory_is_refused() {
    for renamed in [false, true] {
        let (directory, path) = place();
        let _listener = UnixListener::bind(&path).unwrap();
        let endpoint = Endpoint::socket(&path);
        connect(&endpoint).unwrap();
        mode(directory.path(), 0o777);
        let other = directory.path().join("other");
        if renamed {
            fs::hard_link(&path, other).unwrap();
        } else {
            let _other = UnixListener::bind(&other).unwrap();
            fs::rename(other, &path).unwrap();
        }
        assert!(matches!(distrust(&endpoint), Distrust::SharedDirectory { mode: 0o777, .. }));
    }
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
fn endpoint_without_listener_is_not_found_as_io_error() {
    let (directory, path) = place();
    let listener = UnixListener::bind(&path).unwrap();
    let endpoint = Endpoint::socket(&path);
    connect(&endpoint).unwrap();
    drop(listener);
    crate::until_nobody_listens(&path);
    let gone = connect(&endpoint).unwrap_err();
    assert_error!(gone, Find, ErrorKind::NotAnEndpoint(_));
    let missing = connect(&Endpoint::socket(directory.path().join("missing"))).unwrap_err();
    assert_error!(missing, Find, ErrorKind::NotFound(_));
    for error in [gone, missing] {
        assert!(error.to_string().contains(directory.path().to_str().unwrap()), "{error}");
        assert_eq!(std::io::Error::from(error).kind(), std::io::ErrorKind::NotFound);
    }
}

#[test]
fn endpoint_display_is_its_path() {
    assert_eq!(Endpoint::process(12).to_string(), "process 12");
    assert_eq!(
        Endpoint::socket("/tmp/dotnet-diagnostic-12-345-socket").to_string(),
        "/tmp/dotnet-diagnostic-12-345-socket"
    );
    let pipe = r"\\.\pipe\dotnet-diagnostic-12";
    assert_eq!(Endpoint::pipe("dotnet-diagnostic-12").to_string(), pipe);
    assert_eq!(Endpoint::pipe(pipe).to_string(), pipe);
}

#[test]
fn endpoint_pipe_is_refused_on_unix() {
    let error = Client::new(Endpoint::pipe("dotnet-diagnostic-12")).process_info().unwrap_err();
    assert_eq!(error.to_string(), "this system has no named pipes (looking for the endpoint)");
    assert!(matches!(error.kind(), ErrorKind::Unsupported(_)));
}

/// A listener whose backlog is full as long as the stream exists.
fn busy() -> (UnixListener, UnixStream, Endpoint, tempfile::TempDir) {
    let (directory, path) = place();
    let listener = UnixListener::bind(&path).unwrap();
    rustix::net::listen(&listener, 0).unwrap();
    let first = UnixStream::connect(&path).unwrap();
    (listener, first, Endpoint::socket(path), directory)
}

#[test]
fn endpoint_full_backlog_is_waited_for() {
    let (_listener, _first, endpoint, _directory) = busy();
    let deadlines = Deadlines { connect: Some(Duration::from_millis(60)), ..Deadlines::DEFAULT };
    let error = Client::new(endpoint).with_deadlines(deadlines).process_info().unwrap_err();
    assert_error!(error, Connect, ErrorKind::TimedOut);
    assert_eq!(error.to_string(), "timed out (connecting)");
}

#[test]
fn endpoint_wait_ends_by_canceller_or_room() {
    let (listener, _first, endpoint, _directory) = busy();
    let canceller = Canceller::new().unwrap();
    thread::scope(|scope| {
        let until = WaitLimit { deadline: None, canceller: Some(&canceller) };
        let waiting = scope.spawn(move || endpoint.connect(&until));
        thread::sleep(Duration::from_millis(30));
        canceller.cancel();
        let error = waiting.join().unwrap().unwrap_err();
        assert_error!(error, Connect, ErrorKind::Cancelled);
    });
    let path = listener.local_addr().unwrap().as_pathname().unwrap().to_path_buf();
    thread::scope(|scope| {
        let until =
            WaitLimit { deadline: Some(Instant::now() + Duration::from_secs(10)), canceller: None };
        let waiting = scope.spawn(move || Endpoint::socket(path).connect(&until));
        thread::sleep(Duration::from_millis(30));
        let _accepted = listener.accept().unwrap();
        waiting.join().unwrap().unwrap();
    });
}
