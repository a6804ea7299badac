//! Reads a request off a connection.

use std::time::Duration;

use dotnet_diagnostics_ipc::command::Command;
use dotnet_diagnostics_ipc::header::RawHeader;
use dotnet_diagnostics_ipc_vectors::player::{EventKind, Received, TurnDirection};

use super::scenario::Unread;
use super::scenario_player::{REST, SLICE, ScenarioPlayer, Stop, WITHIN};

/// The most that is read of what should never have been sent.
const MOST: usize = 200_000;

impl Unread {
    /// How many bytes of a request of this size are read. A close with unread bytes resets the
    /// connection.
    fn read_of(self, size: usize) -> usize {
        let all_but_one = size.saturating_sub(1);
        match self {
            Self::None => size.max(20),
            Self::LastByte => all_but_one,
            Self::Payload => all_but_one.min(20),
        }
    }
}

impl ScenarioPlayer<'_, '_> {
    /// The expected request on a connection. At the client's port: on the next one, if the client
    /// closes this one or sends something in passing on it.
    pub(super) fn read_request(
        &mut self,
        on: &str,
        unread: Unread,
        expected: Option<Command>,
    ) -> Result<Vec<u8>, Stop> {
        let mut has_connected_again = false;
        loop {
            let bytes = self.read(on, unread)?;
            if bytes.is_empty() && !has_connected_again && self.connect_again(on)? {
                self.findings.note(
                    "it drops a connection with a slow advertise, and waits for the next one",
                );
                has_connected_again = true;
            } else if bytes.is_empty() || !self.answers_at_the_port(on, &bytes, expected)? {
                return Ok(bytes);
            }
        }
    }

    /// Reads as much of a request as its size field says, except what must stay unread.
    pub(super) fn read(&mut self, on: &str, unread: Unread) -> Result<Vec<u8>, Stop> {
        let bytes = self.read_to(on, 16)?;
        let size = RawHeader::read(&bytes).size;
        self.read_to(on, size.map_or(0, |size| unread.read_of(usize::from(size))))
    }

    /// All that came on a connection, read until there is so much, or nothing more arrives.
    pub(super) fn read_to(&mut self, on: &str, count: usize) -> Result<Vec<u8>, Stop> {
        loop {
            let bytes = &self.player.so_far(on)?.came.first;
            let missing = count.saturating_sub(bytes.len());
            if missing == 0 {
                return Ok(bytes.clone());
            }
            let until = self.in_a(if bytes.is_empty() { WITHIN } else { REST });
            let received = self.player.receive(on, missing, until)?;
            if !matches!(received, Received::Bytes(..)) {
                return Ok(self.player.so_far(on)?.came.first.clone());
            }
        }
    }

    /// How many descriptors came on the newest connection of that name.
    pub(super) fn descriptors(&self, on: &str) -> usize {
        let conversation = self.player.conversation();
        let number = conversation.connections.iter().rposition(|one| one.name == on);
        let came = conversation.events.iter().filter(|event| {
            Some(event.connection) == number && event.by == TurnDirection::Received
        });
        came.map(|event| if let EventKind::Said { fds, .. } = &event.did { fds.len() } else { 0 })
            .sum()
    }

    /// What arrives after a request within `patience`.
    pub(super) fn behind(&mut self, on: &str, patience: Duration) -> Result<Vec<u8>, Stop> {
        let mut bytes = Vec::new();
        while bytes.len() < MOST {
            // If there is something, its rest will arrive soon.
            let time = if bytes.is_empty() { patience } else { SLICE };
            let until = self.in_a(time);
            match self.player.listen(on, MOST, until)? {
                Received::Bytes(more, _) => bytes.extend(more),
                Received::End(_) | Received::Nothing => break,
            }
        }
        Ok(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn request_without_payload_keeps_last_byte_unread() {
        assert_eq!(Unread::Payload.read_of(50), 20);
        assert_eq!(Unread::Payload.read_of(20), 19);
        assert_eq!(Unread::LastByte.read_of(20), 19);
        assert_eq!((Unread::None.read_of(20), Unread::None.read_of(0)), (20, 20));
    }
}
