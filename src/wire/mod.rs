//! Read and write the building blocks of payloads: integers, `bool`, `string`, `array<T>` and
//! `GUID`. Also has the errors of reading and writing.
//!
//! | in the document | bytes | type |
//! |---|---|---|
//! | `byte`, `uint16_t`, `uint`, `ulong` | 1, 2, 4, 8 | `u8`, `u16`, `u32`, `u64` |
//! | `int32 hresult` | 4 | [`HResult`](crate::hresult::HResult) |
//! | `wchar` | 2 | `u16` |
//! | `bool` | 1 | `bool`; any byte except 0 reads as true, and 0 or 1 is written |
//! | `string` | 4 + 2 × length | [`IpcString`] |
//! | `array<T>` | 4 + items | [`Array`], or `&[u8]` for bytes |
//! | `GUID`, `CLSID` | 16 | [`Guid`], [`Clsid`] |
//!
//! Numbers are little-endian and unaligned (F-13). See the sections "Payloads" and "`EventPipe`
//! Commands" of the document.
//!
//! # The passes over a message
//!
//! A struct declares its fields once (`wire_struct!`), and each pass is generated from that list.
//!
//! | pass | by | result |
//! |---|---|---|
//! | read | [`Decode`] with a [`Reader`] | a value, or the kind, offset and path of the first error. Items of an array are read with the array, and again by its iterator |
//! | write | [`Encode`] into a [`Sink`] | the bytes |
//! | measure | [`Encode`] into a sink that only counts | [`Encode::encoded_len`], or the offset of a field that a server refuses |
//! | visit | `Visit` with a `Visitor` | values from sources other than the wire: JSON, annotated dumps, generated values, the grammar as data |
#![forbid(unsafe_code)]

//! # Example
//!
//! Read and write the fields of a message that this crate lacks:
//!
//! ```
//! use dotnet_diagnostics_ipc::wire::{Decode as _, Encode as _, IpcString, Reader, SliceSink};
//!
//! let mut buffer = [0; 64];
//! let mut sink = SliceSink::new(&mut buffer);
//! 7u32.encode(&mut sink)?;
//! IpcString::new("ab").encode(&mut sink)?; // count 3 with its NUL, then UTF-16
//! let len = sink.finish()?;
//! assert_eq!(&buffer[..len], b"\x07\0\0\0\x03\0\0\0a\0b\0\0\0");
//!
//! let mut reader = Reader::new(&buffer[..len]);
//! assert_eq!(u32::decode(&mut reader), Ok(7));
//! assert_eq!(IpcString::decode(&mut reader)?.to_string(), "ab");
//! # Ok::<(), Box<dyn core::error::Error>>(())
//! ```

mod array;
mod encode_error;
mod error;
mod field;
mod guid;
pub(crate) mod macros;
mod path;
mod reader;
mod sink;
mod string;
mod transcode;
#[doc(hidden)]
pub mod visit;

pub use array::{Array, Iter};
pub use encode_error::EncodeError;
pub use error::{Layer, WireError, WireErrorKind};
#[doc(hidden)]
pub use field::Field;
pub use guid::{Clsid, Guid};
pub use path::Path;
#[doc(hidden)]
pub use reader::{Cursor, Failed};
pub use reader::{Decode, Reader};
pub use sink::{Encode, Sink, SliceSink};
pub(crate) use string::is_white_space;
pub use string::{IpcString, Units};

pub(crate) use error::MAX_TRACEPOINT_NAME_LEN;
#[doc(hidden)]
pub use path::Root;
pub(crate) use path::clamp;
pub(crate) use reader::{Fault, decode_by_read, decode_from};
pub(crate) use sink::{Comparer, count_of};
pub(crate) use visit::{Layout, Visit, Visitor, decode_by_build};
