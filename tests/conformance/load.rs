//! Deadlines that hold on a machine that has other work.
//!
//! A deadline that no test waits for can be long. One that a test waits for, since it is about silence, is short on an idle machine, and
//! as many times longer as starting a process takes longer here and now.

use std::process::Stdio;
use std::time::{Duration, Instant};

use crate::tool::python;

/// What three Pythons beside each other take at most on an idle machine of two processors.
const IDLE: Duration = Duration::from_millis(100);
/// Where the machine is slower than this, a test may fail.
const MOST: u32 = 20;

/// How many times slower this machine is than an idle one, at least 1. Since the load changes while a test runs, a machine that is busy
/// counts twice.
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

/// Milliseconds that are this many on an idle machine.
pub(crate) fn scaled(ms: u32) -> String {
    (ms * slower()).to_string()
}
