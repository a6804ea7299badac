//! A small server without a runtime. It answers `ProcessInfo` 1 to 3 and `ProcessEnvironment`, and
//! streams a few bytes for `CollectTracing`.
//!
//! ```text
//! cargo run --features io-adapters --example tiny_server [SOCKET]
//! ```
//!
//! The first line of output is the path of the socket. The server ends when its input ends (Ctrl-D)
//! or when it is killed.

#[cfg(unix)]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    unix::main()
}

#[cfg(not(unix))]
fn main() {
    eprintln!("this example listens on a Unix socket, which this system does not have");
    std::process::exit(77);
}

#[cfg(unix)]
mod unix {
    use std::error::Error;
    use std::io::Write as _;
    use std::os::unix::fs::PermissionsExt as _;
    use std::os::unix::net::UnixListener;
    use std::path::PathBuf;
    use std::sync::Mutex;
    use std::time::Duration;

    use dotnet_diagnostics_ipc::command::Command;
    use dotnet_diagnostics_ipc::exchange::KnownCommands;
    use dotnet_diagnostics_ipc::hresult::HResult;
    use dotnet_diagnostics_ipc::io::Canceller;
    use dotnet_diagnostics_ipc::io::server::{
        Entries, Handler, ServeOptions, Served, StreamSession, serve,
    };
    use dotnet_diagnostics_ipc::message::eventpipe::{
        CollectTracing, CollectTracing2, Format, SessionReply, StopTracing,
    };
    use dotnet_diagnostics_ipc::message::process::{
        ProcessInfo2Reply, ProcessInfo3Reply, ProcessInfoReply, Tail,
    };
    use dotnet_diagnostics_ipc::wire::Guid;

    /// The start of a nettrace stream.
    const START: &[u8] = b"Nettrace\x14\0\0\0!FastSerialization.1";

    /// The commands of this server, which answers any other with `UNKNOWN_COMMAND`.
    const COMMANDS: [Command; 7] = [
        Command::PROCESS_INFO,
        Command::PROCESS_INFO2,
        Command::PROCESS_INFO3,
        Command::PROCESS_ENVIRONMENT,
        Command::COLLECT_TRACING,
        Command::COLLECT_TRACING2,
        Command::STOP_TRACING,
    ];

    struct TinyServer {
        command_line: String,
        environment: Vec<String>,
        /// The sessions that stream.
        sessions: Mutex<Sessions>,
    }

    #[derive(Default)]
    struct Sessions {
        last: u64,
        running: Vec<u64>,
    }

    /// A session until its end, even if its reply did not reach the client.
    struct Running<'s>(&'s TinyServer, u64);

    impl Running<'_> {
        fn is_running(&self) -> bool {
            self.0.sessions().running.contains(&self.1)
        }
    }

    impl Drop for Running<'_> {
        fn drop(&mut self) {
            self.0.sessions().running.retain(|running| *running != self.1);
        }
    }

    impl TinyServer {
        fn new() -> Self {
            Self {
                command_line: std::env::args().collect::<Vec<_>>().join(" "),
                environment: std::env::vars_os()
                    .map(|(name, value)| {
                        format!("{}={}", name.to_string_lossy(), value.to_string_lossy())
                    })
                    .collect(),
                sessions: Mutex::default(),
            }
        }

        fn sessions(&self) -> std::sync::MutexGuard<'_, Sessions> {
            self.sessions.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
        }

        /// Streams a few bytes of nettrace, then nothing until the session is stopped.
        fn stream(&self, format: Format) -> Result<StreamSession<'_>, HResult> {
            if format != Format::NET_TRACE {
                return Err(HResult::NOT_SUPPORTED);
            }
            let mut sessions = self.sessions();
            sessions.last += 1;
            let id = sessions.last;
            sessions.running.push(id);
            let running = Running(self, id);
            Ok(StreamSession::new(id, move |stream| {
                stream.write_all(START)?;
                while running.is_running() && !stream.pause(Duration::from_millis(20))? {}
                stream.write_all(b"\x01") // the tag that ends it
            }))
        }
    }

    impl Handler for TinyServer {
        fn process_info(&self) -> Result<ProcessInfoReply<'_>, HResult> {
            let ProcessInfo3Reply { process_id, runtime_cookie, command_line, os, arch, .. } =
                self.process_info3()?;
            Ok(ProcessInfoReply { process_id, runtime_cookie, command_line, os, arch })
        }

        fn process_info2(&self) -> Result<ProcessInfo2Reply<'_>, HResult> {
            let info = self.process_info3()?;
            Ok(ProcessInfo2Reply {
                process_id: info.process_id,
                runtime_cookie: info.runtime_cookie,
                command_line: info.command_line,
                os: info.os,
                arch: info.arch,
                managed_entrypoint_assembly_name: info.managed_entrypoint_assembly_name,
                clr_product_version: info.clr_product_version,
            })
        }

        fn process_info3(&self) -> Result<ProcessInfo3Reply<'_>, HResult> {
            Ok(ProcessInfo3Reply {
                version: 1,
                process_id: std::process::id().into(),
                runtime_cookie: Guid::from_bytes(*b"tiny server here"),
                command_line: self.command_line.as_str().into(),
                os: "Linux".into(),
                arch: "x64".into(),
                managed_entrypoint_assembly_name: "tiny_server".into(),
                clr_product_version: env!("CARGO_PKG_VERSION").into(),
                runtime_identifier: "linux-x64".into(),
                tail: Tail(&[]),
            })
        }

        fn process_environment(&self) -> Result<Entries<'_>, HResult> {
            Ok(self.environment.iter().map(String::as_str).collect())
        }

        fn collect_tracing(
            &self,
            request: CollectTracing<'_>,
        ) -> Result<StreamSession<'_>, HResult> {
            self.stream(request.format)
        }

        fn collect_tracing2(
            &self,
            request: CollectTracing2<'_>,
        ) -> Result<StreamSession<'_>, HResult> {
            self.stream(request.format)
        }

        /// Answers a stop of any id, as runtimes do (F-31).
        fn stop_tracing(&self, request: StopTracing) -> Result<SessionReply, HResult> {
            self.sessions().running.retain(|running| *running != request.session_id);
            Ok(SessionReply { session_id: request.session_id })
        }

        fn served(&self, served: &Served) {
            let command =
                served.command.map_or(String::from("no request"), |command| command.to_string());
            eprintln!("{command}: {:?}, {} bytes streamed", served.outcome, served.streamed);
        }
    }

    pub(super) fn main() -> Result<(), Box<dyn Error>> {
        let pid = std::process::id();
        let default = || std::env::temp_dir().join(format!("dotnet-diagnostic-{pid}-0-socket"));
        let path = std::env::args_os().nth(1).map_or_else(default, PathBuf::from);
        let (listener, shutdown) = (UnixListener::bind(&path)?, Canceller::new()?);
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600))?;
        println!("{}", path.display());

        let ends = shutdown.clone();
        std::thread::spawn(move || {
            let _ = std::io::copy(&mut std::io::stdin().lock(), &mut std::io::sink());
            ends.cancel();
        });
        let commands = KnownCommands::These(&COMMANDS);
        let options = ServeOptions { commands, ..ServeOptions::DEFAULT };
        let served = serve(&listener, &TinyServer::new(), &options, &shutdown);
        std::fs::remove_file(&path)?;
        Ok(served?)
    }
}
