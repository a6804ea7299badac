//! For tests: values of any kind for fuzzers and proptest, and what this crate's own fuzz targets do.
#![forbid(unsafe_code)]

pub mod arbitrary;
#[cfg(feature = "fuzzing")]
#[doc(hidden)]
pub mod fuzzing;
#[cfg(feature = "proptest")]
pub mod strategies;
