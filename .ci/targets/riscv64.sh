#!/usr/bin/env bash
# Linux on 64-bit RISC-V.
. "$(dirname "$0")/lib.sh"
emulated riscv64gc-unknown-linux-gnu riscv64-linux-gnu qemu-riscv64 riscv64
