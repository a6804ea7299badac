//! A runtime that waits to be resumed.

use std::thread;
use std::time::{Duration, Instant};

use dotnet_diagnostics_ipc::hresult::HResult;
use dotnet_diagnostics_ipc::message::profiler::AttachProfiler;
use dotnet_diagnostics_ipc::wire::Clsid;

use super::{assert_refused, target, variable};

#[test]
#[ignore = "needs a suspended runtime: diagipc/tests/live/runtime_tests.py"]
fn suspended_runtime_is_asked_set_and_resumed() {
    assert_eq!(variable("DIAG_SUSPENDED"), "1", "the runtime is not suspended");
    let target = target();
    assert!(!target.runs_managed_code());
    let (name, value) = ("DIAGIPC_BEFORE_THE_START", Some("1"));
    target.client.set_environment_variable(name, value).unwrap();
    let (profiler_guid, profiler_path) = (Clsid::NIL, "/none.so".into());
    let attach =
        AttachProfiler { attach_timeout: 1000, profiler_guid, profiler_path, client_data: &[] };
    assert_refused(target.client.attach_profiler(&attach), HResult::NOT_YET_AVAILABLE);
    target.client.resume().unwrap();
    let until = Instant::now() + Duration::from_secs(10);
    while !target.runs_managed_code() {
        assert!(Instant::now() < until, "it does not start");
        thread::sleep(Duration::from_millis(20));
    }
    assert!(target.environment().contains(&format!("{name}=1")));
}
