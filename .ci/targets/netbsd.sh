#!/usr/bin/env bash
# NetBSD. Types only.
. "$(dirname "$0")/lib.sh"
checked x86_64-unknown-netbsd
