//! A server's reply. Its values are read once, from the message. Its faults are found once, from
//! all bytes of the connection, independent of what was expected.
#![cfg_attr(not(test), deny(clippy::arithmetic_side_effects))]

use byteorder::{ByteOrder as _, LittleEndian};
use dotnet_diagnostics_ipc::command::{Command, ReplyType};
use dotnet_diagnostics_ipc::exchange::End;
use dotnet_diagnostics_ipc::header::{HEADER_LEN, Header, MAGIC, RawHeader};
use dotnet_diagnostics_ipc::hresult::HResult;
use dotnet_diagnostics_ipc::wire::{Decode as _, IpcString, Reader};
use dotnet_diagnostics_ipc_vectors::{DecodeRefusal, Type, TypedCodec};

use super::continuation_faults;
use super::continuation_faults::begins_stream;
use super::observed::{FaultSeen, command_of};
use super::string_encodings::Layout;
use crate::conversation::ByteCount;
use crate::faults::Fault;

/// The strings that describe a process.
const TEXTS: &[&str] = &[
    "commandLine",
    OS,
    ARCHITECTURE,
    "managedEntrypointAssemblyName",
    "clrProductVersion",
    "runtimeIdentifier",
];
const OS: &str = "OS";
const ARCHITECTURE: &str = "arch";
/// The document's names of systems (R-PRC-009) and architectures (R-PRC-010); other texts are kept.
const SYSTEMS: &[&str] = &["Windows", "Linux", "macOS"];
const ARCHITECTURES: &[&str] = &["x86", "x64", "arm32", "arm64"];

/// A server's reply, as far as it was received, and what follows it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Reply {
    /// The code in its header, which is an OK or an error if the header is right.
    pub(crate) code: Option<Command>,
    /// The length of the message, once it was received completely.
    pub(crate) len: Option<usize>,
    /// Why a complete message is not a reply to this command.
    pub(crate) refusal: Option<DecodeRefusal>,
    pub(crate) hresult: Option<HResult>,
    /// The session id of an OK.
    pub(crate) session_id: Option<u64>,
    /// The process id and the cookie of an OK.
    pub(crate) process: Option<(u64, [u8; 16])>,
    /// The number of bytes of environment after an OK.
    pub(crate) announced: Option<usize>,
    /// What a process says about itself, by field.
    texts: Vec<(&'static str, String)>,
    /// Faults of bytes that do not have the form of a reply.
    form: Vec<FaultSeen>,
    /// The fault of an impossible value.
    value: Option<FaultSeen>,
    /// The fault of what follows.
    behind: Option<FaultSeen>,
}

impl Reply {
    /// Reads what was received in reply to `command`, or to any request. Reads only the values that
    /// decide what follows, or that other messages repeat.
    pub(crate) fn read(command: Option<Command>, came: &[u8]) -> Self {
        let Ok(header) = Header::decode(came) else { return Self::default() };
        let message = came.get(..header.size.into());
        let read_as = TypedCodec { kind: Type::Reply, command, from_server: true };
        let notes = read_as.explain(came);
        let bytes = |field: &str| {
            let note = notes.iter().find(|note| note.field == field)?;
            came.get(note.offset..note.offset.saturating_add(note.len))
        };
        let number = |field: &str| {
            let bytes = bytes(field).filter(|bytes| (1..=8).contains(&bytes.len()))?;
            Some(LittleEndian::read_uint(bytes, bytes.len()))
        };
        let cookie = || bytes("runtimeCookie")?.try_into().ok();
        let text = |field: &'static str| {
            let note = notes.iter().find(|note| note.field == field)?;
            let text = IpcString::decode(&mut Reader::new(came.get(note.offset..)?)).ok()?;
            Some((field, text.to_string()))
        };
        let hresult = number("hresult").and_then(|code| u32::try_from(code).ok()).map(HResult);
        Self {
            code: Some(header.command),
            len: message.map(<[u8]>::len),
            refusal: message.and_then(|message| read_as.decode(message).err()),
            hresult: hresult.filter(|_| header.command == Command::ERROR),
            session_id: number("sessionId"),
            process: number("processId").zip(cookie()),
            announced: number("nIncomingBytes").and_then(|n| usize::try_from(n).ok()),
            texts: TEXTS.iter().copied().filter_map(text).collect(),
            ..Self::default()
        }
    }

    /// Returns the error code if this is a complete error.
    pub(crate) fn error(&self) -> Option<HResult> {
        self.hresult.filter(|_| self.is_whole())
    }

    /// Returns what the process says in this field, if the reply has the field.
    pub(crate) fn text(&self, field: &str) -> Option<&str> {
        self.texts.iter().find(|(name, _)| *name == field).map(|(_, text)| text.as_str())
    }

    /// Whether the message was received completely.
    pub(crate) const fn is_whole(&self) -> bool {
        self.len.is_some()
    }

    /// Whether this is an OK, complete or not.
    pub(crate) fn is_ok(&self) -> bool {
        self.code == Some(Command::OK)
    }

    /// Whether this is an OK or an error.
    pub(crate) fn is_one(&self) -> bool {
        self.is_ok() || self.code == Some(Command::ERROR)
    }

    /// Returns the faults of the message alone.
    pub(crate) fn faults_of_message(&self) -> impl Iterator<Item = &FaultSeen> {
        self.form.iter().chain(&self.value)
    }

    /// Returns all faults, including those of what follows.
    pub(crate) fn faults(&self) -> impl Iterator<Item = &FaultSeen> {
        self.faults_of_message().chain(&self.behind)
    }

    /// Returns why a complete message, or the environment after it, does not have the right form.
    pub(crate) fn malformed(&self) -> impl Iterator<Item = &FaultSeen> {
        let is_block = |seen: &&FaultSeen| {
            self.announced.is_some() && seen.fault != Fault::BytesAfterTheMessage
        };
        let all = self.form.iter().chain(self.behind.iter().filter(is_block));
        all.filter(|_| self.is_whole())
    }

    /// Returns the fault of a text that no process can have.
    fn wrong_text(&self) -> Option<FaultSeen> {
        let has_mark = |(_, text): &&(&str, String)| text.starts_with('\u{feff}');
        if let Some((field, _)) = self.texts.iter().find(has_mark) {
            let text = format!("{field} begins with U+FEFF, a byte-order mark");
            return Some(FaultSeen::new(Fault::StringWithByteOrderMark, text));
        }
        let (os, arch) = (self.text(OS)?, self.text(ARCHITECTURE)?);
        let is_in =
            |list: &[&str], text: &str| list.iter().any(|one| one.eq_ignore_ascii_case(text));
        (is_in(ARCHITECTURES, os) && is_in(SYSTEMS, arch)).then(|| {
            let text = format!("OS is {os:?}, and arch is {arch:?}");
            FaultSeen::new(Fault::OsAndArchitectureSwapped, text)
        })
    }

    /// Finds the faults of the answer to `request`. `quiet` is why nothing more followed.
    pub(super) fn find_faults(&mut self, request: &[u8], came: &[u8], quiet: Option<End>) {
        if !came.is_empty() {
            let last = self.find_all_but_the_last(request, came, quiet).err();
            self.form.extend(last);
        }
    }

    /// Returns bytes of which the first one chooses the type, and the others its choices.
    fn find_all_but_the_last(
        &mut self,
        request: &[u8],
        came: &[u8],
        quiet: Option<End>,
    ) -> Result<(), FaultSeen> {
        if let Some(fault) = no_header(came) {
            return Err(fault);
        }
        let Some((header, body)) = came.split_at_checked(HEADER_LEN) else {
            return Err(FaultSeen::cut(
                quiet,
                format!("only {} of a header received", ByteCount(came.len())),
            ));
        };
        let RawHeader { size: Some(size), command: Some(code), reserved: Some(reserved), .. } =
            RawHeader::read(header)
        else {
            return Ok(());
        };
        let swapped = usize::from(size.swap_bytes());
        if usize::from(size) > came.len() && (HEADER_LEN..=came.len()).contains(&swapped) {
            return Err(size_reversed(size.into(), swapped));
        }
        if let [.., 0, 0, 0xff, 0 | 0xff] = header {
            let text = "size has 4 bytes, expected 2 (byte 14)";
            return Err(FaultSeen::new(Fault::FieldTooWide, text));
        }
        if reserved != 0 {
            self.form.push(FaultSeen::new(
                Fault::ReservedNotZero,
                format!("reserved is {reserved:#06x}, expected 0x0000"),
            ));
        }
        if ![Command::OK, Command::ERROR].contains(&code) {
            let Command { set, id } = code;
            let text = format!(
                "the reply has {code} ({set:#04x}, {id:#04x}), expected Server/OK or Server/Error"
            );
            return Err(FaultSeen::new(Fault::ReplyCommandWrong, text));
        }
        let command = command_of(request);
        let size = size.into();
        if let Some(fault) = error_as_ok(code, size, body) {
            return Err(fault);
        }
        let Some(layout) = Layout::of(code, command) else { return Ok(()) };
        let message = Message { request, command, came, quiet, size, body, layout };
        let end = message.end(self)?;
        self.value = message.impossible_value(self);
        self.behind = message.behind(self, came.get(end..).unwrap_or_default());
        Ok(())
    }
}

/// The number of bytes of the magic that suggest that a header was meant.
const MIN_MAGIC_BYTES: usize = 6;

/// Returns the fault of bytes that are not a header.
fn no_header(came: &[u8]) -> Option<FaultSeen> {
    let start = came.get(..MAGIC.len()).unwrap_or(came);
    if MAGIC.starts_with(start) {
        return None;
    }
    let at = came.windows(MAGIC.len()).position(|window| window == MAGIC);
    if let Some(at) = at {
        let text = format!("{at} bytes precede the reply: {}", quoted(start));
        return Some(FaultSeen::new(Fault::ContinuationBeforeReply, text));
    }
    if begins_stream(came) {
        let text = format!("the stream precedes the reply: {}", quoted(start));
        return Some(FaultSeen::new(Fault::ContinuationBeforeReply, text));
    }
    let alike =
        start.iter().zip(MAGIC).take_while(|(have, want)| have.eq_ignore_ascii_case(want)).count();
    Some(if alike >= MIN_MAGIC_BYTES {
        FaultSeen::new(
            Fault::MagicWrong,
            format!("the magic is {}, expected {}", quoted(start), quoted(&MAGIC)),
        )
    } else {
        FaultSeen::new(
            Fault::DoesNotSpeakTheProtocol,
            format!("the first bytes are {}", quoted(start)),
        )
    })
}

/// Returns the fault of an OK whose payload is an error code.
fn error_as_ok(code: Command, size: usize, body: &[u8]) -> Option<FaultSeen> {
    const ERROR: usize = HEADER_LEN + 4;
    let payload: [u8; 4] = body.get(..4)?.try_into().ok()?;
    let hresult = HResult(u32::from_le_bytes(payload));
    let is_it = code == Command::OK && size == ERROR && !hresult.is_success();
    (is_it && hresult.name().is_some()).then(|| {
        let text = format!("the reply has the command of an OK, and the payload {hresult}");
        FaultSeen::new(Fault::ErrorAsOk, text)
    })
}

fn size_reversed(size: usize, swapped: usize) -> FaultSeen {
    let text = format!("size is {size}, but {swapped} with its bytes reversed");
    FaultSeen::new(Fault::NumbersBigEndian, text)
}

fn quoted(bytes: &[u8]) -> String {
    format!("\"{}\"", bytes.escape_ascii())
}

/// An OK or an error whose fields are known.
struct Message<'b> {
    request: &'b [u8],
    command: Option<Command>,
    came: &'b [u8],
    /// Why nothing more followed.
    quiet: Option<End>,
    size: usize,
    body: &'b [u8],
    layout: Layout,
}

impl Message<'_> {
    fn size_wrong(&self, len: usize) -> FaultSeen {
        FaultSeen::new(
            Fault::SizeWrong,
            format!("size is {}, but the message has {len} bytes", self.size),
        )
    }

    /// Returns the end of the message if everything before it is right.
    fn end(&self, reply: &Reply) -> Result<usize, FaultSeen> {
        let claimed = self.size.checked_sub(HEADER_LEN).and_then(|len| self.body.get(..len));
        let by_fields = self.layout.length_in(self.body).map(|len| len.saturating_add(HEADER_LEN));
        if let Some(claimed) = claimed {
            let fields = self.layout.length_in(claimed);
            if fields == Some(claimed.len()) {
                return Ok(self.size);
            }
            if claimed.is_empty()
                && matches!(self.layout, Layout::Ok(_))
                && self.came.len() == HEADER_LEN
            {
                // This is the generic OK (R-HDR-005).
                return Ok(self.size);
            }
        }
        // If the fields fill everything received, they are right, whatever the size field adds.
        if let Some(len) = by_fields.filter(|len| *len == self.came.len() && *len > self.size) {
            return Err(self.size_wrong(len));
        }
        let mut payloads = [claimed, Some(self.body)].into_iter().flatten();
        let wrong = claimed
            .and_then(|claimed| self.wrong_field(claimed))
            .or_else(|| payloads.find_map(|payload| self.layout.wrong_spelling_in(payload)));
        if let Some(fault) = wrong {
            return Err(fault);
        }
        match (by_fields, claimed) {
            (Some(len), Some(_)) if len < self.size => Err(self.surplus(reply, len)),
            (Some(len), _) => Err(self.size_wrong(len)),
            (None, None) if self.size < HEADER_LEN => {
                let text =
                    format!("size is {}, but the header alone has {HEADER_LEN} bytes", self.size);
                Err(FaultSeen::new(Fault::SizeWrong, text))
            }
            (None, None) if self.quiet.is_some() => {
                let (size, came) = (self.size, self.came.len());
                Err(FaultSeen::cut(
                    self.quiet,
                    format!("size is {size}, but {came} bytes were received"),
                ))
            }
            (None, Some(payload)) => {
                let text = match &reply.refusal {
                    Some(refusal) => format!("the payload is malformed: {refusal}"),
                    None => format!(
                        "the {} bytes of payload do not have the fields of the reply",
                        payload.len()
                    ),
                };
                Err(FaultSeen::new(Fault::PayloadMalformed, text))
            }
            // The rest may still arrive.
            (None, None) => Ok(self.size),
        }
    }

    /// Returns the fault of the one field that makes the payload malformed: its width, its place,
    /// or its form as text.
    fn wrong_field(&self, claimed: &[u8]) -> Option<FaultSeen> {
        let Layout::Ok(reply_type) = self.layout else { return None };
        let (field, at) = match reply_type {
            ReplyType::Session => ("sessionId", 0),
            ReplyType::ProcessInfo | ReplyType::ProcessInfo2 => ("processId", 0),
            ReplyType::ProcessInfo3 => ("processId", 4),
            _ => return None,
        };
        let is_whole = |parts: &[&[u8]]| {
            let whole = parts.concat();
            self.layout.length_in(&whole) == Some(whole.len())
        };
        let byte = |at: usize| at.saturating_add(HEADER_LEN);
        let (head, tail) = claimed.split_at_checked(at)?;
        // If more bytes follow, the size may be wrong instead.
        let rest = self.came.get(self.size..).unwrap_or_default();
        if let Some((narrow, tail)) = tail.split_at_checked(4) {
            let is_all = rest.is_empty() || begins_stream(rest);
            // No process id is 0.
            let is_it = field == "sessionId" || narrow != [0; 4];
            if is_all && is_it && is_whole(&[head, narrow, &[0; 4], tail]) {
                let text = format!("{field} has 4 bytes, expected 8 (byte {})", byte(at));
                return Some(FaultSeen::new(Fault::FieldTooNarrow, text));
            }
        }
        if at > 0 && is_whole(&[&[1, 0, 0, 0], claimed]) {
            let text = format!("processId is at byte {HEADER_LEN}, where version belongs");
            return Some(FaultSeen::new(Fault::VersionMissing, text));
        }
        let at = at.saturating_add(8);
        let (head, tail) = claimed.split_at_checked(at)?;
        let mut reader = Reader::new(tail);
        let cookie = IpcString::decode(&mut reader).ok()?.to_string();
        (field == "processId" && is_whole(&[head, &[0; 16], reader.rest()])).then(|| {
            let at = byte(at);
            let text =
                format!("runtimeCookie is the string {cookie:?}, expected 16 bytes (byte {at})");
            FaultSeen::new(Fault::GuidAsText, text)
        })
    }

    /// Returns the fault of a message whose fields end at `len`, before the end given by its size.
    fn surplus(&self, reply: &Reply, len: usize) -> FaultSeen {
        // A stream or a block may follow that is as long as a reversed size claims.
        if u16::try_from(self.size).is_ok_and(|size| usize::from(size.swap_bytes()) == len) {
            return size_reversed(self.size, len);
        }
        let behind = self.came.get(len..).unwrap_or_default();
        let is_stream =
            matches!(self.layout, Layout::Ok(ReplyType::Session)) && begins_stream(behind);
        let is_block = reply
            .announced
            .is_some_and(|announced| continuation_faults::is_whole(behind, announced));
        if is_stream || is_block {
            return self.size_wrong(len);
        }
        let more = self.size.saturating_sub(len);
        let fault = match self.layout {
            Layout::Ok(ReplyType::Result) if self.size == 28 => Fault::OkOf28Bytes,
            Layout::Error { .. } if self.size == 28 => Fault::ErrorOf28Bytes,
            Layout::Ok(ReplyType::ProcessEnvironment) if more == 2 => Fault::FieldsPadded,
            _ => Fault::SurplusBytesInReply,
        };
        FaultSeen::new(
            fault,
            format!(
                "the message has {} bytes, its last field ends at {len}: {more} bytes too many",
                self.size
            ),
        )
    }

    /// Returns the fault of a value that no reply can have.
    fn impossible_value(&self, reply: &Reply) -> Option<FaultSeen> {
        if let Some(code) = reply.hresult {
            let swapped = HResult(code.0.swap_bytes());
            if swapped.name().is_some() && swapped != HResult::OK && code.name().is_none() {
                let text = format!("hresult is {code}, but {swapped} with its bytes reversed");
                return Some(FaultSeen::new(Fault::NumbersBigEndian, text));
            }
            let text = format!(
                "hresult is {code}, expected a failing one, such as {}",
                HResult::BAD_ENCODING
            );
            return code.is_success().then(|| FaultSeen::new(Fault::ErrorCodeIsSuccess, text));
        }
        if let Some(wrong) = reply.wrong_text() {
            return Some(wrong);
        }
        if let Some((id, _)) = reply.process {
            let is_swapped = u32::try_from(id).is_err() && u32::try_from(id.swap_bytes()).is_ok();
            let text =
                format!("processId is {id}, but {} with its bytes reversed", id.swap_bytes());
            return is_swapped.then(|| FaultSeen::new(Fault::NumbersBigEndian, text));
        }
        let is_new = self.command != Some(Command::STOP_TRACING);
        (is_new && reply.session_id == Some(0))
            .then(|| FaultSeen::new(Fault::SessionIdZero, "sessionId is 0"))
    }

    /// Returns the fault of what follows the message.
    fn behind(&self, reply: &Reply, rest: &[u8]) -> Option<FaultSeen> {
        let command = self.command?;
        // A dump may be answered twice (F-81).
        if command.set == Command::GENERATE_CORE_DUMP.set {
            return None;
        }
        if rest.starts_with(&MAGIC) {
            let text = format!("a message of {} bytes follows the reply", rest.len());
            return Some(FaultSeen::new(Fault::SecondReply, text));
        }
        match self.layout {
            Layout::Ok(ReplyType::ProcessEnvironment) => {
                continuation_faults::fault_in_block(reply.announced?, rest, self.quiet)
            }
            Layout::Ok(ReplyType::Session) if command != Command::STOP_TRACING => {
                continuation_faults::fault_in_stream(self.request, rest, false)
            }
            _ => {
                let start = rest.get(..rest.len().min(16)).unwrap_or_default();
                let text = format!("{} bytes follow the reply: {}", rest.len(), quoted(start));
                (!rest.is_empty()).then(|| FaultSeen::new(Fault::BytesAfterTheMessage, text))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ENDED: Option<End> = Some(End::Closed);

    fn faults<'r>(of: impl Iterator<Item = &'r FaultSeen>) -> Vec<Fault> {
        of.map(|seen| seen.fault).collect()
    }

    /// Reads everything received in reply to a request with this command.
    fn read([set, id]: [u8; 2], came: &[&[u8]], quiet: Option<End>) -> Reply {
        let request = [b"DOTNET_IPC_V1\0\x14\0", &[set, id, 0, 0][..]].concat();
        let came = came.concat();
        let mut reply = Reply::read(command_of(&request), &came);
        reply.find_faults(&request, &came, quiet);
        reply
    }

    /// Covers faults that no server of `tests/conformance/server_faults.rs` shows, and correct
    /// replies.
    #[test]
    fn fault_depends_on_what_follows() {
        let cut = b"DOTNET_IPC_V1\0\x38\0\xff\0\0\0\x92\x10";
        // The block announces 12 bytes: one entry of 2 units, whose last unit is missing.
        let block = b"DOTNET_IPC_V1\0\x1a\0\xff\0\0\0\x0c\0\0\0\0\0\x01\0\0\0\x02\0\0\0A\0";
        let session = b"DOTNET_IPC_V1\0\x18\0\xff\0\0\0";
        for (command, came, quiet, expected) in [
            // .NET 6 sends this (F-127).
            (
                [4, 1],
                &[&b"DOTNET_IPC_V1\0\x18\0\xff\xff\0\0\0\0\0\0"[..]][..],
                ENDED,
                &[Fault::ErrorCodeIsSuccess][..],
            ),
            ([4, 0], &[b"DOTNET_IPC"], ENDED, &[Fault::ReplyCut]),
            ([4, 0], &[cut], ENDED, &[Fault::ReplyCut]),
            ([4, 0], &[cut], Some(End::TimedOut), &[Fault::NoAnswer]),
            // More may follow.
            ([4, 2], &[block], None, &[]),
            ([4, 2], &[block], ENDED, &[Fault::ReplyCut]),
            // The size has its bytes reversed, and as many bytes follow as it then claims.
            (
                [4, 2],
                &[b"DOTNET_IPC_V1\0\0\x1a\xff\0\0\0\0\0\x1f\x40\0\0", &[0x61; 8000]],
                ENDED,
                &[Fault::NumbersBigEndian],
            ),
            (
                [2, 3],
                &[b"DOTNET_IPC_V1\0\0\x1c\xff\0\0\0", &[7; 8], b"Nettrace", &[0; 8000]],
                None,
                &[Fault::NumbersBigEndian],
            ),
            // One payload is an error code, the next is not.
            ([2, 3], &[session, &[0x84, 0x13, 0x13, 0x80]], ENDED, &[Fault::ErrorAsOk]),
            ([2, 3], &[session, &[0x84, 0x13, 0x13, 0x90]], ENDED, &[Fault::FieldTooNarrow]),
            (
                [2, 3],
                &[session, b"\x01\0\0\0Nettrace\x14\0\0\0!Fast"],
                None,
                &[Fault::FieldTooNarrow],
            ),
            (
                [2, 1],
                &[b"DOTNET_IPC_V1\0\x1a\0\0\0\xff\xff\0\0\x84\x13\x13\x80"],
                ENDED,
                &[Fault::FieldTooWide],
            ),
        ] {
            let reply = read(command, came, quiet);
            assert_eq!(faults(reply.faults()), expected, "{command:?} {quiet:?} {reply:?}");
        }
        // A wrong value does not make a reply malformed.
        let success = read([4, 1], &[b"DOTNET_IPC_V1\0\x18\0\xff\xff\0\0\0\0\0\0"], ENDED);
        assert_eq!((success.error(), faults(success.malformed())), (Some(HResult::OK), vec![]));
    }

    #[test]
    fn values_before_a_malformed_field_are_read() {
        // The head of a ProcessInfo3 reply: version 1, process 4242, a cookie, half of a length.
        let head = b"DOTNET_IPC_V1\0\x32\0\xff\0\0\0\x01\0\0\0\x92\x10\0\0\0\0\0\0";
        let reply = read([4, 8], &[head, &[7; 16], &[0; 2]], ENDED);
        assert_eq!(reply.process, Some((4242, [7; 16])));
        assert_eq!(faults(reply.malformed()), [Fault::PayloadMalformed]);
    }

    #[test]
    fn process_id_in_reversed_bytes_is_named_in_every_process_info() {
        for (id, version, strings, size) in
            [(0, &[][..], 3, 56), (4, &[], 5, 64), (8, &[1, 0, 0, 0], 6, 72)]
        {
            let header = [b"DOTNET_IPC_V1\0", &[size, 0, 0xff, 0, 0, 0][..]].concat();
            let process = 4242_u64.to_be_bytes();
            let came = [&header, version, &process, &[7; 16], &vec![0; 4 * strings]];
            let reply = read([4, id], &came, ENDED);
            assert_eq!(faults(reply.faults()), [Fault::NumbersBigEndian], "{id}");
        }
    }
}
