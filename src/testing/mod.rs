//! Generate valid, extreme and damaged messages, for fuzzers and proptest.
#![forbid(unsafe_code)]

//! Feature `arbitrary`. The value is chosen by a fuzzer's bytes, and the same bytes give the same
//! value. [`MadeRequest`] and [`MadeReply`] are whole messages, [`Made`] is a value of any type of
//! the grammar; each owns its bytes and lends the value. [`Hostile`] is a message of a faulty or
//! malicious peer. What is not a message, such as [`SocketName`](crate::endpoint::SocketName) or
//! [`Record`](crate::user_events::Record), implements `Arbitrary` itself.
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
//! // In place of this crate, the code under test: it must not panic.
//! let peer: Hostile = chosen.arbitrary()?;
//! let _ = Message::decode_prefix(&peer.0);
//! # Ok::<(), arbitrary::Error>(())
//! ```

mod generator;
mod made;
mod parts;

pub use generator::Style;
pub use made::{Hostile, Made, MadeReply, MadeRequest};

/// A proptest strategy for any type with `Arbitrary`. Values shrink to fewer and smaller parts.
///
/// Feature `proptest`. Messages have either [`Style`]; for one of them, map bytes with
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
