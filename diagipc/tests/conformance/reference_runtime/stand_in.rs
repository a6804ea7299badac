//! The reference runtime in place of a .NET process: its words, its environment, its first events, and
//! what it leaves to a client.

use std::io::{Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use dotnet_diagnostics_ipc::command::Command;
use dotnet_diagnostics_ipc::io::{Client, Endpoint};
use dotnet_diagnostics_ipc::message::encode_to_vec;
use dotnet_diagnostics_ipc::message::eventpipe::{
    CollectTracing2, EventLevel, Format, ProviderConfig,
};
use dotnet_diagnostics_ipc::wire::Array;

use crate::reference_runtime::{End, ask, message, request, start};
use crate::tool::Runtime;

const PRIVATE: &str = "Microsoft-Windows-DotNETRuntimePrivate";
const STARTUP: u64 = 0x8000_0000;

/// The words are those given, as far as the build has them while it is suspended.
#[test]
fn words_and_environment_are_those_given() {
    let options = ["--command-line", "dotnet app.dll --port 80", "--entry-assembly", "app"];
    let running = ("dotnet app.dll --port 80".to_owned(), "app".to_owned());
    for (profile, suspended) in [
        ("coreclr-10", ("dotnet".to_owned(), "app".to_owned())),
        // NativeAOT always reports the same command line (F-100).
        ("nativeaot-9", running.clone()),
    ] {
        let runtime =
            Runtime::start(&[&options[..], &["--suspended", "--profile", profile]].concat());
        let client = Client::new(Endpoint::socket(&runtime.socket));
        let words = || {
            let info = client.process_info2().unwrap();
            let info = info.payload().unwrap();
            (info.command_line.to_string(), info.managed_entrypoint_assembly_name.to_string())
        };
        assert_eq!(words(), suspended, "{profile}");
        client.resume().unwrap();
        assert_eq!(words(), running, "{profile}");
    }
    let entries = |options: &[&str]| {
        let runtime = Runtime::start_with(options, |command| {
            command.env("STAND_IN", "a=b").env("REPLACED", "before");
        });
        let client = Client::new(Endpoint::socket(&runtime.socket));
        let mut entries: Vec<String> = Vec::new();
        let environment = client.environment().unwrap();
        environment.for_each(|entry| entries.push(entry.text().to_string())).unwrap();
        entries
    };
    let has = |entries: &[String], entry: &str| entries.iter().any(|one| one == entry);
    let (recorded, inherited) =
        (entries(&[]), entries(&["--env-inherit", "--env", "REPLACED=after"]));
    assert!(has(&recorded, "PATH=/usr/bin:/bin") && !has(&recorded, "STAND_IN=a=b"));
    assert!(has(&inherited, "STAND_IN=a=b") && has(&inherited, "REPLACED=after"), "{inherited:?}");
    assert!(!has(&inherited, "REPLACED=before") && !has(&inherited, "PATH=/usr/bin:/bin"));
}

/// A session with these providers, and its id.
fn session(socket: &Path, providers: &[ProviderConfig<'_>]) -> (UnixStream, u64) {
    let asked = CollectTracing2 {
        circular_buffer_mb: 10,
        format: Format::NET_TRACE,
        request_rundown: true,
        providers: Array::new(providers),
    };
    let mut stream = UnixStream::connect(socket).unwrap();
    stream.write_all(&encode_to_vec(Command::COLLECT_TRACING2, &asked).unwrap()).unwrap();
    let mut reply = [0; 28];
    stream.read_exact(&mut reply).unwrap();
    let id = reply.last_chunk::<8>().unwrap();
    (stream, u64::from_le_bytes(*id))
}

fn stopped(socket: &Path, id: u64) -> Vec<u8> {
    let (reply, end) = ask(socket, &message(0x0201, &id.to_le_bytes()));
    assert_eq!(end, End::Closed);
    reply
}

fn whole(mut stream: UnixStream) -> Vec<u8> {
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    let mut all = Vec::new();
    stream.read_to_end(&mut all).unwrap();
    all
}

fn has(stream: &[u8], text: &str) -> bool {
    let units: Vec<u8> = text.encode_utf16().chain([0]).flat_map(u16::to_le_bytes).collect();
    stream.windows(units.len()).any(|window| window == units)
}

#[test]
fn session_has_the_events_that_its_providers_ask_for() {
    let counters = ProviderConfig {
        arguments: "EventCounterIntervalSec=2".into(),
        ..ProviderConfig::new("System.Runtime", 0, EventLevel::INFORMATIONAL)
    };
    let private = ProviderConfig::new(PRIVATE, STARTUP, EventLevel::VERBOSE);
    let events = |suspended: bool, providers: &[ProviderConfig<'_>]| {
        let (runtime, _directory) = start(|config| {
            config.suspended = suspended;
            config.has_short_rundown = true;
        });
        let socket = runtime.socket().to_owned();
        let (stream, id) = session(&socket, providers);
        assert_eq!(ask(&socket, &request(0x0401)).0.len(), 24);
        stopped(&socket, id);
        let stream = whole(stream);
        assert!(has(&stream, "ProcessInfo") && stream.ends_with(&[1]), "{} bytes", stream.len());
        (has(&stream, PRIVATE), has(&stream, "cpu-usage") && has(&stream, "Interval=2000"))
    };
    assert_eq!(events(true, &[private, counters]), (true, true));
    // The start is over.
    assert_eq!(events(false, &[private, counters]), (false, true));
    let other = ProviderConfig::new(PRIVATE, 1, EventLevel::VERBOSE);
    let without = ProviderConfig::new("System.Runtime", 0, EventLevel::INFORMATIONAL);
    assert_eq!(events(true, &[other, without]), (false, false));
}

/// The rundown is short, unlike that of a runtime (F-75).
#[test]
fn short_rundown_may_stay_unread_while_a_stop_waits() {
    let (runtime, _directory) = start(|config| config.has_short_rundown = true);
    let socket = runtime.socket().to_owned();
    let provider = ProviderConfig::new("P", 0, EventLevel::VERBOSE);
    let (stream, id) = session(&socket, &[provider]);
    assert_eq!(stopped(&socket, id), message(0xff00, &id.to_le_bytes()));
    let short = whole(stream);
    assert!(short.windows(10).any(|window| window == b"StackBlock"), "{} bytes", short.len());

    let (runtime, _directory) = start(|_| {});
    let socket = runtime.socket().to_owned();
    let (stream, id) = session(&socket, &[provider]);
    let mut stop = UnixStream::connect(&socket).unwrap();
    stop.write_all(&message(0x0201, &id.to_le_bytes())).unwrap();
    stop.set_read_timeout(Some(Duration::from_millis(500))).unwrap();
    assert!(stop.read(&mut [0; 1]).is_err(), "the stop waits for a reader");
    assert!(whole(stream).len() > 100 * short.len());
}
