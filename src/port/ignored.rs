//! The parts of the variable that a runtime ignores.

use core::fmt;

use super::config::{PortType, Tag, Tags, fields, is_blank, readable};
use super::offset_in;

/// An ignored part of `DOTNET_DiagnosticPorts`, and why.
///
/// ```
/// use dotnet_diagnostics_ipc::port::{Ignored, IgnoredReason};
///
/// let part = Ignored::new("/a, nosuspend").next().unwrap();
/// assert_eq!((part.offset, part.text, part.reason), (3, " nosuspend", IgnoredReason::UnknownTag));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct IgnoredPart<'a> {
    /// Its byte offset in the text.
    pub offset: usize,
    /// The part.
    pub text: &'a str,
    /// The reason.
    pub reason: IgnoredReason,
}

/// Why a part is ignored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum IgnoredReason {
    /// An empty part before, between or after semicolons.
    EmptyPort,
    /// A configuration of only commas, or whose address is only white space. The whole of it is
    /// dropped.
    NoAddress,
    /// An empty part before, between or after commas.
    EmptyField,
    /// Not one of `suspend`, `nosuspend`, `connect`, `listen`, in any case.
    UnknownTag,
    /// A tag of the same kind precedes it.
    LaterTag,
    /// A configuration whose type is `listen` (F-58). The whole of it is dropped, and its other
    /// parts are not reported one by one.
    ListenPort,
    /// After a NUL. Environment variables cannot contain one.
    BehindNul,
}

impl IgnoredReason {
    /// The name in the vectors, such as `"unknown_tag"`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::EmptyPort => "empty_port",
            Self::NoAddress => "no_address",
            Self::EmptyField => "empty_field",
            Self::UnknownTag => "unknown_tag",
            Self::LaterTag => "later_tag",
            Self::ListenPort => "listen_port",
            Self::BehindNul => "behind_nul",
        }
    }
}

impl fmt::Display for IgnoredReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::EmptyPort => "nothing between semicolons",
            Self::NoAddress => "the address is empty",
            Self::EmptyField => "nothing between commas",
            Self::UnknownTag => "unknown tag",
            Self::LaterTag => "repeats an earlier tag",
            Self::ListenPort => "runtimes create no additional listening port",
            Self::BehindNul => "follows a NUL, which ends the text",
        })
    }
}

/// The parts that a runtime ignores, in the order of the text. Empty for an empty text, which
/// counts as unset.
///
/// ```
/// use dotnet_diagnostics_ipc::port::{Ignored, IgnoredReason};
///
/// let parts = Ignored::new("/a,suspend,nosuspend;/b,listen;").map(|part| (part.offset, part.reason));
/// assert!(parts.eq([(11, IgnoredReason::LaterTag), (21, IgnoredReason::ListenPort), (31, IgnoredReason::EmptyPort)]));
/// ```
#[derive(Clone, Debug)]
pub struct Ignored<'a> {
    text: &'a str,
    /// The text after a NUL, until it is reported.
    behind: Option<&'a str>,
    entries: core::str::Split<'a, char>,
    /// The fields of the current entry, and its tags so far.
    fields: Option<core::str::Split<'a, char>>,
    addressed: bool,
    tags: Tags,
}

impl<'a> Ignored<'a> {
    /// The parts of `text`, the value of the variable.
    pub fn new(text: &'a str) -> Self {
        let readable = readable(text);
        let mut entries = readable.split(';');
        if readable.is_empty() {
            entries.next();
        }
        let behind = text.get(readable.len()..).filter(|rest| !rest.is_empty());
        Self { text, behind, entries, fields: None, addressed: false, tags: Tags::default() }
    }

    fn part(&self, text: &'a str, reason: IgnoredReason) -> IgnoredPart<'a> {
        IgnoredPart { offset: offset_in(self.text, text), text, reason }
    }

    /// Why a field is ignored.
    fn field(&mut self, field: &str) -> Option<IgnoredReason> {
        if field.is_empty() {
            return Some(IgnoredReason::EmptyField);
        }
        if !self.addressed {
            self.addressed = true;
            return None;
        }
        match Tag::parse(field) {
            None => Some(IgnoredReason::UnknownTag),
            Some(tag) => (!self.tags.add(tag)).then_some(IgnoredReason::LaterTag),
        }
    }
}

impl<'a> Iterator for Ignored<'a> {
    type Item = IgnoredPart<'a>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(text) = self.fields.as_mut().and_then(Iterator::next) {
                if let Some(reason) = self.field(text) {
                    return Some(self.part(text, reason));
                }
                continue;
            }
            self.fields = None;
            let Some(entry) = self.entries.next() else {
                return self.behind.take().map(|text| self.part(text, IgnoredReason::BehindNul));
            };
            if let Some(reason) = dropped(entry) {
                return Some(self.part(entry, reason));
            }
            (self.fields, self.addressed, self.tags) =
                (Some(entry.split(',')), false, Tags::default());
        }
    }
}

/// Why a whole configuration makes no port.
fn dropped(entry: &str) -> Option<IgnoredReason> {
    let mut fields = fields(entry);
    if entry.is_empty() {
        Some(IgnoredReason::EmptyPort)
    } else if fields.next().is_none_or(is_blank) {
        Some(IgnoredReason::NoAddress)
    } else {
        (Tags::of(fields).kind == Some(PortType::Listen)).then_some(IgnoredReason::ListenPort)
    }
}
