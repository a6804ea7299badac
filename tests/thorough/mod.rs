//! What takes minutes is played whole in the gate, where `DIAG_THOROUGH` is set, and elsewhere one
//! part of it in ten: always the same.

/// Of ten parts: this one.
const PART: usize = 7;

/// Whether everything is played.
pub(crate) fn is_whole() -> bool {
    std::env::var_os("DIAG_THOROUGH").is_some()
}

/// Whether the `nth` of many is played.
pub(crate) fn is_chosen(nth: usize) -> bool {
    nth % 10 == PART || is_whole()
}
