#!/usr/bin/env python3
"""spawn.py NAME

Becomes a real .NET runtime of launch.py, as a target for `diagipc server --spawn`: in the environment and the TMPDIR that it was given.
"""
import os
import sys

import launch


def main():
    name, = sys.argv[1:]
    executable = launch.fetch(name)
    directory = os.environ["TMPDIR"]
    os.mkfifo(directory + "/in")
    # Stays open in the runtime: one of them reads it, and would end with it.
    os.set_inheritable(os.open(directory + "/in", os.O_RDWR), True)
    os.environ.update(HOME=directory, LANG="C.UTF-8", DOTNET_SYSTEM_GLOBALIZATION_INVARIANT="1", AZURE_MCP_COLLECT_TELEMETRY="false")
    os.execv(executable, [executable, *launch.arguments_of(name, directory)])


if __name__ == "__main__":
    main()
