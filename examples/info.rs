//! Prints what a process reports about itself.
//!
//! ```text
//! cargo run --features io-adapters --example info -- PID | PATH-OF-ITS-SOCKET
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
        eprintln!("usage: info PID | PATH-OF-ITS-SOCKET");
        return Ok(ExitCode::from(2));
    };
    let client = Client::new(match target.parse() {
        Ok(process_id) => Endpoint::process(process_id),
        Err(_) => Endpoint::socket(target),
    });

    // Asks with the newest command that the runtime has, which has the most fields: 3 since .NET 8,
    // 2 since .NET 6, 1 since .NET 5.
    let info = client.info()?;
    row("process", &info.process_id);
    row("cookie", &info.runtime_cookie);
    row("command line", &info.command_line);
    row("os, architecture", &format_args!("{}, {}", info.os, info.arch));
    let newer = [
        ("entry assembly", &info.managed_entrypoint_assembly_name),
        ("version", &info.clr_product_version),
        ("rid", &info.runtime_identifier),
    ];
    for (name, value) in newer {
        if let Some(value) = value {
            row(name, value);
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn row(name: &str, value: &dyn std::fmt::Display) {
    println!("{name:16}  {value}");
}
