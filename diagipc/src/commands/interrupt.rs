//! SIGINT, SIGTERM and SIGHUP, on Windows Ctrl-C and Ctrl-Break: a run ends the processes it
//! started, and reports its results so far.

#[cfg(unix)]
use std::env;
#[cfg(unix)]
use std::process::Command;
use std::process::exit;
use std::sync::atomic::{AtomicI32, Ordering};
use std::time::{Duration, Instant};
use std::{io, iter, thread};

#[cfg(unix)]
use anyhow::Context as _;
#[cfg(unix)]
use diagipc::{own_all_started, watch_started};
use dotnet_diagnostics_ipc::io::Canceller;
#[cfg(unix)]
use signal_hook::consts::SIGINT;

#[cfg(unix)]
use crate::commands::Outcome;
use crate::commands::printable::say_leftovers;

/// The number that stands for Ctrl-C, as on Unix.
#[cfg(windows)]
const SIGINT: i32 = 2;
/// The first signal; 0 for none.
static SIGNAL: AtomicI32 = AtomicI32::new(0);

/// Returns the signal that ended the run, if any.
pub(crate) fn signal() -> Option<i32> {
    Some(SIGNAL.load(Ordering::SeqCst)).filter(|signal| *signal != 0)
}

/// Returns the exit status of a program that this signal ends.
pub(crate) const fn status(signal: i32) -> i32 {
    128 + signal
}

/// Returns a canceller that the first signal cancels. A second signal ends this program
/// immediately, with everything it has started.
pub(crate) fn canceller() -> io::Result<Canceller> {
    let canceller = Canceller::new()?;
    cancels(vec![vec![canceller.clone()]])?;
    Ok(canceller)
}

/// Makes the nth signal cancel all of the nth of `steps`; the signal after the last step ends this
/// program immediately.
pub(crate) fn cancels(steps: Vec<Vec<Canceller>>) -> io::Result<()> {
    /// `timeout` signals the process and then its group; these signals count as one.
    const SAME_SIGNAL_TIME: Duration = Duration::from_millis(300);

    let signals = signals()?;
    thread::Builder::new().name("signals".to_owned()).spawn(move || {
        let mut steps = steps.into_iter();
        let mut last: Option<Instant> = None;
        for signal in signals {
            if last.is_some_and(|last| last.elapsed() < SAME_SIGNAL_TIME) {
                continue;
            }
            last = Some(Instant::now());
            let _ = SIGNAL.compare_exchange(0, signal, Ordering::SeqCst, Ordering::SeqCst);
            let Some(step) = steps.next() else {
                diagipc::end_all_started();
                say_leftovers();
                exit(status(signal));
            };
            step.iter().for_each(Canceller::cancel);
        }
    })?;
    Ok(())
}

/// Returns the signals as they arrive.
#[cfg(unix)]
fn signals() -> io::Result<impl Iterator<Item = i32>> {
    use signal_hook::consts::{SIGHUP, SIGTERM};

    // `nohup` makes this program ignore SIGHUP.
    let own = std::process::id();
    let is_ignored =
        u8::try_from(SIGHUP).is_ok_and(|signal| diagipc::process::procfs::ignores(own, signal));
    let hang_up = Some(SIGHUP).filter(|_| !is_ignored);
    let mut signals =
        signal_hook::iterator::Signals::new([SIGINT, SIGTERM].into_iter().chain(hang_up))?;
    Ok(iter::from_fn(move || signals.forever().next()))
}

/// Returns SIGINT for each Ctrl-C or Ctrl-Break.
#[cfg(windows)]
fn signals() -> io::Result<impl Iterator<Item = i32>> {
    const POLL_INTERVAL: Duration = Duration::from_millis(50);

    diagipc::hold_ctrl_c()?;
    Ok(iter::from_fn(|| {
        while !diagipc::take_ctrl_c() {
            thread::sleep(POLL_INTERVAL);
        }
        Some(SIGINT)
    }))
}

/// Makes everything that this program starts end with it, even if it is killed. Call this before
/// anything is started.
#[cfg(unix)]
pub(crate) fn own() -> anyhow::Result<()> {
    let mut watcher = Command::new(env::current_exe().context("the path of this program")?);
    watcher.arg("watcher");
    own_all_started(watcher).context("owning what is started")
}

/// Runs `diagipc watcher`, which ends what this program has started once this program is gone.
#[cfg(unix)]
pub(crate) fn watch() -> anyhow::Result<Outcome> {
    watch_started().context("watching")?;
    Ok(Outcome::Well)
}

#[cfg(all(test, unix))]
mod tests {
    use dotnet_diagnostics_ipc::io::{ErrorKind, WaitLimit};

    use super::*;

    #[test]
    fn signal_cancels_and_is_kept() {
        let canceller = canceller().unwrap();
        signal_hook::low_level::raise(SIGINT).unwrap();
        let deadline = Instant::now().checked_add(Duration::from_secs(60));
        let waited = WaitLimit { deadline, canceller: Some(&canceller) }.sleep();
        assert!(matches!(waited, Err(ErrorKind::Cancelled)), "{waited:?}");
        assert_eq!((signal(), status(SIGINT)), (Some(SIGINT), 130));
    }
}
