//! Compiles the adapter around the header for C, which the target `c_header` asks, with undefined
//! behaviour made fatal.

fn main() {
    for file in ["adapter.c", "../diagipc/adapters/c_header/adapter.c", "../c/dotnet_ipc.h"] {
        println!("cargo::rerun-if-changed={file}");
    }
    cc::Build::new()
        .file("adapter.c")
        .include("../c")
        .std("c99")
        .opt_level(2)
        // libFuzzer does not have the runtime of gcc's sanitizer: a trap needs no runtime.
        .flag("-fsanitize=undefined")
        .flag("-fsanitize-undefined-trap-on-error")
        .compile("c_header");
}
