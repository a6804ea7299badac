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
    directory = os.environ["TMPDIR"]
    if options == ["--user-events"]:
        os.environ.update(LD_PRELOAD=launch.user_events_library(directory), USER_EVENTS_LOG=directory + "/log")
    os.mkfifo(directory + "/in.cs")
    # This stays open in the runtime, because one runtime reads the file and would end with it.
    os.set_inheritable(os.open(directory + "/in.cs", os.O_RDWR), True)
    # HOME still contains the runtimes here.
    command = [launch.fetch(name), *launch.arguments_of(name, directory)]
    os.environ.update(launch.environment_of(name, directory))
    os.execv(command[0], command)


if __name__ == "__main__":
    main()
