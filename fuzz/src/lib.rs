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

/// Defines `ask`, which asks an adapter in C that is linked in: `$ask` and `$forget` are its
/// functions (adapter.c).
#[macro_export]
macro_rules! asks {
    ($ask:ident, $forget:ident) => {
        unsafe extern "C" {
            fn $ask(
                line: *const std::ffi::c_char,
                count: usize,
                answer_count: *mut usize,
            ) -> *const std::ffi::c_char;
            fn $forget();
        }

        fn ask(question: &str) -> String {
            let line = std::ffi::CString::new(question).unwrap();
            let mut count = 0;
            // SAFETY: the question is as many bytes as it says, and a NUL, that are only read; the
            // answer is as many bytes as it says, until they are forgotten.
            unsafe {
                let answer = $ask(line.as_ptr(), question.len(), &raw mut count);
                let text =
                    String::from_utf8(std::slice::from_raw_parts(answer.cast(), count).to_vec())
                        .unwrap();
                $forget();
                text
            }
        }
    };
}
