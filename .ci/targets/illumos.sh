#!/usr/bin/env bash
# illumos. Types only.
. "$(dirname "$0")/lib.sh"
checked x86_64-unknown-illumos
