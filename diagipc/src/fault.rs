//! Names of the faults of a kind of target: one table makes the enumeration and its texts.

/// Makes an enumeration of faults from a table: name, sentence, fix, facts and requirements.
macro_rules! named_faults {
    ($(#[$meta:meta])* enum $Fault:ident;
        $($(#[$doc:meta])* $Variant:ident = $name:literal, $sentence:literal, $fix:literal, [$($spec:literal),* $(,)?];)*
    ) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[non_exhaustive]
        #[allow(clippy::doc_markdown, reason = "the sentences are printed as well")]
        pub enum $Fault {
            $(#[doc = $sentence] $(#[$doc])* $Variant,)*
        }

        impl $Fault {
            /// All of them.
            pub const ALL: &'static [Self] = &[$(Self::$Variant),*];

            /// Its name in reports, which never changes its meaning.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$Variant => $name,)* }
            }

            /// Its description.
            pub const fn sentence(self) -> &'static str {
                match self { $(Self::$Variant => $sentence,)* }
            }

            /// How to fix it.
            pub const fn fix(self) -> &'static str {
                match self { $(Self::$Variant => $fix,)* }
            }

            /// The facts and requirements that it violates.
            pub const fn spec(self) -> &'static [&'static str] {
                match self { $(Self::$Variant => &[$($spec),*],)* }
            }
        }

        impl std::fmt::Display for $Fault {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.name())
            }
        }
    };
}

pub(crate) use named_faults;
