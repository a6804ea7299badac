"""Prints one line per check, and counts differences. Used by the other scripts here."""
import struct
import time

wrong = 0


class Differs(Exception):
    """What a runtime does is not what a script expects."""


def expect(condition, text):
    if not condition:
        raise Differs(text)


def eventually(condition, seconds):
    """Whether it becomes true in time."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True


def check(what, is_right, said=""):
    global wrong
    print(f"{what}: {'as expected' if is_right else 'DIFFERS'}", flush=True)
    if not is_right:
        wrong += 1
        print(said, flush=True)


def agrees(what, function, *arguments):
    """Calls a function that checks a runtime and returns what it saw. A difference that it raises is counted, and does not end the script."""
    global wrong
    try:
        print(f"agrees  {what}: {function(*arguments)}", flush=True)
    except (Differs, OSError, ValueError, struct.error) as fault:
        print(f"differs {what}: {type(fault).__name__}: {fault}", flush=True)
        wrong += 1
