//! Compiles the codec in C for the target `differential`, with undefined behaviour made fatal.

fn main() {
    for file in ["oracle.c", "../vectors/adapters/c/adapter.c"] {
        println!("cargo::rerun-if-changed={file}");
    }
    cc::Build::new()
        .file("oracle.c")
        .std("c99")
        .opt_level(2)
        // The runtime of gcc's sanitizer is none of libFuzzer's: a trap needs none.
        .flag("-fsanitize=undefined")
        .flag("-fsanitize-undefined-trap-on-error")
        .compile("oracle");
}
