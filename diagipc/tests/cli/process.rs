//! `ps`, `info`, `env` and `dump`, as people use them, against a reference runtime.
#![cfg(unix)]

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Instant;

use dotnet_diagnostics_ipc::endpoint::SocketName;
use serde_json::{Value, json};

use crate::cli::{diagipc, errors, json, run, signalled, text};
use crate::tool::{DIAGIPC, Runtime, python, signal};

#[track_caller]
fn says(arguments: &[&str], status: i32, error: &str) {
    let errors = errors(arguments, status);
    assert!(errors.contains(error), "{errors}");
}

#[test]
fn info_of_each_version_shows_its_fields() {
    for (profile, version) in [("coreclr-10", "10."), ("coreclr-8", "8.")] {
        let runtime = Runtime::start(&["--profile", profile]);
        for target in [&runtime.pid(), &runtime.socket] {
            let info = json(&["info", target, "--json"], 0);
            assert_eq!(info["processId"], runtime.process.id(), "{info}");
            assert_eq!(
                (&info["OS"], info["runtimeIdentifier"].is_string()),
                (&json!("Linux"), true)
            );
            let shown = info["clrProductVersion"].as_str().unwrap();
            assert!(shown.starts_with(version), "{info}");
        }
        let shown = text(&run(&["info", &runtime.pid()], b"", 0));
        let begins = format!("process         {}\ncookie          ", runtime.pid());
        assert!(shown.starts_with(&begins), "{shown}");
    }
    let old = Runtime::start(&["--profile", "coreclr-3.1"]);
    let why = "the runtime does not know ProcessInfo: .NET Core 3.1 or older";
    says(&["info", &old.pid()], 1, why);
}

#[test]
fn target_missing_exits_with_3() {
    let home = crate::tool::directory();
    let [missing, file] = ["socket", "file"].map(|name| home.path().join(name));
    let [missing, file] = [&missing, &file].map(|path| path.to_str().unwrap());
    for command in ["info", "env"] {
        let why = format!("diagipc {command}: {missing} was not found (looking for the endpoint)");
        says(&[command, missing], 3, &why);
    }
    for arguments in
        [&["trace", missing, "-o", file][..], &["dump", missing, file], &["dump", missing]]
    {
        says(arguments, 3, "was not found");
    }
    assert!(!Path::new(file).exists());
}

#[test]
fn env_shows_entries_and_reports_missing() {
    let runtime = Runtime::start(&["--env", "ONE=1", "--env", "TWO=a\nb", "--env", "BARE"]);
    let target = runtime.pid();
    assert_eq!(text(&run(&["env", &target, "ONE"], b"", 0)), "ONE=1\n");
    assert_eq!(text(&run(&["env", &target, "-0", "TWO", "ONE"], b"", 0)), "ONE=1\0TWO=a\nb\0");
    let entries = json(&["env", &target, "--json", "BARE", "TWO"], 0);
    assert_eq!(entries, json!([{"name": "TWO", "value": "a\nb"}, {"name": "BARE", "value": null}]));
    says(&["env", &target, "ONE", "THREE"], 1, "THREE is not set");
}

#[test]
fn ps_lists_process_and_reports_missing() {
    let runtime = Runtime::start(&[]);
    let rows = json(&["ps", "--timeout", "30s", "--json", &runtime.pid()], 0);
    let row = &rows[0];
    assert_eq!(
        (&row["processId"], &row["endpoint"]),
        (&json!(runtime.process.id()), &json!(runtime.socket)),
        "{rows}"
    );
    assert_eq!(
        (&row["state"], &row["info"]["arch"]),
        (&json!("listening"), &json!("x64")),
        "{rows}"
    );
    let shown = text(&run(&["ps", "--timeout", "30s", &runtime.pid()], b"", 0));
    assert!(shown.contains("PROCESS") && shown.contains(&runtime.socket), "{shown}");
    says(&["ps", &runtime.pid(), "4294967295"], 1, "process 4294967295 has no visible endpoint");
}

/// Anyone can create sockets that nobody answers.
#[test]
fn ps_waits_once_for_all_that_do_not_answer() {
    let home = crate::tool::directory();
    let silent: Vec<_> = (0..200)
        .map(|n| home.path().join(SocketName::new(4_000_000_000 + n, 7).to_string()))
        .map(|path| std::os::unix::net::UnixListener::bind(path).unwrap())
        .collect();
    let us = std::process::id().to_string();
    let listed = || {
        let began = Instant::now();
        let output = diagipc(&["ps", "--timeout", "30s", "--json", &us])
            .env("TMPDIR", home.path())
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(0));
        (serde_json::from_slice::<Vec<Value>>(&output.stdout).unwrap(), began.elapsed())
    };
    let (rows, all) = listed();
    assert_eq!(rows.len(), silent.len());
    for row in rows {
        assert_eq!(row["error"], "it did not answer in time");
        // The system knows this of the process, because this test was started with it.
        let line = row["commandLine"].as_str().unwrap();
        assert!(line.starts_with(&std::env::args().next().unwrap()), "{row}");
    }
    // One chunk after another would take thirteen times as long.
    for path in silent.iter().skip(1).map(|listener| listener.local_addr().unwrap()) {
        fs::remove_file(path.as_pathname().unwrap()).unwrap();
    }
    let (rows, one) = listed();
    assert_eq!(rows.len(), 1);
    assert!(all < 6 * one, "{all:?}, {one:?}");
}

#[test]
fn ps_shows_each_row_as_wide_as_it_is() {
    let long = Runtime::start(&["--env", &format!("LONG={}", "x".repeat(600))]);
    let stopped = Runtime::start(&["--profile", "coreclr-9"]);
    signal(&stopped.process, "-STOP");
    let shown = text(&run(&["ps", &long.pid(), &stopped.pid()], b"", 0));
    signal(&stopped.process, "-CONT");
    assert_eq!(shown.lines().count(), 3, "{shown}");
    for line in shown.lines() {
        assert_eq!(line.trim_end(), line);
        assert!(line.len() < 300 || line.contains("xxxx"), "{shown}");
    }
    // The system knows the command line of a process even if it does not answer.
    let end =
        format!("  {DIAGIPC} runtime --until-eof --profile coreclr-9 (it did not answer in time)");
    assert!(shown.lines().any(|line| line.ends_with(&end)), "{shown}");
}

const OK: &[u8] = b"DOTNET_IPC_V1\0\x18\0\xff\0\0\0\0\0\0\0";

/// The status of a dump to `file`, and what is printed; the runtime calls `writes`, and answers OK.
fn dumped(file: &Path, writes: impl FnOnce() + Send) -> (i32, String) {
    let home = crate::tool::directory();
    let socket = home.path().join("socket");
    let listener = UnixListener::bind(&socket).unwrap();
    thread::scope(|scope| {
        scope.spawn(move || {
            let (mut connection, _) = listener.accept().unwrap();
            assert!(connection.read(&mut [0; 4096]).unwrap() > 20);
            writes();
            connection.write_all(OK).unwrap();
        });
        let words = ["dump", socket.to_str().unwrap(), file.to_str().unwrap()];
        let output = diagipc(&words).output().unwrap();
        let printed = [output.stdout, output.stderr].concat();
        (output.status.code().unwrap(), String::from_utf8(printed).unwrap())
    })
}

/// A process may answer OK, and leave a link to a file that only root can read.
#[test]
fn dump_must_be_a_file_with_bytes() {
    let home = crate::tool::directory();
    let path = |name: &str| home.path().join(name);
    fs::write(path("shadow"), "secret").unwrap();
    let whole = path("whole");
    let (status, printed) = dumped(&whole, || fs::write(&whole, "core").unwrap());
    assert_eq!((status, printed), (0, format!("{}: 4 bytes\n", whole.display())));

    let (link, fifo, empty) = (path("link"), path("fifo"), path("empty"));
    let link_to = || symlink(path("shadow"), &link).unwrap();
    let make_fifo = || assert!(Command::new("mkfifo").arg(&fifo).status().unwrap().success());
    for (file, (status, printed), why) in [
        (&link, dumped(&link, link_to), "is a symbolic link, not a dump"),
        (&fifo, dumped(&fifo, make_fifo), "is a pipe or a device, not a dump"),
        (&empty, dumped(&empty, || fs::write(&empty, "").unwrap()), "is empty"),
    ] {
        assert_eq!(status, 1, "{printed}");
        let why = format!("the runtime answered OK, but {} {why}\n", file.display());
        assert!(printed.ends_with(&why), "{printed}");
    }
    // This comes before anything is asked.
    let words = ["dump", "--force", "/nowhere/socket", link.to_str().unwrap()];
    says(&words, 2, "link is a symbolic link: expected a file, or a new name");
}

/// The process has the root directory of this program.
#[test]
#[cfg(target_os = "linux")]
fn dump_of_process_with_private_mount_is_found() {
    const SERVER: &str = "
import os, socket, struct
stat = open('/proc/self/stat').read()
key = stat[stat.rindex(')') + 2:].split()[19]
listener = socket.socket(socket.AF_UNIX)
listener.bind('%s/dotnet-diagnostic-%d-%s-socket' % (os.environ['TMPDIR'], os.getpid(), key))
listener.listen()
print(os.getpid(), flush=True)
while True:
    connection, _ = listener.accept()
    request = b''
    while len(request) < 16 or len(request) < struct.unpack_from('<H', request, 14)[0]:
        try:
            piece = connection.recv(65536)
        except OSError:
            piece = b''
        request += piece
        if not piece:
            break
    if len(request) < 24:
        # `ps` of another test has looked whether somebody listens, or asked what it is.
        connection.close()
        continue
    length = struct.unpack_from('<I', request, 20)[0]
    open(request[24:24 + 2 * length - 2].decode('utf-16-le'), 'w').write('core')
    connection.sendall(b'DOTNET_IPC_V1\\0' + struct.pack('<HHHI', 24, 255, 0, 0))
    connection.close()
";
    let home = crate::tool::directory();
    let private = home.path().join("private");
    fs::create_dir(&private).unwrap();
    let is_root = rustix::process::geteuid().is_root();
    let script = "mount -t tmpfs tmpfs \"$0\" && exec \"$@\"";
    let mut process = Command::new("unshare");
    process.arg("--mount").args((!is_root).then_some("--map-root-user"));
    process.args(["sh", "-c", script]).arg(&private).arg(python().get_program());
    process.args(["-c", SERVER]).env("TMPDIR", home.path()).env("PATH", crate::tool::search_path());
    let mut process = process.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap();
    let mut pid = String::new();
    BufReader::new(process.stdout.take().unwrap()).read_line(&mut pid).unwrap();
    let pid = pid.trim_end();
    if pid.is_empty() {
        eprintln!("SKIPPED: no mount of its own can be made here");
        process.wait().unwrap();
        return;
    }
    let file = private.join("core");
    fs::write(&file, "of another").unwrap();
    let output = diagipc(&["dump", pid, file.to_str().unwrap()]).output().unwrap();
    process.kill().unwrap();
    process.wait().unwrap();
    let printed = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
    let found = format!("/proc/{pid}/root{}: 4 bytes\n", file.display());
    assert_eq!((output.status.code(), printed), (Some(0), found));
}

#[test]
fn interrupted_dump_names_what_may_still_be_written() {
    let home = crate::tool::directory();
    let [socket, file] = ["socket", "core"].map(|name| home.path().join(name));
    let listener = UnixListener::bind(&socket).unwrap();
    let mut dump = signalled(&["dump", socket.to_str().unwrap(), file.to_str().unwrap()]);
    let dump = dump.stderr(Stdio::piped()).spawn().unwrap();
    let (mut connection, _) = listener.accept().unwrap();
    assert!(connection.read(&mut [0; 4096]).unwrap() > 20);
    signal(&dump, "-INT");
    let output = dump.wait_with_output().unwrap();
    let printed = String::from_utf8(output.stderr).unwrap();
    let why = format!("diagipc dump: {} may still write {}\n", socket.display(), file.display());
    assert_eq!((output.status.code(), printed), (Some(130), why));
}

/// As a volume that the containers of a pod share (F-167).
#[test]
fn shared_directory_is_trusted_by_one_option() {
    use std::os::unix::fs::PermissionsExt as _;

    let runtime = Runtime::start(&[]);
    fs::set_permissions(runtime.home.path(), fs::Permissions::from_mode(0o777)).unwrap();
    let port = format!("port:{}", runtime.path("port"));
    let trace = ["trace", &port, "-d", "1"];
    for (arguments, status) in
        [(&["info", &runtime.socket][..], 3), (&["env", &runtime.socket], 3), (&trace, 2)]
    {
        says(arguments, status, "--shared-directory trusts it");
    }
    run(&["info", "--shared-directory", &runtime.socket], b"", 0);
    run(&["--shared-directory", "env", &runtime.socket], b"", 0);
}

#[test]
fn server_suite_ends_once_its_target_has_exited() {
    let mut runtime = Runtime::start(&[]);
    let suite = diagipc(&["server", "--profile", "strict", &runtime.pid()])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    thread::sleep(std::time::Duration::from_millis(300));
    runtime.process.kill().unwrap();
    runtime.process.wait().unwrap();
    let output = suite.wait_with_output().unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(3), "{said}");
    assert!(said.contains("LOST") && said.contains("cases were not run"), "{said}");
}

#[test]
fn name_is_a_target_and_several_matches_are_listed() {
    let [one, other] = ["twin", "twin"].map(|name| Runtime::start(&["--entry-assembly", name]));
    let error = errors(&["info", "twin"], 2);
    assert!(error.contains("2 processes have the name twin, expected one:"), "{error}");
    for runtime in [&one, &other] {
        assert!(error.contains(&format!("{}  {DIAGIPC} runtime", runtime.pid())), "{error}");
    }
    drop(other);
    let info = json(&["info", "twin", "--json"], 0);
    assert_eq!(info["processId"], one.process.id());
    says(&["env", "no-such-process"], 3, "with the name no-such-process");
}
