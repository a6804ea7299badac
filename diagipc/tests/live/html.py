#!/usr/bin/env python3
"""html.py [DIRECTORY]

The page of `diagipc report --html` in a real browser: writes four reports of 600 cases, makes the page, and checks it in headless
Chromium, in desktop and phone width, light and dark, with and without scripts. Leaves pictures in DIRECTORY if given. Prints one line per
check; exits with 1 if one fails, with 77 without Chromium. Uses `diagipc` from $DIAGIPC, or builds it.
"""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

import checks
from built import diagipc
from checks import check

MAGIC = "444f544e45545f4950435f563100"
GRADES = {"pass": "pass", "pass-lenient": "passLenient", "unimplemented": "unimplemented", "informational": "informational", "fail": "fail"}
TARGETS = [(".NET 3.1.23", "coreclr-3.1"), (".NET 8.0.30", "coreclr-8"), (".NET 9.0.5", "coreclr-9"), (".NET 10.0.9", "coreclr-10")]
SECTIONS = ["framing", "process", "eventpipe", "user-events", "dump-profiler", "ports"]

# Measures the page in a frame of the screen's width, as a headless window is at least 500 wide.
FRAME = """<!DOCTYPE html><body style="margin:0"><iframe id="f" src="page.html" style="border:0;width:%(width)dpx;height:%(height)dpx"></iframe>
<pre id="measured"></pre><script>
document.getElementById("f").onload = event => {
  const page = event.target.contentDocument, root = page.documentElement, box = page.querySelector(".tall");
  const said = { scroll: root.scrollWidth, client: root.clientWidth, box: box.clientWidth, table: box.scrollWidth };
  for (const details of page.querySelectorAll("details")) details.open = true;
  said.opened = root.scrollWidth;
  for (const [index, details] of page.querySelectorAll("details").entries()) details.open = %(open)s.includes(index);
  box.scrollTo(60, 400);
  const head = page.querySelector("#cases thead th:first-child").getBoundingClientRect(), edge = box.getBoundingClientRect();
  const cell = page.querySelector("#cases tr[data-kinds] th").getBoundingClientRect();
  said.sticky = [head.top - edge.top, head.left - edge.left, cell.left - edge.left];
  box.scrollTo(0, 0);
  const filter = page.getElementById("filter");
  said.filter = !filter.hidden;
  const rows = () => [...page.querySelectorAll("tr[data-kinds]")].filter(row => row.getClientRects().length).length;
  said.rows = rows();
  const boxes = [...filter.querySelectorAll("input[type=checkbox]")].filter(box => box.value != "fail");
  for (const box of boxes) box.click();
  said.failures = rows();
  for (const box of boxes) box.click();
  const search = page.getElementById("search");
  search.value = "is-cut-7 framing";
  search.dispatchEvent(new Event("input"));
  said.searched = rows();
  search.value = "";
  search.dispatchEvent(new Event("input"));
  // Where the verdict of the first row is, before anything is scrolled sideways.
  box.scrollTo(0, 0);
  const verdict = page.querySelector("#cases tr[data-kinds] td .kind").getBoundingClientRect();
  said.verdict = [verdict.left, verdict.right];
  said.causes = [...page.querySelectorAll(".causes > li")].map(cause => cause.textContent.split("\\n")[0]);
  const failures = [...page.querySelectorAll(".causes a")];
  said.linked = failures.filter(a => page.getElementById(a.getAttribute("href").slice(1)).querySelector("td.fail")).length;
  said.order = [".causes", "#filter", "#cases"].map(one => page.querySelector(one)?.getBoundingClientRect().top ?? -1);
  root.scrollTo(0, %(down)d);
  document.getElementById("measured").textContent = JSON.stringify(said);
};
</script></body>"""


def case(number, column):
    section = SECTIONS[number % len(SECTIONS)]
    grade, more = "pass", {}
    if number % 17 == column:
        grade, more = "informational", {"deviation": {"fact": "F-5", "text": "the connection stays open after the error"}}
    elif number % 29 == 3 and column < 2:
        grade = "unimplemented"
    elif number % 41 == 7 and column == 3:
        grade = "fail"
    elif number % 53 == 2:
        grade = "pass-lenient"
    if grade != "pass":
        sent = {"turn": 1, "connection": "a", "direction": "sent", "hex": MAGIC + "1400020100002a00" * 6}
        seen = {"turn": 2, "connection": "a", "direction": "received", "hex": MAGIC + "1800ffff000084131380"}
        more["detail"] = {"sent": [sent], "seen": [seen], "expected": "the error BAD_ENCODING, then the end of the connection",
                          "found": ["step 3: nothing came within 5000 ms, where the end was expected"]}
    if grade == "fail":
        more["faults"] = [{"name": "no-end-after-an-error", "text": f"the connection is open after {1000 + number} ms"}]
    hazard = {"hazard": "harmful"} if number % 37 == 5 else {}
    title = "A request of which only a part arrives, and whose sender then waits"
    return {"name": f"{section}/a-request-that-is-cut-{number}", "section": section, "group": "scripts", "title": title,
            "grade": grade, "spec": ["F-5", "R-TRN-003"], "level": "must", **hazard, **more}


def counts(cases):
    return {name: sum(case["grade"] == grade for case in cases) for grade, name in GRADES.items()}


def report(column):
    runtime, profile = TARGETS[column]
    cases = sorted((case(number, column) for number in range(600)), key=lambda case: SECTIONS.index(case["section"]))
    sections = [{"name": name, "counts": counts([case for case in cases if case["section"] == name])} for name in SECTIONS]
    target = f"dotnet-diagnostic-{4000 + column}-12345678-socket" + (" <script>document.title='taken'</script>" if column == 2 else "")
    made = {"by": "diagipc 0.1.0", "at": "2026-11-22T21:04:05Z", "command": ["diagipc", "server", "--process-id", str(4000 + column)]}
    failed = [case for case in cases if case["grade"] == "fail"]
    causes = {"causes": [{**failed[0]["faults"][0], "cases": len(failed), "example": failed[0]["name"]}]} if failed else {}
    return {"format": 1, "suite": "server", "target": target, "runtime": runtime, "profile": profile, "made": made,
            "counts": counts(cases), "sections": sections, **causes, "cases": cases}


def chromium(program, directory, *arguments):
    command = [program, "--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--allow-file-access-from-files",
               f"--user-data-dir={directory}/profile", "--virtual-time-budget=10000", *arguments]
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True, timeout=120).stdout.decode()


def measured(program, directory, width, height, options, picture, down=0, opened=()):
    frame = os.path.join(directory, "frame.html")
    with open(frame, "w") as file:
        file.write(FRAME % {"width": width, "height": height, "down": down, "open": json.dumps(list(opened))})
    window = [f"--window-size={max(width, 500)},{height}", *options]
    said = json.loads(re.search(r'<pre id="measured">(.*?)</pre>', chromium(program, directory, *window, "--dump-dom", f"file://{frame}"))[1])
    chromium(program, directory, *window, f"--screenshot={picture}", f"file://{frame}")
    return said


def main():
    if len(sys.argv) > 2 or any(word.startswith("-") for word in sys.argv[1:]):
        sys.exit(__doc__)
    program = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if not program:
        checks.skip("no Chromium here")
    with tempfile.TemporaryDirectory() as directory:
        files = []
        for column in range(len(TARGETS)):
            files.append(os.path.join(directory, f"{column}.json"))
            with open(files[-1], "w") as file:
                json.dump(report(column), file)
        page = os.path.join(directory, "page.html")
        subprocess.run([diagipc(), "report", "--html", page, *files], stdout=subprocess.DEVNULL, check=True)
        with open(page) as file:
            text = file.read()
        check("600 cases by 4 reports are a small page", len(text) < 2_000_000, f"{len(text)} bytes")
        pictures = sys.argv[1] if len(sys.argv) > 1 else directory
        os.makedirs(pictures, exist_ok=True)
        failed = sum(any(case(number, column)["grade"] == "fail" for column in range(4)) for number in range(600))
        # A row matches if it has all words, in its name or its section.
        searched = sum("is-cut-7" in case(number, 0)["name"] and case(number, 0)["section"] == "framing" for number in range(600))
        failed_of_last = sum(case(number, 3)["grade"] == "fail" for number in range(600))
        first = min((number for number in range(600) if case(number, 3)["grade"] == "fail"), key=lambda number: (number % len(SECTIONS), number))
        said_cause = f"no-end-after-an-error, {failed_of_last} failures: the connection is open after {1000 + first} ms"
        dark = "--blink-settings=preferredColorScheme=0"
        for name, width, height, options, down, opened in [
            ("desktop", 1280, 900, [], 0, [1]),
            ("desktop-dark", 1280, 900, [dark], 0, [1]),
            ("phone", 390, 844, [], 0, []),
            ("phone-cases", 390, 844, [], 450, [1]),
            ("phone-dark", 390, 844, [dark], 450, []),
        ]:
            said = measured(program, directory, width, height, options, os.path.join(pictures, f"{name}.png"), down, opened)
            check(f"{name}: the page is as wide as the screen", said["scroll"] <= said["client"] and said["client"] <= width, said["scroll"])
            check(f"{name}: also with all details open", said["opened"] <= said["client"], said["opened"])
            check(f"{name}: header and first column stay", all(abs(edge) <= 2 for edge in said["sticky"]), said["sticky"])
            check(f"{name}: the filter exists, and leaves the rows with a failure", said["filter"] and said["rows"] == 600 and said["failures"] == failed,
                  f"{said['rows']}, {said['failures']}")
            check(f"{name}: the search leaves the rows with all its words", said["searched"] == searched, said["searched"])
            check(f"{name}: failures come first, then the filter, then the cases", said["order"] == sorted(said["order"]) and said["order"][0] > 0,
                  said["order"])
            check(f"{name}: a cause is counted, and links to its cases", said["causes"] == [said_cause] and said["linked"] == failed_of_last,
                  said["causes"])
            if width < 500:
                check(f"{name}: the verdict is on the screen", 0 < said["verdict"][0] and said["verdict"][1] <= width, said["verdict"])
                check(f"{name}: the table scrolls in its box", said["table"] > said["box"], f"{said['table']} in {said['box']}")
        # This is the page without scripts; `hidden` hides the useless filter.
        bare = os.path.join(directory, "bare.html")
        with open(bare, "w") as file:
            file.write(re.sub(r"<script>\n.*?</script>", "", text, flags=re.S))
        picture = os.path.join(pictures, "no-script.png")
        chromium(program, directory, "--window-size=1280,900", f"--screenshot={picture}", f"file://{bare}")
        dom = chromium(program, directory, "--dump-dom", f"file://{bare}")
        check("without scripts all rows are shown, and no filter", dom.count(' data-kinds="') == 600 and re.search(r'<fieldset[^>]* hidden', dom), "600")
    checks.finish()


if __name__ == "__main__":
    main()
