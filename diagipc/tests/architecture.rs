//! The tool's floors.

#[path = "../../tests/floors/mod.rs"]
mod floors;

const FLOORS: &[&[&str]] = &[
    &["embedded", "faults", "names", "nettrace", "process"],
    &["network", "print", "report"],
    &["conversation", "suite"],
    &["codec", "known"],
    &["server"],
    &["runtime"],
    &["client", "fuzz", "record"],
    &["commands"],
    &["main"],
];

#[test]
fn modules_use_their_floor_and_lower_ones() {
    floors::modules_use_their_floor_and_lower_ones(env!("CARGO_MANIFEST_DIR"), FLOORS);
}
