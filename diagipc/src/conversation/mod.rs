//! The connections of a case: what was sent on each, and the reply with all of its faults.

mod continuation_faults;
mod exchange;
mod observed;
mod reply;
mod string_encodings;

pub(crate) use continuation_faults::{
    fault_in_ended_stream, fault_in_stream, guid_reversed, value_in_block,
};
pub(crate) use exchange::{Exchange, Exchanges, ReplyKind};
pub(crate) use observed::{
    ByteCount, FaultSeen, is_cut, is_too_small, message_of, request_as, wants_descriptor,
};
pub(crate) use reply::Reply;
pub(crate) use string_encodings::{Spelling, WRONG, is_request_in};
