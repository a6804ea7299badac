//! The destination of a trace: a new file, the place of an older one, a stream, or standard output.

use std::fmt;
use std::fs::{self, File};
use std::io::{self, IsTerminal as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context as _, anyhow, bail};
use dotnet_diagnostics_ipc::io::Canceller;
use dotnet_diagnostics_ipc_vectors::nettrace::{Stream, StreamState};
use indicatif::{HumanBytes, ProgressBar, ProgressStyle};
use tempfile::NamedTempFile;

use crate::commands::output_file::{PathKind, beside, create_new, named, open_stream};
use crate::commands::printable::say;

const STANDARD_OUTPUT: &str = "standard output";

/// An output that was checked before the session starts. No file is touched yet.
#[derive(Debug)]
pub(crate) enum Planned {
    New(PathBuf),
    Replacing(PathBuf),
    Open(Box<TraceOutput>),
}

impl Planned {
    /// Checks a destination; `-` is standard output. A FIFO is opened here, and `canceller` ends
    /// the wait for its reader.
    pub(crate) fn at(path: PathBuf, force: bool, canceller: &Canceller) -> anyhow::Result<Self> {
        if path == Path::new("-") {
            let file = standard_output().context(STANDARD_OUTPUT)?;
            return Ok(Self::Open(Box::new(TraceOutput::at(Address::Stream {
                name: STANDARD_OUTPUT.into(),
                file,
            }))));
        }
        match named(&path).with_context(|| path.display().to_string())? {
            PathKind::Nothing => Ok(Self::New(path)),
            PathKind::File if force => Ok(Self::Replacing(path)),
            PathKind::File => bail!("{} already exists: --force overwrites it", path.display()),
            PathKind::Stream => {
                let name = path.display().to_string();
                let file = open_stream(&path, canceller).with_context(|| name.clone())?;
                Ok(Self::Open(Box::new(TraceOutput::at(Address::Stream { name, file }))))
            }
        }
    }

    /// Creates the file, which only its owner can read. If it replaces another file, it is created
    /// beside that.
    pub(crate) fn open(self) -> anyhow::Result<TraceOutput> {
        match self {
            Self::New(path) => {
                let file = create_new(&path).with_context(|| path.display().to_string())?;
                Ok(TraceOutput::at(Address::New { path, file }))
            }
            Self::Replacing(path) => {
                let part = beside(&path).with_context(|| path.display().to_string())?;
                Ok(TraceOutput::at(Address::Replacing { path, part }))
            }
            Self::Open(output) => Ok(*output),
        }
    }
}

/// An output that is being written.
#[derive(Debug)]
pub(crate) struct TraceOutput {
    place: Address,
    bytes: u64,
    stream: Stream,
}

#[derive(Debug)]
enum Address {
    /// A file that did not exist before.
    New { path: PathBuf, file: File },
    /// The file beside an older one, whose name it gets at the end.
    Replacing { path: PathBuf, part: NamedTempFile },
    /// A FIFO, a device or standard output: written to, and otherwise left as it is.
    Stream { name: String, file: File },
}

impl TraceOutput {
    fn at(place: Address) -> Self {
        Self { place, bytes: 0, stream: Stream::default() }
    }

    pub(crate) const fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Returns what the written stream shows about itself.
    pub(crate) fn state(&self) -> StreamState {
        self.stream.state()
    }

    /// Returns the number of its events, without those about the session itself.
    pub(crate) fn events(&self) -> u64 {
        self.stream.events()
    }

    /// Returns whether it has an event of this provider.
    pub(crate) fn has_events_of(&self, provider: &str) -> bool {
        self.stream.providers().any(|(name, events)| name == provider && events > 0)
    }

    pub(crate) fn write_all(&mut self, mut bytes: &[u8]) -> anyhow::Result<()> {
        while !bytes.is_empty() {
            let file = match &mut self.place {
                Address::New { file, .. } | Address::Stream { file, .. } => file,
                Address::Replacing { part, .. } => part.as_file_mut(),
            };
            match file.write(bytes) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Ok(n @ 1..) => {
                    self.bytes += n as u64;
                    let (written, left) = bytes.split_at_checked(n).unwrap_or((bytes, &[]));
                    self.stream.feed(written);
                    bytes = left;
                }
                // The error is kept as text: a reader that closes early is no success here.
                Ok(_) => bail!("writing {self}: it takes no more bytes"),
                Err(error) => bail!("writing {self}: {error}"),
            }
        }
        Ok(())
    }

    /// Finishes a whole trace: flushes it to the disk, and gives it its name.
    pub(crate) fn finish(self) -> anyhow::Result<()> {
        match self.place {
            Address::New { path, file } => {
                file.sync_all().with_context(|| path.display().to_string())
            }
            Address::Replacing { path, part } => {
                let replaced = match part.as_file().sync_all() {
                    Ok(()) => part.persist(&path).map_err(|error| (error.error, error.file)),
                    Err(error) => Err((error, part)),
                };
                let failed = |(error, part)| {
                    anyhow!("{}: {error}; the trace is in {}", path.display(), keep(part))
                };
                replaced.map(drop).map_err(failed)
            }
            Address::Stream { .. } => Ok(()),
        }
    }

    /// Ends a trace that is not whole. Returns what was written, and in which file. If nothing was
    /// written, removes what this run created.
    pub(crate) fn abandon(self) -> (String, Option<String>) {
        let Self { place, bytes, .. } = self;
        if bytes == 0 {
            if let Address::New { path, file } = place {
                remove_created(&path, &file);
            }
            return ("nothing was written".to_owned(), None);
        }
        let (file, unchanged) = match place {
            Address::New { path, .. } => (path.display().to_string(), String::new()),
            Address::Replacing { path, part } => {
                (keep(part), format!(", {} is unchanged", path.display()))
            }
            Address::Stream { name, .. } => {
                return (format!("{bytes} bytes were written to {name}"), Some(name));
            }
        };
        (format!("{file} has the first {bytes} bytes{unchanged}"), Some(file))
    }
}

impl fmt::Display for TraceOutput {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.place {
            Address::New { path, .. } | Address::Replacing { path, .. } => path.display().fmt(f),
            Address::Stream { name, .. } => f.write_str(name),
        }
    }
}

fn keep(part: NamedTempFile) -> String {
    match part.keep() {
        Ok((_, path)) => path.display().to_string(),
        Err(error) => error.file.path().display().to_string(),
    }
}

/// Removes a file that this run created, unless another file has its name now.
fn remove_created(path: &Path, file: &File) {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt as _;

        let same =
            |at: fs::Metadata, ours: fs::Metadata| (at.dev(), at.ino()) == (ours.dev(), ours.ino());
        let there = fs::symlink_metadata(path).and_then(|at| Ok(same(at, file.metadata()?)));
        if !there.unwrap_or(false) {
            return;
        }
    }
    #[cfg(not(unix))]
    let _ = file;
    // The file is empty, so nothing is lost if it stays.
    let _ = fs::remove_file(path);
}

#[cfg(unix)]
fn standard_output() -> io::Result<File> {
    use std::os::fd::AsFd as _;

    Ok(io::stdout().as_fd().try_clone_to_owned()?.into())
}

#[cfg(windows)]
fn standard_output() -> io::Result<File> {
    use std::os::windows::io::AsHandle as _;

    Ok(io::stdout().as_handle().try_clone_to_owned()?.into())
}

/// The time between two lines of progress.
const LINE_INTERVAL: Duration = Duration::from_secs(10);

/// The time and size of a trace: at a terminal updated in place, otherwise printed now and then.
pub(crate) struct TraceProgress {
    bytes: Arc<AtomicU64>,
    began: Instant,
    said: Instant,
    bar: Option<ProgressBar>,
}

impl TraceProgress {
    /// Shows the progress of a session that begins now. With `is_alone` nothing else is printed at the
    /// terminal.
    pub(crate) fn new(bytes: Arc<AtomicU64>, is_alone: bool) -> Self {
        let now = Instant::now();
        let bar = (is_alone && io::stderr().is_terminal()).then(ProgressBar::new_spinner);
        let progress = Self { bytes, began: now, said: now, bar };
        progress.show("{elapsed_precise}  {bytes}  {bytes_per_sec}  (Ctrl-C stops)");
        progress
    }

    pub(crate) fn tick(&mut self) {
        if let Some(bar) = &self.bar {
            bar.set_position(self.bytes.load(Ordering::Relaxed));
        } else if self.said.elapsed() >= LINE_INTERVAL {
            self.said = Instant::now();
            say(&self.line());
        }
    }

    /// Shows that the session was told to stop, and its rundown is still to come.
    pub(crate) fn stopping(&mut self) {
        self.show("{elapsed_precise}  {bytes}  stopping");
        if self.bar.is_none() {
            self.said = Instant::now();
            say(&format!("{}: stopping", self.line()));
        }
    }

    fn show(&self, template: &str) {
        if let (Some(bar), Ok(style)) = (&self.bar, ProgressStyle::with_template(template)) {
            bar.set_style(style);
        }
    }

    fn line(&self) -> String {
        let bytes = HumanBytes(self.bytes.load(Ordering::Relaxed));
        format!("{} s, {bytes}", self.began.elapsed().as_secs())
    }
}

impl Drop for TraceProgress {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}
