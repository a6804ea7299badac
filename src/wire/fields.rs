//! How a value is built, part by part: the same for the wire, the JSON value form, annotated dumps and made-up values.

use super::{Array, Decode, DecodeError, DecodeErrorKind, Encode, Field, Guid, IpcString, LimitError, LimitKind, Reader};
use crate::hresult::HResult;

/// The names of the values of a `uint`.
pub(crate) type Names = fn(u32) -> Option<&'static str>;

/// A value of the grammar that any [`Source`] can give.
pub(crate) trait Fields<'a>: Decode<'a> + Encode + Copy {
    /// Asks the source for each part, in the order of the wire.
    fn build<S: Source<'a>>(source: &mut S) -> Result<Self, S::Error>;
}

/// A struct that knows where its fields are.
pub(crate) trait Layout {
    /// The offset of a field from the front of the struct; of no field: its length.
    fn offset_of(&self, field: Field) -> usize;

    /// What a server refuses in a field.
    fn refuse<T>(&self, field: Field, kind: LimitKind) -> Result<T, LimitError> {
        Err(LimitError::new(kind, self.offset_of(field)).within(field))
    }
}

/// What gives the parts of a value. The methods are the kinds of part there are.
pub(crate) trait Source<'a>: Sized {
    type Error;

    fn byte(&mut self) -> Result<u8, Self::Error>;
    fn ushort(&mut self) -> Result<u16, Self::Error>;
    fn uint(&mut self) -> Result<u32, Self::Error>;
    fn ulong(&mut self) -> Result<u64, Self::Error>;
    fn bool(&mut self) -> Result<bool, Self::Error>;
    fn hresult(&mut self) -> Result<HResult, Self::Error>;
    fn guid(&mut self) -> Result<Guid, Self::Error>;
    fn string(&mut self) -> Result<IpcString<'a>, Self::Error>;
    fn bytes(&mut self) -> Result<&'a [u8], Self::Error>;
    fn array<T: Fields<'a>>(&mut self) -> Result<Array<'a, T>, Self::Error>;

    /// A `uint` whose values have names; a set of bits has none.
    fn number(&mut self, names: Option<Names>) -> Result<u32, Self::Error>;

    /// The bytes up to the end of the payload.
    fn tail(&mut self) -> Result<&'a [u8], Self::Error>;

    /// `session_type`, which says which fields follow: whether it is 1 (`user_events`) and not 0 (streaming). Others are refused (F-18).
    fn is_user_events(&mut self) -> Result<bool, Self::Error>;

    /// One field of a struct.
    fn field<T: Fields<'a>>(&mut self, field: Field) -> Result<T, Self::Error>;

    /// A struct, by the fields that `fields` asks for.
    fn object<T>(&mut self, fields: impl FnOnce(&mut Self) -> Result<T, Self::Error>) -> Result<T, Self::Error> {
        fields(self)
    }
}

macro_rules! decoded {
    ($($part:ident: $t:ty),*) => {$(
        #[inline]
        fn $part(&mut self) -> Result<$t, DecodeError> {
            <$t>::decode(self)
        }
    )*};
}

/// The wire.
impl<'a> Source<'a> for Reader<'a> {
    type Error = DecodeError;

    decoded! {
        byte: u8, ushort: u16, uint: u32, ulong: u64, bool: bool, hresult: HResult, guid: Guid, string: IpcString<'a>, bytes: &'a [u8]
    }

    #[inline]
    fn array<T: Fields<'a>>(&mut self) -> Result<Array<'a, T>, DecodeError> {
        Array::decode(self)
    }

    #[inline]
    fn number(&mut self, _: Option<Names>) -> Result<u32, DecodeError> {
        u32::decode(self)
    }

    #[inline]
    fn tail(&mut self) -> Result<&'a [u8], DecodeError> {
        self.take(self.rest().len())
    }

    #[inline]
    fn is_user_events(&mut self) -> Result<bool, DecodeError> {
        let offset = self.offset();
        match Reader::field(self, Field::SessionType)? {
            0 => Ok(false),
            1u32 => Ok(true),
            session_type => {
                Err(DecodeError::new(DecodeErrorKind::UnknownSessionType { session_type }, offset).within(Field::SessionType))
            }
        }
    }

    #[inline]
    fn field<T: Fields<'a>>(&mut self, field: Field) -> Result<T, DecodeError> {
        Reader::field(self, field)
    }
}

macro_rules! parts {
    ($($t:ty = $part:ident),*) => {$(
        impl<'a> Fields<'a> for $t {
            #[inline]
            fn build<S: Source<'a>>(source: &mut S) -> Result<Self, S::Error> {
                source.$part()
            }
        }
    )*};
}

parts! {
    u8 = byte, u16 = ushort, u32 = uint, u64 = ulong, bool = bool, HResult = hresult, Guid = guid, IpcString<'a> = string, &'a [u8] = bytes
}

impl<'a, T: Fields<'a>> Fields<'a> for Array<'a, T> {
    #[inline]
    fn build<S: Source<'a>>(source: &mut S) -> Result<Self, S::Error> {
        source.array()
    }
}
