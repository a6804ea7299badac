//! A trusted socket, and how to see that it is unchanged.

use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use super::TrustPolicy;
use super::user_ids::our_user_id;

/// A socket that a policy trusts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::io) struct Judged {
    identity: Identity,
    policy: TrustPolicy,
    /// Our user id, if ownership by us was the reason for trust.
    ours: Option<u32>,
}

/// Device, inode, and change time of the inode: covers its owner, permissions and names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Identity {
    device: u64,
    inode: u64,
    changed: (i64, i64),
}

impl Identity {
    fn of(metadata: &Metadata) -> Self {
        Self {
            device: metadata.dev(),
            inode: metadata.ino(),
            changed: (metadata.ctime(), metadata.ctime_nsec()),
        }
    }
}

impl Judged {
    pub(super) fn new(metadata: &Metadata, policy: TrustPolicy, ours: Option<u32>) -> Self {
        Self { identity: Identity::of(metadata), policy, ours }
    }

    /// Whether `policy` is unchanged and `path` still as trusted by it: it leads to that socket,
    /// and our user is the same. Nothing to look at if any socket is trusted; else one system call,
    /// two if our user matters.
    pub(in crate::io) fn is_still(&self, path: &Path, policy: TrustPolicy) -> bool {
        let is_same = || {
            fs::metadata(path).is_ok_and(|metadata| Identity::of(&metadata) == self.identity)
                && self.ours.is_none_or(|ours| ours == *our_user_id())
        };
        self.policy == policy && (policy == TrustPolicy::UNCHECKED || is_same())
    }
}
