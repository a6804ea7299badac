//! The conformance suites, as `diagipc` runs them: servers, clients, codecs, recordings, fuzzing,
//! reports, the reference runtime. And the program as people and scripts use it: `cli`, here because
//! the tests of one binary run side by side, and most of both wait.

#[cfg(unix)]
mod c_header;
#[path = "../cli/mod.rs"]
mod cli;
#[cfg(unix)]
mod client_detection;
#[cfg(unix)]
mod client_suite;
#[cfg(unix)]
mod codec_adapters;
#[cfg(unix)]
mod error_messages;
#[cfg(unix)]
#[path = "../../../tests/error_texts/mod.rs"]
mod error_texts;
#[cfg(unix)]
mod fuzz_server;
#[cfg(unix)]
mod grammar;
#[cfg(unix)]
mod player_on_sockets;
#[cfg(unix)]
mod record;
#[cfg(unix)]
mod reference_runtime;
mod report;
#[cfg(windows)]
mod runtime_windows;
#[path = "../../../tests/schema/mod.rs"]
mod schema;
#[cfg(unix)]
mod server_faults;
#[cfg(unix)]
mod server_profiles;
#[cfg(unix)]
mod server_suite;
#[cfg(unix)]
#[path = "../../../tests/snapshot/mod.rs"]
mod snapshot;
mod tool;
