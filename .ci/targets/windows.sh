#!/usr/bin/env bash
# Windows on x86-64, under wine, by .ci/windows.
. "$(dirname "$0")/lib.sh"
said=$(mktemp)
trap 'rm "$said"' EXIT
status=0
# The gate runs the part that takes half an hour, by CI_TARGETS=all.
CI_TARGETS= .ci/windows 2>&1 | tee "$said" || status=$?
[ "$status" = 0 ] || [ "$status" = 77 ] || exit "$status"
[ "$status" = 0 ] || grep -q '^test result: ok' "$said" || skip "x86_64-pc-windows-gnu: $(tail -n 1 "$said")"
count=$(passed "$said")
row x86_64-pc-windows-gnu "tests of pipes, ports and suites under wine, real runtimes for Windows among them" "$count tests"
exit "$status"
