//! Traces the first seconds of each process that connects to a port, each to its own file. Run
//! `cargo run --features tokio --example agent_tokio -- PORT DIRECTORY SECONDS`, and elsewhere
//! `DOTNET_DiagnosticPorts=PORT dotnet app.dll`, which waits until it is traced.

fn main() {
    #[cfg(unix)]
    unix::main().unwrap_or_else(|error| panic!("{error}"));
}

#[cfg(unix)]
mod unix {
    use std::{error::Error, path::Path, path::PathBuf, time::Duration};

    use dotnet_diagnostics_ipc::io::AsyncClient;
    use dotnet_diagnostics_ipc::io::port_listener::{
        PortEvent, PortListener, PortOptions, PortRuntime,
    };
    use dotnet_diagnostics_ipc::message::eventpipe::{
        CollectTracing2, EventLevel, Format, ProviderConfig,
    };
    use dotnet_diagnostics_ipc::wire::Array;

    #[tokio::main(flavor = "current_thread")]
    pub(super) async fn main() -> Result<(), Box<dyn Error>> {
        let arguments: Vec<String> = std::env::args().skip(1).collect();
        let [port, directory, seconds] = &arguments[..] else {
            return Err("usage: agent_tokio PORT DIRECTORY SECONDS".into());
        };
        let port = PortListener::bind(port, PortOptions::DEFAULT)?;
        let directory = PathBuf::from(directory);
        let limit = Duration::from_secs(seconds.parse()?);
        loop {
            match port.next_event_async().await? {
                PortEvent::New(runtime) => {
                    let directory = directory.clone();
                    tokio::spawn(async move {
                        let cookie = runtime.cookie();
                        match record(runtime, &directory, limit).await {
                            Ok(bytes) => println!("{cookie}: complete, {bytes} bytes"),
                            Err(error) => eprintln!("{cookie}: {error:#}"),
                        }
                    });
                }
                PortEvent::Again(_) => {} // The runtime connects again after each command.
                PortEvent::Gone(runtime) => println!("{}: gone", runtime.cookie()),
            }
        }
    }

    async fn record(
        runtime: PortRuntime,
        to: &Path,
        limit: Duration,
    ) -> Result<u64, Box<dyn Error>> {
        // GC, loader, JIT, contention, exceptions, threading.
        let (keywords, level) = (0x1_c019, EventLevel::INFORMATIONAL);
        let providers = [ProviderConfig::new("Microsoft-Windows-DotNETRuntime", keywords, level)];
        // Every runtime since .NET Core 3.1 has this command.
        let request = CollectTracing2 {
            circular_buffer_mb: 64,
            format: Format::NET_TRACE,
            request_rundown: true,
            providers: Array::new(&providers),
        };
        // In a container the process id is usually 1, so only the cookie identifies the runtime.
        let path = to.join(format!("{}-{}.nettrace", runtime.process_id(), runtime.cookie()));
        let mut file = tokio::fs::File::create_new(path).await?;
        let client = AsyncClient::new(runtime);
        let mut trace = client.trace(&request).await?;
        client.resume().await?;
        let stop_handle = trace.stop_handle(&client);
        let (bytes, answer) = tokio::join!(tokio::io::copy(&mut trace, &mut file), async {
            tokio::time::sleep(limit).await;
            stop_handle.stop().await
        });
        answer?;
        trace.check_complete()?;
        Ok(bytes?)
    }
}
