//! The faults that the suites can report.

use std::fmt;

named! {
    /// A test suite, named after the `diagipc` command that runs it.
    ///
    /// ```
    /// use diagipc::faults::SuiteName;
    ///
    /// assert_eq!(SuiteName::Fuzz.to_string(), "fuzz-server");
    /// ```
    SuiteName {
        /// `diagipc server`.
        Server = "server",
        /// `diagipc client`.
        Client = "client",
        /// `diagipc codec`.
        Codec = "codec",
        /// `diagipc fuzz-server`.
        Fuzz = "fuzz-server",
    }
}

impl SuiteName {
    /// Returns the suite with this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|suite| suite.name() == name)
    }
}

/// Generates [`Fault`] from the table: name, suites, facts and requirements, sentence, fix.
macro_rules! faults {
    ($($Variant:ident = $name:literal, [$($suite:ident),*], [$($spec:literal),* $(,)?],
        $sentence:literal, $fix:literal;)*) => {
        /// A fault of a server, a client or a codec. Two suites that find the same fault have one
        /// name for it.
        ///
        /// ```
        /// use diagipc::faults::{Fault, SuiteName};
        ///
        /// let fault = Fault::StringLengthInBytes;
        /// assert_eq!(fault.name(), "string-length-in-bytes");
        /// assert!(fault.suites().contains(&SuiteName::Client));
        /// assert!(fault.fix().contains("UTF-16 units") && fault.spec().contains(&"F-8"));
        /// ```
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
        #[non_exhaustive]
        #[allow(clippy::doc_markdown, reason = "the sentences are printed as well")]
        pub enum Fault {
            $(#[doc = $sentence] #[serde(rename = $name)] $Variant,)*
        }

        impl Fault {
            /// Every fault.
            pub const ALL: &'static [Self] = &[$(Self::$Variant),*];

            /// Returns the name in reports, which never changes its meaning.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$Variant => $name,)* }
            }

            /// Returns the suites that can report it.
            pub const fn suites(self) -> &'static [SuiteName] {
                match self { $(Self::$Variant => &[$(SuiteName::$suite),*],)* }
            }

            /// Returns the description.
            pub const fn sentence(self) -> &'static str {
                match self { $(Self::$Variant => $sentence,)* }
            }

            /// Returns advice on how to fix it.
            pub const fn fix(self) -> &'static str {
                match self { $(Self::$Variant => $fix,)* }
            }

            /// Returns the facts and requirements that are violated.
            pub const fn spec(self) -> &'static [&'static str] {
                match self { $(Self::$Variant => &[$($spec),*],)* }
            }
        }
    };
}

mod table;

pub use table::Fault;

impl Fault {
    /// Returns the faults that a suite finds.
    pub fn of(suite: SuiteName) -> impl Iterator<Item = Self> {
        Self::ALL.iter().copied().filter(move |fault| fault.suites().contains(&suite))
    }

    /// Returns the fault of this name, if the suite finds it. Details after a colon are ignored.
    ///
    /// ```
    /// use diagipc::faults::{Fault, SuiteName};
    ///
    /// assert_eq!(Fault::named(SuiteName::Codec, "wrong-value:providers[].keywords"), Some(Fault::WrongValue));
    /// assert_eq!(Fault::named(SuiteName::Codec, "connection-left-open"), None);
    /// ```
    pub fn named(suite: SuiteName, name: &str) -> Option<Self> {
        let name = name.split_once(':').map_or(name, |(name, _)| name);
        Self::of(suite).find(|fault| fault.name() == name)
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::Citations;

    /// Faults of the adapters' line protocol cite nothing: the spec does not cover it.
    #[test]
    fn each_fault_has_its_own_name_and_cites_the_spec() {
        let names: BTreeSet<&str> = Fault::ALL.iter().map(|fault| fault.name()).collect();
        assert_eq!(names.len(), Fault::ALL.len());
        let citations = Citations::embedded();
        for fault in Fault::ALL {
            assert!(!fault.sentence().is_empty() && !fault.fix().is_empty(), "{fault}");
            assert!(!fault.spec().is_empty() || fault.suites() == [SuiteName::Codec], "{fault}");
            for id in fault.spec() {
                assert!(citations.line(id).is_some(), "{fault} cites {id}");
            }
        }
    }
}
