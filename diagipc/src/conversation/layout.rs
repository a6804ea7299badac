//! The fields of a message by the grammar, whatever the encoding of its strings.
#![cfg_attr(not(test), deny(clippy::arithmetic_side_effects))]

use dotnet_diagnostics_ipc::command::{Command, ReplyType};
use dotnet_diagnostics_ipc::message::server::ErrorReply;
use dotnet_diagnostics_ipc_vectors::grammar::Field;

use super::fault_seen::FaultSeen;
use super::spelled::{GRAMMAR, NoSuch, Spelled, first_text, wrong_spelling};
use super::spelling::Spelling;

/// The type of a payload.
#[derive(Clone, Copy)]
pub(super) enum Layout {
    Error { message: bool },
    Ok(ReplyType),
}

impl Layout {
    /// That of a reply with this code to `command`; `None` if it may have any payload.
    pub(super) fn of(code: Command, command: Option<Command>) -> Option<Self> {
        if code == Command::ERROR {
            return Some(Self::Error { message: ErrorReply::has_message(command) });
        }
        command.and_then(Command::reply_type).map(Self::Ok)
    }

    fn read(self, spelled: &mut Spelled<'_>) -> Result<(), NoSuch> {
        match self {
            Self::Ok(reply_type) => spelled.fields(fields_of(reply_type).ok_or(NoSuch)?),
            Self::Error { message } => {
                let _ = spelled.part("hresult", None)?;
                if message && !spelled.rest().is_empty() { spelled.text() } else { Ok(()) }
            }
        }
    }

    /// The length of its fields at the front of `bytes`.
    pub(super) fn length_in(self, bytes: &[u8]) -> Option<usize> {
        let mut spelled = Spelled::new(bytes, Spelling::Right);
        self.read(&mut spelled).ok()?;
        Some(spelled.read())
    }

    /// The wrong encoding of the strings in a payload.
    pub(super) fn wrong_spelling_in(self, payload: &[u8]) -> Option<FaultSeen> {
        let has_strings = match self {
            Self::Ok(reply_type) => {
                matches!(
                    reply_type,
                    ReplyType::ProcessInfo | ReplyType::ProcessInfo2 | ReplyType::ProcessInfo3
                )
            }
            Self::Error { message } => message,
        };
        if has_strings { wrong_spelling(payload, |spelled| self.read(spelled)) } else { None }
    }
}

/// The fields of a reply.
fn fields_of(reply_type: ReplyType) -> Option<&'static [Field]> {
    let command = Command::known().find(|command| command.reply_type() == Some(reply_type))?;
    Some(&GRAMMAR.reply_to(command)?.fields)
}

/// Whether the payload of a request is right but for this encoding of its strings.
pub(crate) fn is_request_in(spelling: Spelling, command: Command, payload: &[u8]) -> bool {
    let name = command.to_string();
    let request = GRAMMAR.commands.iter().find(|request| request.name == name);
    request.is_some_and(|request| {
        first_text(payload, spelling, |spelled| spelled.fields(&request.fields)).is_some()
    })
}
