//! What each runtime is known to do, as data.
//!
//! The table has a row for each deviation from the document: its fact, of which builds it is known, under which condition it comes, and
//! what the runtime does. A [`Profile`] says which rows hold for a target. The server suite and the campaigns ask which row explains what
//! a target did; the reference runtime asks what the runtime that it is like would do.

mod builds;
mod profile;
mod row;
mod table;
// They use what only the reference runtime does, which is for Unix.
#[cfg(all(test, unix))]
mod tests;

#[cfg(unix)]
pub(in crate::conformance) use builds::Build;
pub use profile::{Family, Profile, UnknownProfile};
#[cfg(unix)]
pub(in crate::conformance) use row::Does;
pub(in crate::conformance) use row::{Answer, Layer, Request, Row, Seen};

use self::table::TABLE;

/// Which row explains what a target was seen to do with a request.
pub(in crate::conformance) fn explain(profile: Profile, request: &Request, seen: &Seen) -> Option<&'static Row> {
    TABLE.iter().find(|row| row.is_of(profile) && row.explains(request, seen))
}

/// What a runtime is known to do with a request, in the order of the table: for the reference runtime.
#[cfg(unix)]
pub(in crate::conformance) fn rows(profile: Profile, request: Request) -> impl Iterator<Item = &'static Row> {
    TABLE.iter().filter(move |row| row.is_of(profile) && row.when.fits(&request))
}
