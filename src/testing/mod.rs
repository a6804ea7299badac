//! Generate valid, extreme and damaged messages, for fuzzers and proptest.
#![forbid(unsafe_code)]

//! Needs the feature `arbitrary`. The bytes of a fuzzer determine the generated value.
//! [`MadeRequest`] and [`MadeReply`] are whole messages, and [`Made`] is a value of any message
//! part; each owns its bytes and lends the value. [`Hostile`] is a message from a faulty or
//! malicious peer. Types outside messages, such as [`SocketName`](crate::endpoint::SocketName) or
//! [`Record`](crate::user_events::Record), implement `Arbitrary` themselves.
//!
//! ```
//! use arbitrary::Unstructured;
//! use dotnet_diagnostics_ipc::message::Message;
//! use dotnet_diagnostics_ipc::testing::{Hostile, MadeRequest};
//!
//! let chosen: Vec<u8> = (0..200).collect(); // by a fuzzer
//! let mut chosen = Unstructured::new(&chosen);
//! let made: MadeRequest = chosen.arbitrary()?;
//! assert_eq!(Message::decode(made.bytes()).and_then(|message| message.request()), Ok(made.request()));
//!
//! // Call the code under test here; it must not panic.
//! let peer: Hostile = chosen.arbitrary()?;
//! let _ = Message::decode_prefix(&peer.0);
//! # Ok::<(), arbitrary::Error>(())
//! ```

mod generator;
mod made;
mod parts;

pub use generator::Style;
pub use made::{Hostile, Made, MadeReply, MadeRequest};

/// Returns a proptest strategy for any type with `Arbitrary`, which shrinks to smaller values.
///
/// Needs the feature `proptest`. Messages have either [`Style`]. To choose a style, map bytes with
/// [`MadeRequest::new`].
///
/// ```
/// use dotnet_diagnostics_ipc::endpoint::SocketName;
/// use dotnet_diagnostics_ipc::message::Message;
/// use dotnet_diagnostics_ipc::testing::{Hostile, MadeReply, strategy};
/// use proptest::prelude::*;
///
/// proptest!(|(made in strategy::<MadeReply>(), peer in strategy::<Hostile>(), name in strategy::<SocketName>())| {
///     prop_assert_eq!(Message::decode(made.bytes())?.reply_to(made.answers())?, made.reply());
///     prop_assert_eq!(SocketName::parse(&name.to_string()), Ok(name));
///     let _ = Message::decode_prefix(&peer.0);
/// });
/// ```
#[cfg(feature = "proptest")]
pub fn strategy<T: for<'a> arbitrary::Arbitrary<'a> + core::fmt::Debug>()
-> impl proptest::strategy::Strategy<Value = T> {
    use proptest::prelude::{Strategy as _, any};

    proptest::collection::vec(any::<u8>(), 0..600).prop_filter_map("too few bytes", |chosen| {
        T::arbitrary_take_rest(arbitrary::Unstructured::new(&chosen)).ok()
    })
}
