//! SIGINT and SIGTERM: a run ends the processes it started, and reports its results so far.

use std::sync::atomic::{AtomicI32, Ordering};

use dotnet_diagnostics_ipc::io::Canceller;

/// The first signal; 0 for none.
static SIGNAL: AtomicI32 = AtomicI32::new(0);

/// The signal that ended the run, if any.
pub(crate) fn signal() -> Option<i32> {
    Some(SIGNAL.load(Ordering::SeqCst)).filter(|signal| *signal != 0)
}

/// The exit status of a program that this signal ends.
pub(crate) fn status(signal: i32) -> u8 {
    u8::try_from(signal).unwrap_or_default().saturating_add(128)
}

/// Cancelled by the first signal. A second one ends this program immediately, with everything it
/// has started.
pub(crate) fn canceller() -> std::io::Result<Canceller> {
    let canceller = Canceller::new()?;
    cancels(vec![canceller.clone()])?;
    Ok(canceller)
}

/// The same for several.
#[cfg(unix)]
pub(crate) fn cancels(cancellers: Vec<Canceller>) -> std::io::Result<()> {
    use std::process::exit;
    use std::thread;
    use std::time::{Duration, Instant};

    use dotnet_diagnostics_ipc::conformance::end_all_started;
    use signal_hook::consts::{SIGINT, SIGTERM};
    use signal_hook::iterator::Signals;

    /// `timeout` signals the process, and again its group: these count as one.
    const SAME: Duration = Duration::from_millis(300);

    let mut signals = Signals::new([SIGINT, SIGTERM])?;
    thread::Builder::new().name("signals".to_owned()).spawn(move || {
        let mut first: Option<Instant> = None;
        for signal in signals.forever() {
            match first {
                None => {
                    first = Some(Instant::now());
                    SIGNAL.store(signal, Ordering::SeqCst);
                    cancellers.iter().for_each(Canceller::cancel);
                }
                Some(first) if first.elapsed() < SAME => {}
                Some(_) => {
                    end_all_started();
                    exit(status(signal).into());
                }
            }
        }
    })?;
    Ok(())
}

/// Nothing is cancelled here: the system ends this program.
#[cfg(not(unix))]
#[allow(clippy::unnecessary_wraps, reason = "on Unix it may fail")]
fn cancels(_: Vec<Canceller>) -> std::io::Result<()> {
    Ok(())
}
