"""diagipc/clients/scenarios/requests.json: what a client sends: texts, numbers, and messages that are too large."""
from asked import answered
from scenario import OPERATIONS, Scenarios, nothing_whole
from script import accept

FILE = Scenarios("requests", "What a client sends")

for operation in OPERATIONS:
    FILE.add(f"request/plain/{operation}", "The request alone, answered with an OK", ["R-HDR-002", "R-FLW-011"], operation,
             answered(operation), "success", flags=["plain"])

# --- texts ---------------------------------------------------------------------------------------------------------
# Texts whose encoding distinguishes faults.
TEXTS = [("latin", "caf\u00e9", ["R-GRM-008", "F-8"]),
         ("bmp", "\u20ac\u6f22\u5b57", ["R-GRM-008", "F-8"]),
         ("non-bmp", "a\U0001f600b\U00010437", ["R-GRM-008"]),
         ("spaces-and-quotes", "a b\"c'd\\e$f", ["R-GRM-008"]),
         ("spaces-at-its-ends", " a b ", ["R-GRM-008"]),
         ("equals", "a=b=c", ["R-GRM-008"])]
STRINGS = [("set-env", "value"), ("set-env", "name"), ("unset-env", "name"), ("startup-hook", "path"), ("dump", "path"), ("attach", "path"),
           ("startup-profiler", "path"), ("trace", "provider"), ("trace", "arguments"), ("user-events", "provider"),
           ("user-events", "arguments")]


# Placeholders of a command line for arguments that are not empty.
ARGUMENTS = ["arguments", "arguments_kv", "arguments_quoted"]


def quoted(text):
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def text(what, operation, argument, value, spec):
    # Many APIs accept only keys and values.
    pairs = argument == "arguments" and value != ""
    value = {"path": f"/tmp/{value}", "arguments": f"k={value}" if pairs else value}.get(argument, value)
    FILE.add(f"text/{what}/{operation}/{argument}", f"{argument} is {quoted(value)}", spec, operation, answered(operation), "success",
             arguments={argument: value}, needs=[ARGUMENTS if pairs else argument])


for operation, argument in STRINGS:
    for what, value, spec in TEXTS:
        # A name cannot contain `=`, and many command lines split a provider's name at it, or trim it.
        if argument in {"equals": ("value", "arguments"), "spaces-at-its-ends": ("value", "path")}.get(what, (argument,)):
            text(what, operation, argument, value, spec)
for operation, argument in (("set-env", "value"), ("trace", "arguments"), ("user-events", "arguments")):
    text("empty", operation, argument, "", ["F-11", "F-44"])

# --- numbers, identifiers and bytes --------------------------------------------------------------------------------
# A command line may use one of two placeholders.
OTHERS = {"keywords": "keywords_hex", "level": "level_name", "client_data": "client_data_file", "timeout_ms": "timeout_s"}
MASKS = ["0", "4294967296", "18446744073709551615"]


def number(name, comment, spec, operation, argument, value, needs):
    session = int(value) if argument == "session" else 42
    FILE.add(name, comment, spec, operation, answered(operation, session), "success", arguments={argument: value}, needs=[needs])


for operation, argument, values, spec in (
        ("perf-map", "type", ["1", "2", "3"], ["F-46"]),
        ("dump", "type", ["1", "2", "3", "4"], ["F-50"]),
        ("attach", "client_data", ["", "00", "ff00ff00"], ["F-53"]),
        ("attach", "clsid", ["00112233-4455-6677-8899-aabbccddeeff"], ["F-52", "F-85"]),
        ("startup-profiler", "clsid", ["00112233-4455-6677-8899-aabbccddeeff"], ["F-51", "F-85"]),
        ("trace", "keywords", MASKS, ["F-16"]),
        ("trace", "level", ["0", "1", "5"], ["F-16"]),
        ("trace", "buffer_mb", ["1", "1024"], ["F-16"]),
        ("user-events", "keywords", MASKS, ["F-16"]),
        ("user-events", "level", ["0", "1", "5"], ["F-16"]),
        ("stop", "session", ["0", "1", "18446744073709551615"], ["F-31"])):
    for value in values:
        shown = value or "none"
        number(f"request/{operation}/{argument}/{shown}", f"{argument} {shown}", spec, operation, argument, value,
               [argument, OTHERS.get(argument, argument)])
# These need the command or a newer one. An older one expresses them in its own way: `requestRundown` is whether the keyword is not 0.
for argument, value, command, needs, spec in (
        ("rundown", "0", "CollectTracing2", ["rundown", "rundown_bool"], ["R-EVP-038"]),
        ("stacks", "false", "CollectTracing3", ["stacks"], ["R-EVP-030"]),
        ("rundown", "16", "CollectTracing4", ["rundown"], ["R-EVP-037"]),
        ("events", "7", "CollectTracing5", ["events"], ["R-EVP-050"]),
        ("events", "1,2,65535", "CollectTracing5", ["events"], ["R-EVP-050"]),
        ("buffer_mode", "1", "CollectTracing6", ["buffer_mode"], ["F-30"])):
    FILE.add(f"request/trace/{argument}/{value.replace(',', '-')}", f"{argument} {value}", spec, "trace",
             answered("trace", command=f"EventPipe/{command}"), "success", arguments={"command": command, argument: value}, needs=[needs])
for ms in ("1000", "1500", "5000", "60000"):
    # A client that accepts seconds cannot be given half of one.
    number(f"request/attach/timeout/{ms}", f"A timeout of {ms} milliseconds", ["F-55"], "attach", "timeout_ms", ms,
           ["timeout_ms", "timeout_s"] if ms.endswith("000") else ["timeout_ms"])

# --- messages of the largest size, and one unit larger -------------------------------------------------------------
LARGEST = 65535
SIZES = ["F-40", "R-HDR-002"]


def size(what, comment, operation, argument, units, *end, **keys):
    """Adds a text of so many units; a path is absolute."""
    pairs = argument == "arguments"
    begins = {"arguments": "k=", "path": "/"}.get(argument, "")
    value = {**({"begins": begins} if begins else {}), "letters": units - len(begins)}
    FILE.add(f"size/{what}/{operation}", comment, SIZES, operation, *end, arguments={argument: value},
             needs=[ARGUMENTS if pairs else argument], **keys)


def room(others, rest):
    """Returns the length in units of the longest text beside the header, the other strings, and `rest` bytes of other fields."""
    return (LARGEST - rest - 20 - sum(4 + 2 * (len(other) + 1) for other in (*others, ""))) // 2


# `least` and `most` are the sizes of the other fields in the operation's smallest and largest message.
for operation, argument, others, least, most in (
        ("set-env", "value", ["NAME"], 0, 0),
        ("startup-hook", "path", [], 0, 0),
        ("dump", "path", [], 8, 8),
        ("startup-profiler", "path", [], 16, 16),
        ("attach", "path", [], 26, 26),
        # CollectTracing and CollectTracing6 with one provider.
        ("trace", "arguments", ["Provider"], 24, 46),
        # CollectTracing5 with one provider and one tracepoint, which may be a set, and CollectTracing6.
        ("user-events", "arguments", ["Provider", "Point"], 37, 37 + 4 + 64)):
    size("largest", "The longest text that the size field allows", operation, argument, room(others, most), answered(operation), "success",
         if_unsent="largest-message-refused")
    for what, units in (("one-too-long", room(others, least) + 1), ("far-too-long", 40000)):
        size(what, "A text too long for a message: the client refuses it, and sends nothing", operation, argument, units,
             [accept("a"), nothing_whole("a")], "failure", reveals="beyond-the-largest-message")
