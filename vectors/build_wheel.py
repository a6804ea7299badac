"""The wheel of this directory, as PEP 517 asks for it: `pip wheel .`, `pip install .`. Python's standard library is enough."""
import base64
import hashlib
import json
import pathlib
import zipfile

HERE = pathlib.Path(__file__).resolve().parent
MODULE = "dotnet_diagnostics_ipc_vectors"
DATA = ["*.json", "exchanges/*.json", "schema/*.json", "*.md", "exchanges/*.md"]


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    release = json.loads((HERE / "index.json").read_text(encoding="utf-8"))["release"]
    about = f"{MODULE}-{release}.dist-info"
    files = {f"{MODULE}/__init__.py": (HERE / "vectors.py").read_bytes()}
    for path in sorted({path for pattern in DATA for path in HERE.glob(pattern)}):
        if path.name != "package.json":
            files[f"{MODULE}/{path.relative_to(HERE).as_posix()}"] = path.read_bytes()
    for path in sorted(HERE.glob("LICENSE-*")):
        files[f"{about}/licenses/{path.name}"] = path.read_bytes()
    files[f"{about}/METADATA"] = (
        f"Metadata-Version: 2.1\nName: {MODULE.replace('_', '-')}\nVersion: {release}\nRequires-Python: >=3.8\n"
        "Summary: Golden vectors of the .NET Diagnostic IPC Protocol (DOTNET_IPC_V1)\nLicense: MIT OR Apache-2.0\n").encode()
    files[f"{about}/WHEEL"] = b"Wheel-Version: 1.0\nGenerator: build_wheel.py\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    record = "".join(f"{name},sha256={digest(content)},{len(content)}\n" for name, content in files.items())
    files[f"{about}/RECORD"] = f"{record}{about}/RECORD,,\n".encode()
    name = f"{MODULE}-{release}-py3-none-any.whl"
    with zipfile.ZipFile(pathlib.Path(wheel_directory) / name, "w", zipfile.ZIP_DEFLATED) as wheel:
        for inside, content in files.items():
            # The same bytes on every machine.
            wheel.writestr(zipfile.ZipInfo(inside, (2020, 1, 1, 0, 0, 0)), content, zipfile.ZIP_DEFLATED)
    return name


def digest(content):
    return base64.urlsafe_b64encode(hashlib.sha256(content).digest()).decode().rstrip("=")
