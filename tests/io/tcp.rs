//! TCP: a server, the clients, and a port.

#[cfg(unix)]
use std::net::TcpStream;
use std::net::{SocketAddr, TcpListener};
use std::time::Duration;

use dotnet_diagnostics_ipc::hresult::HResult;
use dotnet_diagnostics_ipc::io::server::{Handler, ServeOptions, serve};
use dotnet_diagnostics_ipc::io::trust::{Distrust, TrustPolicy};
use dotnet_diagnostics_ipc::io::*;
use dotnet_diagnostics_ipc::message::process::ResumeRuntime;
use dotnet_diagnostics_ipc::message::server::ResultReply;

/// Answers only this.
struct Runtime;

impl Handler for Runtime {
    fn resume_runtime(&self, _: ResumeRuntime) -> Result<ResultReply, HResult> {
        Ok(ResultReply { hresult: HResult::OK })
    }
}

fn listener() -> (TcpListener, SocketAddr) {
    let listener = bind_tcp(([127, 0, 0, 1], 0), TrustPolicy::CHECKED).unwrap();
    let address = listener.local_addr().unwrap();
    (listener, address)
}

fn within_a_second() -> Deadlines {
    Deadlines { whole: Some(Duration::from_secs(1)), ..Deadlines::DEFAULT }
}

#[test]
fn clients_reach_a_server_over_tcp() {
    let ((listener, address), shutdown) = (listener(), Canceller::new().unwrap());
    std::thread::scope(|scope| {
        scope.spawn(|| serve(&listener, &Runtime, &ServeOptions::DEFAULT, &shutdown));
        let client = Client::new(Endpoint::tcp(address));
        let resumed = client.resume();
        let unknown = client.process_info();
        #[cfg(feature = "tokio")]
        in_tokio(async {
            AsyncClient::new(Endpoint::tcp(address)).resume().await.unwrap();
        });
        shutdown.cancel();
        resumed.unwrap();
        assert_eq!(unwrap_err(unknown).hresult(), Some(HResult::UNKNOWN_COMMAND));
    });
}

fn unwrap_err<T>(result: Result<T, Error>) -> Error {
    result.err().unwrap()
}

#[cfg(feature = "tokio")]
fn in_tokio(test: impl Future<Output = ()>) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(test);
}

/// A connection attempt to it is neither accepted nor refused.
#[cfg(target_os = "linux")]
#[test]
fn deadline_ends_connecting_while_the_backlog_is_full() {
    let (listener, address) = listener();
    rustix::net::listen(&listener, 0).unwrap();
    let fill = || TcpStream::connect_timeout(&address, Duration::from_millis(100));
    let waiting: Vec<_> = (0..4).map_while(|_| fill().ok()).collect();
    assert!(waiting.len() < 4, "the backlog is not full");
    let client = Client::new(Endpoint::tcp(address)).with_deadlines(within_a_second());
    assert_error!(unwrap_err(client.process_info()), Connect, ErrorKind::TimedOut);
    let canceller = Canceller::new().unwrap();
    let client = Client::new(Endpoint::tcp(address)).with_canceller(canceller.clone());
    std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(Duration::from_millis(50));
            canceller.cancel();
        });
        assert_error!(unwrap_err(client.process_info()), Connect, ErrorKind::Cancelled);
    });
    #[cfg(feature = "tokio")]
    in_tokio(async {
        let client = AsyncClient::new(Endpoint::tcp(address)).with_deadlines(within_a_second());
        assert_error!(unwrap_err(client.process_info().await), Connect, ErrorKind::TimedOut);
    });
}

#[test]
fn deadlines_end_the_wait_for_a_silent_peer() {
    let (_listener, address) = listener();
    let client = Client::new(Endpoint::tcp(address)).with_deadlines(within_a_second());
    assert_error!(unwrap_err(client.process_info()), Reply, ErrorKind::TimedOut);
    // A peer that does not read.
    let mut transport = Connect::connect(&Endpoint::tcp(address), &WaitLimit::FOREVER).unwrap();
    let deadline = std::time::Instant::now().checked_add(Duration::from_secs(1));
    let until = WaitLimit { deadline, canceller: None };
    let stopped = (0..1_000_000).find_map(|_| transport.send(&[0; 8192], &until).err());
    assert!(matches!(stopped, Some(ErrorKind::TimedOut)), "{stopped:?}");
}

#[test]
fn address_without_listener_is_not_an_endpoint() {
    let (_, address) = listener();
    let error = unwrap_err(Client::new(Endpoint::tcp(address)).process_info());
    assert_error!(error, Find, ErrorKind::NotAnEndpoint(_));
}

#[test]
fn address_of_another_machine_needs_the_option() {
    let mapped: SocketAddr = "[::ffff:127.0.0.1]:1".parse().unwrap();
    for (address, policy, is_refused) in [
        (SocketAddr::from(([192, 0, 2, 1], 9000)), TrustPolicy::CHECKED, true),
        (SocketAddr::from(([0, 0, 0, 0], 9000)), TrustPolicy::CHECKED.allowing_other_owner(), true),
        (mapped, TrustPolicy::CHECKED, false),
    ] {
        let error = unwrap_err(Client::new(Endpoint::tcp(address).trusting(policy)).process_info());
        let reason = ErrorKind::Untrusted(Distrust::NotLoopback { address }).to_string();
        assert_eq!(error.kind().to_string() == reason, is_refused, "{error}");
    }
    let anywhere = TrustPolicy::CHECKED.allowing_any_address();
    drop(bind_tcp(([0, 0, 0, 0], 0), anywhere).unwrap());
}

#[cfg(unix)]
mod port {
    use std::io::{Read as _, Write as _};

    use dotnet_diagnostics_ipc::advertise::Advertise;
    use dotnet_diagnostics_ipc::io::port_listener::{PortEvent, PortListener, PortOptions};
    use dotnet_diagnostics_ipc::wire::Guid;

    use super::*;

    const DONE: &[u8] = b"DOTNET_IPC_V1\0\x18\0\xff\0\0\0\0\0\0\0";

    #[test]
    fn runtime_connects_to_a_tcp_port() {
        let (listener, address) = listener();
        let port = PortListener::on_tcp(listener, PortOptions::DEFAULT).unwrap();
        let advertise =
            Advertise { runtime_cookie: Guid::from_bytes([7; 16]), process_id: 77, future: 0 };
        let come = || {
            let mut stream = TcpStream::connect(address).unwrap();
            stream.write_all(&advertise.to_bytes()).unwrap();
            stream
        };
        let answer = |mut stream: TcpStream| {
            stream.read_exact(&mut [0; 20]).unwrap();
            stream.write_all(DONE).unwrap();
        };
        let stream = come();
        let PortEvent::New(runtime) = port.next_event(&WaitLimit::FOREVER).unwrap() else {
            panic!("it is not new")
        };
        assert_eq!(runtime.advertise(), advertise);
        std::thread::scope(|scope| {
            scope.spawn(|| answer(stream));
            assert_eq!(runtime.resume(&WaitLimit::FOREVER).unwrap(), HResult::OK);
            #[cfg(feature = "tokio")]
            {
                scope.spawn(|| answer(come()));
                in_tokio(async {
                    AsyncClient::new(runtime.clone()).resume().await.unwrap();
                });
            }
        });
    }

    /// A descriptor cannot be sent over TCP, and its byte without it would be misread.
    #[test]
    fn descriptor_over_tcp_is_unsupported() {
        use std::os::fd::AsFd as _;

        let (_listener, address) = listener();
        let mut transport = Connect::connect(&Endpoint::tcp(address), &WaitLimit::FOREVER).unwrap();
        let file = tempfile::tempfile().unwrap();
        let sent = transport.send_fd(file.as_fd(), &WaitLimit::FOREVER);
        assert!(matches!(sent, Err(ErrorKind::Unsupported(_))), "{sent:?}");
    }
}
