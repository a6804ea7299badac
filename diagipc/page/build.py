#!/usr/bin/env python3
"""build.py [--out FILE]

Builds the page that explains bytes: one HTML file with the library as WebAssembly, which needs no server and no network. By default
target/decode.html. Needs the target wasm32-unknown-unknown of Rust, and installs it with rustup; exits with 77 if it cannot be had, with 1
if the page is larger than it may be.
"""
import argparse
import base64
import gzip
import hashlib
import json
import os
import pathlib
import re
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
TARGET = "wasm32-unknown-unknown"
MOST = 400_000
SKIP = 77
# Types that the splitting of bytes into messages finds by itself.
MESSAGES = {"request", "reply", "error", "unknown", "advertise"}


def wasm():
    """The program. No path of this machine is in it."""
    built = os.environ.get("CARGO_TARGET_DIR", str(ROOT / "target"))
    home = os.environ.get("CARGO_HOME", str(pathlib.Path.home() / ".cargo"))
    flags = f"--remap-path-prefix={ROOT}=. --remap-path-prefix={home}=cargo"
    environment = {**os.environ, "CARGO_TARGET_DIR": built, f"CARGO_TARGET_{TARGET.upper().replace('-', '_')}_RUSTFLAGS": flags}
    # Flags for all targets would win.
    environment.pop("RUSTFLAGS", None)
    subprocess.run(["cargo", "build", "--quiet", "--release", "--locked", "--target", TARGET], cwd=HERE, env=environment, check=True)
    return pathlib.Path(built, TARGET, "release", "page.wasm").read_bytes()


def has_target():
    library = subprocess.run(["rustc", "--print", "target-libdir", "--target", TARGET], cwd=HERE, capture_output=True, text=True, check=True)
    if pathlib.Path(library.stdout.strip()).is_dir():
        return True
    try:
        return subprocess.run(["rustup", "target", "add", TARGET], cwd=HERE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode == 0
    except FileNotFoundError:
        return False


def lists():
    """The choices of the page: the types and the examples of the vectors."""
    kinds, examples = [], []
    for file in json.loads((ROOT / "vectors/index.json").read_text())["files"]:
        kinds += [group["type"] for group in json.loads((ROOT / "vectors" / file["name"]).read_text()).get("groups", [])]
    for group in json.loads((ROOT / "vectors/small.json").read_text())["groups"]:
        is_message = group["type"] in MESSAGES
        about = {"kind": ""} if is_message else {"kind": group["type"]}
        if is_message and group["direction"] and group["type"] != "advertise":
            about["from"] = group["direction"]
            if group["direction"] == "server" and group["command"]:
                about["request"] = group["command"]
        what = group["type"] if not group["command"] else f"{group['type']} {group['command']}"
        examples += [{"title": f"{what}: {test['comment']} ({test['tcId']})", "hex": test["wire"], **about} for test in group["tests"] if test["wire"]]
    # Messages first: they are what people have.
    examples.sort(key=lambda example: example["kind"] != "")
    return {"kinds": sorted(set(kinds) - MESSAGES), "examples": examples}


def page():
    style, script = (HERE / "page.css").read_text(), (HERE / "page.js").read_text()

    def digest(text):
        return "'sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() + "'"
    parts = {
        "policy": f"default-src 'none'; script-src {digest(script)} 'wasm-unsafe-eval'; style-src {digest(style)}; base-uri 'none'; form-action 'none'",
        "style": style,
        "script": script,
        "version": re.search(r'^version = "(.*)"', (ROOT / "Cargo.toml").read_text(), re.M)[1],
        # It is inside a script element, which `<` could end.
        "lists": json.dumps(lists(), ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c"),
        # Packed it has a third of the bytes. Without a time: the same page each time.
        "wasm": base64.b64encode(gzip.compress(wasm(), 9, mtime=0)).decode(),
    }
    assert "</" not in script and "</" not in style, "it would end its element"
    return re.sub(r"\{\{(\w+)\}\}", lambda name: parts[name[1]], (HERE / "page.html").read_text())


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=pathlib.Path, default=ROOT / "target/decode.html", metavar="FILE")
    arguments = parser.parse_args()
    if not has_target():
        print(f"SKIPPED: no standard library of {TARGET}, and rustup cannot install it", file=sys.stderr)
        return SKIP
    text = page().encode()
    if len(text) > MOST:
        print(f"the page has {len(text)} bytes, and may have at most {MOST}", file=sys.stderr)
        return 1
    arguments.out.parent.mkdir(parents=True, exist_ok=True)
    arguments.out.write_bytes(text)
    print(f"{arguments.out}: {len(text)} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
