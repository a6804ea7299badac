#!/usr/bin/env python3
"""user_events_vm.py [--build]

A real Linux kernel with user_events, in qemu, on a machine whose kernel need not have them: who may open
user_events_data, and a real .NET runtime that registers and writes there. Prints one line per check; exits with 1 if one fails,
with 77 if qemu, the kernel or the runtime is not available here. A run takes some minutes.

--build first builds the kernel, if missing: from Debian's package linux-source-6.12 with the options in CONFIG. It takes about ten
minutes, 2 GB and make, gcc, flex, bison, bc and libelf-dev. No kernel package of Debian has CONFIG_USER_EVENTS. The kernel is kept in
$USER_EVENTS_KERNEL, by default ~/.cache/user-events-kernel. The guest can read this machine's files, but not write them.
"""
import contextlib
import ctypes
import glob
import os
import re
import shlex
import shutil
import signal
import stat
import struct
import subprocess
import sys
import tempfile
import time
import traceback

import checks
import launch
import user_events

SOURCE = "linux-source-6.12"
# What a runtime, the guest's files and user_events need. The machine is a microvm, without PCI and ACPI.
CONFIG = """64BIT PRINTK TTY SERIAL_8250 SERIAL_8250_CONSOLE KERNEL_GZIP BINFMT_ELF BINFMT_SCRIPT MULTIUSER PROC_FS PROC_SYSCTL
    SYSFS SHMEM TMPFS DEVTMPFS FUTEX EPOLL EVENTFD SIGNALFD TIMERFD POSIX_TIMERS HIGH_RES_TIMERS INOTIFY_USER FILE_LOCKING
    MEMBARRIER ADVISE_SYSCALLS RSEQ SYSVIPC MEMFD_CREATE NET UNIX VIRTIO_MENU VIRTIO_MMIO VIRTIO_MMIO_CMDLINE_DEVICES NET_9P
    NET_9P_VIRTIO NETWORK_FILESYSTEMS 9P_FS FTRACE USER_EVENTS UNWINDER_GUESS""".split()
WITHOUT = """KERNEL_XZ VT UNIX98_PTYS INPUT SERIO HID_SUPPORT INET IPV6 WIRELESS ETHTOOL_NETLINK UPROBE_EVENTS CPU_MITIGATIONS
    X86_KERNEL_IBT UNWINDER_ORC""".split()
TOOLS = ["make", "gcc", "flex", "bison", "bc"]
QEMU = "qemu-system-x86_64"
TIME = 500           # for the guest, which has no hardware support
TRACEFS = "/sys/kernel/tracing"
NOBODY = 65534
RUNTIME = user_events.RUNTIME


# --- outside: the kernel, and a machine for it -----------------------------------------------------------------------
def needs(tool):
    if not shutil.which(tool):
        raise OSError(f"{tool} missing")


def home():
    return os.environ.get("USER_EVENTS_KERNEL") or os.path.expanduser("~/.cache/user-events-kernel")


def build():
    """Puts the kernel's image into home()."""
    for tool in [*TOOLS, "apt-get", "dpkg-deb"]:
        needs(tool)
    os.makedirs(home(), exist_ok=True)
    with tempfile.TemporaryDirectory(dir=home()) as directory:
        subprocess.run(["apt-get", "download", "-qq", SOURCE], cwd=directory, check=True, timeout=600)
        (package,) = glob.glob(directory + "/*.deb")
        subprocess.run(["dpkg-deb", "-x", package, directory], check=True, timeout=300)
        os.remove(package)
        subprocess.run(["tar", "xf", f"usr/src/{SOURCE}.tar.xz"], cwd=directory, check=True, timeout=300)
        tree = os.path.join(directory, SOURCE)
        make = ["make", "-s", f"-j{os.cpu_count()}"]
        subprocess.run([*make, "tinyconfig"], cwd=tree, check=True, timeout=300, stdout=subprocess.DEVNULL)
        with open(tree + "/.config", "a") as file:
            file.writelines(f"CONFIG_{name}=y\n" for name in CONFIG)
            file.writelines(f"# CONFIG_{name} is not set\n" for name in WITHOUT)
        subprocess.run([*make, "olddefconfig"], cwd=tree, check=True, timeout=300, stderr=subprocess.DEVNULL)
        with open(tree + "/.config") as file:
            lost = {f"CONFIG_{name}=y" for name in CONFIG} - set(file.read().split("\n"))
        if lost:
            raise OSError(f"the source has no {' '.join(sorted(lost))}")
        subprocess.run([*make, "bzImage"], cwd=tree, check=True, timeout=3600)
        shutil.copy(tree + "/arch/x86/boot/bzImage", home())


def machine(script):
    """Returns the command of the guest. It does not use /dev/kvm, which is not available everywhere. The guest reads this machine's files.
    With smap, qemu 7.2 fails at an iretq in user mode, with which the runtime returns from its signal handler. On a busy machine the kernel
    finds no timer interrupt in time, and panics if it checks."""
    command = ["console=ttyS0", "quiet", "no_timer_check", "panic=-1", "reboot=t", "rootfstype=9p", "root=files", "ro", "init=" + script,
               "rootflags=trans=virtio,version=9p2000.L,cache=loose,msize=262144"]
    return [QEMU, "-M", "microvm,acpi=off,pit=on,pic=on,rtc=on", "-accel", "tcg", "-cpu", "max,smap=off", "-m", "1536",
            "-nodefaults", "-no-user-config", "-no-reboot", "-display", "none", "-serial", "stdio",
            "-fsdev", "local,id=files,path=/,security_model=none,readonly=on,multidevs=remap",
            "-device", "virtio-9p-device,fsdev=files,mount_tag=files",
            "-kernel", home() + "/bzImage", "-append", " ".join(command)]


def outside(directory):
    """Runs the guest, and returns its exit status."""
    script = directory + "/init"
    inside = shlex.join([os.path.realpath(sys.executable), os.path.abspath(__file__), "--inside"])
    launch.write_program(script, f"#!/bin/sh\nexport DOTNET_RUNTIMES={shlex.quote(os.path.dirname(launch.home_of(RUNTIME)))}\nexec {inside}\n")
    with open(directory + "/console", "w+b") as console:
        # Its console shows the progress.
        with contextlib.suppress(subprocess.TimeoutExpired):
            subprocess.run(machine(script), stdin=subprocess.DEVNULL, stdout=console, stderr=subprocess.STDOUT, timeout=TIME, check=False)
        console.seek(0)
        text = console.read().decode(errors="replace").replace("\r", "")
    lines = [line for line in text.split("\n") if re.match(r"(kernel|file|net[\d.]+): ", line)]
    print("\n".join(lines), flush=True)
    ended = re.search(r"^STATUS (\d+)$", text, re.M)
    if not ended or ended[1] != "0" or not lines:
        print(f"--- the guest {'failed' if ended else 'did not finish'}; its console:\n{text[-6000:]}", file=sys.stderr)
        return 1
    return 0


# --- inside: the guest's first process ---------------------------------------------------------------------------------
libc = ctypes.CDLL(None, use_errno=True)


def mount(kind, place):
    if libc.mount(kind.encode(), place.encode(), kind.encode(), 0, None):
        raise OSError(ctypes.get_errno(), f"mount {kind} {place}")


def traced(name):
    return f"{TRACEFS}/events/user_events/{name}"


def read(path):
    with open(path, errors="replace") as file:
        return file.read()


def write(path, text):
    with open(path, "w") as file:
        file.write(text)


def data():
    return os.open(TRACEFS + "/user_events_data", os.O_RDWR | os.O_CLOEXEC)


def opens_as(user):
    """Returns the error number when this user opens the file, or 0."""
    child = os.fork()
    if not child:
        status = 255
        with contextlib.suppress(BaseException):
            os.setgroups([])
            os.setgid(user)
            os.setuid(user)
            try:
                data()
                status = 0
            except OSError as error:
                status = error.errno
        os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def only_root_may_open_it():
    """R-UEV-002: this holds while nothing was changed since tracefs was mounted."""
    directory, file = os.stat(TRACEFS), os.stat(TRACEFS + "/user_events_data")
    for one in directory, file:
        assert one.st_uid == 0 and not one.st_mode & (stat.S_IRWXO | stat.S_IWGRP), oct(one.st_mode)
    assert opens_as(0) == 0 and opens_as(NOBODY) == 13, (opens_as(0), opens_as(NOBODY))
    # Now only the file's mode counts, because everyone may enter the directory.
    os.chmod(TRACEFS, 0o755)
    alone = opens_as(NOBODY)
    os.chmod(TRACEFS, stat.S_IMODE(directory.st_mode))
    assert alone == 13, alone
    modes = stat.S_IMODE(file.st_mode), stat.S_IMODE(directory.st_mode)
    return ("uid 0, mode %o, in a directory of mode %o; root opens it, another user gets EACCES, with the directory open to all too"
            % modes)


def ring(file):
    """Yields the records of one processor so far: the tracepoint's id, and the record as in F-66, with a write index of 0."""
    while True:
        try:
            page = os.read(file, 4096)
        except BlockingIOError:
            return
        if len(page) < 16:
            return
        at, end = 16, 16 + (struct.unpack_from("<Q", page, 8)[0] & 0xFFFFF)
        while at < end:
            (head,) = struct.unpack_from("<I", page, at)
            kind = head & 31
            at += 4
            if kind in (30, 31):  # time alone
                at += 4
                continue
            if kind == 29:        # nothing
                (length,) = struct.unpack_from("<I", page, at)
                if not head >> 5:
                    break
                at += length
                continue
            size = 4 * kind
            if not kind:
                size = struct.unpack_from("<I", page, at)[0] - 4
                at += 4
            event, at = page[at:at + size], at + size
            # The common fields have 8 bytes, and alignment bytes may follow the record.
            extension, payload = struct.unpack_from("<II", event, 11)
            yield struct.unpack_from("<H", event)[0], bytes(4) + event[8:19 + (extension >> 16) + (payload >> 16)]


class Trace:
    def __init__(self, *names):
        self.ids = {int(read(traced(name) + "/id")): name for name in names}
        self.files = [os.open(path, os.O_RDONLY | os.O_NONBLOCK) for path in glob.glob(TRACEFS + "/per_cpu/cpu*/trace_pipe_raw")]
        assert self.files
        self.records = []

    def collect(self):
        for file in self.files:
            for number, packet in ring(file):
                self.records.append((self.ids[number], user_events.parsed(packet)))
        return self.records

    def of(self, name):
        return [record for source, record in self.collect() if source == name]


@contextlib.contextmanager
def session_of(one, *names, code=user_events.OK):
    """Yields a connection with a session of these tracepoints, which the runtime answered with that code."""
    request = user_events.provider(user_events.CLR, 0x8000 | 0x10 | 0x8, 5) + user_events.config(*names)
    with os.fdopen(data(), "r+b", buffering=0) as file, \
            user_events.session_of(one, user_events.user_events(request), file.fileno(), code=code) as connection:
        file.close()
        yield connection


def status():
    return re.findall(r"^(\S+)(?: # Used by)?", read(TRACEFS + "/user_events_status").split("\n\n")[0], re.M)


def a_runtime_registers(one, connection):
    """P-18, R-UEV-007, R-UEV-008: the kernel accepts what the runtime passes in user_events.py."""
    assert {"NetClr", "NetLoad"} <= set(status()), status()
    return "OK; NetClr and NetLoad are in user_events_status"


def the_kernel_has_read_the_fields(one, connection):
    """F-65, F-66: the positions reported to a reader. The write index is not in the trace. Linux 6.12 writes an uninitialized length in
    the brackets."""
    fields = re.findall(r"field:(\S.*);\toffset:(\d+);\tsize:(\d+);\tsigned:\d;", read(traced("NetClr") + "/format"))
    own = {re.sub(r"\[-?\d*\]$", "[]", name): (int(offset), int(size)) for name, offset, size in fields if " common_" not in name}
    blobs = {"__rel_loc u8 extension[]": (11, 4), "__rel_loc u8 payload[]": (15, 4)}
    expected = {"u8 version": (8, 1), "u16 event_id": (9, 2), **blobs}
    assert own == expected, own
    return "; ".join(f"{name} {size}@{offset}" for name, (offset, size) in own.items())


def nothing_is_written_until_it_is_enabled(one, connection):
    """The runtime reads a word that the kernel sets."""
    trace = Trace("NetClr", "NetLoad")
    one.throw(1000)
    assert not trace.collect()
    write(traced("NetLoad") + "/enable", "1")
    one.throw(1000)
    assert not trace.of("NetClr")
    return "no record; none for NetClr while only NetLoad is enabled"


def records_arrive(one, connection):
    """F-66, F-67, R-UEV-010 to R-UEV-014, R-UEV-028: `parsed` would have failed."""
    trace = Trace("NetClr", "NetLoad")
    write(traced("NetClr") + "/enable", "1")
    one.throw(1000, 1200)
    here = [record for record in trace.of("NetClr") if record.event_id == user_events.EXCEPTION]
    sizes = [len(record.payload) for record in here]
    assert 1000 in sizes and 1200 in sizes, sizes
    assert all(record.version == 1 for _, record in trace.records)
    with_metadata = [record for record in here if record.metadata]
    assert len(with_metadata) == 1 and here[0] is with_metadata[0], [record.labels for record in here]
    assert all(record.event_id != user_events.METHOD_LOAD for record in trace.of("NetClr"))
    assert {record.event_id for record in trace.of("NetLoad")} <= {user_events.METHOD_LOAD}
    return f"{len(trace.records)}, {len(here)} of them exceptions, only the first with metadata"


def a_large_record_is_lost(one, connection):
    """The runtime gets no error: the write succeeds. A reader never sees it."""
    trace = Trace("NetClr", "NetLoad")
    one.throw(3000, 5000, 3002)
    sizes = [len(record.payload) for record in trace.of("NetClr") if record.event_id == user_events.EXCEPTION]
    assert 3000 in sizes and 3002 in sizes and 5000 not in sizes, sizes
    return "payloads of 3000, 5000 and 3002 bytes: the second is not in the trace, nor a mark for it"


def a_name_may_have_two_sessions(one, connection):
    """The same name with the same fields is one tracepoint: each session writes to it."""
    trace = Trace("NetClr", "NetLoad")
    one.throw(1402)
    with session_of(one, "NetClr"):
        one.throw(1400)
        sizes = [len(record.payload) for record in trace.of("NetClr")]
    assert sizes.count(1402) and sizes.count(1400) == 2 * sizes.count(1402), sizes
    return f"{sizes.count(1400)} records for {sizes.count(1402)} with one session"


def hanging_up_removes_them(one, connection):
    """F-23. The kernel keeps a tracepoint while it is enabled."""
    trace = Trace("NetClr", "NetLoad")

    def written():
        trace.collect()
        trace.records.clear()
        one.throw(1000)
        return trace.collect()

    assert written()
    write(traced("NetLoad") + "/enable", "0")
    connection.close()
    user_events.until(lambda: not written(), "no more records")
    user_events.until(lambda: "NetLoad" not in status(), "NetLoad is gone from user_events_status")
    assert "NetClr" in status(), status()
    write(traced("NetClr") + "/enable", "0")
    user_events.until(lambda: "NetClr" not in status(), "NetClr is gone from user_events_status")
    return "no more records; both are gone from user_events_status, the enabled one once it is disabled"


def names(one, connection):
    """F-21, F-65: the runtime answers as the kernel does."""
    for name in " Net", "Net two", "Net:colon":
        with session_of(one, name, code=user_events.E_FAIL):
            pass
    for name in "n" * 436, "\u00dc\u8a3a\U0001f600", "Net/slash", "Net\ttab":
        with session_of(one, name):
            pass
    return ("a space before the name or in it, a colon: E_FAIL; 436 bytes, characters beyond ASCII and beyond the BMP, a slash, a tab: taken")


def a_name_of_437_bytes_ends_the_process(one, connection):
    """F-72: 600 characters are not needed. This needs a process that was started for it."""
    with contextlib.suppress(OSError), session_of(one, "n" * 437):
        pass
    assert one.process.wait(user_events.PATIENCE) == -signal.SIGSEGV
    return "SIGSEGV"


# The checks run in this order; the last one ends the process.
WITH_RUNTIME = [a_runtime_registers, the_kernel_has_read_the_fields, nothing_is_written_until_it_is_enabled, records_arrive,
                a_large_record_is_lost, a_name_may_have_two_sessions, hanging_up_removes_them, names, a_name_of_437_bytes_ends_the_process]


def passes(what, check, *subject):
    try:
        print(f"{what}: {check.__name__}: {check(*subject)}", flush=True)
        return True
    except Exception as error:  # the guest must run to its end
        print(f"{what}: {check.__name__}: FAILED: {type(error).__name__} {error}", flush=True)
        traceback.print_exc()
        return False


def with_runtime():
    with launch.started(RUNTIME, {}) as (process, directory):
        one = user_events.Target(process, directory)
        one.begin()
        with session_of(one, "NetClr", ("NetLoad", [user_events.METHOD_LOAD])) as connection:
            return [passes(RUNTIME, check, one, connection) for check in WITH_RUNTIME]


def inside():
    if os.getpid() != 1:
        sys.exit("--inside is only for the guest's first process")
    results = [False]
    try:
        for kind, place in ("proc", "/proc"), ("sysfs", "/sys"), ("devtmpfs", "/dev"), ("tmpfs", "/run"), ("tracefs", TRACEFS):
            mount(kind, place)
        tempfile.tempdir = "/run"
        user_events.PATIENCE = 200.0
        print(f"kernel: {os.uname().release}", flush=True)
        results = [passes("file", only_root_may_open_it), *with_runtime()]
    except Exception:
        traceback.print_exc()
        results.append(False)
    print(f"\nSTATUS {0 if all(results) else 1}", flush=True)
    time.sleep(0.5)
    libc.reboot(0x01234567)


def main():
    arguments = sys.argv[1:]
    if arguments == ["--inside"]:
        return inside()
    if arguments not in ([], ["--build"]):
        sys.exit(__doc__)
    try:
        needs(QEMU)
        launch.fetch(RUNTIME)
        if not os.path.exists(home() + "/bzImage"):
            if not arguments:
                raise OSError(f"no bzImage in {home()}; --build builds it")
            build()
    except (OSError, subprocess.SubprocessError) as error:
        checks.skip(f"qemu, a kernel with user_events or {RUNTIME} is not available here: {error}")
    with tempfile.TemporaryDirectory() as directory:
        sys.exit(outside(directory))


if __name__ == "__main__":
    main()
