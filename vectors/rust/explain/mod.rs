//! Split bytes into messages, advertises and continuations, and explain each part of them.
//!
//! ```
//! use dotnet_diagnostics_ipc_vectors::explain::Splitter;
//!
//! let bytes = b"DOTNET_IPC_V1\0\x1c\0\x02\x01\0\0\x2a\0\0\0\0\0\0\0DOTNET_IPC_V1\0\x14\0\xff\0\x01\0";
//! let items: Vec<_> = Splitter::new(bytes, None, None).collect();
//! assert_eq!(items[0].title(), "request EventPipe/StopTracing, 0x0201, 28 bytes at offset 0");
//! assert_eq!(items[0].value["sessionId"], "42");
//! let parts = items[0].parts(bytes);
//! assert_eq!((parts[5].offset, parts[5].field.as_str(), parts[5].text.as_str()), (20, "sessionId", "42 (0x2a)"));
//! assert_eq!(items[1].title(), "reply to EventPipe/StopTracing, 0xFF00, 20 bytes at offset 28, not canonical");
//! ```

mod explanation;
mod item;
mod splitter;

pub use item::{Item, ItemKind, MOST_IN_FIELDS};
pub use splitter::Splitter;
