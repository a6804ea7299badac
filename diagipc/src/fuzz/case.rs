//! One case: a message, and how it is sent.

use dotnet_diagnostics_ipc::command::Command;
use dotnet_diagnostics_ipc::header::RawHeader;
use dotnet_diagnostics_ipc_vectors::script::{
    EndStep, Ending, FdKind, Literal, Open, Send, Step, Wait,
};

use super::mutation::{Mutation, names};
use super::numbers;
use crate::conversation::wants_descriptor;
use crate::server::request::ON;

/// How long a connection stays open before it is closed, in milliseconds.
const LEFT: u32 = 50;

/// How a message is sent.
///
/// ```
/// use diagipc::fuzz::Delivery;
///
/// assert_eq!(Delivery::Pieces(vec![14, 6]).name(), "pieces");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Delivery {
    /// At once.
    Whole,
    /// In pieces of these sizes, with pauses between them.
    Pieces(Vec<usize>),
    /// At once, then the sending direction is closed.
    HalfClose,
    /// At once, then the connection is closed without waiting for an answer.
    Leave,
}

impl Delivery {
    /// Its name in reports.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Whole => "whole",
            Self::Pieces(_) => "pieces",
            Self::HalfClose => "half-close",
            Self::Leave => "leave",
        }
    }
}

/// A case of a campaign.
///
/// ```
/// use dotnet_diagnostics_ipc::command::Command;
/// use diagipc::fuzz::{Delivery, FuzzCase, Mutation};
///
/// let case = FuzzCase {
///     number: 1,
///     tc_id: 6200,
///     base: Command::ENABLE_PERF_MAP,
///     mutations: vec![Mutation::OtherCommand, Mutation::BytesBehind],
///     message: b"DOTNET_IPC_V1\0\x14\0\x04\x06\0\0\xff".to_vec(),
///     delivery: Delivery::HalfClose,
/// };
/// assert_eq!((case.command(), case.mutation()), (Command::DISABLE_PERF_MAP, "other-command+bytes-behind".to_owned()));
/// // It opens, sends, and ends the sending direction.
/// assert_eq!(case.steps().len(), 3);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FuzzCase {
    /// Its number.
    pub number: u64,
    /// The vector it was made from.
    pub tc_id: u32,
    /// The command of that vector.
    pub base: Command,
    /// Its mutations.
    pub mutations: Vec<Mutation>,
    /// The bytes to send.
    pub message: Vec<u8>,
    /// The way to send them.
    pub delivery: Delivery,
}

impl FuzzCase {
    /// The command in the bytes, or that of the vector if they are cut before it.
    pub fn command(&self) -> Command {
        RawHeader::read(&self.message).command.unwrap_or(self.base)
    }

    /// The names of the mutations: `count`, `cut+other-command`, `none`.
    pub fn mutation(&self) -> String {
        names(&self.mutations)
    }

    /// The steps of an exchange script that send it, up to reading an answer.
    pub fn steps(&self) -> Vec<Step> {
        let on = || ON.to_owned();
        let mut steps = Vec::from([Step::Open(Open { open: on(), port: None, within_ms: None })]);
        let send = |bytes: &[u8], chunks, with_fd| {
            let send = Vec::from([Literal::Bytes(bytes.to_owned())]);
            Step::Send(Send { on: on(), send, chunks, with_fd, may_fail: true, within_ms: None })
        };
        if !self.message.is_empty() {
            let chunks = match &self.delivery {
                Delivery::Pieces(sizes) if sizes.len() > 1 => sizes.clone(),
                _ => Vec::new(),
            };
            steps.push(send(&self.message, chunks, None));
        }
        if wants_descriptor(&self.message) {
            // Separately, and before the reply (F-19, F-20). It is not from tracefs, so no session
            // starts.
            steps.push(send(&[0], Vec::new(), Some(FdKind::Null)));
        }
        match self.delivery {
            Delivery::Whole | Delivery::Pieces(_) => {}
            Delivery::HalfClose => {
                steps.push(Step::EndStep(EndStep { on: on(), end: Ending::HalfClose }));
            }
            Delivery::Leave => steps.push(Step::Wait(Wait { wait: LEFT })),
        }
        steps
    }

    /// The same with another message. Pieces are kept as far as they go.
    pub(super) fn with_message(&self, message: Vec<u8>) -> Self {
        let delivery = match &self.delivery {
            Delivery::Pieces(sizes) => {
                let mut left = message.len();
                let mut kept: Vec<usize> = Vec::new();
                for size in sizes {
                    let size = left.min(*size);
                    left = left.saturating_sub(size);
                    if size > 0 {
                        kept.push(size);
                    }
                }
                Delivery::Pieces(kept)
            }
            other => other.clone(),
        };
        Self { message, delivery, ..self.clone() }
    }

    /// Whether it can be sent at once and waits for an answer.
    pub(super) fn is_complete(&self) -> bool {
        numbers::is_whole(&self.message)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_become_chunks_and_single_piece_does_not() {
        for (sizes, chunks) in
            [(Vec::from([14, 6]), Vec::from([14, 6])), (Vec::from([20]), Vec::new())]
        {
            let case = FuzzCase {
                number: 1,
                tc_id: 1,
                base: Command::RESUME_RUNTIME,
                mutations: Vec::new(),
                message: b"DOTNET_IPC_V1\0\x14\0\x04\x01\0\0".to_vec(),
                delivery: Delivery::Pieces(sizes),
            };
            let steps = case.steps();
            let [Step::Open(_), Step::Send(sent)] = steps.as_slice() else { panic!("{steps:?}") };
            assert_eq!(sent.chunks, chunks);
        }
    }
}
