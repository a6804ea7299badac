//! The exchange scripts of `vectors/exchanges/`, played against this crate's own state machines on
//! connections in memory, and checks of the files themselves.

mod files;
mod in_memory;

use dotnet_diagnostics_ipc_vectors as vectors;
use dotnet_diagnostics_ipc_vectors::script::Plays;

use super::drive;
use in_memory::{Chunking, is_about_a_process, play};

fn chunkings() -> Vec<Chunking> {
    let chosen = Chunking::Chosen((0..=255).collect());
    let random = (1..=6).map(Chunking::Random);
    [Chunking::All, Chunking::One, chosen].into_iter().chain(random).collect()
}

/// Plays all scripts for which `is_meant` is true, for every chunking; returns their number.
fn play_all(is_meant: impl Fn(&Plays) -> bool) -> usize {
    let chunkings = chunkings();
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
                chunkings
                    .iter()
                    .filter_map(|chunking| play(script, file.within_ms, chunking).err()),
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
