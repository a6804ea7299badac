//! Builds values part by part, from the wire or JSON, for annotated dumps, and for generated
//! values.

use byteorder::{ByteOrder as _, LittleEndian};

use super::reader::{Cursor, Failed};
use super::{Array, Decode, Encode, Field, Guid, IpcString, WireError, WireErrorKind};
use crate::hresult::HResult;
use core::fmt::Debug;

/// A function that returns the name of a `uint` value, if the value has one.
pub type Names = fn(u32) -> Option<&'static str>;

/// A value that any [`Visitor`] can build.
pub trait Visit<'a>: Decode<'a> + Encode + Copy {
    /// This type with the lifetime `'o`.
    type Of<'o>: Visit<'o> + PartialEq + Debug + 'o;

    /// Builds the value by asking `source` for each part in the order of the wire.
    fn build<S: Visitor<'a>>(source: &mut S) -> Result<Self, S::Error>;
}

/// A struct that knows the offsets of its fields.
pub(crate) trait Layout {
    /// Returns the offset of a field from the struct's start, or the length if there is none.
    fn offset_of(&self, field: Field) -> usize;

    /// Returns the error of a field whose value a server refuses.
    #[cold]
    #[inline(never)]
    fn refuse<T>(&self, field: Field, kind: WireErrorKind) -> Result<T, WireError> {
        Err(WireError::new(kind, self.offset_of(field)).within(field))
    }

    /// Returns an error if a name or path is absent.
    fn require(&self, field: Field, name: IpcString<'_>) -> Result<(), WireError> {
        if name.is_absent() { self.refuse(field, WireErrorKind::AbsentName) } else { Ok(()) }
    }

    /// Moves an error of a field's contents to the field.
    #[inline]
    fn in_field(&self, field: Field, mut checked: Result<(), WireError>) -> Result<(), WireError> {
        if let Err(error) = &mut checked {
            error.move_behind(self.offset_of(field));
            error.path_mut().push(field);
        }
        checked
    }
}

/// A source of the parts of a value, with one method for each kind of part.
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

    /// Returns a `uint` with named values. A set of bits has no `names`.
    fn number(&mut self, names: Option<Names>) -> Result<u32, Self::Error>;

    /// Returns the bytes up to the end of the payload.
    fn tail(&mut self) -> Result<&'a [u8], Self::Error>;

    /// Returns whether `session_type`, which determines the fields that follow, is 1
    /// (`user_events`) rather than 0 (streaming). Refuses other values (F-18).
    fn is_user_events(&mut self) -> Result<bool, Self::Error>;

    /// Returns one field of a struct.
    fn field<T: Visit<'a>>(&mut self, field: Field) -> Result<T, Self::Error>;

    /// Returns a struct with the fields that `fields` requests.
    #[inline]
    fn object<T>(
        &mut self,
        fields: impl FnOnce(&mut Self) -> Result<T, Self::Error>,
    ) -> Result<T, Self::Error> {
        fields(self)
    }
}

/// Reads values from the wire. Only this implementation reads each kind of field.
impl<'a> Visitor<'a> for Cursor<'a, '_> {
    type Error = Failed;

    #[inline]
    fn byte(&mut self) -> Result<u8, Failed> {
        self.take_array().map(|[byte]| *byte)
    }

    #[inline]
    fn ushort(&mut self) -> Result<u16, Failed> {
        self.take_array::<2>().map(|bytes| LittleEndian::read_u16(bytes))
    }

    #[inline]
    fn uint(&mut self) -> Result<u32, Failed> {
        self.take_array::<4>().map(|bytes| LittleEndian::read_u32(bytes))
    }

    #[inline]
    fn ulong(&mut self) -> Result<u64, Failed> {
        self.take_array::<8>().map(|bytes| LittleEndian::read_u64(bytes))
    }

    /// Reads any byte except 0 as true (F-16). Only 0 and 1 are canonical.
    #[inline]
    fn bool(&mut self) -> Result<bool, Failed> {
        self.byte().map(|byte| byte != 0)
    }

    #[inline]
    fn hresult(&mut self) -> Result<HResult, Failed> {
        self.uint().map(HResult)
    }

    #[inline]
    fn guid(&mut self) -> Result<Guid, Failed> {
        self.take_array().map(|bytes| Guid::from_bytes(*bytes))
    }

    #[inline]
    fn string(&mut self) -> Result<IpcString<'a>, Failed> {
        let count = self.count(2)?;
        if count == 0 {
            return Ok(IpcString::ABSENT);
        }
        match self.take((count as usize).saturating_mul(2))?.split_last_chunk() {
            Some((text, [0, 0])) => Ok(IpcString::from_wire_units(text)),
            last => {
                let unit = last.map_or(0, |(_, unit)| u16::from_le_bytes(*unit));
                let kind = WireErrorKind::MissingTerminator { unit };
                Err(self.fail(2, kind))
            }
        }
    }

    #[inline]
    fn bytes(&mut self) -> Result<&'a [u8], Failed> {
        let count = self.count(1)?;
        self.take(count as usize)
    }

    #[inline]
    fn array<T: Visit<'a>>(&mut self) -> Result<Array<'a, T>, Failed> {
        Array::read(self)
    }

    #[inline]
    fn number(&mut self, _: Option<Names>) -> Result<u32, Failed> {
        self.uint()
    }

    #[inline]
    fn tail(&mut self) -> Result<&'a [u8], Failed> {
        self.take(self.rest().len())
    }

    #[inline]
    fn is_user_events(&mut self) -> Result<bool, Failed> {
        match self.field(Field::SessionType)? {
            0u32 => Ok(false),
            1 => Ok(true),
            session_type => {
                self.fail(4, WireErrorKind::UnknownSessionType { session_type });
                Err(self.within(Field::SessionType))
            }
        }
    }

    #[inline]
    fn field<T: Visit<'a>>(&mut self, field: Field) -> Result<T, Failed> {
        self.read_field(field)
    }
}

/// Implements `Decode` for a type that any [`Visitor`] can build.
macro_rules! decode_by_build {
    () => {
        $crate::wire::decode_by_read! {}

        #[inline]
        fn read(cursor: &mut $crate::wire::Cursor<'a, '_>) -> Result<Self, $crate::wire::Failed> {
            $crate::wire::Visit::build(cursor)
        }
    };
}

pub(crate) use decode_by_build;

macro_rules! parts {
    ($($t:ty, $Of:ty, $len:literal $($is_number:literal)? = $part:ident;)*) => {$(
        impl<'a> Visit<'a> for $t {
            type Of<'o> = $Of;

            #[inline]
            fn build<S: Visitor<'a>>(source: &mut S) -> Result<Self, S::Error> {
                source.$part()
            }
        }

        impl<'a> Decode<'a> for $t {
            const MIN_LEN: usize = $len;
            $(const IS_NUMBER: bool = $is_number;)?

            decode_by_build! {}
        }
    )*};
}

parts! {
    u8, u8, 1 = byte;
    u16, u16, 2 true = ushort;
    u32, u32, 4 true = uint;
    u64, u64, 8 true = ulong;
    bool, bool, 1 = bool;
    HResult, HResult, 4 = hresult;
    Guid, Guid, 16 = guid;
    IpcString<'a>, IpcString<'o>, 4 = string;
    &'a [u8], &'o [u8], 4 = bytes;
}

impl<'a, T: Visit<'a>> Visit<'a> for Array<'a, T> {
    type Of<'o> = Array<'o, T::Of<'o>>;

    #[inline]
    fn build<S: Visitor<'a>>(source: &mut S) -> Result<Self, S::Error> {
        source.array()
    }
}
