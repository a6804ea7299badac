//! `diagipc replay`.
#![cfg(target_os = "linux")]

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::process::Stdio;

use serde_json::json;

use crate::cli::{diagipc, run};

/// A dead runtime is a zombie until it is waited for.
#[test]
fn replay_zombie_target_is_dead() {
    let directory = crate::tool::directory();
    // DisablePerfMap as the document prints it, which kills .NET 8 (F-84).
    let file = json!({ "format": 1, "title": "t", "within_ms": 30_000, "numberOfScripts": 1, "scripts": [{
        "scId": 1, "name": "dies", "comment": "the runtime dies", "plays": "client", "spec": ["F-84"], "since": null,
        "hazard": "harmful", "target": { "suspended": false, "ports": [], "environment": {}, "platform": null },
        "steps": [
            { "open": "a" },
            { "on": "a", "send": ["444f544e45545f4950435f563100140004050000"] },
            { "on": "a", "expect_end": "any" },
            { "expect_target": "dead" }],
        "seenOn": [] }] });
    let path = directory.path().join("dies.json");
    fs::write(&path, file.to_string()).unwrap();
    let mut command = diagipc(&["runtime", "--misbehave", "dies-of-empty-payload", "--until-eof"]);
    command
        .env("TMPDIR", directory.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    let mut runtime = command.spawn().unwrap();
    let mut line = String::new();
    BufReader::new(runtime.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let arguments =
        ["replay", path.to_str().unwrap(), "--allow-harmful", "--to", &runtime.id().to_string()];
    run(&arguments, b"", 0);
    assert_eq!(runtime.wait().unwrap().code(), None);
}
