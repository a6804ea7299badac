//! `instructions.py` runs this under callgrind: each case, once for each contender. Without valgrind it
//! times them.
//!
//! `instructions [--list] [PART OF A NAME]...`

#![allow(clippy::type_complexity)]

mod callgrind;
mod case;
mod cases;
mod ck;
mod heap;
mod model;
mod plain;

use std::time::{Duration, Instant};

fn main() {
    let mut wanted: Vec<String> = std::env::args().skip(1).collect();
    let only_list = wanted.first().is_some_and(|first| first == "--list");
    if only_list {
        wanted.remove(0);
    }
    // What the measuring itself takes.
    let empty = case::Case::new("nothing", 0).by("ours", || ());
    for mut case in std::iter::once(empty).chain(cases::all()) {
        if case.name != "nothing"
            && !wanted.is_empty()
            && !wanted.iter().any(|part| case.name.contains(part.as_str()))
        {
            continue;
        }
        for (contender, run) in &mut case.contenders {
            if only_list {
                println!("{}\t{}\t{contender}", case.name, case.size);
                continue;
            }
            // What is done once is done now.
            run();
            if callgrind::is_there() {
                let name = format!("{}\t{}\t{contender}", case.name, case.size);
                heap::measured(|| callgrind::count(&name, run));
            } else {
                let took = heap::measured(|| nanoseconds(run));
                println!("{}\t{}\t{contender}\t{took}", case.name, case.size);
            }
        }
    }
}

/// The shortest time of many, in nanoseconds: what else runs on the machine only adds.
fn nanoseconds(run: &mut dyn FnMut()) -> f64 {
    let (mut best, mut times) = (f64::MAX, 1u32);
    let began = Instant::now();
    while began.elapsed() < Duration::from_millis(60) {
        let start = Instant::now();
        for _ in 0..times {
            run();
        }
        let took = start.elapsed();
        if took < Duration::from_micros(50) {
            times *= 2;
        } else {
            best = best.min(took.as_secs_f64() * 1e9 / f64::from(times));
        }
    }
    best
}
