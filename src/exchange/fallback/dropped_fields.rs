//! The fields missing in an older command or its reply.

use core::fmt;

/// The fields dropped by a step to an older command.
///
/// The caller must allow losses in the request, with
/// [`Fallback::allowing`](super::Fallback::allowing). Losses in the reply are always allowed
/// ([`OF_REPLY`](Self::OF_REPLY)), but are reported too.
///
/// ```
/// use dotnet_diagnostics_ipc::exchange::fallback::DroppedFields;
///
/// let losses = DroppedFields::STACKS | DroppedFields::EVENT_FILTERS;
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
    /// `sessionBufferMode`: the session drops events instead of blocking the threads that write them.
    BUFFER_MODE = 0, "sessionBufferMode";
    /// `filter` of the providers: more events arrive, including those that a filter should exclude.
    EVENT_FILTERS = 1, "filter";
    /// `rundownKeyword`: the rundown is the default one, not the requested one.
    RUNDOWN_KEYWORD = 2, "rundownKeyword";
    /// `requestStackwalk`: events carry stacks although not requested.
    STACKS = 3, "requestStackwalk";
    /// `flags` of a dump except logging: no more is logged, and no crash report is written.
    DUMP_FLAGS = 4, "flags";
    /// In the reply: the text of `GenerateCoreDump3`'s error (F-81).
    ERROR_TEXT = 5, "message";
    /// In the reply: `version`.
    REPLY_VERSION = 6, "version";
    /// In the reply: `runtimeIdentifier`.
    RUNTIME_IDENTIFIER = 7, "runtimeIdentifier";
    /// In the reply: `managedEntrypointAssemblyName`.
    ENTRYPOINT_ASSEMBLY = 8, "managedEntrypointAssemblyName";
    /// In the reply: `clrProductVersion`.
    CLR_VERSION = 9, "clrProductVersion";
}

impl DroppedFields {
    /// Nothing.
    pub const NONE: Self = Self(0);

    /// Fields of the reply only: always allowed, because the request does not change.
    pub const OF_REPLY: Self = Self::ERROR_TEXT
        .with(Self::REPLY_VERSION)
        .with(Self::RUNTIME_IDENTIFIER)
        .with(Self::ENTRYPOINT_ASSEMBLY)
        .with(Self::CLR_VERSION);

    /// The union of these and `other`.
    #[must_use]
    pub const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Whether all fields of `other` are among these.
    pub const fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// Whether nothing is dropped.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// The fields, by their names in the document.
    pub fn fields(self) -> Fields {
        Fields { of: self, rest: FIELDS.iter() }
    }
}

/// As [`with`](DroppedFields::with).
impl core::ops::BitOr for DroppedFields {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        self.with(other)
    }
}

impl core::ops::BitOrAssign for DroppedFields {
    fn bitor_assign(&mut self, other: Self) {
        *self = self.with(other);
    }
}

/// The iterator of [`DroppedFields::fields`].
///
/// ```
/// use dotnet_diagnostics_ipc::exchange::fallback::DroppedFields;
///
/// assert!(DroppedFields::STACKS.fields().eq(["requestStackwalk"]));
/// ```
#[derive(Clone, Debug)]
pub struct Fields {
    of: DroppedFields,
    rest: core::slice::Iter<'static, (DroppedFields, &'static str)>,
}

impl Iterator for Fields {
    type Item = &'static str;

    fn next(&mut self) -> Option<&'static str> {
        self.rest.find(|(field, _)| self.of.contains(*field)).map(|(_, name)| *name)
    }
}

impl core::iter::FusedIterator for Fields {}

/// The fields, separated by commas; `nothing` if there are none.
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
    fn each_field_has_its_own_bit() {
        assert_eq!(DroppedFields::ALL.0.count_ones() as usize, FIELDS.len());
        assert_eq!(DroppedFields::ALL.fields().count(), FIELDS.len());
        for (loss, _) in FIELDS {
            assert_eq!(loss.fields().count(), 1);
        }
    }
}
