//! Deadlines for a busy machine.
//!
//! A deadline that no test waits for can be long. If a test waits for it, because it is about
//! silence, it is short on an idle machine, and longer by the factor by which starting a process
//! takes longer here and now.

use std::process::Stdio;
use std::time::{Duration, Instant};

use crate::tool::python;

/// What three Pythons at once take at most on an idle machine of two processors.
const IDLE: Duration = Duration::from_millis(100);
/// If the machine is slower than this, a test may fail.
const MOST: u32 = 20;

/// How many times slower this machine is than an idle one, at least 1. The load changes while a
/// test runs, so the factor of a busy machine is doubled.
pub(crate) fn slower() -> u32 {
    let began = Instant::now();
    let start = || python().args(["-IS", "-c", ""]).stdin(Stdio::null()).spawn().unwrap();
    for mut child in [start(), start(), start()] {
        assert!(child.wait().unwrap().success());
    }
    match began.elapsed().as_millis() / IDLE.as_millis() {
        0 => 1,
        times => u32::try_from(2 * times).map_or(MOST, |times| times.min(MOST)),
    }
}

/// So many milliseconds on an idle machine, scaled to this one.
pub(crate) fn scaled(ms: u32) -> String {
    (ms * slower()).to_string()
}
