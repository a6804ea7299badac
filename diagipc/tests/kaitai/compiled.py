"""A .ksy, compiled to Python and JavaScript in a directory for adapter.py and adapter.js."""
import os
import pathlib
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[2]


class Missing(Exception):
    """Something that is not available here."""


def quietly(*command, **options):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, **options)
    if done.returncode:
        raise Missing(f"{' '.join(map(str, command))}: {(done.stderr or done.stdout).strip()[-400:]}")


def packages():
    """The compiler and the runtimes of both languages, of the versions in package-lock.json and requirements.txt. Fetched once."""
    target = pathlib.Path(os.environ.get("CARGO_TARGET_DIR") or ROOT / "target") / "kaitai"
    pinned = {name: (HERE / name).read_bytes() for name in ("package.json", "package-lock.json", "requirements.txt")}
    if all((target / name).exists() and (target / name).read_bytes() == data for name, data in pinned.items()):
        return target
    for program in "node", "npm":
        if not shutil.which(program):
            raise Missing(f"no {program}")
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir(parents=True)
    try:
        for name in "package.json", "package-lock.json":
            (target / name).write_bytes(pinned[name])
        quietly("npm", "ci", "--silent", "--ignore-scripts", cwd=target)
        quietly(sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--require-hashes",
                "--target", target / "python", "-r", HERE / "requirements.txt")
        # Last: it marks the directory as complete.
        (target / "requirements.txt").write_bytes(pinned["requirements.txt"])
    except Missing:
        shutil.rmtree(target, ignore_errors=True)
        raise
    return target


def compiled(ksy, directory, *languages):
    """Compiles it, also to other languages. Returns the compiler's error, or None."""
    fetched = packages()
    for name in "node_modules", "python":
        (pathlib.Path(directory) / name).symlink_to(fetched / name)
    command = ["node", HERE / "compile.js", ksy, directory, *languages]
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True)
    return (done.stderr or "it failed").strip() if done.returncode else None
