#!/usr/bin/env bash
# Linux on 32-bit x86, which an x86-64 runs natively: lengths and counts that only fit a `usize` of 64 bits.
. "$(dirname "$0")/lib.sh"
need_std i686-unknown-linux-gnu
# `gcc-multilib` would remove the compilers for other machines; the one with its version in its name does not.
major=$(gcc -dumpversion 2>/dev/null | cut -d. -f1) || skip "i686-unknown-linux-gnu: no gcc"
links() { printf 'int main(void){return 0;}' | gcc -m32 -x c -o /dev/null - 2>/dev/null; }
links || install "gcc-$major-multilib libc6-dev-i386" || true
links || skip "i686-unknown-linux-gnu: gcc has no 32-bit libraries"
if [ "${CI_TARGETS-}" = all ]; then
    tests i686-unknown-linux-gnu "all tests of both packages, except those that need other programs" "${ALL[@]}"
else
    tests i686-unknown-linux-gnu "tests without I/O" "${NO_IO[@]}"
fi
