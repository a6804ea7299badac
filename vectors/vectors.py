"""The golden vectors of the .NET Diagnostic IPC Protocol; index.json lists the files, README.md explains them."""
import json
import pathlib

DIRECTORY = pathlib.Path(__file__).parent


def read(name):
    """A file of this package: `read("index.json")`."""
    return json.loads((DIRECTORY / name).read_text(encoding="utf-8"))
