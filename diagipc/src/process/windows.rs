//! Processes on Windows, each with all its descendants. The `unsafe` calls are sound because
//! handles are open while used, and structures have the size reported to the system.
//!
//! A process is created suspended and runs only once it is in its job, so everything that it starts
//! is in the job too. `std` starts the process but keeps no handle of its first thread, which is
//! looked up. If this process is killed in between, a process that never ran is left.
//!
//! This is not done by a crate: `process-wrap` (8.2, for this Rust) uses std's `Command`, and does
//! not end the job with this process; `win32job` does not suspend. Both need the crate `windows`.
//! For Ctrl-C, `ctrlc` would bring five crates for macOS.
#![allow(unsafe_code, reason = "calls into Windows")]
#![deny(clippy::undocumented_unsafe_blocks, clippy::multiple_unsafe_ops_per_block)]

use std::io;
use std::mem::size_of;
use std::os::windows::io::{AsRawHandle as _, HandleOrNull, OwnedHandle};
use std::os::windows::process::CommandExt as _;
use std::process::{Child, Command};
use std::ptr::{null, null_mut};
use std::sync::atomic::{AtomicBool, Ordering};

use windows_sys::Win32::Foundation::{HANDLE, INVALID_HANDLE_VALUE};
use windows_sys::Win32::System::Console::{CTRL_BREAK_EVENT, CTRL_C_EVENT, SetConsoleCtrlHandler};
use windows_sys::Win32::System::Diagnostics::ToolHelp::{
    CreateToolhelp32Snapshot, TH32CS_SNAPTHREAD, THREADENTRY32, Thread32First, Thread32Next,
};
use windows_sys::Win32::System::JobObjects::{
    AssignProcessToJobObject, CreateJobObjectW, JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE,
    JOBOBJECT_BASIC_ACCOUNTING_INFORMATION, JOBOBJECT_EXTENDED_LIMIT_INFORMATION,
    JobObjectBasicAccountingInformation, JobObjectExtendedLimitInformation,
    QueryInformationJobObject, SetInformationJobObject, TerminateJobObject,
};
use windows_sys::Win32::System::Threading::{
    CREATE_NEW_PROCESS_GROUP, CREATE_SUSPENDED, OpenThread, ResumeThread, THREAD_SUSPEND_RESUME,
};

use super::Death;

/// The job object of a process. A drop ends its processes, and so does the end of this process,
/// because no other process has a handle of the job.
#[derive(Debug)]
pub(super) struct WindowsProcess(OwnedHandle);

impl WindowsProcess {
    /// Starts a process in a job of its own.
    ///
    /// # Errors
    /// Fails if it cannot be started, or cannot be put into a job; then it does not run.
    pub(super) fn start(command: &mut Command) -> io::Result<(Child, Self)> {
        let job = Self::new()?;
        // A process in a group of its own ignores Ctrl-C.
        let child = command.creation_flags(CREATE_SUSPENDED | CREATE_NEW_PROCESS_GROUP).spawn();
        command.creation_flags(0);
        let mut child = child?;
        match job.add(&child).and_then(|()| resume(child.id())) {
            Ok(()) => Ok((child, job)),
            Err(error) => {
                // The process has done nothing yet.
                let _ = child.kill();
                let _ = child.wait();
                Err(error)
            }
        }
    }

    fn new() -> io::Result<Self> {
        // SAFETY: No attributes and no name are allowed; nothing else is read.
        let job = owned(unsafe { CreateJobObjectW(null(), null()) })?;
        let mut limits = JOBOBJECT_EXTENDED_LIMIT_INFORMATION::default();
        limits.BasicLimitInformation.LimitFlags = JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE;
        // SAFETY: The job is open; `limits` is of this class, and read within the call.
        let is_set = unsafe {
            SetInformationJobObject(
                job.as_raw_handle(),
                JobObjectExtendedLimitInformation,
                (&raw const limits).cast(),
                size(&limits),
            )
        };
        done(is_set)?;
        Ok(Self(job))
    }

    fn add(&self, child: &Child) -> io::Result<()> {
        // SAFETY: Both handles are open, being borrowed.
        done(unsafe { AssignProcessToJobObject(self.0.as_raw_handle(), child.as_raw_handle()) })
    }

    /// Ends the processes of the job. This may take time.
    ///
    /// # Errors
    /// Fails if the system refuses it.
    pub(super) fn kill(&mut self) -> io::Result<()> {
        // SAFETY: The job is open.
        done(unsafe { TerminateJobObject(self.0.as_raw_handle(), 1) })
    }

    /// Returns whether processes of the job are still running, as far as the system reports it.
    pub(super) fn is_running(&self) -> bool {
        let mut counts = JOBOBJECT_BASIC_ACCOUNTING_INFORMATION::default();
        // SAFETY: The job is open; `counts` is of this class, and written within the call.
        let is_known = unsafe {
            QueryInformationJobObject(
                self.0.as_raw_handle(),
                JobObjectBasicAccountingInformation,
                (&raw mut counts).cast(),
                size(&counts),
                null_mut(),
            )
        };
        is_known != 0 && counts.ActiveProcesses > 0
    }
}

/// Whether Ctrl-C or Ctrl-Break was pressed since [`take_ctrl_c`].
static HAS_CTRL_C: AtomicBool = AtomicBool::new(false);

/// Keeps Ctrl-C and Ctrl-Break from ending this process.
///
/// # Errors
/// Fails if the system refuses.
pub fn hold_ctrl_c() -> io::Result<()> {
    // SAFETY: The function may be called at any time, on any thread.
    done(unsafe { SetConsoleCtrlHandler(Some(held), 1) })
}

/// Returns whether Ctrl-C or Ctrl-Break was pressed since the last call.
pub fn take_ctrl_c() -> bool {
    HAS_CTRL_C.swap(false, Ordering::SeqCst)
}

/// Returns whether the event is held; then the system does nothing more.
extern "system" fn held(event: u32) -> i32 {
    let is_held = matches!(event, CTRL_C_EVENT | CTRL_BREAK_EVENT);
    HAS_CTRL_C.fetch_or(is_held, Ordering::SeqCst);
    is_held.into()
}

/// Returns how the process ended, if it has. Its id is not reused while its handle is open.
pub(super) fn death(child: &mut Child) -> Option<Death> {
    child.try_wait().map_or(Some(Death::Unknown), |status| status.map(Death::from))
}

/// Resumes a process that was created suspended, and has one thread.
fn resume(process_id: u32) -> io::Result<()> {
    // SAFETY: The arguments are only numbers.
    let threads = unsafe { CreateToolhelp32Snapshot(TH32CS_SNAPTHREAD, 0) };
    if threads == INVALID_HANDLE_VALUE {
        return Err(io::Error::last_os_error());
    }
    let threads = owned(threads)?;
    let mut entry = THREADENTRY32::default();
    entry.dwSize = size(&entry);
    // SAFETY: The snapshot is open; `entry` says its size, and is written within the call.
    let mut found = unsafe { Thread32First(threads.as_raw_handle(), &raw mut entry) };
    // The last call fails, because there are no more threads.
    while done(found).is_ok() {
        if entry.th32OwnerProcessID == process_id {
            // SAFETY: The arguments are only numbers.
            let thread =
                owned(unsafe { OpenThread(THREAD_SUSPEND_RESUME, 0, entry.th32ThreadID) })?;
            // SAFETY: The thread is open.
            let count = unsafe { ResumeThread(thread.as_raw_handle()) };
            return if count == u32::MAX { Err(io::Error::last_os_error()) } else { Ok(()) };
        }
        entry.dwSize = size(&entry);
        // SAFETY: As above.
        found = unsafe { Thread32Next(threads.as_raw_handle(), &raw mut entry) };
    }
    Err(io::Error::other("the started process has no thread"))
}

/// Converts the result of a call that returns 0 on failure.
fn done(result: i32) -> io::Result<()> {
    if result == 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

fn size<T>(_: &T) -> u32 {
    u32::try_from(size_of::<T>()).unwrap_or(u32::MAX)
}

/// Wraps the handle of a call that returns a null pointer on failure.
fn owned(handle: HANDLE) -> io::Result<OwnedHandle> {
    // SAFETY: It is new, or null, and has no other owner.
    let handle = unsafe { HandleOrNull::from_raw_handle(handle) };
    OwnedHandle::try_from(handle).map_err(|_| io::Error::last_os_error())
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead as _, BufReader, Read as _, Write as _};
    use std::process::{ChildStdout, Stdio};
    use std::sync::mpsc::{Receiver, channel};
    use std::thread;
    use std::time::{Duration, Instant};

    use super::super::Started;
    use super::*;

    const ROLE: &str = "DIAGIPC_TEST_ROLE";
    const SAYS: &str = "it holds the pipe";
    const LONG: Duration = Duration::from_secs(30);

    /// Returns a command that runs this program in another role, with our standard output.
    fn this(role: &str) -> Command {
        let mut this = Command::new(std::env::current_exe().unwrap());
        this.args(["--exact", "--nocapture", "process::windows::tests::plays_a_role"])
            .env(ROLE, role)
            .stdin(Stdio::null());
        this
    }

    /// Plays the programs of the other tests; alone it does nothing.
    #[test]
    fn plays_a_role() {
        match std::env::var(ROLE).as_deref() {
            Ok("grandchild") => {
                writeln!(io::stdout(), "{SAYS}").unwrap();
                thread::sleep(LONG * 3);
            }
            Ok("child") => {
                this("grandchild").status().unwrap();
            }
            Ok("child that ends") => {
                #[allow(clippy::zombie_processes, reason = "it outlives this process")]
                this("grandchild").spawn().unwrap();
            }
            Ok("tool") => {
                let _child = Started::start(&mut this("child")).unwrap();
                thread::sleep(LONG * 3);
            }
            _ => {}
        }
    }

    /// Waits until a grandchild holds the pipe. The receiver gets a message once none does.
    fn held(pipe: ChildStdout) -> Receiver<()> {
        let mut pipe = BufReader::new(pipe);
        let mut line = String::new();
        while !line.contains(SAYS) {
            assert_ne!(pipe.read_line(&mut line).unwrap(), 0, "{line}");
        }
        let (sender, receiver) = channel();
        thread::spawn(move || {
            pipe.read_to_string(&mut String::new()).unwrap();
            let _ = sender.send(());
        });
        receiver
    }

    #[test]
    fn started_ends_with_its_children() {
        let mut started = Started::start(this("child").stdout(Stdio::piped())).unwrap();
        let is_free = held(started.take_output().0.unwrap());
        assert_eq!(started.death(), None);
        started.end();
        is_free.recv_timeout(LONG).unwrap();
    }

    #[test]
    fn started_that_has_ended_leaves_no_children() {
        let command = &mut this("child that ends");
        let mut started = Started::start(command.stdout(Stdio::piped())).unwrap();
        let is_free = held(started.take_output().0.unwrap());
        let began = Instant::now();
        while started.death().is_none() && began.elapsed() < LONG {
            thread::sleep(Duration::from_millis(5));
        }
        assert_eq!(started.end().and_then(|status| status.code()), Some(0));
        is_free.recv_timeout(LONG).unwrap();
    }

    #[test]
    fn killed_tool_leaves_nothing_started() {
        let mut tool = this("tool").stdout(Stdio::piped()).spawn().unwrap();
        let is_free = held(tool.stdout.take().unwrap());
        tool.kill().unwrap();
        tool.wait().unwrap();
        is_free.recv_timeout(LONG).unwrap();
    }
}
