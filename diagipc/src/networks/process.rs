//! Whether a process is alive, and how to end it.

use std::fs;
use std::io;

use dotnet_diagnostics_ipc::vectors::script::SignalKind;
use rustix::process::{self, Pid, Signal, test_kill_process};

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
    match fs::read(std::format!("/proc/{id}/stat")) {
        Ok(stat) => !has_ended(&stat),
        // A system without `/proc`, or one that hides the processes of others (`hidepid`). A
        // process of another user counts too.
        Err(_) => !matches!(test_kill_process(pid), Err(rustix::io::Errno::SRCH)),
    }
}

/// Whether a `/proc/PID/stat` is that of a zombie, or of a process that is about to disappear. The
/// letter follows the name, which may contain parentheses.
fn has_ended(stat: &[u8]) -> bool {
    let close = stat.iter().rposition(|byte| *byte == b')');
    let state = close.and_then(|close| stat.get(close..)).and_then(|rest| rest.get(2));
    matches!(state, Some(b'Z' | b'X' | b'x'))
}

#[cfg(test)]
mod tests {
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
    fn state_is_read_after_the_name() {
        for (stat, ended) in [
            (&b"12 (a) S 1 2"[..], false),
            (b"12 (a) Z 1 2", true),
            (b"12 (a) Z) R 1 2", false),
            (b"12 (a) R) X 0 0", true),
            (b"", false),
            (b"12 (a)", false),
        ] {
            assert_eq!(has_ended(stat), ended, "{}", stat.escape_ascii());
        }
        assert!(lives(std::process::id()));
        assert!(!lives(u32::MAX) && !lives(0));
    }
}
