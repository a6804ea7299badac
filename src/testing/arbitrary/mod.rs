//! Generate values of any kind from a fuzzer's bytes.
//!
//! Feature `arbitrary`. There are two ways:
//!
//! - `Arbitrary` of the crate `arbitrary`, for every message and every type of the grammar. It
//!   never allocates: a type borrows from the fuzzer's bytes. An array has as many items as decode
//!   there, so deep ones are rare.
//! - [`Made`], [`MadeRequest`] and [`MadeReply`] own the bytes of a value that is written field by
//!   field, including arrays in arrays, and lend the value. Each decodes, each is canonical, and a
//!   message never exceeds the largest size.
//!
//! [`Hostile`] is a message of a faulty or malicious peer: a valid message after a change.
//!
//! ```
//! use arbitrary::Unstructured;
//! use dotnet_diagnostics_ipc::testing::arbitrary::MadeRequest;
//! use dotnet_diagnostics_ipc::message::{AnyRequest, Message};
//!
//! let chosen: Vec<u8> = (0..200).collect(); // by a fuzzer
//! let mut chosen = Unstructured::new(&chosen);
//!
//! // Borrowed from what was chosen.
//! let request: AnyRequest<'_> = chosen.arbitrary()?;
//! println!("{request:?}");
//!
//! // With its own bytes.
//! let made: MadeRequest = chosen.arbitrary()?;
//! assert_eq!(Message::decode(made.bytes()).and_then(|message| message.request()), Ok(made.request()));
//! # Ok::<(), arbitrary::Error>(())
//! ```
#![forbid(unsafe_code)]

mod borrowed;
mod generate;
mod made;
mod payloads;

pub use generate::{Choices, Generate, Style};
pub use made::{Hostile, Made, MadeReply, MadeRequest};

/// `Arbitrary` of a struct whose fields may be anything.
macro_rules! of_fields {
    ($($Name:ident $(<$lt:lifetime>)? { $($field:ident),* })*) => {$(
        impl<'a> ::arbitrary::Arbitrary<'a> for $Name $(<$lt>)? {
            fn arbitrary(input: &mut ::arbitrary::Unstructured<'a>) -> ::arbitrary::Result<Self> {
                Ok(Self { $($field: input.arbitrary()?,)* })
            }
        }
    )*};
}

/// `Arbitrary` for one of a few values.
macro_rules! one_of {
    ($($Name:ident: $($value:expr),*;)*) => {$(
        impl<'a> ::arbitrary::Arbitrary<'a> for $Name {
            fn arbitrary(input: &mut ::arbitrary::Unstructured<'a>) -> ::arbitrary::Result<Self> {
                input.choose(&[$($value),*]).copied()
            }
        }
    )*};
}

use {of_fields, one_of};
