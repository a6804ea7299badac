//! Read and write messages. A message is a header and a payload. Every command has a struct for
//! its request and one for its reply.
//!
//! [`Message::decode`] splits bytes into header and payload. [`Message::request_as`] and
//! [`Message::reply_as`] read the payload as the request or reply of one command; [`AnyRequest`]
//! and [`AnyReply`] hold the request or reply of any command. [`encode`] and [`Request::encode_message`] write to
//! a buffer.
//!
//! A payload consists of the fields of its struct in order, without padding. Integers are little-endian, a
//! `bool` is one byte, and an enum such as [`EventLevel`](eventpipe::EventLevel) is a number of 4
//! bytes. [`wire`](crate::wire) has the layout of strings, arrays and GUIDs.
#![forbid(unsafe_code)]

//! # Example
//!
//! Encode a request, and decode its reply:
//!
//! ```
//! use dotnet_diagnostics_ipc::message::process::ResumeRuntime;
//! use dotnet_diagnostics_ipc::message::{Message, Reply, Request as _};
//!
//! let mut buffer = [0; 64];
//! let len = ResumeRuntime {}.encode_message(&mut buffer)?;
//! assert_eq!(&buffer[..len], b"DOTNET_IPC_V1\0\x14\0\x04\x01\0\0");
//!
//! let message = Message::decode(b"DOTNET_IPC_V1\0\x18\0\xff\0\0\0\0\0\0\0")?;
//! assert!(matches!(message.reply_as::<ResumeRuntime>()?, Reply::Ok(reply) if reply.hresult.is_success()));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod dump;
pub mod eventpipe;
pub mod process;
pub mod profiler;
pub mod server;

mod frame;
mod typed;

#[cfg(feature = "alloc")]
pub use frame::encode_to_vec;
pub use frame::{Message, Request, encode};
pub(crate) use typed::{Announced, OkPayload};
pub use typed::{AnyReply, AnyRequest, Reply};
