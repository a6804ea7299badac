"""The comparison of all scripts here: prints one line per check, and counts what differs."""
import sys
import time

SKIP = 77
wrong = skipped = 0


class Differs(Exception):
    """What a runtime does is not what a script expects."""


class Unavailable(Exception):
    """A requirement of a check is not available here."""


def expect(condition, text):
    if not condition:
        raise Differs(text)


def equal(seen, wanted, what="answered"):
    """Expects a value; bytes are shown in hexadecimal."""
    shown = lambda value: value.hex() or "nothing" if isinstance(value, bytes) else repr(value)
    expect(seen == wanted, f"{what} {shown(seen)}; expected: {shown(wanted)}")


def eventually(condition, seconds):
    """Returns whether the condition becomes true in time."""
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
    """Calls a function that checks a runtime and returns what it saw. An exception is counted, and does not end the script."""
    global wrong, skipped
    try:
        print(f"agrees  {what}: {function(*arguments)}", flush=True)
    except Unavailable as why:
        print(f"SKIPPED {what}: {why}", file=sys.stderr, flush=True)
        skipped += 1
    except Exception as fault:
        print(f"differs {what}: {type(fault).__name__}: {fault}", flush=True)
        wrong += 1


def skip(why):
    """Exits because nothing can be checked here."""
    print(f"SKIPPED: {why}", file=sys.stderr)
    sys.exit(SKIP)


def finish(otherwise=0):
    """Exits with 1 if a check differs, with 77 if one was skipped."""
    sys.exit(1 if wrong else SKIP if skipped else otherwise)
