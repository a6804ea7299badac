"""Runs the program that was installed with this module."""
import os
import subprocess
import sys
import sysconfig

program = os.path.join(sysconfig.get_path("scripts"), "diagipc" + (".exe" if os.name == "nt" else ""))
if os.name == "nt":
    sys.exit(subprocess.run([program, *sys.argv[1:]]).returncode)
os.execv(program, [program, *sys.argv[1:]])
