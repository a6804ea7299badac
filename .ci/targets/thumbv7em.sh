#!/usr/bin/env bash
# Cortex-M4 with floating point, without an operating system.
. "$(dirname "$0")/lib.sh"
need qemu-system-arm qemu-system-arm
MACHINE=mps2-an386
bare thumbv7em-none-eabihf "-C link-arg=-Tcortex_m.x" qemu-system-arm -M $MACHINE -nographic \
    -semihosting-config enable=on,target=native -kernel "$CARGO_TARGET_DIR/thumbv7em-none-eabihf/release/no_std"
