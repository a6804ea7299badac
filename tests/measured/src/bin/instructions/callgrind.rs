//! Client requests: what a program under valgrind says to callgrind. Elsewhere they do nothing.

use std::ffi::CString;

/// `VG_USERREQ_TOOL_BASE('C', 'T')` of `valgrind/callgrind.h`, and the requests that follow it.
const BASE: usize = 0x4354_0000;
const ZERO_STATS: usize = BASE + 1;
const DUMP_STATS_AT: usize = BASE + 3;

/// Whether this runs under valgrind.
pub fn is_there() -> bool {
    // VG_USERREQ__RUNNING_ON_VALGRIND
    request(0x1001, 0) != 0
}

/// What `measured` takes goes to a dump of its own, with this name.
pub fn count(name: &str, measured: &mut dyn FnMut()) {
    let name = CString::new(name).expect("names have no NUL");
    request(ZERO_STATS, 0);
    measured();
    request(DUMP_STATS_AT, name.as_ptr() as usize);
}

#[cfg(target_arch = "x86_64")]
fn request(code: usize, argument: usize) -> usize {
    let arguments = [code, argument, 0, 0, 0, 0];
    let mut result = 0usize;
    // Four rotations that change nothing, and a swap of a register with itself: valgrind reads that
    // as a request.
    unsafe {
        core::arch::asm!(
            "rol rdi, 3", "rol rdi, 13", "rol rdi, 61", "rol rdi, 51", "xchg rbx, rbx",
            in("rax") arguments.as_ptr(), inout("rdx") result, options(nostack),
        );
    }
    std::mem::take(&mut result)
}

#[cfg(not(target_arch = "x86_64"))]
fn request(_: usize, _: usize) -> usize {
    0
}
