//! Minimises the message of a finding.

use dotnet_diagnostics_ipc::header::HEADER_LEN;

use super::case::{Delivery, FuzzCase};
use super::mutation::{fields, replaced, sized};

/// Makes a case smaller as long as `shows` returns true, and calls it at most `most` times.
///
/// Sends the message in one piece first. Then removes bytes of the payload, in ever smaller runs
/// from end to start, and corrects the size. Finally sets fields to zero. A wrong size is kept.
///
/// # Errors
/// Returns whatever `shows` returns.
pub(super) fn minimise(
    case: &FuzzCase,
    most: u32,
    shows: &mut dyn FnMut(&FuzzCase) -> Result<bool, String>,
) -> Result<(FuzzCase, u32), String> {
    let mut minimiser = Minimiser { best: case.clone(), tries: 0, most, shows };
    minimiser.deliver()?;
    minimiser.shorten()?;
    minimiser.simplify()?;
    minimiser.deliver()?;
    Ok((minimiser.best, minimiser.tries))
}

struct Minimiser<'d> {
    best: FuzzCase,
    tries: u32,
    most: u32,
    shows: &'d mut dyn FnMut(&FuzzCase) -> Result<bool, String>,
}

impl Minimiser<'_> {
    fn offer(&mut self, candidate: FuzzCase) -> Result<bool, String> {
        if self.tries >= self.most || candidate == self.best {
            return Ok(false);
        }
        self.tries += 1;
        let shows = (self.shows)(&candidate)?;
        if shows {
            self.best = candidate;
        }
        Ok(shows)
    }

    fn deliver(&mut self) -> Result<(), String> {
        if let Some(candidate) = with_size_fixed(&self.best) {
            self.offer(candidate)?;
        }
        if self.best.is_complete() && self.best.delivery != Delivery::Whole {
            self.offer(FuzzCase { delivery: Delivery::Whole, ..self.best.clone() })?;
        }
        Ok(())
    }

    fn shorten(&mut self) -> Result<(), String> {
        let payload = |case: &FuzzCase| case.message.len().saturating_sub(HEADER_LEN);
        // Try without any payload first, as most servers crash on that, and nothing is shorter.
        let mut run = payload(&self.best);
        while run > 0 {
            let mut end = self.best.message.len();
            while end > HEADER_LEN {
                let begin = end.saturating_sub(run).max(HEADER_LEN);
                if let Some(candidate) = without(&self.best, begin, end) {
                    self.offer(candidate)?;
                }
                end = begin.min(self.best.message.len());
            }
            run = run.min(payload(&self.best)).checked_div(2).unwrap_or(0);
        }
        Ok(())
    }

    fn simplify(&mut self) -> Result<(), String> {
        let payload = HEADER_LEN..self.best.message.len();
        let fields: Vec<_> =
            fields(&self.best.message).into_iter().map(|field| field.range).collect();
        let read = fields.last().map_or(payload.start, |field| field.end);
        // Set all fields to zero, then one after another. Undecoded bytes count as one field.
        for range in
            std::iter::once(payload.clone()).chain(fields).chain(std::iter::once(read..payload.end))
        {
            let Some(there) = self.best.message.get(range.clone()) else { continue };
            if there.iter().all(|byte| *byte == 0) {
                continue;
            }
            let mut message = self.best.message.clone();
            if let Some(bytes) = message.get_mut(range) {
                bytes.fill(0);
            }
            let candidate = self.best.with_message(message);
            self.offer(candidate)?;
        }
        Ok(())
    }
}

fn without(case: &FuzzCase, begin: usize, end: usize) -> Option<FuzzCase> {
    let message = if case.is_complete() {
        replaced(&case.message, &(begin..end), &[])?
    } else {
        [case.message.get(..begin)?, case.message.get(end..)?].concat()
    };
    Some(case.with_message(message))
}

/// Corrects the size of the case, if only the size is wrong.
fn with_size_fixed(case: &FuzzCase) -> Option<FuzzCase> {
    if case.is_complete() || case.message.len() < HEADER_LEN {
        return None;
    }
    let message = sized(case.message.clone())?;
    Some(FuzzCase { message, delivery: Delivery::Whole, ..case.clone() })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn minimised(payload: &[u8], most: u32, shows: impl Fn(&FuzzCase) -> bool) -> (FuzzCase, u32) {
        let message = [b"DOTNET_IPC_V1\0\0\0\x04\x03\0\0".as_slice(), payload].concat();
        let pieces = Delivery::Pieces(vec![10, 10, payload.len()]);
        let case = FuzzCase::of(&sized(message).unwrap(), pieces);
        minimise(&case, most, &mut |case| Ok(shows(case))).unwrap()
    }

    #[test]
    fn minimise_payload_not_needed_becomes_empty() {
        let (found, tries) = minimised(&[7; 100], 64, |_| true);
        assert_eq!(
            (found.message.as_slice(), tries),
            (b"DOTNET_IPC_V1\0\x14\0\x04\x03\0\0".as_slice(), 2)
        );
        assert_eq!(found.delivery, Delivery::Whole);
    }

    #[test]
    fn minimise_keeps_needed_bytes_and_zeroes_others() {
        let payload = [&[1; 30][..], &[0xee], &[2; 9]].concat();
        // Look for the byte 0xee with two bytes before it.
        let (found, _) = minimised(&payload, 200, |case| {
            case.message.get(22..).is_some_and(|rest| rest.contains(&0xee))
        });
        assert_eq!(found.message, b"DOTNET_IPC_V1\0\x17\0\x04\x03\0\0\x01\x01\xee");
        let (found, _) = minimised(&payload, 200, |case| case.message.len() >= 25);
        assert_eq!(found.message, b"DOTNET_IPC_V1\0\x19\0\x04\x03\0\0\0\0\0\0\0");
    }

    #[test]
    fn minimise_stops_at_limit_of_tries() {
        let (found, tries) = minimised(&[7; 1000], 5, |case| case.message.len() > 1000);
        assert!(found.message.len() > 1000);
        assert_eq!(tries, 5);
    }

    #[test]
    fn minimise_keeps_pieces_if_needed() {
        let (found, _) = minimised(
            &[7; 8],
            64,
            |case| matches!(&case.delivery, Delivery::Pieces(sizes) if sizes.len() > 1),
        );
        assert_eq!(found.message, b"DOTNET_IPC_V1\0\x14\0\x04\x03\0\0");
        assert_eq!(found.delivery, Delivery::Pieces(std::vec![10, 10]));
    }
}
