//! Splits bytes into messages, advertises and continuations, and explains each part of them.
//!
//! ```
//! use dotnet_diagnostics_ipc_vectors::explain::Splitter;
//!
//! let bytes = b"DOTNET_IPC_V1\0\x1c\0\x02\x01\0\0\x2a\0\0\0\0\0\0\0DOTNET_IPC_V1\0\x14\0\xff\0\x01\0";
//! let items: Vec<_> = Splitter::new(bytes, None, None).collect();
//! assert_eq!(items[0].title(), "request EventPipe/StopTracing, 0x0201, 28 bytes at offset 0");
//! assert_eq!(items[0].value["sessionId"], "42");
//! let parts = items[0].parts(bytes);
//! assert_eq!((parts[5].offset, parts[5].field.as_str(), parts[5].text.as_str()), (20, "sessionId", "42 (0x2a)"));
//! assert_eq!(items[1].title(), "reply to EventPipe/StopTracing, 0xFF00, 20 bytes at offset 28, not canonical");
//! ```

use alloc::{
    format,
    string::{String, ToString as _},
    vec,
    vec::Vec,
};
use core::fmt::Write as _;

use serde::{Deserialize, Serialize};

use crate::pasted::PastedPart;
use crate::value::insert;
use crate::{Annotation, DecodeRefusal, Direction, Type, TypedCodec, Value};
use dotnet_diagnostics_ipc::advertise::{ADVERTISE_LEN, ADVERTISE_MAGIC};
use dotnet_diagnostics_ipc::command::{Command, Continuation};
use dotnet_diagnostics_ipc::continuation::{Environment, StreamStart};
use dotnet_diagnostics_ipc::header::{HEADER_LEN, Header, MAGIC};
use dotnet_diagnostics_ipc::hresult::HResult;
use dotnet_diagnostics_ipc::message::{AnyReply, Message, server::ErrorReply};

/// The maximum length of a piece, and of an environment block whose entries are shown. Messages are
/// always shorter. An entry of 4 bytes takes 700 bytes of memory in an annotated dump.
pub const MOST_IN_FIELDS: usize = 1 << 20;

const NEVER_READ: &str = "no server reads them, and the connection ends with a reset (F-70)";
const OTHERWISE: &str = "recorded builds may accept it, or end (F-7, F-72)";

/// The kind of an [`Item`], determined by its bytes and the items before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ItemKind {
    /// A message with the code of a command, which is not a reply.
    Request,
    /// The OK reply to a request.
    Reply,
    /// An error reply.
    Error,
    /// An advertise, `ADVR_V1`.
    Advertise,
    /// The bytes that follow a reply.
    Continuation,
    /// Bytes that do not belong to the protocol, or a truncated message.
    Unknown,
    /// A piece that is not a message; see [`Item::piece`].
    Piece,
}

impl ItemKind {
    /// Returns the type of such a message in the vectors, or `None` for a continuation or a piece.
    pub const fn message(self) -> Option<Type> {
        match self {
            Self::Request => Some(Type::Request),
            Self::Reply => Some(Type::Reply),
            Self::Error => Some(Type::Error),
            Self::Advertise => Some(Type::Advertise),
            Self::Unknown => Some(Type::Unknown),
            Self::Continuation | Self::Piece => None,
        }
    }
}

/// A message, advertise or continuation, as an item of `diagipc decode --json`.
///
/// ```
/// use dotnet_diagnostics_ipc_vectors::{Type, explain::Item};
///
/// let item = Item::whole(Type::String, b"\x02\0\0\0\x61\0\x62\0");
/// assert_eq!(item.error.as_ref().map(|error| error.fault.kind.as_str()), Some("missing_terminator"));
/// assert_eq!(serde_json::to_value(&item)?["type"], "string");
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Item {
    /// The offset of the item in the input.
    pub offset: usize,
    /// The length of the item in bytes.
    pub size: usize,
    /// The kind of the item.
    pub kind: ItemKind,
    /// The type of a piece.
    #[serde(rename = "type", default, skip_serializing_if = "Option::is_none")]
    pub piece: Option<Type>,
    /// The command of the request, or of the request that the reply answers.
    pub command: Option<String>,
    /// The code in the header.
    pub code: Option<String>,
    /// Whether encoding the item again gives the same bytes.
    pub canonical: bool,
    /// The value form of the item.
    pub value: Value,
    /// The reason why a server would refuse the decoded item. Its offset counts from the item.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limits: Option<DecodeRefusal>,
    /// The reason why the item does not decode. Its offset counts from the item's start.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<DecodeRefusal>,
    /// The type for annotating the bytes.
    #[serde(skip)]
    pub subject: Option<TypedCodec>,
    /// The sender of the previous message, if this item is not a message.
    #[serde(skip)]
    after: Option<Direction>,
}

impl Item {
    /// Returns all of `bytes` as one item of `kind`.
    pub fn whole(kind: Type, bytes: &[u8]) -> Self {
        let from_server = matches!(kind, Type::Advertise | Type::Reply | Type::Error);
        let subject = TypedCodec { kind, command: None, from_server };
        match kind {
            Type::Advertise => Self::decoded(ItemKind::Advertise, subject, bytes),
            _ => Self { piece: Some(kind), ..Self::decoded(ItemKind::Piece, subject, bytes) },
        }
    }

    /// Returns the item's bytes in the input.
    pub fn bytes_in<'b>(&self, input: &'b [u8]) -> &'b [u8] {
        input.get(self.offset..self.offset.saturating_add(self.size)).unwrap_or_default()
    }

    fn new(kind: ItemKind, command: Option<Command>, subject: Option<TypedCodec>) -> Self {
        Self {
            offset: 0,
            size: 0,
            kind,
            piece: None,
            command: command.map(|command| command.to_string()),
            code: None,
            canonical: false,
            value: Value::Null,
            limits: None,
            error: None,
            subject,
            after: None,
        }
    }

    fn decoded(kind: ItemKind, subject: TypedCodec, wire: &[u8]) -> Self {
        let mut item = Self { size: wire.len(), ..Self::new(kind, subject.command, Some(subject)) };
        match subject.decode(wire) {
            Ok(decoded) => {
                item.canonical = decoded.canonical;
                item.value = decoded.value;
                item.limits = decoded.limit.map(DecodeRefusal::from);
            }
            Err(error) => item.error = Some(error),
        }
        item
    }

    /// Returns a title such as `request EventPipe/StopTracing, 0x0201, 28 bytes at offset 0`.
    pub fn title(&self) -> String {
        let kind = match self.kind {
            ItemKind::Unknown if self.after == Some(Direction::Client) => "bytes after the request",
            ItemKind::Unknown if self.after.is_some() => "bytes after the reply",
            ItemKind::Request => "request",
            ItemKind::Reply => "reply to",
            ItemKind::Error => "error after",
            ItemKind::Advertise => "advertise",
            ItemKind::Continuation => "continuation of",
            ItemKind::Unknown => "unknown message",
            ItemKind::Piece => "",
        };
        let mut title = String::from(kind);
        title.extend(self.piece.map(|piece| piece.to_string()));
        match &self.command {
            Some(command) => title.extend([" ", command]),
            None if self.lacks_request() || self.kind == ItemKind::Continuation => {
                title.push_str(" an unknown request");
            }
            None => {}
        }
        if let Some(code) = &self.code {
            title.extend([", ", code]);
        }
        // Writing to a `String` cannot fail.
        let _ = write!(title, ", {} bytes at offset {}", self.size, self.offset);
        if !self.canonical && self.error.is_none() {
            title.push_str(", not canonical");
        }
        title
    }

    /// Returns whether the item answers a request that is not known.
    pub fn lacks_request(&self) -> bool {
        self.command.is_none() && matches!(self.kind, ItemKind::Reply | ItemKind::Error)
    }

    /// Returns all parts of the item's bytes in `input`. Their offsets count from the item's start.
    pub fn parts(&self, input: &[u8]) -> Vec<Annotation> {
        let bytes = self.bytes_in(input);
        match self.subject {
            Some(subject) => subject.parts(bytes),
            None => vec![Annotation::rest(0, bytes.len(), format_of(bytes))],
        }
    }

    /// Returns why the item is refused, and by whom; empty if nothing is wrong.
    pub fn remarks(&self, input: &[u8]) -> Vec<String> {
        let mut remarks = Vec::new();
        if self.kind == ItemKind::Error && says_success(self.bytes_in(input)) {
            remarks.push("still a failure: .NET 6 uses this code for a failed dump (F-127)".into());
        }
        match self.after {
            Some(Direction::Client) => {
                remarks.push(NEVER_READ.into());
                return remarks;
            }
            Some(Direction::Server) => {
                remarks.push("no message: the reply before it has all its bytes".into());
                return remarks;
            }
            None => {}
        }
        remarks.extend(self.limits.as_ref().map(|limits| format!("not allowed: {limits}")));
        remarks.extend(self.error.as_ref().map(|error| format!("error: {error}")));
        let is_answered = self.subject.is_some_and(|subject| !subject.from_server);
        let refusal = self.limits.as_ref().or(self.error.as_ref()).filter(|_| is_answered);
        remarks.extend(refusal.and_then(|refusal| {
            let answer = refusal.answer.filter(|_| self.size >= HEADER_LEN)?;
            Some(match refusal.fault.layer.as_str() {
                "payload" | "limits" => format!("expected answer: {answer}; {OTHERWISE}"),
                _ => format!("a server answers {answer}"),
            })
        }));
        remarks
    }

    /// Returns the answer of a server to a request without an error. `None` for all other items.
    pub fn answer(&self) -> Option<String> {
        let subject = self.subject.filter(|subject| !subject.from_server)?;
        if self.error.is_some() || self.limits.is_some() || self.code.is_none() {
            return None;
        }
        let unknown = || format!("a server answers {}", HResult::UNKNOWN_COMMAND);
        let command = subject.command.filter(|_| self.kind == ItemKind::Request);
        Some(command.and_then(answered).unwrap_or_else(unknown))
    }
}

/// Describes the OK to a known command, and what follows it.
fn answered(command: Command) -> Option<String> {
    let (reply, since) = (command.reply_type()?.name(), command.since()?);
    let then = match command.continuation()? {
        Continuation::Close => "",
        Continuation::Nettrace => ", then the stream of events",
        Continuation::EnvironmentBlock => ", then the environment block",
        Continuation::UserEvents => ", and keeps the connection open",
        Continuation::BySessionType => ", then the stream of events, unless it is for user_events",
        _ => return None,
    };
    Some(format!(
        "a server of .NET {since} or later answers OK with {reply}{then}; or it answers with an error"
    ))
}

/// Names the format of a stream, if it is known.
fn format_of(stream: &[u8]) -> String {
    match StreamStart::recognise(stream) {
        StreamStart::Nettrace => "a stream of events: nettrace, up to version 5".into(),
        StreamStart::NettraceBlocks { major, minor } => {
            format!("a stream of events: nettrace, version {major}.{minor}")
        }
        StreamStart::Netperf => "a stream of events: netperf".into(),
        _ => String::new(),
    }
}

/// Returns whether the code of an error means success.
fn says_success(error: &[u8]) -> bool {
    let error = Message::decode(error).and_then(|message| ErrorReply::from_message(&message, None));
    error.is_ok_and(|error| error.hresult.is_success())
}

/// Splits one or both sides of a conversation into items. Every byte is in exactly one item.
///
/// ```
/// use dotnet_diagnostics_ipc::command::Command;
/// use dotnet_diagnostics_ipc_vectors::explain::{ItemKind, Splitter};
///
/// let received = b"DOTNET_IPC_V1\0\x1c\0\xff\0\0\0\x2a\0\0\0\0\0\0\0Nettrace";
/// let mut items = Splitter::new(received, None, Some(Command::COLLECT_TRACING2));
/// assert_eq!(items.next().map(|item| (item.kind, item.size)), Some((ItemKind::Reply, 28)));
/// assert_eq!(items.next().map(|item| (item.kind, item.size)), Some((ItemKind::Continuation, 8)));
/// ```
#[derive(Clone, Debug)]
pub struct Splitter<'b> {
    bytes: &'b [u8],
    at: usize,
    /// The sender of all bytes. If it is `None`, the code of each message decides.
    from: Option<Direction>,
    /// The request that replies answer: the caller's, otherwise the last request in the bytes.
    request: Option<Command>,
    request_is_given: bool,
    /// The length of the last reply's continuation.
    continuation: Option<usize>,
    /// The sender of the last message.
    after: Option<Direction>,
    /// Whether the last continuation is a stream.
    is_streaming: bool,
    /// The parts that follow, with their lengths and senders.
    parts: vec::IntoIter<PastedPart>,
    /// The end of this part, and whether bytes are left out there.
    end: usize,
    is_cut: bool,
}

impl<'b> Splitter<'b> {
    /// Returns a splitter of the bytes. Their sender and the request that the first reply answers
    /// may be unknown.
    pub fn new(bytes: &'b [u8], from: Option<Direction>, request: Option<Command>) -> Self {
        // A file with only a stream has no reply before it.
        let is_stream = StreamStart::recognise(bytes).known_len().is_some();
        Self {
            bytes,
            at: 0,
            from,
            request,
            request_is_given: request.is_some(),
            continuation: is_stream.then_some(usize::MAX),
            after: None,
            is_streaming: is_stream,
            parts: Vec::new().into_iter(),
            end: bytes.len(),
            is_cut: false,
        }
    }

    /// Ends items at the ends of these parts, which may also name the sender.
    #[must_use]
    pub fn in_parts(self, parts: Vec<PastedPart>) -> Self {
        Self { parts: parts.into_iter(), end: 0, ..self }
    }

    fn advertise(&mut self, rest: &'b [u8]) -> Item {
        let subject = TypedCodec { kind: Type::Advertise, command: None, from_server: true };
        self.item(rest, ADVERTISE_LEN, ItemKind::Advertise, None, subject)
    }

    fn message(&mut self, rest: &'b [u8]) -> Item {
        let Ok(Header { size, command: code, .. }) = Header::decode(rest) else {
            // The start of the next message is unknown.
            let from_server = self.from == Some(Direction::Server);
            let subject = TypedCodec { kind: Type::Unknown, command: None, from_server };
            let after = self.after;
            let item = self.item(rest, rest.len(), ItemKind::Unknown, None, subject);
            return Item { after, ..item };
        };
        let is_reply = code.set == Command::OK.set;
        let from_server = self.from.map_or(is_reply, |from| from == Direction::Server);
        let command = if from_server { self.request } else { Some(code) };
        let subject = TypedCodec { kind: Type::Request, command, from_server };
        let kind = match code {
            Command::ERROR if from_server => ItemKind::Error,
            _ if from_server => ItemKind::Reply,
            _ if code.name().is_some() && !is_reply => ItemKind::Request,
            _ => ItemKind::Unknown,
        };
        if from_server {
            let message = Message::decode_prefix(rest).ok();
            self.continuation = message.and_then(|(message, _)| follows(&message, self.request));
        } else if !self.request_is_given {
            self.request = Some(code);
        }
        self.after = Some(if from_server { Direction::Server } else { Direction::Client });
        self.item(rest, size.into(), kind, Some(code), subject)
    }

    fn item(
        &mut self,
        rest: &'b [u8],
        size: usize,
        kind: ItemKind,
        code: Option<Command>,
        subject: TypedCodec,
    ) -> Item {
        let wire = rest.get(..size).unwrap_or(rest);
        let code = code.map(|code| format!("0x{:04X}", code.code()));
        let item = Item { offset: self.at, code, ..Item::decoded(kind, subject, wire) };
        self.at = self.at.saturating_add(wire.len());
        item
    }

    /// Takes what follows a reply: the entries of an environment, or bytes of a stream.
    fn following(&mut self, bytes: &'b [u8]) -> Item {
        let is_environment = self.request == Some(Command::PROCESS_ENVIRONMENT);
        let is_shown = is_environment && bytes.len() <= MOST_IN_FIELDS;
        let (kind, from_server) = (Type::Environment, true);
        let subject = is_shown.then_some(TypedCodec { kind, command: None, from_server });
        let mut item = Item {
            offset: self.at,
            size: bytes.len(),
            canonical: true,
            value: serde_json::json!({ "bytes": hex::encode(bytes) }),
            ..Item::new(ItemKind::Continuation, self.request, subject)
        };
        match subject.map(|subject| subject.decode(bytes)) {
            Some(Ok(decoded)) => insert(&mut item.value, "entries", decoded.value),
            Some(Err(refusal)) => item.error = Some(refusal),
            None if is_environment => item.error = Environment::decode(bytes).err().map(Into::into),
            None => {}
        }
        self.at = self.at.saturating_add(bytes.len());
        item
    }
}

/// Returns how many bytes after a reply are not a message.
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
        while self.at >= self.end {
            let part = self.parts.next()?;
            self.end = self.end.saturating_add(part.len);
            self.is_cut = part.gap.is_some();
            self.from = part.sender.or(self.from);
            self.after = None;
            // A stream goes on where no message begins.
            let rest = self.bytes.get(self.at..self.end).unwrap_or_default();
            let goes_on = self.is_streaming
                && self.from == Some(Direction::Server)
                && !rest.starts_with(&MAGIC)
                && !rest.starts_with(&ADVERTISE_MAGIC);
            self.continuation = self.continuation.or(goes_on.then_some(usize::MAX));
            if self.from == Some(Direction::Client) {
                self.continuation = None;
            }
        }
        let rest = self.bytes.get(self.at..self.end)?;
        if let Some(len) = self.continuation.take().filter(|len| *len > 0) {
            self.is_streaming = len == usize::MAX;
            return Some(self.following(rest.get(..len).unwrap_or(rest)));
        }
        let advertises = self.from != Some(Direction::Client)
            && rest.iter().zip(ADVERTISE_MAGIC).take(5).all(|(have, want)| *have == want);
        let mut item = if advertises { self.advertise(rest) } else { self.message(rest) };
        // The server had the bytes that are left out here.
        if let Some(error) = item.error.as_mut().filter(|_| self.is_cut && self.at >= self.end) {
            error.answer = None;
        }
        Some(item)
    }
}
