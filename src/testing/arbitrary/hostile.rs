//! What a faulty or ill-meaning peer might send.

use alloc::vec::Vec;

use ::arbitrary::{Arbitrary, Result, Unstructured};

use super::choices::EDGES;
use super::{Choices, MadeReply, MadeRequest, Style};
use crate::header::HEADER_LEN;

/// A message that was valid before something happened to it: bytes changed, cut, doubled or left out, counts raised, a size that is
/// not its own. Now and then nothing happened.
///
/// ```
/// use arbitrary::{Arbitrary as _, Unstructured};
/// use dotnet_diagnostics_ipc::{testing::arbitrary::Hostile, message::Message};
///
/// let hostile = Hostile::arbitrary(&mut Unstructured::new(&[201; 100]))?;
/// match Message::decode(&hostile.0).and_then(|message| message.request()) {
///     Ok(request) => println!("{request:?}"),
///     Err(error) => println!("{error}"),
/// }
/// # Ok::<(), arbitrary::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Hostile(pub Vec<u8>);

impl Hostile {
    /// The bytes that `chosen` stands for: a request or reply by the first half of it, and what happens to it by the rest.
    pub fn new(chosen: &[u8], style: Style) -> Self {
        let (message, damage) = chosen.split_at_checked(chosen.len() / 2).unwrap_or_default();
        let choices = &mut Choices::new(damage, style);
        let mut bytes = if choices.yes() {
            MadeReply::new(message, style).bytes().to_vec()
        } else {
            MadeRequest::new(message, style).bytes().to_vec()
        };
        for _ in 0..choices.below(4) {
            choices.damage(&mut bytes, 14);
        }
        // The size is put right more often than not: else nobody looks at the rest.
        if choices.below(4) > 0 {
            put_size(&mut bytes);
        }
        Self(bytes)
    }
}

impl<'a> Arbitrary<'a> for Hostile {
    fn arbitrary(input: &mut Unstructured<'a>) -> Result<Self> {
        let (style, chosen) = Choices::any_style(input.arbitrary()?);
        Ok(Self::new(chosen, style))
    }
}

impl Choices<'_> {
    /// Changes `bytes` at one place, behind the first `spared` ones more often than not.
    pub(crate) fn damage(&mut self, bytes: &mut Vec<u8>, spared: usize) {
        let front = if self.below(8) > 0 { spared } else { 0 };
        let at = front.min(bytes.len()).saturating_add(self.below(bytes.len().saturating_sub(front)));
        match self.below(6) {
            0 => bytes.truncate(at),
            1 => {
                let flipped = 1 << self.below(8);
                if let Some(byte) = bytes.get_mut(at) {
                    *byte ^= flipped;
                }
            }
            2 => {
                let edge = self.pick(&EDGES, u32::MAX).to_le_bytes();
                if let Some(place) = bytes.get_mut(at..).and_then(<[u8]>::first_chunk_mut) {
                    *place = edge;
                }
            }
            3 => {
                let inserted = self.bytes(16).to_vec();
                bytes.splice(at..at, inserted);
            }
            4 => {
                let end = at.saturating_add(self.below(16)).min(bytes.len());
                bytes.drain(at..end);
            }
            _ => {
                // Doubled, but never to more than a message can be.
                let again = bytes.get(at..).filter(|rest| rest.len() < 4096).unwrap_or_default().to_vec();
                bytes.extend(again);
            }
        }
    }
}

/// Writes the size that `bytes` have into their header, if there is one.
fn put_size(bytes: &mut [u8]) {
    let size = u16::try_from(bytes.len()).unwrap_or(u16::MAX).to_le_bytes();
    let header = bytes.first_chunk_mut::<HEADER_LEN>();
    if let Some(place) = header.and_then(|header| header.get_mut(14..16)) {
        place.copy_from_slice(&size);
    }
}
