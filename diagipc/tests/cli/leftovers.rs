//! What a run cannot end or must not remove is left, and the report says so.
#![cfg(target_os = "linux")]

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Command, Stdio};

use diagipc::Report;

use crate::cli::interrupted::until;
use crate::tool::{DIAGIPC, directory, fixture, run_command, signal, text};

fn made_executable(path: &Path, mode: u32) -> &str {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    path.to_str().unwrap()
}

/// An `AppImage`, bubblewrap and rclone mount below `TMPDIR`. A bind mount has the device of its
/// source.
#[test]
fn mounts_below_the_directory_of_a_target_are_left_and_named() {
    let unshare = ["--map-root-user", "--mount"];
    if !Command::new("unshare").args(unshare).arg("true").output().unwrap().status.success() {
        return;
    }
    let home = directory();
    let (precious, temporary) = (home.path().join("precious"), home.path().join("t"));
    fs::create_dir_all(precious.join("sub")).unwrap();
    fs::create_dir(&temporary).unwrap();
    fs::write(precious.join("file"), "kept").unwrap();
    let target = home.path().join("target");
    fs::write(
        &target,
        "#!/bin/sh\nmkdir -p \"$TMPDIR/data\" \"$TMPDIR/more\" && mount --bind \"$PRECIOUS\" \"$TMPDIR/data\" || exit 1\n\
         : > \"$TMPDIR/more/file\"\nexec \"$DIAGIPC\" runtime --until-eof --profile strict\n",
    )
    .unwrap();
    let mut command = Command::new("unshare");
    command.args(unshare).args([DIAGIPC, "server", "--json", "--only", "scripts/framing/size-*"]);
    command.args(["--spawn", "--profile", "strict", "--", made_executable(&target, 0o755)]);
    command.env("PRECIOUS", &precious).env("TMPDIR", &temporary).env("DIAGIPC", DIAGIPC);
    let report = Report::parse(&text(&run_command(command, b"", 0))).unwrap();
    assert_eq!(fs::read(precious.join("file")).unwrap(), b"kept");
    assert!(precious.join("sub").is_dir());
    let notes = report.notes.iter().filter(|note| note.contains(" is a mount, and was left"));
    let begins = format!("{}/diagipc-", temporary.display());
    let named: Vec<_> = notes.collect();
    assert!(!named.is_empty(), "{:?}", report.notes);
    assert!(named.iter().all(|note| note.starts_with(&begins) && note.contains("/data is ")));
    // The rest is removed.
    for directory in fs::read_dir(&temporary).unwrap() {
        let entries = fs::read_dir(directory.unwrap().path()).unwrap();
        let left: Vec<_> = entries.map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(left, ["data"]);
    }
}

/// The user may not end what `server --spawn -- sudo …` and `trace -- sudo …` started.
#[test]
fn process_of_another_user_is_named_and_does_not_hang_the_run() {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let home = directory();
    let at = |name: &str| home.path().join(name);
    fs::set_permissions(home.path(), fs::Permissions::from_mode(0o755)).unwrap();
    fs::create_dir(at("t")).unwrap();
    made_executable(&at("t"), 0o1777);
    fs::copy(DIAGIPC, at("diagipc")).unwrap();
    made_executable(&at("diagipc"), 0o755);
    let helper = at("becomes_root");
    let source = fixture("becomes_root.c");
    assert!(Command::new("cc").arg(source).arg("-o").arg(&helper).status().unwrap().success());
    let helper = made_executable(&helper, 0o4755);
    let as_user = || {
        let mut command = Command::new("setpriv");
        command.args(["--reuid=1234", "--regid=1234", "--clear-groups"]);
        command
    };
    // Some file systems ignore the bit.
    if text(&as_user().args([helper, "id", "-u"]).output().unwrap()) != "0\n" {
        return;
    }
    let interrupted = |words: &[&str]| {
        let started = at("started");
        let mut command = as_user();
        command.arg(at("diagipc")).args(words).args(["--", helper]);
        // The sleeping process does not hold the output that is read to its end.
        let script = "echo $$ > \"$0\" && exec sleep 600 > /dev/null 2>&1";
        command.args(["sh", "-c", script]).arg(&started);
        command.env("TMPDIR", at("t")).stdout(Stdio::piped()).stderr(Stdio::piped());
        let tool = command.spawn().unwrap();
        let pid = until("the target does not start", || {
            fs::read_to_string(&started).ok().filter(|text| text.ends_with('\n'))
        });
        fs::remove_file(&started).unwrap();
        signal(&tool, "-INT");
        let output = tool.wait_with_output().unwrap();
        assert!(Command::new("kill").args(["-9", pid.trim()]).status().unwrap().success());
        assert_eq!(output.status.code(), Some(130), "{words:?}");
        assert_eq!(fs::read_dir(at("t")).unwrap().count(), 0, "{words:?}");
        let note = format!("process {} cannot be ended: Operation not permitted", pid.trim());
        (output, note)
    };
    let (output, note) = interrupted(&["server", "--json", "--spawn"]);
    let report = Report::parse(&text(&output)).unwrap();
    assert!(report.notes.iter().any(|one| one.starts_with(&note)), "{:?}", report.notes);
    let (output, note) = interrupted(&["trace", "-o", "t/unused"]);
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains(&note), "{said}");
}

/// The path of a socket has little room, and a list of ports cannot contain its separators.
#[test]
fn targets_and_ports_work_in_any_directory_of_temporary_files() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt as _;

    let home = directory();
    let trace = home.path().join("trace");
    let [trace, only] = [trace.to_str().unwrap(), "scripts/framing/size-*"];
    for name in [&[b'x'; 200][..], b"a,b", b"a;b", b"\xff"] {
        let temporary = home.path().join(OsStr::from_bytes(name));
        fs::create_dir(&temporary).unwrap();
        let runtime = [DIAGIPC, "runtime", "--until-eof", "--profile"];
        let server = ["server", "--json", "--only", only, "--spawn", "--profile", "strict", "--"];
        // The runtime has its socket in a directory of this program.
        let server = [&server[..], &runtime, &["strict"]].concat();
        let script = "sleep 1 | TMPDIR=/tmp \"$0\" runtime --until-eof";
        let traced =
            ["trace", "--force", "-d", "0", "-o", trace, "--", "sh", "-c", script, DIAGIPC];
        for arguments in [&server[..], &traced] {
            let mut command = Command::new(DIAGIPC);
            command.args(arguments).env("TMPDIR", &temporary);
            run_command(command, b"", 0);
        }
        assert_eq!(fs::read_dir(&temporary).unwrap().count(), 0);
    }
}
