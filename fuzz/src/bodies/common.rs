//! What several bodies use: sizes of pieces, a sink for text, the encoding of a value.

use dotnet_diagnostics_ipc::wire::Encode;

/// Sizes of pieces, repeated; if empty, all at once. A size of 0 is 1.
pub(super) struct Pieces<'p>(std::iter::Cycle<std::slice::Iter<'p, u8>>);

impl<'p> Pieces<'p> {
    pub(super) fn new(sizes: &'p [u8]) -> Self {
        Self(sizes.iter().cycle())
    }

    pub(super) fn next(&mut self) -> usize {
        self.0.next().map_or(usize::MAX, |size| usize::from(*size).max(1))
    }
}

/// Discarded text: only writing it matters.
pub(super) struct Nowhere;

impl std::fmt::Write for Nowhere {
    fn write_str(&mut self, _: &str) -> std::fmt::Result {
        Ok(())
    }
}

/// Prints a value, for the panics that this may cause.
pub(super) fn show(value: impl std::fmt::Debug) {
    std::fmt::Write::write_fmt(&mut Nowhere, format_args!("{value:?}")).unwrap();
}

/// The encoding of a value.
pub(super) fn written(value: &(impl Encode + ?Sized)) -> Vec<u8> {
    let mut bytes = Vec::new();
    value.encode(&mut bytes).unwrap();
    bytes
}
