//! Client and server, each over its end of a pipe.

use std::io::Write as _;
use std::thread;

use dotnet_diagnostics_ipc::hresult::HResult;
use dotnet_diagnostics_ipc::io::server::{Entries, Handler, ServeOptions, StreamSession, serve};
use dotnet_diagnostics_ipc::io::trust::{Distrust, TrustPolicy};
use dotnet_diagnostics_ipc::io::windows::{PipeListener, PipeTransport};
use dotnet_diagnostics_ipc::io::{Canceller, Client, Connection, Endpoint, ErrorKind, Phase};
use dotnet_diagnostics_ipc::message::eventpipe::{
    CollectTracing2, EventLevel, Format, ProviderConfig,
};
use dotnet_diagnostics_ipc::message::process::{
    ProcessInfo, ResumeRuntime, SetEnvironmentVariable,
};
use dotnet_diagnostics_ipc::message::server::ResultReply;
use dotnet_diagnostics_ipc::wire::Array;

use super::{name, patience, receive_all};

/// A session of the providers of the runtime, or of nobody.
fn session<'a>(providers: &'a [ProviderConfig<'a>]) -> CollectTracing2<'a> {
    CollectTracing2 {
        circular_buffer_mb: 16,
        format: Format::NET_TRACE,
        request_rundown: true,
        providers: Array::new(providers),
    }
}

struct Runtime;

impl Handler for Runtime {
    fn resume_runtime(&self, _: ResumeRuntime) -> Result<ResultReply, HResult> {
        Ok(ResultReply { hresult: HResult::OK })
    }

    fn set_environment_variable(
        &self,
        request: SetEnvironmentVariable<'_>,
    ) -> Result<ResultReply, HResult> {
        assert_eq!(request.value.units().count(), 20_000);
        Ok(ResultReply { hresult: HResult::OK })
    }

    fn process_environment(&self) -> Result<Entries<'_>, HResult> {
        Ok(["A=1", "=C:=C:"].into_iter().collect())
    }

    fn collect_tracing2(&self, _: CollectTracing2<'_>) -> Result<StreamSession<'_>, HResult> {
        Ok(StreamSession::new(1, |stream| stream.write_all(&vec![7; 50_000])))
    }
}

#[test]
fn pipe_client_and_server_agree() {
    let name = name("server");
    let (mut listener, shutdown) = (PipeListener::bind(&name).unwrap(), Canceller::new().unwrap());
    let connect = || Connection::new(PipeTransport::connect(&name, &patience()).unwrap());
    thread::scope(|scope| {
        let server =
            scope.spawn(|| serve(&mut listener, &Runtime, &ServeOptions::DEFAULT, &shutdown));
        for _ in 0..100 {
            assert!(connect().call(&ResumeRuntime {}).unwrap().result().is_success());
        }
        // Larger than the buffers of the pipe.
        let value = "x".repeat(20_000);
        let request = SetEnvironmentVariable { name: "NAME".into(), value: value.as_str().into() };
        assert!(connect().call(&request).unwrap().result().is_success());
        let error = connect().call(&ProcessInfo {}).unwrap_err();
        assert_eq!(error.hresult(), Some(HResult::UNKNOWN_COMMAND));
        let mut entries = Vec::new();
        let block = connect().environment().unwrap();
        block.for_each(|entry| entries.push(entry.text().to_string())).unwrap();
        assert_eq!(entries, ["A=1", "=C:=C:"]);
        let mut pipe = PipeTransport::connect(&name, &patience()).unwrap();
        let providers = [ProviderConfig::new("P", 0, EventLevel::VERBOSE)];
        Connection::new(&mut pipe).call(&session(&providers)).unwrap();
        assert_eq!(receive_all(&mut pipe, 4096), vec![7; 50_000]);
        shutdown.cancel();
        server.join().unwrap().unwrap();
    });
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
