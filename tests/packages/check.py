#!/usr/bin/env python3
"""check.py go|npm|python|rust ... [--tree DIRECTORY] [--out DIRECTORY]

Makes a package of the vectors, installs it into a fresh project without a network, and reads the installed files in that language:
read_test.go, read.js, read.py, read.rs. The codec for Go is part of its package: its tests run there, and `diagipc codec` asks it
($DIAGIPC, or the one in target/debug). --tree: what `diagipc list vectors --export` wrote, in place of vectors/. --out: where the
packed npm package and the wheel are kept. Exits with 77 if a language is not installed, after the others.
"""
import argparse
import hashlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import venv
import zipfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
NAME = "dotnet-diagnostics-ipc-vectors"
# Questions of the codec suite; Go's package lacks only the protocol before this one and the draft.
LEAST_OF_GO = 2600
# No network: the namespace of a command has none. If that is not allowed, the tools are at least told not to use it.
ALONE = ["unshare", "-rn"] if not subprocess.run(["unshare", "-rn", "true"], capture_output=True).returncode else []


class Missing(Exception):
    """A program that is not installed."""


def said(*command, cwd, **environment):
    """The output of a command, which must succeed."""
    if not shutil.which(command[0]):
        raise Missing(command[0])
    done = subprocess.run([*ALONE, *map(str, command)], cwd=cwd, env={**os.environ, **environment}, capture_output=True, text=True, timeout=600)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))}: status {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def go(tree, home):
    """A module proxy in a directory, from which `go get` takes the module as it takes any other."""
    module = re.search(r"^module (.*)$", (tree / "go.mod").read_text(), re.M)[1]
    version = f"v{release(tree)}"
    # Capital letters, as the proxy protocol writes them.
    proxy = home / "proxy" / re.sub("[A-Z]", lambda letter: "!" + letter[0].lower(), module) / "@v"
    proxy.mkdir(parents=True)
    shutil.copy(tree / "go.mod", proxy / f"{version}.mod")
    (proxy / f"{version}.info").write_text(json.dumps({"Version": version}))
    with zipfile.ZipFile(proxy / f"{version}.zip", "w") as packed:
        for path in sorted(path for path in tree.rglob("*") if path.is_file() and "source" not in path.relative_to(tree).parts):
            packed.write(path, f"{module}@{version}/{path.relative_to(tree)}")
    there = project(home, "read_test.go")
    (there / "go.mod").write_text("module example.org/read\n\ngo 1.16\n")
    # What Go keeps of its own library is built once.
    cache = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")).resolve() / "go"
    options = {"GOPATH": str(home / "go"), "GOCACHE": str(cache), "GOPROXY": f"file://{home}/proxy", "GONOSUMDB": "*", "GOTOOLCHAIN": "local",
               "GOFLAGS": "-modcacherw", "GO111MODULE": "on"}
    said("go", "get", f"{module}@{version}", cwd=there, **options)
    (there / "adapter").mkdir()
    shutil.copy(ROOT / "diagipc/adapters/go/adapter.go", there / "adapter")
    unformatted = said("gofmt", "-l", tree / "dotnetipc", there, cwd=there)
    if unformatted:
        sys.exit(f"gofmt would change\n{unformatted}")
    said("go", "vet", "./...", f"{module}/...", cwd=there, **options)
    said("go", "test", f"{module}/...", cwd=there, **options)
    said("go", "build", "-o", home / "adapter", "./adapter", cwd=there, **options)
    tool = os.environ.get("DIAGIPC", ROOT / "target/debug/diagipc")
    report = said(tool, "codec", "--timeout", "120000", "--", home / "adapter", cwd=there)
    judged = re.search(r"^PASSED: (\d+) judged$", report, re.M)
    if not judged or int(judged[1]) < LEAST_OF_GO:
        sys.exit(f"expected {LEAST_OF_GO} judged\n{report}")
    return said("go", "test", "-count=1", "-v", "./...", cwd=there, **options)


def npm(tree, home):
    there = project(home, "read.js")
    options = {"npm_config_cache": str(home / "cache"), "npm_config_offline": "true", "npm_config_update_notifier": "false"}
    packed = said("npm", "pack", "--silent", "--pack-destination", home, tree, cwd=there, **options).strip()
    (there / "package.json").write_text("{}")
    said("npm", "install", "--silent", "--no-audit", "--no-fund", home / packed, cwd=there, **options)
    return said("node", "read.js", cwd=there)


def python(tree, home):
    there = project(home, "read.py")
    venv.create(home / "python", with_pip=True)
    interpreter = str(home / "python/bin/python")
    options = {"PIP_NO_INDEX": "1", "PIP_DISABLE_PIP_VERSION_CHECK": "1", "PYTHONDONTWRITEBYTECODE": "1"}
    said(interpreter, "-m", "pip", "wheel", "--quiet", "--wheel-dir", home, tree, cwd=there, **options)
    (wheel,) = home.glob("*.whl")
    said(interpreter, "-m", "pip", "install", "--quiet", wheel, cwd=there, **options)
    installed = said(interpreter, "-m", "pip", "list", "--format=freeze", cwd=there, **options)
    if f"{NAME}=={release(tree)}\n" not in installed:
        sys.exit(f"pip lists\n{installed}")
    return said(interpreter, "read.py", cwd=there)


def rust(tree, home):
    """The crate of vectors/."""
    del tree
    there = project(home, "read.rs")
    (there / "Cargo.toml").write_text(f"""[package]
name = "read"
version = "0.0.0"
edition = "2024"

[[bin]]
name = "read"
path = "read.rs"

[dependencies]
dotnet-diagnostics-ipc-vectors = {{ path = {json.dumps(str(ROOT / "vectors"))} }}
""")
    shutil.copy(ROOT / "Cargo.lock", there)
    target = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")).resolve() / "packages"
    return said("cargo", "run", "--quiet", "--offline", cwd=there, CARGO_TARGET_DIR=str(target))


def release(tree):
    return json.loads((tree / "index.json").read_text())["release"]


def project(home, program):
    there = home / "project"
    there.mkdir()
    shutil.copy(HERE / program, there)
    return there


def expected(tree):
    """How many tests there are. All files are as the index says."""
    index = json.loads((tree / "index.json").read_text())
    for file in [*index["files"], *index["exchanges"], index["small"]]:
        if hashlib.sha256((tree / file["name"]).read_bytes()).hexdigest() != file["sha256"]:
            sys.exit(f"{file['name']}: not the SHA-256 of the index")
    return sum(json.loads((tree / file["name"]).read_text())["numberOfTests"] for file in index["files"])


FORMS = {"go": go, "npm": npm, "python": python, "rust": rust}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("forms", nargs="+", choices=FORMS)
    parser.add_argument("--tree", type=pathlib.Path, default=ROOT / "vectors")
    parser.add_argument("--out", type=pathlib.Path)
    arguments = parser.parse_args()
    tree, missing = arguments.tree.resolve(), False
    count = expected(tree)
    for form in arguments.forms:
        with tempfile.TemporaryDirectory() as home:
            try:
                output = FORMS[form](tree, pathlib.Path(home).resolve())
            except Missing as program:
                print(f"{form}: no {program}")
                missing = True
                continue
            for packed in [*pathlib.Path(home).glob("*.tgz"), *pathlib.Path(home).glob("*.whl")] if arguments.out else []:
                shutil.copy(packed, arguments.out)
            licences = {path.name for path in pathlib.Path(home).rglob("LICENSE-*") if "vectors" in str(path.parent)}
        if f"{count} tests\n" not in output:
            sys.exit(f"{form}: expected {count} tests, was\n{output}")
        if form != "rust" and licences != {"LICENSE-APACHE", "LICENSE-MIT"}:
            sys.exit(f"{form}: the licences of the installed package are {sorted(licences)}")
        print(f"{form}: installed without a network; {count} tests", flush=True)
    return 77 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
