//! Streams of sessions: their start, their events, and their end.

use alloc::{borrow::ToOwned as _, format, string::String, vec::Vec};
use core::time::Duration;

use super::error::Excerpt;
use super::{Difference, Flow, Open, Player, PlayerError, Received, differs, unexpected};
use crate::nettrace::{AskedEvents, Stream};
use crate::script::{ExpectEnd, ExpectedEnd};
use dotnet_diagnostics_ipc::advertise::{ADVERTISE_LEN, Advertise};
use dotnet_diagnostics_ipc::exchange::End;
use dotnet_diagnostics_ipc::header::RawHeader;

/// The start of a stream.
#[derive(Default)]
pub(super) struct StreamStart {
    bytes: Vec<u8>,
    /// How many of them a later step has read.
    taken: usize,
}

impl StreamStart {
    /// Takes bytes that no later step has read.
    pub(super) fn take(&mut self, most: usize) -> Option<Vec<u8>> {
        let unread = self.bytes.get(self.taken..).filter(|unread| !unread.is_empty())?;
        let taken = unread.get(..most).unwrap_or(unread).to_vec();
        self.taken = self.taken.saturating_add(taken.len());
        Some(taken)
    }
}

#[allow(clippy::missing_errors_doc, reason = "they fail as the other methods of a player do")]
impl Player<'_> {
    /// Reads a connection in the background from now on. What follows the reply on it is the stream
    /// of a session.
    pub fn drain(&mut self, on: &str) -> Result<(), PlayerError> {
        let so_far = self.so_far(on)?;
        let came = &so_far.came.first;
        let advertised =
            came.get(..ADVERTISE_LEN).is_some_and(|front| Advertise::decode(front).is_ok());
        let reply = came.get(if advertised { ADVERTISE_LEN } else { 0 }..).unwrap_or_default();
        let size = RawHeader::read(reply).size.map_or(0, usize::from);
        let mut stream = Stream::of(AskedEvents::of(&so_far.sent.first));
        stream.feed(reply.get(size..).unwrap_or_default());
        let flow = Flow { stream: Some(stream), ..Flow::default() };
        self.network.drain(self.link(on)?, flow)?;
        if let Some(open) = self.connections.get_mut(on) {
            open.is_drained = true;
        }
        Ok(())
    }

    /// Listens to a stream, and keeps its start for later steps.
    pub(super) fn expect_no_event(&mut self, on: &str, until: Duration) -> Result<(), PlayerError> {
        loop {
            match self.listen(on, 64, until)? {
                Received::Nothing => return Ok(()),
                Received::Bytes(bytes, _) => {
                    let start = self.starts.entry(on.to_owned()).or_default();
                    start.bytes.extend(bytes);
                    if !has_no_event(&start.bytes) {
                        return differs(format!(
                            "expected no event yet, received {}",
                            Excerpt(&start.bytes)
                        ));
                    }
                }
                Received::End(end) => return differs(format!("unexpected end: {end}")),
            }
        }
    }

    /// Reads on, if the start of the stream has come before, until it has more than that.
    pub(super) fn expect_event(&mut self, on: &str, until: Duration) -> Result<(), PlayerError> {
        let Some(StreamStart { bytes: mut stream, .. }) = self.starts.remove(on) else {
            return Ok(());
        };
        while has_no_event(&stream) {
            match self.receive(on, 64, until)? {
                Received::Bytes(bytes, _) => stream.extend(bytes),
                Received::End(end) => return Err(Difference::Ended { end, after: stream }.into()),
                Received::Nothing => {
                    return differs(format!(
                        "no event came after the start of the stream, {} bytes",
                        stream.len()
                    ));
                }
            }
        }
        Ok(())
    }

    /// Waits for bytes or the end. If the step says so, the time restarts while the target's memory
    /// grows.
    fn receive_while_memory_grows(
        &mut self,
        step: &ExpectEnd,
        mut until: Duration,
    ) -> Result<Received, PlayerError> {
        let within = until.saturating_sub(self.network.now());
        let mut most = self.network.memory();
        loop {
            let received = self.receive(&step.on, 64, until)?;
            let now = self
                .network
                .memory()
                .filter(|_| step.while_memory_grows && received == Received::Nothing);
            if now.is_none() || now <= most {
                return Ok(received);
            }
            most = now;
            until = self.in_a(within);
        }
    }

    pub(super) fn expect_end(
        &mut self,
        step: &ExpectEnd,
        until: Duration,
    ) -> Result<(), PlayerError> {
        let Open { link, is_drained, .. } = self.connection(&step.on)?;
        let end = if is_drained {
            let drained = self.drained(link, until)?;
            let ends_with = |last: &Vec<u8>| drained.last.ends_with(last);
            let any_of = &step.last_any_of;
            let is_it =
                ends_with(&step.last) && (any_of.is_empty() || any_of.iter().any(ends_with));
            let state = drained.stream.as_ref().map(Stream::state);
            let is_judged = drained.end.is_some() && step.is_of_stream();
            if let Some(state) = state.filter(|state| is_judged && state.is_wrong_nettrace()) {
                return Err(Difference::Stream(state).into());
            }
            if let Some(event) = drained.stream.as_ref().and_then(Stream::unasked) {
                return Err(Difference::Unasked(event.to_owned()).into());
            }
            if drained.end.is_some() && !is_it {
                let longest = any_of.iter().map(Vec::len).fold(step.last.len(), usize::max);
                let from = drained.last.len().saturating_sub(longest);
                let came = drained.last.get(from..).unwrap_or_default();
                let given = Some(&step.last).filter(|last| !last.is_empty());
                let wanted: Vec<String> =
                    given.into_iter().chain(any_of).map(hex::encode).collect();
                let came = if came.is_empty() {
                    "has no byte".to_owned()
                } else {
                    format!("of {} bytes ends with {}", drained.len, hex::encode(came))
                };
                return differs(format!(
                    "the rest of the stream {came}, expected {} at its end",
                    wanted.join(" or ")
                ));
            }
            drained.end
        } else {
            match self.receive_while_memory_grows(step, until)? {
                Received::End(end) => Some(end),
                Received::Nothing => None,
                Received::Bytes(bytes, _) => return differs(unexpected(&bytes)),
            }
        };
        match (step.expect_end, end) {
            (_, None) => Err(Difference::NoEnd.into()),
            (ExpectedEnd::Any, _)
            | (ExpectedEnd::Closed, Some(End::Closed))
            | (ExpectedEnd::Reset, Some(End::Reset)) => Ok(()),
            (_, Some(end)) => Err(Difference::End(end).into()),
        }
    }
}

fn has_no_event(stream: &[u8]) -> bool {
    let mut read = Stream::default();
    read.feed(stream);
    !read.is_past_start()
}
