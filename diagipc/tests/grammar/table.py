#!/usr/bin/env python3
"""The table of spec/GRAMMAR.md: which vectors each implementation reads, writes and refuses, and why not the others.

    python3 diagipc/tests/grammar/table.py            # compares: exits with 1 if the table differs, or a result has no reason
    python3 diagipc/tests/grammar/table.py --write

Exits with 77 if something is not available. $DIAGIPC is the program, if not target/debug/diagipc."""
import sys

import implementations

PAGE = implementations.ROOT / "spec/GRAMMAR.md"
BEGIN, END = "<!-- made by diagipc/tests/grammar/table.py --write -->\n", "<!-- end of what is made -->\n"


def cell(result, column):
    right, of = result.right[column], result.of[column]
    return f"{right:,}" if right == of else f"{right:,} of {of:,}"


def why_not(result, reason):
    counts = result.reasons.get(reason)
    return " + ".join(f"{counts[column]:,}" for column in implementations.COLUMNS) if counts else "–"


def line(*cells):
    return f"| {' | '.join(cells)} |\n"


def tables(results):
    """The results of each; and for what it cannot do, the number of questions by column and reason."""
    text = line("", *implementations.COLUMNS) + "|---|---|---|---|\n"
    for name, result in results.items():
        text += line(name, *(cell(result, column) for column in implementations.COLUMNS))
        for column in implementations.COLUMNS:
            explained = sum(counts[column] for counts in result.reasons.values())
            assert result.right[column] + explained == result.of[column], (name, column)
    reasons = list(dict.fromkeys(reason for result in results.values() for reason in result.reasons))
    lacking = {name: result for name, result in results.items() if result.reasons}
    text += "\n" + line(f"out of reach: {' + '.join(implementations.COLUMNS)}", *lacking) + "|---" * (len(lacking) + 1) + "|\n"
    # The largest first.
    reasons.sort(key=lambda reason: -max(sum(result.reasons[reason].values()) if reason in result.reasons else 0 for result in lacking.values()))
    for reason in reasons:
        text += line(reason, *(why_not(result, reason) for result in lacking.values()))
    return text


def main():
    results = {row.name: implementations.judged(row) for row in implementations.ROWS}
    results[implementations.DISSECTOR] = implementations.judged_dissector()
    if wrong := [f"{name}: {text}" for name, result in results.items() for text in result.wrong]:
        sys.exit("\n".join(wrong))
    made = tables(results)
    text = PAGE.read_text()
    before, rest = text.split(BEGIN)
    there, after = rest.split(END)
    if "--write" in sys.argv[1:]:
        PAGE.write_text(before + BEGIN + made + END + after)
    elif there != made:
        sys.exit(f"{PAGE.name} has another table: run diagipc/tests/grammar/table.py --write\n{made}")
    print(f"{len(results)} implementations, every cell explained")


if __name__ == "__main__":
    main()
