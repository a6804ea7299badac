//! Makes a process write its garbage collections as Linux `user_events` while this program runs.
//!
//! ```text
//! cargo run --features io-adapters --example user_events -- PID | PATH-OF-ITS-SOCKET SECONDS [PATH-OF-user_events_data]
//! ```
//!
//! The runtime writes to the descriptor that it receives. If the file is not `user_events_data`,
//! the runtime answers `E_FAIL`.

#[cfg(unix)]
fn main() -> std::process::ExitCode {
    unix::run().unwrap_or_else(|error| {
        eprintln!("{error:#}");
        std::process::ExitCode::FAILURE
    })
}

#[cfg(not(unix))]
fn main() {
    eprintln!("needs a Linux kernel with user_events");
}

#[cfg(unix)]
mod unix {
    use std::error::Error;
    use std::fs::File;
    use std::process::ExitCode;
    use std::time::{Duration, Instant};

    use dotnet_diagnostics_ipc::hresult::HResult;
    use dotnet_diagnostics_ipc::io::{Client, Endpoint, ErrorKind, WaitLimit};
    use dotnet_diagnostics_ipc::message::eventpipe::{
        CollectTracing5, EventFilter, EventLevel, TracepointConfig, TracepointSet,
        UserEventsProviderConfig, UserEventsSession,
    };
    use dotnet_diagnostics_ipc::wire::{Array, IpcString};

    const DATA: &str = "/sys/kernel/tracing/user_events_data";

    pub(super) fn run() -> Result<ExitCode, Box<dyn Error>> {
        let arguments: Vec<String> = std::env::args().skip(1).collect();
        let (Some(target), Some(seconds), 2..=3) = (
            arguments.first(),
            arguments.get(1).and_then(|text| text.parse().ok()),
            arguments.len(),
        ) else {
            eprintln!(
                "usage: user_events PID | PATH-OF-ITS-SOCKET SECONDS [PATH-OF-user_events_data]"
            );
            return Ok(ExitCode::from(2));
        };
        let path = arguments.get(2).map_or(DATA, String::as_str);
        let data = File::options()
            .read(true)
            .write(true)
            .open(path)
            .map_err(|error| format!("{path}: {error}"))?;
        let client = Client::new(match target.parse() {
            Ok(process_id) => Endpoint::process(process_id),
            Err(_) => Endpoint::socket(target),
        });

        // GCStart and GCEnd go to one tracepoint, all other events of the keyword GC to another.
        let sets =
            [TracepointSet { tracepoint_name: "dotnet_gc".into(), event_ids: Array::new(&[1, 2]) }];
        let providers = [UserEventsProviderConfig {
            keywords: 1,
            log_level: EventLevel::INFORMATIONAL,
            provider_name: "Microsoft-Windows-DotNETRuntime".into(),
            arguments: IpcString::ABSENT,
            filter: EventFilter::ALL,
            config: TracepointConfig {
                default_tracepoint_name: "dotnet_rest".into(),
                tracepoints: Array::new(&sets),
            },
        }];
        let request = CollectTracing5::UserEvents(UserEventsSession {
            rundown_keyword: 0,
            providers: Array::new(&providers),
        });
        let session = match client.user_events(&request, &data) {
            Ok(session) => session,
            Err(error) if error.hresult() == Some(HResult::FAIL) => {
                eprintln!(
                    "{error}: {path} is not user_events_data, or the kernel refused the registration"
                );
                return Ok(ExitCode::FAILURE);
            }
            Err(error) if error.hresult() == Some(HResult::UNKNOWN_COMMAND) => {
                return Err(format!("{error}: the runtime is older than .NET 10").into());
            }
            Err(error) => return Err(error.into()),
        };
        println!(
            "session {:#x} writes dotnet_gc and dotnet_rest for {seconds} s",
            session.session_id().unwrap_or_default()
        );

        // The session lasts as long as its connection (F-23).
        let until = WaitLimit {
            deadline: Instant::now().checked_add(Duration::from_secs(seconds)),
            ..WaitLimit::FOREVER
        };
        match session.wait(&until) {
            Ok(()) => println!("the process has ended"),
            Err(error) if matches!(error.kind(), ErrorKind::TimedOut) => println!("done"),
            Err(error) => return Err(error.into()),
        }
        Ok(ExitCode::SUCCESS)
    }
}
