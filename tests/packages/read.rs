//! Reads every vector of the crate.
use dotnet_diagnostics_ipc_vectors as vectors;

fn main() {
    let groups = vectors::files().unwrap().into_iter().flat_map(|file| file.groups);
    println!("{} tests", groups.map(|group| group.tests.len()).sum::<usize>());
}
