//! The texts that define and explain the vectors, as of the build.

/// An embedded text.
macro_rules! texts {
    ($($(#[$doc:meta])* $name:ident = $path:literal;)*) => {$(
        $(#[$doc])*
        #[doc = ""]
        #[doc = concat!("`", $path, "`.")]
        pub static $name: &str = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/", $path));
    )*};
}

texts! {
    /// The files of vectors: their format, the value form, the words and flags.
    ///
    /// ```
    /// use dotnet_diagnostics_ipc::vectors::documents;
    ///
    /// assert!(documents::VECTORS.contains("\n## Flags\n"));
    /// ```
    VECTORS = "vectors/README.md";
    /// The exchange scripts: their format and steps.
    EXCHANGES = "vectors/exchanges/README.md";
    /// The JSON schema of a file of vectors.
    VECTORS_SCHEMA = "vectors/schema/vectors.schema.json";
    /// The JSON schema of a file of exchange scripts.
    EXCHANGES_SCHEMA = "vectors/schema/exchanges.schema.json";
    /// Where the protocol document and the shipped runtimes differ: the facts that vectors and
    /// scripts cite (`F-14`, `P-43`), as printed and as shipped.
    ERRATA = "spec/ERRATA.md";
    /// The requirements of the protocol document (`R-TRN-003`), paraphrased, as TOML.
    REQUIREMENTS = "spec/requirements.toml";
}
