#!/usr/bin/env bash
# macOS on Arm. Types only.
. "$(dirname "$0")/lib.sh"
checked aarch64-apple-darwin
