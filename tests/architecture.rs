//! Checks the layers of the library.

#[path = "floors/mod.rs"]
mod floors;

use floors::Floors;

const LIBRARY: Floors = Floors {
    root: env!("CARGO_MANIFEST_DIR"),
    floors: &[
        &["number_formats", "text"],
        &["hresult", "command"],
        &["wire"],
        &["header", "advertise", "port", "endpoint"],
        &["legacy", "message"],
        &["continuation", "user_events"],
        &["exchange"],
        &["io"],
        &["testing"],
    ],
};

#[test]
fn imports_point_downwards() {
    LIBRARY.imports_point_downwards();
}

#[test]
fn files_have_no_import_cycles() {
    LIBRARY.files_have_no_import_cycles();
}

#[test]
fn every_module_has_a_floor() {
    LIBRARY.every_module_has_a_floor();
}
