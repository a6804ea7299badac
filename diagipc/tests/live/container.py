#!/usr/bin/env python3
"""container.py PROGRAM

Runs PROGRAM, `diagipc` as `.ci/tool x86_64-unknown-linux-gnu` builds it, in an empty root, as in the image of diagipc/packages/image: with
the directory of a process, `diagipc runtime`, and without; with /proc and without. Exits with 1 if something differs, with 77 if no root can
be made. The process is of $DIAGIPC, or of target/debug/diagipc.
"""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

import checks
from built import ROOT, diagipc
from checks import check

# A user namespace replaces missing root rights.
NAMESPACE = ["unshare", "--mount"] + ([] if os.geteuid() == 0 else ["--map-root-user"])
PROC = 'mkdir -p "$0/proc" && mount --rbind /proc "$0/proc" && exec chroot "$0" "$@"'


class Image:
    """A root directory that contains only the program."""

    def __init__(self, home, program):
        recipe = pathlib.Path(ROOT, "diagipc/packages/image/Dockerfile").read_text().splitlines()
        lines = [line for line in recipe if line and not line.startswith("#")]
        check("the recipe copies the program into an empty image",
              lines == ["FROM scratch", "COPY diagipc /diagipc", 'ENTRYPOINT ["/diagipc"]'], lines)
        self.root = home / "root"
        self.root.mkdir(parents=True)
        shutil.copy(program, self.root / "diagipc")

    def run(self, *words, proc=False, **environment):
        script = PROC if proc else 'exec chroot "$0" "$@"'
        command = [*NAMESPACE, "sh", "-c", script, self.root, "/diagipc", *words]
        # A container has none of the variables of its host.
        return subprocess.run(command, env={"PATH": os.environ["PATH"], **environment}, capture_output=True, text=True, timeout=60, check=False)

    def says(self, what, words, status, output, errors="", **options):
        done = self.run(*words, **options)
        # With /proc the program sees other processes of this machine, and cannot read some.
        is_said = errors in done.stderr if errors or options.get("proc") else not done.stderr
        check(what, done.returncode == status and output in done.stdout and is_said, (done.returncode, done.stdout, done.stderr))
        return done.stdout


def main():
    (program,) = sys.argv[1:] or sys.exit(__doc__)
    with tempfile.TemporaryDirectory() as directory:
        home = pathlib.Path(directory)
        image = Image(home, program)
        if subprocess.run([*NAMESPACE, "chroot", "/", "true"], capture_output=True, check=False).returncode:
            checks.skip("no root of its own can be made here")
        alone(image)
        # This directory is mounted from the other container.
        tmp = image.root / "tmp"
        tmp.mkdir()
        with subprocess.Popen([diagipc(), "runtime", "--until-eof", "--env", "ONE=1"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                              env={**os.environ, "TMPDIR": str(tmp)}) as runtime:
            socket = "/tmp/" + os.path.basename(runtime.stdout.readline().strip())
            beside(image, runtime.pid, socket)
            runtime.stdin.close()
    checks.finish()


def alone(image):
    image.says("ps in an empty root", ["ps"], 0, "PROCESS  VERSION  ENDPOINT  COMMAND LINE\n", "not readable: /proc: entity not found\n")
    image.says("a socket that is not there", ["info", "/tmp/socket"], 3, "", "diagipc info: /tmp/socket was not found")
    image.says("an unknown command is that", ["traces"], 2, "", "a similar subcommand exists: 'trace'")


def beside(image, pid, socket):
    no_proc = "could not read /proc: entity not found"
    rows = json.loads(image.says("ps without /proc says so", ["ps", "--json"], 0, "", "not readable: /proc: entity not found\n"))
    listed = [(row["processId"], row["endpoint"], row["info"]["arch"]) for row in rows]
    check("and lists the process without its id", listed == [(None, socket, "x64")], rows)
    image.says("info of its socket", ["info", socket], 0, f"process         {pid}\n")
    image.says("env of its socket", ["env", socket, "ONE"], 0, "ONE=1\n")
    image.says("trace of its socket", ["trace", socket, "--duration", "1", "--output", "/tmp/a.nettrace"], 0, "bytes, complete\n", "enabled ")
    check("which writes nettrace", (image.root / "tmp/a.nettrace").read_bytes().startswith(b"Nettrace"))
    image.says("a process needs /proc", ["info", str(pid)], 3, "", f"diagipc info: process {pid} ({no_proc}) was not found")
    rows = json.loads(image.says("ps with /proc", ["ps", "--json", str(pid)], 0, "", proc=True))
    check("and lists the process with its id", [(row["processId"], row["info"]["arch"]) for row in rows] == [(pid, "x64")], rows)
    image.says("info of the process", ["info", str(pid)], 0, f"process         {pid}\n", proc=True)
    image.says("a process that does not exist", ["info", "4294967295"], 3, "", "diagipc info: process 4294967295 was not found", proc=True)


if __name__ == "__main__":
    main()
