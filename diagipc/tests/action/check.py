#!/usr/bin/env python3
"""check.py [--diagipc PROGRAM]

Runs the steps of action.yml as a runner of GitHub does, on an archive of PROGRAM (default: target/debug/diagipc) in the form that .ci/release
gives it. Checks that it is pinned and that no input reaches a shell. Exits with 1 if something differs, with 77 without PyYAML, bash or curl.
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
import tarfile
import tempfile
import tomllib
import xml.etree.ElementTree

sys.dont_write_bytecode = True
ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "diagipc/tests/live"))
import checks
from checks import check

try:
    import yaml
except ImportError:
    yaml = None

TARGET = "x86_64-unknown-linux-gnu"
RUNNER = {"RUNNER_OS": "Linux", "RUNNER_ARCH": "X64"}
EXPRESSION = re.compile(r"\$\{\{ *(.*?) *\}\}")
SERVER = "diagipc/tests/fixtures/servers/server.py"


def filled(text, known):
    """The text with the values of its expressions."""
    return EXPRESSION.sub(lambda found: known.get(found[1], ""), text)


class Runner:
    """A runner of GitHub, as far as the action needs one."""

    def __init__(self, home, releases):
        self.home, self.releases = home, releases
        # What is downloaded: the action alone.
        self.action = home / "action"
        (self.action / "diagipc/packages").mkdir(parents=True)
        shutil.copy(ROOT / "action.yml", self.action)
        shutil.copytree(ROOT / "diagipc/packages/action", self.action / "diagipc/packages/action")
        self.definition = yaml.safe_load((self.action / "action.yml").read_text())
        self.pins = self.action / "diagipc/packages/action/SHA256SUMS"

    def run(self, inputs, **runner):
        """The status of the first step that fails, or 0, what was printed, and the outputs."""
        known = {"github.action_path": str(self.action)}
        for name, one in self.definition["inputs"].items():
            known[f"inputs.{name}"] = inputs.get(name, one.get("default", ""))
        temporary = pathlib.Path(tempfile.mkdtemp(dir=self.home, prefix="a runner's "))
        printed, status = "", 0
        for step in self.definition["runs"]["steps"]:
            files = {name: temporary / name for name in ("GITHUB_OUTPUT", "GITHUB_PATH", "GITHUB_STEP_SUMMARY")}
            files["GITHUB_OUTPUT"].write_text("")
            values = {name: filled(text, known) for name, text in step["env"].items()}
            if "RELEASES" in values:
                values["RELEASES"] = self.releases.as_uri()
            script = temporary / "script.sh"
            script.write_text(step["run"])
            files = {name: str(path) for name, path in files.items()}
            env = {**os.environ, **RUNNER, **runner, **values, **files, "RUNNER_TEMP": str(temporary)}
            done = subprocess.run(["bash", "--noprofile", "--norc", "-eo", "pipefail", script], cwd=ROOT, env=env, stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT, text=True, timeout=300, check=False)
            printed, status = printed + done.stdout, done.returncode
            for line in pathlib.Path(files["GITHUB_OUTPUT"]).read_text().splitlines():
                name, _, value = line.partition("=")
                known[f"steps.{step['id']}.outputs.{name}"] = value
            if status:
                break
        outputs = self.definition["outputs"].items()
        return status, printed, {name: filled(one["value"], known) for name, one in outputs}


def archive(program, version, releases):
    """Packs the program as a release, in the layout that cargo binstall reads; returns its line in SHA256SUMS."""
    layout = tomllib.loads((ROOT / "diagipc/Cargo.toml").read_text())["package"]["metadata"]["binstall"]
    url = layout["pkg-url"].replace("{ version }", version).replace("{ target }", TARGET)
    _, tag, file = url.rsplit("/", 2)
    inside = layout["bin-dir"].replace("{ version }", version).replace("{ target }", TARGET).replace("{ bin }{ binary-ext }", "diagipc")
    (releases / tag).mkdir(exist_ok=True)
    with tarfile.open(releases / tag / file, "w:gz", compresslevel=1) as packed:
        packed.add(program, inside)
    return f"{hashlib.sha256((releases / tag / file).read_bytes()).hexdigest()}  {file}\n"


def form(definition):
    """The action as text: what GitHub requires, and that inputs are data."""
    check("it is a composite action", definition["runs"]["using"] == "composite")
    for step in definition["runs"]["steps"]:
        check(f"{step['name']}: a shell, a script of the repository, and no expression in it",
              step["shell"] == "bash" and "${{" not in step["run"] and "uses" not in step, step)
    both = [*definition["inputs"].values(), *definition["outputs"].values()]
    check("each input and output is described", all(one.get("description") for one in both))
    page = (ROOT / "diagipc/CI.md").read_text()
    blocks = re.findall(r"^```yaml\n(.*?)^```", page, re.S | re.M)
    steps = [step for block in blocks for step in yaml.safe_load(block) if step.get("uses", "").startswith("OWNER/dotnet-diagnostics-ipc@")]
    check("CI.md has it, with its inputs", steps and all(set(step["with"]) <= set(definition["inputs"]) for step in steps), steps)
    outputs = set(re.findall(r"outputs\.(\w+)", page))
    check("CI.md has its outputs", outputs and outputs <= set(definition["outputs"]), outputs)


def lines(*words):
    return "\n".join(words) + "\n"


def runs(runner, home, sums):
    passing = lines("--only", "scripts/process/*", "--spawn", "--", "python3", SERVER)
    status, printed, outputs = runner.run({"suite": "server", "arguments": passing})
    check("a release that is not pinned is not used", status == 1 and "::error::" in printed and "has no release for" in printed, printed)

    runner.pins.write_text("".join(sums))
    status, printed, outputs = runner.run({"suite": "server", "arguments": passing})
    check("a server that is right passes", status == 0 and outputs["verdict"] == "PASSED: 7 judged", (printed, outputs))
    cases = xml.etree.ElementTree.parse(outputs["junit"]).findall(".//testcase")
    check("its JUnit report has the cases", len(cases) == 7, len(cases))
    badge = json.loads(pathlib.Path(outputs["badge"]).read_text())
    check("its badge has the verdict", (badge["message"], badge["color"]) == ("PASSED: 7 judged", "brightgreen"), badge)
    check("its page is there", "PASSED: 7 judged" in pathlib.Path(outputs["html"]).read_text())

    faulty = passing + lines("--fault", "string-nul-uncounted")
    status, printed, outputs = runner.run({"suite": "server", "arguments": faulty})
    check("a server with a fault fails, and its outputs are set", status == 1 and outputs["verdict"] == "FAILED: 7 of 7 judged, 1 cause",
          (printed, outputs))
    known = home / "known faults.toml"
    known.write_text('faults = ["string-length-without-nul"]\n')
    status, printed, outputs = runner.run({"suite": "server", "arguments": faulty, "known": str(known)})
    check("accepted faults pass", status == 0 and outputs["verdict"].startswith("PASSED"), (printed, outputs))

    hostile = ["$(touch hostile)", "`touch hostile`", "a; touch hostile", "'\" \\", "*", "${{ github.token }}"]
    program = home / "program.py"
    program.write_text(f"import json, sys; json.dump(sys.argv[1:], open({str(home / 'arguments.json')!r}, 'w'))\n")
    status, printed, outputs = runner.run({"suite": "codec", "arguments": lines("--only", "uint", "", "--", "python3", str(program), *hostile)})
    had = json.loads((home / "arguments.json").read_text())
    check("arguments arrive as they are written", had == hostile and status != 0, had)
    for name in ("suite", "known", "version", "sha256"):
        for text in hostile[:3]:
            status, printed, outputs = runner.run({"suite": "codec", "arguments": "--list", name: text})
            check(f"{name} {text}: refused", status != 0 and not outputs["verdict"], printed)
    check("no input was run", not (ROOT / "hostile").exists() and not list(home.rglob("hostile")))


def releases(runner, home, sums, other):
    """Which file is taken, and that it is the expected one."""
    del home
    suite = {"suite": "codec", "arguments": lines("--self", "--only", "uint")}
    status, printed, outputs = runner.run({**suite, "version": "9.8.7"})
    said = "::error::diagipc: the version 9.8.7 needs the input 'sha256'"
    check("another version needs its SHA-256", status == 1 and said in printed, printed)
    status, printed, outputs = runner.run({**suite, "sha256": "0" * 64})
    check("a SHA-256 needs its version", status == 1 and "expected the input 'version' too" in printed, printed)
    status, printed, outputs = runner.run({**suite, "version": "9.8.7", "sha256": other.split()[0]})
    check("another version is used", status == 0 and outputs["verdict"].startswith("PASSED"), printed)
    status, printed, outputs = runner.run({**suite, "version": "9.8.8", "sha256": "0" * 64})
    said = "diagipc-9.8.8-x86_64-unknown-linux-gnu.tar.gz cannot be downloaded"
    check("a release that does not exist is named", status == 1 and said in printed, printed)
    wrong = "1" * 64
    runner.pins.write_text("".join(sums).replace(sums[0].split()[0], wrong))
    status, printed, outputs = runner.run(suite)
    said = f"has the SHA-256 {sums[0].split()[0]}, expected {wrong}"
    check("a file with another SHA-256 is not run", status == 1 and said in printed, printed)
    status, printed, outputs = runner.run(suite, RUNNER_OS="macOS", RUNNER_ARCH="ARM64")
    check("a runner without a release is named", status == 1 and "the runner is macOS on ARM64, expected Linux" in printed, printed)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    built = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    parser.add_argument("--diagipc", type=pathlib.Path, default=os.environ.get("DIAGIPC", built / "debug/diagipc"))
    program = parser.parse_args().diagipc
    if not yaml or not shutil.which("bash") or not shutil.which("curl"):
        print("SKIPPED: no PyYAML, bash or curl", file=sys.stderr)
        return 77
    version = tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]["package"]["version"]
    with tempfile.TemporaryDirectory() as directory:
        home = pathlib.Path(directory)
        store = home / "releases"
        store.mkdir()
        sums, other = [archive(program, version, store)], archive(program, "9.8.7", store)
        # Other files of the release, whose names are alike.
        sums += [f"{'2' * 64}  diagipc-{version}-py3-none-manylinux1_x86_64.whl\n", f"{'3' * 64}  diagipc-operator-{version}-{TARGET}.tar.gz\n"]
        runner = Runner(home, store)
        form(runner.definition)
        runs(runner, home, sums)
        releases(runner, home, sums, other)
    return 1 if checks.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
