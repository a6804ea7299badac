//! Which types can be sent to or shared with another thread, their defaults, and their `Debug`.

use dotnet_diagnostics_ipc::io::*;
use dotnet_diagnostics_ipc::message::process::ProcessInfo3;

fn send<T: Send>() {}
fn shared<T: Send + Sync + 'static>() {}
fn cloned<T: Clone + Send + Sync + 'static>() {}
fn unwinds<T: std::panic::UnwindSafe + std::panic::RefUnwindSafe>() {}

#[test]
fn client_types_are_send() {
    cloned::<Client>();
    cloned::<StopHandle<Client>>();
    cloned::<Canceller>();
    cloned::<Endpoint>();
    cloned::<Answer<ProcessInfo3>>();
    cloned::<Deadlines>();
    shared::<Error>();
    shared::<ErrorKind>();
    shared::<Connection<Stream<std::net::TcpStream>>>();
    shared::<EnvironmentBlock<Stream<std::net::TcpStream>>>();
    shared::<Trace<Stream<std::net::TcpStream>>>();
    shared::<<Endpoint as Connect>::Transport>();
    cloned::<discovery::Discovery>();
    cloned::<trust::TrustPolicy>();
    cloned::<trust::Distrust>();
    send::<WaitLimit<'static>>();
    unwinds::<Canceller>();
}

#[test]
fn port_types_are_send() {
    shared::<port_listener::PortListener>();
    cloned::<port_listener::PortRuntime>();
    cloned::<port_listener::PortEvent>();
    cloned::<port_listener::PortOptions>();
}

#[cfg(unix)]
#[test]
fn unix_types_are_send() {
    shared::<SocketGuard>();
    shared::<UserEvents<SocketTransport>>();
}

#[cfg(all(unix, feature = "tokio"))]
#[test]
fn tokio_types_and_futures_are_send() {
    fn is_send<F: Future + Send>(_: F) {}
    fn stop_is_send(handle: &StopHandle<AsyncClient<Endpoint>>) {
        is_send(handle.stop());
    }

    cloned::<AsyncClient>();
    cloned::<StopHandle<AsyncClient>>();
    shared::<Connection<<Endpoint as AsyncConnect>::Stream>>();
    shared::<Trace<<Endpoint as AsyncConnect>::Stream>>();
    let client = AsyncClient::new(Endpoint::process(1));
    is_send(client.process_info3());
    is_send(client.connect());
    is_send(client.trace(&crate::client::COLLECT));
    let _: fn(&StopHandle<AsyncClient<Endpoint>>) = stop_is_send;
}
