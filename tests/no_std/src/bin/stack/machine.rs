//! The machine: where it starts, and its stack painted.

#[path = "../../semihosting.rs"]
mod semihosting;

use core::arch::asm;
use core::hint::black_box;

pub use semihosting::say;

fn start() -> u8 {
    crate::main();
    0
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
    say(&digits[written..]);
}

/// Memory of this machine that nothing else uses: `memory.x` gives the program none but its stack,
/// at the other end.
pub fn memory<'a, const N: usize>() -> &'a mut [u8; N] {
    const { assert!(N <= 0x2_0000) }
    // SAFETY: it is called once.
    unsafe { &mut *(0x2000_0000 as *mut [u8; N]) }
}

const PAINT: u32 = 0x5a17_c0de;
/// The number of bytes painted below the caller.
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
