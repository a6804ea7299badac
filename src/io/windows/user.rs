//! The user of a process, and the rights to open what a process creates. The `unsafe` calls are
//! sound because handles are open while used, and buffers have the size reported to the system.
#![allow(unsafe_code, reason = "calls into Windows")]
#![deny(clippy::undocumented_unsafe_blocks, clippy::multiple_unsafe_ops_per_block)]

use std::ffi::c_void;
use std::fmt;
use std::io;
use std::os::windows::io::{AsRawHandle as _, BorrowedHandle, FromRawHandle as _, OwnedHandle};
use std::ptr::{NonNull, null_mut};
use std::vec::Vec;

use windows_sys::Win32::Foundation::{HANDLE, LocalFree};
use windows_sys::Win32::Security::Authorization::{
    ConvertStringSecurityDescriptorToSecurityDescriptorW, SDDL_REVISION_1,
};
use windows_sys::Win32::Security::{
    GetLengthSid, GetTokenInformation, IsValidSid, SECURITY_ATTRIBUTES, TOKEN_QUERY, TOKEN_USER,
    TokenUser,
};
use windows_sys::Win32::System::Threading::{
    GetCurrentProcessId, OpenProcess, OpenProcessToken, PROCESS_QUERY_LIMITED_INFORMATION,
};

/// A security identifier: its bytes, as in the system.
#[derive(Clone, PartialEq, Eq)]
pub(in crate::io) struct Sid(Vec<u8>);

impl Sid {
    /// The system itself, the counterpart of root on Windows.
    const LOCAL_SYSTEM: [u8; 12] = [1, 1, 0, 0, 0, 0, 0, 5, 18, 0, 0, 0];

    /// Returns the user of a process.
    ///
    /// # Errors
    /// Fails if the process has exited, or refuses the query, as that of another user does.
    pub(in crate::io) fn of_process(process_id: u32) -> io::Result<Self> {
        // SAFETY: The arguments are only numbers.
        let process =
            owned(unsafe { OpenProcess(PROCESS_QUERY_LIMITED_INFORMATION, 0, process_id) })?;
        let mut token = null_mut();
        // SAFETY: The process is open; `token` is written within the call.
        if unsafe { OpenProcessToken(process.as_raw_handle(), TOKEN_QUERY, &raw mut token) } == 0 {
            return Err(io::Error::last_os_error());
        }
        let token = owned(token)?;
        of_token(std::os::windows::io::AsHandle::as_handle(&token))
    }

    /// Returns our user.
    ///
    /// # Errors
    /// Fails if the system does not report it.
    pub(in crate::io) fn ours() -> io::Result<Self> {
        // SAFETY: It takes nothing and cannot fail.
        Self::of_process(unsafe { GetCurrentProcessId() })
    }

    pub(in crate::io) fn is_system(&self) -> bool {
        self.0 == Self::LOCAL_SYSTEM
    }
}

/// `S-1-5-18`: the revision, the authority, and its numbers.
impl fmt::Display for Sid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (head, rest) = self.0.split_at_checked(8).unwrap_or((&self.0, &[]));
        let authority =
            head.iter().skip(2).fold(0_u64, |authority, byte| authority << 8 | u64::from(*byte));
        write!(f, "S-{}-{authority}", head.first().copied().unwrap_or_default())?;
        rest.chunks_exact(4).try_for_each(|part| {
            write!(f, "-{}", part.iter().rev().fold(0_u32, |n, byte| n << 8 | u32::from(*byte)))
        })
    }
}

impl fmt::Debug for Sid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The rights to open a pipe.
#[derive(Debug)]
pub(super) struct Rights(NonNull<c_void>);

// SAFETY: Nothing writes to the descriptor, and any thread may free it.
unsafe impl Send for Rights {}
// SAFETY: As above.
unsafe impl Sync for Rights {}

impl Rights {
    /// Grants all rights to this user, administrators and the system, and none to others, like mode
    /// 0600 on Unix.
    pub(super) fn private() -> io::Result<Self> {
        let text = std::format!("D:P(A;;GA;;;{})(A;;GA;;;BA)(A;;GA;;;SY)", Sid::ours()?);
        let units: Vec<u16> = text.encode_utf16().chain([0]).collect();
        let (mut descriptor, no_size) = (null_mut(), null_mut());
        // SAFETY: The text ends with a NUL; `descriptor` is written within the call.
        let made = unsafe {
            ConvertStringSecurityDescriptorToSecurityDescriptorW(
                units.as_ptr(),
                SDDL_REVISION_1,
                &raw mut descriptor,
                no_size,
            )
        };
        if made == 0 {
            return Err(io::Error::last_os_error());
        }
        NonNull::new(descriptor).map(Self).ok_or_else(|| io::ErrorKind::InvalidData.into())
    }

    /// Returns attributes for a call that creates something, valid while this value exists.
    pub(super) fn attributes(&self) -> SECURITY_ATTRIBUTES {
        let length = u32::try_from(size_of::<SECURITY_ATTRIBUTES>()).unwrap_or_default();
        SECURITY_ATTRIBUTES {
            nLength: length,
            lpSecurityDescriptor: self.0.as_ptr(),
            bInheritHandle: 0,
        }
    }
}

impl Drop for Rights {
    fn drop(&mut self) {
        // SAFETY: The system created it for us, and it has no other owner.
        unsafe { LocalFree(self.0.as_ptr()) };
    }
}

/// Returns the user of a token.
fn of_token(token: BorrowedHandle<'_>) -> io::Result<Sid> {
    let mut len = 0;
    // SAFETY: Without room, only the required length is written.
    unsafe { GetTokenInformation(token.as_raw_handle(), TokenUser, null_mut(), 0, &raw mut len) };
    // The buffer is aligned like the structure in it; a SID has at most 68 bytes.
    let mut room = std::vec![0_u64; usize::try_from(len).unwrap_or_default().min(1024).div_ceil(8).max(size_of::<TOKEN_USER>().div_ceil(8))];
    let bytes = u32::try_from(size_of_val(&*room)).unwrap_or_default();
    // SAFETY: `room` has this many bytes.
    if unsafe {
        GetTokenInformation(
            token.as_raw_handle(),
            TokenUser,
            room.as_mut_ptr().cast(),
            bytes,
            &raw mut len,
        )
    } == 0
    {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: The system has filled in a TOKEN_USER, for which `room` is large and aligned enough.
    let user = unsafe { room.as_ptr().cast::<TOKEN_USER>().read() };
    let sid = user.User.Sid;
    // SAFETY: It points to a SID within `room`, which still exists.
    if unsafe { IsValidSid(sid) } == 0 {
        return Err(io::ErrorKind::InvalidData.into());
    }
    // SAFETY: As above, and it is valid.
    let len = unsafe { GetLengthSid(sid) };
    // SAFETY: A valid SID has this many bytes, all within `room`.
    let sid = unsafe {
        std::slice::from_raw_parts(sid.cast::<u8>(), usize::try_from(len).unwrap_or_default())
    };
    Ok(Sid(sid.to_vec()))
}

/// Wraps the handle of a call that returns a null pointer on failure.
fn owned(handle: HANDLE) -> io::Result<OwnedHandle> {
    if handle.is_null() {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: It is new and valid, and has no other owner.
    Ok(unsafe { OwnedHandle::from_raw_handle(handle) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::windows::io::AsHandle as _;
    use std::string::ToString as _;

    /// The system reports for the pipe what was requested: three entries, and no inheritance.
    #[test]
    fn pipe_access_is_for_user_administrators_and_system() {
        use windows_sys::Win32::Security::{DACL_SECURITY_INFORMATION, GetKernelObjectSecurity};

        let path = crate::io::windows::PipePath::new("dotnet-diagnostics-ipc-test-rights").unwrap();
        let pipe =
            crate::io::windows::handle::create(&path, &Rights::private().unwrap(), true).unwrap();
        let (mut descriptor, mut len) = (std::vec![0_u64; 64], 0);
        let room = u32::try_from(size_of_val(&*descriptor)).unwrap();
        // SAFETY: The pipe is open, and `descriptor` has this many bytes.
        let got = unsafe {
            let into = descriptor.as_mut_ptr().cast();
            GetKernelObjectSecurity(
                pipe.as_handle().as_raw_handle(),
                DACL_SECURITY_INFORMATION,
                into,
                room,
                &raw mut len,
            )
        };
        assert_ne!(got, 0, "{}", io::Error::last_os_error());
        let bytes: Vec<u8> = descriptor.iter().flat_map(|word| word.to_le_bytes()).collect();
        let bytes = &bytes[..usize::try_from(len).unwrap()];
        // A self-relative SECURITY_DESCRIPTOR: the offset of the ACL; the ACL's number of entries
        // is at its offset 4.
        let acl = usize::from(bytes[16]);
        assert_eq!((bytes[acl + 4], bytes[acl + 5]), (3, 0), "{bytes:x?}");
        for sid in [
            &Sid::ours().unwrap().0[..],
            &Sid::LOCAL_SYSTEM,
            &[1, 2, 0, 0, 0, 0, 0, 5, 32, 0, 0, 0, 32, 2, 0, 0],
        ] {
            assert!(bytes.windows(sid.len()).any(|window| window == sid), "{sid:x?} in {bytes:x?}");
        }
    }

    #[test]
    fn sid_of_this_process_is_ours() {
        let ours = Sid::ours().unwrap();
        assert_eq!(Sid::of_process(std::process::id()).unwrap(), ours);
        assert!(ours.to_string().starts_with("S-1-5-"), "{ours}");
        assert!(Sid::of_process(u32::MAX).is_err());
    }

    #[test]
    fn sid_prints_as_the_system_writes_it() {
        let system = Sid(Sid::LOCAL_SYSTEM.to_vec());
        assert!(system.is_system());
        assert_eq!(system.to_string(), "S-1-5-18");
        let user = Sid(std::vec![1, 2, 0, 0, 0, 0, 0, 5, 21, 0, 0, 0, 0xe8, 3, 0, 0]);
        assert!(!user.is_system());
        assert_eq!(user.to_string(), "S-1-5-21-1000");
    }
}
