//! Which sockets, directories and links are trusted.

use std::path::PathBuf;
use std::process::Command;

use super::*;

#[test]
fn trust_other_files_are_refused() {
    let home = directory();
    let (file, sub, link) =
        (home.path().join("file"), home.path().join("directory"), home.path().join("link"));
    fs::write(&file, "").unwrap();
    fs::create_dir(&sub).unwrap();
    // A relative target, with a `./`.
    symlink("./file", &link).unwrap();
    let fifo = home.path().join("fifo");
    assert!(Command::new("mkfifo").arg(&fifo).status().unwrap().success());
    let device = PathBuf::from("/dev/null");
    for (path, at, is) in [
        (&fifo, &fifo, "a FIFO"),
        (&device, &device, "a device"),
        (&file, &file, "a file"),
        (&sub, &sub, "a directory"),
        (&link, &file, "a file"),
    ] {
        assert_eq!(refused(path), Distrust::NotASocket { path: at.clone(), is });
    }
    trusted(&file, TrustPolicy::UNCHECKED);
}

#[test]
fn trust_missing_path_is_not_found() {
    let home = directory();
    let path = home.path().join("none");
    let error = check_path(&path, TrustPolicy::CHECKED).unwrap_err();
    assert!(
        matches!((error.phase(), error.kind()), (Phase::Find, ErrorKind::NotFound(what)) if *what == path.display().to_string())
    );
    let error = check_path(&home.path().join("no/none"), TrustPolicy::CHECKED).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::NotFound(_)), "{error}");
    fs::write(home.path().join("file"), "").unwrap();
    let error = check_path(&home.path().join("file/none"), TrustPolicy::CHECKED).unwrap_err();
    assert!(
        matches!(error.kind(), ErrorKind::Io(error) if error.kind() == io::ErrorKind::NotADirectory),
        "{error}"
    );
}

#[test]
fn trust_shared_directory_needs_sticky_bit() {
    let home = directory();
    let shared = home.path().join("shared");
    let below = shared.join("below");
    fs::create_dir_all(&below).unwrap();
    let path = below.join("s");
    let _listener = UnixListener::bind(&path).unwrap();
    for mode in [0o777, 0o2777, 0o757, 0o722] {
        chmod(&shared, mode);
        assert_eq!(refused(&path), Distrust::SharedDirectory { path: shared.clone(), mode });
        trusted(&path, TrustPolicy::CHECKED.allowing_shared_directory());
    }
    for mode in [0o1777, 0o1775, 0o755, 0o700] {
        chmod(&shared, mode);
        trusted(&path, TrustPolicy::CHECKED);
    }
    chmod(&below, 0o777);
    assert_eq!(refused(&path), Distrust::SharedDirectory { path: below, mode: 0o777 });
}

/// A group whose only member is root is private to root; that of nobody is not.
#[test]
fn trust_directory_writable_for_a_group_needs_a_private_group() {
    needs_root!();
    let home = directory();
    let shared = home.path().join("shared");
    fs::create_dir(&shared).unwrap();
    let path = shared.join("s");
    let _listener = UnixListener::bind(&path).unwrap();
    for mode in [0o775, 0o2775, 0o770] {
        std::os::unix::fs::chown(&shared, None, Some(0)).unwrap();
        chmod(&shared, mode);
        trusted(&path, TrustPolicy::CHECKED);
        std::os::unix::fs::chown(&shared, None, Some(NOBODY)).unwrap();
        chmod(&shared, mode);
        assert_eq!(refused(&path), Distrust::SharedDirectory { path: shared.clone(), mode });
        trusted(&path, TrustPolicy::CHECKED.allowing_shared_directory());
    }
}

/// A volume that belongs to another user, with links of that user, is trusted on request; the owner of
/// the socket is checked nevertheless.
#[test]
fn trust_shared_directory_of_another_owner_is_allowed_on_request() {
    needs_root!();
    let home = directory();
    let shared = home.path().join("shared");
    fs::create_dir(&shared).unwrap();
    let (path, link) = (shared.join("s"), shared.join("link"));
    let _listener = UnixListener::bind(&path).unwrap();
    symlink("s", &link).unwrap();
    give_away(&link);
    give_away(&shared);
    let policy = TrustPolicy::CHECKED.allowing_shared_directory();
    trusted(&path, policy);
    trusted(&link, policy);
    drop(bind_trusting(shared.join("port"), policy).unwrap());
    give_away(&path);
    let error = check_path(&path, policy).unwrap_err();
    assert_eq!(distrust(&error), &Distrust::OtherOwner { path, owner: NOBODY, ours: 0 });
}

#[test]
fn trust_requested_process_is_the_one_that_listens() {
    let home = directory();
    let path = home.path().join("s");
    let listener = UnixListener::bind(&path).unwrap();
    let stream = UnixStream::connect(&path).unwrap();
    let us = std::process::id();
    let policy = TrustPolicy::REQUESTED_PROCESS;
    check_peer(&stream, policy, Some(us)).unwrap();
    let refused = |expected| check_peer(&stream, policy, expected).unwrap_err();
    assert_eq!(
        distrust(&refused(Some(us + 1))),
        &Distrust::PeerProcess { process_id: us, expected: us + 1 }
    );
    assert_eq!(distrust(&refused(None)), &Distrust::UnknownProcess { expected: None });
    drop(listener);
}

#[test]
fn trust_checks_directories_of_links() {
    let home = directory();
    let (good, bad) = (home.path().join("good"), home.path().join("bad"));
    fs::create_dir(&good).unwrap();
    fs::create_dir(&bad).unwrap();
    chmod(&bad, 0o777);
    let path = good.join("s");
    let _listener = UnixListener::bind(&path).unwrap();
    // Others could redirect this link.
    symlink(&good, bad.join("link")).unwrap();
    assert_eq!(
        refused(&bad.join("link/s")),
        Distrust::SharedDirectory { path: bad.clone(), mode: 0o777 }
    );
    assert_eq!(
        refused(&bad.join("../good/s")),
        Distrust::SharedDirectory { path: bad.clone(), mode: 0o777 }
    );
    chmod(&bad, 0o1777);
    trusted(&bad.join("link/s"), TrustPolicy::CHECKED);
    trusted(&good.join("../bad/./link/s"), TrustPolicy::CHECKED);
    symlink("loop", good.join("loop")).unwrap();
    let error = check_path(&good.join("loop"), TrustPolicy::CHECKED).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Io(_)), "{error}");
}

#[test]
fn trust_other_owner_is_refused() {
    needs_root!();
    let home = directory();
    let sub = home.path().join("directory");
    fs::create_dir(&sub).unwrap();
    let path = sub.join("s");
    let _listener = UnixListener::bind(&path).unwrap();
    give_away(&path);
    let other =
        |path: &Path| Distrust::OtherOwner { path: path.to_path_buf(), owner: NOBODY, ours: 0 };
    assert_eq!(refused(&path), other(&path));
    give_away(&sub);
    assert_eq!(refused(&path), other(&sub));
    trusted(&path, TrustPolicy::CHECKED.allowing_owner(NOBODY));
    trusted(&path, TrustPolicy::CHECKED.allowing_other_owner());
    assert!(check_path(&path, TrustPolicy::CHECKED.allowing_owner(NOBODY - 1)).is_err());
    // Another user's link, in a directory in which it may have one.
    let sticky = home.path().join("sticky");
    fs::create_dir(&sticky).unwrap();
    chmod(&sticky, 0o1777);
    let (link, mine) = (sticky.join("link"), home.path().join("mine"));
    let _mine = UnixListener::bind(&mine).unwrap();
    symlink(&mine, &link).unwrap();
    trusted(&link, TrustPolicy::CHECKED);
    give_away(&link);
    assert_eq!(refused(&link), other(&link));
}
