//! The program around a body: for libFuzzer, or with the feature `afl` for AFL++.

pub mod bodies;
#[cfg(feature = "against-dotnet")]
pub mod dotnet;

/// Runs the body with each input.
#[macro_export]
macro_rules! target {
    ($body:expr) => {
        #[cfg(not(feature = "afl"))]
        libfuzzer_sys::fuzz_target!(|input: &[u8]| $body(input));

        #[cfg(feature = "afl")]
        fn main() {
            afl::fuzz!(|input: &[u8]| $body(input));
        }
    };
}
