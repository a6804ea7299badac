#!/usr/bin/env bash
# WebAssembly that imports nothing.
. "$(dirname "$0")/lib.sh"
need node nodejs
bare wasm32-unknown-unknown "-C link-arg=--no-entry -C link-arg=--export=run -C link-arg=--export=count" \
    node tests/bare/run.mjs "$CARGO_TARGET_DIR/wasm32-unknown-unknown/release/no_std.wasm"
