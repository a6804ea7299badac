#!/usr/bin/env bash
# FreeBSD. Types only.
. "$(dirname "$0")/lib.sh"
checked x86_64-unknown-freebsd
