//! A diagnostic port: waits for a runtime that starts suspended, sets a variable in it, and lets it run.
//!
//! ```text
//! cargo run --features io-adapters --example diagnostic_port -- PATH NAME=VALUE [-- COMMAND ...]
//! ```
//!
//! With a command it starts that, and ends with it; otherwise it says what to set for one that is started elsewhere.

#[cfg(unix)]
fn main() -> std::process::ExitCode {
    unix::run().unwrap_or_else(|error| {
        eprintln!("{error:#}");
        std::process::ExitCode::FAILURE
    })
}

#[cfg(not(unix))]
fn main() {
    eprintln!("needs Unix sockets");
}

#[cfg(unix)]
mod unix {
    use std::error::Error;
    use std::process::{Child, Command, ExitCode};
    use std::time::{Duration, Instant};

    use dotnet_diagnostics_ipc::io::port_listener::{PortListener, PortOptions, RuntimeFilter};
    use dotnet_diagnostics_ipc::io::{Client, Until};

    pub(super) fn run() -> Result<ExitCode, Box<dyn Error>> {
        let arguments: Vec<String> = std::env::args().skip(1).collect();
        let (own, command) = match arguments.iter().position(|argument| argument == "--") {
            Some(cut) => (&arguments[..cut], &arguments[cut + 1..]),
            None => (&arguments[..], &[][..]),
        };
        let [path, assignment] = own else { return Ok(usage()) };
        let Some((name, value)) = assignment.split_once('=') else { return Ok(usage()) };

        // The runtime is given the whole path: it resolves neither `~` nor a path from another directory (F-60).
        let path = std::path::absolute(path)?;
        let port = PortListener::bind(&path, PortOptions::DEFAULT)?;
        let setting = format!("{},suspend", path.display());
        let started = match command {
            [] => {
                println!("DOTNET_DiagnosticPorts='{setting}'");
                None
            }
            [program, arguments @ ..] => {
                Some(Ends(Command::new(program).args(arguments).env("DOTNET_DiagnosticPorts", &setting).spawn()?))
            }
        };

        let patience = Until { deadline: Instant::now().checked_add(Duration::from_secs(60)), ..Until::FOREVER };
        let runtime = port.wait_for(RuntimeFilter::Any, &patience)?;
        println!("process {} waits, with the cookie {}", runtime.process_id(), runtime.cookie());

        // Each call takes the next connection that the runtime makes.
        let client = Client::new(runtime.clone());
        let told = || -> Result<String, Box<dyn Error>> {
            let answer = client.process_info()?;
            Ok(answer.payload().map(|info| info.command_line.to_string()).unwrap_or_default())
        };
        println!("suspended: {}", told()?);
        client.set_environment_variable(name, Some(value))?;
        println!("resumed: {}", runtime.resume(&patience)?);

        // Until managed code runs, its command line is that of the executable alone (F-79).
        std::thread::sleep(Duration::from_secs(1));
        println!("runs: {}", told()?);
        let mut is_set = false;
        client.environment()?.for_each(|entry| is_set |= entry.text() == assignment.as_str())?;
        println!("{assignment} {} in its environment", if is_set { "is" } else { "is not" });
        drop(started);
        Ok(if is_set { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }

    fn usage() -> ExitCode {
        eprintln!("usage: diagnostic_port PATH NAME=VALUE [-- COMMAND ...]");
        ExitCode::from(2)
    }

    /// The process that was started for this is ended, however this ends.
    struct Ends(Child);

    impl Drop for Ends {
        fn drop(&mut self) {
            let _ = self.0.kill();
            let _ = self.0.wait();
        }
    }
}
