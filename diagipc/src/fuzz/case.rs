//! The cases of a campaign: mutated requests of the vectors, and how each is sent.

use dotnet_diagnostics_ipc::command::Command;
use dotnet_diagnostics_ipc::header::RawHeader;
use dotnet_diagnostics_ipc_vectors::script::{
    EndStep, Ending, FdKind, Literal, Open, Send, Step, Wait,
};
use dotnet_diagnostics_ipc_vectors::{Direction, ExpectedResult, Group, Test, Type, Value};
use rand::seq::{IndexedRandom as _, SliceRandom as _};
use rand::{RngExt as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;

use super::mutation::{Mutation, is_whole};
use crate::conversation::wants_descriptor;
use crate::embedded::NamedFile;
use crate::server::request::ON;

/// The time in milliseconds for which a connection stays open before it is closed.
const LEAVE_DELAY_MS: u32 = 50;
/// The maximum length of a request. Longer ones would only slow down a campaign.
const MAX_SEED_LEN: usize = 2048;
/// The maximum number of pieces of a message.
const MAX_PIECES: usize = 5;

/// How a message is sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Delivery {
    /// In one piece.
    Whole,
    /// In pieces of these sizes, with pauses between them.
    Pieces(Vec<usize>),
    /// In one piece, and then the sending direction is closed.
    HalfClose,
    /// In one piece, and then the connection is closed without waiting for an answer.
    Leave,
}

impl Delivery {
    /// Returns the name in reports.
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
/// assert_eq!((case.delivery.name(), case.steps().len()), ("half-close", 3));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FuzzCase {
    /// The number in the campaign.
    pub number: u64,
    /// The `tcId` of the vector it was made from.
    pub tc_id: u32,
    /// The command of that vector.
    pub base: Command,
    /// The mutations that were applied to the vector.
    pub mutations: Vec<Mutation>,
    /// The bytes to send.
    pub message: Vec<u8>,
    /// How the bytes are sent.
    pub delivery: Delivery,
}

impl FuzzCase {
    /// Returns a case without mutations, for tests.
    #[cfg(test)]
    pub(super) fn of(message: &[u8], delivery: Delivery) -> Self {
        let (mutations, message) = (Vec::new(), message.to_vec());
        Self { number: 1, tc_id: 1, base: Command::RESUME_RUNTIME, mutations, message, delivery }
    }

    /// Returns the command in the bytes, or that of the vector if they end before it.
    pub fn command(&self) -> Command {
        RawHeader::read(&self.message).command.unwrap_or(self.base)
    }

    /// Returns the names of the mutations, such as `count`, `cut+other-command` or `none`.
    pub fn mutation(&self) -> String {
        if self.mutations.is_empty() {
            return "none".to_owned();
        }
        self.mutations.iter().map(|mutation| mutation.name()).collect::<Vec<_>>().join("+")
    }

    /// Returns the steps of an exchange script that send the case, up to reading an answer.
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
            // The descriptor is sent separately and before the reply is read (F-19, F-20). It does
            // not belong to tracefs, so no session starts.
            steps.push(send(&[0], Vec::new(), Some(FdKind::Null)));
        }
        match self.delivery {
            Delivery::Whole | Delivery::Pieces(_) => {}
            Delivery::HalfClose => {
                steps.push(Step::EndStep(EndStep { on: on(), end: Ending::HalfClose }));
            }
            Delivery::Leave => steps.push(Step::Wait(Wait { wait: LEAVE_DELAY_MS })),
        }
        steps
    }

    /// Returns the case with another message. Its pieces are kept as far as they fit.
    pub(super) fn with_message(&self, message: Vec<u8>) -> Self {
        let mut delivery = self.delivery.clone();
        if let Delivery::Pieces(sizes) = &mut delivery {
            let mut left = message.len();
            for size in &mut *sizes {
                *size = left.min(*size);
                left -= *size;
            }
            sizes.retain(|size| *size > 0);
        }
        Self { message, delivery, ..self.clone() }
    }

    /// Whether the message is sent in one piece and an answer is awaited.
    pub(super) fn is_complete(&self) -> bool {
        is_whole(&self.message)
    }
}

/// The valid requests of the vectors, by command.
#[derive(Debug)]
pub struct Seeds(Vec<(Command, Vec<Seed>)>);

/// A `tcId` and its valid request.
type Seed = (u32, Vec<u8>);

impl Seeds {
    /// Collects the valid requests in `files`, except for dumps that would be written outside the
    /// target's current directory.
    pub fn of(files: &[NamedFile]) -> Self {
        let mut seeds = Self(Vec::new());
        for group in files.iter().flat_map(|one| &one.file.groups) {
            let Some(command) = requested(group) else { continue };
            let tests = group.tests.iter().filter(|test| is_seed(test));
            let wires = tests.filter_map(|test| Some((test.tc_id, test.wire.clone()?)));
            let wires = wires.filter(|(_, wire)| wire.len() <= MAX_SEED_LEN);
            for seed in wires {
                match seeds.0.iter_mut().find(|(other, _)| *other == command) {
                    Some((_, list)) => list.push(seed),
                    None => seeds.0.push((command, Vec::from([seed]))),
                }
            }
        }
        seeds
    }

    /// Returns the case with that number; `None` only if there are no seeds. The case depends on
    /// nothing else, so any run of this version of the crate repeats it.
    pub fn case(&self, seed: u64, number: u64) -> Option<FuzzCase> {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        rng.set_stream(number);
        let (base, seeds) = self.0.choose(&mut rng)?;
        let (tc_id, wire) = seeds.choose(&mut rng)?;
        let mut message = wire.clone();
        let mut mutations = Vec::new();
        let wanted = match rng.random_range(0..20) {
            0 => 0,
            1..18 => 1,
            _ => 2,
        };
        let mut all = Mutation::ALL.to_vec();
        all.shuffle(&mut rng);
        // Mutated fields reveal more about a command than mutated frames, which all commands share.
        if rng.random_bool(0.7) {
            all.sort_by_key(|mutation| *mutation >= Mutation::OtherCommand);
        }
        // Mutations that do not apply to this message are skipped.
        for mutation in all {
            if mutations.len() < wanted && mutation.of(wire, &mut rng).is_some() {
                mutations.push(mutation);
            }
        }
        mutations.sort_unstable();
        mutations.retain(|mutation| match mutation.of(&message, &mut rng) {
            Some(mutated) => {
                message = mutated;
                true
            }
            None => false,
        });
        let delivery = delivery(&message, &mut rng);
        Some(FuzzCase { number, tc_id: *tc_id, base: *base, mutations, message, delivery })
    }
}

fn requested(group: &Group) -> Option<Command> {
    let is_request = group.kind == Type::Request && group.direction == Some(Direction::Client);
    group.command.as_deref().filter(|_| is_request)?.parse().ok()
}

fn is_seed(test: &Test) -> bool {
    let name: Option<&str> = test.value.get("dumpName").and_then(Value::as_str);
    test.result == ExpectedResult::Valid
        && !name.is_some_and(|name| name.starts_with('/') || name.contains([':', '\\']))
}

fn delivery(message: &[u8], rng: &mut ChaCha8Rng) -> Delivery {
    let chance = rng.random_range(0..16);
    let is_short =
        RawHeader::read(message).size.is_none_or(|size| message.len() < usize::from(size));
    match chance {
        // A server waits for the rest of a message until the input ends (F-69).
        0..12 if is_short => Delivery::HalfClose,
        0 if message.len() > 1 => Delivery::Pieces(pieces(message.len(), rng)),
        1 => Delivery::HalfClose,
        12.. if is_short => Delivery::Leave,
        2 => Delivery::Leave,
        _ => Delivery::Whole,
    }
}

/// Returns the sizes of at least two pieces.
fn pieces(len: usize, rng: &mut ChaCha8Rng) -> Vec<usize> {
    let mut ends: Vec<usize> =
        (0..rng.random_range(1..MAX_PIECES)).map(|_| rng.random_range(1..len)).collect();
    ends.push(len);
    ends.sort_unstable();
    ends.dedup();
    let mut begin = 0;
    ends.into_iter().map(|end| end.saturating_sub(std::mem::replace(&mut begin, end))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_become_chunks_and_single_piece_does_not() {
        for (sizes, chunks) in
            [(Vec::from([14, 6]), Vec::from([14, 6])), (Vec::from([20]), Vec::new())]
        {
            let resume = b"DOTNET_IPC_V1\0\x14\0\x04\x01\0\0";
            let steps = FuzzCase::of(resume, Delivery::Pieces(sizes)).steps();
            let [Step::Open(_), Step::Send(sent)] = steps.as_slice() else { panic!("{steps:?}") };
            assert_eq!(sent.chunks, chunks);
        }
    }
}
