//! Formats of values that are numbers. Private: the macro is not exported.

/// Formats a type as a number, `|it| number`, with the traits named.
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
