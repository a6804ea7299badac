//! What went over the connections of a case: what was asked on each, and the reply, which is read
//! once, with every fault of its bytes.

mod block_faults;
mod byte_order;
mod exchange;
mod fault_seen;
mod layout;
mod reply;
mod request_bytes;
mod spelled;
mod spelling;
mod stream_faults;

pub(crate) use block_faults::value_in_block;
pub(crate) use byte_order::guid_reversed;
pub(crate) use exchange::{Answer, Exchange, Exchanges};
pub(crate) use fault_seen::ByteCount;
pub(crate) use fault_seen::FaultSeen;
pub(crate) use layout::is_request_in;
pub(crate) use reply::Reply;
pub(crate) use request_bytes::{is_cut, is_too_small, message_of, request_as, wants_descriptor};
pub(crate) use spelling::{Spelling, WRONG};
pub(crate) use stream_faults::fault_in_stream;
