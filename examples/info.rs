//! What a process reports about itself.
//!
//! ```text
//! cargo run --features io-adapters --example info -- PID | PATH-OF-ITS-SOCKET
//! ```

use std::error::Error;
use std::process::ExitCode;

use dotnet_diagnostics_ipc::hresult::HResult;
use dotnet_diagnostics_ipc::io::{Answer, Client, Endpoint, Error as IoError};

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

    // The newest command that it knows has the most fields: 3 since .NET 8, 2 since .NET 6, 1 since
    // .NET 5.
    if let Some(answer) = if_known(client.process_info3())? {
        let Some(info) = answer.payload() else { return Ok(ExitCode::FAILURE) };
        row("process", &info.process_id);
        row("cookie", &info.runtime_cookie);
        row("command line", &info.command_line);
        row("os, architecture", &format_args!("{}, {}", info.os, info.arch));
        row("entry assembly", &info.managed_entrypoint_assembly_name);
        row("version", &info.clr_product_version);
        row("rid", &info.runtime_identifier);
    } else if let Some(answer) = if_known(client.process_info2())? {
        let Some(info) = answer.payload() else { return Ok(ExitCode::FAILURE) };
        row("process", &info.process_id);
        row("cookie", &info.runtime_cookie);
        row("command line", &info.command_line);
        row("os, architecture", &format_args!("{}, {}", info.os, info.arch));
        row("entry assembly", &info.managed_entrypoint_assembly_name);
        row("version", &info.clr_product_version);
    } else if let Some(answer) = if_known(client.process_info())? {
        let Some(info) = answer.payload() else { return Ok(ExitCode::FAILURE) };
        row("process", &info.process_id);
        row("cookie", &info.runtime_cookie);
        row("command line", &info.command_line);
        row("os, architecture", &format_args!("{}, {}", info.os, info.arch));
    } else {
        eprintln!("the runtime does not know ProcessInfo: .NET Core 3.1 or older");
        return Ok(ExitCode::FAILURE);
    }
    Ok(ExitCode::SUCCESS)
}

/// `None` if the runtime is older than the command.
fn if_known<R>(answer: Result<Answer<R>, IoError>) -> Result<Option<Answer<R>>, IoError> {
    match answer {
        Err(error) if error.hresult() == Some(HResult::UNKNOWN_COMMAND) => Ok(None),
        answer => answer.map(Some),
    }
}

fn row(name: &str, value: &dyn std::fmt::Display) {
    println!("{name:16}  {value}");
}
