//! The .NET Diagnostic IPC Protocol.
#![no_std]
#![deny(unsafe_code)]
// Input never panics.
#![cfg_attr(
    not(test),
    deny(clippy::indexing_slicing, clippy::arithmetic_side_effects, clippy::unwrap_used, clippy::expect_used, clippy::panic)
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
