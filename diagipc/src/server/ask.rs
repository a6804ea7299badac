//! Reads what a server sends next on a connection, without a pattern.

use std::time::Duration;

use crate::conversation::Exchange;
use dotnet_diagnostics_ipc::command::Command;
use dotnet_diagnostics_ipc::header::{HEADER_LEN, Header};
use dotnet_diagnostics_ipc::message::encode_to_vec;
use dotnet_diagnostics_ipc::message::process::{ProcessInfo, ProcessInfo2};
use dotnet_diagnostics_ipc::wire::Encode;
use dotnet_diagnostics_ipc_vectors::player::{
    Conversation, Network, Player, PlayerError, Received,
};
use dotnet_diagnostics_ipc_vectors::script::Ending;

/// How long the rest of a reply of no interest may take.
const REST: Duration = Duration::from_secs(1);

/// Waits for one message, and reads no byte beyond it. The connection so far, with its first reply.
pub(super) fn next_message(
    player: &mut Player<'_>,
    on: &str,
    until: Duration,
) -> Result<Exchange, PlayerError> {
    hear_message(player, on, until)?;
    player.so_far(on).map(Exchange::so_far)
}

/// The same, whatever it says.
pub(super) fn hear_message(
    player: &mut Player<'_>,
    on: &str,
    until: Duration,
) -> Result<(), PlayerError> {
    let (mut bytes, mut wanted) = (Vec::new(), HEADER_LEN);
    while bytes.len() < wanted {
        let missing =
            Received::fill(&mut bytes, wanted, |missing| player.receive(on, missing, until))?;
        match Header::decode(&bytes) {
            Ok(header) if missing.is_none() => wanted = header.size.into(),
            _ => break,
        }
    }
    Ok(())
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
    let exchange = ask(player, on, Command::PROCESS_INFO2, &ProcessInfo2 {}, until)?;
    let reply = exchange.reply;
    let said = reply.text("clrProductVersion").zip(reply.text("managedEntrypointAssemblyName"));
    Ok(said.filter(|_| reply.is_whole() && reply.refusal.is_none()).map(|(version, assembly)| {
        Identity { version: version.to_owned(), runs: !assembly.is_empty() }
    }))
}

/// A target's information about itself.
pub(super) fn identity_of(
    network: &mut dyn Network,
    within: Duration,
) -> Result<Option<Identity>, PlayerError> {
    let until = network.now().saturating_add(within);
    let mut player = Player::new(network, within);
    identity(&mut player, "who are you", until)
}

/// Whether it still answers a `ProcessInfo` with a message.
pub(super) fn answers(
    player: &mut Player<'_>,
    on: &str,
    until: Duration,
) -> Result<(), PlayerError> {
    let exchange = ask(player, on, Command::PROCESS_INFO, &ProcessInfo {}, until)?;
    if exchange.reply.is_whole() && exchange.reply.is_one() {
        return Ok(());
    }
    Err(PlayerError::differs(format!("no valid reply to a complete ProcessInfo: {exchange}")))
}

/// Whether it still reacts to a `ProcessInfo`: the cases judge the answer.
pub(super) fn reacts(network: &mut dyn Network, within: Duration) -> Result<(), PlayerError> {
    let until = network.now().saturating_add(within);
    let mut player = Player::new(network, within);
    let on = "the last one";
    let request = encode_to_vec(Command::PROCESS_INFO, &ProcessInfo {})
        .map_err(|error| PlayerError::differs(format!("{error}")))?;
    player.open(on, until)?;
    let _ = player.send(on, &request, None, until)?;
    let first = player.receive(on, 1, until)?;
    // One that is slow reacts too.
    let until = player.network().now().saturating_add(REST.min(within));
    while let Received::Bytes(..) = player.listen(on, Conversation::KEPT, until)? {}
    player.end(on, Ending::Close)?;
    if first == Received::Nothing {
        return Err(PlayerError::differs("a complete ProcessInfo gets no answer"));
    }
    Ok(())
}

/// Opens a connection, sends a request, reads the reply, and closes.
fn ask(
    player: &mut Player<'_>,
    on: &str,
    command: Command,
    request: &impl Encode,
    until: Duration,
) -> Result<Exchange, PlayerError> {
    let request = encode_to_vec(command, request)
        .map_err(|error| PlayerError::differs(format!("{error}")))?;
    player.open(on, until)?;
    // If it cannot be sent, the reply explains why.
    let _ = player.send(on, &request, None, until)?;
    let came = next_message(player, on, until);
    player.end(on, Ending::Close)?;
    came
}
