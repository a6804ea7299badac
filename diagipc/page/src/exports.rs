//! The functions that the page calls.
#![expect(unsafe_code, reason = "an export has a name that is not mangled")]

use std::cell::RefCell;

use dotnet_diagnostics_ipc_vectors::pasted::Pasted;
use serde_json::{Value, json};

use crate::explained::{choices, explained, read, take};

thread_local! {
    static ROOM: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
    static TAKEN: RefCell<Pasted> = RefCell::new(Pasted::default());
    static ANSWER: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// Returns where the page writes `len` bytes, for the next call.
#[unsafe(no_mangle)]
pub extern "C" fn room(len: usize) -> *mut u8 {
    ROOM.with_borrow_mut(|room| {
        *room = vec![0; len];
        room.as_mut_ptr()
    })
}

/// Takes what the page wrote as bytes or a capture. The answer is as for text.
#[unsafe(no_mangle)]
pub extern "C" fn take_bytes() {
    let (taken, said) = take(ROOM.take());
    TAKEN.set(taken);
    answer(&said);
}

/// Takes what the page wrote as text, in the form of this number or the form that it seems to have.
/// The answer has the form, or why the text is not in a form.
#[unsafe(no_mangle)]
pub extern "C" fn take_text(form: usize) {
    let (taken, said) = read(&ROOM.take(), form);
    TAKEN.set(taken);
    answer(&said);
}

/// Explains the bytes, with the options that the page wrote as JSON.
#[unsafe(no_mangle)]
pub extern "C" fn explain() {
    let said = match serde_json::from_slice(&ROOM.take()) {
        Ok(options) => TAKEN.with_borrow(|taken| explained(taken, &options)),
        Err(error) => json!({ "error": error.to_string() }),
    };
    answer(&said);
}

/// Answers with the choices of the page, and how many bytes are read.
#[unsafe(no_mangle)]
pub extern "C" fn list_choices() {
    answer(&choices());
}

fn answer(said: &Value) {
    ANSWER.set(said.to_string().into_bytes());
}

#[unsafe(no_mangle)]
pub extern "C" fn bytes() -> *const u8 {
    TAKEN.with_borrow(|taken| taken.bytes.as_ptr())
}

#[unsafe(no_mangle)]
pub extern "C" fn bytes_len() -> usize {
    TAKEN.with_borrow(|taken| taken.bytes.len())
}

#[unsafe(no_mangle)]
pub extern "C" fn answer_at() -> *const u8 {
    ANSWER.with_borrow(|answer| answer.as_ptr())
}

#[unsafe(no_mangle)]
pub extern "C" fn answer_len() -> usize {
    ANSWER.with_borrow(Vec::len)
}
