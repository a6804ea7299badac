//! Messages: a header and a payload; the request and the reply of every command.
//!
//! Bytes become a [`Message`], a message becomes a typed request ([`Message::request_as`]) or reply
//! ([`Message::reply_as`]), or one of all kinds ([`AnyRequest`], [`AnyReply`]). The other way, [`encode`] and
//! [`Request::encode_message`] write into the caller's buffer.
#![forbid(unsafe_code)]

pub mod dump;
pub mod eventpipe;
pub mod process;
pub mod profiler;
pub mod server;

mod any_reply;
mod any_request;
mod frame;
mod request;
mod typed;

pub use any_reply::AnyReply;
pub use any_request::AnyRequest;
#[cfg(feature = "alloc")]
pub use frame::encode_to_vec;
pub use frame::{Message, encode};
pub use request::Request;
pub use typed::Reply;
