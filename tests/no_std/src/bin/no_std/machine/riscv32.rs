//! A bare RISC-V, qemu's `virt`: output is on its serial line.

use core::arch::global_asm;
use core::ptr::write_volatile;

use crate::checks;

global_asm!(
    ".section .vectors, \"ax\"",
    ".global _start",
    "_start:",
    "la t0, fault",
    "csrw mtvec, t0",
    "la sp, stack_begins",
    "j reset",
    ".balign 4",
    "fault:",
    "j faulted",
);

const SERIAL_LINE: *mut u8 = 0x1000_0000 as *mut u8;
/// A word written here ends qemu: 0x5555 with 0, 0x3333 with what the upper half says.
const FINISHER: *mut u32 = 0x10_0000 as *mut u32;

#[unsafe(no_mangle)]
extern "C" fn reset() -> ! {
    let failed = checks::run();
    if failed == 0 {
        say(&[b'0' + checks::CHECKS.len() as u8]);
        say(b" checks passed\n");
    } else {
        say(b"check ");
        say(&[b'0' + failed]);
        say(b" failed\n");
    }
    exit(failed.into())
}

#[unsafe(no_mangle)]
extern "C" fn faulted() -> ! {
    say(b"a fault of the processor\n");
    exit(100)
}

#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    say(b"a panic\n");
    exit(101)
}

fn say(text: &[u8]) {
    for byte in text {
        // SAFETY: the transmitter of `virt` exists, and accepts bytes at any speed.
        unsafe { write_volatile(SERIAL_LINE, *byte) };
    }
}

fn exit(code: u32) -> ! {
    loop {
        // SAFETY: as FINISHER says.
        unsafe { write_volatile(FINISHER, if code == 0 { 0x5555 } else { code << 16 | 0x3333 }) };
    }
}
