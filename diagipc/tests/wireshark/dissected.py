"""The output of tshark for a capture with spec/dotnet_ipc.lua."""
import json
import os
import pathlib
import re
import struct
import subprocess
import xml.etree.ElementTree as ElementTree

ROOT = pathlib.Path(__file__).resolve().parents[3]
# Another script to test, from a changed grammar.
SCRIPT = os.environ.get("DISSECTOR") or ROOT / "spec/dotnet_ipc.lua"
GRAMMAR = json.loads((ROOT / "spec/grammar.json").read_text())
FORMS = {kind["name"]: kind["value"] for kind in GRAMMAR["kinds"]}
# Fields of a message outside its payload.
AROUND = {"magic", "size", "command_set", "command_id", "reserved", "command", "answers", "request_in", "reply_in", "part_in", "time",
          "fault", "leniency", "not_decoded"}


def tshark(path, *options):
    """Its output. A failing script reports it on standard error, and tshark continues."""
    done = subprocess.run(["tshark", "-X", f"lua_script:{SCRIPT}", "-r", path, *options], capture_output=True, text=True)
    if done.returncode or "Lua" in done.stderr or "lua" in done.stdout.lower().split("_ws.lua.fake")[0]:
        raise SystemExit(f"tshark: exit status {done.returncode}\n{done.stderr}{done.stdout[:2000]}")
    return done.stdout


def packets(path, *options):
    """The dissector's items, one list per packet."""
    root = ElementTree.fromstring(tshark(path, "-T", "pdml", *options))
    for packet in root.iter("packet"):
        if "Lua Error" in (text := ElementTree.tostring(packet, "unicode")):
            raise SystemExit(f"the dissector failed: {text[-1500:]}")
        yield packet.find("proto[@name='diagipc']")


def name_of(field):
    """The filter of a field of the document: sessionId is session_id."""
    return re.sub(r"\W", "_", re.sub(r"([a-z0-9])([A-Z])", r"\1_\2", field).lower())


def shown(item, name):
    """The values of the fields with that name, anywhere below."""
    return [field.get("show") for field in item.iter() if field.get("name") == f"diagipc.{name}"]


def children(item):
    """Names and fields of the payload."""
    for child in item:
        name = (child.get("name") or "").removeprefix("diagipc.")
        if name not in AROUND and not name.startswith("_ws"):
            yield name, child


def as_shown(text):
    """A text of the vectors as shown: unprintable characters by number."""
    data = struct.pack(f"<{len(text['utf16'])}H", *text["utf16"]) if isinstance(text, dict) else text.encode("utf-16-le", "surrogatepass")
    unprintable = "[\0-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]"
    return re.sub(unprintable, lambda unit: "\\u{%X}" % ord(unit[0]), data.decode("utf-16-le", "surrogatepass"))


def differs(item, value, types):
    """How the fields below an item differ from a value of the vectors; None if they do not. `types`: those of the fields, by name."""
    there = list(children(item))
    names = [name for name, _ in there]
    # An absent string, and an empty list of bytes, are shown as text under the field's name.
    wanted = ["absent" if one is None else name_of(key) for key, one in value.items()]
    if names != wanted:
        return f"shows {names}, expected {wanted}"
    for (name, field), (key, one) in zip(there, value.items()):
        if wrong := field_differs(field, key, one, types):
            return f"{key}: {wrong}"
    return None


def field_differs(field, key, value, types):
    show, kind, items = field.get("show"), *types[key]
    if value is None:
        return None if show == key else f"absent {show}, expected {key}"
    if isinstance(value, dict) and "utf16" not in value:
        return differs(field, value, types)
    if isinstance(value, list):
        if int(show) != len(value):
            return f"{show} items, expected {len(value)}"
        inner = [child for _, child in children(field)]
        if len(inner) != len(value):
            return f"shows {len(inner)} items, expected {len(value)}"
        for nth, (child, one) in enumerate(zip(inner, value)):
            name = child.get("name")
            if isinstance(one, dict):
                wrong = differs(child, one, types) if name == f"diagipc.{items}" else f"is {name}, expected diagipc.{items}"
            else:
                wrong = None if name == f"diagipc.{name_of(key)}.item" and int(child.get("show"), 0) == one else f"shows {child.get('show')}, expected {one}"
            if wrong:
                return f"[{nth}]: {wrong}"
        return None
    form = FORMS[kind]
    if form == "hexadecimal":
        seen, wanted = field.get("value") if value else "", value
    elif form == "bool":
        seen, wanted = show in ("1", "True"), value
    elif form in ("number", "decimal", "hresult"):
        seen, wanted = int(show, 0), int(value, 0) if isinstance(value, str) else value
    elif form == "text":
        seen, wanted = show, as_shown(value)
    else:
        seen, wanted = show.lower(), value
    return None if seen == wanted else f"shows {seen!r}, expected {wanted!r}"


def types_of(rows, value):
    """Types of the fields of a value by name, with those of all structs."""
    is_there = lambda when: "field" not in when or value.get(when["field"]) == when["is"]
    all_rows = [row for one in GRAMMAR["structs"] for row in one["fields"]] + [row for row in rows if is_there(row.get("when", {}))]
    return {row["name"]: (row["type"], row.get("items")) for row in all_rows}
