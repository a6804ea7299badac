#!/usr/bin/env bash
# Linux on 64-bit Arm.
. "$(dirname "$0")/lib.sh"
emulated aarch64-unknown-linux-gnu aarch64-linux-gnu qemu-aarch64 arm64
