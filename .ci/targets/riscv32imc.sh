#!/usr/bin/env bash
# 32-bit RISC-V, without an operating system.
. "$(dirname "$0")/lib.sh"
need qemu-system-riscv32 qemu-system-misc
MACHINE=virt
bare riscv32imc-unknown-none-elf "-C link-arg=-Triscv32.x" qemu-system-riscv32 -M $MACHINE -bios none -nographic \
    -kernel "$CARGO_TARGET_DIR/riscv32imc-unknown-none-elf/release/no_std"
