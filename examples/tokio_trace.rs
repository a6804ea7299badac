//! Traces a process for some seconds to a .nettrace file, like `trace` but on one thread.
//!
//! ```text
//! cargo run --features tokio --example tokio_trace -- PID | PATH-OF-ITS-SOCKET SECONDS FILE
//! ```

use std::error::Error;
use std::fs::File;
use std::io::Write as _;
use std::process::ExitCode;
use std::time::Duration;

use dotnet_diagnostics_ipc::exchange::fallback::Fallback;
use dotnet_diagnostics_ipc::io::{AsyncClient, Endpoint};
use dotnet_diagnostics_ipc::message::AnyRequest;
use dotnet_diagnostics_ipc::message::eventpipe::{
    CollectTracing5, DEFAULT_RUNDOWN_KEYWORD, EventFilter, EventLevel, Format,
    StreamingProviderConfig, StreamingSession,
};
use dotnet_diagnostics_ipc::wire::{Array, IpcString};
use tokio::io::AsyncReadExt as _;

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    run().await.unwrap_or_else(|error| {
        eprintln!("{error:#}");
        ExitCode::FAILURE
    })
}

async fn run() -> Result<ExitCode, Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [target, seconds, path] = &arguments[..] else {
        eprintln!("usage: tokio_trace PID | PATH-OF-ITS-SOCKET SECONDS FILE");
        return Ok(ExitCode::from(2));
    };
    let seconds = Duration::from_secs(seconds.parse()?);
    let client = AsyncClient::new(match target.parse() {
        Ok(process_id) => Endpoint::process(process_id),
        Err(_) => Endpoint::socket(target),
    });
    let providers = [StreamingProviderConfig {
        // GC, loader, JIT, contention, exceptions, threading.
        keywords: 0x1_c019,
        log_level: EventLevel::INFORMATIONAL,
        provider_name: "Microsoft-Windows-DotNETRuntime".into(),
        arguments: IpcString::ABSENT,
        filter: EventFilter::ALL,
    }];
    let request = AnyRequest::CollectTracing5(CollectTracing5::Streaming(StreamingSession {
        circular_buffer_mb: 256,
        format: Format::NET_TRACE,
        rundown_keyword: DEFAULT_RUNDOWN_KEYWORD,
        request_stackwalk: true,
        providers: Array::new(&providers),
    }));
    let mut file = File::create(path)?;
    let (mut trace, _) = client.trace_by(Fallback::new(request)).await?;

    // The runtime answers the stop once the stream has been read to its end, so do both at once.
    let stop_handle = trace.stop_handle(&client);
    let stop = async {
        tokio::time::sleep(seconds).await;
        stop_handle.stop().await
    };
    let read = async {
        let (mut bytes, mut piece) = (0, vec![0; 64 * 1024]);
        loop {
            let n = trace.read(&mut piece).await?;
            if n == 0 {
                return Ok::<usize, std::io::Error>(bytes);
            }
            file.write_all(&piece[..n])?;
            bytes += n;
        }
    };
    let (answered, bytes) = tokio::join!(stop, read);
    let (_, bytes) = (answered?, bytes?);
    trace.check_complete()?;
    println!("{path}: {bytes} bytes, complete");
    Ok(ExitCode::SUCCESS)
}
