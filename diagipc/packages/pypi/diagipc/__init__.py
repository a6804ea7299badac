"""The golden vectors of the .NET Diagnostic IPC Protocol. The tool is the program `diagipc`, or `python -m diagipc`."""
import pathlib


def vectors():
    """The directory of the vectors: `index.json` lists its files."""
    return pathlib.Path(__file__).parent / "vectors"
