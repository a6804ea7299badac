//! Compiles what the targets `differential` and `c_header` ask, with undefined behaviour made
//! fatal.

fn main() {
    for file in [
        "adapter.c",
        "../diagipc/adapters/c/adapter.c",
        "../diagipc/adapters/c_header/adapter.c",
        "../c/dotnet_ipc.h",
    ] {
        println!("cargo::rerun-if-changed={file}");
    }
    for (name, directory, serve) in
        [("oracle", "c", "serve(line, count)"), ("header", "c_header", "serve(line)")]
    {
        cc::Build::new()
            .file("adapter.c")
            .include("../c")
            .define("ADAPTER", format!("\"../diagipc/adapters/{directory}/adapter.c\"").as_str())
            .define("SERVE(line, count)", serve)
            .define("ASK", format!("{name}_ask").as_str())
            .define("FORGET", format!("{name}_forget").as_str())
            // Two adapters must not link under one name.
            .define("adapter_main", format!("{name}_main").as_str())
            .std("c99")
            .opt_level(2)
            // The runtime of gcc's sanitizer is none of libFuzzer's: a trap needs none.
            .flag("-fsanitize=undefined")
            .flag("-fsanitize-undefined-trap-on-error")
            .compile(name);
    }
}
