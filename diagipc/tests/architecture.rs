//! The tool's floors.

#[path = "../../tests/floors/mod.rs"]
mod floors;

use floors::Floors;

const TOOL: Floors = Floors {
    root: env!("CARGO_MANIFEST_DIR"),
    floors: &[
        &["embedded", "faults", "names", "process"],
        &["network", "print", "report"],
        &["conversation", "suite"],
        &["codec", "known"],
        &["server"],
        &["runtime"],
        &["client", "fuzz", "record"],
        &["commands", "help"],
        &["main"],
    ],
};

#[test]
fn imports_point_downwards() {
    TOOL.imports_point_downwards();
}

#[test]
fn files_have_no_import_cycles() {
    TOOL.files_have_no_import_cycles();
}

#[test]
fn every_module_has_a_floor() {
    TOOL.every_module_has_a_floor();
}
