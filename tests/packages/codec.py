"""A codec of strings, and of a header with two of them, run over the vectors of an installed package."""
import struct
import dotnet_diagnostics_ipc_vectors as vectors

HEADER = struct.Struct("<14sH2sH")


def read_string(wire, at):
    (count,) = struct.unpack_from("<I", wire, at)
    units = struct.unpack_from(f"<{count}H", wire, at + 4)
    if count and units[-1]:
        raise struct.error("no NUL")
    text = b"".join(struct.pack("<H", unit) for unit in units[:-1])
    try:
        return (text.decode("utf-16-le") if count else None), at + 4 + 2 * count
    except UnicodeDecodeError:
        return {"utf16": list(units[:-1])}, at + 4 + 2 * count


def decode(kind, wire):
    if kind == "string":
        return read_string(wire, 0)[0]
    magic, size, code, _ = HEADER.unpack_from(wire)
    if magic != b"DOTNET_IPC_V1\0" or size != len(wire) or code != b"\x04\x03":
        raise struct.error("not SetEnvironmentVariable")
    name, at = read_string(wire, HEADER.size)
    return {"name": name, "value": read_string(wire, at)[0]}


tried = 0
for group in (group for file in vectors.read("index.json")["files"] for group in vectors.read(file["name"])["groups"]):
    if group["type"] == "string" or (group["type"], group["command"]) == ("request", "Process/SetEnvironmentVariable"):
        for test in group["tests"]:
            tried += 1
            try:
                value = decode(group["type"], bytes.fromhex(test["wire"]))
            except struct.error:
                assert test["result"] == "invalid" and test["error"]["layer"] != "limits", (test["tcId"], "refused")
            else:
                assert test["result"] != "invalid" or test["error"]["layer"] == "limits", (test["tcId"], "taken")
                assert value == test["value"], (test["tcId"], value)
print(tried, "tests")
