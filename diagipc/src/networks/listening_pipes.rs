//! The pipes on which a player listens.

use std::collections::BTreeMap;

use dotnet_diagnostics_ipc::io::windows::{PipeListener, PipeTransport};
use dotnet_diagnostics_ipc::io::{ErrorKind, Until};
use dotnet_diagnostics_ipc::vectors::player::PlayerError;

/// A pipe on which the player listens.
#[derive(Debug)]
pub(super) struct Listening {
    listener: PipeListener,
    /// It has connected, and was not accepted yet.
    called: Option<PipeTransport>,
}

impl Listening {
    pub(super) fn bind(name: &str) -> Result<Self, dotnet_diagnostics_ipc::io::Error> {
        Ok(Self { listener: PipeListener::bind(name)?, called: None })
    }

    /// The next connection; `None` on a timeout.
    pub(super) fn accept(
        &mut self,
        until: &Until<'_>,
    ) -> Result<Option<PipeTransport>, PlayerError> {
        if let Some(called) = self.called.take() {
            return Ok(Some(called));
        }
        match self.listener.accept(until) {
            Ok(pipe) => Ok(Some(pipe)),
            Err(error) if matches!(error.kind(), ErrorKind::TimedOut) => Ok(None),
            Err(error) => Err(PlayerError::differs(format!("{error:#}"))),
        }
    }

    /// Whether a connection arrives in time. It is kept for [`accept`](Self::accept).
    pub(super) fn is_called(&mut self, until: &Until<'_>) -> Result<bool, PlayerError> {
        self.called = self.accept(until)?;
        Ok(self.called.is_some())
    }
}

/// The ports of a network, by their names.
#[derive(Debug, Default)]
pub(super) struct Ports(BTreeMap<String, (String, Option<Listening>)>);

impl Ports {
    /// Adds a port of this name at `pipe`.
    pub(super) fn add(&mut self, name: &str, pipe: String) {
        self.0.insert(name.to_owned(), (pipe, None));
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }

    /// The name of its pipe.
    pub(super) fn pipe(&self, name: &str) -> Result<&str, PlayerError> {
        self.0.get(name).map(|(pipe, _)| pipe.as_str()).ok_or_else(|| unknown(name))
    }

    /// Where the player listens.
    pub(super) fn listener(&mut self, name: &str) -> Result<&mut Listening, PlayerError> {
        let (_, listening) = self.0.get_mut(name).ok_or_else(|| unknown(name))?;
        listening.as_mut().ok_or_else(|| PlayerError::differs("the player does not listen there"))
    }

    /// Starts or stops listening.
    pub(super) fn listen(&mut self, name: &str, listening: bool) -> Result<(), PlayerError> {
        let (pipe, now) = self.0.get_mut(name).ok_or_else(|| unknown(name))?;
        // The previous one is closed first: two with one name cannot be new.
        *now = None;
        if listening {
            *now = Some(
                Listening::bind(pipe).map_err(|error| PlayerError::differs(error.to_string()))?,
            );
        }
        Ok(())
    }
}

fn unknown(name: &str) -> PlayerError {
    PlayerError::Unavailable(format!("no port {name}"))
}
