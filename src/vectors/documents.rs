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
    /// Where the protocol document and the shipped runtimes differ: the facts that vectors and
    /// scripts cite (`F-14`, `P-43`), as printed and as shipped.
    ERRATA = "spec/ERRATA.md";
    /// The requirements of the protocol document (`R-TRN-003`), paraphrased, as TOML.
    REQUIREMENTS = "spec/requirements.toml";
}

macro_rules! package {
    ($($name:literal),* $(,)?) => {
        /// The other files of `vectors/`, which is a package for Go, npm and Python too: the name
        /// and text of each that is neither tests nor scripts. Documentation, schemas, manifests.
        ///
        /// ```
        /// use dotnet_diagnostics_ipc::vectors::documents::PACKAGE;
        ///
        /// assert!(PACKAGE.iter().any(|(name, _)| *name == "schema/vectors.schema.json"));
        /// ```
        pub static PACKAGE: &[(&str, &str)] =
            &[("README.md", VECTORS), $(($name, include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/vectors/", $name)))),*];
    };
}

package! {
    "CHANGELOG.md",
    "LICENSE-APACHE",
    "LICENSE-MIT",
    "exchanges/README.md",
    "schema/vectors.schema.json",
    "schema/exchanges.schema.json",
    "schema/index.schema.json",
    "index.json",
    "small.json",
    "go.mod",
    "vectors.go",
    "package.json",
    "vectors.js",
    "pyproject.toml",
    "build_wheel.py",
    "vectors.py",
}
