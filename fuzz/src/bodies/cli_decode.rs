//! The body of the target `cli_decode`: `diagipc decode`, with any bytes and options.

use std::io;

use diagipc::annotated;
use diagipc::annotated::items::{Item, Side, Splitter};
use dotnet_diagnostics_ipc::command::Command;

use crate::bodies::kind;

/// `[how, which, bytes …]`.
pub fn cli_decode(input: &[u8]) {
    let Some(([how, which], bytes)) = input.split_first_chunk::<2>() else { return };
    let request = Command::known().nth(usize::from(*which));
    let items: Vec<Item> = match how >> 1 & 3 {
        0 => Splitter::new(bytes, None, None).collect(),
        1 => Splitter::new(bytes, Some(Side::Client), request).collect(),
        2 => vec![Item::whole(kind(*which), bytes)],
        _ => Splitter::new(bytes, Some(Side::Runtime), request).collect(),
    };
    // Every byte is in exactly one item.
    let mut at = 0;
    for item in &items {
        assert_eq!(item.offset, at, "{items:?}");
        at += item.size;
        assert!(
            item.error.as_ref().is_none_or(|problem| problem.fault.offset <= item.size),
            "{item:?}"
        );
    }
    assert_eq!(at, bytes.len(), "{items:?}");
    if how & 1 == 0 {
        return items.iter().for_each(|item| {
            annotated::item(&mut io::sink(), item, item.bytes_in(bytes)).unwrap();
        });
    }
    let json = serde_json::to_string(&items).unwrap();
    let again: Vec<Item> = serde_json::from_str(&json).unwrap();
    assert_eq!(serde_json::to_string(&again).unwrap(), json);
}
