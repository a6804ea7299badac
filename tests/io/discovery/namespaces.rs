//! Discovery across pid and mount namespaces, roots and users.

use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use dotnet_diagnostics_ipc::endpoint::SocketName;
use dotnet_diagnostics_ipc::io::discovery::{DiscoveredEndpoint, EndpointState, processes};
use dotnet_diagnostics_ipc::io::{Connect as _, Endpoint, WaitLimit};

use super::processes::*;
use super::*;

const PID_NAMESPACE: [&str; 4] = ["--pid", "--fork", "--mount-proc", "--kill-child"];

/// A process that listens like a runtime in a pid namespace of its own, and its id here.
fn in_pid_namespace(tmpdir: &Path) -> (Process, u32) {
    let inner = listener(tmpdir);
    let mut command = Command::new("unshare");
    command.args(PID_NAMESPACE).arg(inner.get_program()).args(inner.get_args());
    let outer = Process::listening(command.env("TMPDIR", tmpdir).stdout(Stdio::null()), tmpdir);
    let id = child_of(outer.id());
    (outer, id)
}

/// Runs a test of this file by a command that ends with this program, or a copy of it.
#[track_caller]
fn passes(command: &mut Command, test: &str) {
    let name = format!("discovery::namespaces::{test}");
    let output = command.args(["--exact", &name, "--ignored"]).output().unwrap();
    let (said, error) =
        (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    if error.contains("unshare failed") {
        return eprintln!("SKIPPED: {command:?} cannot be had here: {error}");
    }
    assert!(output.status.success() && said.contains("1 passed"), "{said}{error}");
}

/// The only child of a process.
fn child_of(process_id: u32) -> u32 {
    let text =
        fs::read_to_string(format!("/proc/{process_id}/task/{process_id}/children")).unwrap();
    text.split_ascii_whitespace().next().unwrap().parse().unwrap()
}

#[test]
fn discovery_pid_namespace_name_has_inner_id() {
    needs_root!();
    let home = directory();
    let (_outer, id) = in_pid_namespace(home.path());
    // Its mounts differ from ours, its root looks like ours.
    let path = find(id).unwrap();
    assert!(
        path.ends_with(format!("dotnet-diagnostic-1-{}-socket", key_of(id))),
        "{}",
        path.display()
    );
    assert!(path.starts_with(format!("/proc/{id}/root")), "{}", path.display());
    trusted(&path, TrustPolicy::CHECKED);
    let stream = UnixStream::connect(&path).unwrap();
    check_peer(&stream, TrustPolicy::CHECKED, Some(id)).unwrap();
    assert!(check_peer(&stream, TrustPolicy::CHECKED, Some(1)).is_err());
    let seen = processes().unwrap();
    let found: Vec<_> = seen.found.iter().filter(|found| found.process_id == Some(id)).collect();
    assert_eq!(
        (found.len(), found[0].id_in_name, found[0].state),
        (1, 1, EndpointState::Listening)
    );
}

/// In a user namespace without a map everything belongs to user 65534, and so do we.
#[test]
fn unmapped_owner_is_not_trusted() {
    not_trusted_in(Command::new("unshare").arg("--user"));
}

/// There nothing shows that it is a user namespace.
#[test]
fn unmapped_owner_without_proc_is_not_trusted() {
    needs_root!();
    let hidden = "mount -t tmpfs none /proc && exec unshare --user \"$0\" \"$@\"";
    not_trusted_in(Command::new("unshare").args(["--mount", "sh", "-c", hidden]));
}

fn not_trusted_in(namespace: &mut Command) {
    let home = directory();
    let path = home.path().join("socket");
    let _listener = UnixListener::bind(&path).unwrap();
    chmod(home.path(), 0o755);
    chmod(&path, 0o777);
    let command = namespace.arg(std::env::current_exe().unwrap()).env("SOCKET", &path);
    passes(command, "helper_unmapped_owner_is_not_trusted");
}

#[test]
#[ignore = "started by another test"]
fn helper_unmapped_owner_is_not_trusted() {
    let path = PathBuf::from(std::env::var_os("SOCKET").unwrap());
    let us = rustix::process::geteuid().as_raw();
    assert!(matches!(refused(&path), Distrust::UnmappedOwner { owner, .. } if owner == us));
    trusted(&path, TrustPolicy::CHECKED.allowing_owner(us));
    let stream = UnixStream::connect(&path).unwrap();
    let error = check_peer(&stream, TrustPolicy::CHECKED, None).unwrap_err();
    assert_eq!(distrust(&error), &Distrust::UnmappedPeer { owner: us });
    check_peer(&stream, TrustPolicy::CHECKED.allowing_owner(us), None).unwrap();
}

#[test]
fn discovery_outer_listener_has_no_id() {
    needs_root!();
    let home = directory();
    let process = Process::listener(home.path());
    let mut command = Command::new("unshare");
    command.args(PID_NAMESPACE).arg(std::env::current_exe().unwrap());
    command.env("TMPDIR", home.path()).env("TARGET", process.id().to_string());
    passes(&mut command, "helper_outer_listener_has_no_id");
}

#[test]
#[ignore = "started by another test"]
fn helper_outer_listener_has_no_id() {
    assert_eq!(std::process::id(), 1);
    let home = PathBuf::from(std::env::var_os("TMPDIR").unwrap());
    let found = of_directory(processes().unwrap(), &home);
    assert_eq!((found.len(), found[0].process_id, found[0].id_in_name), (1, None, target()));
    assert_eq!(found[0].state, EndpointState::Listening);
    let stream = UnixStream::connect(&found[0].endpoint).unwrap();
    // Its user is known, its id is not.
    check_peer(&stream, TrustPolicy::CHECKED, Some(target())).unwrap();
    not_found(target());
}

#[test]
fn discovery_other_root_path_is_resolved() {
    needs_root!();
    let home = directory();
    let root = home.path().join("root");
    for sub in ["real", "proc", "usr", "etc"] {
        fs::create_dir_all(root.join(sub)).unwrap();
    }
    // An absolute link, which points to another directory from here.
    symlink("/real", root.join("tmp")).unwrap();
    fs::create_dir(root.join("dev")).unwrap();
    let script = "set -e
        mount --rbind /usr \"$0/usr\"
        mount -t proc proc \"$0/proc\"
        for link in bin lib lib32 lib64; do [ ! -L /$link ] || cp -P /$link \"$0/\"; done
        cp \"$1\" \"$0/listener\"
        exec chroot \"$0\" /listener --exact discovery::processes::helper_listens_as_runtime --ignored";
    let mut command = Command::new("unshare");
    command
        .args(["--mount", "--pid", "--fork", "--kill-child", "sh", "-c", script])
        .arg(&root)
        .arg(std::env::current_exe().unwrap());
    let outer =
        Process::listening(command.env("TMPDIR", "/tmp").stdout(Stdio::null()), &root.join("real"));
    let id = child_of(outer.id());
    let path = find(id).unwrap();
    assert_eq!(
        path,
        PathBuf::from(format!("/proc/{id}/root/real/dotnet-diagnostic-1-{}-socket", key_of(id)))
    );
    trusted(&path, TrustPolicy::CHECKED);
    let stream = UnixStream::connect(&path).unwrap();
    check_peer(&stream, TrustPolicy::CHECKED, Some(id)).unwrap();
    chmod(&root.join("real"), 0o777);
    assert_eq!(
        refused(&path),
        Distrust::SharedDirectory {
            path: PathBuf::from(format!("/proc/{id}/root/real")),
            mode: 0o777
        }
    );
}

/// A copy of this program, which user nobody may run. Another program writes it: if it were open for
/// writing here, a process that another test starts now would hold it open too, and a file that is
/// open for writing cannot be run.
fn copy_of_this() -> (tempfile::TempDir, PathBuf) {
    let place = directory();
    chmod(place.path(), 0o755);
    let copy = place.path().join("program");
    let mut cp = Command::new("cp");
    assert!(cp.arg(std::env::current_exe().unwrap()).arg(&copy).status().unwrap().success());
    (place, copy)
}

/// Runs one of the tests below as user nobody, with the directory to search.
#[track_caller]
fn as_nobody(test: &str, tmpdir: &Path, target: u32) {
    let (_place, program) = copy_of_this();
    let mut command = Command::new(&program);
    command.env("TMPDIR", tmpdir).env("TARGET", target.to_string());
    passes(command.uid(NOBODY).gid(NOBODY).current_dir("/"), test);
}

#[test]
fn discovery_without_root_reports_unseen() {
    needs_root!();
    let (shared, hidden) = (directory(), directory());
    chmod(shared.path(), 0o1777);
    let (seen, unseen) = (Process::listener(shared.path()), Process::listener(hidden.path()));
    as_nobody("helper_other_user_process_is_seen", shared.path(), seen.id());
    as_nobody("helper_hidden_environment_is_reported", shared.path(), unseen.id());
    // And a process of user nobody, which root sees but does not trust.
    let (_place, program) = copy_of_this();
    let theirs = Process::listening(
        listener_of(&program, shared.path()).uid(NOBODY).gid(NOBODY),
        shared.path(),
    );
    let path = find(theirs.id()).unwrap();
    assert_eq!(refused(&path), Distrust::OtherOwner { path: path.clone(), owner: NOBODY, ours: 0 });
    let stream = UnixStream::connect(&path).unwrap();
    let error = check_peer(&stream, TrustPolicy::CHECKED, Some(theirs.id())).unwrap_err();
    assert_eq!(distrust(&error), &Distrust::PeerOwner { owner: NOBODY, ours: 0 });
    let policy = TrustPolicy::CHECKED.allowing_owner(NOBODY);
    trusted(&path, policy);
    check_peer(&stream, policy, Some(theirs.id())).unwrap();
    let found = of_directory(processes().unwrap(), shared.path());
    assert_eq!(
        found.iter().find(|found| found.process_id == Some(theirs.id())).unwrap().owner,
        Some(NOBODY)
    );
}

/// Any user can give a socket the name of any process.
#[test]
fn discovery_process_name_used_by_other_user_is_not_believed() {
    needs_root!();
    let (shared, (_place, program)) = (directory(), copy_of_this());
    chmod(shared.path(), 0o1777);
    let victim = Process::idle(shared.path());
    let path = path_of(shared.path(), victim.id(), key_of(victim.id()));
    let mut command = listener_of(&program, shared.path());
    command.env("NAME", path.file_name().unwrap()).uid(NOBODY).gid(NOBODY);
    let liar = Process::listening(&mut command, shared.path());
    let mut found = of_directory(processes().unwrap(), shared.path());
    assert_eq!(found.len(), 1);
    assert_eq!(
        (found[0].process_id, found[0].id_in_name, found[0].owner, found[0].state),
        (Some(liar.id()), victim.id(), Some(NOBODY), EndpointState::Listening)
    );
    let said = not_found(victim.id());
    assert!(said.contains(&format!(": it does not listen at {} (", path.display())), "{said}");
    // Who listens is checked again at each connection.
    let connect = |found: &DiscoveredEndpoint| {
        let policy = TrustPolicy::CHECKED.allowing_owner(NOBODY);
        Endpoint::from(found).trusting(policy).connect(&WaitLimit::FOREVER)
    };
    assert!(connect(&found[0]).is_ok());
    found[0].process_id = Some(victim.id());
    let error = connect(&found[0]).unwrap_err();
    let expected = victim.id();
    assert_eq!(distrust(&error), &Distrust::PeerProcess { process_id: liar.id(), expected });
}

/// Which network namespaces they are in is not readable.
#[test]
fn discovery_of_many_sockets_of_other_user_reads_list_once() {
    needs_root!();
    let shared = directory();
    chmod(shared.path(), 0o1777);
    let processes: Vec<_> = (0..SOME).map(|_| Process::idle(shared.path())).collect();
    let names = processes.iter().flat_map(|process| {
        let key = key_of(process.id());
        ["dotnet", "dotnetcore"]
            .into_iter()
            .flat_map(move |prefix| [key, 0].map(|key| (prefix, key)))
            .map(|(prefix, key)| format!("{prefix}-diagnostic-{}-{key}-socket", process.id()))
    });
    let _listeners: Vec<_> =
        names.map(|name| UnixListener::bind(shared.path().join(name)).unwrap()).collect();
    as_nobody("helper_many_sockets_are_seen", shared.path(), std::process::id());
}

const SOME: usize = 30;

#[test]
#[ignore = "started by another test"]
fn helper_many_sockets_are_seen() {
    let shared = PathBuf::from(std::env::var_os("TMPDIR").unwrap());
    let read = || -> u64 {
        let io = fs::read_to_string("/proc/self/io").unwrap();
        io.lines().find_map(|line| line.strip_prefix("rchar: ")).unwrap().parse().unwrap()
    };
    let list = fs::read("/proc/self/net/unix").unwrap().len() as u64;
    let running = fs::read_dir("/proc").unwrap().count() as u64;
    let before = read();
    let seen = processes().unwrap();
    let bytes = read() - before;
    let found = of_directory(seen, &shared);
    assert_eq!(found.len(), 4 * SOME);
    for found in found {
        let name = SocketName::from_path(found.endpoint.to_str().unwrap()).unwrap();
        assert_eq!((found.process_id, found.owner), (Some(name.pid), Some(0)));
        assert_ne!(found.state, EndpointState::Stale);
    }
    // A few kilobytes for each process, and the list: not for each socket.
    assert!(bytes < running * 4096 + list * 10, "{bytes} bytes, {running} processes, list {list}");
}

fn target() -> u32 {
    std::env::var("TARGET").unwrap().parse().unwrap()
}

#[test]
#[ignore = "started by another test"]
fn helper_other_user_process_is_seen() {
    let path = find(target()).unwrap();
    trusted(&path, TrustPolicy::CHECKED);
    // Mode 0755, as `bind` makes it here: others may not connect.
    assert_eq!(UnixStream::connect(&path).unwrap_err().kind(), io::ErrorKind::PermissionDenied);
    let seen = processes().unwrap();
    let found = seen.found.iter().find(|found| found.process_id == Some(target())).unwrap();
    assert_eq!((found.state, found.owner), (EndpointState::Listening, Some(0)));
    assert!(
        !seen.unseen.iter().any(|unseen| unseen.process_id == Some(target())),
        "{:?}",
        seen.unseen
    );
}

#[test]
#[ignore = "started by another test"]
fn helper_hidden_environment_is_reported() {
    let seen = processes().unwrap();
    assert!(!seen.found.iter().any(|found| found.process_id == Some(target())));
    let unseen = seen.unseen.iter().find(|unseen| unseen.process_id == Some(target())).unwrap();
    assert_eq!(unseen.to_string(), format!("/proc/{}/environ: permission denied", target()));
    let text = not_found(target());
    assert!(
        text.contains(&format!("could not read /proc/{}/environ: permission denied", target())),
        "{text}"
    );
}
