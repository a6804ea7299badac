#!/usr/bin/env bash
# Linux on s390x: 64 bits, big-endian.
. "$(dirname "$0")/lib.sh"
emulated s390x-unknown-linux-gnu s390x-linux-gnu qemu-s390x s390x
