//! A socket to listen at that belongs to us alone.

use super::*;

/// The lock of a socket named `port`.
const LOCK: &str = ".port.diagipc-lock";

fn mode(path: &Path) -> u32 {
    fs::symlink_metadata(path).unwrap().mode() & 0o7777
}

#[track_caller]
fn in_use(error: &Error) {
    assert_eq!(error.phase(), Phase::Listen);
    assert!(
        matches!(error.kind(), ErrorKind::Io(error) if error.kind() == io::ErrorKind::AddrInUse),
        "{error}"
    );
}

#[test]
fn bind_creates_private_socket_and_directory() {
    let home = directory();
    let path = home.path().join("private/port");
    let (listener, guard) = bind_private(&path).unwrap();
    assert_eq!((mode(&path), mode(path.parent().unwrap())), (0o600, 0o700));
    let mut client = UnixStream::connect(&path).unwrap();
    io::Write::write_all(&mut client, b"x").unwrap();
    let mut byte = [0];
    io::Read::read_exact(&mut listener.accept().unwrap().0, &mut byte).unwrap();
    assert_eq!(byte, *b"x");
    trusted(&path, TrustPolicy::CHECKED);
    in_use(&bind_private(&path).unwrap_err());
    assert!(UnixStream::connect(&path).is_ok());
    drop(guard);
    assert!(!path.exists());
}

#[test]
fn bind_keeps_listener_with_full_backlog() {
    let home = directory();
    let path = home.path().join("port");
    let listener = UnixListener::bind(&path).unwrap();
    rustix::net::listen(&listener, 0).unwrap();
    let _waiting = UnixStream::connect(&path).unwrap();
    in_use(&bind_private(&path).unwrap_err());
    assert!(path.exists());
}

#[test]
fn bind_keeps_other_files() {
    let home = directory();
    let (file, sub, link) =
        (home.path().join("file"), home.path().join("directory"), home.path().join("link"));
    fs::write(&file, "kept").unwrap();
    fs::create_dir(&sub).unwrap();
    symlink(home.path().join("nowhere"), &link).unwrap();
    for path in [&file, &sub, &link] {
        let error = bind_private(path).unwrap_err();
        assert_eq!(error.phase(), Phase::Listen);
        assert!(
            matches!(distrust(&error), Distrust::NotASocket { path: at, .. } if at == path),
            "{error}"
        );
    }
    assert_eq!(fs::read_to_string(&file).unwrap(), "kept");
    assert!(sub.is_dir() && link.is_symlink());
}

#[test]
fn bind_keeps_socket_of_other_user() {
    needs_root!();
    let home = directory();
    let path = home.path().join("port");
    crate::leave_stale(&path);
    give_away(&path);
    let error = bind_private(&path).unwrap_err();
    assert_eq!(
        distrust(&error),
        &Distrust::OtherOwner { path: path.clone(), owner: NOBODY, ours: 0 }
    );
    assert!(path.exists());
}

/// No directory is created there either.
#[test]
fn bind_refuses_shared_directory() {
    let home = directory();
    chmod(home.path(), 0o777);
    for path in ["port", "private/port"] {
        let error = bind_private(home.path().join(path)).unwrap_err();
        let shared = matches!(distrust(&error), Distrust::SharedDirectory { mode: 0o777, .. });
        assert!(shared, "{error}");
        assert_eq!(fs::read_dir(home.path()).unwrap().count(), 0);
    }
}

#[test]
fn bind_refuses_long_path() {
    let home = directory();
    let room = 107 - home.path().as_os_str().len() - 1;
    if cfg!(target_os = "linux") {
        let _bound = bind_private(home.path().join("x".repeat(room))).unwrap();
    }
    let error = bind_private(home.path().join("x".repeat(room + 1))).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::NotAnEndpoint(_)), "{error}");
    assert!(error.to_string().contains("has 108 bytes"), "{error}");
}

#[test]
fn bind_refuses_root_path() {
    let error = bind_private("/").unwrap_err();
    assert_error!(error, Listen, ErrorKind::NotAnEndpoint(_));
    assert_eq!(error.to_string(), "the path has no file name (listening)");
}

#[test]
fn unbind_keeps_replaced_socket() {
    let home = directory();
    let path = home.path().join("port");
    let (listener, guard) = bind_private(&path).unwrap();
    fs::remove_file(&path).unwrap();
    let _other = UnixListener::bind(&path).unwrap();
    drop((listener, guard));
    assert!(UnixStream::connect(&path).is_ok());
}

#[test]
fn bind_concurrent_takeover_has_one_winner() {
    let home = directory();
    let path = home.path().join("port");
    // This is often enough for two to collide: without the lock the test fails.
    for _ in 0..500 {
        crate::leave_stale(&path);
        let start = std::sync::Barrier::new(4);
        let bind = || {
            start.wait();
            bind_private(&path)
        };
        let bound: Vec<_> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..4).map(|_| scope.spawn(bind)).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        assert_eq!(bound.iter().filter(|bound| bound.is_ok()).count(), 1, "{bound:?}");
        assert!(UnixStream::connect(&path).is_ok());
        bound.iter().filter_map(|bound| bound.as_ref().err()).for_each(in_use);
    }
}

/// A bind and its end create and delete only files of their own, whatever is beside the socket.
#[test]
fn files_beside_the_socket_are_kept() {
    let home = directory();
    let stale = format!(".port.{}-0.diagipc-stale", std::process::id());
    let names = ["port.lock", LOCK, &stale, &format!("port.{}.stale", std::process::id())];
    for name in names {
        fs::write(home.path().join(name), name).unwrap();
    }
    let path = home.path().join("port");
    crate::leave_stale(&path);
    drop(bind_private(&path).unwrap());
    for name in names {
        assert_eq!(fs::read_to_string(home.path().join(name)).unwrap(), name);
    }
    assert_eq!(fs::read_dir(home.path()).unwrap().count(), names.len());
}

/// Whoever can read a directory can lock it, as everyone can `/tmp`.
#[test]
fn bind_in_directory_locked_by_others_succeeds() {
    use rustix::fs::{FlockOperation, flock};
    let home = directory();
    let locked = fs::File::open(home.path()).unwrap();
    flock(&locked, FlockOperation::LockExclusive).unwrap();
    let path = home.path().join("port");
    crate::leave_stale(&path);
    let (listener, guard) = bind_private(&path).unwrap();
    drop((listener, guard));
    assert_eq!(
        fs::read_dir(home.path()).unwrap().count(),
        0,
        "neither the socket nor a lock is left"
    );
}

#[test]
fn bind_refuses_lock_of_other_user() {
    needs_root!();
    let home = directory();
    let (path, lock) = (home.path().join("port"), home.path().join(LOCK));
    fs::write(&lock, "").unwrap();
    give_away(&lock);
    let error = bind_private(&path).unwrap_err();
    assert_eq!(
        distrust(&error),
        &Distrust::OtherOwner { path: lock.clone(), owner: NOBODY, ours: 0 }
    );
    assert!(lock.exists() && !path.exists());
}

/// A successor binds under the lock, between the check and the removal by its predecessor.
#[test]
fn unbind_waits_for_the_lock() {
    use rustix::fs::{FlockOperation, flock};
    let home = directory();
    let path = home.path().join("port");
    let bound = bind_private(&path).unwrap();
    let lock = fs::File::create(home.path().join(LOCK)).unwrap();
    flock(&lock, FlockOperation::LockExclusive).unwrap();
    let unbinding = std::thread::spawn(move || drop(bound));
    std::thread::sleep(std::time::Duration::from_millis(100));
    assert!(path.exists() && !unbinding.is_finished());
    drop(lock);
    unbinding.join().unwrap();
    assert!(!path.exists());
}
