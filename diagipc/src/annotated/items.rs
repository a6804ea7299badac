//! Splits one or both sides of a conversation into messages, advertises and continuations.

use dotnet_diagnostics_ipc::advertise::{ADVERTISE_LEN, ADVERTISE_MAGIC};
use dotnet_diagnostics_ipc::command::{Command, Continuation};
use dotnet_diagnostics_ipc::continuation::StreamStart;
use dotnet_diagnostics_ipc::header::Header;
use dotnet_diagnostics_ipc::hresult::HResult;
use dotnet_diagnostics_ipc::message::{AnyReply, Message};
use dotnet_diagnostics_ipc::vectors::{DecodeRefusal, ReadAs, Type, Value, VectorFault};
use dotnet_diagnostics_ipc::wire::{WireError, WireErrorKind};
use serde::{Deserialize, Serialize};

/// The longest environment block whose entries are shown, and the longest piece that is read: an
/// entry of 4 bytes takes 700 bytes of memory in an annotated dump. Messages are always shorter.
pub const MOST_IN_FIELDS: usize = 1 << 20;

/// The sender of the bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Side {
    /// The tool that asks
    Client,
    /// The runtime that answers
    #[value(name = "server")]
    Runtime,
}

/// The kind of an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// A message of a command that is not an answer.
    Request,
    /// The OK answer to a request.
    Reply,
    /// An error answer.
    Error,
    /// `ADVR_V1`.
    Advertise,
    /// What follows a reply.
    Continuation,
    /// Not of the protocol, or cut.
    Unknown,
    /// Not a message: see `type`.
    Piece,
}

/// A type of the vectors, by its name there or a shorter one.
pub fn kind(name: &str) -> Result<Type, String> {
    let name = match name {
        "user-events" => "user_events-record",
        "legacy" => "legacy-request",
        name => name,
    };
    serde_json::from_value(Value::from(name))
        .map_err(|_| "`type` in vectors/README.md lists the types".to_owned())
}

/// One message, advertise or continuation: an item of `decode --json`.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Item {
    /// Its offset in the input.
    pub offset: usize,
    /// Its length in bytes.
    pub size: usize,
    /// What it is.
    pub kind: Kind,
    /// The type of a piece, by its name in the vectors.
    #[serde(rename = "type", default, skip_serializing_if = "Option::is_none")]
    pub piece: Option<Type>,
    /// The request, or the request that the reply answers.
    pub command: Option<String>,
    /// From the header.
    pub code: Option<String>,
    /// Whether encoding it again gives the same bytes.
    pub canonical: bool,
    /// Its value form.
    pub value: Value,
    /// Why a server would refuse it although it decodes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limits: Option<Problem>,
    /// Why it does not decode.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<Problem>,
    /// What its bytes are annotated as.
    #[serde(skip)]
    pub subject: Option<ReadAs>,
}

/// A fault with its message. `offset` counts from the start of the item.
#[derive(Debug, Serialize, Deserialize)]
pub struct Problem {
    #[serde(flatten)]
    /// Layer, kind, offset and field.
    pub fault: VectorFault,
    /// In words.
    pub message: String,
    /// A server's answer to such a request.
    #[serde(skip)]
    pub answer: Option<HResult>,
}

impl From<DecodeRefusal> for Problem {
    fn from(refusal: DecodeRefusal) -> Self {
        Self { fault: refusal.fault, message: refusal.message, answer: refusal.answer }
    }
}

impl<K: WireErrorKind> From<WireError<K>> for Problem {
    fn from(error: WireError<K>) -> Self {
        Self {
            fault: error.into(),
            message: error.kind().to_string(),
            answer: Some(error.hresult()),
        }
    }
}

/// Splits bytes into items.
pub struct Splitter<'b> {
    bytes: &'b [u8],
    at: usize,
    /// The sender of all of it; if not given, each message's code decides.
    from: Option<Side>,
    /// The request that replies answer: given by the caller, else the last one seen.
    request: Option<Command>,
    request_is_given: bool,
    /// The continuation of the last reply.
    continuation: Option<usize>,
}

impl<'b> Splitter<'b> {
    /// The bytes, who sent them, and the request that the first reply answers; all but the bytes
    /// may be unknown.
    pub fn new(bytes: &'b [u8], from: Option<Side>, request: Option<Command>) -> Self {
        // A file with a stream has no reply before it.
        let is_stream = StreamStart::recognise(bytes).known_len().is_some();
        Self {
            bytes,
            at: 0,
            from,
            request,
            request_is_given: request.is_some(),
            continuation: is_stream.then_some(usize::MAX),
        }
    }

    fn advertise(&mut self, rest: &'b [u8]) -> Item {
        let size = rest.len().min(ADVERTISE_LEN);
        let subject = ReadAs { kind: Type::Advertise, command: None, from_server: true };
        self.item(rest, size, Kind::Advertise, None, subject)
    }

    fn message(&mut self, rest: &'b [u8]) -> Item {
        let Ok(header) = Header::decode(rest) else {
            // The start of the next message is unknown.
            let subject = ReadAs {
                kind: Type::Unknown,
                command: None,
                from_server: self.from == Some(Side::Runtime),
            };
            return self.item(rest, rest.len(), Kind::Unknown, None, subject);
        };
        let from_server =
            self.from.map_or(header.command.set == Command::OK.set, |from| from == Side::Runtime);
        let command = if from_server { self.request } else { Some(header.command) };
        let subject = ReadAs { kind: Type::Request, command, from_server };
        let kind = match header.command {
            Command::ERROR if from_server => Kind::Error,
            _ if from_server => Kind::Reply,
            command if command.name().is_some() && command.set != Command::OK.set => Kind::Request,
            _ => Kind::Unknown,
        };
        let item = self.item(rest, header.size.into(), kind, Some(header.command), subject);
        if !from_server && !self.request_is_given {
            self.request = Some(header.command);
        }
        if from_server {
            self.continuation = Message::decode_prefix(rest)
                .ok()
                .and_then(|(message, _)| follows(&message, self.request));
        }
        item
    }

    fn item(
        &mut self,
        rest: &'b [u8],
        size: usize,
        kind: Kind,
        code: Option<Command>,
        subject: ReadAs,
    ) -> Item {
        let wire = rest.get(..size).unwrap_or(rest);
        let code = code.map(|code| format!("0x{:04X}", code.code()));
        let item = Item { offset: self.at, code, ..Item::decoded(kind, subject, wire) };
        self.at += wire.len();
        item
    }
}

impl Item {
    /// Its bytes in the input.
    pub fn bytes_in<'b>(&self, input: &'b [u8]) -> &'b [u8] {
        input.get(self.offset..self.offset.saturating_add(self.size)).unwrap_or_default()
    }

    /// All of `bytes` as one of `kind`.
    pub fn whole(kind: Type, bytes: &[u8]) -> Self {
        let from_server = matches!(kind, Type::Advertise | Type::Reply | Type::Error);
        let subject = ReadAs { kind, command: None, from_server };
        let (shown, piece) = if kind == Type::Advertise {
            (Kind::Advertise, None)
        } else {
            (Kind::Piece, Some(kind))
        };
        Self { piece, ..Self::decoded(shown, subject, bytes) }
    }

    fn decoded(kind: Kind, subject: ReadAs, wire: &[u8]) -> Self {
        let mut item = Self {
            offset: 0,
            size: wire.len(),
            kind,
            piece: None,
            command: subject.command.map(|command| command.to_string()),
            code: None,
            canonical: false,
            value: Value::Null,
            limits: None,
            error: None,
            subject: Some(subject),
        };
        match subject.decode(wire) {
            Ok(decoded) => {
                item.canonical = decoded.canonical;
                item.value = decoded.value;
                item.limits = decoded.limit.map(Problem::from);
            }
            Err(error) => item.error = Some(error.into()),
        }
        item
    }
}

/// How many bytes follow a reply that are not a message.
fn follows(reply: &Message<'_>, request: Option<Command>) -> Option<usize> {
    match (request?.continuation()?, reply.reply_to(request).ok()?) {
        (Continuation::EnvironmentBlock, AnyReply::ProcessEnvironment(reply)) => {
            usize::try_from(reply.n_incoming_bytes).ok()
        }
        (
            Continuation::Nettrace | Continuation::BySessionType,
            AnyReply::Session(_) | AnyReply::OkWithoutPayload,
        ) => Some(usize::MAX),
        _ => None,
    }
}

impl Iterator for Splitter<'_> {
    type Item = Item;

    fn next(&mut self) -> Option<Item> {
        let rest = self.bytes.get(self.at..).filter(|rest| !rest.is_empty())?;
        if let Some(len) = self.continuation.take().filter(|len| *len > 0) {
            let bytes = rest.get(..len).unwrap_or(rest);
            // An environment block is decoded; a stream is not.
            let environment =
                self.request == Some(Command::PROCESS_ENVIRONMENT) && bytes.len() <= MOST_IN_FIELDS;
            let subject = environment.then_some(ReadAs {
                kind: Type::Environment,
                command: None,
                from_server: true,
            });
            let mut value = serde_json::json!({ "bytes": hex::encode(bytes) });
            let entries = subject.map(|subject| subject.decode(bytes));
            let error = match entries {
                Some(Ok(decoded)) => {
                    if let Some(value) = value.as_object_mut() {
                        value.insert("entries".to_owned(), decoded.value);
                    }
                    None
                }
                Some(Err(refusal)) => Some(refusal.into()),
                None => None,
            };
            let item = Item {
                offset: self.at,
                size: bytes.len(),
                kind: Kind::Continuation,
                piece: None,
                command: self.request.map(|command| command.to_string()),
                code: None,
                canonical: true,
                value,
                limits: None,
                error,
                subject,
            };
            self.at += bytes.len();
            return Some(item);
        }
        let advertises = self.from != Some(Side::Client)
            && rest.iter().zip(ADVERTISE_MAGIC).take(5).all(|(have, want)| *have == want);
        Some(if advertises { self.advertise(rest) } else { self.message(rest) })
    }
}
