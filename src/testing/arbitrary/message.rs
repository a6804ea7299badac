//! Whole messages that own their bytes.

use alloc::vec::Vec;
use core::fmt;

use ::arbitrary::{Arbitrary, Result, Unstructured};

use super::generate::{put_reply, put_request, unknown};
use super::{Choices, Generate as _, Style, of_fields};
use crate::advertise::Advertise;
use crate::command::{Command, ReplyType};
use crate::header::Header;
use crate::hresult::HResult;
use crate::message::process::Tail;
use crate::message::server::ErrorReply;
use crate::message::{AnyReply, AnyRequest, Message, Reply, encode_to_vec};
use crate::wire::IpcString;

/// A request of any command, known or not, as a whole message that owns its bytes.
///
/// ```
/// use arbitrary::{Arbitrary as _, Unstructured};
/// use dotnet_diagnostics_ipc::testing::arbitrary::MadeRequest;
///
/// let made = MadeRequest::arbitrary(&mut Unstructured::new(&[7; 100]))?;
/// assert!(made.bytes().starts_with(b"DOTNET_IPC_V1\0"));
/// println!("{}: {:?}", made.request().command(), made.request());
/// # Ok::<(), arbitrary::Error>(())
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct MadeRequest(Vec<u8>);

impl MadeRequest {
    /// The request that `chosen` stands for.
    pub fn new(chosen: &[u8], style: Style) -> Self {
        let (choices, mut payload) = (&mut Choices::new(chosen, style), Vec::new());
        let command = put_request(choices, &mut payload);
        Self(message(command, &payload))
    }

    /// The message.
    pub fn bytes(&self) -> &[u8] {
        &self.0
    }

    /// The request.
    #[allow(clippy::missing_panics_doc, clippy::expect_used, reason = "what is generated decodes")]
    pub fn request(&self) -> AnyRequest<'_> {
        Message::decode(&self.0).and_then(|message| message.request()).expect("what is generated decodes")
    }
}

impl<'a> Arbitrary<'a> for MadeRequest {
    fn arbitrary(input: &mut Unstructured<'a>) -> Result<Self> {
        let (style, chosen) = Choices::any_style(input.arbitrary()?);
        Ok(Self::new(chosen, style))
    }
}

impl fmt::Debug for MadeRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.request().fmt(f)
    }
}

/// A reply of any kind, as a whole message that owns its bytes, and what it answers.
///
/// ```
/// use arbitrary::{Arbitrary as _, Unstructured};
/// use dotnet_diagnostics_ipc::{testing::arbitrary::MadeReply, message::Message};
///
/// let made = MadeReply::arbitrary(&mut Unstructured::new(&[7; 100]))?;
/// let message = Message::decode(made.bytes()).unwrap();
/// assert_eq!(message.reply_to(made.answers()), Ok(made.reply()));
/// # Ok::<(), arbitrary::Error>(())
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct MadeReply {
    answers: Option<Command>,
    bytes: Vec<u8>,
}

impl MadeReply {
    /// The reply that `chosen` stands for.
    pub fn new(chosen: &[u8], style: Style) -> Self {
        let (choices, mut payload) = (&mut Choices::new(chosen, style), Vec::new());
        let commands: Vec<_> = Command::known().collect();
        let answers = match choices.byte() {
            250.. => None,
            240.. => Some(Command::from_code(0x6301)),
            200.. => Some(Command::GENERATE_CORE_DUMP3),
            _ => Some(choices.pick(&commands, Command::PROCESS_INFO)),
        };
        let code = match choices.below(8) {
            0 => {
                HResult::generate(choices, &mut payload);
                if ErrorReply::has_message(answers) && choices.yes() {
                    IpcString::generate(choices, &mut payload);
                }
                Command::ERROR
            }
            1 => Command::OK,
            _ => {
                match answers.and_then(Command::reply_type) {
                    Some(reply_type) => put_reply(reply_type, choices, &mut payload),
                    None => Tail::generate(choices, &mut payload),
                }
                Command::OK
            }
        };
        Self { answers, bytes: message(code, &payload) }
    }

    /// The command that it answers; `None` where that is not known.
    pub fn answers(&self) -> Option<Command> {
        self.answers
    }

    /// The message.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The reply.
    #[allow(clippy::missing_panics_doc, clippy::expect_used, reason = "what is generated decodes")]
    pub fn reply(&self) -> AnyReply<'_> {
        let message = Message::decode(&self.bytes);
        message.and_then(|message| message.reply_to(self.answers)).expect("what is generated decodes")
    }
}

impl<'a> Arbitrary<'a> for MadeReply {
    fn arbitrary(input: &mut Unstructured<'a>) -> Result<Self> {
        let (style, chosen) = Choices::any_style(input.arbitrary()?);
        Ok(Self::new(chosen, style))
    }
}

impl fmt::Debug for MadeReply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("MadeReply").field(&self.answers).field(&self.reply()).finish()
    }
}

#[allow(clippy::expect_used, reason = "generated payloads are small")]
fn message(command: Command, payload: &[u8]) -> Vec<u8> {
    encode_to_vec(command, &Tail(payload)).expect("no payload that is generated is too large")
}

/// Known ones more often than not.
impl<'a> Arbitrary<'a> for Command {
    fn arbitrary(input: &mut Unstructured<'a>) -> Result<Self> {
        let commands = || Self::known().chain([Self::OK, Self::ERROR]);
        let which = input.int_in_range(0..=commands().count())?;
        commands().nth(which).map_or_else(|| input.arbitrary().map(Self::from_code), Ok)
    }
}

impl<'a> Arbitrary<'a> for AnyRequest<'a> {
    fn arbitrary(input: &mut Unstructured<'a>) -> Result<Self> {
        let which = input.choose_index(Command::known().len().saturating_add(1))?;
        let known = Command::known().nth(which).map(|command| Self::build(command, input)).transpose()?.flatten();
        match known {
            Some(request) => Ok(request),
            None => Ok(Self::Unknown { command: unknown(input.arbitrary()?), payload: input.arbitrary()? }),
        }
    }
}

const REPLY_TYPES: [ReplyType; 6] = [
    ReplyType::Result,
    ReplyType::Session,
    ReplyType::ProcessInfo,
    ReplyType::ProcessInfo2,
    ReplyType::ProcessInfo3,
    ReplyType::ProcessEnvironment,
];

impl<'a> Arbitrary<'a> for AnyReply<'a> {
    fn arbitrary(input: &mut Unstructured<'a>) -> Result<Self> {
        let which = input.choose_index(REPLY_TYPES.len().saturating_add(3))?;
        if let Some(reply_type) = REPLY_TYPES.get(which) {
            return Self::build(*reply_type, input);
        }
        match which.saturating_sub(REPLY_TYPES.len()) {
            0 => Ok(Self::OkWithoutPayload),
            1 => input.arbitrary().map(Self::Error),
            _ => match Unstructured::arbitrary::<&[u8]>(input)? {
                // Without payload it is the generic OK.
                [] => Ok(Self::OkWithoutPayload),
                payload => Ok(Self::Unknown { payload }),
            },
        }
    }
}

/// The payload is up to 65,515 bytes, whatever the command.
impl<'a> Arbitrary<'a> for Message<'a> {
    fn arbitrary(input: &mut Unstructured<'a>) -> Result<Self> {
        let (command, reserved) = input.arbitrary()?;
        let payload: &[u8] = input.arbitrary()?;
        Ok(Self { command, reserved, payload: payload.get(..65_515).unwrap_or(payload) })
    }
}

impl<'a, T: Arbitrary<'a>> Arbitrary<'a> for Reply<'a, T> {
    fn arbitrary(input: &mut Unstructured<'a>) -> Result<Self> {
        Ok(match input.int_in_range(0..=2)? {
            0 => Self::Ok(input.arbitrary()?),
            1 => Self::OkWithoutPayload,
            _ => Self::Error(input.arbitrary()?),
        })
    }
}

/// The size is one that a message can have: 20 and more.
impl<'a> Arbitrary<'a> for Header {
    fn arbitrary(input: &mut Unstructured<'a>) -> Result<Self> {
        let size = input.int_in_range(20..=u16::MAX)?;
        Ok(Self { size, command: input.arbitrary()?, reserved: input.arbitrary()? })
    }
}

of_fields! {
    Advertise { runtime_cookie, process_id, future }
    ErrorReply<'a> { hresult, message }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_type_of_reply_can_be_chosen() {
        assert!(Command::known().filter_map(Command::reply_type).all(|reply_type| REPLY_TYPES.contains(&reply_type)));
    }
}
