//! The fields of a request, and their bytes.

use std::ops::Range;

use dotnet_diagnostics_ipc::header::HEADER_LEN;
use dotnet_diagnostics_ipc_vectors::{Annotation, FieldKind};

use crate::conversation::request_as;

/// A field.
#[derive(Clone, Debug)]
pub(super) struct Leaf {
    pub(super) range: Range<usize>,
    pub(super) kind: FieldKind,
    path: String,
}

/// An array.
#[derive(Clone, Debug)]
pub(super) struct Items {
    pub(super) count: Range<usize>,
    pub(super) items: Vec<Range<usize>>,
}

/// The fields of the payload, as far as it decodes.
pub(super) fn leaves(message: &[u8]) -> Vec<Leaf> {
    let notes = request_as(None).explain(message);
    let of_payload = notes.iter().filter(|note| note.offset >= HEADER_LEN && note.len > 0);
    let leaf = |note: &Annotation| {
        let range = note.offset..note.offset.saturating_add(note.len);
        Leaf { range, kind: note.kind, path: note.field.clone() }
    };
    of_payload.map(leaf).collect()
}

/// The arrays with their items, including nested ones.
pub(super) fn arrays(leaves: &[Leaf]) -> Vec<Items> {
    let counts = leaves.iter().filter(|leaf| leaf.kind == FieldKind::ItemCount);
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

/// The index of the item of `array` on `path`.
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
    fn leaves_have_range_and_kind() {
        let mut message = hex::decode(COLLECT).unwrap();
        message.truncate(0x56);
        let leaves = leaves(&message);
        let kinds: Vec<_> = leaves.iter().map(|leaf| (leaf.range.clone(), leaf.kind)).collect();
        assert_eq!(
            kinds,
            [
                (20..24, FieldKind::Plain),
                (24..28, FieldKind::Plain),
                (28..29, FieldKind::Boolean),
                (29..33, FieldKind::ItemCount),
                (33..41, FieldKind::Plain),
                (41..45, FieldKind::Plain),
                (45..49, FieldKind::StringLength),
                (49..53, FieldKind::Units),
                (53..57, FieldKind::StringLength),
                (57..65, FieldKind::Plain),
                (65..69, FieldKind::Plain),
                (69..73, FieldKind::StringLength),
                (73..77, FieldKind::Units),
                (77..81, FieldKind::StringLength),
                (81..85, FieldKind::Units),
                (85..86, FieldKind::Plain),
            ]
        );
        let arrays = arrays(&leaves);
        assert_eq!(arrays.len(), 1);
        assert_eq!(arrays[0].items, [33..57, 57..85]);
    }
}
