//! Which bytes of a request are which kind of field.

use alloc::{string::String, vec::Vec};
use core::ops::Range;

use crate::header::HEADER_LEN;
use crate::vectors::{Subject, Type};

/// What a field is on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum What {
    /// The count of a string's units, with its NUL.
    StringLength,
    /// The units of a string.
    Units,
    /// The count of an array's items.
    Count,
    /// The count of bytes.
    ByteCount,
    /// A byte that is true or false.
    Boolean,
    /// A number, an identifier, or bytes without a structure.
    Plain,
}

/// A field.
#[derive(Clone, Debug)]
pub(super) struct Leaf {
    pub(super) range: Range<usize>,
    pub(super) what: What,
    path: String,
}

/// An array.
#[derive(Clone, Debug)]
pub(super) struct Items {
    pub(super) count: Range<usize>,
    pub(super) items: Vec<Range<usize>>,
}

/// The fields of the payload, as far as it can be read.
pub(super) fn leaves(message: &[u8]) -> Vec<Leaf> {
    let notes = Subject { kind: Type::Request, command: None, from_server: false }.annotate(message);
    let mut leaves: Vec<Leaf> = Vec::new();
    for note in notes.list().iter().filter(|note| note.offset >= HEADER_LEN && note.len > 0) {
        let before = leaves.last().filter(|leaf| leaf.path == note.field).map(|leaf| leaf.what);
        // The words of the annotation tell a count from a number.
        let what = match before {
            Some(What::StringLength) => What::Units,
            _ if note.len == 4 && note.text.starts_with("length ") => What::StringLength,
            _ if note.len == 4 && note.text.ends_with(" items") => What::Count,
            _ if note.len == 4 && note.text.ends_with(" bytes") => What::ByteCount,
            _ if note.len == 1 && ["true", "false"].contains(&note.text.as_str()) => What::Boolean,
            _ => What::Plain,
        };
        leaves.push(Leaf { range: note.offset..note.offset.saturating_add(note.len), what, path: note.field.clone() });
    }
    leaves
}

/// The arrays with their items, also those inside others.
pub(super) fn arrays(leaves: &[Leaf]) -> Vec<Items> {
    let counts = leaves.iter().filter(|leaf| leaf.what == What::Count);
    let of_count = |count: &Leaf| {
        let mut items: Vec<Range<usize>> = Vec::new();
        for leaf in leaves {
            let Some(nth) = index(&leaf.path, &count.path) else { continue };
            match items.get_mut(nth) {
                Some(item) => item.end = leaf.range.end,
                None => items.push(leaf.range.clone()),
            }
        }
        Items { count: count.range.clone(), items }
    };
    counts.map(of_count).collect()
}

/// The index of the item of `array` to which `path` leads.
fn index(path: &str, array: &str) -> Option<usize> {
    let (index, _) = path.strip_prefix(array)?.strip_prefix('[')?.split_once(']')?;
    index.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `CollectTracing2` with the providers `A` and, with arguments, `B`.
    const COLLECT: &str = "444f544e45545f4950435f5631005600020300000001000001000000010200000001000000000000000400000002000000\
                           41000000000000000000000000000000050000000200000042000000020000004300000000";

    #[test]
    fn each_field_is_what_it_is() {
        let mut message = hex::decode(COLLECT).unwrap();
        message.truncate(0x56);
        let leaves = leaves(&message);
        let kinds: Vec<_> = leaves.iter().map(|leaf| (leaf.range.clone(), leaf.what)).collect();
        assert_eq!(
            kinds,
            [
                (20..24, What::Plain),
                (24..28, What::Plain),
                (28..29, What::Boolean),
                (29..33, What::Count),
                (33..41, What::Plain),
                (41..45, What::Plain),
                (45..49, What::StringLength),
                (49..53, What::Units),
                (53..57, What::StringLength),
                (57..65, What::Plain),
                (65..69, What::Plain),
                (69..73, What::StringLength),
                (73..77, What::Units),
                (77..81, What::StringLength),
                (81..85, What::Units),
                (85..86, What::Plain),
            ]
        );
        let arrays = arrays(&leaves);
        assert_eq!(arrays.len(), 1);
        assert_eq!(arrays[0].items, [33..57, 57..85]);
    }
}
