//! The machine: where it starts, what it says, and its stack painted.

use core::arch::asm;
use core::hint::black_box;

/// The vector table behind the initial stack pointer, which `memory.x` writes: reset, and what else
/// may come.
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
    crate::main();
    exit(0)
}

extern "C" fn fault() -> ! {
    say("a fault of the processor\n\0");
    exit(100)
}

#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    say("a panic\n\0");
    exit(101)
}

/// Text that ends with a NUL.
pub fn say(text: &str) {
    // SAFETY: qemu reads memory until a NUL, and stands in for the breakpoint.
    unsafe { asm!("bkpt #0xab", inout("r0") SYS_WRITE0 => _, in("r1") text.as_ptr()) };
}

/// A number in decimal digits.
pub fn say_number(mut number: usize) {
    let mut digits = [0; 12];
    for digit in digits.iter_mut().rev().skip(1) {
        *digit = b'0' + (number % 10) as u8;
        number /= 10;
        if number == 0 {
            break;
        }
    }
    let written = digits.iter().position(|digit| *digit != 0).unwrap_or(0);
    say(core::str::from_utf8(&digits[written..]).unwrap_or("\0"));
}

fn exit(code: usize) -> ! {
    let block = [APPLICATION_EXIT, code];
    loop {
        // SAFETY: qemu reads two words, and ends.
        unsafe { asm!("bkpt #0xab", inout("r0") SYS_EXIT_EXTENDED => _, in("r1") block.as_ptr()) };
    }
}

/// Memory of this machine that nothing else uses: `memory.x` gives the program none but its stack,
/// at the other end.
pub fn memory<'a, const N: usize>() -> &'a mut [u8; N] {
    const { assert!(N <= 0x2_0000) }
    // SAFETY: it is called once.
    unsafe { &mut *(0x2000_0000 as *mut [u8; N]) }
}

const PAINT: u32 = 0x5a17_c0de;
/// So much below the caller is painted.
const PAINTED: usize = 24 * 1024;

/// How many bytes of stack `call` took, with what keeps its result.
#[inline(never)]
pub fn stack_of(call: &mut dyn FnMut()) -> usize {
    let top: usize;
    // SAFETY: a register is read.
    unsafe { asm!("mov {}, sp", out(reg) top) };
    let bottom = top - PAINTED;
    let mut word = bottom;
    while word < top {
        // SAFETY: below the stack pointer nothing lives, and the stack is longer than that.
        unsafe { (word as *mut u32).write_volatile(PAINT) };
        word += 4;
    }
    black_box(&mut *call)();
    let mut word = bottom;
    // SAFETY: as above.
    while word < top && unsafe { (word as *const u32).read_volatile() } == PAINT {
        word += 4;
    }
    top - word
}

/// Nothing of it may be left out.
#[inline(always)]
pub fn keep<T>(value: T) {
    black_box(&value);
}
