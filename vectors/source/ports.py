"""DOTNET_DiagnosticPorts as runtimes read it and as the document allows it; DOTNET_DefaultDiagnosticPortSuspend."""
from notation import *

FILE = File("ports", "Diagnostic ports: the variables that configure them", 15000, 15999)
MADE = "written in source/ports.py from section Diagnostic Ports and the facts named in spec"
NET10 = ["net10.0.9"]


def text(characters):
    """Returns the text of a variable: UTF-8, without a NUL."""
    return characters.encode("utf-8")


def port(address, suspend=True):
    return {"address": address, "suspend": suspend, "type": "connect"}


def ignored(offset, part, reason):
    return {"offset": offset, "text": part, "reason": reason}


def value(*ports, ignored=()):
    """Returns the ports in the order in which a runtime builds them: the last in the text is first."""
    return {"ports": list(ports), "ignored": list(ignored)}


def allowed(*ports):
    """Returns the ports of a text that the grammar allows."""
    return {"ports": list(ports)}


def shipped(name, spec):
    return FILE.group("ports-" + name, type="ports", source="derived", made=MADE, spec=spec)


def strict(name, spec):
    return FILE.group("ports-strict-" + name, type="ports-strict", source="derived", made=MADE, spec=spec)


# --- as shipped: what a writer writes ------------------------------------------------------------------------------
g = shipped("plain", ["F-59"])
g.valid(15000, "one port, no tags: it suspends, the runtime connects", hexa("2f 74 6d 70 2f 61"), value(port("/tmp/a")),
        flags=["Literal"])
g.valid(15001, "nosuspend", text("/tmp/a,nosuspend"), value(port("/tmp/a", False)))
g.valid(15002, "two ports: the last is built first", text("/tmp/a;/tmp/b"), value(port("/tmp/b"), port("/tmp/a")))
g.valid(15003, "two ports, the first with a tag", text("/tmp/a,nosuspend;/tmp/b"), value(port("/tmp/b"), port("/tmp/a", False)))
g.valid(15004, "two ports, the second with a tag", text("/tmp/a;/tmp/b,nosuspend"), value(port("/tmp/b", False), port("/tmp/a")))
g.valid(15005, "three ports", text("/tmp/a,nosuspend;/tmp/b;/tmp/c,nosuspend"),
        value(port("/tmp/c", False), port("/tmp/b"), port("/tmp/a", False)))
g.valid(15006, "the same address twice makes two ports", text("/tmp/a,nosuspend;/tmp/a"), value(port("/tmp/a"), port("/tmp/a", False)))
g.valid(15007, "an empty variable is like an unset one", text(""), value(), flags=["Minimal"])
g.valid(15008, "letters beyond ASCII in the address", text("/tmp/порт,nosuspend"), value(port("/tmp/порт", False)))
g.valid(15009, "a name without a path: on Windows a pipe, elsewhere a file relative to the working directory", text("port,nosuspend"),
        value(port("port", False)))

# --- as shipped: tags ----------------------------------------------------------------------------------------------
g = shipped("tags", ["F-59"])
g.lenient(15020, "suspend is the default, and need not be written", text("/tmp/a,suspend"), value(port("/tmp/a")), flags=["SpelledDefault"])
g.lenient(15021, "connect is the default, and need not be written", text("/tmp/a,connect"), value(port("/tmp/a")), flags=["SpelledDefault"])
g.lenient(15022, "both kinds of tags", text("/tmp/a,nosuspend,connect"), value(port("/tmp/a", False)), flags=["SpelledDefault"])
g.lenient(15023, "both kinds of tags, the other way round", text("/tmp/a,connect,nosuspend"), value(port("/tmp/a", False)),
          flags=["SpelledDefault"])
g.lenient(15024, "NOSUSPEND: case does not count", text("/tmp/a,NOSUSPEND"), value(port("/tmp/a", False)), flags=["Case"])
g.lenient(15025, "NoSuspend, Connect", text("/tmp/a,NoSuspend,Connect"), value(port("/tmp/a", False)), flags=["Case"])
g.lenient(15026, "nosuspend, then suspend: the first counts", text("/tmp/a,nosuspend,suspend"),
          value(port("/tmp/a", False), ignored=[ignored(17, "suspend", "later_tag")]))
g.lenient(15027, "suspend, then nosuspend: the first counts", text("/tmp/a,suspend,nosuspend"),
          value(port("/tmp/a"), ignored=[ignored(15, "nosuspend", "later_tag")]))
g.lenient(15028, "the same tag twice", text("/tmp/a,nosuspend,nosuspend"),
          value(port("/tmp/a", False), ignored=[ignored(17, "nosuspend", "later_tag")]))
g.lenient(15029, "an unknown tag", text("/tmp/a,quickly,nosuspend"),
          value(port("/tmp/a", False), ignored=[ignored(7, "quickly", "unknown_tag")]), flags=["UnknownValue"])
g.lenient(15030, "a tag cut short is unknown, and the port suspends", text("/tmp/a,nosuspen"),
          value(port("/tmp/a"), ignored=[ignored(7, "nosuspen", "unknown_tag")]), flags=["UnknownValue"])
g.lenient(15031, "a tag with a value is unknown", text("/tmp/a,suspend=0"),
          value(port("/tmp/a"), ignored=[ignored(7, "suspend=0", "unknown_tag")]), flags=["UnknownValue"])
g.lenient(15032, "tags of two ports do not mix", text("/tmp/a,nosuspend,connect;/tmp/b,suspend,connect"),
          value(port("/tmp/b"), port("/tmp/a", False)), flags=["SpelledDefault"])
g.lenient(15033, "tags with letters that only look alike are unknown: Cyrillic es", text("/tmp/a,noѕuspend"),
          value(port("/tmp/a"), ignored=[ignored(7, "noѕuspend", "unknown_tag")]), flags=["UnknownValue"])

# --- as shipped: listen --------------------------------------------------------------------------------------------
g = shipped("listen", ["F-58", "F-78", "P-9"])
g.lenient(15040, "listen: the port is dropped", text("/tmp/a,listen"), value(ignored=[ignored(0, "/tmp/a,listen", "listen_port")]))
g.lenient(15041, "listen, suspend: dropped, and nothing suspends", text("/tmp/a,listen,suspend"),
          value(ignored=[ignored(0, "/tmp/a,listen,suspend", "listen_port")]))
g.lenient(15042, "suspend, LISTEN: dropped", text("/tmp/a,suspend,LISTEN"),
          value(ignored=[ignored(0, "/tmp/a,suspend,LISTEN", "listen_port")]), flags=["Case"])
g.lenient(15043, "listen, connect: the first type counts, and the port is dropped", text("/tmp/a,listen,connect,nosuspend"),
          value(ignored=[ignored(0, "/tmp/a,listen,connect,nosuspend", "listen_port")]))
g.lenient(15044, "connect, listen: the first type counts, and the port is made", text("/tmp/a,connect,listen,nosuspend"),
          value(port("/tmp/a", False), ignored=[ignored(15, "listen", "later_tag")]))
g.lenient(15045, "listen drops its own port, not the next", text("/tmp/a,listen;/tmp/b,nosuspend"),
          value(port("/tmp/b", False), ignored=[ignored(0, "/tmp/a,listen", "listen_port")]))
g.valid(15046, "listen as an address is one", text("listen,nosuspend"), value(port("listen", False)))

# --- as shipped: empty parts ---------------------------------------------------------------------------------------
g = shipped("empty-parts", ["F-59", "F-60"])
g.lenient(15060, "a semicolon at the end", text("/tmp/a,nosuspend;"),
          value(port("/tmp/a", False), ignored=[ignored(17, "", "empty_port")]), flags=["EmptyPart"])
g.lenient(15061, "a semicolon at the front", text(";/tmp/a,nosuspend"),
          value(port("/tmp/a", False), ignored=[ignored(0, "", "empty_port")]), flags=["EmptyPart"])
g.lenient(15062, "two semicolons between", text("/tmp/a,nosuspend;;/tmp/b,nosuspend"),
          value(port("/tmp/b", False), port("/tmp/a", False), ignored=[ignored(17, "", "empty_port")]), flags=["EmptyPart"])
g.lenient(15063, "nothing but a semicolon", text(";"),
          value(ignored=[ignored(0, "", "empty_port"), ignored(1, "", "empty_port")]), flags=["EmptyPart"])
g.lenient(15064, "commas before the address", text(",,/tmp/a,nosuspend"),
          value(port("/tmp/a", False), ignored=[ignored(0, "", "empty_field"), ignored(1, "", "empty_field")]), flags=["EmptyPart"])
g.lenient(15065, "a comma before a word that was meant as a tag: it is the address", text(",nosuspend"),
          value(port("nosuspend"), ignored=[ignored(0, "", "empty_field")]), flags=["EmptyPart"])
g.lenient(15066, "two commas before a tag", text("/tmp/a,,nosuspend"),
          value(port("/tmp/a", False), ignored=[ignored(7, "", "empty_field")]), flags=["EmptyPart"])
g.lenient(15067, "a comma at the end", text("/tmp/a,nosuspend,"),
          value(port("/tmp/a", False), ignored=[ignored(17, "", "empty_field")]), flags=["EmptyPart"])
g.lenient(15068, "nothing but commas: no address", text(",,"), value(ignored=[ignored(0, ",,", "no_address")]), flags=["EmptyPart"])
g.lenient(15069, "commas next to a port", text("/tmp/a,nosuspend;,"),
          value(port("/tmp/a", False), ignored=[ignored(17, ",", "no_address")]), flags=["EmptyPart"])
g.lenient(15070, "an offset counts bytes: two for each of these letters", text("/tmp/порт,,nosuspend"),
          value(port("/tmp/порт", False), ignored=[ignored(14, "", "empty_field")]), flags=["EmptyPart"])

# --- as shipped: nothing is trimmed --------------------------------------------------------------------------------
g = shipped("spaces", ["F-78", "P-10"])
g.lenient(15080, "a space before a tag: it is unknown, and the port suspends", text("/tmp/a, nosuspend"),
          value(port("/tmp/a"), ignored=[ignored(7, " nosuspend", "unknown_tag")]), flags=["Spaces"])
g.lenient(15081, "a space after a tag that is not the last", text("/tmp/a,nosuspend ,connect"),
          value(port("/tmp/a"), ignored=[ignored(7, "nosuspend ", "unknown_tag")]), flags=["Spaces"])
g.valid(15082, "a space before an address is part of it", text(" port,nosuspend"), value(port(" port", False)), flags=["Spaces"])
g.valid(15083, "a space after an address is part of it", text("/tmp/a ,nosuspend"), value(port("/tmp/a ", False)), flags=["Spaces"])
g.valid(15084, "a space inside an address", text("/tmp/a b,nosuspend"), value(port("/tmp/a b", False)), flags=["Spaces"])
g.lenient(15085, "a tab before a tag", text("/tmp/a,\tnosuspend"),
          value(port("/tmp/a"), ignored=[ignored(7, "\tnosuspend", "unknown_tag")]), flags=["Spaces"])
g.valid(15086, "a space after the semicolon is part of the address", text("/tmp/a,nosuspend; port,nosuspend"),
        value(port(" port", False), port("/tmp/a", False)), flags=["Spaces"])

g.lenient(15087, "a space after the last tag: the end of the text is not trimmed either", text("/tmp/a,nosuspend "),
          value(port("/tmp/a"), ignored=[ignored(7, "nosuspend ", "unknown_tag")]), flags=["Spaces"])
g.lenient(15088, "an address of one space is not an address: no port, and nothing suspends", text(" "), value(ignored=[ignored(0, " ", "no_address")]),
          flags=["Spaces"])
g.lenient(15089, "an address of white space with a tag", text(" \t,suspend"), value(ignored=[ignored(0, " \t,suspend", "no_address")]),
          flags=["Spaces"])
g.lenient(15090, "a space between two ports", text("/tmp/a,nosuspend; ;/tmp/b,nosuspend"),
          value(port("/tmp/b", False), port("/tmp/a", False), ignored=[ignored(17, " ", "no_address")]), flags=["Spaces"])
g.lenient(15091, "a space in place of a tag", text("/tmp/a, "), value(port("/tmp/a"), ignored=[ignored(7, " ", "unknown_tag")]),
          flags=["Spaces"])
g.valid(15092, "a no-break space is not white space to C: it is an address", text("\u00a0,nosuspend"), value(port("\u00a0", False)),
        flags=["Spaces"])

# --- as shipped: addresses -----------------------------------------------------------------------------------------
g = shipped("addresses", ["F-59", "F-60", "F-156"])
g.valid(15100, "a tilde is not expanded", text("~/mydiagport.sock,nosuspend"), value(port("~/mydiagport.sock", False)))
g.valid(15101, "a variable is not expanded", text("$HOME/port,nosuspend"), value(port("$HOME/port", False)))
g.valid(15102, "quotes are part of the address", text('"/tmp/a",nosuspend'), value(port('"/tmp/a"', False)))
g.valid(15103, "a backslash escapes nothing", text("/tmp/a\\,nosuspend"), value(port("/tmp/a\\", False)))
g.valid(15104, "a Windows pipe, by its name", text("my-pipe"), value(port("my-pipe")))
g.valid(15105, "a Windows pipe with the prefix, which the document wants left out: the address has it", text("\\\\.\\pipe\\my-pipe,nosuspend"),
        value(port("\\\\.\\pipe\\my-pipe", False)), flags=["PipePrefix"])
g.valid(15106, "a path too long for sun_path is an address too", text("/" + "x" * 130 + ",nosuspend"),
        value(port("/" + "x" * 130, False)), flags=["LongPath"])
g.valid(15107, "a WebSocket, for a runtime in a browser", text("ws://127.0.0.1:8088/diagnostics,nosuspend"),
        value(port("ws://127.0.0.1:8088/diagnostics", False)))
g.valid(15108, "a WebSocket with TLS", text("wss://localhost/diagnostics"), value(port("wss://localhost/diagnostics")))
g.valid(15109, "JavaScript of the page, for a runtime in a browser", text("js://ready"), value(port("js://ready")))
g.valid(15140, "a host and a port, for a runtime on Android, iOS or tvOS", text("127.0.0.1:9000,nosuspend"), value(port("127.0.0.1:9000", False)))
g.valid(15141, "an IPv6 address and a port", text("[::1]:9000"), value(port("[::1]:9000")))

g = shipped("text", ["F-79"])
g.lenient(15110, "a NUL, which no variable has: C's strings end there", text("/tmp/a,nosuspend\0;/tmp/b"),
          value(port("/tmp/a", False), ignored=[ignored(16, "\0;/tmp/b", "behind_nul")]))
g.invalid(15111, "bytes that are not text: a runtime reads U+FFFD for them, and so another path", text("/tmp/") + hexa("ff"), "payload",
          "not_unicode", 5, None, taken_by=NET10)

# --- the document's examples ---------------------------------------------------------------------------------------
PORTS_SECTION = "Diagnostic Ports"
g = FILE.group("ports-printed", type="ports", source="table", made="as printed; the shell's work done by hand", edition="10",
               section=PORTS_SECTION, spec=["F-59", "F-60"])
g.lenient(15120, "the example with the variable unset before, as a shell would set it if it accepted the line: the tilde is not expanded",
          text(";~/mydiagport.sock,nosuspend;"),
          value(port("~/mydiagport.sock", False), ignored=[ignored(0, "", "empty_port"), ignored(29, "", "empty_port")]),
          flags=["AsPrinted", "EmptyPart"])
g.lenient(15121, "the example with a port in the variable before", text("/tmp/a;~/mydiagport.sock,nosuspend;"),
          value(port("~/mydiagport.sock", False), port("/tmp/a"), ignored=[ignored(35, "", "empty_port")]),
          flags=["AsPrinted", "EmptyPart"])
g.lenient(15122, "more than one value of a kind, and a comma at the end", text("<path>,nosuspend,suspend,suspend,"),
          value(port("<path>", False), ignored=[ignored(17, "suspend", "later_tag"), ignored(25, "suspend", "later_tag"),
                                               ignored(33, "", "empty_field")]), flags=["AsPrinted", "EmptyPart"])
g.lenient(15123, "tags alone: the first is the address, and its port suspends", text("nosuspend,connect"), value(port("nosuspend")),
          flags=["AsPrinted", "SpelledDefault"])

g = FILE.group("ports-corrected", type="ports", source="corrected", edition="10", section=PORTS_SECTION, fact="F-60", spec=["F-60"],
               made="the example with the path for the tilde, and without the empty ports")
g.valid(15124, "the example with the variable unset before: one port, that does not suspend", text("/home/user/mydiagport.sock,nosuspend"),
        value(port("/home/user/mydiagport.sock", False)))
g.valid(15125, "the example with a port in the variable before", text("/tmp/a;/home/user/mydiagport.sock,nosuspend"),
        value(port("/home/user/mydiagport.sock", False), port("/tmp/a")))

# --- the document's grammar ----------------------------------------------------------------------------------------
g = strict("allowed", ["F-59"])
g.valid(15200, "one port", hexa("2f 74 6d 70 2f 61"), allowed(port("/tmp/a")), flags=["Literal"])
g.valid(15201, "two ports with tags", text("/tmp/a,nosuspend;/tmp/b"), allowed(port("/tmp/b"), port("/tmp/a", False)))
g.lenient(15202, "both kinds of tags", text("/tmp/a,connect,suspend"), allowed(port("/tmp/a")), flags=["SpelledDefault"])
g.lenient(15203, "two tags of a kind: by the text the first counts", text("/tmp/a,nosuspend,suspend"),
          allowed(port("/tmp/a", False)))
g.lenient(15204, "tags alone: the first is the address", text("nosuspend,connect"), allowed(port("nosuspend")),
          flags=["AsPrinted", "SpelledDefault"])
g.valid(15205, "a space is part of the address", text("/tmp/a b"), allowed(port("/tmp/a b")), flags=["Spaces"])

g = strict("not-allowed", ["F-58", "F-59", "F-60", "F-78"])
g.invalid(15220, "the empty text: a port is wanted", text(""), "payload", "empty_address", 0, None, flags=["EmptyPart"], taken_by=NET10)
g.invalid(15221, "a semicolon at the end", text("/tmp/a;"), "payload", "empty_address", 7, None, flags=["EmptyPart"], taken_by=NET10)
g.invalid(15222, "a semicolon at the front", text(";/tmp/a"), "payload", "empty_address", 0, None, flags=["EmptyPart"], taken_by=NET10)
g.invalid(15223, "two semicolons between", text("/tmp/a;;/tmp/b"), "payload", "empty_address", 7, None, flags=["EmptyPart"],
          taken_by=NET10)
g.invalid(15224, "a comma before the address", text(",/tmp/a"), "payload", "empty_address", 0, None, flags=["EmptyPart"], taken_by=NET10)
g.invalid(15225, "a comma at the end", text("/tmp/a,"), "payload", "empty_tag", 7, None, flags=["EmptyPart"], taken_by=NET10)
g.invalid(15226, "two commas", text("/tmp/a,,connect"), "payload", "empty_tag", 7, None, flags=["EmptyPart"], taken_by=NET10)
g.invalid(15227, "an unknown tag", text("/tmp/a,quickly"), "payload", "unknown_tag", 7, None, flags=["UnknownValue"], taken_by=NET10)
g.invalid(15228, "a tag in other letters than printed", text("/tmp/a,NoSuspend"), "payload", "unknown_tag", 7, None, flags=["Case"],
          taken_by=NET10)
g.invalid(15229, "a space before a tag", text("/tmp/a, nosuspend"), "payload", "unknown_tag", 7, None, flags=["Spaces"], taken_by=NET10)
g.invalid(15230, "listen is not a tag of the document", text("/tmp/a,listen"), "payload", "unknown_tag", 7, None, taken_by=NET10)
g.invalid(15231, "the prefix of a pipe", text("\\\\.\\pipe\\my-pipe"), "payload", "prefixed_pipe_name", 0, None, flags=["PipePrefix"],
          taken_by=NET10)
g.invalid(15232, "the prefix of a pipe, in the second port", text("my-pipe;\\\\.\\pipe\\other"), "payload", "prefixed_pipe_name", 8, None,
          flags=["PipePrefix"], taken_by=NET10)
g.invalid(15239, "the prefix of a pipe in capital letters, which Windows adds again too", text("\\\\.\\PIPE\\my-pipe"), "payload", "prefixed_pipe_name",
          0, None, flags=["PipePrefix", "Case"], taken_by=NET10)
g.invalid(15233, "an error in the second port", text("/tmp/a,connect;/tmp/b,connect,x"), "payload", "unknown_tag", 30, None,
          flags=["UnknownValue"], taken_by=NET10)
g.invalid(15234, "two faults: the first is named", text("/tmp/a,;"), "payload", "empty_tag", 7, None, flags=["TwoFaults", "EmptyPart"],
          taken_by=NET10)
g.invalid(15235, "the document's example with the variable unset before", text(";~/mydiagport.sock,nosuspend;"), "payload",
          "empty_address", 0, None, flags=["AsPrinted", "EmptyPart"], taken_by=NET10)
g.invalid(15236, "the document's example of more than one value", text("<path>,nosuspend,suspend,suspend,"), "payload", "empty_tag", 33,
          None, flags=["AsPrinted", "EmptyPart"], taken_by=NET10)

g.invalid(15238, "a space in place of a port", text("/tmp/a; "), "payload", "empty_address", 7, None, flags=["Spaces"], taken_by=NET10)
g.invalid(15237, "a NUL", text("/tmp/a\0"), "payload", "nul", 6, None)

# --- the default port ----------------------------------------------------------------------------------------------
g = FILE.group("default-port-suspend", type="default-port-suspend", source="derived", made=MADE, spec=["F-86", "P-14"])
g.valid(15300, "1, as the document has it", hexa("31"), True, flags=["Literal"])
g.valid(15301, "0, as the document has it", text("0"), False)
g.lenient(15302, "empty is unset", text(""), False, flags=["Minimal"])
g.lenient(15303, "true is not a number", text("true"), False)
g.lenient(15304, "10 is sixteen", text("10"), True)
g.lenient(15305, "hexadecimal digits, lower case", text("f"), True)
g.lenient(15306, "hexadecimal digits, upper case", text("F"), True)
g.lenient(15307, "0x before the number", text("0x1"), True)
g.lenient(15308, "0X before the number", text("0X1"), True)
g.lenient(15309, "0x0 is zero", text("0x0"), False)
g.lenient(15310, "0x without a digit: the zero counts", text("0x"), False)
g.lenient(15311, "00 is zero", text("00"), False)
g.lenient(15312, "zeros before the one", text("0001"), True)
g.lenient(15313, "a space before the number", text(" 1"), True, flags=["Spaces"])
g.lenient(15314, "a tab before the number", text("\t1"), True, flags=["Spaces"])
g.lenient(15315, "a space after the number", text("1 "), True, flags=["Spaces"])
g.lenient(15316, "letters after the number", text("1x"), True)
g.lenient(15317, "false begins with a hexadecimal digit, and so suspends", text("false"), True)
g.lenient(15318, "no hexadecimal digit at the front", text("x1"), False)
g.lenient(15319, "a minus: not zero", text("-1"), True)
g.lenient(15320, "a plus", text("+1"), True)
g.lenient(15321, "minus zero", text("-0"), False)
g.lenient(15322, "all 32 bits", text("FFFFFFFF"), True, flags=["MaxValue"])
g.lenient(15323, "33 bits: too large a number", text("100000000"), False)
g.lenient(15324, "65 bits", text("10000000000000000"), False)
g.lenient(15325, "yes is not a number", text("yes"), False)
