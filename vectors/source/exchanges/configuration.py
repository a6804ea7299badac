"""vectors/exchanges/configuration.json: the variables that switch the server off, or suspend its start, with values that are read in
several ways."""
from notation import array, boolean, header, message, string, u32, u64
from script import (END_OF_NETTRACE, THREADS, ScriptFile, alive, answers, deviation, drain, ended, event, expect, expect_any_of, nettrace,
                    no_connection, no_event, ok_head, open_, port, same, send, session, socket, target, wait)

FILE = ScriptFile("configuration", "Variables that configure the server, played against a runtime that was started with them", 20720, 20759)
SUSPEND, ENABLE = "DOTNET_DefaultDiagnosticPortSuspend", "DOTNET_EnableDiagnostics"
SESSION = message(0x0203, u32(1), u32(1), boolean(False), array(THREADS))
RESUMED = [open_("r"), send("r", message(0x0401)), expect("r", message(0xFF00, u32(0))), ended("r")]
BEGUN = [open_("s"), send("s", SESSION), expect("s", session())]
# The session streams (F-112), and its stop is answered.
RUNS = [expect_any_of("s", *nettrace()), event("s"), drain("s"), open_("t"), send("t", header(0x0201, 28), same("session")),
        expect("t", ok_head(8), same("session")), ended("t"), ended("s", last=END_OF_NETTRACE)]


# --- what suspends ---------------------------------------------------------------------------------------------------
def suspends(sc, name, value, comment, is_held, others=None):
    """Adds a script. `others` is whether NativeAOT is held, where it differs from CoreCLR."""
    held, runs = [*BEGUN, no_event("s", 1000), *RESUMED, *RUNS], [*BEGUN, *RUNS]
    deviations = []
    if others is not None:
        text = "it suspends" if others else "it suspends nothing"
        deviations = [deviation("F-106", text, len(BEGUN), *(held if others else runs)[len(BEGUN):])]
    FILE.client(sc, f"suspend-{name}", f"{SUSPEND}={value!r}: {comment}", since="5.0", hazard="side-effect", habit="F-86",
                needs=target(environment={SUSPEND: value}, wants=["suspension"]), spec=["F-86", "F-106", "P-14", "R-PRT-018"],
                steps=held if is_held else runs, deviations=deviations)


suspends(20720, "with-a-zero-in-front", "01", "a number that is not 0", True)
suspends(20721, "in-hexadecimal", "f", "a hexadecimal digit", True)
suspends(20722, "with-a-prefix", "0x1", "a number with its prefix", True, others=False)
suspends(20723, "behind-a-space", " 1", "white space may precede it", True, others=False)
suspends(20724, "negative", "-1", "a sign may precede it", True, others=False)
suspends(20725, "with-17-digits", "0" * 16 + "1", "leading zeroes are ignored", True, others=False)
suspends(20726, "with-a-letter-behind", "1x", "what follows the number is ignored", True, others=False)
suspends(20727, "true", "true", "not a number, as if it were unset", False)
suspends(20728, "beyond-32-bits", "100000000", "its last 32 bits are 0, and it is too large", False)
suspends(20729, "beyond-32-bits-with-a-rest", "1ffffffff", "too large, as if it were unset", False, others=True)
suspends(20730, "zero", "0", "it suspends nothing", False)
suspends(20731, "empty", "", "as if it were unset", False)


# --- what switches the server off --------------------------------------------------------------------------------------
def off(sc, name, variable, value, comment, *, aot_listens, ports=()):
    # A runtime starts within this time, even on a busy machine.
    steps = [no_connection(3000, one["id"]) for one in ports] or [wait(3000)]
    deviations = [deviation("F-107", "it has a server", 0, socket("there", within=30000), alive())] if aot_listens else []
    FILE.client(sc, f"diagnostics-off-{name}", comment, since="6.0", hazard="side-effect", habit="F-63", deviations=deviations,
                needs=target(ports=ports, environment={variable: value}, platform="linux", default_port=False),
                spec=["F-63", "F-107", "P-51", "R-TRN-018"], steps=[*steps, socket("gone"), alive()])


def on(sc, name, variable, value, comment):
    FILE.client(sc, f"diagnostics-on-{name}", comment, since="6.0", hazard="side-effect", habit="F-63",
                needs=target(environment={variable: value}), spec=["F-63", "F-107", "P-51", "R-TRN-018"], steps=[answers("a"), alive()])


off(20740, "by-0", ENABLE, "0", f"{ENABLE}=0: no socket, and the program runs", aot_listens=False)
off(20741, "ports", ENABLE, "0", f"{ENABLE}=0: the runtime connects to no port, and no port holds the start", aot_listens=False,
    ports=[port("p", suspend=True)])
off(20742, "by-0x0", ENABLE, "0x0", f"{ENABLE}=0x0: a number with its prefix", aot_listens=True)
off(20743, "ipc", ENABLE + "_IPC", "0", f"{ENABLE}_IPC=0: only the server is switched off", aot_listens=True)
off(20744, "old-name", "COMPlus_EnableDiagnostics", "0", "COMPlus_EnableDiagnostics=0: the old prefix is read too", aot_listens=True)
on(20745, "by-false", ENABLE, "false", f"{ENABLE}=false: it begins with a hexadecimal digit that is not 0, so the server exists")
on(20746, "by-nothing", ENABLE, "", f"{ENABLE} empty: the server exists")
on(20747, "debugger", ENABLE + "_Debugger", "0", f"{ENABLE}_Debugger=0: the server exists")
