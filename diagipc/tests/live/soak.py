#!/usr/bin/env python3
"""soak.py [--diagipc PROGRAM] [--seconds N] [--exchanges N] [--write] [WAY ...]

Long runs with real runtimes, after which memory and descriptors must be what they were after the first tenth. direct, proxy, port: traces a
process that writes more events than can be read (hosted.py) for so many seconds; every byte must arrive, and the trace be whole. exchanges,
proxied: makes so many exchanges with one client (examples/exchanges.rs), the second through the proxy. Prints one line per check; --write
puts the table into diagipc/tests/live/RESULTS.md. Exits with 1 if a check differs, with 77 if a runtime is not available here.
"""
import argparse
import contextlib
import fcntl
import os
import re
import subprocess
import sys
import tempfile
import time

import checks
import launch
from built import ROOT, diagipc, example
from checks import check

BUSY, ASKED = "net8.0.4", "net11.0.0"
# Megabytes of events in a second, if it can.
WRITTEN = "400"
# Bytes by which the memory of a process may grow. What leaks once in each of the other 90,000 exchanges takes at least 2,880,000: 32 bytes are the
# smallest block of glibc. A leak in each read of a stream takes more. An arena of one more thread, touched late, takes about 1,200,000.
GROWTH = 2_500_000
PAGE = os.path.join(ROOT, "diagipc/tests/live/RESULTS.md")
BEGIN, END = "<!-- soak -->\n", "<!-- end of soak -->\n"


class Usage:
    """Memory and descriptors of processes, by name: after the first tenth of a run, and last."""

    def __init__(self, **pids):
        self.pids, self.first, self.last = pids, None, None

    def sample(self, share):
        """Samples them after this share of the run."""
        self.last = {name: self.of(pid) for name, pid in self.pids.items()}
        if share >= 0.1:
            self.first = self.first or self.last

    @staticmethod
    def of(pid):
        with open(f"/proc/{pid}/status", encoding="utf-8") as file:
            return 1024 * int(re.search(r"VmRSS:\s+(\d+)", file.read())[1]), len(os.listdir(f"/proc/{pid}/fd"))

    def is_flat(self):
        pairs = [(self.first[name], self.last[name]) for name in self.pids]
        return all(last[0] - first[0] <= GROWTH and last[1] == first[1] for first, last in pairs)

    def __str__(self):
        return ", ".join(f"{name} {self.first[name][0] / 1e6:.1f} → {self.last[name][0] / 1e6:.1f} MB, "
                         f"{self.first[name][1]} → {self.last[name][1]} descriptors" for name in self.pids)


@contextlib.contextmanager
def proxied(program, socket, directory):
    """The proxy to a socket, and the path where it listens. Its lines are in the file `proxy` of the directory once it has ended."""
    with open(directory + "/proxy", "w", encoding="utf-8") as lines, subprocess.Popen(
            [program, "proxy", "--listen", directory + "/listen", "--to", socket], stdout=subprocess.PIPE, stderr=lines, text=True) as proxy:
        try:
            yield proxy, proxy.stdout.readline().strip()
        finally:
            proxy.terminate()


def forwarded(directory):
    """The bytes of the session's stream that the proxy forwarded, without the reply before them."""
    with open(directory + "/proxy", encoding="utf-8") as file:
        streams = re.findall(r"CollectTracing\d*: \d+ bytes sent, (\d+) received", file.read())
    return max(map(int, streams), default=0) - 28


def traced(way, program, seconds):
    """Traces for so long. The row of the table."""
    with tempfile.TemporaryDirectory() as directory, contextlib.ExitStack() as running:
        def start(**variables):
            return running.enter_context(launch.hosted(BUSY, directory, "many", WRITTEN, **variables))

        usage = Usage()
        if way == "port":
            target = f"port:{directory}/port"
        else:
            target = launch.default_socket(start(), directory)
        with contextlib.ExitStack() as between:
            if way == "proxy":
                proxy, target = between.enter_context(proxied(program, target, directory))
                usage.pids["proxy"] = proxy.pid
            tool = between.enter_context(subprocess.Popen([program, "trace", target, "-d", f"{seconds}s", "-p", "Busy:ffffffffffffffff:5", "-o", "-"],
                                                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE))
            usage.pids["trace"] = tool.pid
            if way == "port":
                start(DOTNET_DiagnosticPorts=directory + "/port")
            fcntl.fcntl(tool.stdout, fcntl.F_SETPIPE_SZ, 1 << 20)
            first, last, size, began, sampled = b"", b"", 0, time.monotonic(), 0
            while piece := os.read(tool.stdout.fileno(), 1 << 20):
                first, last, size = first or piece[:8], piece[-1:], size + len(piece)
                passed = time.monotonic() - began
                # The stop opens and closes connections.
                if sampled + 0.5 < passed < seconds - 0.5:
                    usage.sample(passed / seconds)
                    sampled = passed
            said = tool.stderr.read().decode()
        reported = int(re.search(r"(\d+) bytes, ", said)[1])
        dropped = re.search(r"dropped (\d+) events", said)
        is_whole = first == b"Nettrace" and last == b"\1" and ("bytes, complete" in said or "bytes, whole" in said and bool(dropped))
        check(f"{way}: the trace of {seconds} s is whole", is_whole, said)
        sizes = [size, reported] + ([forwarded(directory)] if way == "proxy" else [])
        check(f"{way}: as many bytes are written, reported and forwarded", len(set(sizes)) == 1, sizes)
        check(f"{way}: memory and descriptors stay flat ({usage})", usage.is_flat())
        return f"| {way} | {seconds} s | {size:,} bytes, {dropped[1] if dropped else 0} events dropped | {usage} |"


def exchanged(way, program, count):
    """Makes so many exchanges. The row of the table."""
    with launch.running(ASKED, {}) as (process, directory, socket), contextlib.ExitStack() as between:
        usage = Usage(runtime=process.pid)
        if way == "proxied":
            proxy, socket = between.enter_context(proxied(program, socket, directory))
            usage.pids["proxy"] = proxy.pid
        client = between.enter_context(subprocess.Popen([example("exchanges"), socket], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                                        stderr=subprocess.PIPE, text=True))
        usage.pids["client"] = client.pid
        began, made = time.monotonic(), 0
        while made < count:
            print(min(count // 10, count - made), file=client.stdin, flush=True)
            made += int(client.stdout.readline() or count)
            # The runtime and the proxy close the last connection after the client.
            time.sleep(0.5)
            usage.sample(made / count)
        took = time.monotonic() - began
        client.stdin.close()
        check(f"{way}: {count} exchanges are made", client.wait() == 0 and made >= count, client.stderr.read())
        check(f"{way}: memory and descriptors stay flat ({usage})", usage.is_flat())
        return f"| {way} | {took:.0f} s | {made:,} exchanges | {usage} |"


WAYS = {"direct": traced, "proxy": traced, "port": traced, "exchanges": exchanged, "proxied": exchanged}


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--diagipc")
    parser.add_argument("--seconds", type=int, default=600)
    parser.add_argument("--exchanges", type=int, default=100_000)
    parser.add_argument("--write", action="store_true")
    parser.add_argument("ways", nargs="*", metavar="WAY", choices=[*WAYS, []])
    arguments = parser.parse_args()
    program = diagipc(arguments.diagipc)
    launch.fetch_or_skip(BUSY, ASKED)
    rows = []
    for way in arguments.ways or WAYS:
        rows.append(WAYS[way](way, program, arguments.seconds if WAYS[way] is traced else arguments.exchanges))
        print(rows[-1], flush=True)
    if arguments.write:
        text = "| way | time | amount | after a tenth → at the end |\n|---|--:|--:|---|\n" + "\n".join(rows) + "\n"
        with open(PAGE, encoding="utf-8") as file:
            before, _, rest = file.read().partition(BEGIN)
        with open(PAGE, "w", encoding="utf-8") as file:
            file.write(before + BEGIN + text + END + rest.partition(END)[2])
    checks.finish()


if __name__ == "__main__":
    sys.exit(main())
