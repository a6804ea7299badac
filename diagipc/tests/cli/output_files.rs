//! Files written by commands can be read only by their owner, and replace no other file.
#![cfg(unix)]

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
use std::path::Path;
use std::process::Command;
use std::thread;

use crate::cli::{errors as run, text};
use crate::tool::{DIAGIPC, Runtime};

#[test]
fn new_files_are_for_their_owner_only() {
    let runtime = Runtime::start(&["--profile", "coreclr-8", "--misbehave", "echo-payload"]);
    let pid = runtime.pid();
    let names = ["item", "a.html", "a.xml", "b.html", "a.pcapng", "a.nettrace", "said", "found"];
    let [item, html, junit, matrix, capture, trace, said, found] =
        names.map(|name| runtime.path(name));
    let report = runtime.path("a.json");
    let item_json = runtime.path("item.json");
    let value = r#"{"kind": "request", "command": "Process/ProcessInfo", "value": {}}"#;
    fs::write(&item_json, value).unwrap();
    run(&["encode", &item_json, "-o", &item], 0);
    let suite = ["codec", "--self", "--only", "eventpipe/*"];
    let json = format!("--json={report}");
    let files = [&json, "--html", &html, "--junit", &junit];
    run(&[&suite[..], &files].concat(), 0);
    run(&["report", "--html", &matrix, &report], 0);
    let record = ["proxy", "--out", &said, "--pcapng", &capture, "--to", &pid, "--"];
    run(&[&record[..], &[DIAGIPC, "env", "{pid}"]].concat(), 0);
    run(&["trace", &pid, "-d", "0", "-o", &trace], 0);
    let fuzz = ["fuzz-server", "--allow-harmful", "--cases", "20", "--out", &found, &pid];
    run(&fuzz, 1);

    let mut files = vec![item, html, junit, matrix, capture, trace, report];
    for directory in [said, found] {
        let entries = fs::read_dir(directory).unwrap();
        let paths = entries.map(|entry| entry.unwrap().path().to_str().unwrap().to_owned());
        let before = files.len();
        files.extend(paths);
        assert!(files.len() >= before + 2);
    }
    for file in files {
        let at = fs::metadata(&file).unwrap();
        assert_eq!(at.mode() & 0o777, 0o600, "{file}");
        assert!(at.len() > 0, "{file}");
    }
}

#[test]
fn existing_file_is_rewritten_and_links_to_files_are_not_followed() {
    let runtime = Runtime::start(&[]);
    let [victim, link, pipe, page] =
        ["victim", "link", "pipe", "page"].map(|name| runtime.path(name));
    fs::write(&victim, "mine").unwrap();
    symlink(&victim, &link).unwrap();
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let said = runtime.path("at");
    let proxy = |file: &str, status| {
        let to = &runtime.socket;
        run(&["proxy", "--listen", &said, "--to", to, "--until-eof", "--pcapng", file], status)
    };
    let codec = |file: &str, status| {
        run(&["codec", "--self", "--only", "eventpipe/*", "--html", file], status)
    };
    for error in [proxy(&link, 2), codec(&link, 2)] {
        assert!(error.contains("link: it is a symbolic link, which is not followed"), "{error}");
    }
    let exported = runtime.path("exported");
    fs::create_dir(&exported).unwrap();
    symlink(&victim, Path::new(&exported).join("grammar.json")).unwrap();
    let error = run(&["list", "vectors", "--export", &exported, "--force"], 2);
    assert!(error.contains("grammar.json: it is a symbolic link"), "{error}");
    let operations = concat!(env!("CARGO_MANIFEST_DIR"), "/clients/diagipc.toml");
    let only = ["client", "--operations", operations, "--only", "request/plain/resume"];
    let error = run(&[&only[..], &["--write-known", &link]].concat(), 2);
    assert!(error.contains("link: it is a symbolic link"), "{error}");
    assert_eq!(fs::read(&victim).unwrap(), b"mine");
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());

    // The old file is longer than the new text, and others can read it.
    fs::write(&page, "x".repeat(1 << 20)).unwrap();
    fs::set_permissions(&page, fs::Permissions::from_mode(0o644)).unwrap();
    proxy(&page, 0);
    let at = fs::metadata(&page).unwrap();
    assert!(at.len() < 1000 && at.mode() & 0o777 == 0o644, "{at:?}");

    let reader = thread::spawn({
        let pipe = pipe.clone();
        move || fs::read(pipe).unwrap()
    });
    proxy(&pipe, 0);
    assert_eq!(reader.join().unwrap(), fs::read(&page).unwrap());
    proxy("/dev/null", 0);
    codec("/dev/stdout", 0);
}

/// The disk is full: no file can have a byte.
#[test]
fn file_that_cannot_be_rewritten_stays_as_it_was() {
    let runtime = Runtime::start(&[]);
    let names = ["known", "json", "junit", "html", "page", "capture", "item", "stream"];
    for name in names {
        fs::write(runtime.path(name), "[cases] # mine").unwrap();
    }
    let [known, json, junit, html, page, capture, item, stream] =
        names.map(|name| runtime.path(name));
    let [report, value] = ["report", "value"].map(|name| runtime.path(name));
    run(&["codec", "--self", "--only", "eventpipe/*", &format!("--json={report}")], 0);
    let text = r#"{"kind": "request", "command": "Process/ProcessInfo", "value": {}}"#;
    fs::write(&value, text).unwrap();
    let exported = runtime.path("exported");
    run(&["list", "vectors", "--export", &exported], 0);
    let (pid, to) = (runtime.pid(), &runtime.socket);
    let codec = ["codec", "--self", "--only", "eventpipe/*"];
    let json = format!("--json={json}");
    let session = "--provider A --keywords 1 --level 5 --buffer 16 --rundown 0 --stacks true --mode 0 --command CollectTracing2 --duration 500";
    let session: Vec<_> = session.split(' ').collect();
    for arguments in [
        &[&codec[..], &["--known", &known, "--write-known", &known]].concat()[..],
        &[&codec[..], &[&json, "--junit", &junit, "--html", &html]].concat(),
        &["report", &report, "--html", &page],
        &[
            "proxy",
            "--listen",
            &runtime.path("at"),
            "--to",
            to,
            "--until-eof",
            "--pcapng",
            &capture,
        ],
        &["encode", &value, "-o", &item],
        &[&["call", "--pid", &pid, "trace", "--output", &stream][..], &session].concat(),
        &["list", "vectors", "--export", &exported, "--force"],
    ] {
        let mut command = Command::new("sh");
        command.args(["-c", "trap '' XFSZ; ulimit -f 0; exec \"$0\" \"$@\"", DIAGIPC]);
        let output = command.args(arguments).output().unwrap();
        let errors = String::from_utf8(output.stderr).unwrap();
        assert!(matches!(output.status.code(), Some(1 | 2)), "{arguments:?}: {errors}");
        assert!(errors.contains("File too large"), "{arguments:?}: {errors}");
    }
    for name in names {
        assert_eq!(fs::read_to_string(runtime.path(name)).unwrap(), "[cases] # mine", "{name}");
    }
    for directory in [runtime.home.path(), Path::new(&exported)] {
        for entry in fs::read_dir(directory).unwrap() {
            let entry = entry.unwrap();
            let name = entry.file_name().into_string().unwrap();
            assert!(!name.contains(".part"), "{name}");
            assert!(
                entry.path().is_dir()
                    || entry.metadata().unwrap().len() > 0
                    || name.contains("socket"),
                "{name}"
            );
        }
    }
}

#[test]
#[ignore = "long: .ci/nightly long"]
fn reports_have_no_argument_of_a_command() {
    let directory = crate::tool::directory();
    let path = |name: &str| directory.path().join(name).to_str().unwrap().to_owned();
    let [html, junit, operations] = ["html", "junit", "operations.toml"].map(path);
    let client = "[operations.trace]\ncommand = ['sh', '-c', 'exit 1', 'API_KEY=sk-12345', '{pid}', '{output}']\n";
    fs::write(&operations, client).unwrap();
    let server =
        &["server", "--spawn", "--profile", "strict", "--only", "scripts/framing/input-ends-*"][..];
    let client = &["client", "--only", "request/plain/trace*"][..];
    let codec = &["codec", "--only", "eventpipe/*"][..];
    let shell = |script| vec!["--", "sh", "-c", script, DIAGIPC, "--env", "API_KEY=sk-12345"];
    let missing = vec!["--", "/nonexistent/target", "API_KEY=sk-12345"];
    let tracer = vec!["--", "sh", "-c", "exit 1", "API_KEY=sk-12345", "{pid}", "{output}"];
    for (suite, command, target, status) in [
        (server, shell("exec \"$0\" runtime --until-eof"), format!("sh … {DIAGIPC} …"), 0),
        (server, shell("exit 3"), format!("sh … {DIAGIPC} …"), 3),
        (server, missing.clone(), "/nonexistent/target …".to_owned(), 3),
        (codec, shell("exec \"$0\" adapter"), format!("sh … {DIAGIPC} …"), 0),
        (codec, missing, "/nonexistent/target …".to_owned(), 3),
        (client, tracer, "sh …".to_owned(), 1),
        (client, vec!["--operations", &operations], operations.clone(), 1),
    ] {
        let files = ["--json", "--html", &html, "--junit", &junit];
        let output = crate::cli::run(&[suite, &files, &command].concat(), b"", status);
        let json = text(&output);
        let report: serde_json::Value = serde_json::from_str(&json).unwrap();
        for text in [json, fs::read_to_string(&html).unwrap(), fs::read_to_string(&junit).unwrap()]
        {
            assert!(!text.contains("sk-12345"), "{command:?}: {text}");
        }
        let made = report["made"]["command"].as_array().unwrap();
        if command[0] == "--" {
            assert_eq!(report["target"], target);
            assert!(made.ends_with(&["--".into(), command[1].into(), "…".into()]), "{made:?}");
        }
    }
}
