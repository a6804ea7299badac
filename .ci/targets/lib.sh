# Common parts of the scripts in this directory; each sources it first. A script runs what it can for its target, and ends with a line for
# the table in spec/TARGETS.md:
#
#     ROW <TAB> target <TAB> what was run <TAB> how many
#
# CI_TARGETS=all, which `all` sets, runs all tests; without it the longest are left out, and an emulator runs only the vectors. A script
# exits with 77, and prints "SKIPPED: why", if a requirement is not available.
# shellcheck shell=bash
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
export CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-$PWD/target} CARGO_TERM_COLOR=never CARGO_INCREMENTAL=0
# No debug information: these programs are many, and no debugger is used.
export CARGO_PROFILE_DEV_DEBUG=${CARGO_PROFILE_DEV_DEBUG:-none}

# The tests that need neither sockets nor other programs: the codec, the exchanges, their scripts' format, and all unit tests.
NO_IO=(--features 'vectors proptest' --lib --test codec --test exchanges)
# Those and real sockets, for this machine.
ALL=(--workspace --all-features --lib --test codec --test exchanges --test io)

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
        skip "$1: its standard library is not available"
}

# Debian packages, in one argument.
install() {
    # shellcheck disable=SC2086
    in_one_go() { DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $1 >/dev/null 2>&1; }
    in_one_go "$1" || { apt-get update -qq >/dev/null 2>&1 && in_one_go "$1"; }
}

# A file, or a program; and the Debian packages, in one argument, that contain it.
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
        # Every vector decoded and encoded: this shows faults of byte order.
        tests "$target" "vectors in \`$emulator\`" --features vectors --test codec -- vectors:: message_semantics:: roundtrip::
        return
    fi
    # An emulator takes ten times as long, and few cases are enough to show differences between machines.
    export PROPTEST_CASES=16
    tests "$target" "tests without I/O in \`$emulator\`, properties with $PROPTEST_CASES cases each" "${NO_IO[@]}"
}

# TARGET WHAT OPTIONS... [-- TESTS...]: `cargo test`, and its row.
tests() {
    local target=$1 what=$2 said count without=()
    shift 2
    if [ "${CI_TARGETS-}" != all ] && ! [[ " $* " == *" -- "* ]]; then
        # They take minutes, and do not depend on the machine.
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

# The number of passed tests in a log of `cargo test`.
passed() {
    local count
    count=$(awk '/^test result: ok\. / { count += $4 } END { print count + 0 }' "$1")
    [ "$count" -gt 0 ] || { printf 'no test passed\n' >&2; return 1; }
    printf '%s\n' "$count"
}

# TARGET: types only; no linker or emulator is available here.
checked() {
    need_std "$1"
    cargo check --quiet --workspace --all-features --lib --bins --target "$1"
    row "$1" "\`cargo check\` of both packages" "not run"
}

# TARGET OPTIONS RUNNER...: tests/bare, a program without an operating system, and its row. The linker runs in its directory.
bare() {
    local target=$1 link=$2 said
    shift 2
    need_std "$target"
    (cd tests/bare && RUSTFLAGS="$link" cargo build --quiet --release --bin no_std --target "$target")
    # qemu prints the program's output on standard error.
    said=$(timeout 60 "$@" 2>&1)
    printf '%s: %s\n' "$target" "$said"
    grep -q '^[0-9]* checks passed$' <<<"$said"
    row "$target" "\`tests/bare\`, with a whole exchange, in \`$(basename "$1")${MACHINE:+ -M $MACHINE}\`" "${said%% *} checks"
}
