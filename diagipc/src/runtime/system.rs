//! The system interface of the reference runtime.

#[cfg(unix)]
pub(super) use super::unix::{Guard, Kept, LACKING, Link, Listening, connect, look, remove, take};
#[cfg(windows)]
pub(super) use super::windows::{Guard, Kept, LACKING, Link, Listening, connect, look, remove};
