//! How a runtime reads a payload that ends too early: it reads beyond the end (F-7, F-8). Here it
//! finds zeros there.

#[cfg(unix)]
use std::os::fd::OwnedFd;
use std::sync::Arc;

#[cfg(unix)]
use dotnet_diagnostics_ipc::continuation::FdByte;
use dotnet_diagnostics_ipc::exchange::RefusalReason;
use dotnet_diagnostics_ipc::header::{HEADER_LEN, RawHeader};
use dotnet_diagnostics_ipc::io::server::ServerTransport;
use dotnet_diagnostics_ipc::io::{Stopped, Transport, Until};
use dotnet_diagnostics_ipc::message::Message;
use dotnet_diagnostics_ipc::wire::{DecodeError, DecodeErrorKind};

use super::answers::Answers;
use super::peer::Peer;
use crate::known::Profile;

/// The offset of the size in a header.
/// One provider more than there may be (F-16).
const TOO_MANY_PROVIDERS: u32 = 1001;
/// The bytes of an empty provider, with its filter.
const PROVIDER_LEN: u32 = 25;
/// The bytes of a string are counted in 32 bits (F-8).
const MOST_UNITS: u32 = 0x7fff_ffff;
/// A message that needs more is refused.
const MOST_CHANGES: usize = 64;

const CLIENT_DATA: &str = "clientData";
const EVENT_IDS: &str = "event_ids";
const TRACEPOINTS: &str = "tracepoints";
const STRINGS: [&str; 10] = [
    "arguments",
    "default_tracepoint_name",
    "dumpName",
    "name",
    "profilerPath",
    "provider_name",
    "startupHookPath",
    "tracepoint_name",
    "value",
    "outputPath",
];

/// The connection to one client, whose messages are read as the profile's runtime reads them.
pub(super) struct OverReading {
    peer: Peer,
    /// A whole message, and how much of it was passed on.
    message: Vec<u8>,
    given: usize,
    is_read: bool,
}

impl OverReading {
    pub(super) const fn new(peer: Peer) -> Self {
        Self { peer, message: Vec::new(), given: 0, is_read: false }
    }

    pub(super) fn answers(&self) -> Arc<Answers> {
        self.peer.answers()
    }

    /// Receives a message, as far as it arrives.
    fn read(&mut self, until: &Until<'_>) -> Result<(), Stopped> {
        loop {
            let size = RawHeader::read(&self.message).size.unwrap_or(0);
            let wanted = if self.message.len() < HEADER_LEN { HEADER_LEN } else { size.into() };
            let missing = wanted.saturating_sub(self.message.len());
            if missing == 0 {
                break;
            }
            let mut piece = std::vec![0; missing];
            let n = self.peer.receive(&mut piece, until)?;
            if n == 0 {
                return Ok(());
            }
            self.message.extend(piece.get(..n).unwrap_or_default());
        }
        let application = Arc::clone(&self.peer.answers().application);
        if application.conduct.harms_itself() {
            self.message = taken_for(application.profile, &self.message)
                .unwrap_or_else(|| std::mem::take(&mut self.message));
        }
        Ok(())
    }
}

impl Transport for OverReading {
    fn send(&mut self, bytes: &[u8], until: &Until<'_>) -> Result<usize, Stopped> {
        self.peer.send(bytes, until)
    }

    fn receive(&mut self, into: &mut [u8], until: &Until<'_>) -> Result<usize, Stopped> {
        if !self.is_read {
            self.read(until)?;
            self.is_read = true;
        }
        let rest = self.message.get(self.given..).unwrap_or_default();
        if rest.is_empty() {
            return self.peer.receive(into, until);
        }
        let n = rest.len().min(into.len());
        into.iter_mut().zip(rest).for_each(|(into, byte)| *into = *byte);
        self.given += n;
        Ok(n)
    }
}

impl ServerTransport for OverReading {
    #[cfg(unix)]
    fn receive_fd(
        &mut self,
        until: &Until<'_>,
    ) -> Result<Option<(FdByte, Option<OwnedFd>)>, Stopped> {
        self.peer.receive_fd(until)
    }

    fn hung_up(&mut self, until: &Until<'_>) -> Result<(), Stopped> {
        self.peer.hung_up(until)
    }
}

/// The message as read by the runtime if its payload ends too early; `None` if that is refused, or
/// kills it.
fn taken_for(profile: Profile, message: &[u8]) -> Option<Vec<u8>> {
    let mut wire = message.to_vec();
    let mut refused_at = None;
    for _ in 0..MOST_CHANGES {
        let message = Message::decode(&wire).ok()?;
        match message.request() {
            // The earlier check counts.
            Ok(request) => {
                let limit = request.check_limits().err().map(|limit| limit.offset());
                let is_first = refused_at.is_none_or(|at| limit.is_some_and(|limit| limit < at));
                return is_first.then_some(wire);
            }
            Err(error) => {
                let offset = u32::try_from(error.offset()).unwrap_or(u32::MAX);
                let reason = RefusalReason::Malformed { kind: error.kind(), offset };
                if !profile.reads_on(&message, reason) {
                    return None;
                }
                match Found::of(&error)? {
                    Found::Zeros(missing) => {
                        let len = wire
                            .len()
                            .checked_add(missing)
                            .filter(|len| u16::try_from(*len).is_ok())?;
                        wire.resize(len, 0);
                    }
                    Found::Count(count) => {
                        *wire.get_mut(error.offset()..)?.first_chunk_mut()? = count.to_le_bytes();
                    }
                    Found::TooManyProviders => {
                        wire.truncate(error.offset());
                        wire.extend(TOO_MANY_PROVIDERS.to_le_bytes());
                        let len = wire
                            .len()
                            .checked_add(TOO_MANY_PROVIDERS.saturating_mul(PROVIDER_LEN) as usize)?;
                        wire.resize(len, 0);
                    }
                    Found::Wrong => {
                        refused_at = refused_at.or(Some(error.offset()));
                        wire.truncate(error.offset());
                    }
                }
                let size = Some(u16::try_from(wire.len()).ok()?);
                RawHeader { size, ..RawHeader::default() }.write(&mut wire);
            }
        }
    }
    None
}

/// What a runtime reads in place of a missing field.
enum Found {
    /// This many bytes after the payload.
    Zeros(usize),
    /// Another count.
    Count(u32),
    TooManyProviders,
    /// What it refuses.
    Wrong,
}

impl Found {
    /// `None` if that is left to the table.
    fn of(error: &DecodeError) -> Option<Self> {
        let path = error.path();
        let is_in = |field| path.segments().any(|(name, _)| name == field);
        // Its length is not checked (F-54).
        if is_in(CLIENT_DATA) {
            return None;
        }
        match error.kind() {
            DecodeErrorKind::UnexpectedEnd { needed, remaining } => {
                Some(Self::Zeros(needed.saturating_sub(remaining) as usize))
            }
            DecodeErrorKind::MissingTerminator { .. } => Some(Self::Wrong),
            DecodeErrorKind::CountTooLarge { count, remaining } => {
                let missing = |item: u32| {
                    Self::Zeros(count.saturating_mul(item).saturating_sub(remaining) as usize)
                };
                Some(if STRINGS.into_iter().any(is_in) {
                    let units = count & MOST_UNITS;
                    if units < count && units <= remaining.div_euclid(2) {
                        Self::Count(units)
                    } else {
                        Self::Wrong
                    }
                } else if is_in(EVENT_IDS) {
                    missing(4)
                } else if is_in(TRACEPOINTS) {
                    missing(8)
                } else if count >= TOO_MANY_PROVIDERS {
                    Self::TooManyProviders
                } else {
                    missing(PROVIDER_LEN)
                })
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use dotnet_diagnostics_ipc::vectors::grammar::Grammar;

    use super::{CLIENT_DATA, EVENT_IDS, STRINGS, TRACEPOINTS};

    #[test]
    fn over_read_fields_are_of_the_grammar() {
        let grammar = serde_json::to_string(&Grammar::of_this_crate()).unwrap();
        for name in STRINGS.into_iter().chain([CLIENT_DATA, EVENT_IDS, TRACEPOINTS]) {
            assert!(grammar.contains(&format!(r#""name":"{name}""#)), "no {name}");
        }
    }
}
