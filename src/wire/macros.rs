//! Macros that declare payloads and open enums. They are private and not exported.

/// Declares a payload whose fields are read and written in the order of their declaration.
///
/// A field is `pub name: Type = FieldName,` where `FieldName` is its name in the document. A
/// lifetime must be called `'a`.
macro_rules! wire_struct {
    (
        $(#[$meta:meta])*
        pub struct $Name:ident $(<$lt:lifetime>)? {
            $($(#[$field_meta:meta])* pub $field:ident: $Type:ty = $Field:ident,)*
        }
    ) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub struct $Name $(<$lt>)? { $($(#[$field_meta])* pub $field: $Type,)* }

        impl<'a> $Name $(<$lt>)? {
            /// Builds the fields, which may follow other fields of the same object.
            #[inline(always)]
            #[allow(clippy::inline_always, reason = "avoids storing an item that is only checked")]
            #[allow(unused_variables, reason = "a payload may have no field")]
            pub(crate) fn fields<S: $crate::wire::Visitor<'a>>(source: &mut S) -> Result<Self, S::Error> {
                Ok(Self { $($field: source.field($crate::wire::Field::$Field)?,)* })
            }
        }

        impl<'a> $crate::wire::Visit<'a> for $Name $(<$lt>)? {
            $crate::wire::macros::lent! { $Name $(<$lt>)? }

            #[inline]
            fn build<S: $crate::wire::Visitor<'a>>(source: &mut S) -> Result<Self, S::Error> {
                source.object(Self::fields)
            }
        }

        impl $(<$lt>)? $crate::wire::Layout for $Name $(<$lt>)? {
            #[cold]
            #[inline(never)]
            fn offset_of(&self, field: $crate::wire::Field) -> usize {
                let lens: &[($crate::wire::Field, Result<usize, $crate::wire::EncodeError>)] =
                    &[$(($crate::wire::Field::$Field, $crate::wire::Encode::encoded_len(&self.$field)),)*];
                let before = lens.iter().take_while(|(this, _)| *this != field);
                before.fold(0, |sum, (_, len)| sum.saturating_add(len.unwrap_or(usize::MAX)))
            }
        }

        impl<'a> $crate::wire::Decode<'a> for $Name $(<$lt>)? {
            const MIN_LEN: usize = 0 $(+ <$Type as $crate::wire::Decode<'a>>::MIN_LEN)*;

            $crate::wire::decode_by_read! {}

            #[inline(always)]
            #[allow(clippy::inline_always, reason = "avoids storing an item that is only checked")]
            fn read(cursor: &mut $crate::wire::Cursor<'a, '_>) -> Result<Self, $crate::wire::Failed> {
                Self::fields(cursor)
            }
        }

        impl $(<$lt>)? $crate::wire::Encode for $Name $(<$lt>)? {
            #[inline]
            #[allow(unused_variables, reason = "a payload may have no field")]
            fn encode<S: $crate::wire::Sink + ?Sized>(&self, sink: &mut S) -> Result<(), $crate::wire::EncodeError> {
                $(self.$field.encode(sink)?;)*
                Ok(())
            }
        }
    };
}

/// Names the type with another lifetime, if it has one.
macro_rules! lent {
    ($Name:ident) => {
        type Of<'o> = Self;
    };
    ($Name:ident <$lt:lifetime>) => {
        type Of<'o> = $Name<'o>;
    };
}

/// Declares a `uint` with named values that keeps other values unchanged.
macro_rules! open_enum {
    (
        $(#[$meta:meta])*
        pub enum $Name:ident {
            $($(#[$value_meta:meta])* $CONST:ident = $value:literal, $text:literal;)*
        }
    ) => {
        $(#[$meta])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $Name(pub u32);

        impl $Name {
            $($(#[$value_meta])* pub const $CONST: Self = Self($value);)*

            /// Returns the name of the value, if it has one.
            pub const fn name(self) -> Option<&'static str> {
                match self.0 {
                    $($value => Some($text),)*
                    _ => None,
                }
            }
        }

        impl core::fmt::Debug for $Name {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                match self.name() {
                    Some(name) => write!(f, "{}({}: {name})", stringify!($Name), self.0),
                    None => write!(f, "{}({})", stringify!($Name), self.0),
                }
            }
        }

        $crate::wire::macros::newtype! { $Name, Some(|value| Self(value).name()) }
    };
}

/// Implements the traits of a tuple struct around a `uint`, with optional names for its values.
macro_rules! newtype {
    ($Name:ident, $names:expr) => {
        impl<'a> $crate::wire::Decode<'a> for $Name {
            const MIN_LEN: usize = 4;

            $crate::wire::decode_by_build! {}
        }

        impl $crate::wire::Encode for $Name {
            #[inline]
            fn encode<S: $crate::wire::Sink + ?Sized>(
                &self,
                sink: &mut S,
            ) -> Result<(), $crate::wire::EncodeError> {
                self.0.encode(sink)
            }
        }

        impl<'a> $crate::wire::Visit<'a> for $Name {
            type Of<'o> = Self;

            #[inline]
            fn build<S: $crate::wire::Visitor<'a>>(source: &mut S) -> Result<Self, S::Error> {
                source.number($names).map(Self)
            }
        }
    };
}

pub(crate) use {lent, newtype, open_enum, wire_struct};
