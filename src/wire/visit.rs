//! Builds values part by part: from the wire, from JSON, for annotated dumps and for generated
//! values.

use super::{Array, Cursor, Decode, Encode, Field, Guid, IpcString, LimitError, LimitKind};
use crate::hresult::HResult;

/// The names of the values of a `uint`.
pub type Names = fn(u32) -> Option<&'static str>;

/// A value of the grammar that any [`Visitor`] can give.
pub trait Visit<'a>: Decode<'a> + Encode + Copy {
    /// Asks the source for each part, in the order of the wire.
    fn build<S: Visitor<'a>>(source: &mut S) -> Result<Self, S::Error>;
}

/// A struct that knows the offsets of its fields.
pub(crate) trait Layout {
    /// The offset of a field from the start of the struct; without a field, its length.
    fn offset_of(&self, field: Field) -> usize;

    /// What a server refuses in a field.
    #[cold]
    #[inline(never)]
    fn refuse<T>(&self, field: Field, kind: LimitKind) -> Result<T, LimitError> {
        Err(LimitError::new(kind, self.offset_of(field)).within(field))
    }

    /// What is refused inside a field.
    #[inline]
    fn in_field(
        &self,
        field: Field,
        mut checked: Result<(), LimitError>,
    ) -> Result<(), LimitError> {
        if let Err(error) = &mut checked {
            error.move_behind(self.offset_of(field));
            error.path_mut().push(field);
        }
        checked
    }
}

/// Provides the parts of a value. One method for each kind of part.
pub trait Visitor<'a>: Sized {
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
    fn array<T: Visit<'a>>(&mut self) -> Result<Array<'a, T>, Self::Error>;

    /// A `uint` with named values; a set of bits has none.
    fn number(&mut self, names: Option<Names>) -> Result<u32, Self::Error>;

    /// The bytes up to the end of the payload.
    fn tail(&mut self) -> Result<&'a [u8], Self::Error>;

    /// `session_type`, which determines the fields that follow: whether it is 1 (`user_events`)
    /// rather than 0 (streaming). Others are refused (F-18).
    fn is_user_events(&mut self) -> Result<bool, Self::Error>;

    /// One field of a struct.
    fn field<T: Visit<'a>>(&mut self, field: Field) -> Result<T, Self::Error>;

    /// A struct with the fields that `fields` requests.
    fn object<T>(
        &mut self,
        fields: impl FnOnce(&mut Self) -> Result<T, Self::Error>,
    ) -> Result<T, Self::Error> {
        fields(self)
    }
}

/// Something is wrong; the reader knows what.
pub struct Failed;

macro_rules! read {
    ($($part:ident: $t:ty),*) => {$(
        #[inline]
        fn $part(&mut self) -> Result<$t, Failed> {
            <$t>::read(self).ok_or(Failed)
        }
    )*};
}

/// The wire, with the reason for an error or without.
impl<'a, C: Cursor<'a>> Visitor<'a> for C {
    type Error = Failed;

    read! {
        byte: u8, ushort: u16, uint: u32, ulong: u64, bool: bool, hresult: HResult, guid: Guid, string: IpcString<'a>, bytes: &'a [u8]
    }

    #[inline]
    fn array<T: Visit<'a>>(&mut self) -> Result<Array<'a, T>, Failed> {
        Array::read(self).ok_or(Failed)
    }

    #[inline]
    fn number(&mut self, _: Option<Names>) -> Result<u32, Failed> {
        self.uint()
    }

    #[inline]
    fn tail(&mut self) -> Result<&'a [u8], Failed> {
        Cursor::bytes(self, self.rest().len()).ok_or(Failed)
    }

    #[inline]
    fn is_user_events(&mut self) -> Result<bool, Failed> {
        match self.read_field(Field::SessionType) {
            Some(0u32) => Ok(false),
            Some(1) => Ok(true),
            Some(session_type) => {
                self.no_session_type(session_type);
                Err(Failed)
            }
            None => Err(Failed),
        }
    }

    #[inline(always)]
    #[allow(clippy::inline_always, reason = "a skipped item is then never in memory")]
    fn field<T: Visit<'a>>(&mut self, field: Field) -> Result<T, Failed> {
        self.read_field(field).ok_or(Failed)
    }
}

macro_rules! parts {
    ($($t:ty = $part:ident),*) => {$(
        impl<'a> Visit<'a> for $t {
            #[inline]
            fn build<S: Visitor<'a>>(source: &mut S) -> Result<Self, S::Error> {
                source.$part()
            }
        }
    )*};
}

parts! {
    u8 = byte, u16 = ushort, u32 = uint, u64 = ulong, bool = bool, HResult = hresult, Guid = guid, IpcString<'a> = string, &'a [u8] = bytes
}

impl<'a, T: Visit<'a>> Visit<'a> for Array<'a, T> {
    #[inline]
    fn build<S: Visitor<'a>>(source: &mut S) -> Result<Self, S::Error> {
        source.array()
    }
}
