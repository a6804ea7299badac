//! Prints the environment of a process as its runtime reports it.
//!
//! ```text
//! cargo run --features io-adapters --example environment -- PID | PATH-OF-ITS-SOCKET
//! ```

use std::error::Error;
use std::process::ExitCode;

use dotnet_diagnostics_ipc::io::{Client, Endpoint};

fn main() -> ExitCode {
    run().unwrap_or_else(|error| {
        eprintln!("{error:#}");
        ExitCode::FAILURE
    })
}

fn run() -> Result<ExitCode, Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [target] = &arguments[..] else {
        eprintln!("usage: environment PID | PATH-OF-ITS-SOCKET");
        return Ok(ExitCode::from(2));
    };
    let client = Client::new(match target.parse() {
        Ok(process_id) => Endpoint::process(process_id),
        Err(_) => Endpoint::socket(target),
    });

    let block = client.environment()?;
    let bytes = block.n_incoming_bytes();
    let mut entries = 0;
    // Entries are passed on one at a time as they arrive, and none is kept.
    block.for_each(|entry| {
        println!("{}", entry.text());
        entries += 1;
    })?;
    eprintln!("{entries} entries, {bytes} bytes");
    Ok(ExitCode::SUCCESS)
}
