//! Whether a process is alive, and how to end it.

use std::io;

use dotnet_diagnostics_ipc_vectors::script::SignalKind;
use rustix::process::{self, Pid, Signal, test_kill_process};

use crate::process::procfs::Stat;

/// Sends a signal to a process started by the player.
pub(crate) fn send(id: u32, signal: SignalKind) -> io::Result<()> {
    let signal = match signal {
        SignalKind::Term => Signal::TERM,
        SignalKind::Int => Signal::INT,
        SignalKind::Hup => Signal::HUP,
        SignalKind::Kill => Signal::KILL,
    };
    let pid = i32::try_from(id).ok().and_then(Pid::from_raw).ok_or(io::ErrorKind::InvalidInput)?;
    Ok(process::kill_process(pid, signal)?)
}

/// Whether a process with this id exists and has not ended. A zombie has ended: its parent has not
/// waited for it yet.
pub(crate) fn lives(id: u32) -> bool {
    let Some(pid) = i32::try_from(id).ok().and_then(Pid::from_raw) else { return false };
    match Stat::of(id) {
        Some(stat) => !stat.has_ended,
        // A process of another user counts too.
        None => !matches!(test_kill_process(pid), Err(rustix::io::Errno::SRCH)),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::process::{Command, Stdio};
    use std::thread;
    use std::time::{Duration, Instant};

    use super::*;

    #[test]
    #[cfg(target_os = "linux")]
    fn zombie_is_dead_before_it_is_waited_for() {
        let mut child =
            Command::new("cat").stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
        let id = child.id();
        assert!(lives(id));
        drop(child.stdin.take());
        let began = Instant::now();
        while lives(id) {
            assert!(began.elapsed() < Duration::from_secs(30), "it lives");
            thread::sleep(Duration::from_millis(5));
        }
        assert!(fs::exists(std::format!("/proc/{id}")).unwrap(), "nobody has waited for it");
        assert!(child.wait().unwrap().success());
        assert!(!lives(id));
    }

    #[test]
    fn process_without_number_does_not_live() {
        assert!(lives(std::process::id()));
        assert!(!lives(u32::MAX) && !lives(0));
    }
}
