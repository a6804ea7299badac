//! What the profiles know, and what they report about themselves.

use std::collections::BTreeSet;
use std::io::{Read as _, Write as _};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::time::Duration;

use diagipc::known::Profile;
use dotnet_diagnostics_ipc::command::Command;
use dotnet_diagnostics_ipc_vectors as vectors;
use dotnet_diagnostics_ipc_vectors::Direction;

use crate::reference_runtime::{End, ask, ask_for_dump, message, request, start};

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

/// Commands not answered by `UNKNOWN_COMMAND`, by code, asked with a payload of four bytes: no
/// command that needs one decodes, none is killed by it.
fn known(profile: Profile) -> BTreeSet<u16> {
    let (runtime, _directory) = start(|config| config.profile = profile);
    let unknown = message(0xffff, &[0x85, 0x13, 0x13, 0x80]);
    Command::known()
        .map(Command::code)
        .filter(|code| ask(runtime.socket(), &message(*code, &[0; 4])).0 != unknown)
        .collect()
}

#[test]
fn profile_version_decides_commands() {
    // F-68; 3.1 refuses the whole profiler set in another way.
    assert_eq!(
        known(Profile::CORECLR_3_1),
        [0x0101, 0x0201, 0x0202, 0x0203, 0x0301, 0x0302].into()
    );
    let process = || 0x0400..=0x0408;
    let eight: BTreeSet<u16> = [0x0101, 0x0102, 0x0103, 0x0201, 0x0202, 0x0203, 0x0301, 0x0302]
        .into_iter()
        .chain(process())
        .collect();
    assert_eq!(known(Profile::CORECLR_8), eight);
    let nine: BTreeSet<u16> = eight.into_iter().chain([0x0204, 0x0205]).collect();
    assert_eq!(known(Profile::CORECLR_9), nine);
    let ten: BTreeSet<u16> = nine.into_iter().chain([0x0206]).collect();
    assert_eq!(known(Profile::CORECLR_10), ten);
    let eleven: BTreeSet<u16> = ten.into_iter().chain([0x0207]).collect();
    assert_eq!((known(Profile::CORECLR_11), known(Profile::STRICT)), (eleven.clone(), eleven));
}

#[test]
fn native_aot_lacks_what_recordings_lack() {
    let not_supported = message(0xffff, &[0x15, 0x15, 0x13, 0x80]);
    // An empty name, a type of 4 and flags of 0; a perf map of type 1; an empty path.
    let dump = message(0x0101, &[1, 0, 0, 0, 0, 0, 4, 0, 0, 0, 0, 0, 0, 0]);
    let perf_map = message(0x0405, &[1, 0, 0, 0]);
    let hook = message(0x0407, &[1, 0, 0, 0, 0, 0]);
    let set = message(0x0403, &[2, 0, 0, 0, b'A', 0, 0, 0, 2, 0, 0, 0, b'1', 0, 0, 0]);
    let ok = message(0xff00, &[0; 4]);
    let answers = |profile| {
        let (runtime, _directory) = start(|config| config.profile = profile);
        [&dump, &perf_map, &hook, &set].map(|request| ask(runtime.socket(), request).0)
    };
    let lacks = not_supported.clone();
    // F-98, F-92, F-93, F-94.
    for profile in [Profile::NATIVE_AOT_8, Profile::NATIVE_AOT_9] {
        assert_eq!(
            answers(profile),
            [message(0xffff, &[5, 0x40, 0, 0x80]), lacks.clone(), lacks.clone(), ok.clone()],
            "{profile}"
        );
    }
    // F-152.
    assert_eq!(answers(Profile::MONO), [lacks.clone(), lacks.clone(), lacks, ok.clone()]);
    // Of the document nothing is known.
    assert_eq!(answers(Profile::STRICT), [ok.clone(), ok.clone(), ok.clone(), ok]);
}

/// F-96.
#[test]
fn native_aot_sends_what_setenv_returned() {
    let empty = message(0x0403, &[1, 0, 0, 0, 0, 0, 2, 0, 0, 0, b'1', 0, 0, 0]);
    let equals = message(0x0403, &[3, 0, 0, 0, b'A', 0, b'=', 0, 0, 0, 2, 0, 0, 0, b'1', 0, 0, 0]);
    for profile in [Profile::NATIVE_AOT_8, Profile::NATIVE_AOT_9] {
        let (runtime, _directory) = start(|config| config.profile = profile);
        for odd in [&empty, &equals] {
            assert_eq!(ask(runtime.socket(), odd).0, message(0xffff, &[0xff; 4]), "{profile}");
        }
    }
    let (runtime, _directory) = start(|config| config.profile = Profile::CORECLR_9);
    assert_eq!(ask(runtime.socket(), &empty).0, message(0xff00, &[0; 4]));
    assert_eq!(ask(runtime.socket(), &equals).0, message(0xff00, &[0; 4]));
}

fn attach(path: &[u8], behind: &[u8]) -> Vec<u8> {
    message(0x0301, &[&[100, 0, 0, 0], [0; 16].as_slice(), path, behind].concat())
}

fn error(hresult: u32) -> (Vec<u8>, End) {
    (message(0xffff, &hresult.to_le_bytes()), End::Closed)
}

/// P-5, P-43: a runtime ends a string at its first NUL, so it sees an empty one.
#[test]
fn string_beginning_with_nul_is_empty() {
    for profile in [Profile::CORECLR_8, Profile::CORECLR_9, Profile::CORECLR_10] {
        let (runtime, _directory) = start(|config| config.profile = profile);
        for path in [&[0; 4][..], &[1, 0, 0, 0, 0, 0], &[3, 0, 0, 0, 0, 0, b'p', 0, 0, 0]] {
            assert_eq!(
                ask(runtime.socket(), &attach(path, &[0; 4])),
                error(0x8000_4005),
                "{profile} {path:?}"
            );
        }
        let inside = [4, 0, 0, 0, b'p', 0, 0, 0, b'p', 0, 0, 0];
        assert_eq!(
            ask(runtime.socket(), &attach(&inside, &[0; 4])),
            error(0x8007_007e),
            "{profile}"
        );
        let hook = message(0x0407, &[3, 0, 0, 0, 0, 0, b'h', 0, 0, 0]);
        assert_eq!(
            ask(runtime.socket(), &hook),
            (message(0xff00, &[0; 4]), End::Closed),
            "{profile}"
        );
        let session: &[&[u8]] = &[
            &[1, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0],
            &[0; 12],
            &[3, 0, 0, 0, 0, 0, b'P', 0, 0, 0],
            &[0; 4],
        ];
        assert_eq!(
            ask(runtime.socket(), &message(0x0203, &session.concat())).0,
            error(0x8013_1384).0,
            "{profile}"
        );
    }
}

/// F-54. A length beyond the payload is malformed, and not imitated.
#[test]
fn surplus_of_attach_is_refused() {
    let path = [3, 0, 0, 0, b'/', 0, b'!', 0, 0, 0];
    let (no_module, not_yet) = (error(0x8007_007e), error(0x8013_135b));
    for profile in
        [Profile::CORECLR_3_1, Profile::CORECLR_8, Profile::CORECLR_9, Profile::CORECLR_10]
    {
        let (runtime, _directory) = start(|config| config.profile = profile);
        let answer = |client_data: &[u8]| ask(runtime.socket(), &attach(&path, client_data));
        assert_eq!(answer(&[1, 0, 0, 0, 7]), no_module, "{profile}");
        assert_eq!(answer(&[1, 0, 0, 0, 7, 0]), error(0x8013_1384), "{profile}");
        assert_eq!(answer(&[2, 0, 0, 0, 7]).0, error(0x8013_1384).0, "{profile}");
        let (runtime, _directory) =
            start(|config| (config.profile, config.suspended) = (profile, true));
        for client_data in [&[1, 0, 0, 0, 7][..], &[1, 0, 0, 0, 7, 0]] {
            assert_eq!(ask(runtime.socket(), &attach(&path, client_data)), not_yet, "{profile}");
        }
    }
    let (runtime, _directory) = start(|config| config.profile = Profile::STRICT);
    assert_eq!(ask(runtime.socket(), &attach(&path, &[1, 0, 0, 0, 7, 0])), no_module);
    assert_eq!(ask(runtime.socket(), &attach(&path, &[2, 0, 0, 0, 7])).0, error(0x8013_1384).0);
}

#[test]
fn profile_3_1_refuses_header_in_pieces() {
    let (runtime, _directory) = start(|config| config.profile = Profile::CORECLR_3_1);
    let bad_encoding = (message(0xffff, &[0x84, 0x13, 0x13, 0x80]), End::Closed);
    assert_eq!(ask(runtime.socket(), b"DOTNET_IPC"), bad_encoding);
    assert_eq!(ask(runtime.socket(), &request(0x0302)), bad_encoding);
}

/// The name `name`, the type `kind`, and flags of 0.
fn dump(code: u16, name: &str, kind: u8) -> Vec<u8> {
    let units: Vec<u16> = name.encode_utf16().chain([0]).collect();
    let count = u32::try_from(units.len()).unwrap().to_le_bytes().to_vec();
    let units = units.into_iter().flat_map(u16::to_le_bytes).collect();
    message(code, &[count, units, vec![kind, 0, 0, 0], vec![0; 4]].concat())
}

/// P-40.
#[test]
fn profile_3_1_refuses_dumps_and_leaves_connection_open() {
    let (runtime, _directory) = start(|config| config.profile = Profile::CORECLR_3_1);
    let (fails, _) = error(0x8000_4005);
    for kind in 1..=4 {
        assert_eq!(
            ask_for_dump(runtime.socket(), &dump(0x0101, "core", kind)),
            (fails.clone(), End::Open),
            "{kind}"
        );
    }
    for kind in [0, 5] {
        assert_eq!(
            ask_for_dump(runtime.socket(), &dump(0x0101, "core", kind)),
            (fails.clone(), End::Closed),
            "{kind}"
        );
    }
}

/// P-39.
#[test]
fn profile_3_1_refuses_payload_in_pieces() {
    let answer = |profile, cut: usize, magic: u8| {
        let (runtime, _directory) = start(|config| config.profile = profile);
        let mut stop = message(0x0201, &[5, 0, 0, 0, 0, 0, 0, 0]);
        stop[0] = magic;
        let mut stream = UnixStream::connect(runtime.socket()).unwrap();
        stream.write_all(&stop[..cut]).unwrap();
        std::thread::sleep(Duration::from_millis(200));
        // It may be closed by now.
        let _ = stream.write_all(&stop[cut..]);
        let mut reply = [0; 24];
        stream.read_exact(&mut reply).unwrap();
        reply.to_vec()
    };
    let (bad_encoding, _) = error(0x8013_1384);
    let stopped = message(0xff00, &[5, 0, 0, 0, 0, 0, 0, 0])[..24].to_vec();
    assert_eq!(answer(Profile::CORECLR_3_1, 24, b'D'), bad_encoding);
    assert_eq!(answer(Profile::CORECLR_3_1, 24, b'X'), bad_encoding);
    assert_eq!(answer(Profile::CORECLR_3_1, 20, b'D'), stopped);
    assert_eq!(answer(Profile::CORECLR_8, 24, b'D'), stopped);
}

/// P-46.
#[test]
fn dump_unwritable_is_refused_as_net10() {
    let (runtime, directory) = start(|config| config.profile = Profile::CORECLR_10);
    assert_eq!(
        ask_for_dump(runtime.socket(), &dump(0x0101, "/no/such/directory/core", 4)),
        error(0x8000_4005)
    );
    assert_eq!(
        ask_for_dump(runtime.socket(), &dump(0x0102, directory.path().to_str().unwrap(), 4)),
        error(0x8000_4005)
    );
    let (reply, end) = ask_for_dump(runtime.socket(), &dump(0x0103, "/no/such/directory/core", 4));
    let text = "[createdump] Could not create output file '/no/such/directory/core': No such file or directory (2)\n";
    let units: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
    assert_eq!(
        (&reply[16..24], &reply[28..28 + units.len()], end),
        (&[0xff, 0xff, 0, 0, 5, 0x40, 0, 0x80][..], &*units, End::Closed)
    );
    let core = directory.path().join("core");
    assert_eq!(
        ask_for_dump(runtime.socket(), &dump(0x0101, core.to_str().unwrap(), 4)),
        (message(0xff00, &[0; 4]), End::Closed)
    );
    // 8.0.30 says OK to it, and leaves the connection open (P-30).
    let (runtime, _directory) = start(|config| config.profile = Profile::CORECLR_8);
    let done = (message(0xff00, &[0; 4]), End::Open);
    assert_eq!(ask_for_dump(runtime.socket(), &dump(0x0101, "/no/such/directory/core", 4)), done);
}

/// Whatever blocks the runtime, it ends at once when it is stopped.
#[test]
fn runtime_stop_ends_everything_in_time() {
    let collect = message(
        0x0202,
        &[
            1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 5, 0, 0, 0, 2, 0, 0, 0,
            b'P', 0, 0, 0, 1, 0, 0, 0, 0, 0,
        ],
    );
    let holds: [&[&[u8]]; 5] = [
        &[],
        // Half a message.
        &[b"DOTNET"],
        // A session, and one that is stopped and not read.
        &[&collect],
        &[&collect, &collect, &message(0x0201, &0x7f0c_bc00_1720_u64.to_le_bytes())],
        // A dump.
        &[&message(0x0101, &[1, 0, 0, 0, 0, 0, 4, 0, 0, 0, 0, 0, 0, 0])],
    ];
    for requests in holds {
        let (runtime, directory) = start(|_| {});
        let clients: Vec<_> = requests
            .iter()
            .map(|request| {
                let mut stream = UnixStream::connect(runtime.socket()).unwrap();
                stream.write_all(request).unwrap();
                stream
            })
            .collect();
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

/// For all vectors, harmful or not: the next client is answered.
#[test]
fn runtime_survives_requests_of_vectors() {
    let files = vectors::files().unwrap();
    let from_clients = files
        .iter()
        .flat_map(|file| &file.groups)
        .filter(|group| group.direction == Some(Direction::Client));
    let requests: Vec<&[u8]> = from_clients
        .flat_map(|group| &group.tests)
        .filter_map(|test| test.wire.as_deref())
        // Dumps take their time.
        .filter(|wire| wire.get(16) != Some(&1) || wire.len() < 40)
        .collect();
    assert!(requests.len() >= 300, "{}", requests.len());
    std::thread::scope(|scope| {
        for profile in Profile::ALL {
            let requests = &requests;
            scope.spawn(move || {
                let (runtime, _directory) = start(|config| config.profile = profile);
                for request in requests {
                    let mut stream = UnixStream::connect(runtime.socket()).unwrap();
                    // It may be closed before all of it is sent.
                    let _ = stream.write_all(request);
                    let _ = stream.shutdown(Shutdown::Write);
                    stream.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
                    let mut magic = [0; 14];
                    stream.read_exact(&mut magic).unwrap();
                    assert_eq!(magic, *b"DOTNET_IPC_V1\0", "{profile}: {}", hex::encode(request));
                }
                assert_eq!(ask(runtime.socket(), &request(0x0404)).1, End::Closed, "{profile}");
            });
        }
    });
}
