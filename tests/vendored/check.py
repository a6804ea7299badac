#!/usr/bin/env python3
"""Takes the crate into other projects as spec/VENDORING.md says, and builds and runs a program with it, offline: without features, then with
sockets.

    python3 tests/vendored/check.py

The commands and the manifests are those of the page. Git takes the checked-out commit.
"""
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
MAIN = """use dotnet_diagnostics_ipc::message::{Request as _, process::ResumeRuntime};

fn main() {
    let mut buffer = [0; 20];
    assert_eq!(ResumeRuntime {}.encode_message(&mut buffer), Ok(20));
    assert_eq!(&buffer, b"DOTNET_IPC_V1\\0\\x14\\0\\x04\\x01\\0\\0");
    println!("vendored");
}
"""
WITH_SOCKETS = """use dotnet_diagnostics_ipc::io::{Client, Endpoint, ErrorKind};

fn main() {
    let error = Client::new(Endpoint::socket("/nowhere/dotnet-diagnostic-1-2-socket")).process_info().unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::NotFound(_)));
    println!("vendored");
}
"""
MEMBER = """[package]
name = "program"
version = "0.0.0"
edition = "2024"

[dependencies]
"""
# The library's dependencies. Cargo also lists those of `zerocopy`'s macros, which are not used.
NEEDED = {"byteorder", "dotnet-diagnostics-ipc", "hash32", "heapless", "program", "stable_deref_trait", "zerocopy"}
WRITTEN_DOWN = NEEDED | {"proc-macro2", "quote", "syn", "unicode-ident", "zerocopy-derive"}
# No network: the namespace of a command has none. If that is not allowed, Cargo at least does not use it.
ALONE = ["unshare", "-rn"] if not subprocess.run(["unshare", "-rn", "true"], capture_output=True).returncode else []


PAGE = (ROOT / "spec/VENDORING.md").read_text()


def manifest(more=""):
    found = re.search(rf"```toml\n# vendor/dotnet-diagnostics-ipc/Cargo.toml{more}\n(.*?)```", PAGE, re.S)[1]
    if not more and len(found.splitlines()) > 10:
        sys.exit("the manifest does not have ten lines")
    return found


def commands(word):
    """The block of commands with `word`."""
    blocks = [block for block in re.findall(r"```sh\n(.*?)```", PAGE, re.S) if word in block]
    if len(blocks) != 1:
        sys.exit(f"{len(blocks)} blocks of commands have {word}, expected 1")
    return blocks[0]


def options(commands, sockets):
    """With the options that stand behind the commands as comments."""
    return re.sub(r" +# (--features \S+)", r" \1" if sockets else "", commands)


def git():
    """A git with `subtree`; not every installation has it."""
    for program in ("git", "/usr/bin/git"):
        exec_path = subprocess.run([program, "--exec-path"], capture_output=True, text=True).stdout.strip() if shutil.which(program) else ""
        if (pathlib.Path(exec_path or "/nowhere") / "git-subtree").exists():
            return shutil.which(program)
    return None


def run(command, home):
    environment = {
        **os.environ,
        # Parts that are the same in all ways are built once.
        "CARGO_TARGET_DIR": str(home.parent / "target"),
        "CARGO_PROFILE_DEV_DEBUG": "none",
        # A Cargo directory with its own checkouts, and the crates that were already downloaded.
        "CARGO_HOME": str(home / "cargo"),
        "GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@b", "GIT_COMMITTER_NAME": "a", "GIT_COMMITTER_EMAIL": "a@b",
    }
    done = subprocess.run([*ALONE, "sh", "-ec", command], cwd=home / "project", env=environment, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{command}:\n{done.stdout}{done.stderr}")
    return done.stdout


def project(home, sockets):
    """Another project, and a Cargo home. The versions that this crate was tested with are already on this machine."""
    there, cargo = home / "project", home / "cargo"
    (there / "src").mkdir(parents=True)
    cargo.mkdir()
    own = pathlib.Path(os.environ.get("CARGO_HOME") or pathlib.Path.home() / ".cargo")
    (cargo / "registry").symlink_to(own / "registry")
    (there / "src/main.rs").write_text(WITH_SOCKETS if sockets else MAIN)
    (there / "Cargo.toml").write_text(MEMBER)
    shutil.copy(ROOT / "Cargo.lock", there)
    return there


def finish(what, home, sockets):
    """Builds and runs the program, and checks its lock file. With sockets it was built from a copy: then only what it consists of is checked."""
    is_run = not sockets or what == "a copy of src/"
    said = run(f"RUSTFLAGS='-D warnings' cargo {'run' if is_run else 'check'} --quiet --offline", home)
    if said != "vendored\n" * is_run:
        sys.exit(f"{what}: the program says {said!r}")
    locked = set(re.findall(r'^name = "(.*)"', (home / "project/Cargo.lock").read_text(), re.M))
    if not sockets and locked - WRITTEN_DOWN:
        sys.exit(f"{what}: the lock file also lists {sorted(locked - WRITTEN_DOWN)}")
    what += ", with sockets" if sockets else ""
    print(f"{what}: {'builds offline and runs' if is_run else 'is checked offline'}; {len(locked)} packages in the lock file")


def copied(home, sockets):
    there = project(home, sockets)
    run(commands("cp -r").replace("PATH-OF-THIS", shlex.quote(str(ROOT))), home)
    (there / "vendor/dotnet-diagnostics-ipc/Cargo.toml").write_text(manifest() + (manifest(", with sockets") if sockets else ""))
    # The page says which folders a codec without sockets does not need.
    if not sockets:
        run(commands("rm -r"), home)
    line = re.search(r'`(dotnet-diagnostics-ipc = \{ path .*?\})`', PAGE)[1]
    if sockets:
        line = line.replace(" }", ', features = ["io-adapters"] }')
    (there / "Cargo.toml").write_text(MEMBER + line + "\n\n[workspace]\n")
    finish("a copy of src/", home, sockets)


def repository(home):
    """The checked-out commit, as the branch `main` of a new repository."""
    subprocess.run(["git", "init", "--quiet", "--bare", "--initial-branch=main", str(home / "origin")], check=True)
    subprocess.run(["git", "-C", str(ROOT), "push", "--quiet", str(home / "origin"), "HEAD:refs/heads/main"], check=True)
    return f"file://{home}/origin"


def subtree(home, sockets):
    program = git()
    if not program:
        print("SKIPPED: git subtree: no git here has it")
        return
    there = project(home, sockets)
    (there / "Cargo.toml").write_text('[workspace]\nexclude = ["third-party"]\n\n' + MEMBER)
    url = repository(home)
    run("git init --quiet && git add . && git commit --quiet --message first", home)
    run(options(commands("git subtree"), sockets).replace("git subtree", f"{program} subtree").replace("URL", url)
        .replace("cargo add", "cargo add --offline"), home)
    finish("git subtree", home, sockets)


def vendored_by_cargo(home, sockets):
    there = project(home, sockets)
    (there / "Cargo.toml").write_text(MEMBER + "\n[workspace]\n")
    run(options(commands("cargo vendor"), sockets).replace("URL", repository(home)), home)
    # Only the vendored crates remain.
    (home / "cargo/registry").unlink()
    shutil.rmtree(home / "cargo/git")
    finish("cargo vendor", home, sockets)
    have = {directory.name for directory in (there / "vendor").iterdir()}
    if not sockets and have | {"program"} != WRITTEN_DOWN:
        sys.exit(f"cargo vendor copied {sorted(have)}")


def main():
    # `cargo vendor` copies what the lock file lists, and a build downloads only what it compiles. All else is offline.
    subprocess.run(["cargo", "fetch", "--quiet", "--locked"], cwd=ROOT, check=True)
    with tempfile.TemporaryDirectory() as homes:
        for way in (copied, subtree, vendored_by_cargo):
            for sockets in (False, True):
                home = pathlib.Path(homes) / f"{way.__name__}{'_with_sockets' * sockets}"
                home.mkdir()
                way(home, sockets)


main()
