//! The .NET Diagnostic IPC Protocol.
#![no_std]
#![deny(unsafe_code)]
#![cfg_attr(docsrs, feature(doc_cfg))]
#![cfg_attr(
    test,
    allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, clippy::arithmetic_side_effects)
)]

#[cfg(feature = "alloc")]
extern crate alloc;

pub mod advertise;
pub mod command;
pub mod header;
pub mod hresult;
pub mod legacy;
pub mod message;
#[cfg(feature = "vectors")]
pub mod vectors;
pub mod wire;
