//! An operating system with a C library, of which only `main` and `abort` are used.

use core::ffi::{c_char, c_int};

use crate::checks;

#[link(name = "c")]
unsafe extern "C" {
    safe fn abort() -> !;
}

#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    abort()
}

/// The `core` that comes with the compiler was built to unwind and names this function; nothing
/// here calls it.
#[unsafe(no_mangle)]
extern "C" fn rust_eh_personality() {}

#[unsafe(no_mangle)]
extern "C" fn main(_argc: c_int, _argv: *const *const c_char) -> c_int {
    checks::run().into()
}
