//! The grammar of payloads: integers, `bool`, `string`, `array<T>`, `GUID`, and what can be wrong with them.
//!
//! | in the document | bytes | here |
//! |---|---|---|
//! | `byte`, `uint16_t`, `uint`, `ulong` | 1, 2, 4, 8 | `u8`, `u16`, `u32`, `u64` |
//! | `int32 hresult` | 4 | [`HResult`](crate::hresult::HResult) |
//! | `wchar` | 2 | `u16` |
//! | `bool` | 1 | `bool`: any byte but 0 is true; 0 and 1 are written |
//! | `string` | 4 + 2 × length | [`IpcString`] |
//! | `array<T>` | 4 + items | [`Array`]; of bytes: `&[u8]` |
//! | `GUID`, `CLSID` | 16 | [`Guid`], [`Clsid`] |
//!
//! All numbers are little-endian, and nothing is aligned (F-13). Sections "Payloads" and "`EventPipe` Commands" of the document.
#![forbid(unsafe_code)]

mod array;
mod decode_error;
mod encode_error;
mod error;
mod field;
pub(crate) mod fields;
mod guid;
mod limit_error;
pub(crate) mod macros;
mod path;
mod reader;
mod sink;
mod string;

pub use array::{Array, Iter};
pub use decode_error::{DecodeError, DecodeErrorKind};
pub use encode_error::EncodeError;
pub use error::{Layer, WireError, WireErrorKind};
pub use guid::{Clsid, Guid, ParseGuidError};
pub use limit_error::{LimitError, LimitKind};
pub use path::Path;
pub use reader::{Decode, Reader};
pub use sink::{Encode, Sink, SliceSink};
pub use string::{IpcString, Units};

pub(crate) use error::sealed::Sealed;
pub(crate) use field::Field;
pub(crate) use fields::{Fields, Layout, Source};
pub(crate) use limit_error::MAX_TRACEPOINT_NAME_LEN;
pub(crate) use path::clamp;
pub(crate) use sink::Comparer;
