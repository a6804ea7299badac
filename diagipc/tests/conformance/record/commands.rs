//! `diagipc proxy` and `replay`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use dotnet_diagnostics_ipc::io::{Client, Endpoint};
use dotnet_diagnostics_ipc_vectors::script::Step;
use dotnet_diagnostics_ipc_vectors::{Hazard, ScriptFile, parse_scripts};
use tempfile::TempDir;

use crate::record::runtime::{Runtime, with_runtime};
use crate::record::{info, recorded, scripts, trace};
use crate::tool;
use crate::tool::DIAGIPC;

/// Runs `diagipc`: its exit status, and what it printed.
fn diagipc(arguments: &[&str]) -> (Option<i32>, String) {
    let output = tool::diagipc().args(arguments).output().unwrap();
    let said = [output.stdout, output.stderr].concat();
    (output.status.code(), String::from_utf8(said).unwrap())
}

fn write(directory: &TempDir, name: &str, file: &ScriptFile) -> PathBuf {
    let path = directory.path().join(name);
    fs::write(&path, serde_json::to_string(file).unwrap()).unwrap();
    path
}

#[test]
fn replay_names_difference_and_needs_permission() {
    let directory = TempDir::new().unwrap();
    let traced = |to: &Path| recorded(2, to, false, |path| trace(path, 1));
    let ((), recording) = with_runtime(&Runtime::new(1), traced);
    let harmless = write(&directory, "trace.json", &scripts(&recording));
    let ((), recording) = with_runtime(&Runtime::new(1), |to| {
        recorded(1, to, false, |path| Client::new(Endpoint::socket(path)).resume().unwrap())
    });
    let mut file = scripts(&recording);
    assert_eq!(file.scripts[0].hazard, Some(Hazard::Harmful));
    let resume = write(&directory, "resume.json", &file);
    file.scripts[0].hazard = Some(Hazard::SideEffect);
    let changes = write(&directory, "changes.json", &file);
    let [harmless, resume, changes] =
        [&harmless, &resume, &changes].map(|path| path.to_str().unwrap());

    with_runtime(&Runtime::new(2), |path| {
        let path = path.to_str().unwrap();
        let (status, said) = diagipc(&["replay", harmless, "--to", path]);
        assert_eq!(status, Some(0), "{said}");
        for (script, option) in [(resume, "--allow-harmful"), (changes, "--allow-side-effects")] {
            let (status, said) = diagipc(&["replay", script, "--to", path]);
            assert_eq!(status, Some(2), "{said}");
            assert!(said.contains(option), "{said}");
            let (status, said) = diagipc(&["replay", script, "--to", path, option]);
            assert_eq!(status, Some(0), "{said}");
        }
    });
    with_runtime(&Runtime { stops: false, ..Runtime::new(2) }, |path| {
        let (status, said) = diagipc(&["replay", harmless, "--to", path.to_str().unwrap()]);
        assert_eq!(status, Some(1), "{said}");
        assert!(
            said.contains("expect on b: ")
                && said.contains("b sent 28 bytes: 444f544e45545f4950435f5631001c0002010000"),
            "{said}"
        );
        assert!(said.contains("b seen "), "{said}");
    });
    let (status, said) = diagipc(&["replay", harmless, "--to", "/nonexistent"]);
    assert_eq!(status, Some(3), "{said}");
}

#[test]
fn record_client_finds_runtime_by_process() {
    let directory = TempDir::new().unwrap();
    let ((), recording) = with_runtime(&Runtime::new(1), |to| recorded(1, to, false, info));
    let mut file = scripts(&recording);
    let Step::Send(request) = &mut file.scripts[0].steps[1] else { panic!("{file:?}") };
    request.chunks = vec![14, 6];
    let file = write(&directory, "client.json", &file);
    let (file, out) = (file.to_str().unwrap(), directory.path().join("out"));
    let (program, out) = (DIAGIPC, out.to_str().unwrap());
    with_runtime(&Runtime::new(2), |path| {
        let to = path.to_str().unwrap();
        let (status, said) = diagipc(&[
            "proxy", "--out", out, "--name", "An Info", "--to", to, "--", program, "replay", file,
            "--to", "{pid}",
        ]);
        assert_eq!(status, Some(0), "{said}");
        assert!(said.contains("Process/ProcessInfo3: 20 bytes sent"), "{said}");
        let (status, said) = diagipc(&["replay", &format!("{out}/an-info.json"), "--to", to]);
        assert_eq!(status, Some(0), "{said}");
        let words = fs::read_to_string(format!("{out}/an-info.txt")).unwrap();
        assert!(
            words.contains("request Process/ProcessInfo3") && words.contains("\"10.0.0\""),
            "{words}"
        );
        let events: Vec<_> = words
            .lines()
            .filter_map(|line| line.split_once(" s    0  "))
            .map(|(_, what)| what)
            .collect();
        // On a busy machine the recorder reads both pieces at once.
        let request = if events[1].ends_with("pieces") {
            "client: 20 bytes in 2 pieces"
        } else {
            "client: 20 bytes"
        };
        assert_eq!(events, ["opened", request, "runtime: 142 bytes", "runtime: closed"]);

        // A client that fails is recorded, and reported.
        let (status, said) = diagipc(&[
            "proxy",
            "--out",
            out,
            "--to",
            to,
            "--",
            "sh",
            "-c",
            "test -S '{socket}' && exit 7",
        ]);
        assert_eq!(status, Some(1), "{said}");
        assert!(said.contains("exit status: 7"), "{said}");
    });
    let (status, said) = diagipc(&["proxy", "--out", out, "--to", "/nonexistent", "--", "true"]);
    assert_eq!(status, Some(3), "{said}");
}

/// An existing file, or the target of a symbolic link, is kept: the recording takes another name.
#[test]
fn record_keeps_existing_files_and_links() {
    let directory = TempDir::new().unwrap();
    let (out, target) = (directory.path().join("out"), directory.path().join("target"));
    fs::create_dir(&out).unwrap();
    fs::write(&target, "kept").unwrap();
    fs::write(out.join("it.json"), "kept").unwrap();
    std::os::unix::fs::symlink(&target, out.join("it-2.txt")).unwrap();
    with_runtime(&Runtime::new(1), |path| {
        let (to, out) = (path.to_str().unwrap(), out.to_str().unwrap());
        let client = ["--", DIAGIPC, "call", "--pid", "{pid}", "process-info"];
        let (_, said) =
            diagipc(&[&["proxy", "--out", out, "--name", "it", "--to", to][..], &client].concat());
        assert!(said.contains("it-3.json"), "{said}");
    });
    assert_eq!(fs::read_to_string(&target).unwrap(), "kept");
    assert_eq!(fs::read_to_string(out.join("it.json")).unwrap(), "kept");
    assert!(!out.join("it-2.json").exists() && out.join("it-3.txt").exists());
}

#[test]
fn proxy_ended_by_signal_writes_its_file() {
    let directory = TempDir::new().unwrap();
    let out = directory.path().join("out");
    with_runtime(&Runtime::new(1), |to| {
        let mut proxy = tool::diagipc()
            .args([
                "proxy",
                "--listen",
                directory.path().to_str().unwrap(),
                "--to",
                to.to_str().unwrap(),
            ])
            .args(["--out", out.to_str().unwrap(), "--name", "kept"])
            .stdout(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        let mut socket = String::new();
        std::io::BufRead::read_line(
            &mut std::io::BufReader::new(proxy.stdout.take().unwrap()),
            &mut socket,
        )
        .unwrap();
        let socket = socket.trim_end();
        assert!(socket.contains(&format!("/dotnet-diagnostic-{}-", proxy.id())), "{socket}");
        info(Path::new(socket));
        assert!(
            Command::new("kill")
                .args(["-TERM", &proxy.id().to_string()])
                .status()
                .unwrap()
                .success()
        );
        assert!(proxy.wait().unwrap().success());
        assert!(!Path::new(socket).exists());
    });
    let text = fs::read_to_string(out.join("kept.json")).unwrap();
    assert_eq!(parse_scripts("kept.json", &text).unwrap().scripts[0].name, "kept-client");
}
