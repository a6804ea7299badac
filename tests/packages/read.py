"""Reads every vector of an installed package; a string's units survive."""
import dotnet_diagnostics_ipc_vectors as vectors

tried = 0
for group in (group for file in vectors.read("index.json")["files"] for group in vectors.read(file["name"])["groups"]):
    for test in group["tests"]:
        tried += 1
        wire = bytes.fromhex(test["wire"] or "")
        if group["type"] == "string" and isinstance(test["value"], str) and test["canonical"]:
            assert wire[4:-2].decode("utf-16-le") == test["value"], test["tcId"]
print(tried, "tests")
