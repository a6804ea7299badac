"""diagipc/clients/scenarios/requests.json: what a client sends: texts, numbers, and messages that are too large."""
from asked import answered
from scenario import AT_A_PORT, OPERATIONS, Scenarios, nothing_whole
from script import accept

FILE = Scenarios("requests", "What a client sends")

for operation in OPERATIONS:
    FILE.add(f"request/plain/{operation}", "The request alone, answered with an OK", ["R-HDR-002", "R-FLW-011"], operation,
             answered(operation), "success", flags=["plain"])

# --- texts ---------------------------------------------------------------------------------------------------------
# Their encoding tells faults apart.
TEXTS = [("latin", "caf\u00e9", ["R-GRM-008", "F-8"]),
         ("bmp", "\u20ac\u6f22\u5b57", ["R-GRM-008", "F-8"]),
         ("non-bmp", "a\U0001f600b\U00010437", ["R-GRM-008"]),
         ("spaces-and-quotes", "a b\"c'd\\e$f", ["R-GRM-008"]),
         ("equals", "a=b=c", ["R-GRM-008"])]
STRINGS = [("set-env", "value"), ("set-env", "name"), ("unset-env", "name"), ("startup-hook", "path"), ("dump", "path"), ("attach", "path"),
           ("startup-profiler", "path"), ("trace", "provider"), ("trace", "arguments"), ("user-events", "provider"),
           ("user-events", "arguments")]


def quoted(text):
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def text(what, operation, argument, value, spec):
    # Many APIs accept only keys and values.
    pairs = argument == "arguments" and value != ""
    value = {"path": f"/tmp/{value}", "arguments": f"k={value}" if pairs else value}.get(argument, value)
    FILE.add(f"text/{what}/{operation}/{argument}", f"{argument} is {quoted(value)}", spec, operation, answered(operation), "success",
             arguments={argument: value}, needs=[["arguments", "arguments_kv"] if pairs else argument])


for operation, argument in STRINGS:
    for what, value, spec in TEXTS:
        # A name cannot contain `=`, and many command lines split a provider's name at it.
        if what != "equals" or argument in ("value", "arguments"):
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
for ms in ("1000", "1500", "5000", "60000"):
    # A client that accepts seconds cannot be given half of one.
    number(f"request/attach/timeout/{ms}", f"A timeout of {ms} milliseconds", ["F-55"], "attach", "timeout_ms", ms,
           ["timeout_ms", "timeout_s"] if ms.endswith("000") else ["timeout_ms"])

# --- messages of the largest size, and one unit larger -------------------------------------------------------------
LARGEST = 65535
SIZES = ["F-40", "R-HDR-002"]


def size(what, comment, operation, argument, units, *end, **keys):
    """A text of so many units."""
    pairs = argument == "arguments"
    value = {"begins": "k=", "letters": units - 2} if pairs else {"letters": units}
    FILE.add(f"size/{what}/{operation}", comment, SIZES, operation, *end, arguments={argument: value},
             needs=[["arguments", "arguments_kv"] if pairs else argument], **keys)


# The rest of a message besides the text, in bytes: the header, the other strings, the text's length and NUL, other fields.
for operation, argument, others, rest in (
        ("set-env", "value", ["NAME"], 0),
        ("startup-hook", "path", [], 0),
        ("dump", "path", [], 8),
        ("startup-profiler", "path", [], 16),
        ("attach", "path", [], 26),
        # CollectTracing2 with one provider.
        ("trace", "arguments", ["Provider"], 25),
        # CollectTracing5 with one provider and one tracepoint, and room for 32 units, as the size depends on how a message names it.
        ("user-events", "arguments", ["Provider", "Point"], 37)):
    room = (LARGEST - rest - 20 - sum(4 + 2 * (len(other) + 1) for other in (*others, ""))) // 2
    size("largest", "The longest text that the size field allows", operation, argument,
         room - 32 if operation == "user-events" else room, answered(operation), "success", if_unsent="largest-message-refused")
    for what, units in (("one-too-long", room + 1), ("far-too-long", 40000)):
        size(what, "A text too long for a message: the client refuses it, and sends nothing", operation, argument, units,
             [accept("a"), nothing_whole("a")], "failure", reveals="beyond-the-largest-message")
