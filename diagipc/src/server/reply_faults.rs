//! Faults in the bytes of a reply, whatever was expected.
#![cfg_attr(not(test), deny(clippy::arithmetic_side_effects))]

use byteorder::{ByteOrder as _, LittleEndian};
use dotnet_diagnostics_ipc::command::{Command, ReplyType};
use dotnet_diagnostics_ipc::header::{HEADER_LEN, MAGIC, RawHeader};
use dotnet_diagnostics_ipc::hresult::HResult;
use dotnet_diagnostics_ipc::message::server::ErrorReply;
use dotnet_diagnostics_ipc::vectors::grammar::Field;
use dotnet_diagnostics_ipc::vectors::{ReadAs, Type};

use super::exchange::{Exchange, Exchanges};
use super::fault_seen::FaultSeen;
use super::process_id::TargetProcess;
use super::spelling::{GRAMMAR, NoSuch, Spelled, Spelling, wrong_spelling};
use super::stream_faults::begins_stream;
use crate::byte_count::ByteCount;
use crate::faults::Fault;

/// The faults on the connections of a case.
pub(super) fn faults_in_case(exchanges: &Exchanges, process: &TargetProcess) -> Vec<FaultSeen> {
    let mut found: Vec<FaultSeen> = exchanges.all.iter().flat_map(faults_in_exchange).collect();
    found.extend(super::consistency::faults_in_case(exchanges, process));
    let mut seen: Vec<FaultSeen> = Vec::new();
    for one in found {
        if seen.iter().all(|before| before.fault != one.fault) {
            seen.push(one);
        }
    }
    seen
}

/// The type of a payload.
#[derive(Clone, Copy)]
enum Layout {
    Error { message: bool },
    Ok(ReplyType),
}

impl Layout {
    fn read(self, spelled: &mut Spelled<'_>) -> Result<(), NoSuch> {
        match self {
            Self::Ok(reply_type) => spelled.fields(fields_of(reply_type).ok_or(NoSuch)?),
            Self::Error { message } => {
                spelled.part("hresult", None)?;
                if message && !spelled.rest().is_empty() { spelled.text() } else { Ok(()) }
            }
        }
    }

    /// The length of its fields at the front of `bytes`.
    fn length_in(self, bytes: &[u8]) -> Option<usize> {
        let mut spelled = Spelled::new(bytes, Spelling::Right);
        self.read(&mut spelled).ok()?;
        Some(spelled.read())
    }
}

/// The fields of a reply.
fn fields_of(reply_type: ReplyType) -> Option<&'static [Field]> {
    let command = Command::known().find(|command| command.reply_type() == Some(reply_type))?;
    Some(&GRAMMAR.reply_to(command)?.fields)
}

/// The faults in the reply on a connection, and in what follows it.
pub(crate) fn faults_in_exchange(exchange: &Exchange) -> Vec<FaultSeen> {
    let came = exchange.came.as_slice();
    if came.is_empty() || exchange.sent.is_empty() {
        return Vec::new();
    }
    if let Some(fault) = no_header(came) {
        return vec![fault];
    }
    let Some((header, body)) = came.split_at_checked(HEADER_LEN) else {
        return vec![FaultSeen::new(
            Fault::ReplyCut,
            format!("only {} of a header received", ByteCount(came.len())),
        )];
    };
    let RawHeader { size: Some(size), command: Some(reply), reserved: Some(reserved), .. } =
        RawHeader::read(header)
    else {
        return Vec::new();
    };
    let swapped = usize::from(size.swap_bytes());
    if usize::from(size) > came.len() && (HEADER_LEN..=came.len()).contains(&swapped) {
        let text = format!("size is {size}, but {swapped} with its bytes reversed");
        return vec![FaultSeen::new(Fault::NumbersBigEndian, text)];
    }
    let mut found = Vec::new();
    if reserved != 0 {
        found.push(FaultSeen::new(
            Fault::ReservedNotZero,
            format!("reserved is {reserved:#06x}, expected 0x0000"),
        ));
    }
    let command = exchange.command();
    let layout = match (reply, command) {
        (Command::ERROR, _) => Layout::Error { message: ErrorReply::has_message(command) },
        (Command::OK, Some(command)) => match command.reply_type() {
            Some(reply_type) => Layout::Ok(reply_type),
            None => return found,
        },
        (Command::OK, None) => return found,
        (other, _) => {
            let Command { set, id } = other;
            let text = format!(
                "the reply has {other} ({set:#04x}, {id:#04x}), expected Server/OK or Server/Error"
            );
            found.push(FaultSeen::new(Fault::ReplyCommandWrong, text));
            return found;
        }
    };
    let reply = Reply { exchange, size: size.into(), body, layout };
    match reply.end() {
        Err(fault) => found.push(fault),
        Ok(len) => {
            found.extend(
                reply.values(body.get(..len.saturating_sub(HEADER_LEN)).unwrap_or_default()),
            );
            found.extend(reply.behind(came.get(len..).unwrap_or_default()));
        }
    }
    found
}

/// This many bytes of the magic suggest that one was meant.
const LIKE_IT: usize = 6;

/// What is sent instead of a header.
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
    Some(if alike >= LIKE_IT {
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

fn quoted(bytes: &[u8]) -> String {
    format!("\"{}\"", bytes.escape_ascii())
}

struct Reply<'e> {
    exchange: &'e Exchange,
    /// From the size field.
    size: usize,
    /// Everything after the header.
    body: &'e [u8],
    layout: Layout,
}

impl Reply<'_> {
    fn came(&self) -> usize {
        self.exchange.came.len()
    }

    fn size_wrong(&self, len: usize) -> FaultSeen {
        FaultSeen::new(
            Fault::SizeWrong,
            format!("size is {}, but the message has {len} bytes", self.size),
        )
    }

    /// The end of the message, if everything before is right.
    fn end(&self) -> Result<usize, FaultSeen> {
        let claimed = self.size.checked_sub(HEADER_LEN).and_then(|len| self.body.get(..len));
        let by_fields = self.layout.length_in(self.body).map(|len| len.saturating_add(HEADER_LEN));
        if let Some(claimed) = claimed {
            let fields = self.layout.length_in(claimed);
            if fields == Some(claimed.len()) {
                return Ok(self.size);
            }
            if claimed.is_empty()
                && matches!(self.layout, Layout::Ok(_))
                && self.came() == HEADER_LEN
            {
                // The generic OK (R-HDR-005).
                return Ok(self.size);
            }
        }
        if let Some(fault) = self.misspelled(claimed) {
            return Err(fault);
        }
        match (by_fields, claimed) {
            (Some(len), Some(_)) if len < self.size => Err(self.surplus(len)),
            (Some(len), _) => Err(self.size_wrong(len)),
            (None, None) if self.size < HEADER_LEN => {
                let text =
                    format!("size is {}, but the header alone has {HEADER_LEN} bytes", self.size);
                Err(FaultSeen::new(Fault::SizeWrong, text))
            }
            (None, None) if self.exchange.quiet.is_some() => {
                let (size, came) = (self.size, self.came());
                Err(FaultSeen::new(
                    Fault::ReplyCut,
                    format!("size is {size}, but {came} bytes were received"),
                ))
            }
            (None, Some(_)) => Err(FaultSeen::new(Fault::PayloadMalformed, self.malformed())),
            // More of it may be on the way.
            (None, None) => Ok(self.size),
        }
    }

    /// How a decoder refuses its payload.
    fn malformed(&self) -> String {
        let read_as =
            ReadAs { kind: Type::Reply, command: self.exchange.command(), from_server: true };
        let message = self.exchange.came.get(..self.size).unwrap_or_default();
        match read_as.decode(message) {
            Err(refusal) => format!("the payload is malformed: {refusal}"),
            Ok(_) => format!(
                "the {} bytes of payload do not have the fields of the reply",
                message.len().saturating_sub(HEADER_LEN)
            ),
        }
    }

    /// The wrong encoding of its strings. `claimed` is the payload by the size field.
    fn misspelled(&self, claimed: Option<&[u8]>) -> Option<FaultSeen> {
        let has_strings = match self.layout {
            Layout::Ok(reply_type) => {
                matches!(
                    reply_type,
                    ReplyType::ProcessInfo | ReplyType::ProcessInfo2 | ReplyType::ProcessInfo3
                )
            }
            Layout::Error { message } => message,
        };
        if !has_strings {
            return None;
        }
        [claimed, Some(self.body)]
            .into_iter()
            .flatten()
            .find_map(|payload| wrong_spelling(payload, |spelled| self.layout.read(spelled)))
    }

    /// The fields end at `len`, before the size does.
    fn surplus(&self, len: usize) -> FaultSeen {
        let behind = self.exchange.came.get(len..).unwrap_or_default();
        let is_stream =
            matches!(self.layout, Layout::Ok(ReplyType::Session)) && begins_stream(behind);
        let is_block = matches!(self.layout, Layout::Ok(ReplyType::ProcessEnvironment)) && {
            let announced = super::block_faults::announced(self.body);
            announced.is_some_and(|announced| super::block_faults::is_whole(behind, announced))
        };
        if is_stream || is_block {
            return self.size_wrong(len);
        }
        let more = self.size.saturating_sub(len);
        let fault = match self.layout {
            Layout::Ok(ReplyType::Result) if self.size == 28 => Fault::OkOf28Bytes,
            Layout::Error { .. } if self.size == 28 => Fault::ErrorOf28Bytes,
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

    /// Impossible values.
    fn values(&self, payload: &[u8]) -> Option<FaultSeen> {
        let first =
            |len: usize| payload.get(..len).map(|bytes| LittleEndian::read_uint(bytes, len));
        match self.layout {
            Layout::Error { .. } => {
                let code = HResult(u32::try_from(first(4)?).ok()?);
                let swapped = HResult(code.0.swap_bytes());
                if swapped.name().is_some() && swapped != HResult::OK && code.name().is_none() {
                    let text = format!("hresult is {code}, but {swapped} with its bytes reversed");
                    return Some(FaultSeen::new(Fault::NumbersBigEndian, text));
                }
                let text = format!(
                    "hresult is {code}, expected a failing one, such as {}",
                    HResult::BAD_ENCODING
                );
                code.is_success().then(|| FaultSeen::new(Fault::ErrorCodeIsSuccess, text))
            }
            Layout::Ok(ReplyType::ProcessInfo | ReplyType::ProcessInfo2) => {
                let id = first(8)?;
                let is_swapped =
                    u32::try_from(id).is_err() && u32::try_from(id.swap_bytes()).is_ok();
                let text =
                    format!("processId is {id}, but {} with its bytes reversed", id.swap_bytes());
                is_swapped.then(|| FaultSeen::new(Fault::NumbersBigEndian, text))
            }
            Layout::Ok(ReplyType::Session)
                if self.exchange.command() != Some(Command::STOP_TRACING) =>
            {
                (first(8)? == 0).then(|| FaultSeen::new(Fault::SessionIdZero, "sessionId is 0"))
            }
            Layout::Ok(_) => None,
        }
    }

    /// What follows the message.
    fn behind(&self, rest: &[u8]) -> Option<FaultSeen> {
        let command = self.exchange.command()?;
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
                super::block_faults::fault_in_block(self.body, rest, self.exchange.quiet.is_some())
            }
            Layout::Ok(ReplyType::Session) if command != Command::STOP_TRACING => {
                super::stream_faults::fault_in_stream(&self.exchange.sent, rest)
            }
            _ => {
                let start = rest.get(..rest.len().min(16)).unwrap_or_default();
                let text = format!("{} bytes follow the reply: {}", rest.len(), quoted(start));
                (!rest.is_empty()).then(|| FaultSeen::new(Fault::BytesAfterTheMessage, text))
            }
        }
    }
}
