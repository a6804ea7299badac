//! Enumerations whose values have names in reports and files.

/// Declares an enumeration with a list of all values and their names in text and JSON.
macro_rules! named {
    ($(#[$meta:meta])* $Name:ident { $($(#[$doc:meta])* $Variant:ident = $text:literal,)* }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum $Name {
            $($(#[$doc])* $Variant,)*
        }

        impl $Name {
            /// All values, in the order of reports.
            pub const ALL: &'static [Self] = &[$(Self::$Variant),*];

            /// Returns the name in reports and files.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$Variant => $text,)*
                }
            }
        }

        impl std::fmt::Display for $Name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.name())
            }
        }

        impl serde::Serialize for $Name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.name())
            }
        }
    };
}
