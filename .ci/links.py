#!/usr/bin/env python3
"""Checks what `cargo package` packs of the three packages: each link of a page to a file, a heading or a picture has its target, and so has each
file that src/ names at docs.rs. The library's package stands alone; the pages of the others may link to the repository."""
import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
SOURCE = re.escape("https://docs.rs/crate/dotnet-diagnostics-ipc/latest/source/") + r"([\w./-]+)"


def lines(*command):
    return subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True).stdout.splitlines()


REPOSITORY = set(lines("git", "ls-files"))
# Cargo never packs another package with the library.
OTHERS = tuple(file.removesuffix("Cargo.toml") for file in REPOSITORY if file.endswith("/Cargo.toml"))


def page(file):
    """Returns the text of a page without its blocks of code."""
    return re.sub(r"^```.*?^```", "", (ROOT / file).read_text(), flags=re.S | re.M)


def headings(file):
    """Returns the names that GitHub gives the headings of a page."""
    plain = (re.sub(r"[`*]|\]\([^)]*\)|\[", "", title).lower() for title in re.findall(r"^#+ +(.*?) *$", page(file), re.M))
    return {re.sub(r"[^\w\- ]", "", title).replace(" ", "-") for title in plain}


def broken_links(file, there):
    for inline, html in re.findall(r"\]\(([^)\s]+)[^)]*\)|<(?:img|a)\s[^>]*(?:src|href)=\"([^\"]+)", page(file)):
        path, _, heading = (inline or html).partition("#")
        if "://" in path or path.startswith("mailto:"):
            continue
        target = os.path.normpath(os.path.join(os.path.dirname(file), path)) if path else file
        if target not in there:
            yield f"{file} links to {target}, which is not packed"
        elif heading and target.endswith(".md") and heading not in headings(target):
            yield f"{file} links to {target}#{heading}, which is not a heading"


def check(package, home):
    listed = lines("cargo", "package", "-p", package, "--list", "--allow-dirty", "--offline")
    packed = {os.path.normpath(os.path.join(home, file)) for file in listed} & REPOSITORY
    there = packed | ({file for file in REPOSITORY if file.startswith(OTHERS)} if home == "." else REPOSITORY)
    there |= {str(parent) for file in there for parent in pathlib.PurePath(file).parents}
    wrong = [line for file in sorted(packed) if file.endswith(".md") for line in broken_links(file, there)]
    for file in sorted(file for file in packed if file.endswith(".rs")):
        wrong += [f"{file} names {target} at docs.rs, which is not packed" for target in re.findall(SOURCE, (ROOT / file).read_text())
                  if target not in packed]
    print(f"{package}: {len(packed)} files", *wrong, sep="\n")
    return wrong


PACKAGES = {"dotnet-diagnostics-ipc": ".", "dotnet-diagnostics-ipc-vectors": "vectors", "diagipc": "diagipc"}
sys.exit(any([check(package, home) for package, home in PACKAGES.items()]))
