#!/usr/bin/env bash
# Cortex-M0, without an operating system.
. "$(dirname "$0")/lib.sh"
need qemu-system-arm qemu-system-arm
MACHINE=microbit
bare thumbv6m-none-eabi "-C link-arg=-Tcortex_m.x" qemu-system-arm -M $MACHINE -nographic \
    -semihosting-config enable=on,target=native -kernel "$CARGO_TARGET_DIR/thumbv6m-none-eabi/release/no_std"
