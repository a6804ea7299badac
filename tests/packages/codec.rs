//! A codec of strings, and of a header with two of them, run over the vectors of the crate.
use dotnet_diagnostics_ipc_vectors as vectors;
use dotnet_diagnostics_ipc_vectors::{Type, Value, ExpectedResult};

fn read_string(wire: &[u8]) -> Option<(Value, &[u8])> {
    let (count, wire) = wire.split_first_chunk::<4>()?;
    let Some(before_nul) = usize::try_from(u32::from_le_bytes(*count)).ok()?.checked_sub(1) else {
        return Some((Value::Null, wire));
    };
    let (text, rest) = wire.split_at_checked(before_nul.checked_mul(2)?)?;
    let rest = rest.strip_prefix(&[0, 0])?;
    let units: Vec<_> =
        text.chunks_exact(2).map(|unit| u16::from_le_bytes([unit[0], unit[1]])).collect();
    let lone = || [("utf16".to_owned(), Value::from(units.clone()))].into_iter().collect();
    Some((String::from_utf16(&units).map_or_else(|_| lone(), Value::from), rest))
}

fn decode(kind: Type, wire: &[u8]) -> Option<Value> {
    if kind == Type::String {
        return Some(read_string(wire)?.0);
    }
    let (header, payload) = wire.split_at_checked(20)?;
    let size = usize::from(u16::from_le_bytes([header[14], header[15]]));
    if !header.starts_with(b"DOTNET_IPC_V1\0") || size != wire.len() || header[16..18] != [4, 3] {
        return None;
    }
    let (name, rest) = read_string(payload)?;
    Some(
        [("name".to_owned(), name), ("value".to_owned(), read_string(rest)?.0)]
            .into_iter()
            .collect(),
    )
}

fn main() {
    let mut tried = 0;
    for group in vectors::files().unwrap().into_iter().flat_map(|file| file.groups) {
        let command = group.command.as_deref() == Some("Process/SetEnvironmentVariable");
        if group.kind != Type::String && !(group.kind == Type::Request && command) {
            continue;
        }
        for test in &group.tests {
            let limits = test.error.as_ref().is_some_and(|error| error.layer == "limits");
            let valid = test.result != ExpectedResult::Invalid || limits;
            let wire = test.wire.as_ref().unwrap();
            assert_eq!(
                decode(group.kind, wire),
                valid.then(|| test.value.clone()),
                "{}",
                test.tc_id
            );
            tried += 1;
        }
    }
    println!("{tried} tests");
}
