//! A module of `WebAssembly` without imports: `run.mjs` calls it.

use crate::checks;

#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    core::arch::wasm32::unreachable()
}

/// 0, or the number of the first check that failed.
#[unsafe(no_mangle)]
extern "C" fn run() -> u32 {
    checks::run().into()
}

/// How many checks there are.
#[unsafe(no_mangle)]
extern "C" fn count() -> usize {
    checks::CHECKS.len()
}
