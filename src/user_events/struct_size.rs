//! The `size` at the front of the kernel's structures.

use crate::wire::{Decode, DecodeError, DecodeErrorKind, Encode, EncodeError, Reader, Sink};

/// The `size` of a kernel structure of `N` bytes: a `u32` that has only this one value.
///
/// The kernel tells versions of a structure apart by it. Another size is refused, also a larger one: it would be a structure
/// with fields that are not known here. (A [`UserReg`](super::UserReg) has a [size of its own](super::UserRegSize).)
///
/// ```
/// use dotnet_diagnostics_ipc::user_events::StructSize;
/// use dotnet_diagnostics_ipc::wire::{Decode as _, DecodeErrorKind, Reader};
///
/// assert_eq!(StructSize::<16>::decode(&mut Reader::new(&[16, 0, 0, 0])), Ok(StructSize));
/// let error = StructSize::<16>::decode(&mut Reader::new(&[28, 0, 0, 0])).unwrap_err();
/// assert_eq!(error.kind(), DecodeErrorKind::WrongStructSize { size: 28, expected: 16 });
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct StructSize<const N: u32>;

impl<'a, const N: u32> Decode<'a> for StructSize<N> {
    const MIN_LEN: usize = 4;

    fn decode(reader: &mut Reader<'a>) -> Result<Self, DecodeError> {
        let offset = reader.offset();
        match u32::decode(reader)? {
            size if size == N => Ok(Self),
            size => Err(DecodeError::new(DecodeErrorKind::WrongStructSize { size, expected: N }, offset)),
        }
    }
}

impl<const N: u32> Encode for StructSize<N> {
    fn encode<S: Sink + ?Sized>(&self, sink: &mut S) -> Result<(), EncodeError> {
        N.encode(sink)
    }
}
