//! The exchange scripts of `vectors/exchanges/`, played against this crate's own state machines on connections in memory, and what
//! the files themselves must be.

mod client;
mod executor;
mod files;
mod network;
mod player;
mod runtime;
mod socket;

use std::collections::BTreeSet;

use dotnet_diagnostics_ipc::vectors::{self, Plays, Script};

use network::Chunking;

/// Asks twice, and notes it where the second answer is another one.
#[macro_export]
macro_rules! twice {
    ($net:expr, $question:expr) => {{
        let (first, second) = ($question, $question);
        if first != second {
            $net.borrow_mut().faults.push(format!("asked twice: {first:?}, then {second:?}"));
        }
        first
    }};
}

/// Scripts that cannot pass here, and why. One that passes all the same fails the test.
const NOT_HERE: &[(u32, &str)] = &[];

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

/// Plays all scripts of which `is_meant` says so, for every chunking; how many there were.
fn play_all(is_meant: impl Fn(&Plays) -> bool) -> usize {
    let mut played = 0;
    let mut wrong = Vec::new();
    for file in vectors::script_files().unwrap() {
        for script in file.scripts.iter().filter(|script| is_meant(&script.plays)) {
            played += 1;
            let failures: Vec<_> =
                CHUNKINGS.iter().filter_map(|chunking| player::play(script, file.within_ms, *chunking).err()).collect();
            match (reason(script), failures.as_slice()) {
                (None, failures) => wrong.extend_from_slice(failures),
                (Some(_), failures) if failures.len() == CHUNKINGS.len() => {}
                (Some(reason), _) => wrong.push(format!("scId {} passes, although {reason}", script.sc_id)),
            }
        }
    }
    assert!(wrong.is_empty(), "{} failures\n{}", wrong.len(), wrong.join("\n"));
    played
}

fn reason(script: &Script) -> Option<&'static str> {
    NOT_HERE.iter().find(|(sc_id, _)| *sc_id == script.sc_id).map(|(_, reason)| *reason)
}

#[test]
fn our_runtime_passes_every_script_for_every_chunking() {
    let played = play_all(|plays| matches!(plays, Plays::Client(_)));
    assert!(played >= 70, "{played}");
}

#[test]
fn our_client_passes_every_script_for_every_chunking() {
    let played = play_all(|plays| matches!(plays, Plays::Runtime(_)));
    assert!(played >= 60, "{played}");
}

#[test]
fn what_cannot_pass_here_exists() {
    let files = vectors::script_files().unwrap();
    let known: BTreeSet<_> = files.iter().flat_map(|file| &file.scripts).map(|script| script.sc_id).collect();
    for (sc_id, reason) in NOT_HERE {
        assert!(known.contains(sc_id), "scId {sc_id} ({reason}) is no script");
    }
}
