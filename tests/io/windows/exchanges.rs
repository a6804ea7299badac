//! Client and server, each over its end of a pipe.

use std::io::Read as _;
use std::thread;
use std::time::{Duration, Instant};

use dotnet_diagnostics_ipc::exchange::{End, Server, ServerAction, ServerOutcome};
use dotnet_diagnostics_ipc::hresult::HResult;
use dotnet_diagnostics_ipc::io::trust::{Distrust, TrustPolicy};
use dotnet_diagnostics_ipc::io::windows::{PipeListener, PipeTransport};
use dotnet_diagnostics_ipc::io::{
    Client, Connection, Deadlines, Endpoint, ErrorKind, Phase, ReplyWithin, Transport as _,
};
use dotnet_diagnostics_ipc::message::AnyRequest;
use dotnet_diagnostics_ipc::message::eventpipe::{
    CollectTracing2, EventLevel, Format, ProviderConfig,
};
use dotnet_diagnostics_ipc::message::process::{ResumeRuntime, SetEnvironmentVariable};
use dotnet_diagnostics_ipc::message::server::ResultReply;
use dotnet_diagnostics_ipc::wire::Array;

use super::{SHORT, name, pair, patience};

/// The runtime's side of a connection, for two commands. A request over 4 KiB is refused if the
/// buffer may not grow.
fn serve(pipe: &mut PipeTransport, grows: bool) -> ServerOutcome {
    let mut buffer = vec![0; 4096];
    let mut server = Server::new();
    loop {
        match server.action() {
            ServerAction::Receive(range) => {
                match pipe.receive(&mut buffer[range], &patience()).unwrap() {
                    0 => server.ended(End::Closed).unwrap(),
                    count => server.received(&buffer, count).unwrap(),
                }
            }
            ServerAction::Decode(_) => match server.request(&buffer).unwrap() {
                Some(AnyRequest::ResumeRuntime(_) | AnyRequest::SetEnvironmentVariable(_)) => {}
                other => panic!("{other:?}"),
            },
            ServerAction::Respond => {
                server.respond(&ResultReply { hresult: HResult::OK }, &mut buffer).unwrap();
            }
            // In pieces, so that the client has to put them together.
            ServerAction::Send(range) => {
                let most = range.len().min(7);
                let count = pipe.send(&buffer[range][..most], &patience()).unwrap();
                server.sent(count).unwrap();
            }
            ServerAction::Close => server.closed().unwrap(),
            ServerAction::Finished(ServerOutcome::BufferTooSmall { size }) if grows => {
                buffer.resize(size.into(), 0);
                server.enlarged(&buffer).unwrap();
            }
            ServerAction::Finished(ServerOutcome::BufferTooSmall { .. }) => {
                server.refuse(HResult::INVALID_ARG, &mut buffer).unwrap();
            }
            ServerAction::Finished(outcome) => return outcome,
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn pipe_client_and_server_agree() {
    let mut listener = PipeListener::bind(&name("exchange")).unwrap();
    let path = listener.path().to_owned();
    let connect = || PipeTransport::connect(&path, &patience()).unwrap();
    let serves = thread::spawn(move || {
        (0..102)
            .map(|i| serve(&mut listener.accept(&patience()).unwrap(), i != 101))
            .collect::<Vec<_>>()
    });
    for _ in 0..100 {
        assert!(Connection::new(connect()).call(&ResumeRuntime {}).unwrap().result().is_success());
    }
    // Larger than the buffers of the pipe.
    let value = "x".repeat(20_000);
    let request = SetEnvironmentVariable { name: "NAME".into(), value: value.as_str().into() };
    assert!(Connection::new(connect()).call(&request).unwrap().result().is_success());
    // The server refuses it and closes after 20 bytes of it.
    let error = Connection::new(connect()).call(&request).unwrap_err();
    assert_eq!(
        (error.phase(), error.hresult()),
        (Phase::Reply, Some(HResult::INVALID_ARG)),
        "{error}"
    );

    let outcomes = serves.join().unwrap();
    assert_eq!(outcomes[..101], [ServerOutcome::Answered; 101]);
    assert_eq!(outcomes[101], ServerOutcome::Refused(HResult::INVALID_ARG));
}

/// A stopped runtime: connected, and silent.
#[test]
fn pipe_silent_server_times_out() {
    let (_server, client) = pair("silent");
    let deadlines = Deadlines { reply: ReplyWithin::Fixed(Some(SHORT)), ..Deadlines::DEFAULT };
    let before = Instant::now();
    let error =
        Connection::new(client).with_deadlines(deadlines).call(&ResumeRuntime {}).unwrap_err();
    assert!(
        matches!((error.phase(), error.kind()), (Phase::Reply, ErrorKind::TimedOut)),
        "{error}"
    );
    assert!(before.elapsed() >= SHORT);
}

/// The first process to ask can create a pipe of any name. Under wine all processes belong to one
/// user, so another user's was not tested.
#[test]
fn pipe_of_other_process_is_not_trusted() {
    // No process has this id: those of Windows are multiples of four.
    const NO_PROCESS: u32 = 4_000_000_101;
    let mut listener = PipeListener::bind(&format!("dotnet-diagnostic-{NO_PROCESS}")).unwrap();
    let error = Client::new(Endpoint::process(NO_PROCESS)).connect().unwrap_err();
    let ErrorKind::Untrusted(Distrust::PeerProcess { process_id, expected }) = error.kind() else {
        panic!("{error:?}")
    };
    assert_eq!(
        (error.phase(), *process_id, *expected),
        (Phase::Trust, std::process::id(), NO_PROCESS)
    );
    // It is ours, which is enough if no process was asked for; or the policy checks nothing.
    drop(listener.accept(&patience()));
    let pipe = Endpoint::pipe(format!("dotnet-diagnostic-{NO_PROCESS}"));
    let _connection = Client::new(pipe).connect().unwrap();
    drop(listener.accept(&patience()));
    let unchecked = Endpoint::process(NO_PROCESS).trusting(TrustPolicy::UNCHECKED);
    let _connection = Client::new(unchecked).connect().unwrap();
}

/// A runtime of .NET 10 whose pipe `DIAG_PIPE` names: many connections, one after another, and a
/// session that is read to its end.
#[test]
#[ignore = "needs a runtime: its pipe in DIAG_PIPE"]
fn pipe_runtime_answers() {
    let pipe = std::env::var("DIAG_PIPE").expect("DIAG_PIPE is the name of the pipe of a runtime");
    let client = Client::new(Endpoint::pipe(pipe.as_str()));
    let first = client.process_info3().unwrap().payload().unwrap().process_id;
    for _ in 0..500 {
        assert_eq!(client.process_info3().unwrap().payload().unwrap().process_id, first);
    }
    let maker = PipeTransport::connect(&pipe, &patience()).unwrap().server_process_id().unwrap();
    assert_eq!(u64::from(maker), first);

    let mut entries = 0;
    client.environment().unwrap().for_each(|_| entries += 1).unwrap();
    assert!(entries > 0);

    let providers =
        [ProviderConfig::new("Microsoft-Windows-DotNETRuntime", u64::MAX, EventLevel::VERBOSE)];
    let request = CollectTracing2 {
        circular_buffer_mb: 16,
        format: Format::NET_TRACE,
        request_rundown: true,
        providers: Array::new(&providers),
    };
    let mut trace = client.trace(&request).unwrap();
    let stop_handle = trace.stop_handle(&client);
    let stops = thread::spawn(move || {
        thread::sleep(Duration::from_secs(1));
        stop_handle.stop()
    });
    let mut stream = Vec::new();
    trace.read_to_end(&mut stream).unwrap();
    stops.join().unwrap().unwrap();
    assert_eq!(stream[..8], *b"Nettrace");
    assert!(trace.outcome().unwrap().is_complete());
    println!(
        "process {first}, 501 replies, {entries} variables, {} bytes of a stream",
        stream.len()
    );
}
