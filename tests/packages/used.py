"""Runs a command, and reports a check, for the scripts that install a package and use it: release.py, diagipc/packages/pypi/try.py."""
import os
import subprocess
import sys


def said(*command, cwd="/", **environment):
    """Runs a command, which must succeed, and returns its output."""
    words = [str(word) for word in command]
    done = subprocess.run(words, cwd=cwd, env={**os.environ, **environment}, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          timeout=1200)
    if done.returncode:
        sys.exit(f"{' '.join(words)}: status {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def holds(what, condition, text=""):
    """Prints that a check holds, or exits with `text`."""
    if not condition:
        sys.exit(f"{what}: not so\n{text}")
    print(f"{what}: ok", flush=True)
