//! The texts of `vectors/`, embedded at build time.

/// Declares tables of the names and texts of files.
macro_rules! tables {
    ($($(#[$doc:meta])* $TABLE:ident in $directory:literal { $($name:literal),* $(,)? })*) => {$(
        $(#[$doc])*
        pub static $TABLE: &[(&str, &str)] =
            &[$(($name, include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/", $directory, $name)))),*];
    )*};
}

tables! {
    /// The name and text of each file of vectors. `vectors/README.md` defines them.
    VECTORS in "" {
        "grammar.json",
        "header.json",
        "tables.json",
        "dump.json",
        "eventpipe.json",
        "eventpipe5.json",
        "profiler.json",
        "process.json",
        "server.json",
        "continuation.json",
        "legacy.json",
        "user_events.json",
        "ports.json",
        "endpoints.json",
        "runtime-net3.0.3.json",
        "runtime-net3.1.23.json",
        "runtime-net8.0.30.json",
        "runtime-net9.0.5.json",
        "runtime-net10.0.9.json",
        "runtime-net10.0.12.json",
        "runtime-aot8.0.31.json",
        "runtime-aot9.0.20.json",
        "runtime-windows.json",
        "runtime-windows6.0.13.json",
    }

    /// The name and text of each file of exchange scripts. `vectors/exchanges/README.md` defines
    /// them.
    SCRIPTS in "exchanges/" {
        "configuration.json",
        "dump_profiler.json",
        "environment.json",
        "eventpipe.json",
        "fallback.json",
        "framing.json",
        "harmful.json",
        "lifetime.json",
        "ports.json",
        "process.json",
        "replies.json",
        "streams.json",
        "tool_ports.json",
        "user_events.json",
    }

    /// The name and text of the other files of `vectors/`, which is also a package for Go, npm and
    /// Python: documentation, schemas, manifests.
    ///
    /// ```
    /// use dotnet_diagnostics_ipc_vectors::documents::PACKAGE;
    ///
    /// let readme = PACKAGE.iter().find(|(name, _)| *name == "README.md");
    /// assert!(readme.is_some_and(|(_, text)| text.contains("\n## Types\n")));
    /// ```
    PACKAGE in "" {
        "README.md",
        "LICENSE-APACHE",
        "LICENSE-MIT",
        "exchanges/README.md",
        "schema/vectors.schema.json",
        "schema/exchanges.schema.json",
        "schema/index.schema.json",
        "index.json",
        "citations.json",
        "small.json",
        "go.mod",
        "vectors.go",
        "dotnetipc/dotnetipc.go",
        "dotnetipc/dotnetipc_test.go",
        "dotnetipc/endpoints.go",
        "dotnetipc/server.go",
        "dotnetipc/user_events.go",
        "dotnetipc/trace/main.go",
        "package.json",
        "vectors.js",
        "pyproject.toml",
        "build_wheel.py",
        "vectors.py",
    }
}
