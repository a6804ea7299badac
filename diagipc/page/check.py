#!/usr/bin/env python3
"""check.py [DIRECTORY]

The page that explains bytes, built and used in headless Chromium, which is driven over a pipe: pasted text in every form, files, drops, links,
hostile text, large input, and its width on a phone and a desktop. Leaves pictures in DIRECTORY if given. Prints one line per check; exits
with 1 if one fails, with 77 without Chromium or without the target wasm32-unknown-unknown. With `diagipc` in $DIAGIPC it also compares the
page with what the tool prints.
"""
import base64
import contextlib
import fcntl
import json
import os
import pathlib
import select
import shutil
import socket
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
SKIP = 77
MAGIC = "444f544e45545f4950435f563100"
STOP = f"{MAGIC}1c00020100002a00000000000000"
CUT = f"{MAGIC}1600020100002a00"
HOSTILE = "<img src=x onerror=\"document.title='taken'\"><script>document.title='taken'</script>"
TITLE = "Explain bytes: .NET Diagnostic IPC"


class Browser:
    """Chromium, and one page in it."""

    def __init__(self, program, directory):
        # The program reads commands from descriptor 3 and writes to 4: ours are elsewhere, so that none is overwritten.
        def above(fd):
            moved = fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, 10)
            os.close(fd)
            return moved
        theirs_in, self.out = map(above, os.pipe())
        self.input, theirs_out = map(above, os.pipe())

        def descriptors():
            os.dup2(theirs_in, 3)
            os.dup2(theirs_out, 4)
        command = [program, "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync",
                   "--disable-background-networking", "--disable-component-update", "--hide-scrollbars", "--remote-debugging-pipe",
                   f"--user-data-dir={directory}/profile", "about:blank"]
        self.process = subprocess.Popen(command, preexec_fn=descriptors, pass_fds=(3, 4), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                        stderr=subprocess.DEVNULL)
        os.close(theirs_in)
        os.close(theirs_out)
        self.received, self.number, self.session, self.events = b"", 0, None, []
        pages = [one for one in self.call("Target.getTargets")["targetInfos"] if one["type"] == "page"]
        self.session = self.call("Target.attachToTarget", targetId=pages[0]["targetId"], flatten=True)["sessionId"]
        for domain in "Page", "Runtime", "Network", "Log", "DOM", "Accessibility":
            self.call(f"{domain}.enable")

    def close(self):
        self.process.kill()
        self.process.wait()

    def message(self, deadline):
        while b"\0" not in self.received:
            if not select.select([self.input], [], [], max(0, deadline - time.monotonic()))[0]:
                sys.exit("Chromium does not answer")
            piece = os.read(self.input, 1 << 20)
            if not piece:
                sys.exit("Chromium has ended")
            self.received += piece
        message, _, self.received = self.received.partition(b"\0")
        return json.loads(message)

    def call(self, method, **parameters):
        self.number += 1
        request = {"id": self.number, "method": method, "params": parameters}
        if self.session:
            request["sessionId"] = self.session
        request = json.dumps(request).encode() + b"\0"
        while request:
            request = request[os.write(self.out, request):]
        deadline = time.monotonic() + 120
        while True:
            said = self.message(deadline)
            if said.get("id") == self.number:
                if "error" in said:
                    sys.exit(f"{method}: {said['error']}")
                return said["result"]
            self.events.append(said)

    def ask(self, expression):
        """The value of JavaScript in the page, awaited."""
        said = self.call("Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True, userGesture=True)
        if "exceptionDetails" in said:
            sys.exit(f"{expression}: {said['exceptionDetails']}")
        return said["result"].get("value")

    def until(self, expression):
        deadline = time.monotonic() + 60
        while not self.ask(expression):
            if time.monotonic() > deadline:
                sys.exit(f"never: {expression}")
            time.sleep(0.05)

    def open(self, url):
        # Another fragment alone would not load the page.
        self.call("Page.navigate", url="about:blank")
        self.until("location.href == 'about:blank'")
        self.call("Page.navigate", url=url)
        self.until("document.readyState == 'complete' && 'ready' in document.documentElement.dataset")

    def picture(self, path):
        size = self.call("Page.getLayoutMetrics")["cssContentSize"]
        height = min(size["height"], 6000)
        clip = {"x": 0, "y": 0, "width": size["width"], "height": height, "scale": 1}
        path.write_bytes(base64.b64decode(self.call("Page.captureScreenshot", clip=clip, captureBeyondViewport=True)["data"]))


# What the page shows, as text.
SHOWN = """(() => {
  const text = id => document.getElementById(id).textContent;
  const rows = article => [...article.querySelectorAll("tbody tr")].map(row => [...row.cells].map(cell => cell.className == "bytes"
    ? [...cell.querySelectorAll("span")].map(one => one.textContent).join(" ") : cell.textContent).concat(row.className));
  const items = [...document.querySelectorAll("article")].map(one => ({
    title: one.querySelector("h2").textContent, says: [...one.querySelectorAll(":scope > p")].map(p => p.textContent),
    rows: rows(one), json: one.querySelector("details:last-of-type pre")?.textContent ?? null }));
  return { read: text("read"), wrong: text("wrong"), said: text("said"), items, next: document.getElementById("next").hidden ? null : text("next") };
})()"""


class Page:
    """The page as someone uses it."""

    def __init__(self, browser, url):
        self.browser, self.url = browser, url

    def paste(self, text, **choices):
        self.browser.ask("document.getElementById('clear').click()")
        for name, value in choices.items():
            self.choose(name, value)
        self.browser.ask(f"document.getElementById('text').value = {json.dumps(text)}; "
                         "document.getElementById('text').dispatchEvent(new Event('input'))")
        # Typing is explained after a pause.
        self.browser.ask("new Promise(done => setTimeout(done, 300))")
        return self.shown()

    def choose(self, name, value):
        self.browser.ask(f"document.getElementById('{name}').value = {json.dumps(value)}; "
                         f"document.getElementById('{name}').dispatchEvent(new Event('change'))")

    def shown(self):
        return self.browser.ask(SHOWN)

    def file(self, path):
        self.browser.ask("document.getElementById('clear').click()")
        node = self.browser.call("Runtime.evaluate", expression="document.getElementById('file')")["result"]["objectId"]
        self.browser.call("DOM.setFileInputFiles", files=[str(path)], objectId=node)
        self.browser.until("document.getElementById('read').textContent + document.getElementById('wrong').textContent != ''")
        return self.shown()

    def drop(self, *paths):
        self.browser.ask("document.getElementById('clear').click()")
        data = {"items": [], "files": [str(path) for path in paths], "dragOperationsMask": 1}
        for kind in "dragEnter", "dragOver", "drop":
            self.browser.call("Input.dispatchDragEvent", type=kind, x=200, y=200, data=data)
        self.browser.until("document.getElementById('read').textContent + document.getElementById('wrong').textContent != ''")
        return self.shown()


def text_bytes(text):
    """A string of the protocol."""
    return ((len(text) + 1).to_bytes(4, "little") + (text + "\0").encode("utf-16-le")).hex()


def main():
    if len(sys.argv) > 2 or any(word.startswith("-") for word in sys.argv[1:]):
        sys.exit(__doc__)
    program = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if not program:
        print("SKIPPED: no Chromium here", file=sys.stderr)
        sys.exit(SKIP)
    wrong = 0

    def check(what, is_so, seen):
        nonlocal wrong
        wrong += not is_so
        print(f"{'ok' if is_so else 'WRONG'}: {what}: {seen}", flush=True)

    with contextlib.ExitStack() as stack:
        directory = pathlib.Path(stack.enter_context(tempfile.TemporaryDirectory(ignore_cleanup_errors=True)))
        # A name as of a directory of someone's.
        file = directory / "my pages" / "decode.html"
        status = subprocess.run([sys.executable, HERE / "build.py", "--out", file]).returncode
        if status:
            sys.exit(status)
        pictures = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else directory
        pictures.mkdir(exist_ok=True)
        browser = Browser(program, directory)
        stack.callback(browser.close)
        page = Page(browser, file.as_uri())
        browser.open(page.url)
        forms(page, check)
        meanings(page, check)
        files(page, directory, check)
        links(page, browser, check)
        hostile(page, browser, directory, check)
        large(page, browser, directory, check)
        people(page, browser, pictures, check)
        alone(browser, check)
    sys.exit(1 if wrong else 0)


def forms(page, check):
    octal = "".join(f"\\{byte:03o}" for byte in bytes.fromhex(STOP))
    dump = f"00000000: {STOP[:32]}  DOTNET_IPC_V1...\n00000010: {STOP[32:]}  ....*.......\n"
    array = "byte[] stop = { " + ", ".join(f"0x{byte:02x}" for byte in bytes.fromhex(STOP)) + " };"
    for text, read in [
        (STOP, "hexadecimal"), (dump, "a hex dump"), (array, "an array"), (f'write(3, "{octal}", 28) = 28', "strings"),
        (base64.b64encode(bytes.fromhex(STOP)).decode(), "base64"),
        (f"> 2026/11/29 01:00:23.000883525  length=28 from=0 to=27\n {STOP}\n--\n", "a log of socat"),
        (f"<Buffer {' '.join(STOP[at:at + 2] for at in range(0, 56, 2))}>", "a buffer of Node"),
        (f"> ```\n> 2026-11-29T01:00:23Z DEBUG sent: {STOP}\n> ```", "hexadecimal"),
        ("0000000   D   O   T   N   E   T   _   I   P   C   _   V   1  \\0 034  \\0\n0000020 002 001  \\0  \\0   *  \\0  \\0  \\0  \\0  \\0  \\0  \\0\n",
         "a dump of od -c"),
        ("000001f4`3c5a1000  44 4f 54 4e 45 54 5f 49-50 43 5f 56 31 00 1c 00  DOTNET_IPC_V1...\n"
         "000001f4`3c5a1010  02 01 00 00 2a 00 00 00-00 00 00 00              ....*.......\n", "a hex dump"),
    ]:
        seen = page.paste(text)
        titles = [item["title"] for item in seen["items"]]
        check(f"{read} is read", seen["read"] == f"Read as {read}: 28 bytes."
              and titles == ["request EventPipe/StopTracing, 0x0201, 28 bytes at offset 0"], seen["read"])
    for text, said in [
        ("44 4f\n5g", "Read as hexadecimal: line 2, column 2: 'g' is not a hexadecimal digit, and it looks like no dump, log of socat, buffer of Node, "
         "array, strings or base64"),
        ("{ 0x44,\n 0x4f4f }", "Read as an array: line 2, column 2: 0x4f4f is not a byte: it is not from -128 to 255"),
        ("hello!", "Read as hexadecimal: line 1, column 1: 'h' is not a hexadecimal digit, and it looks like no dump, log of socat, buffer of Node, array, "
         "strings or base64"),
    ]:
        seen = page.paste(text)
        check("a mistake is named with its form and its place", seen["wrong"] == said and not seen["items"], seen["wrong"])
    seen = page.paste('read(3, "DOTNET_I"..., 131072) = 28')
    check("a string that was cut is shown with what is missing", seen["read"]
          == "Read as strings: 8 bytes. Left out after byte 8: 20 bytes that strace has cut." and len(seen["items"]) == 1, seen["read"])
    seen = page.paste("44 4f", **{"as": "text"})
    check("a chosen form is taken", seen["read"] == "Read as the characters themselves: 5 bytes.", seen["read"])
    seen = page.paste("   ")
    check("no text is no mistake", (seen["read"], seen["wrong"], seen["items"]) == ("", "", []), "nothing is shown")


def meanings(page, check):
    seen = page.paste(CUT)
    cut = {
        "title": "request EventPipe/StopTracing, 0x0201, 22 bytes at offset 0",
        "says": ["malformed ",
                 "error: the field needs 8 bytes, the payload has 2 left (payload unexpected_end at byte 20 in StopTracing.sessionId)",
                 "expected answer: 0x80131384 DS_IPC_E_BAD_ENCODING; recorded builds may accept it, or end (F-7, F-72)"],
        "rows": [["000000", "44 4f 54 4e 45 54 5f 49 50 43 5f 56 31 00", "magic", '"DOTNET_IPC_V1"', ""],
                 ["00000e", "16 00", "size", "22 = 20 + 2", ""], ["000010", "02", "command_set", "0x02 EventPipe", ""],
                 ["000011", "01", "command_id", "0x01 StopTracing", ""], ["000012", "00 00", "reserved", "0x0000", ""],
                 ["000014", "2a 00", "", "not decoded", "wrong"]],
    }
    have = [{name: item[name] for name in cut} for item in seen["items"]]
    check("a cut request: its parts, its fault, the answer", have == [cut], json.dumps(have))
    seen = page.paste(STOP)
    is_so = "canonical: encoding it again gives these bytes" in seen["items"][0]["says"] \
        and "a server of .NET 3.1 or later answers OK with SessionReply; or it answers with an error" in seen["items"][0]["says"] \
        and json.loads(seen["items"][0]["json"])["value"] == {"sessionId": "42"}
    check("a good request: canonical, the answer, its value", is_so, seen["items"][0]["says"])
    advertise = "414456525f56310067453e129be8d312a456426614174000393000000000000000000"[:68]
    stream = "4e65747472616365"
    environment = f"{MAGIC}1a00ff000000100000000000" + "01000000 04000000 41003d0062000000"
    seen = page.paste(f"{advertise} {MAGIC}140002030001 {MAGIC}1c00ff0000002a00000000000000 {stream}")
    check("an advertise, a request, its reply and a stream in one text", [item["title"] for item in seen["items"]] == [
        "advertise, 34 bytes at offset 0", "request EventPipe/CollectTracing2, 0x0203, 20 bytes at offset 34",
        "reply to EventPipe/CollectTracing2, 0xFF00, 28 bytes at offset 54",
        "continuation of EventPipe/CollectTracing2, 8 bytes at offset 82"], [item["title"] for item in seen["items"]])
    seen = page.paste(environment)
    hint = "Its meaning depends on the request: choose it in “Replies answer”."
    check("a reply alone asks for its request", hint in seen["items"][0]["says"], seen["items"][0]["says"])
    page.choose("request", "Process/ProcessEnvironment")
    seen = page.shown()
    check("and with it the environment is read", [row[2:4] for row in seen["items"][1]["rows"]][-1] == ["[0]", '"A=b"']
          or "A=b" in json.dumps(seen["items"][1]), json.dumps(seen["items"][1]["rows"]))
    seen = page.paste(f"{MAGIC}1c00ff0000012a00000000000000", request="EventPipe/StopTracing")
    check("not canonical is said", seen["items"][0]["title"].endswith(", not canonical") and "not canonical" in seen["items"][0]["says"][0],
          seen["items"][0]["title"])
    seen = page.paste(f"{MAGIC}180004050000 00000000")
    check("a limit is named, with the server's answer", any(
        said.startswith("expected answer: 0x80070057 DS_IPC_E_INVALIDARG; ") for said in seen["items"][0]["says"]), seen["items"][0]["says"])
    seen = page.paste(STOP[:-2])
    check("a message that is cut is an error", any("end_of_input" in said for said in seen["items"][0]["says"]), seen["items"][0]["says"])
    seen = page.paste("03000000 61006200 0000", kind="string")
    check("a piece is read as its type", seen["items"][0]["title"] == "string, 10 bytes at offset 0"
          and seen["items"][0]["rows"][1][3] == '"ab"', seen["items"][0]["rows"])
    count = page.browser.ask("document.getElementById('example').options.length - 1")
    vectors = json.loads((HERE.parents[1] / "vectors/small.json").read_text())
    titles, wrong, others, diagipc = [], [], [], os.environ.get("DIAGIPC")
    tests = {test["tcId"]: test for group in vectors["groups"] for test in group["tests"]}
    for nth in range(count):
        page.choose("example", str(nth))
        seen = page.shown()
        title = page.browser.ask(f"document.getElementById('example').options[{nth + 1}].textContent")
        test = tests[int(title.rsplit("(", 1)[1][:-1])]
        titles.append(title)
        refused = any(said.startswith(("refused ", "malformed ")) for item in seen["items"] for said in item["says"])
        # The vector says what is right: refused or not, canonical or not.
        says = " ".join(said for item in seen["items"] for said in item["says"])
        if len(seen["items"]) != 1 or refused != (test["result"] == "invalid") or (not refused and (
                "not canonical" in says) == test["canonical"] and "canonical" in says):
            wrong.append((title, says))
        if diagipc:
            shown = [line for item in seen["items"] for line in [item["title"], *(line for row in item["rows"] for line in laid_out(row)), *item["says"]]]
            shown = [" ".join(line.split()) for line in shown]
            # The page says more.
            others += [line for line in printed(diagipc, page.browser) if line and line not in shown]
    check("every example shows what its vector says", count == vectors["numberOfTests"] and not wrong, wrong or f"{count} examples")
    if diagipc:
        check("and each line that diagipc decode prints", not others, others or "the same")
    else:
        print("    not compared with diagipc decode: DIAGIPC is not set")


def laid_out(row):
    """The lines of a row, as the tool prints it."""
    offset, digits, field, text, _ = row
    digits = digits.split()
    yield f"{offset} {' '.join(digits[:16])} {field} {text}"
    for at in range(16, len(digits), 16):
        yield f"{int(offset, 16) + at:06x} {' '.join(digits[at:at + 16])}"


def printed(diagipc, browser):
    """The lines of `diagipc decode` with what is chosen in the page, with single spaces, and without how an option names a request."""
    hexadecimal, *choices = browser.ask("['text', 'kind', 'from', 'request'].map(id => document.getElementById(id).value)")
    options = [word for name, value in zip(("--kind", "--from", "--request"), choices) if value for word in (name, value)]
    said = subprocess.run([diagipc, "decode", *options, "--text", hexadecimal], capture_output=True, text=True)
    return [" ".join(line.split()) for line in said.stdout.replace(" (--request COMMAND names it)", "").splitlines()]


def files(page, directory, check):
    binary, text = directory / "stop.bin", directory / "stop.txt"
    binary.write_bytes(bytes.fromhex(STOP))
    text.write_text(f"{STOP[:28]}\n{STOP[28:]}\n")
    for how, take in ("chosen", page.file), ("dropped", page.drop):
        seen = take(binary)
        check(f"a {how} file of bytes", seen["read"] == "The file stop.bin: 28 bytes." and len(seen["items"]) == 1, seen["read"])
        seen = take(text)
        check(f"a {how} file of text", seen["read"] == "Read as hexadecimal: 28 bytes." and len(seen["items"]) == 1, seen["read"])
    capture = directory / "stop.pcapng"
    block = lambda kind, body: (frame := (len(body) + 12).to_bytes(4, "little")) and kind.to_bytes(4, "little") + frame + body + frame
    packet = b"DIPC\1\1\0\0\0\0\0\0" + bytes.fromhex(STOP)
    size = len(packet).to_bytes(4, "little")
    capture.write_bytes(block(0x0a0d0d0a, bytes.fromhex("4d3c2b1a01000000") + b"\xff" * 8) + block(1, b"\x93\0" + bytes(6))
                        + block(6, bytes(12) + size * 2 + packet))
    seen = page.file(capture)
    check("a capture", seen["read"] == "The file stop.pcapng: 120 bytes, a capture of 28 bytes." and len(seen["items"]) == 1, seen["read"])
    seen = page.drop(binary, text)
    check("two files are not guessed from", seen["wrong"] == "2 files were dropped; this page reads one at a time.", seen["wrong"])


def links(page, browser, check):
    page.paste(f"{MAGIC}1c00ff0000002a00000000000000", request="EventPipe/StopTracing")
    before = page.shown()["items"]
    browser.ask("document.getElementById('link').click()")
    link = browser.ask("location.href")
    check("a link has the bytes and the choices", link == f"{page.url}#hex={MAGIC}1c00ff0000002a00000000000000&request=EventPipe%2FStopTracing", link)
    browser.open(link)
    check("and opens what was shown", page.shown()["items"] == before and len(before) == 1, len(before))
    browser.open(f"{page.url}#hex={STOP}&request=Nothing%2FSuch")
    seen = page.shown()
    check("an unknown request in a link is named", seen["wrong"] == "The link has request=Nothing/Such, which this page does not know.", seen["wrong"])
    page.paste("00" * 20000)
    browser.ask("document.getElementById('link').click()")
    seen = page.shown()
    check("too many bytes for a link are refused", seen["said"] == "20000 bytes are too many for a link: at most 16384.", seen["said"])


def hostile(page, browser, directory, check):
    def untouched(what):
        seen = browser.ask("[document.title, document.querySelectorAll('main img, main script, main svg, main iframe').length]")
        check(f"{what} runs no script", seen == [TITLE, 0], seen)
    page.paste(HOSTILE)
    untouched("markup in the text")
    name, value = text_bytes(HOSTILE), text_bytes("</td></table><svg onload=document.title='taken'>")
    size = (20 + (len(name) + len(value)) // 2).to_bytes(2, "little").hex()
    seen = page.paste(f"{MAGIC}{size}04030000{name}{value}")
    untouched("markup in a message")
    check("and is shown as it is", json.loads(seen["items"][0]["json"])["value"]["name"] == HOSTILE, "as text")
    for fragment in [f"hex={HOSTILE}", f"hex={STOP}&request={HOSTILE}", f"hex={STOP}&kind=<svg onload=document.title='taken'>", "hex=javascript:1", "hex="]:
        browser.open(f"{page.url}#{fragment}")
        untouched(f"a link with {fragment[:24]}…")
    file = directory / "<img src=x onerror=document.title='taken'>.bin"
    file.write_bytes(bytes.fromhex(STOP))
    seen = page.file(file)
    untouched("the name of a file")
    check("and is shown as it is", file.name in seen["read"], seen["read"])


def large(page, browser, directory, check):
    def timed(what, work):
        seen = work()
        rows = sum(len(item["rows"]) for item in seen["items"])
        # Until it is laid out; without the time that it takes to get the text here.
        took = browser.ask("(() => { const began = performance.now(); run(); document.body.offsetHeight; return performance.now() - began; })()")
        print(f"    {what}: {took / 1000:.2f} s, {len(seen['items'])} items, {rows} rows", flush=True)
        return seen, rows
    many = bytes.fromhex(STOP) * (MOST // 28)
    seen, rows = timed("1 MiB of small messages as hexadecimal", lambda: page.paste(many.hex()))
    check("many messages are shown in parts", seen["read"] == f"Read as hexadecimal: {len(many)} bytes." and rows < 1010
          and seen["next"] == f"Explain more: the last {len(many) - 28 * len(seen['items'])} bytes are not shown or checked yet", seen["next"])
    browser.ask("document.getElementById('next').click()")
    more = page.shown()
    check("and the next part follows", len(more["items"]) == 2 * len(seen["items"])
          and f"at offset {28 * len(seen['items'])}" in more["items"][len(seen["items"])]["title"], len(more["items"]))
    stream = directory / "large.nettrace"
    stream.write_bytes(b"Nettrace\x14\0\0\0!FastSerialization.1" + bytes(MOST - 32))
    seen, rows = timed("1 MiB of a stream in a file", lambda: page.file(stream))
    check("a stream is one item", rows == 1 and seen["items"][0]["rows"][0][3] == "a stream of events: nettrace, up to version 5", rows)
    entry = bytes.fromhex(text_bytes("A=b"))
    count = (MOST - 4) // len(entry)
    block = directory / "block.bin"
    block.write_bytes(count.to_bytes(4, "little") + entry * count)

    def as_environment():
        page.file(block)
        page.choose("kind", "environment")
        return page.shown()
    seen, rows = timed("1 MiB of an environment", as_environment)
    said = seen["items"][0]["says"]
    check("the parts of a large block are counted", rows == 1000 and any(one.startswith(f"{2 * count + 1 - 1000} more parts are not shown") for one in said), said)
    array = "{" + ",".join(["0x41"] * MOST) + "}"
    timed("1 MiB as an array", lambda: page.paste(array))
    stream.write_bytes(bytes(MOST + 1))
    seen = page.file(stream)
    check("a larger file is refused", seen["wrong"] == f"large.nettrace has {MOST + 1} bytes; this page reads at most {MOST}. “diagipc decode” reads larger files."
          and not seen["items"], seen["wrong"])
    seen = page.paste("00" * (MOST + 1))
    check("and a longer text", seen["wrong"] == f"{MOST + 1} bytes; this page reads at most {MOST}. `diagipc decode` reads larger files.", seen["wrong"])


MOST = 1 << 20


def people(page, browser, pictures, check):
    """Widths, colours, names for readers, keys."""
    collect = next(group for group in json.loads((HERE.parents[1] / "vectors/small.json").read_text())["groups"]
                   if group["name"] == "eventpipe-collect-tracing2-request")["tests"][0]["wire"]
    contents = {"good": (collect + f"{MAGIC}1c00ff0000002a00000000000000" + "4e65747472616365" + "00" * 200, {}), "refused": (CUT, {}),
                "wrong": ("44 4f 5g", {}), "cut": ('read(3, "DOTNET_IPC_V1\\0\\34"..., 131072) = 28', {}), "long": (f"{MAGIC}2e0004030000" + text_bytes("x" * 3) + text_bytes("y" * 2), {})}
    for device, width, height in ("desktop", 1280, 900), ("phone", 390, 844):
        browser.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 500)
        for scheme in "light", "dark":
            browser.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
            browser.open(page.url)
            for name, (text, choices) in [("empty", ("", {})), *contents.items()]:
                page.paste(text, **choices)
                browser.ask("document.querySelectorAll('details').forEach(one => one.open = true)")
                seen = browser.ask("[document.documentElement.scrollWidth, innerWidth]")
                check(f"{device} {scheme} {name}: the page is as wide as the screen", seen == [width, width], seen)
                browser.picture(pictures / f"{device}-{scheme}-{name}.png")
        background, text = browser.ask("(() => { const is = getComputedStyle(document.body); return [is.backgroundColor, is.color]; })()")
        check(f"{device}: dark is dark", text == "rgb(255, 255, 255)", f"{text} on {background}")
    browser.call("Emulation.clearDeviceMetricsOverride")
    page.paste(CUT)
    nodes = browser.call("Accessibility.getFullAXTree")["nodes"]
    roles = [(node.get("role", {}).get("value"), node.get("name", {}).get("value", "")) for node in nodes if not node.get("ignored")]
    wanted = {"textbox", "combobox", "button", "table", "cell", "columnheader"}
    silent = [role for role, name in roles if role in wanted - {"cell"} and not name]
    kinds = {role for role, _ in roles}
    check("each control and table has a name for screen readers", not silent and wanted <= kinds, silent or sorted(wanted & kinds))
    text = "Hexadecimal, a dump, an array, strings with escapes, base64, or a log with them"
    check("and the text its label", ("textbox", text) in roles, text)
    browser.open(page.url)
    order = []
    for _ in range(10):
        browser.call("Input.dispatchKeyEvent", type="keyDown", key="Tab", code="Tab", windowsVirtualKeyCode=9)
        browser.call("Input.dispatchKeyEvent", type="keyUp", key="Tab", code="Tab", windowsVirtualKeyCode=9)
        order.append(browser.ask("document.activeElement.id"))
    check("the keyboard reaches everything", order[:9] == ["text", "example", "file", "as", "kind", "from", "request", "link", "clear"], order)
    browser.ask("document.getElementById('text').focus()")
    browser.call("Input.insertText", text=STOP)
    browser.until("document.querySelectorAll('article').length == 1")
    check("typing explains", True, "one item")


def alone(browser, check):
    """No request, no violation of the page's policy, and no way out."""
    asked = [event["params"]["request"]["url"] for event in browser.events if event.get("method") == "Network.requestWillBeSent"]
    others = [url for url in asked if not url.startswith(("file:", "about:"))]
    check("the page asked for nothing", not others and asked, others or f"{len(asked)} times itself")
    entries = [event["params"] for event in browser.events if event.get("method") in ("Log.entryAdded", "Runtime.exceptionThrown")]
    check("no message in the console", not entries, entries)
    with socket.create_server(("127.0.0.1", 0)) as server:
        url = f"http://127.0.0.1:{server.getsockname()[1]}/"
        tried = browser.ask(f"fetch({json.dumps(url)}).then(() => 'answered', error => error.name)")
        browser.ask(f"new Promise(done => {{ const image = new Image(); image.onload = image.onerror = done; image.src = {json.dumps(url)}; }}).then(() => 1)")
        reached = bool(select.select([server], [], [], 0.5)[0])
    check("its policy lets nothing out", tried == "TypeError" and not reached, f"{tried}, {'a' if reached else 'no'} connection")


if __name__ == "__main__":
    main()
