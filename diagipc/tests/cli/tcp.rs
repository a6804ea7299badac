//! TCP: a runtime that is reached through a router, as those of devices are.
#![cfg(unix)]

use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::process::{Command, Stdio};
use std::thread;

use dotnet_diagnostics_ipc::advertise::{ADVERTISE_LEN, Advertise};
use dotnet_diagnostics_ipc::wire::Guid;

use crate::cli::{diagipc, errors, run, text};
use crate::tool::{DIAGIPC, Runtime};

const LOOPBACK: &str = "127.0.0.1:0";

/// More than a trace takes.
const MOST_PAIRS: usize = 32;

/// How the router meets a runtime, or a tool.
enum Side {
    Listens(SocketAddr),
    Connects(TcpListener),
}

impl Side {
    /// Returns a side that connects, and where.
    fn connects() -> (Self, String) {
        let listener = TcpListener::bind(LOOPBACK).unwrap();
        let address = listener.local_addr().unwrap().to_string();
        (Self::Connects(listener), address)
    }

    fn meet(&self) -> io::Result<TcpStream> {
        match self {
            Self::Listens(address) => TcpStream::connect(address),
            Self::Connects(listener) => Ok(listener.accept()?.0),
        }
    }
}

/// Pairs connections as dotnet-dsrouter does, until one side is gone. A runtime that connects says
/// who it is; for one that listens the router does.
fn route(runtime: &Side, tool: &Side) -> io::Result<()> {
    let runtime_cookie = Guid::from_bytes([7; 16]);
    let mut advertise = Advertise { runtime_cookie, process_id: 77, future: 0 }.to_bytes();
    for _ in 0..MOST_PAIRS {
        let mut connected = None;
        if let Side::Connects(_) = runtime {
            let mut stream = runtime.meet()?;
            advertise = [0; ADVERTISE_LEN];
            stream.read_exact(&mut advertise)?;
            connected = Some(stream);
        }
        let mut asked = tool.meet()?;
        if let Side::Listens(_) = tool {
            asked.write_all(&advertise)?;
        }
        // A runtime that listens serves one client at a time: it is not connected to before a request.
        asked.peek(&mut [0])?;
        let answering = connected.map_or_else(|| runtime.meet(), Ok)?;
        for (from, to) in [(&asked, &answering), (&answering, &asked)] {
            let (mut from, mut to) = (from.try_clone()?, to.try_clone()?);
            thread::spawn(move || {
                let _ = io::copy(&mut from, &mut to);
                let _ = to.shutdown(Shutdown::Write);
            });
        }
    }
    Ok(())
}

#[test]
fn trace_reaches_a_runtime_through_a_router_in_every_direction() {
    for runtime_listens in [true, false] {
        for tool_listens in [true, false] {
            let (side, port) = Side::connects();
            let runtime = if runtime_listens {
                Runtime::start(&["--socket", LOOPBACK])
            } else {
                Runtime::start(&["--socket", "./default", "--ports", &port])
            };
            let side =
                if runtime_listens { Side::Listens(runtime.socket.parse().unwrap()) } else { side };
            let (tool_side, target) = Side::connects();
            let target = if tool_listens { format!("port:{LOOPBACK}") } else { target };
            let file = runtime.path("trace.nettrace");
            let trace = ["trace", &target, "--resume", "--duration", "1", "-o", &file];
            let mut tool =
                diagipc(&trace).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
            let mut said = BufReader::new(tool.stderr.take().unwrap());
            let tool_side = if tool_listens {
                let mut line = String::new();
                said.read_line(&mut line).unwrap();
                let address = line.split('\'').nth(1).unwrap_or_else(|| panic!("{line}"));
                Side::Listens(address.parse().unwrap())
            } else {
                tool_side
            };
            thread::spawn(move || route(&side, &tool_side));
            let rest = thread::spawn(move || io::read_to_string(said).unwrap());
            let output = tool.wait_with_output().unwrap();
            let rest = rest.join().unwrap();
            let case = format!("runtime listens: {runtime_listens}, tool: {tool_listens}: {rest}");
            assert!(output.status.success(), "{case}");
            assert!(text(&output).ends_with(" bytes, complete\n"), "{case}");
        }
    }
}

/// F-162. A process id has two rows if both of its endpoints are there.
#[test]
fn process_id_of_a_router_means_its_device_and_that_is_said() {
    let home = crate::tool::directory();
    let socket = "\"$TMPDIR/dotnet-diagnostic-dsrouter-$$-1747000000-socket\"";
    let script = format!("exec {DIAGIPC} runtime --until-eof --socket {socket}");
    let mut router = Command::new("sh")
        .args(["-c", &script])
        .env("TMPDIR", home.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut device = String::new();
    BufReader::new(router.stdout.take().unwrap()).read_line(&mut device).unwrap();
    let (device, pid) = (device.trim_end(), router.id().to_string());
    let said = format!("process {pid} is dotnet-dsrouter: this is its device, at {device}\n");
    for command in ["info", "env"] {
        assert_eq!(errors(&[command, &pid], 0), said);
    }
    let rows = text(&run(&["ps", &pid], b"", 0));
    assert!(rows.contains(device), "{rows}");
    drop(router.stdin.take());
    assert!(router.wait().unwrap().success());
}

#[test]
fn commands_and_suites_reach_a_runtime_over_tcp() {
    let runtime = Runtime::start(&["--socket", LOOPBACK]);
    let (address, pid) = (&runtime.socket, runtime.pid());
    for target in [address, &format!("{address},connect"), &format!("port:{address},connect")] {
        let info = text(&run(&["info", target], b"", 0));
        assert!(info.starts_with("process ") && info.contains(&pid), "{info}");
    }
    let report = text(&run(&["server", address, "--profile", "coreclr-10"], b"", 0));
    assert!(report.contains("PASSED"), "{report}");
}

#[test]
fn address_that_is_not_used_says_what_helps() {
    for (target, status, said) in [
        ("192.0.2.1:9000", 3, "192.0.2.1:9000 is not a loopback address"),
        ("192.0.2.1:9000", 3, ": --any-address allows it"),
        ("127.0.0.1:1", 3, "no process listens at 127.0.0.1:1"),
        ("ws://127.0.0.1:1/x", 2, "start `dotnet-dsrouter server-websocket`"),
        ("127.0.0.1:1,listen", 2, "no runtime listens at a port"),
    ] {
        let error = errors(&["info", target], status);
        assert!(error.contains(said), "{target}: {error}");
    }
    let error = errors(&["trace", "port:0.0.0.0:0"], 2);
    assert!(error.contains(": --any-address allows it"), "{error}");
    // The system connects this to itself.
    let error = errors(&["info", "0.0.0.0:1", "--any-address"], 3);
    assert!(error.contains("no process listens at 0.0.0.0:1"), "{error}");
}
