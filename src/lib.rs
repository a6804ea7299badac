//! Speak the .NET Diagnostic IPC Protocol (`DOTNET_IPC_V1`), with which tools request traces, dumps,
//! environment variables and more from a running .NET process.
//!
//! Microsoft describes the protocol in one design document, which has been rewritten five times.
//! These pages call it *the document*, and its six versions the *editions*. Runtimes deviate from
//! it in places. The crate encodes and decodes every message of every edition, both as the document
//! prints it and as runtimes send it. It has state machines for both sides, client and server, of
//! every exchange. Without features it is `no_std`, does not allocate, and does no I/O.
//!
//! # Encode a request, decode the reply
//!
//! ```
//! use dotnet_diagnostics_ipc::message::eventpipe::{CollectTracing2, EventLevel, Format, ProviderConfig, SessionReply};
//! use dotnet_diagnostics_ipc::message::{Message, Reply, Request as _};
//! use dotnet_diagnostics_ipc::wire::Array;
//!
//! let providers = [ProviderConfig::new("Microsoft-Windows-DotNETRuntime", 1, EventLevel::INFORMATIONAL)];
//! let request = CollectTracing2 {
//!     circular_buffer_mb: 256,
//!     format: Format::NET_TRACE,
//!     request_rundown: true,
//!     providers: Array::new(&providers),
//! };
//! request.check_limits()?; // what a server would refuse
//! let mut buffer = [0; 256];
//! let len = request.encode_message(&mut buffer)?;
//! assert_eq!((&buffer[..20], len), (&b"DOTNET_IPC_V1\0\x75\0\x02\x03\0\0"[..], 0x75));
//!
//! // The reply, and the first bytes of the stream that follows it.
//! let received = b"DOTNET_IPC_V1\0\x1c\0\xff\0\0\0\x2a\0\0\0\0\0\0\0Nettrace";
//! let (message, stream) = Message::decode_prefix(received)?;
//! match message.reply_as::<CollectTracing2>()? {
//!     Reply::Ok(SessionReply { session_id }) => assert_eq!((session_id, stream), (42, &b"Nettrace"[..])),
//!     Reply::OkWithoutPayload => panic!("no session id"),
//!     Reply::Error(error) => panic!("{}", error.hresult),
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Ask a running process
//!
//! The feature `io-adapters` adds a client that asks a process over its socket or pipe.
#![cfg_attr(
    feature = "io-adapters",
    doc = "
```no_run
use dotnet_diagnostics_ipc::io::{Client, Endpoint};

let client = Client::new(Endpoint::process(12345));
let info = client.info()?;
println!(\"{} runs {}\", info.process_id, info.command_line);
client.environment()?.for_each(|entry| println!(\"{}\", entry.text()))?;
# Ok::<(), Box<dyn std::error::Error>>(())
```
"
)]
//!
//! # What to read
//!
//! | to | read |
//! |---|---|
//! | encode a request, decode a reply | [`message`] |
//! | run a whole exchange with your own I/O | [`exchange`]: what to send and receive, and when |
//! | ask a process over its socket, with deadlines | module `io`, feature `io-adapters`; `async` with the feature `tokio` |
//! | write a server, or a tool that runtimes connect to | [`exchange::Server`], [`exchange::DiagnosticPort`]; over sockets `io::server`, `io::port_listener` |
//! | read what follows a reply | [`continuation`] |
//! | read or write `DOTNET_DiagnosticPorts`, or the name of a socket | [`port`], [`endpoint`] |
//! | add a message that this crate lacks | [`wire`], in your own crate; `CONTRIBUTING.md`, in this one |
//! | test with the golden vectors | the package [`dotnet-diagnostics-ipc-vectors`] |
//! | test with values from a fuzzer or proptest | module `testing`, feature `arbitrary` |
//! | check a server, client or codec in any language | the program [`diagipc`] |
//! | implement the protocol in another language | [`spec/GUIDE.md`] |
//!
//! A number such as F-19 or P-1 cites a fact in `spec/ERRATA.md`, which quotes the document and
//! reports what runtimes do. The files named on this page are in the package and in the repository.
//!
//! [`dotnet-diagnostics-ipc-vectors`]: https://docs.rs/dotnet-diagnostics-ipc-vectors
//! [`diagipc`]: https://docs.rs/crate/diagipc/latest/source/README.md
//! [`spec/GUIDE.md`]: https://docs.rs/crate/dotnet-diagnostics-ipc/latest/source/spec/GUIDE.md
//!
//! # Modules
#![cfg_attr(doc, doc = include_str!("pictures/layers.svg"))]
//!
//! | module | contents |
//! |---|---|
//! | [`message`] | the request and reply of every command, and [`Message`](message::Message): header and payload |
//! | [`header`], [`command`], [`hresult`] | the 20 bytes before every payload, the codes of commands, result codes |
//! | [`advertise`] | the 34 bytes that a runtime sends when it connects to a diagnostic port |
//! | [`continuation`] | what follows a reply: the environment block, the start of a stream |
//! | [`port`], [`endpoint`] | the variables that configure diagnostic ports; names of sockets and pipes |
//! | [`user_events`] | the data for the Linux kernel in a `user_events` session |
//! | [`exchange`] | both sides of every flow, as state machines without I/O |
//! | [`wire`] | the byte layout: [`Reader`](wire::Reader), [`Sink`](wire::Sink), strings, arrays, GUIDs, errors |
//! | [`text`] | the error for text that is not a valid name, port, command or GUID |
//! | [`legacy`] | the parts of the 2019 draft that later editions dropped |
#![cfg_attr(
    feature = "io-adapters",
    doc = "| [`io`] | the exchanges over real sockets and pipes; finding and trusting a runtime |"
)]
#![cfg_attr(
    feature = "arbitrary",
    doc = "| [`testing`] | messages for fuzzers and proptest: valid, extreme, damaged |"
)]
#![cfg_attr(docsrs, feature(doc_cfg))]
#![no_std]
#![deny(unsafe_code)]
// No input causes a panic.
#![cfg_attr(
    not(test),
    deny(
        clippy::indexing_slicing,
        clippy::arithmetic_side_effects,
        clippy::unwrap_used,
        clippy::expect_used,
        clippy::panic
    )
)]

#[cfg(feature = "alloc")]
extern crate alloc;
// Only `io` uses `std`.
#[cfg(feature = "io-adapters")]
extern crate std;

pub mod advertise;
pub mod command;
pub mod continuation;
pub mod endpoint;
pub mod exchange;
pub mod header;
pub mod hresult;
#[cfg(feature = "io-adapters")]
pub mod io;
pub mod legacy;
pub mod message;
mod number_formats;
pub mod port;
#[cfg(feature = "arbitrary")]
pub mod testing;
pub mod text;
pub mod user_events;
pub mod wire;

/// The README, whose examples are compiled and run.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
