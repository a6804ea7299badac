//! `trace`: where the stream goes, and what is left if it does not arrive.
#![cfg(unix)]

use std::fs::{self, File};
use std::io::Read as _;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _, PermissionsExt as _, symlink};
use std::process::Command;
use std::thread;

use crate::runtime::Runtime;
use crate::{run, text};

const SECOND: [&str; 2] = ["--duration", "1"];

fn fifo(path: &str) {
    assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
}

#[track_caller]
fn errors(arguments: &[&str], status: i32) -> String {
    String::from_utf8(run(arguments, b"", status).stderr).unwrap()
}

#[test]
fn trace_refused_leaves_everything_as_it_was() {
    let runtime = Runtime::start(&["--profile", "coreclr-8"]);
    let [good, link, pipe, new] = ["good", "link", "pipe", "new"].map(|name| runtime.path(name));
    fs::write(&good, "mine").unwrap();
    symlink(&good, &link).unwrap();
    fifo(&pipe);
    let missing = runtime.path("missing.sock");
    for (target, status) in [(&missing, 3), (&runtime.pid(), 1)] {
        for output in [&good, &new, &pipe] {
            // Someone reads the FIFO, and sees its end.
            let reader = thread::spawn({
                let pipe = (output == &pipe).then(|| pipe.clone());
                move || pipe.map(|pipe| fs::read(pipe).unwrap())
            });
            // .NET 8 has no session without stacks.
            errors(&["trace", target, "--no-stacks", "--force", "-o", output], status);
            assert_eq!(reader.join().unwrap().unwrap_or_default(), b"");
        }
    }
    let error = errors(&["trace", &runtime.pid(), "--force", "-o", &link], 2);
    assert!(error.contains("link: it is a symbolic link, which is not followed"), "{error}");
    assert_eq!(fs::read(&good).unwrap(), b"mine");
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    assert!(fs::metadata(&pipe).unwrap().file_type().is_fifo());
    assert!(!fs::exists(&new).unwrap());
    let names = fs::read_dir(good.strip_suffix("good").unwrap()).unwrap();
    let names: Vec<_> = names.map(|name| name.unwrap().file_name()).collect();
    assert!(!names.iter().any(|name| name.to_str().unwrap().contains(".part")), "{names:?}");
}

#[test]
fn trace_replaces_file_only_when_complete() {
    let runtime = Runtime::start(&["--misbehave", "stream-cut"]);
    let good = runtime.path("good");
    fs::write(&good, "mine").unwrap();
    let replacing = |target: &str, status: i32| {
        run(&[&["trace", target, "--force", "-o", &good][..], &SECOND].concat(), b"", status)
    };
    let error = String::from_utf8(replacing(&runtime.pid(), 1).stderr).unwrap();
    assert_eq!(fs::read(&good).unwrap(), b"mine");
    let part = error.split(' ').find(|word| word.contains(".part")).expect(&error);
    assert!(part.starts_with(&good) && fs::read(part).unwrap().starts_with(b"Nettrace"), "{error}");
    assert!(error.contains(&format!(" {good} is unchanged")), "{error}");

    let runtime = Runtime::start(&[]);
    fs::set_permissions(&good, fs::Permissions::from_mode(0o644)).unwrap();
    let said = text(&replacing(&runtime.pid(), 0));
    let bytes = fs::read(&good).unwrap();
    assert!(bytes.starts_with(b"Nettrace"));
    assert_eq!(said, format!("{good}: {} bytes, complete\n", bytes.len()));
    // An environment may be in it.
    assert_eq!(fs::metadata(&good).unwrap().mode() & 0o777, 0o600);
}

#[test]
fn trace_creates_a_file_for_its_owner_only() {
    let runtime = Runtime::start(&[]);
    let new = runtime.path("new");
    run(&[&["trace", &runtime.pid(), "-o", &new][..], &SECOND].concat(), b"", 0);
    assert_eq!(fs::metadata(&new).unwrap().mode() & 0o777, 0o600);
}

#[test]
fn trace_writes_to_fifo_device_and_standard_output() {
    let runtime = Runtime::start(&[]);
    let pipe = runtime.path("pipe");
    fifo(&pipe);
    let reader = thread::spawn({
        let pipe = pipe.clone();
        move || {
            let mut stream = Vec::new();
            File::open(pipe).unwrap().read_to_end(&mut stream).unwrap();
            stream
        }
    });
    let said = text(&run(&[&["trace", &runtime.pid(), "-o", &pipe][..], &SECOND].concat(), b"", 0));
    let stream = reader.join().unwrap();
    assert!(stream.starts_with(b"Nettrace"));
    assert_eq!(said, format!("{pipe}: {} bytes, complete\n", stream.len()));
    assert!(fs::metadata(&pipe).unwrap().file_type().is_fifo());

    let output = run(&[&["trace", &runtime.pid(), "-o", "-"][..], &SECOND].concat(), b"", 0);
    assert!(output.stdout.starts_with(b"Nettrace"));
    let said = String::from_utf8(output.stderr).unwrap();
    let complete = format!("standard output: {} bytes, complete\n", output.stdout.len());
    assert!(said.contains(&complete), "{said}");
    assert!(!fs::exists("-").unwrap());

    // Redirected to a file, which has something.
    let redirected = runtime.path("redirected");
    fs::write(&redirected, "before").unwrap();
    let command =
        format!("exec \"$0\" trace {} -d 1 -o /dev/stdout >> {redirected}", runtime.pid());
    let mut shell = Command::new("sh");
    shell.args(["-c", &command, env!("CARGO_BIN_EXE_diagipc")]);
    assert!(shell.status().unwrap().success());
    assert!(fs::read(&redirected).unwrap().starts_with(b"beforeNettrace"));
}

/// A node of our own of the device that is always full.
#[test]
fn trace_never_removes_a_device() {
    let runtime = Runtime::start(&[]);
    let device = runtime.path("full");
    if !Command::new("mknod").args([&device, "c", "1", "7"]).status().unwrap().success() {
        return;
    }
    for target in [runtime.pid(), runtime.path("missing.sock")] {
        let arguments = [&["trace", &target, "--force", "-o", &device][..], &SECOND].concat();
        let output = crate::diagipc(&arguments).output().unwrap();
        assert!(!output.status.success());
        assert!(fs::metadata(&device).unwrap().file_type().is_char_device());
    }
}
