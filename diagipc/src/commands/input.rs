//! Input: a file, standard input, or the command line.

use std::fs::File;
use std::io::{self, Read};

use anyhow::{Context as _, bail};

#[derive(clap::Args)]
pub(crate) struct Input {
    /// A file, or `-` for standard input
    #[arg(required_unless_present = "hex")]
    file: Option<String>,

    /// The bytes themselves, in hexadecimal; white space is ignored
    #[arg(long, value_name = "TEXT", conflicts_with = "file")]
    hex: Option<String>,

    /// The most bytes to read
    #[arg(long, value_name = "BYTES", default_value_t = 256 << 20)]
    limit: u64,
}

impl Input {
    pub(crate) fn read(&self) -> anyhow::Result<Vec<u8>> {
        if let Some(text) = &self.hex {
            let digits: String = text.split_whitespace().collect();
            return hex::decode(&digits).context("--hex");
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
