//! The library's floors.

#[path = "floors/mod.rs"]
mod floors;

const FLOORS: &[&[&str]] = &[
    &["number_formats", "text"],
    &["hresult", "command"],
    &["wire"],
    &["header", "advertise", "port", "endpoint"],
    &["legacy", "message"],
    &["continuation", "user_events"],
    &["exchange"],
    &["io"],
    &["testing"],
];

#[test]
fn modules_use_their_floor_and_lower_ones() {
    floors::modules_use_their_floor_and_lower_ones(env!("CARGO_MANIFEST_DIR"), FLOORS);
}
