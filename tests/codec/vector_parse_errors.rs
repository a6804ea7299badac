//! Invalid values: an author who writes vectors by hand gets an error with its place.

use dotnet_diagnostics_ipc::hresult::HResult;
use dotnet_diagnostics_ipc_vectors::{Type, TypedCodec};
use serde_json::{Value, json};

fn subject(kind: Type) -> TypedCodec {
    TypedCodec { kind, command: None, from_server: true }
}

#[track_caller]
fn is_no_value(kind: Type, value: &Value, words: &str) {
    let error = subject(kind).encode(value).unwrap_err();
    assert!(error.fault().is_none(), "{error}");
    assert_eq!(error.to_string(), words);
}

/// The value form splits an entry at the first inner `=`.
#[test]
fn environment_entry_value_splits_as_reader() {
    let one = |name: &str, value: Value| json!([{ "name": name, "value": value }]);
    for (name, value, wire) in [
        ("A", json!("1"), &b"\x01\0\0\0\x04\0\0\0A\0=\x001\0\0\0"[..]),
        ("=C:", json!("x"), b"\x01\0\0\0\x06\0\0\0=\0C\0:\0=\0x\0\0\0"),
        ("A", json!("=1"), b"\x01\0\0\0\x05\0\0\0A\0=\0=\x001\0\0\0"),
        ("A", json!(null), b"\x01\0\0\0\x02\0\0\0A\0\0\0"),
    ] {
        assert_eq!(subject(Type::Environment).encode(&one(name, value)).unwrap(), wire, "{name}");
    }
    for value in [json!("1"), json!(null)] {
        let found = format!(r#"{{"name":"A=B","value":{value}}}"#);
        let words =
            format!("[0]: expected an entry that is split at its first inner `=`, not {found}");
        is_no_value(Type::Environment, &one("A=B", value), &words);
    }
    let wrong = json!([{ "name": "A", "value": "1", "terminated": true }]);
    is_no_value(Type::Environment, &wrong, "[0].terminated: expected false or nothing, not true");
}

#[test]
fn fixed_size_value_rejects_other_sizes() {
    let value = |size: u32| json!({ "size": size, "disable_bit": 1, "reserved": 0, "reserved2": 0, "disable_addr": "0" });
    let wire = b"\x10\0\0\0\x01\0\0\0\0\0\0\0\0\0\0\0";
    assert_eq!(subject(Type::UserUnreg).encode(&value(16)).unwrap(), wire);
    is_no_value(Type::UserUnreg, &value(17), "size: expected 16, not 17");
}

/// A server's messages are not answered, and a server does not see what a runtime sends to its
/// kernel.
#[test]
fn value_reply_without_request_is_refused() {
    for (kind, from_server) in [
        (Type::UserReg, false),
        (Type::UserEventsRecord, false),
        (Type::Environment, true),
        (Type::Advertise, true),
        (Type::Reply, true),
        (Type::OldReply, true),
        (Type::String, true),
    ] {
        let refusal = TypedCodec { kind, command: None, from_server }.decode(b"\x01").unwrap_err();
        assert_eq!(refusal.answer, None, "{kind:?}: {refusal}");
    }
    let request = TypedCodec { kind: Type::Request, command: None, from_server: false };
    assert_eq!(
        request.decode(b"DOTNET_IPC_V2\0\x14\0\x04\0\0\0").unwrap_err().answer,
        Some(HResult::UNKNOWN_MAGIC)
    );
}
