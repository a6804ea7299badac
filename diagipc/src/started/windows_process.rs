//! A process on Windows, with all that it starts.

use std::io;
use std::process::{Child, Command};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::Death;
use super::windows_job::Job;

/// A process. Its id is not reused while this value exists.
#[derive(Clone, Debug)]
pub(super) struct Process {
    child: Arc<Mutex<Child>>,
    job: Arc<Job>,
}

impl Process {
    pub(super) fn start(command: &mut Command) -> io::Result<Self> {
        let (child, job) = Job::start(command)?;
        Ok(Self { child: Arc::new(Mutex::new(child)), job: Arc::new(job) })
    }

    pub(super) fn child(&self) -> MutexGuard<'_, Child> {
        self.child.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// With all that it has started. It may have ended by itself.
    pub(super) fn kill(&self) {
        self.job.end();
    }

    /// Whether it, or something that it has started, is still running.
    pub(super) fn is_running(&self) -> bool {
        self.job.is_running()
    }

    /// How it ended, if it has.
    pub(super) fn death(&self) -> Option<Death> {
        match self.child().try_wait() {
            Ok(None) => None,
            Ok(Some(status)) => Some(status.code().map_or(Death::Unknown, Death::Status)),
            Err(_) => Some(Death::Unknown),
        }
    }
}
