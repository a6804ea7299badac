//! Label 0x01 of an extension: an event's metadata, with or without its provider's name.

use core::fmt;

use crate::wire::{
    Decode, DecodeError, DecodeErrorKind, Encode, EncodeError, Field, Fields, IpcString, Reader, Sink, Source, clamp,
};

/// The data of label 0x01: the document's `array<byte> metadata`.
///
/// | bytes | what |
/// |---|---|
/// | 4 | length of all that follows |
/// | 2 × n + 2 | the provider's name, UTF-16LE, with a NUL; not from early .NET 10 builds (F-27) |
/// | … | the event's own metadata, as in a `MetadataBlock` of nettrace version 5, without `MetadataId` and `ProviderName` |
///
/// So all that is behind the length is, byte for byte, the payload of a stream's metadata behind `MetadataId` (P-23). A native
/// event has there its id, an empty name, keywords, version, level, and a count of 0 fields.
///
/// Nothing in the bytes says whether the name is there: that depends on the runtime. So what was decoded is kept whole, and
/// [`split_provider_name`](Self::split_provider_name) is asked only where the name is known to be there. Early builds begin with
/// the event's id, a `u32`. Equality is by the bytes.
///
/// ```
/// use dotnet_diagnostics_ipc::user_events::Metadata;
/// use dotnet_diagnostics_ipc::wire::{Decode as _, Encode as _, IpcString, Reader};
///
/// let block = Metadata::decode(&mut Reader::new(b"\x06\0\0\0P\0\0\0\xaa\xbb")).unwrap();
/// assert_eq!(block.split_provider_name(), Ok((IpcString::new("P"), &[0xaa, 0xbb][..])));
/// assert_eq!(block, Metadata::named("P".into(), &[0xaa, 0xbb])?);
/// assert_eq!(block, Metadata::new(b"P\0\0\0\xaa\xbb"));
/// # Ok::<(), dotnet_diagnostics_ipc::wire::EncodeError>(())
/// ```
#[derive(Clone, Copy)]
pub struct Metadata<'a> {
    /// There, and without a NUL inside; `None` if it is a part of `rest`, or missing.
    provider_name: Option<IpcString<'a>>,
    rest: &'a [u8],
}

impl<'a> Metadata<'a> {
    /// The bytes behind the length, as they are.
    pub const fn new(bytes: &'a [u8]) -> Self {
        Self { provider_name: None, rest: bytes }
    }

    /// The provider's name, then the event's own metadata, as runtimes send it.
    ///
    /// # Errors
    /// [`EncodeError::EmptyName`] if the name is absent, [`EncodeError::ForbiddenUnit`] if it has a NUL inside, where it would end.
    pub fn named(provider_name: IpcString<'a>, metadata: &'a [u8]) -> Result<Self, EncodeError> {
        if provider_name.is_absent() {
            return Err(EncodeError::EmptyName);
        }
        if provider_name.has_inner_nul() {
            return Err(EncodeError::ForbiddenUnit { unit: 0 });
        }
        Ok(Self { provider_name: Some(provider_name), rest: metadata })
    }

    /// The provider's name and the event's own metadata, if the runtime is one that sends the name.
    ///
    /// # Errors
    /// [`UnexpectedEnd`](DecodeErrorKind::UnexpectedEnd) of `provider_name` where the bytes end before its NUL. The offset counts
    /// from behind the length.
    pub fn split_provider_name(&self) -> Result<(IpcString<'a>, &'a [u8]), DecodeError> {
        if let Some(name) = self.provider_name {
            return Ok((name, self.rest));
        }
        let units = self.rest.chunks_exact(2).position(|unit| unit == [0, 0]);
        let Some(end) = units.map(|units| units.saturating_mul(2)) else {
            let odd = self.rest.len() & 1;
            let kind = DecodeErrorKind::UnexpectedEnd { needed: 2, remaining: clamp(odd) };
            return Err(DecodeError::new(kind, self.rest.len().saturating_sub(odd)).within(Field::ProviderName));
        };
        let (name, behind) = self.rest.split_at_checked(end).unwrap_or_default();
        Ok((IpcString::from_wire_units(name), behind.get(2..).unwrap_or_default()))
    }

    /// The bytes behind the length.
    pub fn bytes(&self) -> impl Iterator<Item = u8> + 'a {
        let name = self.provider_name.into_iter().flat_map(|name| name.units().chain([0]));
        name.flat_map(u16::to_le_bytes).chain(self.rest.iter().copied())
    }

    /// How many bytes there are behind the length.
    pub fn len(&self) -> usize {
        let name = self.provider_name.map_or(0, |name| name.units().count().saturating_add(1).saturating_mul(2));
        name.saturating_add(self.rest.len())
    }

    /// Whether there is no byte: the event has no metadata.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl PartialEq for Metadata<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.bytes().eq(other.bytes())
    }
}

impl Eq for Metadata<'_> {}

impl fmt::Debug for Metadata<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.bytes()).finish()
    }
}

impl<'a> Decode<'a> for Metadata<'a> {
    const MIN_LEN: usize = 4;

    fn decode(reader: &mut Reader<'a>) -> Result<Self, DecodeError> {
        <&[u8]>::decode(reader).map(Self::new)
    }
}

/// The bytes behind the length: they do not say whether a provider's name is in front.
impl<'a> Fields<'a> for Metadata<'a> {
    fn build<S: Source<'a>>(source: &mut S) -> Result<Self, S::Error> {
        source.bytes().map(Self::new)
    }
}

impl Encode for Metadata<'_> {
    fn encode<S: Sink + ?Sized>(&self, sink: &mut S) -> Result<(), EncodeError> {
        let count = self.len();
        u32::try_from(count).map_err(|_| EncodeError::CountTooLarge { count })?.encode(sink)?;
        for unit in self.provider_name.into_iter().flat_map(|name| name.units().chain([0])) {
            sink.put(&unit.to_le_bytes());
        }
        sink.put(self.rest);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use crate::wire::SliceSink;
    use std::string::ToString as _;

    #[test]
    fn length_covers_the_name_and_its_nul() {
        let block = Metadata::named("P😀".into(), b"\x2a\0\0\0").unwrap();
        let mut bytes = [0; 16];
        let mut sink = SliceSink::new(&mut bytes);
        block.encode(&mut sink).unwrap();
        assert_eq!(sink.finish(), Ok(16));
        assert_eq!(&bytes, b"\x0c\0\0\0P\0\x3d\xd8\x00\xde\0\0\x2a\0\0\0");
        assert_eq!((block.len(), block.encoded_len()), (12, Ok(16)));
        let again = Metadata::decode(&mut Reader::new(&bytes)).unwrap();
        assert_eq!(again, block);
        assert_eq!(again.split_provider_name(), Ok((IpcString::new("P😀"), &b"\x2a\0\0\0"[..])));
        assert_eq!(block.split_provider_name(), again.split_provider_name());
    }

    #[test]
    fn nul_of_a_name_is_a_unit_not_two_bytes() {
        // Units 0x0041, 0x4100: two zero bytes stand beside each other, at an odd offset.
        let block = Metadata::new(b"\x41\x00\x00\x41\0\0\x07");
        assert_eq!(block.split_provider_name(), Ok((IpcString::from_units(&[0x41, 0x4100]), &[7][..])));
    }

    #[test]
    fn name_without_its_nul_is_refused() {
        for (bytes, offset, remaining) in [(&b""[..], 0, 0), (b"P\0", 2, 0), (b"P\0\0", 2, 1)] {
            let error = Metadata::new(bytes).split_provider_name().unwrap_err();
            assert_eq!(error.kind(), DecodeErrorKind::UnexpectedEnd { needed: 2, remaining });
            assert_eq!((error.offset(), error.path().to_string()), (offset, "provider_name".into()));
        }
    }

    #[test]
    fn name_that_would_end_early_is_refused() {
        assert_eq!(Metadata::named(IpcString::ABSENT, &[]), Err(EncodeError::EmptyName));
        assert_eq!(Metadata::named("a\0b".into(), &[]), Err(EncodeError::ForbiddenUnit { unit: 0 }));
        // A name of nothing but its NUL can be read back.
        assert_eq!(Metadata::named("".into(), &[]).unwrap().split_provider_name(), Ok(("".into(), &[][..])));
    }

    #[test]
    fn equal_is_what_has_the_same_bytes() {
        assert_eq!(Metadata::named("P".into(), &[1]).unwrap(), Metadata::new(b"P\0\0\0\x01"));
        assert_ne!(Metadata::named("P".into(), &[1]).unwrap(), Metadata::new(&[1]));
        assert!(Metadata::new(&[]).is_empty() && !Metadata::named("".into(), &[]).unwrap().is_empty());
    }
}
