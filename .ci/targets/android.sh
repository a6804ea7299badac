#!/usr/bin/env bash
# Android on Arm. Types only.
. "$(dirname "$0")/lib.sh"
checked aarch64-linux-android
