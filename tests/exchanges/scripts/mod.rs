//! The exchange scripts of `vectors/exchanges/`, played against this crate's own state machines on
//! connections in memory, and checks of the files themselves.

mod client;
mod executor;
mod files;
mod network;
mod player;
mod progress;
mod runtime;
mod socket;

use dotnet_diagnostics_ipc_vectors as vectors;
use dotnet_diagnostics_ipc_vectors::script::{Plays, Script, Step};

use network::Chunking;

/// Asks twice, and records a fault if the second answer differs.
macro_rules! twice {
    ($net:expr, $question:expr) => {{
        let (first, second) = ($question, $question);
        if first != second {
            $net.borrow_mut().faults.push(format!("asked twice: {first:?}, then {second:?}"));
        }
        first
    }};
}
pub(crate) use twice;

const CHUNKINGS: &[Chunking] = &[
    Chunking::All,
    Chunking::One,
    Chunking::Random(1),
    Chunking::Random(2),
    Chunking::Random(3),
    Chunking::Random(4),
    Chunking::Random(5),
    Chunking::Random(6),
];

/// Whether a script needs the process of the runtime, which does not exist here.
fn is_about_a_process(script: &Script) -> bool {
    let Plays::Client(part) = &script.plays else { return false };
    !part.target.default_port
        || script.steps.iter().any(|step| matches!(step, Step::Signal(_) | Step::ExpectSocket(_)))
}

/// Plays all scripts for which `is_meant` is true, for every chunking; returns their number.
fn play_all(is_meant: impl Fn(&Plays) -> bool) -> usize {
    let mut played = 0;
    let mut wrong = Vec::new();
    for file in vectors::script_files().unwrap() {
        for script in file
            .scripts
            .iter()
            .filter(|script| is_meant(&script.plays) && !is_about_a_process(script))
        {
            played += 1;
            wrong.extend(
                CHUNKINGS
                    .iter()
                    .filter_map(|chunking| player::play(script, file.within_ms, *chunking).err()),
            );
        }
    }
    assert!(wrong.is_empty(), "{} failures\n{}", wrong.len(), wrong.join("\n"));
    played
}

#[test]
fn runtime_passes_every_script_for_every_chunking() {
    let played = play_all(|plays| matches!(plays, Plays::Client(_)));
    assert!(played >= 70, "{played}");
}

#[test]
fn client_passes_every_script_for_every_chunking() {
    let played = play_all(|plays| matches!(plays, Plays::Runtime(_)));
    assert!(played >= 60, "{played}");
}
