//! The reference runtime over named pipes, and the built-in client.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use diagipc::known::Profile;
use diagipc::runtime::{Config, Misbehaviour, ReferenceRuntime, StartError};
use dotnet_diagnostics_ipc::hresult::HResult;
use dotnet_diagnostics_ipc::io::port_listener::{PortEvent, PortListener, PortOptions};
use dotnet_diagnostics_ipc::io::{Client, Endpoint, WaitLimit};
use dotnet_diagnostics_ipc::message::process::PerfMapType;

fn pipe(test: &str) -> String {
    format!("diagipc-runtime-{}-{test}", std::process::id())
}

fn started(test: &str, change: impl FnOnce(&mut Config)) -> (ReferenceRuntime, Client) {
    let mut config =
        Config { profile: Profile::CORECLR_9, ..Config::new(PathBuf::from(pipe(test))) };
    change(&mut config);
    let runtime = ReferenceRuntime::start(config).unwrap();
    let client = Client::new(Endpoint::pipe(runtime.socket().to_str().unwrap()));
    (runtime, client)
}

fn soon() -> WaitLimit<'static> {
    WaitLimit { deadline: Some(Instant::now() + Duration::from_secs(30)), ..WaitLimit::FOREVER }
}

#[test]
fn windows_runtime_answers_as_on_windows() {
    let (runtime, client) = started("answers", |_| {});
    assert_eq!(runtime.socket().to_str().unwrap(), format!(r"\\.\pipe\{}", pipe("answers")));
    let answer = client.process_info3().unwrap();
    let info = answer.payload().unwrap();
    assert_eq!(
        (info.os.to_string(), info.runtime_identifier.to_string()),
        ("Windows".to_owned(), "win-x64".to_owned())
    );
    // The .NET 9 that is recorded on Windows.
    assert_eq!(
        (info.clr_product_version.to_string(), info.runtime_cookie),
        ("9.0.20".to_owned(), runtime.cookie())
    );
    // F-126.
    assert_eq!(
        client.enable_perf_map(PerfMapType::PERF_MAP).unwrap_err().hresult(),
        Some(HResult::NOT_SUPPORTED)
    );
    assert_eq!(
        client.set_environment_variable("A=B", Some("1")).unwrap_err().hresult(),
        Some(HResult::INVALID_ARG)
    );
    client.set_environment_variable("MOOD", Some("calm")).unwrap();
    let mut entries = Vec::new();
    client.environment().unwrap().for_each(|entry| entries.push(entry.text().to_string())).unwrap();
    assert_eq!(entries.last().unwrap(), "MOOD=calm");
}

/// The next instance of the tool's pipe is ready before the previous one is used (F-124): two
/// commands follow each other without delay.
#[test]
fn windows_runtime_connects_to_port_again_after_each_command() {
    let name = pipe("port");
    let port = PortListener::bind(&name, PortOptions::DEFAULT).unwrap();
    let (runtime, _) = started("at-port", |config| config.ports = Some(format!("{name},suspend")));
    let PortEvent::New(found) = port.next_event(&soon()).unwrap() else { panic!() };
    assert!(!runtime.is_started());
    let client = Client::new(found);
    let took = (0..10).map(|_| {
        let began = Instant::now();
        let answer = client.process_info().unwrap();
        assert_eq!(answer.payload().unwrap().runtime_cookie, runtime.cookie());
        began.elapsed()
    });
    // The first delay is 400 ms or longer. A busy machine makes single calls slow, but not each of
    // ten.
    let fastest = took.min().unwrap();
    assert!(fastest < Duration::from_millis(400), "{fastest:?}");
    client.resume().unwrap();
    assert!(runtime.is_started());
}

#[test]
fn windows_runtime_refuses_misbehaviours_impossible_on_pipes() {
    let misbehaviours = vec![Misbehaviour::parse("reset").unwrap()];
    let config = Config { misbehaviours, ..Config::new(PathBuf::from(pipe("reset"))) };
    let error = ReferenceRuntime::start(config).unwrap_err();
    assert!(matches!(error, StartError::Unavailable(_)), "{error:?}");
    assert_eq!(error.to_string(), "the misbehaviour reset cannot be shown over pipes");
}
