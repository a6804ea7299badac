"""vectors/exchanges/lifetime.json: signals that end a runtime, and its socket after them.

The document does not say when a socket is removed. A program may handle a signal itself and exit normally, so both are right where the
runtime has no handler.
"""
from script import ScriptFile, alive, answers, dead, deviation, signal, socket, target

FILE = ScriptFile("lifetime", "Signals, and the socket after them, played against a runtime that was started for it", 20700, 20719)
ALONE = target(environment={"DIAG_SCRIPT": "alone"}, platform="linux")
HABIT = "F-61"


def script(sc, name, comment, spec, steps, *deviations, needs=ALONE, since=None):
    FILE.client(sc, name, comment, since=since, hazard="harmful", needs=needs, spec=spec, steps=steps, habit=HABIT, deviations=deviations)


def leaves(fact, begin=3):
    return deviation(fact, "the file of the socket stays", begin, socket("there"))


def ends_by(name, presence):
    return [answers("a"), socket("there"), signal(name), dead(), socket(presence)]


def behind_the_end(steps):
    """Returns the number of the last step, which checks the socket."""
    return sum(len(one) if isinstance(one, list) else 1 for one in steps) - 1


for sc, name, facts in ((20700, "term", ("P-49", "F-109")), (20701, "int", ("F-109",))):
    steps = ends_by(name, "gone")
    script(sc, f"socket-after-sig{name}", f"SIG{name.upper()} ends a runtime, which removes its socket", [HABIT, "P-49", "F-109", "R-TRN-017"], steps,
           *(leaves(fact, behind_the_end(steps)) for fact in facts))
for sc, name in ((20702, "hup"), (20703, "kill")):
    script(sc, f"socket-after-sig{name}", f"SIG{name.upper()} ends a runtime, and the file of its socket stays", [HABIT, "F-82", "P-49", "R-TRN-017"],
           ends_by(name, "there"))
HELD = ends_by("term", "gone")
script(20704, "suspended-sigterm", "SIGTERM ends a runtime that is suspended, which removes its socket", [HABIT, "P-50", "F-109", "R-TRN-017"],
       HELD,
       deviation("P-50", "it runs on", behind_the_end(HELD) - 1, alive(), answers("b"), alive(), socket("there")),
       leaves("P-49", behind_the_end(HELD)), leaves("F-109", behind_the_end(HELD)),
       needs=target(suspended=True, platform="linux"), since="5.0")
script(20705, "suspended-sigint", "SIGINT ends a runtime that is suspended, which removes its socket", [HABIT, "P-50", "F-109", "R-TRN-017"],
       ends_by("int", "gone"), leaves("F-109", behind_the_end(HELD)), needs=target(suspended=True, platform="linux"), since="5.0")
