//! Packs the texts of `src/embedded/mod.rs`.

use std::path::{Path, PathBuf};
use std::{env, fmt::Write as _, fs, hash::Hasher as _, io};

use dotnet_diagnostics_ipc_vectors::documents;
use fnv::FnvHasher;

/// Beside this file.
const SCENARIOS: &[&str] = &[
    "environment.json",
    "fallback.json",
    "replies.json",
    "streams.json",
    "tool_ports.json",
    "requests.json",
    "each_operation.json",
    "discovery.json",
];

const COMPANIONS: &[&str] = &[
    "adapters/README.md",
    "adapters/python/adapter.py",
    "schema/report.schema.json",
    "schema/scenarios.schema.json",
    "schema/REPORTS.md",
    "clients/README.md",
    "clients/diagipc.toml",
    "clients/examples.toml",
    "clients/csclient.toml",
    "clients/dotnet-counters.toml",
    "clients/dotnet-trace.toml",
    "clients/dotnetdiag.toml",
    "clients/csclient.known.toml",
];

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    // The tests start a debug build a thousand times: one that may be anywhere in memory has 72,000
    // addresses to correct first.
    let is = |name, value| env::var(name).is_ok_and(|is| is == value);
    if is("PROFILE", "debug") && is("TARGET", "x86_64-unknown-linux-gnu") {
        println!("cargo::rustc-link-arg-bins=-no-pie");
    }
    pack().expect("texts that can be read");
}

/// Writes the expression of each table or text of `src/embedded/mod.rs`.
fn pack() -> io::Result<()> {
    let directory = PathBuf::from(env::var_os("OUT_DIR").ok_or(io::ErrorKind::NotFound)?);
    let mut packed = Packed { directory, texts: 0 };
    packed.texts("vectors", documents::VECTORS)?;
    packed.texts("scripts", documents::SCRIPTS)?;
    packed.texts("package", documents::PACKAGE)?;
    packed.files("scenarios", Path::new("clients/scenarios"), SCENARIOS)?;
    packed.files("companions", Path::new(""), COMPANIONS)
}

struct Packed {
    directory: PathBuf,
    texts: usize,
}

impl Packed {
    fn texts<T: AsRef<str>>(&mut self, table: &str, texts: &[(&str, T)]) -> io::Result<()> {
        let mut rows = String::new();
        for (name, text) in texts {
            let _ = writeln!(rows, "    ({name:?}, {}),", self.packed(text.as_ref())?);
        }
        self.write(table, &format!("&[\n{rows}]"))
    }

    fn files(&mut self, table: &str, directory: &Path, names: &[&str]) -> io::Result<()> {
        let read = names.iter().map(|name| {
            let path = directory.join(name);
            println!("cargo::rerun-if-changed={}", path.display());
            Ok((*name, fs::read_to_string(path)?))
        });
        self.texts(table, &read.collect::<io::Result<Vec<_>>>()?)
    }

    /// The expression of a text.
    fn packed(&mut self, text: &str) -> io::Result<String> {
        let path = self.directory.join(format!("{}.lz4", self.texts));
        self.texts += 1;
        fs::write(&path, lz4_flex::compress_prepend_size(text.as_bytes()))?;
        let mut hasher = FnvHasher::default();
        hasher.write(text.as_bytes());
        Ok(format!(
            "Text {{ packed: include_bytes!({:?}), digest: {:?} }}",
            path.to_string_lossy(),
            hasher.finish().to_le_bytes()
        ))
    }

    fn write(&self, name: &str, expression: &str) -> io::Result<()> {
        fs::write(self.directory.join(name).with_extension("rs"), expression)
    }
}
