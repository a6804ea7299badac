//! Input: a file, standard input, or the command line.

use std::fs::File;
use std::io::{self, Read, Write as _};

use anyhow::{Context as _, bail};
use dotnet_diagnostics_ipc_vectors::pasted::PastedForm;

#[derive(clap::Args)]
pub(crate) struct Input {
    /// A file, or `-` for standard input
    #[arg(required_unless_present = "text")]
    file: Option<String>,

    /// The bytes themselves, in hexadecimal, as a hex dump, an array, strings with escapes, or base64;
    /// standard error says which it is, if not hexadecimal
    #[arg(long, value_name = "TEXT", conflicts_with = "file")]
    text: Option<String>,

    /// The most bytes to read
    #[arg(long, value_name = "BYTES", default_value_t = 256 << 20)]
    limit: u64,
}

impl Input {
    pub(crate) fn read(&self) -> anyhow::Result<Vec<u8>> {
        if let Some(text) = &self.text {
            let form = PastedForm::of(text);
            let bytes = form.read(text).with_context(|| format!("--text, read as {form}"))?;
            if form != PastedForm::Hexadecimal {
                writeln!(io::stderr(), "diagipc: --text is {form} of {} bytes", bytes.len())?;
            }
            return Ok(bytes);
        }
        read(self.file.as_deref().unwrap_or("-"), self.limit)
    }
}

/// The contents of a file, or of standard input for `-`; an error if it has more than `limit`
/// bytes.
pub(crate) fn read(file: &str, limit: u64) -> anyhow::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let source: &mut dyn Read = match file {
        "-" => &mut io::stdin().lock(),
        path => &mut File::open(path).with_context(|| path.to_owned())?,
    };
    source.take(limit + 1).read_to_end(&mut bytes).with_context(|| file.to_owned())?;
    if bytes.len() as u64 > limit {
        bail!("{file}: more than {limit} bytes; --limit allows more");
    }
    Ok(bytes)
}
