//! Reads what a server sends next on a connection, without a pattern.

use std::fmt;
use std::time::Duration;

use dotnet_diagnostics_ipc::command::Command;
use dotnet_diagnostics_ipc::exchange::End;
use dotnet_diagnostics_ipc::header::{HEADER_LEN, Header};
use dotnet_diagnostics_ipc::hresult::HResult;
use dotnet_diagnostics_ipc::message::process::{ProcessInfo, ProcessInfo2};
use dotnet_diagnostics_ipc::message::{Message, Reply as Answer, encode_to_vec};
use dotnet_diagnostics_ipc::vectors::player::{self, Network, Player, PlayerError};
use dotnet_diagnostics_ipc::vectors::script::Ending;
use dotnet_diagnostics_ipc::wire::Encode;

use super::reply::Reply;
use crate::byte_count::ByteCount;

/// The result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Received {
    /// A whole message.
    Message(Vec<u8>),
    /// 20 bytes that are not a header.
    NoMessage(Vec<u8>),
    /// The end, after these bytes.
    End(End, Vec<u8>),
    /// Nothing more in time, after these bytes.
    Silence(Vec<u8>),
}

impl fmt::Display for Received {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Message(bytes) => write!(f, "a message of {} bytes", bytes.len()),
            Self::NoMessage(bytes) => {
                write!(f, "bytes that are not a header: {}", hex::encode(bytes))
            }
            Self::End(end, bytes) => write!(f, "{end} after {}", ByteCount(bytes.len())),
            Self::Silence(bytes) if bytes.is_empty() => f.write_str("no reply was received"),
            Self::Silence(bytes) => write!(f, "nothing more after {}", ByteCount(bytes.len())),
        }
    }
}

impl Received {
    /// The error code, for an error message.
    pub(crate) fn error(&self) -> Option<HResult> {
        let Self::Message(bytes) = self else { return None };
        Reply::unasked(bytes).error()
    }
}

/// Reads one message, and no byte beyond it.
pub(super) fn next_message(
    player: &mut Player<'_>,
    on: &str,
    until: Duration,
) -> Result<Received, PlayerError> {
    let mut bytes = Vec::new();
    let mut wanted = HEADER_LEN;
    loop {
        match player::Received::fill(&mut bytes, wanted, |missing| {
            player.receive(on, missing, until)
        })? {
            None => {}
            Some(player::Received::End(end)) => return Ok(Received::End(end, bytes)),
            Some(_) => return Ok(Received::Silence(bytes)),
        }
        match Header::decode(&bytes) {
            Ok(header) if usize::from(header.size) > wanted => wanted = header.size.into(),
            Ok(_) => return Ok(Received::Message(bytes)),
            Err(_) => return Ok(Received::NoMessage(bytes)),
        }
    }
}

/// A runtime's reply to `ProcessInfo2`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Identity {
    /// `clrProductVersion`: `10.0.9`.
    pub(crate) version: String,
    /// Whether its managed code has begun: until then the command line is only the executable, and
    /// there is no entry assembly (F-39, F-79).
    pub(crate) runs: bool,
}

/// Sends `ProcessInfo2`, a complete message (F-72). `None` if the answer is an error.
fn identity(
    player: &mut Player<'_>,
    on: &str,
    until: Duration,
) -> Result<Option<Identity>, PlayerError> {
    let Received::Message(bytes) =
        ask(player, on, Command::PROCESS_INFO2, &ProcessInfo2 {}, until)?
    else {
        return Ok(None);
    };
    let Ok((message, _)) = Message::decode_prefix(&bytes) else { return Ok(None) };
    Ok(match message.reply_as::<ProcessInfo2>() {
        Ok(Answer::Ok(info)) => {
            let runs = !info.managed_entrypoint_assembly_name.is_empty();
            Some(Identity { version: format!("{}", info.clr_product_version), runs })
        }
        _ => None,
    })
}

/// A target's information about itself.
pub(super) fn identity_of(
    network: &mut dyn Network,
    within: Duration,
) -> Result<Option<Identity>, String> {
    let until = network.now().saturating_add(within);
    let mut player = Player::new(network, within);
    identity(&mut player, "who are you", until).map_err(|trouble| format!("{trouble}"))
}

/// Whether it still answers a `ProcessInfo` with a message.
pub(super) fn answers(
    player: &mut Player<'_>,
    on: &str,
    until: Duration,
) -> Result<(), PlayerError> {
    match ask(player, on, Command::PROCESS_INFO, &ProcessInfo {}, until)? {
        Received::Message(bytes) if Reply::unasked(&bytes).is_one() => Ok(()),
        other => {
            Err(PlayerError::differs(format!("no valid reply to a complete ProcessInfo: {other}")))
        }
    }
}

/// Whether it still reacts to a `ProcessInfo`: the cases judge the answer.
pub(super) fn reacts(network: &mut dyn Network, within: Duration) -> Result<(), PlayerError> {
    let until = network.now().saturating_add(within);
    let mut player = Player::new(network, within);
    match ask(&mut player, "the last one", Command::PROCESS_INFO, &ProcessInfo {}, until)? {
        Received::Silence(_) => Err(PlayerError::differs("a complete ProcessInfo gets no answer")),
        Received::Message(_) | Received::NoMessage(_) | Received::End(..) => Ok(()),
    }
}

/// Opens a connection, sends a request, reads the reply, and closes.
fn ask(
    player: &mut Player<'_>,
    on: &str,
    command: Command,
    request: &impl Encode,
    until: Duration,
) -> Result<Received, PlayerError> {
    let request = encode_to_vec(command, request)
        .map_err(|error| PlayerError::differs(format!("{error}")))?;
    player.open(on, until)?;
    // If it cannot be sent, the reply explains why.
    let _ = player.send(on, &request, None, until)?;
    let came = next_message(player, on, until);
    player.end(on, Ending::Close)?;
    came
}
