#!/usr/bin/env python3
"""jobs.py [--diagipc PROGRAM] [LANGUAGE ...]

Runs the scripts of diagipc/CI.md as a build server does, each in a project of its language: programs with the names of the script, which become
those of the repository. What a script installs is PROGRAM (default: target/debug/diagipc). C# needs an SDK, which is not looked for: its
suites are run with Microsoft's dotnet-trace, if it is there (../live/official_tools.py). Node is left out: it cannot become another program.
A language that is not here is named. Exits with 1 if a script fails, or a suite does not pass; with 77 if no language is here.
"""
import argparse
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import xml.etree.ElementTree

sys.dont_write_bytecode = True
ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "diagipc/tests/live"))
import checks
import official_tools
from checks import check

SECONDS = 900
INSTALLS = ("cargo install ", "pip install ")
ADAPTER = ["python3", str(ROOT / "diagipc/adapters/python/adapter.py")]
SERVER = ["python3", str(ROOT / "diagipc/tests/fixtures/servers/server.py")]
# For a second: a tracer of this command line has a duration of its own.
TRACER = ["sh", "-c", 'exec diagipc trace -d 1s -p Provider:1:4 "$2" -o "$4"', "sh"]
PROGRAMS = {"adapter": ADAPTER, "tracer": TRACER, "server": SERVER}


def scripts():
    """The script of each language."""
    page = (ROOT / "diagipc/CI.md").read_text(encoding="utf-8")
    return dict(re.findall(r"^## (\S+)\n(?:(?!^## )[\s\S])*?^```sh\n([\s\S]*?)^```", page, re.M))


def write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def quoted(words):
    return ", ".join(map(json.dumps, words))


def rust(home):
    names = {"adapter": "adapter", "my-tracer": "tracer", "my-server": "server"}
    write(home / "Cargo.toml", '[package]\nname = "project"\nversion = "0.1.0"\nedition = "2021"\n\n[workspace]\n')
    for name, which in names.items():
        command, *words = PROGRAMS[which]
        write(home / f"src/bin/{name}.rs",
              "use std::os::unix::process::CommandExt;\n\nfn main() {\n"
              f'    panic!("{{}}", std::process::Command::new("{command}").args([{quoted(words)}]).args(std::env::args_os().skip(1)).exec());\n}}\n')


def go(home):
    write(home / "go.mod", "module project\n\ngo 1.19\n")
    for name, which in {"adapter": "adapter", "my-tracer": "tracer", "my-server": "server"}.items():
        words = PROGRAMS[which]
        write(home / f"cmd/{name}/main.go",
              'package main\n\nimport (\n\t"os"\n\t"os/exec"\n\t"syscall"\n)\n\nfunc main() {\n'
              f'\tpath, err := exec.LookPath("{words[0]}")\n\tif err == nil {{\n'
              f"\t\terr = syscall.Exec(path, append([]string{{{quoted(words)}}}, os.Args[1:]...), os.Environ())\n\t}}\n\tpanic(err)\n}}\n")


def python(home):
    write(home / "pyproject.toml", '[project]\nname = "project"\nversion = "0.1.0"\n')
    for name, which in {"adapter": "adapter", "my_tracer": "tracer", "my_server": "server"}.items():
        words = PROGRAMS[which]
        write(home / f"{name}.py", f"import os, sys\nos.execvp({words[0]!r}, {words!r} + sys.argv[1:])\n")
    write(home / "test_project.py", "def test_nothing():\n    pass\n")


PROJECTS = {"Rust": (rust, "cargo"), "Go": (go, "go"), "Python": (python, "pytest")}


def played(home, environment, script):
    done = subprocess.run(["bash", "-eo", "pipefail", "-c", script], cwd=home, env=environment, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=SECONDS, check=False)
    reports = {path.stem: path for path in sorted(home.glob("*.xml"))}
    return done.returncode, done.stdout, reports


def failures(report):
    return [case.get("name") for case in xml.etree.ElementTree.parse(report).iter("testcase") if case.find("failure") is not None]


def language(name, script, home, environment):
    make, _ = PROJECTS[name]
    make(home)
    kept = [line for line in script.splitlines() if not line.startswith(INSTALLS)]
    # `diagipc trace` ends with 1 if its file is empty.
    kept = [line.replace("diagipc client ", "diagipc client --except streams/stop-of-an-empty-stream ") for line in kept]
    check(f"{name}: installs the tool", len(kept) < len(script.splitlines()), script)
    status, printed, reports = played(home, environment, "\n".join(kept))
    check(f"{name}: its script passes", status == 0, printed[-4000:])
    check(f"{name}: a report for each suite", list(reports) == ["client", "codec", "server"], list(reports))
    for suite, report in reports.items():
        check(f"{name}: no case of the {suite} suite fails", not failures(report), failures(report))


def c_sharp(script, home, environment):
    """The suite of clients: a program of .NET, whose own socket is switched off."""
    tools = official_tools.found(home)
    if not tools:
        return False
    dotnet = pathlib.Path(tools).parent / "dotnet"
    environment = {**environment, "PATH": f"{dotnet}{os.pathsep}{environment['PATH']}", "DOTNET_ROOT": str(dotnet)}
    kept = [line for line in script.splitlines() if line.startswith(("export ", "diagipc client "))]
    check("C#: switches off the socket of its program", "export DOTNET_EnableDiagnostics=0" in kept, script)
    # Its words for the same.
    replaced = [line.replace("bin/MyTracer.dll --pid {pid} -o {output}", f"{tools}/../tools/dotnet-trace.dll collect --process-id {{pid}} "
                             "--output {output} --providers Provider:1:4 --duration 00:00:00:01") for line in kept]
    check("C#: its tracer is run", replaced != kept, kept)
    only = " --jobs 3 --only request/plain/trace --only 'streams/session-*' --only 'streams/stop-*' --only 'reply/ok-20/*' --timeout 15000 -- "
    status, printed, reports = played(home, environment, "\n".join(replaced).replace(" -- ", only))
    check("C#: dotnet-trace passes the plain cases", status == 0 and not failures(reports["client"]), printed[-4000:])
    return True


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    built = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    parser.add_argument("--diagipc", type=pathlib.Path, default=os.environ.get("DIAGIPC", built / "debug/diagipc"))
    parser.add_argument("languages", nargs="*")
    arguments = parser.parse_args()
    environment = {**os.environ, "PATH": f"{arguments.diagipc.resolve().parent}{os.pathsep}{os.environ['PATH']}", "GOPROXY": "off"}
    # The project has its own directory for what it builds.
    environment.pop("CARGO_TARGET_DIR", None)
    ran = 0
    for name, script in scripts().items():
        if name not in [*PROJECTS, "C#"] or arguments.languages and name not in arguments.languages:
            continue
        with tempfile.TemporaryDirectory() as directory:
            home = pathlib.Path(directory)
            if name == "C#":
                is_here = c_sharp(script, home, environment)
            elif is_here := shutil.which(PROJECTS[name][1]) is not None:
                language(name, script, home, environment)
        ran += is_here
        if not is_here:
            print(f"{name} is not here", file=sys.stderr)
    return 1 if checks.wrong else 0 if ran else 77


if __name__ == "__main__":
    sys.exit(main())
