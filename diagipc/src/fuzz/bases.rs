//! The valid requests that are mutated.

use dotnet_diagnostics_ipc::command::Command;
use dotnet_diagnostics_ipc::header::RawHeader;
use dotnet_diagnostics_ipc_vectors::{Direction, ExpectedResult, Group, Test, Type, Value};
use rand::seq::{IndexedRandom as _, SliceRandom as _};
use rand::{RngExt as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;

use super::case::{Delivery, FuzzCase};
use super::mutation::Mutation;
use crate::embedded::NamedFile;

/// Longer ones would only slow down a campaign.
const LONGEST: usize = 2048;
/// The most pieces of a message.
const MOST_PIECES: usize = 5;

#[derive(Debug)]
struct Base {
    tc_id: u32,
    wire: Vec<u8>,
}

/// The valid requests of the vectors, by command.
///
/// ```
/// use diagipc::fuzz::Bases;
///
/// assert_eq!(Bases::of(&[]).case(1, 1), None);
/// ```
#[derive(Debug)]
pub struct Bases(Vec<(Command, Vec<Base>)>);

impl Bases {
    /// Those in `files`. A dump that would be written outside the target's current directory is
    /// left out.
    pub fn of(files: &[NamedFile]) -> Self {
        let mut bases = Self(Vec::new());
        for group in files.iter().flat_map(|one| &one.file.groups) {
            let Some(command) = requested(group) else { continue };
            for test in &group.tests {
                let Some(wire) =
                    test.wire.as_ref().filter(|wire| is_base(test) && wire.len() <= LONGEST)
                else {
                    continue;
                };
                let base = Base { tc_id: test.tc_id, wire: wire.clone() };
                match bases.0.iter_mut().find(|(other, _)| *other == command) {
                    Some((_, list)) => list.push(base),
                    None => bases.0.push((command, Vec::from([base]))),
                }
            }
        }
        bases
    }

    /// The case with that number; `None` only without bases. It depends on nothing else, so any run
    /// of the same version of this crate repeats it.
    pub fn case(&self, seed: u64, number: u64) -> Option<FuzzCase> {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        rng.set_stream(number);
        let (command, bases) = self.0.choose(&mut rng)?;
        let base = bases.choose(&mut rng)?;
        let mut message = base.wire.clone();
        let mut mutations = Vec::new();
        let wanted = match rng.random_range(0..20) {
            0 => 0,
            1..18 => 1,
            _ => 2,
        };
        let mut all = Mutation::ALL.to_vec();
        all.shuffle(&mut rng);
        // Fields say more about a command than frames, which are the same for all.
        if rng.random_bool(0.7) {
            all.sort_by_key(|mutation| *mutation >= Mutation::OtherCommand);
        }
        // Mutations that do not apply to this message are skipped.
        for mutation in all {
            if mutations.len() < wanted && mutation.of(&base.wire, &mut rng).is_some() {
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
        Some(FuzzCase { number, tc_id: base.tc_id, base: *command, mutations, message, delivery })
    }
}

/// The command, of a group of requests.
fn requested(group: &Group) -> Option<Command> {
    let is_request = group.kind == Type::Request && group.direction == Some(Direction::Client);
    group.command.as_deref().filter(|_| is_request)?.parse().ok()
}

fn is_base(test: &Test) -> bool {
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

/// Sizes of pieces, two at least.
fn pieces(len: usize, rng: &mut ChaCha8Rng) -> Vec<usize> {
    let mut ends: Vec<usize> =
        (0..rng.random_range(1..MOST_PIECES)).map(|_| rng.random_range(1..len)).collect();
    ends.push(len);
    ends.sort_unstable();
    ends.dedup();
    let mut begin = 0;
    ends.into_iter().map(|end| end.saturating_sub(std::mem::replace(&mut begin, end))).collect()
}
