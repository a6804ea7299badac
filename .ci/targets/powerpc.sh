#!/usr/bin/env bash
# Linux on PowerPC: 32 bits, big-endian.
. "$(dirname "$0")/lib.sh"
emulated powerpc-unknown-linux-gnu powerpc-linux-gnu qemu-ppc powerpc
