//! `diagipc fuzz-server` on Windows: a target that is found by its pipe, and is not started again.

use std::thread;

use dotnet_diagnostics_ipc::hresult::HResult;
use dotnet_diagnostics_ipc::io::Canceller;
use dotnet_diagnostics_ipc::io::server::{Handler, ServeOptions, serve};
use dotnet_diagnostics_ipc::io::windows::PipeListener;
use dotnet_diagnostics_ipc::message::process::ProcessInfoReply;
use dotnet_diagnostics_ipc::wire::Guid;
use serde_json::Value;

use crate::tool::run;

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

#[test]
fn windows_campaign_correct_server_no_findings() {
    let name = format!("diagipc-fuzz-server-{}", std::process::id());
    let (mut listener, shutdown) = (PipeListener::bind(&name).unwrap(), Canceller::new().unwrap());
    thread::scope(|scope| {
        let server =
            scope.spawn(|| serve(&mut listener, &Runtime, &ServeOptions::DEFAULT, &shutdown));
        let pipe = format!(r"\\.\pipe\{name}");
        let fuzz = ["fuzz-server", "--json", "--allow-harmful", "--rate", "1000", "--cases", "60"];
        let output = run(&[&fuzz[..], &[&pipe]].concat(), b"", 0);
        shutdown.cancel();
        server.join().unwrap().unwrap();
        let summary: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(summary["findings"], serde_json::json!([]), "{summary:#}");
        assert_eq!((&summary["cases"], &summary["lost"]), (&60.into(), &Value::Null));
        // It is connected to, not started.
        assert_eq!(summary["starts"], 0);
    });
}
