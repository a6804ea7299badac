//! Helpers of several bodies: sizes of pieces, a sink for text, the encoding of a value.

use dotnet_diagnostics_ipc::wire::Encode;

/// Repeated sizes of pieces; if empty, all bytes are one piece. A size of 0 is 1.
pub(super) struct Pieces<'p>(std::iter::Cycle<std::slice::Iter<'p, u8>>);

impl<'p> Pieces<'p> {
    pub(super) fn new(sizes: &'p [u8]) -> Self {
        Self(sizes.iter().cycle())
    }

    pub(super) fn next(&mut self) -> usize {
        self.0.next().map_or(usize::MAX, |size| usize::from(*size).max(1))
    }
}

/// A sink that discards text.
pub(super) struct Nowhere;

impl std::fmt::Write for Nowhere {
    fn write_str(&mut self, _: &str) -> std::fmt::Result {
        Ok(())
    }
}

/// Prints a value, because that may panic.
pub(super) fn show(value: impl std::fmt::Debug) {
    std::fmt::Write::write_fmt(&mut Nowhere, format_args!("{value:?}")).unwrap();
}

/// Returns the encoding of a value.
pub(super) fn written(value: &(impl Encode + ?Sized)) -> Vec<u8> {
    let mut bytes = Vec::new();
    value.encode(&mut bytes).unwrap();
    bytes
}
