//! A server that listens at a pipe.

use std::io::Write as _;
use std::thread;

use dotnet_diagnostics_ipc::hresult::HResult;
use dotnet_diagnostics_ipc::io::server::{Entries, Handler, ServeOptions, StreamSession, serve};
use dotnet_diagnostics_ipc::io::windows::{PipeListener, PipeTransport};
use dotnet_diagnostics_ipc::io::{Canceller, Connection};
use dotnet_diagnostics_ipc::message::eventpipe::{
    CollectTracing, EventLevel, Format, ProviderConfig,
};
use dotnet_diagnostics_ipc::message::process::ProcessInfo;
use dotnet_diagnostics_ipc::wire::Array;

use super::{name, patience, receive_all};

struct Runtime;
impl Handler for Runtime {
    fn process_environment(&self) -> Result<Entries<'_>, HResult> {
        Ok(["A=1", "=C:=C:"].into_iter().collect())
    }

    fn collect_tracing(&self, _: CollectTracing<'_>) -> Result<StreamSession<'_>, HResult> {
        Ok(StreamSession::new(1, |stream| stream.write_all(&vec![7; 50_000])))
    }
}

#[test]
fn pipe_is_served() {
    let name = name("server");
    let (mut listener, shutdown) = (PipeListener::bind(&name).unwrap(), Canceller::new().unwrap());
    let connect = || PipeTransport::connect(&name, &patience()).unwrap();
    thread::scope(|scope| {
        let server =
            scope.spawn(|| serve(&mut listener, &Runtime, &ServeOptions::DEFAULT, &shutdown));
        let error = Connection::new(connect()).call(&ProcessInfo {}).unwrap_err();
        assert_eq!(error.hresult(), Some(HResult::UNKNOWN_COMMAND));
        let mut entries = Vec::new();
        let block = Connection::new(connect()).environment().unwrap();
        block.for_each(|entry| entries.push(entry.text().to_string())).unwrap();
        assert_eq!(entries, ["A=1", "=C:=C:"]);
        let providers = [ProviderConfig::new("P", 0, EventLevel::VERBOSE)];
        let request = CollectTracing {
            circular_buffer_mb: 1,
            format: Format::NET_TRACE,
            providers: Array::new(&providers),
        };
        let mut pipe = connect();
        Connection::new(&mut pipe).call(&request).unwrap();
        assert_eq!(receive_all(&mut pipe, 4096), vec![7; 50_000]);
        shutdown.cancel();
        server.join().unwrap().unwrap();
    });
}
