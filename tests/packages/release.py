#!/usr/bin/env python3
"""release.py DIRECTORY

Takes each file of a release (.ci/release) into an empty directory and uses it once there. Prints one line per file. Exits with 1 if one
cannot be used, or if a file is unknown. check.py and try.py did the same with the packages for npm and Python when they were made.
"""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "diagipc/page"))
from check import Browser
from used import holds, said

BUILT = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", HERE.parents[1] / "target")).resolve()
STOP = "444f544e45545f4950435f5631001c00020100002a00000000000000"
PROGRAM = f"""use dotnet_diagnostics_ipc::message::{{Request as _, eventpipe::StopTracing}};

fn main() {{
    let mut buffer = [0; 28];
    StopTracing {{ session_id: 42 }}.encode_message(&mut buffer).unwrap();
    let hex: String = buffer.iter().map(|byte| format!("{{byte:02x}}")).collect();
    assert_eq!(hex, "{STOP}");
    let groups = dotnet_diagnostics_ipc_vectors::files().unwrap().into_iter().flat_map(|file| file.groups);
    println!("{{}} tests", groups.map(|group| group.tests.len()).sum::<usize>());
}}
"""


def unpacked(file, home):
    """Returns the one directory of an archive."""
    if file.suffix == ".zip":
        zipfile.ZipFile(file).extractall(home)
    else:
        with tarfile.open(file) as archive:
            archive.extractall(home, filter="data")
    (directory,) = home.iterdir()
    return directory


def crates(files, home):
    """Builds a program with the library and the vectors, and installs the tool."""
    patch = "[patch.crates-io]\n"
    names = {re.sub(r"-[0-9.]+$", "", file.stem): unpacked(file, home / file.stem) for file in files}
    for name, path in names.items():
        patch += f'{name} = {{ path = "{path}" }}\n'
    (home / ".cargo").mkdir()
    (home / ".cargo/config.toml").write_text(patch)
    (home / "program/src").mkdir(parents=True)
    needed = "".join(f'{name} = "*"\n' for name in names if name != "diagipc")
    (home / "program/Cargo.toml").write_text(f'[package]\nname = "program"\nedition = "2024"\n\n[dependencies]\n{needed}')
    (home / "program/src/main.rs").write_text(PROGRAM)
    target = {"CARGO_TARGET_DIR": str(BUILT / "packages")}
    read = said("cargo", "run", "--quiet", cwd=home / "program", **target)
    holds(f"a program with {' and '.join(sorted(set(names) - {'diagipc'}))}: {read.strip()}", int(read.split()[0]) > 1000)
    said("cargo", "install", "--quiet", "--debug", "--path", names["diagipc"], "--root", home / "root", cwd=home, **target)
    said(home / "root/bin/diagipc", "check", cwd=home)
    print("cargo install diagipc, diagipc check: ok", flush=True)


def tool(file, home):
    there = unpacked(file, home)
    runner, words, expected = [], ["check"], "PASSED"
    if "windows" in file.name:
        runner = ["wine"]
    elif "aarch64" in file.name:
        # qemu lets no program own the programs that it starts, which a check does.
        runner, words, expected = ["qemu-aarch64"], ["decode", "--text", STOP], "StopTracing"
    (program,) = there.glob("diagipc*")
    asked = said(*runner, program, *words, cwd=home)
    holds(f"{file.name}: diagipc {words[0]}", expected in asked and all((there / name).is_dir() for name in ("completions", "man")), asked)


def vectors(file, home, program):
    """The header for C traces the reference runtime; the codec for Go and the one in Python read every vector."""
    there = unpacked(file, home)
    said("cc", "-std=c99", "-o", "trace", there / "c/trace.c", cwd=home)
    with subprocess.Popen([program, "runtime", "--socket", home / "socket", "--until-eof"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          cwd=home) as runtime:
        runtime.stdout.readline()
        said("./trace", "socket", "a.nettrace", "1", cwd=home)
        runtime.stdin.close()
    holds(f"{file.name}: the header for C writes a trace", (home / "a.nettrace").read_bytes().startswith(b"Nettrace"))
    module = re.search(r"^module (.*)$", (there / "vectors/go.mod").read_text(), re.M)[1]
    (home / "read").mkdir()
    shutil.copy(HERE / "read_test.go", home / "read")
    (home / "read/go.mod").write_text(f"module example.org/read\n\ngo 1.16\n\nrequire {module} v0.0.0\nreplace {module} => {there}/vectors\n")
    read = said("go", "test", "-count=1", "-v", "./...", cwd=home / "read", GOFLAGS="-mod=mod", GOPROXY="off", GOTOOLCHAIN="local",
                GOCACHE=str(BUILT / "go"))
    holds(f"{file.name}: the codec for Go", re.search(r"^\d+ tests$", read, re.M), read)
    asked = said(program, "codec", "--", sys.executable, there / "diagipc/adapters/python/adapter.py", cwd=home)
    holds(f"{file.name}: the codec in Python", re.search(r"^PASSED: \d+ judged$", asked, re.M), asked)


def page(file, home, fragment, expected):
    browser = Browser("chromium", home)
    try:
        browser.call("Page.navigate", url=f"{file.as_uri()}{fragment}")
        browser.until(f"document.readyState == 'complete' && document.body.innerText.includes({json.dumps(expected)})")
    finally:
        browser.close()
    print(f"{file.name}: shows {expected}: ok", flush=True)


def main():
    files = sorted(pathlib.Path(sys.argv[1]).resolve().iterdir())
    said("sha256sum", "--check", "--strict", "SHA256SUMS", cwd=files[0].parent)
    trials, native = {}, None
    for file in files:
        if file.name.startswith("diagipc-") and file.suffix in (".gz", ".zip"):
            trials[file] = tool
            native = file if "x86_64-unknown-linux" in file.name else native
        elif "-vectors-" in file.name and file.suffix == ".gz":
            trials[file] = lambda file, home: vectors(file, home, program)
        elif "-decode-" in file.name:
            trials[file] = lambda file, home: page(file, home, f"#hex={STOP}", "42 (0x2a)")
        elif "-matrix-" in file.name:
            trials[file] = lambda file, home: page(file, home, "", "net11.0.0")
        elif file.suffix not in (".crate", ".whl", ".tgz") and file.name != "SHA256SUMS":
            sys.exit(f"{file.name}: no trial for it")
    with tempfile.TemporaryDirectory() as scratch:
        program = unpacked(native, pathlib.Path(scratch, "native")) / "diagipc"
        for number, (file, trial) in enumerate(trials.items()):
            home = pathlib.Path(scratch, str(number))
            home.mkdir()
            trial(file, home)
        home = pathlib.Path(scratch, "crates")
        home.mkdir()
        crates([file for file in files if file.suffix == ".crate"], home)


if __name__ == "__main__":
    main()
