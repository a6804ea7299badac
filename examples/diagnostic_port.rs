//! Waits at a port for a runtime that starts suspended, sets a variable in it, and resumes it.
//!
//! ```text
//! cargo run --features io-adapters --example diagnostic_port -- PORT NAME=VALUE [-- COMMAND ...]
//! ```
//!
//! `PORT` is the path of a socket, or on Windows the name of a pipe. If there is a command, the
//! example starts it and ends it when it is done. Otherwise it prints the variable to set for a
//! process that you start yourself.

use std::error::Error;
use std::process::{Child, Command, ExitCode};
use std::time::{Duration, Instant};

use dotnet_diagnostics_ipc::io::port_listener::{PortEvent, PortListener, PortOptions};
use dotnet_diagnostics_ipc::io::{Client, WaitLimit};

fn main() -> ExitCode {
    run().unwrap_or_else(|error| {
        eprintln!("{error:#}");
        ExitCode::FAILURE
    })
}

fn run() -> Result<ExitCode, Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (own, command) = match arguments.iter().position(|argument| argument == "--") {
        Some(cut) => (&arguments[..cut], &arguments[cut + 1..]),
        None => (&arguments[..], &[][..]),
    };
    let [path, assignment] = own else { return Ok(usage()) };
    let Some((name, value)) = assignment.split_once('=') else { return Ok(usage()) };

    let address = address(path)?;
    let port = PortListener::bind(&address, PortOptions::DEFAULT)?;
    let setting = format!("{address},suspend");
    let started = match command {
        [] => {
            println!("DOTNET_DiagnosticPorts='{setting}'");
            None
        }
        [program, arguments @ ..] => Some(Ends(
            Command::new(program)
                .args(arguments)
                .env("DOTNET_DiagnosticPorts", &setting)
                .spawn()?,
        )),
    };

    let patience = WaitLimit {
        deadline: Instant::now().checked_add(Duration::from_secs(60)),
        ..WaitLimit::FOREVER
    };
    let PortEvent::New(runtime) = port.next_event(&patience)? else {
        unreachable!("the first event is that of a new runtime")
    };
    println!("process {} is waiting, cookie {}", runtime.process_id(), runtime.cookie());

    // Each call uses the next connection that the runtime makes.
    let client = Client::new(runtime.clone());
    println!("suspended: {}", client.info()?.command_line);
    client.set_environment_variable(name, Some(value))?;
    println!("resumed: {}", runtime.resume(&patience)?);

    // Until managed code runs, the command line is only the path of the executable (F-79).
    std::thread::sleep(Duration::from_secs(1));
    println!("runs: {}", client.info()?.command_line);
    let mut is_set = false;
    client.environment()?.for_each(|entry| is_set |= entry.text() == assignment.as_str())?;
    println!("{assignment} {} in its environment", if is_set { "is" } else { "is not" });
    drop(started);
    Ok(if is_set { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Returns the address for the runtime. For a socket it is the absolute path, because the runtime
/// expands no `~` and may run in another directory (F-60). For a pipe it is only the name, because
/// the runtime prepends `\\.\pipe\` (F-124).
fn address(port: &str) -> std::io::Result<String> {
    if cfg!(windows) {
        return Ok(port.trim_start_matches(r"\\.\pipe\").to_owned());
    }
    Ok(std::path::absolute(port)?.display().to_string())
}

fn usage() -> ExitCode {
    eprintln!("usage: diagnostic_port PORT NAME=VALUE [-- COMMAND ...]");
    ExitCode::from(2)
}

/// Ends the started process on drop.
struct Ends(Child);

impl Drop for Ends {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
