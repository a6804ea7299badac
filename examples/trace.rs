//! Traces a process for some seconds to a .nettrace file.
//!
//! ```text
//! cargo run --features io-adapters --example trace -- PID | PATH-OF-ITS-SOCKET SECONDS FILE
//! ```

use std::error::Error;
use std::fs::File;
use std::io::{Read as _, Write as _};
use std::process::ExitCode;
use std::thread;
use std::time::{Duration, Instant};

use dotnet_diagnostics_ipc::exchange::fallback::Fallback;
use dotnet_diagnostics_ipc::io::{Client, Endpoint};
use dotnet_diagnostics_ipc::message::AnyRequest;
use dotnet_diagnostics_ipc::message::eventpipe::{
    CollectTracing6, DEFAULT_RUNDOWN_KEYWORD, EventFilter, EventLevel, Format,
    StreamingProviderConfig, StreamingSession,
};
use dotnet_diagnostics_ipc::wire::{Array, IpcString};

fn main() -> ExitCode {
    run().unwrap_or_else(|error| {
        eprintln!("{error:#}");
        ExitCode::FAILURE
    })
}

fn run() -> Result<ExitCode, Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (Some(target), Some(seconds), Some(path), 3) = (
        arguments.first(),
        arguments.get(1).and_then(|text| text.parse().ok()),
        arguments.get(2),
        arguments.len(),
    ) else {
        eprintln!("usage: trace PID | PATH-OF-ITS-SOCKET SECONDS FILE");
        return Ok(ExitCode::from(2));
    };
    let client = Client::new(match target.parse() {
        Ok(process_id) => Endpoint::process(process_id),
        Err(_) => Endpoint::socket(target),
    });

    let provider = |provider_name: &'static str, keywords, log_level| StreamingProviderConfig {
        keywords,
        log_level,
        provider_name: provider_name.into(),
        arguments: IpcString::ABSENT,
        filter: EventFilter::ALL,
    };
    let providers = [
        // GC, loader, JIT, contention, exceptions, threading.
        provider("Microsoft-Windows-DotNETRuntime", 0x1_c019, EventLevel::INFORMATIONAL),
        provider("Microsoft-DotNETCore-SampleProfiler", 0, EventLevel::INFORMATIONAL),
    ];
    // Begins with the newest command. The fallback steps down to an older one if the runtime lacks
    // it, and if the older one means the same.
    let session = StreamingSession {
        circular_buffer_mb: 256,
        format: Format::NET_TRACE,
        rundown_keyword: DEFAULT_RUNDOWN_KEYWORD,
        request_stackwalk: true,
        providers: Array::new(&providers),
    };
    let request = AnyRequest::CollectTracing6(CollectTracing6::Streaming(session.into()));
    let mut file = File::create(path)?;
    let (mut trace, _) = client.trace_by(Fallback::new(request))?;
    eprintln!("session {:#x}", trace.session_id().unwrap_or_default());

    // The runtime answers the stop once the stream has been read to its end, so another thread
    // sends the stop while this one reads.
    let stop_handle = trace.stop_handle(&client);
    let stopping = thread::spawn(move || {
        thread::sleep(Duration::from_secs(seconds));
        stop_handle.stop()
    });
    let (began, mut shown, mut bytes, mut piece) =
        (Instant::now(), Instant::now(), 0u64, vec![0; 64 * 1024]);
    loop {
        let n = trace.read(&mut piece)?;
        file.write_all(&piece[..n])?;
        bytes += n as u64;
        if n == 0 || shown.elapsed() >= Duration::from_millis(200) {
            shown = Instant::now();
            let ms = began.elapsed().as_millis().max(1);
            eprint!(
                "\r{bytes} bytes, {}.{} s, {} KiB/s ",
                ms / 1000,
                ms / 100 % 10,
                u128::from(bytes) * 1000 / 1024 / ms
            );
        }
        if n == 0 {
            break;
        }
    }
    eprintln!();
    stopping.join().map_err(|_| "the thread that stops the session died")??;
    trace.check_complete()?;
    println!("{path}: {bytes} bytes, complete");
    Ok(ExitCode::SUCCESS)
}
