"""The steps of a runtime that answers an operation, which several families of scenarios share."""
from answers import COOKIE
from nettrace import HEAD, TAIL
from notation import guid, string, u64
from scenario import ENTRIES, STREAMS, announced, answer, block, descriptor, of_default, ok, stop
from script import accept, close

FIELDS = [u64(4242), guid(COOKIE), *map(string, ("app --serve", "Linux", "x64", "app", "10.0.9"))]


def payload(operation, session=42):
    """Returns the payload of the OK."""
    return {"process-info": FIELDS, "environment": [announced(block(*ENTRIES))], "stop": [u64(session)], "trace": [u64(42)],
            "trace-port": [u64(42)], "user-events": [u64(42)]}.get(operation, [bytes(4)])


def asked(operation, *steps, command=None):
    """Returns the steps for the request and, for user_events, the descriptor."""
    return of_default(operation, *([descriptor("a")] if operation == "user-events" else []), *steps, command=command)


def answered(operation, session=42, in_bytes=False, reserved=0, command=None):
    """Returns an OK, and what follows it. With `in_bytes` it arrives byte by byte."""
    sent = ok(*payload(operation, session), reserved=reserved)
    reply = answer("a", sent, chunks=[1] * len(sent) if in_bytes else None)
    if operation in STREAMS:
        return asked(operation, reply, answer("a", HEAD), accept("b"), stop("b"), answer("a", TAIL), answer("b", ok(u64(42))), close("b"), close("a"),
                     command=command)
    if operation == "environment":
        return asked(operation, reply, answer("a", block(*ENTRIES)), close("a"))
    return asked(operation, reply, close("a"))
