//! What the page asks of the library. The page and WebAssembly share three places in memory: what the
//! page gives (`room`), the bytes that are explained (`bytes`), and an answer in JSON (`answer`).
//!
//! Plain exports, which a page calls with numbers: they need no generated JavaScript.

#![deny(unsafe_code)]
#![deny(clippy::indexing_slicing, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod explained;
mod exports;

pub use explained::{
    ExplainOptions, MOST_BYTES, MOST_PARTS, MOST_TEXT, choices, explained, read, take,
};
