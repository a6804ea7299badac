#![cfg_attr(not(feature = "afl"), no_main)]

use std::ffi::c_char;
use std::slice;

use dotnet_diagnostics_ipc::testing::fuzzing;

// oracle.c
unsafe extern "C" {
    fn oracle_ask(line: *const c_char, count: usize, answer_count: *mut usize) -> *const c_char;
    fn oracle_forget();
}

/// Asks the codec in C, which is linked in.
fn ask(question: &str) -> String {
    let mut count = 0;
    // SAFETY: the question is `count` bytes that are only read; the answer is as many bytes as it says, until they are forgotten.
    unsafe {
        let answer = oracle_ask(question.as_ptr().cast(), question.len(), &raw mut count);
        let text = String::from_utf8(slice::from_raw_parts(answer.cast(), count).to_vec()).unwrap();
        oracle_forget();
        text
    }
}

fn differential(input: &[u8]) {
    fuzzing::differential(input, &mut ask);
}

dotnet_diagnostics_ipc_fuzz::target!(differential);
