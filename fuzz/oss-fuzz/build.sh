#!/bin/bash -eu
# For OSS-Fuzz: builds every target into $OUT, with its seeds and the dictionary.
cd "$SRC/dotnet-diagnostics-ipc"
# The tool that writes the seeds is built without sanitizers: the compiler cannot load macros that contain one.
env -u RUSTFLAGS -u CFLAGS -u CXXFLAGS cargo run -p diagipc -- dev corpus "$WORK/corpus"
cargo fuzz build -O --debug-assertions
for source in fuzz/fuzz_targets/*.rs; do
    target=$(basename "$source" .rs)
    # It needs a module of .NET.
    [ "$target" != against_dotnet ] || continue
    cp "fuzz/target/x86_64-unknown-linux-gnu/release/$target" "$OUT/"
    (cd "$WORK/corpus/$target" && find . -type f | zip -q -@ "$OUT/${target}_seed_corpus.zip")
    cp "$WORK/corpus/dictionary.txt" "$OUT/$target.dict"
done
