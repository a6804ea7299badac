//! What takes minutes is played in part: the one that `DIAG_THOROUGH` names, `2/3` is the second
//! third and `1` all, or else always the same twentieth.

use std::sync::LazyLock;

/// The part, from 1, and how many there are.
pub(crate) static PART: LazyLock<(usize, usize)> = LazyLock::new(|| {
    let named = std::env::var("DIAG_THOROUGH").unwrap_or_else(|_| "15/20".to_owned());
    let (part, parts) = named.split_once('/').unwrap_or((&named, "1"));
    let (part, parts) = (part.parse().unwrap(), parts.parse().unwrap());
    assert!((1..=parts).contains(&part), "DIAG_THOROUGH is {named}");
    (part, parts)
});

/// Whether everything is played.
pub(crate) fn is_whole() -> bool {
    PART.1 == 1
}

/// Of so many altogether, those of the part.
pub(crate) fn share(all: u32) -> u32 {
    all / u32::try_from(PART.1).unwrap()
}

/// Whether the `nth` of many is played.
pub(crate) fn is_chosen(nth: usize) -> bool {
    nth % PART.1 == PART.0 - 1
}
