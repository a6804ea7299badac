//! Endpoints that are not a socket, are not trusted, or have no time.

use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::{UnixListener, UnixStream};
use std::thread;
use std::time::{Duration, Instant};

use dotnet_diagnostics_ipc::io::trust::{Distrust, TrustPolicy};
use dotnet_diagnostics_ipc::io::{
    Canceller, Client, Connect as _, Deadlines, Endpoint, ErrorKind, WaitLimit,
};

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

#[test]
fn endpoint_without_listener_is_not_found_as_io_error() {
    let directory = crate::directory();
    let gone = directory.path().join("dotnet-diagnostic-1-1-socket");
    drop(UnixListener::bind(&gone).unwrap());
    for path in [gone, directory.path().join("missing-socket")] {
        let error = Client::new(Endpoint::socket(&path)).info().unwrap_err();
        let text = error.to_string();
        assert!(text.contains(path.to_str().unwrap()), "{text}");
        assert_eq!(std::io::Error::from(error).kind(), std::io::ErrorKind::NotFound, "{text}");
    }
}

#[test]
fn endpoint_policy_decides_trust() {
    let directory = crate::directory();
    std::fs::set_permissions(directory.path(), std::fs::Permissions::from_mode(0o777)).unwrap();
    let path = directory.path().join("socket");
    let _listener = UnixListener::bind(&path).unwrap();
    let endpoint = Endpoint::socket(&path);
    assert_eq!(TrustPolicy::default(), TrustPolicy::CHECKED);
    let error = endpoint.connect(&WaitLimit::FOREVER).unwrap_err();
    let place = directory.path().display();
    let why = format!("other users can replace files in {place} (mode 777, not sticky)");
    let text = format!("the endpoint is not trusted: {why} (checking the endpoint's owner)");
    assert_eq!(error.to_string(), text);
    endpoint
        .trusting(TrustPolicy::CHECKED.allowing_shared_directory())
        .connect(&WaitLimit::FOREVER)
        .unwrap();
}

#[test]
fn endpoint_distrust_names_owner() {
    let other = Distrust::OtherOwner { path: "/tmp/s".into(), owner: 1001, ours: 1000 };
    assert_eq!(other.to_string(), "/tmp/s belongs to user 1001, expected user 1000 or root");
    let peer = Distrust::PeerOwner { owner: 1001, ours: 1000 };
    assert_eq!(peer.to_string(), "the listener runs as user 1001, expected user 1000 or root");
    let process = Distrust::PeerProcess { process_id: 123, expected: 12 };
    assert_eq!(process.to_string(), "process 123 listens there, expected process 12");
}

/// A listener whose backlog is full as long as the stream exists.
fn busy() -> (UnixListener, UnixStream, Endpoint, tempfile::TempDir) {
    let directory = crate::directory();
    let path = directory.path().join("socket");
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
