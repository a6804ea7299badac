//! Faults in the environment that follows a reply.
#![cfg_attr(not(test), deny(clippy::arithmetic_side_effects))]

use byteorder::{ByteOrder as _, LittleEndian};

use super::fault_seen::FaultSeen;
use super::spelling::{NoSuch, Spelled, Spelling, wrong_spelling};
use crate::faults::Fault;

/// Whether `block` is one of that length.
pub(super) fn is_whole(block: &[u8], announced: usize) -> bool {
    block.len() == announced && length_of(block) == Some(announced)
}

/// How many bytes a block takes by its own counts.
fn length_of(block: &[u8]) -> Option<usize> {
    let mut spelled = Spelled::new(block, Spelling::Right);
    entries(&mut spelled).ok()?;
    Some(spelled.read())
}

/// The size of a block that is truncated in its last entry.
fn declared_length(block: &[u8]) -> Option<usize> {
    let number = |at: usize| block.get(at..at.checked_add(4)?).map(LittleEndian::read_u32);
    let mut at = 4_usize;
    for _ in 0..number(0)? {
        let units = usize::try_from(number(at)?).ok()?;
        at = at.checked_add(4)?.checked_add(units.checked_mul(2)?)?;
    }
    Some(at)
}

fn entries(spelled: &mut Spelled<'_>) -> Result<(), NoSuch> {
    let count = spelled.count()?;
    (0..count).try_for_each(|nth| entry(spelled, nth))
}

fn entry(spelled: &mut Spelled<'_>, nth: u32) -> Result<(), NoSuch> {
    spelled.call(format!("environment[{nth}]"));
    spelled.text()
}

/// The same up to the end of the bytes, whatever the count.
fn all_entries(spelled: &mut Spelled<'_>) -> Result<u32, NoSuch> {
    spelled.count()?;
    let mut count = 0;
    while !spelled.rest().is_empty() {
        entry(spelled, count)?;
        count = count.saturating_add(1);
    }
    Ok(count)
}

/// The fault in `rest`, which follows a reply that announces so many bytes. `is_all`: nothing more
/// followed.
pub(super) fn fault_in_block(announced: usize, rest: &[u8], is_all: bool) -> Option<FaultSeen> {
    let block = rest.get(..announced);
    if block.is_some_and(|block| length_of(block) == Some(announced)) {
        let more = rest.len().saturating_sub(announced);
        let text = format!("{more} bytes follow the environment of {announced} bytes");
        return (more > 0).then(|| FaultSeen::new(Fault::BytesAfterTheMessage, text));
    }
    if block.is_none() && !is_all {
        return None;
    }
    let swapped = u32::try_from(announced).ok().and_then(|n| usize::try_from(n.swap_bytes()).ok());
    if swapped == Some(rest.len()) && announced != rest.len() {
        let text =
            format!("nIncomingBytes is {announced}, but {} with its bytes reversed", rest.len());
        return Some(FaultSeen::new(Fault::NumbersBigEndian, text));
    }
    if length_of(rest) == Some(rest.len()) {
        return Some(bytes_wrong(announced, rest.len()));
    }
    if block.is_none() && declared_length(rest) == Some(announced) {
        let text = format!("nIncomingBytes is {announced}, but {} bytes were received", rest.len());
        return Some(FaultSeen::new(Fault::ReplyCut, text));
    }
    for block in [block, Some(rest)].into_iter().flatten() {
        let mut right = Spelled::new(block, Spelling::Right);
        if let Ok(count) = all_entries(&mut right) {
            let said = block.get(..4).map_or(0, LittleEndian::read_u32);
            let text =
                format!("the count of the environment is {said}, but {count} entries follow");
            return Some(FaultSeen::new(Fault::EnvironmentCountWrong, text));
        }
        let misspelled = wrong_spelling(block, entries)
            .or_else(|| wrong_spelling(block, |block| all_entries(block).map(drop)));
        if misspelled.is_some() {
            return misspelled;
        }
    }
    if block.is_none() {
        return Some(bytes_wrong(announced, rest.len()));
    }
    let text = format!("the {announced} bytes of the environment are not an array of strings");
    Some(FaultSeen::new(Fault::EnvironmentMalformed, text))
}

fn bytes_wrong(announced: usize, came: usize) -> FaultSeen {
    FaultSeen::new(
        Fault::EnvironmentBytesWrong,
        format!("nIncomingBytes is {announced}, but {came} bytes follow"),
    )
}
