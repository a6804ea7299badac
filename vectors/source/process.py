"""Process commands: 0x0400 ProcessInfo to 0x0408 ProcessInfo3.

Six of the nine requests have no payload. The other three: SetEnvironmentVariable (string name, string value), EnablePerfMap
(uint perfMapType), ApplyStartupHook (string startupHookPath). The replies of ProcessInfo 1 to 3 are, in the order of the wire:
[uint version,] ulong processId, GUID runtimeCookie, string commandLine, string OS, string arch [, string
managedEntrypointAssemblyName, string clrProductVersion [, string runtimeIdentifier]]. ProcessEnvironment's is uint
nIncomingBytes, ushort future. Every other reply is an int32 hresult.
"""
from notation import *

FILE = File("process", "Process commands", 8000, 8999)
MADE = "written field by field in source/process.py from the document's list of fields"

COOKIE = "123e4567-e89b-12d3-a456-426614174000"
COUNTING = "03020100-0504-0706-0809-0a0b0c0d0e0f"         # its bytes on the wire are 00 01 02 … 0f


def request(name, command, since, spec):
    return FILE.group(f"process-{name}-request", type="request", source="derived", made=MADE, direction="client",
                      command=f"Process/{command}", since=since, spec=spec)


def reply(name, command, since, spec):
    return FILE.group(f"process-{name}-reply", type="reply", source="derived", made=MADE, direction="server",
                      command=f"Process/{command}", since=since, spec=spec)


# --- requests without payload --------------------------------------------------------------------------------------
g = request("process-info", "ProcessInfo", "5.0", ["F-4", "F-71"])
literal = hexa("444f544e45545f4950435f563100 1400 04 00 0000")
assert literal == message(0x0400)
g.lenient(8002, "a payload that the command does not have; live runtimes answer it with raw memory",
          message(0x0400, u32(0)), {}, flags=["TrailingBytes"], hazard="harmful")

g = request("resume-runtime", "ResumeRuntime", "5.0", ["F-4", "F-42"])
literal = hexa("444f544e45545f4950435f563100 1400 04 01 0000")
assert literal == message(0x0401)
g.lenient(8012, "a payload that the command does not have",
          message(0x0401, u32(1)), {}, flags=["TrailingBytes"], hazard="side-effect")

g = request("process-environment", "ProcessEnvironment", "5.0", ["F-4", "F-71"])
literal = hexa("444f544e45545f4950435f563100 1400 04 02 0000")
assert literal == message(0x0402)
g.lenient(8022, "a payload that the command does not have: one byte",
          message(0x0402, u8(1)), {}, flags=["TrailingBytes"], hazard="harmful")

g = request("process-info2", "ProcessInfo2", "6.0", ["F-4", "F-71"])
literal = hexa("444f544e45545f4950435f563100 1400 04 04 0000")
assert literal == message(0x0404)
g.lenient(8032, "a payload that the command does not have: a string",
          message(0x0404, string("x")), {}, flags=["TrailingBytes"], hazard="harmful")

g = request("disable-perf-map", "DisablePerfMap", "8.0", ["F-4", "F-45"])
literal = hexa("444f544e45545f4950435f563100 1400 04 06 0000")
assert literal == message(0x0406)
g.lenient(8042, "a perfMapType, which only EnablePerfMap has",
          message(0x0406, u32(0)), {}, flags=["TrailingBytes"], hazard="side-effect")

g = request("process-info3", "ProcessInfo3", "8.0", ["F-4", "F-36", "F-71"])
literal = hexa("444f544e45545f4950435f563100 1400 04 08 0000")
assert literal == message(0x0408)
g.lenient(8052, "a version, which only the reply has",
          message(0x0408, u32(1)), {}, flags=["TrailingBytes"], hazard="harmful")

# --- 0x0403 --------------------------------------------------------------------------------------------------------
g = request("set-environment-variable", "SetEnvironmentVariable", "6.0",
            ["F-7", "F-8", "F-11", "F-44", "F-72", "F-80", "F-95", "F-96", "F-126", "P-48"])

# Every machine can set a variable; a server that cannot set any reports it. The document does not define names that no system allows,
# or a missing variable.
NOTSUPPORTED, INVALIDARG, NOT_FOUND = 0x80131515, 0x80070057, 0x800700CB
SETS, DELETES, ODD = [NOTSUPPORTED], [NOTSUPPORTED, NOT_FOUND], [NOTSUPPORTED, INVALIDARG]

literal = hexa("444f544e45545f4950435f563100 2a00 04 03 0000"
               "03000000 41004200 0000 04000000 310032003300 0000")
assert literal == message(0x0403, string("AB"), string("123"))
g.valid(8101, "every byte written out", literal, {"name": "AB", "value": "123"}, flags=["Literal"], hazard="side-effect", refusals=SETS)

g.valid(8102, "an absent value (length 0) deletes the variable",
        message(0x0403, string("A"), string(None)), {"name": "A", "value": None},
        flags=["AbsentString", "Minimal"], hazard="harmful", refusals=DELETES)

g.valid(8103, "an empty value (length 1, its NUL) does not delete it",
        message(0x0403, string("A"), string("")), {"name": "A", "value": ""}, flags=["EmptyString"], hazard="side-effect", refusals=SETS)

g.valid(8104, "an empty name: CoreCLR answers success and sets nothing, others refuse it as an argument",
        message(0x0403, string(""), string("v")), {"name": "", "value": "v"}, flags=["EmptyString"], hazard="side-effect", refusals=ODD)

g.valid(8105, "a name and a value with characters of two units, in which both counts exceed the number of characters",
        message(0x0403, string("ПУТЬ_\U0001F511"), string("\U00010000\U0010FFFF")),
        {"name": "ПУТЬ_\U0001F511", "value": "\U00010000\U0010FFFF"}, flags=["Full", "SurrogatePair"], hazard="side-effect", refusals=SETS)

g.valid(8106, "a low surrogate before a high one in the value: both are kept as they are",
        message(0x0403, string("A"), u32(4), units(0xDC00, 0xD800, 0x0078, 0)),
        {"name": "A", "value": {"utf16": [0xDC00, 0xD800, 0x0078]}}, flags=["LoneSurrogate"], hazard="side-effect", refusals=SETS)

g.valid(8107, "a NUL inside of the value: the count says where it ends, not the first NUL (a runtime cuts there when it sets it)",
        message(0x0403, string("A"), u32(4), units(0x0061, 0, 0x0062, 0)), {"name": "A", "value": "a\0b"},
        flags=["InnerNul"], hazard="side-effect", refusals=SETS)

g.lenient(8108, "a value that ends with two NULs: only the last one is the terminator",
          message(0x0403, string("A"), u32(3), units(0x0061, 0, 0)), {"name": "A", "value": "a\0"},
          flags=["InnerNul", "DoubleTerminator"], canonical=True, hazard="side-effect", refusals=SETS)

g.valid(8109, "a name that begins with an equals sign: bytes like any other, but no system accepts it as a name",
        message(0x0403, string("=C:"), string("C:\\a=b")), {"name": "=C:", "value": "C:\\a=b"}, hazard="side-effect", refusals=ODD)

g.lenient(8110, "written by a client whose wide characters have four bytes: the name's spare zeroes are read as an absent value, "
          "so that A is deleted instead of set to 1",
          message(0x0403, u32(2), u32(0x41), u32(0), u32(2), u32(0x31), u32(0)), {"name": "A", "value": None},
          flags=["AbsentString", "TrailingBytes", "ClientFault"], hazard="harmful", refusals=DELETES)

g.valid(8111, "a name with an equals sign inside: CoreCLR sets it, others refuse it as an argument",
        message(0x0403, string("DIAG_A=B"), string("x")), {"name": "DIAG_A=B", "value": "x"}, hazard="side-effect", refusals=ODD)

g.valid(8112, "an equals sign alone for a name", message(0x0403, string("="), string("x")), {"name": "=", "value": "x"},
        hazard="side-effect", refusals=ODD)

g.valid(8113, "an empty name and an empty value", message(0x0403, string(""), string("")), {"name": "", "value": ""},
        flags=["EmptyString"], hazard="side-effect", refusals=ODD)

g.valid(8114, "an empty name and an absent value: nothing to delete",
        message(0x0403, string(""), string(None)), {"name": "", "value": None}, flags=["AbsentString", "EmptyString"],
        hazard="harmful", refusals=[*ODD, NOT_FOUND])

g.valid(8115, "a name that begins with an equals sign, and an absent value",
        message(0x0403, string("=C:"), string(None)), {"name": "=C:", "value": None}, flags=["AbsentString"],
        hazard="harmful", refusals=[*ODD, NOT_FOUND])

g.valid(8116, "a name with an equals sign inside, and an absent value",
        message(0x0403, string("DIAG_A=B"), string(None)), {"name": "DIAG_A=B", "value": None}, flags=["AbsentString"],
        hazard="harmful", refusals=[*ODD, NOT_FOUND])

g.invalid(8120, "an absent name decodes, but no server may take it",
          message(0x0403, string(None), string("v")), "limits", "absent_name", 20, "SetEnvironmentVariable.name",
          value={"name": None, "value": "v"}, flags=["AbsentString", "Limit"], hazard="harmful")

g.invalid(8121, "an absent name, and an absent value as well",
          message(0x0403, string(None), string(None)), "limits", "absent_name", 20, "SetEnvironmentVariable.name",
          value={"name": None, "value": None}, flags=["AbsentString", "Limit"], hazard="harmful")

g.invalid(8130, "no payload at all",
          message(0x0403), "payload", "unexpected_end", 20, "SetEnvironmentVariable.name",
          flags=["Truncated", "EmptyPayload"], hazard="harmful")

g.invalid(8131, "the value left out instead of written with length 0",
          message(0x0403, string("A")), "payload", "unexpected_end", 28, "SetEnvironmentVariable.value",
          flags=["Truncated"], hazard="harmful")

g.invalid(8132, "an empty value written as its NUL alone, without a count",
          message(0x0403, string("A"), u16(0)), "payload", "unexpected_end", 28, "SetEnvironmentVariable.value",
          flags=["EmptyString", "Truncated", "ClientFault"], hazard="harmful")

g.invalid(8133, "the payload ends inside the value",
          message(0x0403, string("A"), u32(4), utf16("12")), "payload", "count_too_large", 28,
          "SetEnvironmentVariable.value", flags=["Truncated"], hazard="harmful")

g.invalid(8134, "a value count of 0x80000002, which doubled in 32 bits looks like the 2 units present",
          message(0x0403, string("A"), u32(0x80000002), utf16("1"), u16(0)), "payload", "count_too_large", 28,
          "SetEnvironmentVariable.value", flags=["HugeCount"], hazard="harmful")

g.invalid(8135, "the value's NUL is neither counted nor written",
          message(0x0403, string("A"), u32(2), utf16("12")), "payload", "missing_terminator", 34,
          "SetEnvironmentVariable.value", flags=["MissingTerminator", "ClientFault"], hazard="harmful")

# --- 0x0405 --------------------------------------------------------------------------------------------------------
g = request("enable-perf-map", "EnablePerfMap", "8.0", ["F-7", "F-46", "F-72", "P-44", "P-45"])

# An accepted type kills 8 and 9 while they are suspended (P-45).

literal = hexa("444f544e45545f4950435f563100 1800 04 05 0000 01000000")
assert literal == message(0x0405, u32(1))
g.valid(8201, "every byte written out: type 1, all", literal, {"perfMapType": 1}, flags=["Literal"], hazard="harmful")
g.valid(8202, "type 2, jitdump", message(0x0405, u32(2)), {"perfMapType": 2}, hazard="harmful")
g.valid(8203, "type 3, perfmap", message(0x0405, u32(3)), {"perfMapType": 3}, hazard="harmful")

g.invalid(8220, "type 0 is in the document's enumeration, but enables nothing: a server refuses it",
          message(0x0405, u32(0)), "limits", "unknown_perf_map_type", 20, "EnablePerfMap.perfMapType",
          value={"perfMapType": 0}, flags=["Limit"], hazard="side-effect")

g.invalid(8221, "type 4 is above the last one",
          message(0x0405, u32(4)), "limits", "unknown_perf_map_type", 20, "EnablePerfMap.perfMapType",
          value={"perfMapType": 4}, flags=["Limit", "UnknownValue"], hazard="side-effect")

g.invalid(8222, "the largest type that is refused: it is compared as a signed number",
          message(0x0405, u32(0x7FFFFFFF)), "limits", "unknown_perf_map_type", 20, "EnablePerfMap.perfMapType",
          value={"perfMapType": 0x7FFFFFFF}, flags=["Limit", "UnknownValue"], hazard="side-effect")

g.lenient(8223, "the smallest type with the top bit set: negative to a runtime, and so not above 3",
          message(0x0405, u32(0x80000000)), {"perfMapType": 0x80000000}, flags=["UnknownValue"], canonical=True, hazard="harmful")

g.lenient(8224, "the largest type",
          message(0x0405, u32(0xFFFFFFFF)), {"perfMapType": 0xFFFFFFFF}, flags=["UnknownValue", "MaxValue"], canonical=True,
          hazard="harmful")

g.invalid(8231, "the type written as one byte",
          message(0x0405, u8(1)), "payload", "unexpected_end", 20, "EnablePerfMap.perfMapType",
          flags=["Truncated", "ClientFault"], hazard="harmful")

# --- 0x0407 --------------------------------------------------------------------------------------------------------
g = request("apply-startup-hook", "ApplyStartupHook", "8.0", ["F-7", "F-11", "F-47", "F-72", "P-1", "P-2", "P-43"])

literal = hexa("444f544e45545f4950435f563100 2600 04 07 0000"
               "07000000 2f0068002e0064006c006c00 0000")
assert literal == message(0x0407, string("/h.dll"))
g.valid(8301, "every byte written out", literal, {"startupHookPath": "/h.dll"}, flags=["Literal"], hazard="harmful")

g.valid(8302, "a path with spaces, accents and a character of two units",
        message(0x0407, string("/mes crochets/début-\U0001FA9D.dll")),
        {"startupHookPath": "/mes crochets/début-\U0001FA9D.dll"}, flags=["Full", "SurrogatePair"], hazard="harmful")

g.valid(8310, "an empty path, which runtimes accept",
        message(0x0407, string("")), {"startupHookPath": ""}, flags=["EmptyString"], hazard="side-effect")

g.valid(8311, "a path that begins with NUL: a runtime ends it there, and accepts it as an empty one",
        message(0x0407, u32(3), units(0, 0x68, 0)), {"startupHookPath": "\0h"}, flags=["InnerNul"], hazard="side-effect")

g.invalid(8320, "an absent path decodes, but no server may take it",
          message(0x0407, string(None)), "limits", "absent_name", 20, "ApplyStartupHook.startupHookPath",
          value={"startupHookPath": None}, flags=["AbsentString", "Limit"], hazard="side-effect")

g.invalid(8330, "no payload at all",
          message(0x0407), "payload", "unexpected_end", 20, "ApplyStartupHook.startupHookPath",
          flags=["Truncated", "EmptyPayload"], hazard="harmful")

g.invalid(8331, "the path's NUL is written but not counted",
          message(0x0407, u32(6), utf16("/h.dll"), u16(0)), "payload", "missing_terminator", 34,
          "ApplyStartupHook.startupHookPath", flags=["MissingTerminator", "ClientFault"], hazard="harmful")

# --- the reply of 0x0400 -------------------------------------------------------------------------------------------
g = reply("process-info", "ProcessInfo", "5.0", ["F-2", "F-8", "F-34", "F-35", "F-38", "F-40", "F-79"])

literal = hexa("444f544e45545f4950435f563100 5600 ff 00 0000"
               "3930000000000000 67453e12 9be8 d312 a456426614174000"
               "05000000 2f00610020006200 0000"
               "06000000 4c0069006e0075007800 0000"
               "04000000 780036003400 0000")
assert literal == message(OK, u64(12345), guid(COOKIE), string("/a b"), string("Linux"), string("x64"))
g.valid(8401, "every byte written out: the cookie's first three fields are little-endian, its last eight bytes are not", literal,
        {"processId": "12345", "runtimeCookie": COOKIE, "commandLine": "/a b", "OS": "Linux", "arch": "x64"},
        flags=["Literal"])

g.valid(8402, "a process id above 32 bits, a cookie whose bytes count from 0 to 15, a command line that is not ASCII",
        message(OK, u64(0x1_0000_0002), guid(COUNTING), string("\"C:\\Données\\приложение.exe\" --emoji \U0001F680"),
                string("Windows"), string("arm64")),
        {"processId": "4294967298", "runtimeCookie": COUNTING,
         "commandLine": "\"C:\\Données\\приложение.exe\" --emoji \U0001F680", "OS": "Windows", "arch": "arm64"},
        flags=["Full", "SurrogatePair"])

g.valid(8403, "the largest process id: it is unsigned, even where the document says int64",
        message(OK, u64(0xFFFFFFFFFFFFFFFF), guid("ffffffff-ffff-ffff-ffff-ffffffffffff"), string("a"),
                string("macOS"), string("x64")),
        {"processId": "18446744073709551615", "runtimeCookie": "ffffffff-ffff-ffff-ffff-ffffffffffff", "commandLine": "a",
         "OS": "macOS", "arch": "x64"}, flags=["MaxValue"])

g.valid(8404, "smallest: every number zero, every string absent",
        message(OK, u64(0), guid("00000000-0000-0000-0000-000000000000"), string(None), string(None), string(None)),
        {"processId": "0", "runtimeCookie": "00000000-0000-0000-0000-000000000000", "commandLine": None, "OS": None,
         "arch": None}, flags=["AbsentString", "Minimal"])

g.valid(8405, "empty strings beside an absent one",
        message(OK, u64(1), guid(COOKIE), string(""), string(None), string("")),
        {"processId": "1", "runtimeCookie": COOKIE, "commandLine": "", "OS": None, "arch": ""},
        flags=["AbsentString", "EmptyString"])

g.valid(8406, "an operating system and an architecture that the document does not list",
        message(OK, u64(7), guid(COOKIE), string("a"), string("Android"), string("loongarch64")),
        {"processId": "7", "runtimeCookie": COOKIE, "commandLine": "a", "OS": "Android", "arch": "loongarch64"},
        flags=["UnknownValue"])

g.valid(8410, "Unknown, which the document lists for both",
        message(OK, u64(7), guid(COOKIE), string("a"), string("Unknown"), string("Unknown")),
        {"processId": "7", "runtimeCookie": COOKIE, "commandLine": "a", "OS": "Unknown", "arch": "Unknown"})

g.valid(8411, "the document's x86",
        message(OK, u64(7), guid(COOKIE), string("a"), string("Windows"), string("x86")),
        {"processId": "7", "runtimeCookie": COOKIE, "commandLine": "a", "OS": "Windows", "arch": "x86"})

g.valid(8412, "the document's arm32",
        message(OK, u64(7), guid(COOKIE), string("a"), string("Linux"), string("arm32")),
        {"processId": "7", "runtimeCookie": COOKIE, "commandLine": "a", "OS": "Linux", "arch": "arm32"})

g.valid(8407, "a command line that is not valid Unicode is kept, unit by unit",
        message(OK, u64(7), guid(COOKIE), u32(4), units(0x0061, 0xDC80, 0x0062, 0), string("Linux"), string("x64")),
        {"processId": "7", "runtimeCookie": COOKIE, "commandLine": {"utf16": [0x0061, 0xDC80, 0x0062]}, "OS": "Linux",
         "arch": "x64"}, flags=["LoneSurrogate"])

# The header, process id, cookie and three counts have 56 bytes, and units have two each, so no such reply has 65,535 bytes.
LINE = ("/usr/bin/app" + " --option=value" * 2200)
longest = message(OK, u64(12345), guid(COOKIE), string(LINE[:32728]), string("Linux"), string("x64"))
assert len(longest) == 65534
g.valid(8408, "the longest reply of this command: 65,534 bytes", longest,
        {"processId": "12345", "runtimeCookie": COOKIE, "commandLine": LINE[:32728], "OS": "Linux", "arch": "x64"},
        flags=["MaxValue"])

g.invalid(8409, "one character more makes 65,536 bytes: it must not be encoded, above all not with a size of 0", None,
          "transport", "message_too_large", 14, "header.size",
          value={"processId": "12345", "runtimeCookie": COOKIE, "commandLine": LINE[:32729], "OS": "Linux", "arch": "x64"},
          flags=["Limit"])

g.lenient(8415, "two strings more, as ProcessInfo2 has them, are ignored",
          message(OK, u64(7), guid(COOKIE), string("a"), string("Linux"), string("x64"), string("app"), string("9.0.5")),
          {"processId": "7", "runtimeCookie": COOKIE, "commandLine": "a", "OS": "Linux", "arch": "x64"},
          flags=["TrailingBytes"])

g.lenient(8416, "the generic OK of 20 bytes says nothing about the process",
          message(OK), {}, flags=["GenericOk"], canonical=True)

g.invalid(8420, "the reply ends inside the cookie",
          message(OK, u64(7), hexa("00010203 0405 0607 0809")), "payload", "unexpected_end", 28, "ProcessInfo.runtimeCookie",
          flags=["Truncated"])

g.invalid(8421, "the reply ends inside the second string",
          message(OK, u64(7), guid(COOKIE), string("a"), u32(6), utf16("Linu")), "payload", "count_too_large", 52,
          "ProcessInfo.OS", flags=["Truncated"])

g.invalid(8422, "the reply ends before arch",
          message(OK, u64(7), guid(COOKIE), string("a"), string("Linux")), "payload", "unexpected_end", 68,
          "ProcessInfo.arch", flags=["Truncated"])

g.invalid(8423, "a process id of four bytes: all that follows is read four bytes early",
          message(OK, u32(7), guid(COOKIE), string("/a b"), string("Linux"), string("x64")), "payload", "count_too_large", 44,
          "ProcessInfo.commandLine")

g.invalid(8424, "the second string has no NUL and its count does not count one",
          message(OK, u64(7), guid(COOKIE), string("a"), u32(5), utf16("Linux"), string("x64")), "payload",
          "missing_terminator", 64, "ProcessInfo.OS", flags=["MissingTerminator"])

g.invalid(8425, "a command line of 0x80000000 units, which doubled in 32 bits looks absent",
          message(OK, u64(7), guid(COOKIE), u32(0x80000000), string("Linux"), string("x64")), "payload", "count_too_large", 44,
          "ProcessInfo.commandLine", flags=["HugeCount"])

# --- the reply of 0x0404 -------------------------------------------------------------------------------------------
g = reply("process-info2", "ProcessInfo2", "6.0", ["F-34", "F-35", "F-38", "F-39"])

literal = hexa("444f544e45545f4950435f563100 6c00 ff 00 0000"
               "0100000000000000 67453e12 9be8 d312 a456426614174000"
               "02000000 6100 0000"
               "06000000 4c0069006e0075007800 0000"
               "04000000 780036003400 0000"
               "04000000 610070007000 0000"
               "06000000 39002e0030002e003500 0000")
assert literal == message(OK, u64(1), guid(COOKIE), string("a"), string("Linux"), string("x64"), string("app"), string("9.0.5"))
g.valid(8501, "every byte written out", literal,
        {"processId": "1", "runtimeCookie": COOKIE, "commandLine": "a", "OS": "Linux", "arch": "x64",
         "managedEntrypointAssemblyName": "app", "clrProductVersion": "9.0.5"}, flags=["Literal"])

g.valid(8502, "before managed code runs the entry assembly is empty",
        message(OK, u64(4711), guid(COOKIE), string("/usr/bin/app"), string("Linux"), string("arm64"), string(""), string("8.0.30")),
        {"processId": "4711", "runtimeCookie": COOKIE, "commandLine": "/usr/bin/app", "OS": "Linux", "arch": "arm64",
         "managedEntrypointAssemblyName": "", "clrProductVersion": "8.0.30"}, flags=["EmptyString"])

g.valid(8503, "a process id above 32 bits, an assembly name that is not ASCII, a prerelease version, a rare architecture",
        message(OK, u64(0x8000_0000_0000_0001), guid(COUNTING), string("/opt/α β"), string("tvOS"), string("s390x"),
                string("Приложение.\U0001D54F"), string("11.0.0-preview.6.26359.118+abcdef")),
        {"processId": "9223372036854775809", "runtimeCookie": COUNTING, "commandLine": "/opt/α β", "OS": "tvOS",
         "arch": "s390x", "managedEntrypointAssemblyName": "Приложение.\U0001D54F",
         "clrProductVersion": "11.0.0-preview.6.26359.118+abcdef"}, flags=["Full", "SurrogatePair", "UnknownValue"])

g.valid(8504, "an absent entry assembly is not an empty one",
        message(OK, u64(1), guid(COOKIE), string("a"), string("Linux"), string("x64"), string(None), string(None)),
        {"processId": "1", "runtimeCookie": COOKIE, "commandLine": "a", "OS": "Linux", "arch": "x64",
         "managedEntrypointAssemblyName": None, "clrProductVersion": None}, flags=["AbsentString"])

g.invalid(8520, "ProcessInfo's reply to a ProcessInfo2 request: the last two strings are missing",
          message(OK, u64(1), guid(COOKIE), string("a"), string("Linux"), string("x64")), "payload", "unexpected_end", 80,
          "ProcessInfo2.managedEntrypointAssemblyName", flags=["Truncated"])

g.invalid(8521, "the reply ends inside the last string's count",
          message(OK, u64(1), guid(COOKIE), string("a"), string("Linux"), string("x64"), string("app"), hexa("0600")),
          "payload", "unexpected_end", 92, "ProcessInfo2.clrProductVersion", flags=["Truncated"])

# --- the reply of 0x0408 -------------------------------------------------------------------------------------------
g = reply("process-info3", "ProcessInfo3", "8.0", ["F-34", "F-36", "F-37", "F-38", "F-39"])

literal = hexa("444f544e45545f4950435f563100 8800 ff 00 0000"
               "01000000 0200000000000000 67453e12 9be8 d312 a456426614174000"
               "02000000 6100 0000"
               "06000000 4c0069006e0075007800 0000"
               "04000000 780036003400 0000"
               "04000000 610070007000 0000"
               "06000000 39002e0030002e003500 0000"
               "0a000000 6c0069006e00750078002d00780036003400 0000")
assert literal == message(OK, u32(1), u64(2), guid(COOKIE), string("a"), string("Linux"), string("x64"), string("app"),
                          string("9.0.5"), string("linux-x64"))
g.valid(8601, "every byte written out: the version is first", literal,
        {"version": 1, "processId": "2", "runtimeCookie": COOKIE, "commandLine": "a", "OS": "Linux", "arch": "x64",
         "managedEntrypointAssemblyName": "app", "clrProductVersion": "9.0.5", "runtimeIdentifier": "linux-x64"},
        flags=["Literal"])

g.valid(8602, "everything that is not plain: a large id, text that is not ASCII, a runtime identifier of three parts",
        message(OK, u32(1), u64(0x1_0000_0000), guid(COUNTING), string("/opt/ünï --x=\U0001F40B"), string("Linux"), string("arm64"),
                string(""), string("10.0.0-rc.2.25502.107"), string("linux-musl-arm64")),
        {"version": 1, "processId": "4294967296", "runtimeCookie": COUNTING, "commandLine": "/opt/ünï --x=\U0001F40B",
         "OS": "Linux", "arch": "arm64", "managedEntrypointAssemblyName": "", "clrProductVersion": "10.0.0-rc.2.25502.107",
         "runtimeIdentifier": "linux-musl-arm64"}, flags=["EmptyString", "Full", "SurrogatePair"])

g.valid(8603, "a runtime identifier with underscores, as the document prints it, is text like any other",
        message(OK, u32(1), u64(2), guid(COOKIE), string("a"), string("Windows"), string("x64"), string("app"), string("8.0.0"),
                string("windows_x64")),
        {"version": 1, "processId": "2", "runtimeCookie": COOKIE, "commandLine": "a", "OS": "Windows", "arch": "x64",
         "managedEntrypointAssemblyName": "app", "clrProductVersion": "8.0.0", "runtimeIdentifier": "windows_x64"},
        flags=["UnknownValue"])

g.valid(8604, "smallest: version 1, every other number zero, every string absent",
        message(OK, u32(1), u64(0), guid("00000000-0000-0000-0000-000000000000"), string(None), string(None), string(None),
                string(None), string(None), string(None)),
        {"version": 1, "processId": "0", "runtimeCookie": "00000000-0000-0000-0000-000000000000", "commandLine": None,
         "OS": None, "arch": None, "managedEntrypointAssemblyName": None, "clrProductVersion": None, "runtimeIdentifier": None},
        flags=["AbsentString", "Minimal"])

g.valid(8605, "version 2 appends an unknown field: it is kept and written again",
        message(OK, u32(2), u64(2), guid(COOKIE), string("a"), string("Linux"), string("x64"), string("app"), string("12.0.0"),
                string("linux-x64"), string("new")),
        {"version": 2, "processId": "2", "runtimeCookie": COOKIE, "commandLine": "a", "OS": "Linux", "arch": "x64",
         "managedEntrypointAssemblyName": "app", "clrProductVersion": "12.0.0", "runtimeIdentifier": "linux-x64",
         "tail": "040000006e00650077000000"}, flags=["UnknownTail", "UnknownValue"])

g.valid(8606, "a later version without anything appended: no tail",
        message(OK, u32(0xFFFFFFFF), u64(2), guid(COOKIE), string("a"), string("Windows"), string("x64"), string("app"),
                string("12.0.0"), string("win-x64")),
        {"version": 0xFFFFFFFF, "processId": "2", "runtimeCookie": COOKIE, "commandLine": "a", "OS": "Windows", "arch": "x64",
         "managedEntrypointAssemblyName": "app", "clrProductVersion": "12.0.0", "runtimeIdentifier": "win-x64"},
        flags=["MaxValue", "UnknownValue"])

g.lenient(8607, "version 1 with surplus bytes: they are kept as a tail too",
          message(OK, u32(1), u64(2), guid(COOKIE), string("a"), string("Linux"), string("x64"), string("app"), string("9.0.5"),
                  string("linux-x64"), hexa("c0ffee")),
          {"version": 1, "processId": "2", "runtimeCookie": COOKIE, "commandLine": "a", "OS": "Linux", "arch": "x64",
           "managedEntrypointAssemblyName": "app", "clrProductVersion": "9.0.5", "runtimeIdentifier": "linux-x64",
           "tail": "c0ffee"}, flags=["TrailingBytes", "UnknownTail"], canonical=True)

longest = message(OK, u32(2), u64(12345), guid(COOKIE), string(LINE[:32700]), string("Linux"), string("x64"), string("app"),
                  string("9.0.5"), string("linux-x64"), hexa("7f"))
assert len(longest) == 65535
g.valid(8608, "a tail of one byte makes a reply of 65,535 bytes, the most that size can hold", longest,
        {"version": 2, "processId": "12345", "runtimeCookie": COOKIE, "commandLine": LINE[:32700], "OS": "Linux", "arch": "x64",
         "managedEntrypointAssemblyName": "app", "clrProductVersion": "9.0.5", "runtimeIdentifier": "linux-x64", "tail": "7f"},
        flags=["MaxValue", "UnknownTail"])

g.invalid(8620, "the version, then ProcessInfo2's fields: the runtime identifier is missing",
          message(OK, u32(1), u64(2), guid(COOKIE), string("a"), string("Linux"), string("x64"), string("app"), string("9.0.5")),
          "payload", "unexpected_end", 112, "ProcessInfo3.runtimeIdentifier", flags=["Truncated"])

g.invalid(8621, "a runtime identifier but no version before the process id: all is read four bytes late",
          message(OK, u64(2), guid(COOKIE), string("/a b"), string("Linux"), string("x64"), string("app"), string("9.0.5"),
                  string("linux-x64")), "payload", "count_too_large", 48, "ProcessInfo3.commandLine")

g.invalid(8622, "the reply ends inside the process id",
          message(OK, u32(1), hexa("02000000")), "payload", "unexpected_end", 24, "ProcessInfo3.processId", flags=["Truncated"])

# --- the reply of 0x0402 -------------------------------------------------------------------------------------------
g = reply("process-environment", "ProcessEnvironment", "5.0", ["F-2", "F-43", "F-88"])

literal = hexa("444f544e45545f4950435f563100 1a00 ff 00 0000 04000000 0000")
assert literal == message(OK, u32(4), u16(0))

g.valid(8702, "an environment of more than 65,535 bytes: it is not part of the message",
        message(OK, u32(0x00012346), u16(0)), {"nIncomingBytes": 74566, "future": 0})

g.valid(8703, "the largest numbers; future is a field like any other and kept",
        message(OK, u32(0xFFFFFFFF), u16(0xFFFE)), {"nIncomingBytes": 4294967295, "future": 65534},
        flags=["MaxValue", "NonZeroReserved"])

g.lenient(8710, "the continuation counted into size: it is surplus there",
          message(OK, u32(4), u16(0), u32(0)), {"nIncomingBytes": 4, "future": 0}, flags=["TrailingBytes"])

g.lenient(8711, "the generic OK of 20 bytes: no number of bytes that follow",
          message(OK), {}, flags=["GenericOk"], canonical=True)

g.invalid(8720, "24 bytes: future left out",
          message(OK, u32(4)), "payload", "unexpected_end", 24, "ProcessEnvironment.future", flags=["Truncated"])

# --- the replies that are an hresult -------------------------------------------------------------------------------
literal = hexa("444f544e45545f4950435f563100 1800 ff 00 0000 00000000")
assert literal == message(OK, u32(0))

g = reply("set-environment-variable", "SetEnvironmentVariable", "6.0", ["F-12", "F-80"])
g.valid(8811, "success", message(OK, u32(0)), {"hresult": "0x00000000"}, flags=["Minimal"])
g.valid(8812, "no such variable to delete: a failure in an OK message",
        message(OK, u32(0x800700CB)), {"hresult": "0x800700CB"})
g.valid(8813, "a code that is not a failure by its sign, and not success",
        message(OK, u32(0x0000FFFF)), {"hresult": "0x0000FFFF"})

g = reply("enable-perf-map", "EnablePerfMap", "8.0", ["F-1", "F-46"])
g.valid(8821, "a type that the server does not know", message(OK, u32(0x80070057)), {"hresult": "0x80070057"})

g = reply("disable-perf-map", "DisablePerfMap", "8.0", ["F-46"])
g.valid(8831, "a build without perf map", message(OK, u32(0x80131515)), {"hresult": "0x80131515"})

g = reply("apply-startup-hook", "ApplyStartupHook", "8.0", ["F-2", "F-47"])
g.valid(8841, "success", message(OK, u32(0)), {"hresult": "0x00000000"}, flags=["Minimal"])
g.invalid(8842, "hresult has one byte of four",
          message(OK, hexa("00")), "payload", "unexpected_end", 20, "ApplyStartupHook.hresult", flags=["Truncated"])
