//! The wrong byte order of a GUID.

/// The bytes of a GUID with those of its first three parts reversed: from the order of the wire to
/// that of its text, and back.
pub(crate) fn guid_reversed(mut guid: [u8; 16]) -> [u8; 16] {
    for part in [0..4, 4..6, 6..8] {
        if let Some(part) = guid.get_mut(part) {
            part.reverse();
        }
    }
    guid
}
