//! What the profiles know, and what they report about themselves.

use std::io::{Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use diagipc::known::Profile;
use dotnet_diagnostics_ipc_vectors as vectors;

use crate::reference_runtime::{End, ask, ask_for_dump, message, read, request, start};

#[test]
fn profile_environment_is_recorded_plus_additions() {
    let (runtime, _directory) =
        start(|config| config.environment = vec!["no equals sign".into(), "=C:=C:\\".into()]);
    let (reply, _) = ask(runtime.socket(), &request(0x0402));
    let recorded = vectors::files()
        .unwrap()
        .into_iter()
        .flat_map(|file| file.groups)
        .find(|group| group.name == "net10.0.9-environment-block");
    let recorded = recorded.unwrap().tests[0].wire.clone().unwrap();
    let units = |text: &str| text.encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<_>>();
    let added = [
        b"\x0f\0\0\0".to_vec(),
        units("no equals sign\0"),
        b"\x08\0\0\0".to_vec(),
        units("=C:=C:\\\0"),
    ]
    .concat();
    let block = [&[recorded[0] + 2, 0, 0, 0], &recorded[4..], &added].concat();
    assert_eq!(reply[20..24], u32::try_from(block.len()).unwrap().to_le_bytes());
    assert_eq!(reply[26..], block);
}

/// P-5, P-43: a runtime ends a string at its first NUL, so it sees an empty one.
#[test]
fn string_beginning_with_nul_is_empty() {
    let (runtime, _directory) = start(|config| config.profile = Profile::CORECLR_10);
    for (path, hresult) in [
        (&[0; 4][..], 0x8000_4005_u32),
        (&[1, 0, 0, 0, 0, 0], 0x8000_4005),
        (&[3, 0, 0, 0, 0, 0, b'p', 0, 0, 0], 0x8000_4005),
        (&[4, 0, 0, 0, b'p', 0, 0, 0, b'p', 0, 0, 0], 0x8007_007e),
    ] {
        let attach = [&[100, 0, 0, 0], &[0; 16][..], path, &[0; 4]].concat();
        let refused = (message(0xffff, &hresult.to_le_bytes()), End::Closed);
        assert_eq!(ask(runtime.socket(), &message(0x0301, &attach)), refused, "{path:?}");
    }
}

/// The name `name`, the type `kind`, and flags of 0.
fn dump(code: u16, name: &str, kind: u8) -> Vec<u8> {
    let units: Vec<u16> = name.encode_utf16().chain([0]).collect();
    let count = u32::try_from(units.len()).unwrap().to_le_bytes().to_vec();
    let units = units.into_iter().flat_map(u16::to_le_bytes).collect();
    message(code, &[count, units, vec![kind, 0, 0, 0], vec![0; 4]].concat())
}

/// P-46: .NET 10 refuses a dump that cannot be written, with the words of createdump.
#[test]
fn dump_unwritable_is_refused_as_net10() {
    let (runtime, _directory) = start(|config| config.profile = Profile::CORECLR_10);
    let no_file = "/no/such/directory/core";
    let fails = message(0xffff, &[5, 0x40, 0, 0x80]);
    for request in [dump(0x0101, no_file, 4), dump(0x0102, "/tmp", 4)] {
        assert_eq!(ask_for_dump(runtime.socket(), &request), (fails.clone(), End::Closed));
    }
    let (reply, end) = ask_for_dump(runtime.socket(), &dump(0x0103, no_file, 4));
    let text = format!(
        "[createdump] Could not create output file '{no_file}': No such file or directory (2)\n"
    );
    let units: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
    assert_eq!((&reply[16..24], end), (&fails[16..], End::Closed));
    assert_eq!(reply[28..28 + units.len()], units);
}

/// Whatever blocks the runtime, it ends at once when it is stopped.
#[test]
fn runtime_stop_ends_everything_in_time() {
    let provider = [5, 0, 0, 0, 2, 0, 0, 0, b'P', 0, 0, 0, 1, 0, 0, 0, 0, 0];
    let sizes = [1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0];
    let collect = message(0x0202, &[&sizes[..], &[0; 8], &provider].concat());
    let stop = message(0x0201, &0x7f0c_bc00_1720_u64.to_le_bytes());
    // Half a message; a session; one that is stopped and not read; a dump.
    let holds: [&[&[u8]]; 5] =
        [&[], &[b"DOTNET"], &[&collect], &[&collect, &collect, &stop], &[&dump(0x0101, "", 4)]];
    for requests in holds {
        let (runtime, directory) = start(|_| {});
        let send = |request: &&[u8]| {
            let mut stream = UnixStream::connect(runtime.socket()).unwrap();
            stream.write_all(request).unwrap();
            stream
        };
        let clients: Vec<_> = requests.iter().map(send).collect();
        std::thread::sleep(Duration::from_millis(150));
        runtime.stop();
        assert!(!directory.path().join("socket").exists());
        drop(clients);
    }
}

#[test]
fn runtime_environment_configures_it() {
    let suspended = |environment: &[&str], ports: Option<&str>| {
        let (runtime, _directory) = start(|config| {
            config.environment = environment.iter().map(|entry| String::from(*entry)).collect();
            config.ports = ports.map(Into::into);
        });
        !runtime.is_started()
    };
    assert!(!suspended(&[], None));
    // P-14, F-86, P-11.
    assert!(suspended(&["DOTNET_DefaultDiagnosticPortSuspend=1"], None));
    assert!(!suspended(&["DOTNET_DefaultDiagnosticPortSuspend=true"], None));
    assert!(suspended(&["COMPlus_DefaultDiagnosticPortSuspend=f"], None));
    assert!(!suspended(
        &["COMPlus_DefaultDiagnosticPortSuspend=1", "DOTNET_DefaultDiagnosticPortSuspend=0"],
        None
    ));
    assert!(suspended(&["DOTNET_DiagnosticPorts=nobody"], None));
    assert!(suspended(&["COMPlus_DiagnosticPorts=nobody"], None));
    assert!(!suspended(&["DOTNET_DiagnosticPorts=nobody"], Some("nobody,nosuspend")));
}

/// F-160, F-172: a session that is stopped before the start begins again with the next one.
#[test]
fn session_stopped_before_the_start_makes_the_next_one_begin_twice() {
    // CollectTracing2 with 1 MB, nettrace, no rundown, and the provider "P".
    const PAYLOAD: &[u8] = b"\x01\0\0\0\x01\0\0\0\0\x01\0\0\0\0\0\0\0\0\0\0\0\x04\0\0\0\
        \x02\0\0\0P\0\0\0\0\0\0\0";
    for (profile, heads) in
        [(Profile::CORECLR_10, 2), (Profile::NATIVE_AOT_9, 2), (Profile::CORECLR_8, 1)]
    {
        let (runtime, _directory) = start(|config| {
            config.profile = profile;
            config.environment = vec!["DOTNET_DefaultDiagnosticPortSuspend=1".into()];
        });
        let begin = || {
            let mut stream = UnixStream::connect(runtime.socket()).unwrap();
            stream.write_all(&message(0x0203, PAYLOAD)).unwrap();
            let mut reply = [0; 28];
            stream.read_exact(&mut reply).unwrap();
            (stream, reply[20..].to_vec())
        };
        let (first, id) = begin();
        ask(runtime.socket(), &message(0x0201, &id));
        drop(first);
        let (mut second, _) = begin();
        ask(runtime.socket(), &request(0x0401));
        let (stream, _) = read(&mut second);
        let seen = stream.windows(8).filter(|bytes| bytes == b"Nettrace").count();
        assert_eq!(seen, heads, "{profile}");
    }
}
