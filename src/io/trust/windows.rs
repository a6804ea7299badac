//! Checks who created a pipe, after connecting.

use std::string::ToString as _;

use super::{Distrust, Owners, TrustPolicy};
use crate::io::windows::Sid;
use crate::io::{Error, Phase};

/// Checks the process that created the pipe, before anything is sent. `expected` is the requested
/// process.
pub(in crate::io) fn check_pipe(
    server_process_id: std::io::Result<u32>,
    policy: TrustPolicy,
    expected: Option<u32>,
) -> Result<(), Error> {
    if policy.checks_nothing {
        return Ok(());
    }
    let untrusted = |why| Error::new(Phase::Trust, why);
    let unknown = |error: std::io::Error| Error::new(Phase::Trust, error);
    let process_id = server_process_id.map_err(unknown)?;
    if let Some(expected) = expected.filter(|expected| process_id != *expected) {
        return Err(untrusted(Distrust::PeerProcess { process_id, expected }));
    }
    if policy.owners != Owners::Any {
        let (owner, ours) =
            (Sid::of_process(process_id).map_err(unknown)?, Sid::ours().map_err(unknown)?);
        if owner != ours && !owner.is_system() {
            return Err(untrusted(Distrust::PeerUser {
                owner: owner.to_string(),
                ours: ours.to_string(),
            }));
        }
    }
    Ok(())
}
