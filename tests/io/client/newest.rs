//! Information and dumps: the newest command that the runtime knows.

use dotnet_diagnostics_ipc::hresult::HResult;
use dotnet_diagnostics_ipc::io::*;
use dotnet_diagnostics_ipc::message::dump::{DumpFlags, DumpType, GenerateCoreDump3};

use crate::client::{DONE, FAILED, Peer};

const UNKNOWN: &[u8] = b"DOTNET_IPC_V1\0\x18\0\xff\xff\0\0\x85\x13\x13\x80";
/// Process 7, a cookie of 16 bytes 0x11, the texts `a`, `L` and `x`.
const FIELDS: &[u8] =
    b"\x07\0\0\0\0\0\0\0\x11\x11\x11\x11\x11\x11\x11\x11\x11\x11\x11\x11\x11\x11\x11\x11\
    \x02\0\0\0a\0\0\0\x02\0\0\0L\0\0\0\x02\0\0\0x\0\0\0";
/// The entry assembly `m` and the version `6`.
const FIELDS_2: &[u8] = b"\x02\0\0\0m\0\0\0\x02\0\0\x006\0\0\0";

fn ok(payload: &[&[u8]]) -> Vec<u8> {
    let payload = payload.concat();
    let size = u16::try_from(20 + payload.len()).unwrap().to_le_bytes();
    [b"DOTNET_IPC_V1\0", &size[..], b"\xff\0\0\0", &payload].concat()
}

/// The commands that the peer received, in their order.
fn asked(peer: &Peer, count: usize) -> Vec<[u8; 2]> {
    assert_eq!(peer.connections.lock().unwrap().len(), count);
    (0..count).map(|nth| peer.asked(nth, 20)[16..18].try_into().unwrap()).collect()
}

#[test]
fn info_is_asked_with_the_newest_known_command() {
    let three = ok(&[b"\x01\0\0\0", FIELDS, FIELDS_2, b"\x02\0\0\0r\0\0\0"]);
    let (two, one) = (ok(&[FIELDS, FIELDS_2]), ok(&[FIELDS]));
    let cases = [
        (vec![&three[..]], Some("m"), Some("6"), Some("r")),
        (vec![UNKNOWN, &two], Some("m"), Some("6"), None),
        (vec![UNKNOWN, UNKNOWN, &one], None, None, None),
    ];
    for (says, assembly, version, rid) in cases {
        let peer = Peer::saying(&says);
        let info = Client::new(&peer).info().unwrap();
        assert_eq!((info.process_id, info.runtime_cookie.to_bytes()), (7, [0x11; 16]));
        assert_eq!((&*info.command_line, &*info.os, &*info.arch), ("a", "L", "x"));
        assert_eq!(info.managed_entrypoint_assembly_name.as_deref(), assembly);
        assert_eq!(info.clr_product_version.as_deref(), version);
        assert_eq!(info.runtime_identifier.as_deref(), rid);
        assert_eq!(asked(&peer, says.len()), [[4, 8], [4, 4], [4, 0]][..says.len()]);
    }
}

#[test]
fn info_of_a_runtime_without_it_is_refused() {
    let peer = Peer::saying(&[UNKNOWN; 3]);
    let error = Client::new(&peer).info().unwrap_err();
    assert_eq!(error.hresult(), Some(HResult::UNKNOWN_COMMAND));
    let text = "the runtime answered 0x80131385 DS_IPC_E_UNKNOWN_COMMAND: ProcessInfo: there is no older command (waiting for the reply)";
    assert_eq!(error.to_string(), text);
    // Another error is not answered with an older command.
    let peer = Peer::saying(&[FAILED]);
    assert_eq!(Client::new(&peer).info().unwrap_err().hresult(), Some(HResult::FAIL));
    // The document's generic OK has no information.
    let error = Client::new(Peer::saying(&[&ok(&[])])).info().unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Unsupported(_)), "{error:?}");
}

#[test]
fn dump_is_asked_with_the_newest_known_command() {
    let dump = |flags: u8| GenerateCoreDump3 {
        dump_name: "/d".into(),
        dump_type: DumpType::FULL,
        flags: DumpFlags(flags.into()),
    };
    // The last field of each is the flags, or 1 for logging.
    for (says, flags) in
        [(vec![DONE], 7), (vec![UNKNOWN, DONE], 7), (vec![UNKNOWN, UNKNOWN, DONE], 1)]
    {
        let peer = Peer::saying(&says);
        Client::new(&peer).dump(&dump(flags)).unwrap();
        let last = says.len() - 1;
        let request = peer.asked(last, 38);
        assert_eq!((request[17], request[34]), (3 - u8::try_from(last).unwrap(), flags));
    }
    // An older command would write no crash report.
    let peer = Peer::saying(&[UNKNOWN, UNKNOWN, DONE]);
    let error = Client::new(&peer).dump(&dump(4)).unwrap_err();
    assert_eq!(asked(&peer, 2), [[1, 3], [1, 2]]);
    assert_eq!(error.hresult(), Some(HResult::UNKNOWN_COMMAND));
    let text = "GenerateCoreDump2.flags: no older command has this field (waiting for the reply)";
    assert!(error.to_string().ends_with(text), "{error}");
    // Nothing that kills a runtime is sent.
    let dump = GenerateCoreDump3 { dump_type: DumpType(9), ..dump(0) };
    assert!(matches!(
        Client::new(Peer::default()).dump(&dump).unwrap_err().kind(),
        ErrorKind::Limit(_)
    ));
}
