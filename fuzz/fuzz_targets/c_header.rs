#![no_main]

use std::ffi::{CString, c_char};

use dotnet_diagnostics_ipc_fuzz::bodies;

// fuzz/adapter.c
unsafe extern "C" {
    fn c_header_ask(line: *const c_char, answer_count: *mut usize) -> *const c_char;
    fn c_header_forget();
}

/// Returns the adapter's answer to a question of the line protocol.
fn ask(question: &str) -> String {
    let line = CString::new(question).unwrap();
    let mut count = 0;
    // SAFETY: the question ends with a NUL and is only read. The answer has `count` bytes, which
    // stay until `c_header_forget`.
    unsafe {
        let answer = c_header_ask(line.as_ptr(), &raw mut count);
        let text = std::slice::from_raw_parts(answer.cast(), count).to_vec();
        c_header_forget();
        String::from_utf8(text).unwrap()
    }
}

fn c_header(input: &[u8]) {
    bodies::c_header(input, &mut ask);
}

libfuzzer_sys::fuzz_target!(|input: &[u8]| c_header(input));
