"""Common parts of the scripts that play a runtime: requests that the client under test must write, with its instructions."""
from notation import array, boolean, message, string, u32, u64
from script import accept, close, ended, expect, open_, send

COOKIE = "123e4567-e89b-12d3-a456-426614174000"
SUCCESS = message(0xFF00, u32(0))
GENERIC_OK = message(0xFF00)
OK_VALUE = {"hresult": "0x00000000"}


def ask(command, value=None, **keys):
    return {"command": command, "value": value or {}, **keys}


def ok(reply, then="close", **keys):
    return {"outcome": "ok", "reply": reply, "then": then, **keys}


def error_is(hresult, **keys):
    return {"outcome": "error", "hresult": f"0x{hresult:08X}", **keys}


def malformed(layer, kind, offset):
    return {"outcome": "malformed", "error": {"layer": layer, "kind": kind, "offset": offset}}


def no_reply(end):
    return {"outcome": "no_reply", "end": end}


def cut(received, end):
    return {"outcome": "cut", "received": received, "end": end}


def answered(request, *replies, on="a", **how):
    """Returns a connection: the request, the answer, and the runtime closes."""
    return [accept(on), expect(on, request), [send(on, reply, **how) for reply in replies], close(on)]


def left_open(request, *replies, on="a"):
    """Returns a connection that the runtime does not close; the client must not wait for that."""
    return [accept(on), expect(on, request), [send(on, reply) for reply in replies], ended(on, "any", within=3000)]


# One provider, in each form.
PROVIDER = u64(1) + u32(4) + string("Provider") + string(None)
PROVIDER_VALUE = {"keywords": "1", "logLevel": 4, "provider_name": "Provider", "arguments": None}
NO_FILTER = boolean(False) + u32(0)
NO_FILTER_VALUE = {"enable": False, "event_ids": []}
FILTER, FILTER_VALUE = boolean(True) + array(u32(7)), {"enable": True, "event_ids": [7]}
FILTERED_VALUE = {**PROVIDER_VALUE, "filter": NO_FILTER_VALUE}
USER_PROVIDER = PROVIDER + NO_FILTER + string("Point") + array()
USER_PROVIDER_VALUE = {**FILTERED_VALUE, "config": {"default_tracepoint_name": "Point", "tracepoints": []}}

COLLECT = message(0x0202, u32(250), u32(1), array(PROVIDER))
COLLECT_VALUE = {"circularBufferMB": 250, "format": 1, "providers": [PROVIDER_VALUE]}
COLLECT2 = message(0x0203, u32(250), u32(1), boolean(True), array(PROVIDER))
COLLECT2_VALUE = {"circularBufferMB": 250, "format": 1, "requestRundown": True, "providers": [PROVIDER_VALUE]}
COLLECT3_VALUE = {**COLLECT2_VALUE, "requestStackwalk": True}


def collect3(stacks=True, rundown=True):
    return message(0x0204, u32(250), u32(1), boolean(rundown), boolean(stacks), array(PROVIDER))


def collect4(rundown=0x80020139, stacks=True):
    return message(0x0205, u32(250), u32(1), u64(rundown), boolean(stacks), array(PROVIDER))


def collect4_value(rundown=0x80020139, stacks=True):
    return {"circularBufferMB": 250, "format": 1, "rundownKeyword": str(rundown), "requestStackwalk": stacks,
            "providers": [PROVIDER_VALUE]}


def collect5(rundown=0x80020139, stacks=True, event_filter=NO_FILTER):
    return message(0x0206, u32(0), u32(250), u32(1), u64(rundown), boolean(stacks), array(PROVIDER + event_filter))


def collect5_value(rundown=0x80020139, stacks=True, event_filter=None):
    return {"session_type": 0, "streaming_circularBufferMB": 250, "streaming_format": 1, "rundownKeyword": str(rundown),
            "requestStackwalk": stacks,
            "providers": [{**PROVIDER_VALUE, "filter": event_filter or NO_FILTER_VALUE}]}


def collect6(mode=0, **keys):
    request = collect5(**keys)
    return message(0x0207, request[20:], u32(mode))


def collect6_value(mode=0, **keys):
    return {**collect5_value(**keys), "sessionBufferMode": mode}


COLLECT_USER = message(0x0206, u32(1), u64(0), array(USER_PROVIDER))
COLLECT_USER_VALUE = {"session_type": 1, "rundownKeyword": "0", "providers": [USER_PROVIDER_VALUE]}


def session_ok(session_id):
    return message(0xFF00, u64(session_id))


def stop(session_id):
    return message(0x0201, u64(session_id))
