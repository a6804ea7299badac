//! A diagnostic port, with a runtime that was configured for it before it existed.

use std::thread;
use std::time::{Duration, Instant};

use dotnet_diagnostics_ipc::hresult::HResult;
use dotnet_diagnostics_ipc::io::port_listener::{PortEvent, PortListener, PortOptions};
use dotnet_diagnostics_ipc::io::{Client, WaitLimit};

use super::{target, variable};

#[test]
#[ignore = "needs a runtime with a port: diagipc/tests/live/runtime_tests.py"]
fn port_runtime_is_asked_and_resumed() {
    let target = target();
    let ports = variable("DIAG_PORTS");
    let (path, suspends) = ports.rsplit_once(',').expect("the runtime has a port");
    let until = WaitLimit {
        deadline: Instant::now().checked_add(Duration::from_secs(10)),
        ..WaitLimit::FOREVER
    };
    let port = PortListener::bind(path, PortOptions::DEFAULT).unwrap();
    let event = port.next_event(&until).unwrap();
    let PortEvent::New(runtime) = event else { panic!("{event:?}") };
    assert_eq!(runtime.process_id(), u64::from(target.process_id));
    let client = Client::new(runtime.clone());
    let answer = client.process_info().unwrap();
    assert_eq!(answer.payload().unwrap().runtime_cookie, runtime.cookie());

    if suspends == "suspend" {
        assert!(!target.runs_managed_code());
        // It is resumed only if it waits for it (F-42).
        target.client.resume().unwrap();
        thread::sleep(Duration::from_millis(200));
        assert!(!target.runs_managed_code());
    } else {
        // On a busy machine it may not have come so far when it connects.
        while !target.runs_managed_code() {
            assert!(until.check().is_ok(), "it waits for a resume");
            thread::sleep(Duration::from_millis(20));
        }
    }
    assert_eq!(runtime.resume(&until).unwrap(), HResult::OK);
    while !target.runs_managed_code() {
        assert!(until.check().is_ok(), "it does not start");
        thread::sleep(Duration::from_millis(20));
    }

    // Each call takes the next connection.
    for _ in 0..50 {
        let answer = client.process_info2().unwrap();
        assert_eq!(answer.payload().unwrap().process_id, u64::from(target.process_id));
    }
    let mut entries = 0;
    client.environment().unwrap().for_each(|_| entries += 1).unwrap();
    assert!(entries >= 5);
    target.still_answers();
}
