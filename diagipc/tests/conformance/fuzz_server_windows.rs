//! `diagipc fuzz-server` on Windows: a target that is found by its pipe, and is not started again.

use std::process::Command;
use std::thread;

use crate::tool::DIAGIPC;
use dotnet_diagnostics_ipc::hresult::HResult;
use dotnet_diagnostics_ipc::io::server::{Handler, ServeOptions, serve};
use dotnet_diagnostics_ipc::io::windows::PipeListener;
use dotnet_diagnostics_ipc::io::{Canceller, Transport as _, WaitLimit};
use dotnet_diagnostics_ipc::message::process::ProcessInfoReply;
use dotnet_diagnostics_ipc::wire::Guid;
use serde_json::Value;

struct Runtime;
impl Handler for Runtime {
    fn process_info(&self) -> Result<ProcessInfoReply<'_>, HResult> {
        Ok(ProcessInfoReply {
            process_id: std::process::id().into(),
            runtime_cookie: Guid::NIL,
            command_line: "app".into(),
            os: "Windows".into(),
            arch: "x64".into(),
        })
    }
}

/// The exit status of a campaign, and its summary.
fn campaign(name: &str, cases: &str) -> (Option<i32>, Value) {
    let pipe = format!(r"\\.\pipe\{name}");
    let arguments =
        ["fuzz-server", "--json", "--allow-harmful", "--rate", "1000", "--cases", cases, &pipe];
    let output = Command::new(DIAGIPC).args(arguments).output().unwrap();
    let summary = serde_json::from_slice(&output.stdout);
    (
        output.status.code(),
        summary.unwrap_or_else(|_| panic!("{}", String::from_utf8_lossy(&output.stderr))),
    )
}

fn name(test: &str) -> String {
    format!("diagipc-fuzz-server-{}-{test}", std::process::id())
}

#[test]
fn windows_campaign_correct_server_no_findings() {
    let name = name("right");
    let (mut listener, shutdown) = (PipeListener::bind(&name).unwrap(), Canceller::new().unwrap());
    thread::scope(|scope| {
        let server =
            scope.spawn(|| serve(&mut listener, &Runtime, &ServeOptions::DEFAULT, &shutdown));
        let (status, summary) = campaign(&name, "60");
        shutdown.cancel();
        server.join().unwrap().unwrap();
        assert_eq!(summary["findings"], serde_json::json!([]), "{summary:#}");
        assert_eq!(
            (status, &summary["cases"], &summary["lost"]),
            (Some(0), &60.into(), &Value::Null)
        );
        // It is connected to, not started.
        assert_eq!(summary["starts"], 0);
    });
}

/// Like one that leaks its memory in place of a reply (F-71).
#[test]
fn windows_campaign_answer_without_magic_is_named() {
    let name = name("leaks");
    let mut listener = PipeListener::bind(&name).unwrap();
    let over = Canceller::new().unwrap();
    let other = over.clone();
    let serves = thread::spawn(move || {
        let until = WaitLimit { canceller: Some(&over), ..WaitLimit::FOREVER };
        while let Ok(mut pipe) = listener.accept(&until) {
            let mut request = [0; 20];
            match pipe.receive(&mut request, &until) {
                // Only a complete `ProcessInfo` gets the right answer.
                Ok(20) if request == *b"DOTNET_IPC_V1\0\x14\0\x04\0\0\0" => {
                    let reply = [&b"DOTNET_IPC_V1\0\x36\0\xff\0\0\0"[..], &[0; 34]].concat();
                    let _ = pipe.send(&reply, &until);
                }
                Ok(1..) => {
                    let _ = pipe.send(&[7; 40], &until);
                }
                _ => {}
            }
        }
    });
    let (status, summary) = campaign(&name, "5");
    other.cancel();
    serves.join().unwrap();
    assert_eq!(
        (status, &summary["cases"], &summary["lost"]),
        (Some(1), &5.into(), &Value::Null),
        "{summary:#}"
    );
    assert_eq!(summary["findings"][0]["verdict"], "leaked");
}
