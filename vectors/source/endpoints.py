"""Names of sockets and pipes, and the key in them."""
from notation import *

FILE = File("endpoints", "Names of sockets and pipes", 16000, 16499)
MADE = "written in source/endpoints.py from section Naming and Location Conventions and the facts named in spec"
NOW, DRAFT, ROUTER = "dotnet-diagnostic-", "dotnetcore-diagnostic-", "dotnet-diagnostic-dsrouter-"


def text(characters):
    """Returns a text as UTF-8, without a NUL."""
    return characters.encode("utf-8")


def socket(pid, key, prefix=NOW, socket=True):
    return {"prefix": prefix, "pid": pid, "key": str(key), "socket": socket}


def pipe(pid, prefix=NOW, path=False):
    return {"prefix": prefix, "pid": pid, "path": path}


def group(name, type, spec):
    return FILE.group(name, type=type, source="derived", made=MADE, spec=spec)


# --- sockets -------------------------------------------------------------------------------------------------------
g = group("socket-name", "socket-name", ["F-61", "F-82"])
g.valid(16000, "process 12, key 345",
        hexa("64 6f 74 6e 65 74 2d 64 69 61 67 6e 6f 73 74 69 63 2d 31 32 2d 33 34 35 2d 73 6f 63 6b 65 74"), socket(12, 345),
        flags=["Literal"])
g.valid(16001, "process 123 is not process 12", text("dotnet-diagnostic-123-345-socket"), socket(123, 345))
g.valid(16002, "key 0: the start time was unknown", text("dotnet-diagnostic-12-0-socket"), socket(12, 0), flags=["Minimal"])
g.valid(16003, "the largest numbers", text("dotnet-diagnostic-4294967295-18446744073709551615-socket"),
        socket(4294967295, 18446744073709551615), flags=["MaxValue"])
g.valid(16004, "a key above 2 to the 53rd: a double loses the one", text("dotnet-diagnostic-1-9007199254740993-socket"),
        socket(1, 9007199254740993))
g.valid(16005, "a key in seconds since 1970, as on macOS", text("dotnet-diagnostic-501-1747000000-socket"), socket(501, 1747000000))
g.valid(16006, "process 0", text("dotnet-diagnostic-0-1-socket"), socket(0, 1))

g = group("socket-name-draft", "socket-name", ["F-61"])
g.valid(16020, "the prefix of the 2019 draft", text("dotnetcore-diagnostic-12-345-socket"), socket(12, 345, DRAFT), flags=["Draft"])

g = group("socket-name-router", "socket-name", ["F-162"])
g.valid(16022, "the device behind dotnet-dsrouter, whose process id and start these are", text("dotnet-diagnostic-dsrouter-12-1747000000-socket"),
        socket(12, 1747000000, ROUTER))

g = FILE.group("socket-name-printed", type="socket-name", source="table", made="as printed, with numbers in place of the names",
               edition="10", section="Diagnostic Ports", spec=["F-85"])
g.lenient(16030, "as printed for the default port: without -socket. No runtime makes such a file", text("dotnet-diagnostic-12-345"),
          socket(12, 345, socket=False), canonical=True, flags=["AsPrinted"])
g.lenient(16031, "the same with the prefix of the draft", text("dotnetcore-diagnostic-12-345"), socket(12, 345, DRAFT, socket=False),
          canonical=True, flags=["AsPrinted", "Draft"])

NAMING, NUMBERS = "Naming and Location Conventions", "the printed name with numbers in place of {PID} and {disambiguation key}"
g = FILE.group("socket-name-naming", type="socket-name", source="table", made=NUMBERS, edition="3.x", section=NAMING, spec=["F-61"])
g.valid(16032, "process 12345, key 678; also the name of the default port", text("dotnet-diagnostic-12345-678-socket"), socket(12345, 678),
        flags=["AsPrinted"])

g = FILE.group("socket-name-naming-2019", type="socket-name", source="table", made=NUMBERS, edition="2019-05", section=NAMING, spec=["F-61"])
g.valid(16033, "process 12345, key 678, in the draft", text("dotnetcore-diagnostic-12345-678-socket"), socket(12345, 678, DRAFT),
        flags=["AsPrinted", "Draft"])

g = group("socket-name-invalid", "socket-name", ["F-61", "F-85"])
g.invalid(16040, "nothing", text(""), "payload", "unknown_prefix", 0, None)
g.invalid(16041, "another file of a runtime", text("clr-debug-pipe-12-345-in"), "payload", "unknown_prefix", 0, None)
g.invalid(16042, "a capital letter", text("Dotnet-diagnostic-12-345-socket"), "payload", "unknown_prefix", 0, None, flags=["Case"])
g.invalid(16043, "a path is not a name", text("/tmp/dotnet-diagnostic-12-345-socket"), "payload", "unknown_prefix", 0, None)
g.invalid(16044, "no process id", text("dotnet-diagnostic-"), "payload", "bad_number", 18, None, flags=["Truncated"])
g.invalid(16045, "a process id in letters", text("dotnet-diagnostic-self-345-socket"), "payload", "bad_number", 18, None)
g.invalid(16046, "a negative process id", text("dotnet-diagnostic--12-345-socket"), "payload", "bad_number", 18, None)
g.invalid(16047, "a process id with a sign", text("dotnet-diagnostic-+12-345-socket"), "payload", "bad_number", 18, None)
g.invalid(16048, "a process id with a zero before it: no runtime writes it so", text("dotnet-diagnostic-012-345-socket"), "payload",
          "bad_number", 18, None)
g.invalid(16049, "a process id of 33 bits", text("dotnet-diagnostic-4294967296-345-socket"), "payload", "bad_number", 18, None)
g.invalid(16050, "the name of a pipe: no key", text("dotnet-diagnostic-12"), "payload", "missing_key", 20, None, flags=["Truncated"])
g.invalid(16051, "something other than a hyphen after the process id", text("dotnet-diagnostic-12_345-socket"), "payload", "missing_key",
          20, None)
g.invalid(16052, "an empty key", text("dotnet-diagnostic-12--socket"), "payload", "bad_number", 21, None)
g.invalid(16053, "a key of 65 bits", text("dotnet-diagnostic-12-18446744073709551616-socket"), "payload", "bad_number", 21, None)
g.invalid(16054, "a key in hexadecimal: its digits end at the x", text("dotnet-diagnostic-12-0x159-socket"), "payload",
          "unknown_suffix", 22, None)
g.invalid(16055, "-socket cut short", text("dotnet-diagnostic-12-345-sock"), "payload", "unknown_suffix", 24, None, flags=["Truncated"])
g.invalid(16056, "something after -socket", text("dotnet-diagnostic-12-345-socket~"), "payload", "unknown_suffix", 24, None)
g.invalid(16057, "bytes that are not text", text("dotnet-diagnostic-12-345-") + hexa("ff"), "payload", "not_unicode", 25, None)
g.invalid(16058, "a router without its process id", text("dotnet-diagnostic-dsrouter-socket"), "payload", "bad_number", 27, None)

# --- pipes ---------------------------------------------------------------------------------------------------------
g = group("pipe-name", "pipe-name", ["F-62"])
g.valid(16100, "by its name alone", hexa("64 6f 74 6e 65 74 2d 64 69 61 67 6e 6f 73 74 69 63 2d 31 32"), pipe(12), flags=["Literal"])
g.valid(16101, "with the prefix that makes it a path", text("\\\\.\\pipe\\dotnet-diagnostic-12"), pipe(12, path=True))
g.valid(16102, "process 123 is not process 12", text("dotnet-diagnostic-123"), pipe(123))
g.valid(16103, "the largest process id", text("dotnet-diagnostic-4294967295"), pipe(4294967295), flags=["MaxValue"])
g.valid(16104, "the prefix of the 2019 draft", text("dotnetcore-diagnostic-12"), pipe(12, DRAFT), flags=["Draft"])
g.valid(16105, "the prefix of the 2019 draft, as a path", text("\\\\.\\pipe\\dotnetcore-diagnostic-12"), pipe(12, DRAFT, True),
        flags=["Draft"])

g = group("pipe-name-router", "pipe-name", ["F-162"])
g.valid(16108, "the device behind dotnet-dsrouter", text("dotnet-diagnostic-dsrouter-12"), pipe(12, ROUTER))

g = FILE.group("pipe-name-naming", type="pipe-name", source="table", made=NUMBERS, edition="3.x", section=NAMING, spec=["F-62"])
g.valid(16106, "process 12345", text("\\\\.\\pipe\\dotnet-diagnostic-12345"), pipe(12345, path=True), flags=["AsPrinted"])

g = FILE.group("pipe-name-naming-2019", type="pipe-name", source="table", made=NUMBERS, edition="2019-05", section=NAMING, spec=["F-62"])
g.valid(16107, "process 12345, in the draft", text("\\\\.\\pipe\\dotnetcore-diagnostic-12345"), pipe(12345, DRAFT, True),
        flags=["AsPrinted", "Draft"])

g = group("pipe-name-invalid", "pipe-name", ["F-62"])
g.invalid(16120, "nothing", text(""), "payload", "unknown_prefix", 0, None)
g.invalid(16121, "the prefix of a path and nothing else", text("\\\\.\\pipe\\"), "payload", "unknown_prefix", 9, None)
g.invalid(16122, "another pipe", text("\\\\.\\pipe\\clr-debug-pipe"), "payload", "unknown_prefix", 9, None)
g.invalid(16123, "the name of a socket", text("dotnet-diagnostic-12-345-socket"), "payload", "unknown_suffix", 20, None)
g.invalid(16124, "no process id", text("\\\\.\\pipe\\dotnet-diagnostic-"), "payload", "bad_number", 27, None)
g.invalid(16125, "slashes in place of backslashes", text("//./pipe/dotnet-diagnostic-12"), "payload", "unknown_prefix", 0, None)
g.invalid(16126, "a space after the process id", text("dotnet-diagnostic-12 "), "payload", "unknown_suffix", 20, None, flags=["Spaces"])

# --- /proc/PID/stat ------------------------------------------------------------------------------------------------
# Fields 3 to 21, with different numbers where the system has one.
MIDDLE = "S 1 2 3 4 -1 6 7 8 9 10 11 12 13 14 15 16 17 18"


def stat(name, start=345, pid=12, middle=MIDDLE, tail=" 22 23 18446744073709551615 0 0\n"):
    return text(f"{pid} ({name}) {middle} {start}{tail}")


def told(start=345, pid=12):
    return {"pid": pid, "startTime": str(start)}


g = group("process-stat", "process-stat", ["F-61", "F-82"])
g.valid(16200, "the shortest text: an empty name, zeros, and a newline after field 22",
        hexa("31 32 20 28 29 20 53 20 30 20 30 20 30 20 30 20 30 20 30 20 30 20 30 20 30 20 30 20 30 20 30 20 30 20 30 20 30 20 30 20 30"
             " 20 30 20 33 34 35 0a"), told(), flags=["Literal", "Minimal"])
g.valid(16201, "the largest numbers", text("4294967295 () S" + " 0" * 18 + " 18446744073709551615\n"),
        told(18446744073709551615, 4294967295), flags=["MaxValue"])
g.lenient(16202, "a whole line, as the system writes it", stat("dotnet"), told(), flags=["Full"])
g.lenient(16203, "a space in the name", stat("my app"), told())
g.lenient(16204, "a name that ends like a name and a state", stat("a) S 1 2 3"), told())
g.lenient(16205, "a name of closing parentheses", stat(")))"), told())
g.lenient(16206, "a name of opening parentheses", stat("((("), told())
g.lenient(16207, "a newline in the name", stat("a\nb"), told())
g.lenient(16208, "a newline and a parenthesis in the name: the last one counts", stat("a)\n13 (b"), told())
g.lenient(16209, "an empty name", stat(""), told())
g.lenient(16210, "a name that is not text", b"12 (" + hexa("ff fe 29 20") + b") " + text(MIDDLE + " 345 22\n"), told())
g.lenient(16211, "a name of digits", stat("99 (98) 97"), told())
g.lenient(16213, "a start time of 0", stat("dotnet", start=0), told(0))
g.lenient(16214, "another state", stat("dotnet", middle=MIDDLE.replace("S", "R")), told())
g.lenient(16215, "a newline directly after field 22", stat("dotnet", tail="\n"), told())

g = group("process-stat-invalid", "process-stat", ["F-61"])
g.invalid(16240, "nothing", text(""), "payload", "missing_name", 0, None, flags=["Truncated"])
g.invalid(16241, "no parenthesis", text("12 dotnet S 1"), "payload", "missing_name", 13, None)
g.invalid(16242, "the text ends with the name", text("12 (dotnet)"), "payload", "missing_field", 11, None, flags=["Truncated"])
g.invalid(16243, "the text ends before field 22", text("12 (dotnet) " + MIDDLE), "payload", "missing_field", 12 + len(MIDDLE), None,
          flags=["Truncated"])
g.invalid(16244, "the text ends with the space before field 22", text("12 (dotnet) " + MIDDLE + " "), "payload", "missing_field",
          13 + len(MIDDLE), None, flags=["Truncated"])
g.invalid(16212, "nothing after field 22: some of its digits may be missing", stat("dotnet", tail=""), "payload", "missing_field",
          16 + len(MIDDLE), None, flags=["Truncated"])
g.invalid(16245, "letters in field 22", stat("dotnet", start="soon"), "payload", "bad_number", 13 + len(MIDDLE), None)
g.invalid(16246, "a negative start time", stat("dotnet", start=-1), "payload", "bad_number", 13 + len(MIDDLE), None)
g.invalid(16247, "a start time of 65 bits", stat("dotnet", start=18446744073709551616), "payload", "bad_number", 13 + len(MIDDLE), None)
g.invalid(16248, "no process id", text("(dotnet) " + MIDDLE + " 345\n"), "payload", "bad_number", 0, None)
g.invalid(16249, "a process id of 33 bits", stat("dotnet", pid=4294967296), "payload", "bad_number", 0, None)
