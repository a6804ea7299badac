"""Prints one line per check, and counts differences. Used by the other scripts here."""

wrong = 0


def check(what, is_right, said=""):
    global wrong
    print(f"{what}: {'as expected' if is_right else 'DIFFERS'}", flush=True)
    if not is_right:
        wrong += 1
        print(said, flush=True)
