//! What an older command does not say, or its reply does not tell.

use core::fmt;

/// What is dropped on the way to an older command: a set of fields.
///
/// What the request would lose must be allowed by the caller, with [`Fallback::allowing`](super::Fallback::allowing). What only the
/// reply lacks is never in the way ([`OF_REPLY`](Self::OF_REPLY)); it is said all the same.
///
/// ```
/// use dotnet_diagnostics_ipc::exchange::fallback::DroppedFields;
///
/// let losses = DroppedFields::STACKS.with(DroppedFields::EVENT_FILTERS);
/// assert!(losses.contains(DroppedFields::STACKS) && !losses.contains(DroppedFields::BUFFER_MODE));
/// assert_eq!(losses.to_string(), "filter, requestStackwalk");
/// assert_eq!(DroppedFields::NONE.to_string(), "nothing");
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct DroppedFields(u16);

macro_rules! fields {
    ($($(#[$meta:meta])* $CONST:ident = $bit:literal, $field:literal;)*) => {
        impl DroppedFields {
            $($(#[$meta])* pub const $CONST: Self = Self(1 << $bit);)*

            /// Everything that a fallback can lose.
            pub const ALL: Self = Self(0 $(| Self::$CONST.0)*);
        }

        const FIELDS: &[(DroppedFields, &str)] = &[$((DroppedFields::$CONST, $field),)*];
    };
}

fields! {
    /// `sessionBufferMode`: the session drops events where it was to hold up the threads that write them.
    BUFFER_MODE = 0, "sessionBufferMode";
    /// `filter` of the providers: more events come, also those that a filter was to keep out.
    EVENT_FILTERS = 1, "filter";
    /// `rundownKeyword`: the rundown is the default one in place of the one asked for.
    RUNDOWN_KEYWORD = 2, "rundownKeyword";
    /// `requestStackwalk`: events carry stacks although none were wanted.
    STACKS = 3, "requestStackwalk";
    /// `flags` of a dump but the one to log: nothing more is logged, no crash report is written.
    DUMP_FLAGS = 4, "flags";
    /// Of the reply: the text of `GenerateCoreDump3`'s error (F-81).
    ERROR_TEXT = 5, "message";
    /// Of the reply: `version`.
    REPLY_VERSION = 6, "version";
    /// Of the reply: `runtimeIdentifier`.
    RUNTIME_IDENTIFIER = 7, "runtimeIdentifier";
    /// Of the reply: `managedEntrypointAssemblyName`.
    ENTRYPOINT_ASSEMBLY = 8, "managedEntrypointAssemblyName";
    /// Of the reply: `clrProductVersion`.
    CLR_VERSION = 9, "clrProductVersion";
}

impl DroppedFields {
    /// Nothing.
    pub const NONE: Self = Self(0);

    /// What only the reply lacks: always allowed, because the request stays what it is.
    pub const OF_REPLY: Self = Self::ERROR_TEXT
        .with(Self::REPLY_VERSION)
        .with(Self::RUNTIME_IDENTIFIER)
        .with(Self::ENTRYPOINT_ASSEMBLY)
        .with(Self::CLR_VERSION);

    /// These and `other`.
    #[must_use]
    pub const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Whether all of `other` are among these.
    pub const fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// Whether nothing is dropped.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// The fields, by the names that the document gives them.
    pub fn fields(self) -> impl Iterator<Item = &'static str> + Clone {
        FIELDS.iter().filter(move |(loss, _)| self.contains(*loss)).map(|(_, field)| *field)
    }
}

/// The fields with commas between them; `nothing` if there is none.
impl fmt::Display for DroppedFields {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_empty() {
            return f.write_str("nothing");
        }
        for (nth, field) in self.fields().enumerate() {
            f.write_str(if nth == 0 { "" } else { ", " })?;
            f.write_str(field)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_loss_is_a_bit_of_its_own() {
        assert_eq!(DroppedFields::ALL.0.count_ones() as usize, FIELDS.len());
        assert_eq!(DroppedFields::ALL.fields().count(), FIELDS.len());
        for (loss, _) in FIELDS {
            assert_eq!(loss.fields().count(), 1);
        }
    }
}
