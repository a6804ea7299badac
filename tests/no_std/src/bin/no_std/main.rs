//! Run with `cargo run`: exits with 0, or with the number of the first check that failed.
//! `.ci/nightly targets` runs it on machines without an operating system, too.
//!
//! There is no `#[global_allocator]` here and the panic handlers are our own. Were `alloc` pulled
//! in anywhere, the compiler would miss an allocator; were `std`, there would be two panic
//! handlers. Either way the program is not built.

#![no_std]
#![no_main]

mod checks;
#[cfg_attr(all(target_os = "none", target_arch = "arm"), path = "machine/cortex_m.rs")]
#[cfg_attr(target_arch = "wasm32", path = "machine/wasm32.rs")]
#[cfg_attr(not(any(target_os = "none", target_arch = "wasm32")), path = "machine/hosted.rs")]
mod machine;
