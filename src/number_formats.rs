//! Number formats for types that wrap a number. Private, because the macro is not exported.

/// Implements the named formatting traits for a type through `|it| number`.
macro_rules! number_formats {
    ($Name:ident, |$it:ident| $number:expr, $($Format:ident)+) => {$(
        impl core::fmt::$Format for $Name {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                let $it = self;
                core::fmt::$Format::fmt(&$number, f)
            }
        }
    )+};
}

pub(crate) use number_formats;
