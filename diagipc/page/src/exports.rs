//! The functions that the page calls.
#![expect(unsafe_code, reason = "an export has a name that is not mangled")]

use std::cell::RefCell;

use serde_json::{Value, json};

use crate::explained::{choices, explained, read};

thread_local! {
    static ROOM: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
    static BYTES: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
    static ANSWER: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// Where the page writes `len` bytes, for the next call.
#[unsafe(no_mangle)]
pub extern "C" fn room(len: usize) -> *mut u8 {
    ROOM.with_borrow_mut(|room| {
        *room = vec![0; len];
        room.as_mut_ptr()
    })
}

/// What the page wrote is the bytes.
#[unsafe(no_mangle)]
pub extern "C" fn take_bytes() {
    BYTES.set(ROOM.take());
}

/// What the page wrote is text with the bytes, in the form of this number, or in the one that it looks like. The
/// answer has the form, or why it is not one.
#[unsafe(no_mangle)]
pub extern "C" fn take_text(form: usize) {
    let (bytes, said) = read(&ROOM.take(), form);
    BYTES.set(bytes);
    answer(&said);
}

/// Explains the bytes. What the page wrote are the options, as JSON.
#[unsafe(no_mangle)]
pub extern "C" fn explain() {
    let said = match serde_json::from_slice(&ROOM.take()) {
        Ok(options) => BYTES.with_borrow(|bytes| explained(bytes, &options)),
        Err(error) => json!({ "error": error.to_string() }),
    };
    answer(&said);
}

/// What people may choose from, and how many bytes are read.
#[unsafe(no_mangle)]
pub extern "C" fn list_choices() {
    answer(&choices());
}

fn answer(said: &Value) {
    ANSWER.set(said.to_string().into_bytes());
}

#[unsafe(no_mangle)]
pub extern "C" fn bytes() -> *const u8 {
    BYTES.with_borrow(|bytes| bytes.as_ptr())
}

#[unsafe(no_mangle)]
pub extern "C" fn bytes_len() -> usize {
    BYTES.with_borrow(Vec::len)
}

#[unsafe(no_mangle)]
pub extern "C" fn answer_at() -> *const u8 {
    ANSWER.with_borrow(|answer| answer.as_ptr())
}

#[unsafe(no_mangle)]
pub extern "C" fn answer_len() -> usize {
    ANSWER.with_borrow(Vec::len)
}
