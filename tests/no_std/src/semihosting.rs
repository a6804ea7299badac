//! A bare Cortex-M, emulated by qemu: output is by semihosting. The parent has `start`.

use core::arch::asm;

/// The vector table after the initial stack pointer, which the linker script writes: reset, and the
/// other exceptions.
#[unsafe(link_section = ".vectors")]
#[used]
static VECTORS: [extern "C" fn() -> !; 15] = {
    let mut vectors: [extern "C" fn() -> !; 15] = [fault; 15];
    vectors[0] = reset;
    vectors
};

const SYS_WRITE0: usize = 0x04;
const SYS_EXIT_EXTENDED: usize = 0x20;
const APPLICATION_EXIT: usize = 0x2_0026;

extern "C" fn reset() -> ! {
    exit(super::start().into())
}

extern "C" fn fault() -> ! {
    say(b"a fault of the processor\n\0");
    exit(100)
}

#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    say(b"a panic\n\0");
    exit(101)
}

/// Text that ends with a NUL.
pub fn say(text: &[u8]) {
    // SAFETY: qemu reads memory until a NUL, and handles the breakpoint.
    unsafe { asm!("bkpt #0xab", inout("r0") SYS_WRITE0 => _, in("r1") text.as_ptr()) };
}

fn exit(code: usize) -> ! {
    let block = [APPLICATION_EXIT, code];
    loop {
        // SAFETY: qemu reads two words, and ends.
        unsafe { asm!("bkpt #0xab", inout("r0") SYS_EXIT_EXTENDED => _, in("r1") block.as_ptr()) };
    }
}
