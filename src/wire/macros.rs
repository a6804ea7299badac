//! The two macros behind straight-line payloads and open enums. Private: neither is exported.

/// Declares a payload whose fields are read and written in the order in which they stand.
///
/// `pub name: Type = FieldName,` where `FieldName` gives the document's name, used by error paths and the JSON value form.
/// The lifetime, if there is one, must be called `'a`.
macro_rules! wire_struct {
    (
        $(#[$meta:meta])*
        pub struct $Name:ident $(<$lt:lifetime>)? {
            $($(#[$field_meta:meta])* pub $field:ident: $Type:ty = $Field:ident,)*
        }
    ) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub struct $Name $(<$lt>)? {
            $($(#[$field_meta])* pub $field: $Type,)*
        }

        impl<'a> $crate::wire::Decode<'a> for $Name $(<$lt>)? {
            const MIN_LEN: usize = 0 $(+ <$Type as $crate::wire::Decode<'a>>::MIN_LEN)*;

            #[allow(unused_variables, reason = "a payload may have no field")]
            fn decode(reader: &mut $crate::wire::Reader<'a>) -> Result<Self, $crate::wire::DecodeError> {
                Ok(Self { $($field: reader.field($crate::wire::Field::$Field)?,)* })
            }
        }

        impl $(<$lt>)? $crate::wire::Encode for $Name $(<$lt>)? {
            #[allow(unused_variables, reason = "a payload may have no field")]
            fn encode<S: $crate::wire::Sink + ?Sized>(&self, sink: &mut S) -> Result<(), $crate::wire::EncodeError> {
                $(self.$field.encode(sink)?;)*
                Ok(())
            }
        }

        #[cfg(feature = "arbitrary")]
        impl<'a> ::arbitrary::Arbitrary<'a> for $Name $(<$lt>)? {
            #[allow(unused_variables, reason = "a payload may have no field")]
            fn arbitrary(input: &mut ::arbitrary::Unstructured<'a>) -> ::arbitrary::Result<Self> {
                Ok(Self { $($field: input.arbitrary()?,)* })
            }
        }

        #[cfg(feature = "arbitrary")]
        impl $(<$lt>)? $crate::arbitrary::Generate for $Name $(<$lt>)? {
            $crate::arbitrary::lent! { $Name $(<$lt>)? }

            #[allow(unused_variables, clippy::ptr_arg, reason = "a payload may have no field")]
            fn generate(choices: &mut $crate::arbitrary::Choices<'_>, out: &mut alloc::vec::Vec<u8>) {
                $(<$Type as $crate::arbitrary::Generate>::generate(choices, out);)*
            }
        }

        #[cfg(feature = "vectors")]
        impl<'a> $crate::vectors::FromFields<'a> for $Name $(<$lt>)? {
            #[allow(unused_variables, reason = "a payload may have no field")]
            fn from_fields(object: &mut $crate::vectors::ObjectReader<'a>) -> Result<Self, $crate::vectors::ValueError> {
                Ok(Self { $($field: object.field($crate::wire::Field::$Field)?,)* })
            }
        }

        #[cfg(feature = "vectors")]
        impl<'a> $crate::vectors::ValueForm<'a> for $Name $(<$lt>)? {
            fn to_value(&self) -> $crate::vectors::Value {
                let object = $crate::vectors::ObjectWriter::new();
                $(let object = object.field($crate::wire::Field::$Field, &self.$field);)*
                object.finish()
            }

            fn from_value(
                value: &'a $crate::vectors::Value,
                arena: &'a $crate::vectors::Arena,
            ) -> Result<Self, $crate::vectors::ValueError> {
                let mut object = $crate::vectors::ObjectReader::new(value, arena)?;
                let made = $crate::vectors::FromFields::from_fields(&mut object)?;
                object.finish()?;
                Ok(made)
            }

            #[allow(unused_variables, reason = "a payload may have no field")]
            fn annotate(
                reader: &mut $crate::wire::Reader<'a>,
                notes: &mut $crate::vectors::Annotations,
            ) -> Result<(), $crate::wire::DecodeError> {
                $(notes.field::<$Type>($crate::wire::Field::$Field, reader)?;)*
                Ok(())
            }
        }
    };
}

/// Declares a `uint` with named values. Other values are kept as they are.
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

            /// The name of the value, if it has one.
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

        $crate::wire::macros::newtype! { $Name, |value| match value.name() {
            Some(name) => alloc::format!("{} ({name})", value.0),
            None => alloc::format!("{}", value.0),
        } }
    };
}

/// A tuple struct around a `uint`, on the wire and in the value form the number itself. `$show` is how an annotated dump
/// shows it.
macro_rules! newtype {
    ($Name:ident, |$value:ident| $show:expr) => {
        impl<'a> $crate::wire::Decode<'a> for $Name {
            const MIN_LEN: usize = 4;

            fn decode(reader: &mut $crate::wire::Reader<'a>) -> Result<Self, $crate::wire::DecodeError> {
                u32::decode(reader).map(Self)
            }
        }

        impl $crate::wire::Encode for $Name {
            fn encode<S: $crate::wire::Sink + ?Sized>(&self, sink: &mut S) -> Result<(), $crate::wire::EncodeError> {
                self.0.encode(sink)
            }
        }

        #[cfg(feature = "arbitrary")]
        impl<'a> ::arbitrary::Arbitrary<'a> for $Name {
            fn arbitrary(input: &mut ::arbitrary::Unstructured<'a>) -> ::arbitrary::Result<Self> {
                // Half of them are as small as named values are.
                let number: u32 = input.arbitrary()?;
                Ok(Self(if number & 0x100 == 0 { number & 7 } else { number }))
            }
        }

        #[cfg(feature = "arbitrary")]
        impl $crate::arbitrary::Generate for $Name {
            $crate::arbitrary::lent! { $Name }

            fn generate(choices: &mut $crate::arbitrary::Choices<'_>, out: &mut alloc::vec::Vec<u8>) {
                <u32 as $crate::arbitrary::Generate>::generate(choices, out);
            }
        }

        #[cfg(feature = "vectors")]
        impl<'a> $crate::vectors::ValueForm<'a> for $Name {
            fn to_value(&self) -> $crate::vectors::Value {
                self.0.to_value()
            }

            fn from_value(
                value: &'a $crate::vectors::Value,
                arena: &'a $crate::vectors::Arena,
            ) -> Result<Self, $crate::vectors::ValueError> {
                u32::from_value(value, arena).map(Self)
            }

            fn annotate(
                reader: &mut $crate::wire::Reader<'a>,
                notes: &mut $crate::vectors::Annotations,
            ) -> Result<(), $crate::wire::DecodeError> {
                notes.leaf(reader, |$value: &Self| $show)
            }
        }
    };
}

pub(crate) use {newtype, open_enum, wire_struct};
