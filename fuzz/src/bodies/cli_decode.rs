//! Runs `diagipc decode` with any bytes, text and options.

use std::io;

use diagipc::print;
use dotnet_diagnostics_ipc::command::Command;
use dotnet_diagnostics_ipc_vectors::Direction;
use dotnet_diagnostics_ipc_vectors::explain::{Item, Splitter};
use dotnet_diagnostics_ipc_vectors::pasted::{PastedForm, read_capture};

use crate::bodies::kind;

/// Takes `[how, which, bytes …]`.
pub fn cli_decode(input: &[u8]) {
    let Some(([how, which], bytes)) = input.split_first_chunk::<2>() else { return };
    if let Ok(text) = str::from_utf8(bytes) {
        pasted(text);
    }
    if let Ok(capture) = read_capture(bytes) {
        assert!(capture.bytes.len() <= bytes.len());
        assert_eq!(capture.parts.iter().map(|part| part.len).sum::<usize>(), capture.bytes.len());
    }
    let request = Command::known().nth(usize::from(*which));
    let items: Vec<Item> = match how >> 1 & 3 {
        0 => Splitter::new(bytes, None, None).collect(),
        1 => Splitter::new(bytes, Some(Direction::Client), request).collect(),
        2 => vec![Item::whole(kind(*which), bytes)],
        _ => Splitter::new(bytes, Some(Direction::Server), request).collect(),
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
            print::explained(&mut io::sink(), item, bytes).unwrap();
        });
    }
    let json = serde_json::to_string(&items).unwrap();
    let again: Vec<Item> = serde_json::from_str(&json).unwrap();
    assert_eq!(serde_json::to_string(&again).unwrap(), json);
}

/// Reads text in each form, or refuses it at a place in it.
fn pasted(text: &str) {
    let lines = text.split('\n').count();
    for form in PastedForm::ALL {
        match form.read(text) {
            Ok(read) => {
                // A column of `od -c` may lack the spaces at its end.
                assert!(read.bytes.len() <= text.len() + 64 * lines, "{form} of {text:?}");
                assert_eq!(read.parts.iter().map(|part| part.len).sum::<usize>(), read.bytes.len());
            }
            Err(error) => assert!((1..=lines).contains(&error.line), "{form} of {text:?}: {error}"),
        }
    }
    let _ = PastedForm::of(text);
}
