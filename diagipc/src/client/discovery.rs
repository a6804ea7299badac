//! Scenarios about finding the socket of the process: each adds a decoy.

use super::requests::answered;
use super::scenario::{Decoy, Scenario};
use super::{Argument, Operation};

/// The decoy, and the scenario's name and text.
const DECOYS: &[(Decoy, &str, &str, &[&str])] = &[
    (
        Decoy::LongerPid,
        "longer-pid",
        "A process whose id begins with the same digits has a socket too",
        &["R-TRN-012"],
    ),
    (
        Decoy::LaterKey,
        "later-key",
        "A newer socket has the same process id and another start time",
        &["R-TRN-008"],
    ),
    (
        Decoy::EarlierKey,
        "earlier-key",
        "An older process of the same id has left its socket",
        &["R-TRN-008", "F-61"],
    ),
    (
        Decoy::PlainFile,
        "plain-file",
        "A newer plain file is named like a socket of the process",
        &["R-TRN-003", "R-TRN-012"],
    ),
    (
        Decoy::OldPrefix,
        "old-prefix",
        "A socket is named as in drafts of the protocol",
        &["R-TRN-013"],
    ),
    (
        Decoy::OtherOwner,
        "other-owner",
        "A newer socket has the same process id, and belongs to another user",
        &["R-TRN-008", "F-61"],
    ),
    (
        Decoy::InAnotherTmpdir,
        "other-tmpdir",
        "The client's TMPDIR is not that of the process, and has a socket with the same process id",
        &["R-TRN-008", "R-TRN-012"],
    ),
];
/// Commands that do harm in the wrong process, and one that does not.
const ASKED: &[Operation] = &[
    Operation::ProcessInfo,
    Operation::SetEnv,
    Operation::Dump,
    Operation::Attach,
    Operation::Trace,
];

pub(super) fn scenarios() -> Vec<Scenario> {
    let of = |operation: Operation| {
        DECOYS.iter().map(move |(decoy, what, title, spec)| {
            let mut scenario = answered(Scenario::new(
                &format!("discovery/{what}/{operation}"),
                title,
                spec,
                operation,
            ));
            scenario.decoys = vec![*decoy];
            // A client that is given the socket does not search for it.
            scenario.needs.push(vec![Argument::Pid]);
            scenario
        })
    };
    ASKED.iter().copied().flat_map(of).collect()
}
