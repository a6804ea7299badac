//! Generate values with proptest: every message and every type of the grammar, valid, boundary and
//! hostile.
//!
//! Feature `proptest`. Values are those of [`arbitrary`](mod@crate::testing::arbitrary): they own
//! their bytes, and shrink to messages with fewer and smaller parts. For a client, a server or
//! another codec under test:
//!
//! | | of messages | of one type |
//! |---|---|---|
//! | valid: small numbers, short text, few items | [`requests`], [`replies`] | [`valid`], [`fixed`] |
//! | at the limits of what readers check | [`boundary_requests`], [`boundary_replies`] | [`boundary`] |
//! | valid messages after a change | [`hostile_messages`] | [`hostile`] |
//!
//! ```
//! use dotnet_diagnostics_ipc::message::{Message, eventpipe::CollectTracing2};
//! use dotnet_diagnostics_ipc::testing::strategies;
//! use proptest::prelude::*;
//!
//! proptest!(|(made in strategies::valid::<CollectTracing2<'_>>(), peer in strategies::hostile_messages())| {
//!     // In place of this crate, the code under test.
//!     prop_assert!(made.get().providers.len() <= 40);
//!     let _ = Message::decode_prefix(&peer);
//! });
//! ```
#![forbid(unsafe_code)]

use alloc::vec::Vec;
use core::fmt::Debug;

use ::arbitrary::{Arbitrary, Unstructured};
use ::proptest::collection::vec;
use ::proptest::prelude::{Strategy, any};

use crate::testing::arbitrary::{Choices, Generate, Hostile, Made, MadeReply, MadeRequest, Style};

/// The source of a value. Fewer bytes make a smaller value.
fn chosen() -> impl Strategy<Value = Vec<u8>> {
    vec(any::<u8>(), 0..600)
}

/// Typical values of one type.
///
/// ```
/// use dotnet_diagnostics_ipc::{testing::strategies, wire::IpcString};
/// use proptest::prelude::*;
///
/// proptest!(|(text in strategies::valid::<IpcString<'_>>())| {
///     prop_assert!(text.bytes().len() >= 4);
///     prop_assert_eq!(text.get().is_absent(), text.bytes() == [0; 4]);
/// });
/// ```
pub fn valid<T: Generate>() -> impl Strategy<Value = Made<T>> {
    chosen().prop_map(|chosen| Made::new(&chosen, Style::Plain))
}

/// Values of one type at the limits of what readers check: 0 and the largest numbers, levels above
/// the last one, a provider more than servers accept (F-16), names a unit too long (F-65), text
/// that is absent, empty or not Unicode.
///
/// ```
/// use dotnet_diagnostics_ipc::{message::eventpipe::ProviderConfig, testing::strategies};
/// use proptest::prelude::*;
///
/// proptest!(|(provider in strategies::boundary::<ProviderConfig<'_>>())| {
///     println!("{:?}", provider.get().log_level);
/// });
/// ```
pub fn boundary<T: Generate>() -> impl Strategy<Value = Made<T>> {
    chosen().prop_map(|chosen| Made::new(&chosen, Style::Boundary))
}

/// Bytes that are nearly, or still, a value of one type.
///
/// ```
/// use dotnet_diagnostics_ipc::{message::eventpipe::EventFilter, testing::strategies, wire::{Decode as _, Reader}};
/// use proptest::prelude::*;
///
/// proptest!(|(bytes in strategies::hostile::<EventFilter<'_>>())| {
///     if let Err(error) = EventFilter::decode(&mut Reader::new(&bytes)) {
///         prop_assert!(error.offset() <= bytes.len());
///     }
/// });
/// ```
pub fn hostile<T: Generate>() -> impl Strategy<Value = Vec<u8>> {
    (chosen(), vec(any::<u8>(), 0..40), 1..4).prop_map(|(chosen, damage, times)| {
        let mut bytes = Vec::new();
        T::generate(&mut Choices::new(&chosen, Style::Boundary), &mut bytes);
        let choices = &mut Choices::new(&damage, Style::Plain);
        for _ in 0..times {
            choices.damage(&mut bytes, 0);
        }
        bytes
    })
}

/// Values of a type that borrows nothing.
///
/// ```
/// use dotnet_diagnostics_ipc::{advertise::Advertise, endpoint::SocketName, testing::strategies};
/// use proptest::prelude::*;
///
/// proptest!(|(advertise in strategies::fixed::<Advertise>(), name in strategies::fixed::<SocketName>())| {
///     prop_assert_eq!(Advertise::decode(&advertise.to_bytes()), Ok(advertise));
///     prop_assert_eq!(SocketName::parse(&name.to_string()), Ok(name));
/// });
/// ```
pub fn fixed<T: for<'a> Arbitrary<'a> + Debug>() -> impl Strategy<Value = T> {
    vec(any::<u8>(), 64)
        .prop_filter_map("no value", |chosen| Unstructured::new(&chosen).arbitrary().ok())
}

/// Requests of any command, known or not, as whole messages.
///
/// ```
/// use dotnet_diagnostics_ipc::{message::Message, testing::strategies};
/// use proptest::prelude::*;
///
/// proptest!(|(made in strategies::requests())| {
///     let message = Message::decode(made.bytes())?;
///     prop_assert_eq!(message.request()?, made.request());
///     prop_assert!(message.is_canonical(&made.request()));
/// });
/// ```
pub fn requests() -> impl Strategy<Value = MadeRequest> {
    chosen().prop_map(|chosen| MadeRequest::new(&chosen, Style::Plain))
}

/// Requests with values at the limits of what servers accept.
///
/// ```
/// use dotnet_diagnostics_ipc::testing::strategies;
/// use proptest::prelude::*;
///
/// proptest!(|(made in strategies::boundary_requests())| {
///     if let Err(limit) = made.request().check_limits() {
///         prop_assert!(limit.offset() < made.bytes().len());
///     }
/// });
/// ```
pub fn boundary_requests() -> impl Strategy<Value = MadeRequest> {
    chosen().prop_map(|chosen| MadeRequest::new(&chosen, Style::Boundary))
}

/// Replies of every kind, as whole messages, with the command they answer.
///
/// ```
/// use dotnet_diagnostics_ipc::{message::Message, testing::strategies};
/// use proptest::prelude::*;
///
/// proptest!(|(made in strategies::replies())| {
///     prop_assert_eq!(Message::decode(made.bytes())?.reply_to(made.answers())?, made.reply());
/// });
/// ```
pub fn replies() -> impl Strategy<Value = MadeReply> {
    chosen().prop_map(|chosen| MadeReply::new(&chosen, Style::Plain))
}

/// Replies with values at the limits of what clients expect.
///
/// ```
/// use dotnet_diagnostics_ipc::testing::strategies;
/// use proptest::prelude::*;
///
/// proptest!(|(made in strategies::boundary_replies())| {
///     prop_assert!(made.bytes().len() >= 20);
/// });
/// ```
pub fn boundary_replies() -> impl Strategy<Value = MadeReply> {
    chosen().prop_map(|chosen| MadeReply::new(&chosen, Style::Boundary))
}

/// Messages of a faulty or malicious peer; see [`Hostile`].
///
/// ```
/// use dotnet_diagnostics_ipc::{message::Message, testing::strategies};
/// use proptest::prelude::*;
///
/// proptest!(|(bytes in strategies::hostile_messages())| {
///     if let Err(error) = Message::decode_prefix(&bytes).and_then(|(message, _)| message.request()) {
///         prop_assert!(error.offset() <= bytes.len());
///     }
/// });
/// ```
pub fn hostile_messages() -> impl Strategy<Value = Vec<u8>> {
    let style = any::<bool>().prop_map(|edges| if edges { Style::Boundary } else { Style::Plain });
    (chosen(), style).prop_map(|(chosen, style)| Hostile::new(&chosen, style).0)
}
