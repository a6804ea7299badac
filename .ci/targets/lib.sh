# What the scripts of this directory have in common; each of them reads it first. A script runs what can be run for its target, and ends
# with a line for the table in README.md:
#
#     ROW <TAB> target <TAB> what was run <TAB> how many
#
# CI_TARGETS=all, which `all` sets, runs all tests; without it the longest are left out, and an emulator runs the vectors alone. It exits with 77, and says "SKIPPED: why", where something that it needs cannot be had.
# shellcheck shell=bash
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
export CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-$PWD/target} CARGO_TERM_COLOR=never CARGO_INCREMENTAL=0
# Nobody looks into these programs with a debugger, and they are many.
export CARGO_PROFILE_DEV_DEBUG=${CARGO_PROFILE_DEV_DEBUG:-none}

# The tests that need neither sockets nor other programs: the codec, the exchanges, their scripts' format, and all unit tests beside them.
NO_IO=(--features 'vectors proptest' --lib --test codec --test exchanges)
# Those and real sockets, where the machine is this one.
ALL=(--all-features --lib --test codec --test exchanges --test io)

skip() {
    printf 'SKIPPED: %s\n' "$*"
    exit 77
}

row() {
    printf 'ROW\t%s\t%s\t%s\n' "$@"
}

# The standard library of a target.
need_std() {
    rustup target list --installed 2>/dev/null | grep -qx "$1" || rustup target add "$1" >/dev/null 2>&1 ||
        skip "$1: its standard library cannot be had"
}

# Debian packages, in one argument.
install() {
    # shellcheck disable=SC2086
    in_one_go() { DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $1 >/dev/null 2>&1; }
    in_one_go "$1" || { apt-get update -qq >/dev/null 2>&1 && in_one_go "$1"; }
}

# A file, or a program; and the Debian packages, in one argument, that have it.
need() {
    there() { [ -e "$1" ] || command -v "$1" >/dev/null; }
    there "$1" && return
    install "$2" || true
    there "$1" || skip "no $1"
}

# TARGET TRIPLE EMULATOR DEBIAN: the tests without I/O, linked by the compiler of TRIPLE and run by EMULATOR with its C library.
emulated() {
    local target=$1 triple=$2 emulator=$3 name
    need "$triple-gcc" "gcc-$triple"
    need "/usr/$triple/lib/libc.so" "libc6-dev-$4-cross"
    need "$emulator" qemu-user
    need_std "$target"
    name=$(tr 'a-z-' 'A-Z_' <<<"$target")
    export "CARGO_TARGET_${name}_LINKER=$triple-gcc" "CARGO_TARGET_${name}_RUNNER=$emulator -L /usr/$triple"
    if [ "${CI_TARGETS-}" != all ]; then
        # Every vector decoded and encoded: what depends on the order of bytes shows there.
        tests "$target" "vectors in \`$emulator\`" --features vectors --test codec -- vectors:: message_semantics:: roundtrip::
        return
    fi
    # An emulator takes ten times as long, and what differs between machines shows in few cases as well.
    export PROPTEST_CASES=16
    tests "$target" "tests without I/O in \`$emulator\`, properties with $PROPTEST_CASES cases each" "${NO_IO[@]}"
}

# TARGET WHAT OPTIONS... [-- TESTS...]: `cargo test`, and its row.
tests() {
    local target=$1 what=$2 said count without=()
    shift 2
    if [ "${CI_TARGETS-}" != all ] && ! [[ " $* " == *" -- "* ]]; then
        # They take minutes, and nothing of them depends on the machine.
        without=(-- --skip exhaustive:: --skip mutation:: --skip truncation:: --skip requirements:: --skip vectors_format::
            --skip changed_byte --skip every_chunking --skip snapshot_has_every_kind --skip port_behaves_like_a_list)
        what+=', the longest ones left out'
    fi
    said=$(mktemp)
    cargo test --quiet --target "$target" "$@" "${without[@]}" 2>&1 | tee "$said"
    count=$(passed "$said")
    rm "$said"
    row "$target" "$what" "$count tests"
}

# How many tests a log of `cargo test` says have passed.
passed() {
    local count
    count=$(awk '/^test result: ok\. / { count += $4 } END { print count + 0 }' "$1")
    [ "$count" -gt 0 ] || { printf 'no test has passed\n' >&2; return 1; }
    printf '%s\n' "$count"
}

# TARGET FEATURES: types only; there is nothing here to link or to run with.
checked() {
    need_std "$1"
    cargo check --quiet --lib --bins --features "$2" --target "$1"
    row "$1" "\`cargo check\` with \`$2\`" "not run"
}

# TARGET LINKER-SCRIPT-OR-OPTIONS RUNNER...: tests/no_std, a program without an operating system, and its row.
bare() {
    local target=$1 link=$2 said
    shift 2
    need_std "$target"
    (cd tests/no_std && RUSTFLAGS="$link" cargo build --quiet --release --target "$target")
    # qemu says on standard error what the program does.
    said=$(timeout 60 "$@" 2>&1)
    printf '%s: %s\n' "$target" "$said"
    grep -q '^[0-9]* checks passed$' <<<"$said"
    row "$target" "\`tests/no_std\`, a whole exchange among it, in \`$(basename "$1")${MACHINE:+ -M $MACHINE}\`" "${said%% *} checks"
}
