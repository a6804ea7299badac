#!/usr/bin/env python3
"""spawn.py [--user-events] NAME

Becomes a real .NET runtime of launch.py, as a target for `diagipc server --spawn`, in its given environment and TMPDIR. --user-events: it
accepts a socket for user_events_data, by user_events_kernel.c (`diagipc server --stand-in-for-user-events`).
"""
import os
import sys

import launch


def main():
    *options, name = sys.argv[1:]
    if options == ["--user-events"]:
        library = launch.user_events_library(os.environ["TMPDIR"])
        os.environ.update(LD_PRELOAD=library, USER_EVENTS_LOG=os.environ["TMPDIR"] + "/log")
    executable = launch.fetch(name)
    directory = os.environ["TMPDIR"]
    os.mkfifo(directory + "/in.cs")
    # Stays open in the runtime: one runtime reads it, and would end with it.
    os.set_inheritable(os.open(directory + "/in.cs", os.O_RDWR), True)
    # While HOME is still the one with the runtimes.
    arguments = launch.arguments_of(name, directory)
    os.environ.update(launch.variables_of(name), HOME=directory, LANG="C.UTF-8", DOTNET_SYSTEM_GLOBALIZATION_INVARIANT="1", AZURE_MCP_COLLECT_TELEMETRY="false")
    os.execv(executable, [executable, *arguments])


if __name__ == "__main__":
    main()
