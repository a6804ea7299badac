//! What both programs need.

#![no_std]

use core::hint::black_box;

#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    loop {}
}

/// Bytes that nothing is known about.
pub fn unknown<'a>() -> &'a mut [u8] {
    black_box(&mut [])
}

/// Nothing of it may be left out.
pub fn keep<T>(value: T) {
    black_box(&value);
}
