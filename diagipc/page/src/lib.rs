//! Exports functions for the page, which shares three places in memory with them: its input
//! (`room`), the bytes that are explained (`bytes`), and an answer in JSON (`answer`).
//!
//! The exports are plain functions with numbers as arguments, and need no generated JavaScript.

#![deny(unsafe_code)]
#![deny(clippy::indexing_slicing, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod explained;
mod exports;

pub use explained::{
    ExplainOptions, MOST_BYTES, MOST_PARTS, MOST_TEXT, choices, explained, read, take,
};
