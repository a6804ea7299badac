#!/usr/bin/env bash
# minimal_versions.sh: checks the lower bounds in Cargo.toml: every feature builds with the lowest allowed versions. Exits with 77 without
# a nightly compiler, as only its Cargo can choose them.
set -euo pipefail
cd "$(dirname "$0")/../.."
cargo +nightly --version >/dev/null 2>&1 || { echo "no nightly compiler: the lowest versions cannot be chosen" >&2; exit 77; }
export CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-$PWD/target}/minimal_versions CARGO_INCREMENTAL=0
copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT
# Cargo reads committed and uncommitted files; no lock file.
git ls-files -z --cached --others --exclude-standard -- Cargo.toml README.md src examples benches tests vectors spec diagipc |
    tar --create --null --files-from=- | tar --extract --directory "$copy"
cd "$copy"
cargo +nightly update --quiet -Z direct-minimal-versions
for target in x86_64-unknown-linux-gnu "$@"; do
    cargo check --quiet --workspace --all-features --target "$target"
done
printf 'the lowest versions that Cargo.toml allows build: %s\n' \
    "$(cargo tree --quiet --workspace --all-features --edges normal --depth 1 --prefix none --format '{p}' | sed -n 's/^\([^ ]*\) v\([^ ]*\).*/\1 \2/p' | sed 1d | paste -sd, | sed 's/,/, /g')"
