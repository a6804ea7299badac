//! An item in words: what it is, each of its parts, and what is to be said about it.

use alloc::{
    format,
    string::{String, ToString as _},
    vec,
    vec::Vec,
};
use core::fmt::Write as _;

use super::item::{Item, ItemKind};
use crate::{Annotation, FieldKind};
use dotnet_diagnostics_ipc::command::{Command, Continuation};
use dotnet_diagnostics_ipc::continuation::StreamStart;
use dotnet_diagnostics_ipc::hresult::HResult;
use dotnet_diagnostics_ipc::message::{Message, server::ErrorReply};

impl Item {
    /// What it is: `request EventPipe/StopTracing, 0x0201, 28 bytes at offset 0`.
    pub fn title(&self) -> String {
        let kind = match self.kind {
            ItemKind::Request => "request",
            ItemKind::Reply => "reply to",
            ItemKind::Error => "error after",
            ItemKind::Advertise => "advertise",
            ItemKind::Continuation => "continuation of",
            ItemKind::Unknown => "unknown message",
            ItemKind::Piece => "",
        };
        let mut title = String::from(kind);
        if let Some(piece) = self.piece {
            title.push_str(&piece.to_string());
        }
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

    /// Whether it answers a request that is not known.
    pub fn lacks_request(&self) -> bool {
        self.command.is_none() && matches!(self.kind, ItemKind::Reply | ItemKind::Error)
    }

    /// The parts of its bytes in `input`, to the last byte. Their offsets count from its start.
    pub fn parts(&self, input: &[u8]) -> Vec<Annotation> {
        let bytes = self.bytes_in(input);
        match self.subject {
            Some(subject) => subject.parts(bytes),
            None => vec![Annotation {
                offset: 0,
                len: bytes.len(),
                field: String::new(),
                kind: FieldKind::Plain,
                text: format_of(bytes),
            }],
        }
    }

    /// Why it is refused, and by whom; empty if nothing is wrong.
    pub fn remarks(&self, input: &[u8]) -> Vec<String> {
        let mut remarks = Vec::new();
        if self.kind == ItemKind::Error && says_success(self.bytes_in(input)) {
            remarks.push("still a failure: .NET 6 uses this code for a failed dump (F-127)".into());
        }
        if let Some(limits) = &self.limits {
            let answer = limits.answer.map(|answer| format!(" with {answer}")).unwrap_or_default();
            remarks.push(format!("a server refuses this{answer}: {limits}"));
        }
        if let Some(error) = &self.error {
            remarks.push(format!("error: {error}"));
            let is_answered = self.subject.is_some_and(|subject| !subject.from_server);
            if let Some(answer) = error.answer.filter(|_| is_answered) {
                remarks.push(format!("a server answers {answer}"));
            }
        }
        remarks
    }

    /// What a server answers to a request that nothing is wrong with. `None` for all others.
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

/// The OK to a known command, and what follows it.
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

/// The format of a stream, if it is known.
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

/// Whether the code of an error means success.
fn says_success(error: &[u8]) -> bool {
    let error = Message::decode(error).and_then(|message| ErrorReply::from_message(&message, None));
    error.is_ok_and(|error| error.hresult.is_success())
}
