#!/usr/bin/env bash
# Linux on x86-64, the development system: every feature, and real sockets.
. "$(dirname "$0")/lib.sh"
need_std x86_64-unknown-linux-gnu
tests x86_64-unknown-linux-gnu "all tests of both packages, except those that need other programs" "${ALL[@]}"
