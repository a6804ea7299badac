//! A message as bytes: its header, and its payload.

use crate::command::Command;
use crate::header::{HEADER_LEN, Header};
use crate::wire::{Comparer, Decode, DecodeError, DecodeErrorKind, Encode, EncodeError, Field, Reader, SliceSink, clamp};

/// A message: its header, and its payload as bytes.
///
/// ```
/// use dotnet_diagnostics_ipc::command::Command;
/// use dotnet_diagnostics_ipc::message::{Message, Reply, eventpipe::{CollectTracing2, SessionReply}};
///
/// // What a runtime answers to CollectTracing2, and the first byte of the stream behind it.
/// let bytes = b"DOTNET_IPC_V1\0\x1c\0\xff\0\0\0\x2a\0\0\0\0\0\0\0N";
/// let (message, rest) = Message::decode_prefix(bytes)?;
/// assert_eq!(message.reply_as::<CollectTracing2>()?, Reply::Ok(SessionReply { session_id: 42 }));
/// assert_eq!(rest, b"N");
/// # Ok::<(), dotnet_diagnostics_ipc::wire::DecodeError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Message<'a> {
    /// The header's code.
    pub command: Command,
    /// The header's `reserved`; 0 in a canonical message.
    pub reserved: u16,
    /// The bytes between the header and `size`.
    pub payload: &'a [u8],
}

impl<'a> Message<'a> {
    /// Reads the message at the front of `bytes`. What follows it is given back: it belongs to the continuation.
    ///
    /// # Errors
    /// As [`Header::decode`], and [`EndOfInput`](DecodeErrorKind::EndOfInput) where fewer bytes are there than `size` says.
    pub fn decode_prefix(bytes: &'a [u8]) -> Result<(Self, &'a [u8]), DecodeError> {
        let header = Header::decode(bytes)?;
        let Some((message, rest)) = bytes.split_at_checked(usize::from(header.size)) else {
            let kind = DecodeErrorKind::EndOfInput { needed: header.size.into() };
            return Err(DecodeError::new(kind, bytes.len()).in_root("payload"));
        };
        let payload = message.get(HEADER_LEN..).unwrap_or_default();
        Ok((Self { command: header.command, reserved: header.reserved, payload }, rest))
    }

    /// Reads a message that is all of `bytes`.
    ///
    /// # Errors
    /// As [`decode`](Self::decode_prefix), and [`BytesAfterMessage`](DecodeErrorKind::BytesAfterMessage) where more bytes are
    /// there than `size` says.
    pub fn decode(bytes: &'a [u8]) -> Result<Self, DecodeError> {
        let (message, rest) = Self::decode_prefix(bytes)?;
        if rest.is_empty() {
            return Ok(message);
        }
        let kind = DecodeErrorKind::BytesAfterMessage { extra: clamp(rest.len()) };
        Err(DecodeError::new(kind, bytes.len().saturating_sub(rest.len())).in_root("payload"))
    }

    /// Reads the payload as a `T`, and gives back the bytes behind its last field. Offsets count from the header.
    ///
    /// # Errors
    /// Those of `T`.
    pub fn decode_payload<T: Decode<'a>>(&self) -> Result<(T, &'a [u8]), DecodeError> {
        let mut reader = self.reader();
        let value = T::decode(&mut reader)?;
        Ok((value, reader.rest()))
    }

    /// Whether `payload`, encoded under the header's command, gives this message byte for byte.
    pub fn is_canonical<T: Encode + ?Sized>(&self, payload: &T) -> bool {
        let mut comparer = Comparer::new(self.payload);
        self.reserved == 0 && payload.encode(&mut comparer).is_ok() && comparer.matched()
    }

    /// A reader of the payload, with offsets from the header.
    pub(super) fn reader(&self) -> Reader<'a> {
        Reader::at(self.payload, HEADER_LEN)
    }

    /// Whether the header names `command`.
    pub(crate) fn expect(&self, command: Command) -> Result<(), DecodeError> {
        if self.command == command {
            return Ok(());
        }
        let kind = DecodeErrorKind::UnexpectedCommand { code: self.command.code(), expected: command.code() };
        let (offset, field) = if self.command.set == command.set { (17, Field::CommandId) } else { (16, Field::CommandSet) };
        Err(DecodeError::new(kind, offset).within(field).in_root("header"))
    }

    pub(super) fn answer(&self) -> Result<Answer, DecodeError> {
        let kind = DecodeErrorKind::NotAReply { code: self.command.code() };
        match self.command {
            Command::OK => Ok(Answer::Ok),
            Command::ERROR => Ok(Answer::Error),
            Command { set: 0xff, .. } => Err(DecodeError::new(kind, 17).within(Field::CommandId).in_root("header")),
            _ => Err(DecodeError::new(kind, 16).within(Field::CommandSet).in_root("header")),
        }
    }

    /// Reads the payload as a `T`, with the command's name in front of the path of an error.
    pub(super) fn rooted<T: Decode<'a>>(&self, command: Command) -> Result<T, DecodeError> {
        let (value, _) = self.decode_payload().map_err(|error| error.in_root(command.name().unwrap_or_default()))?;
        Ok(value)
    }
}

/// Which of the two codes a reply has.
pub(super) enum Answer {
    Ok,
    Error,
}

/// Writes a message to the front of `buffer`, in one pass, and says how many bytes it is.
///
/// ```
/// use dotnet_diagnostics_ipc::command::Command;
/// use dotnet_diagnostics_ipc::message::{encode, eventpipe::SessionReply};
///
/// let mut buffer = [0; 64];
/// let len = encode(Command::OK, &SessionReply { session_id: 1 }, &mut buffer)?;
/// assert_eq!(&buffer[..len], b"DOTNET_IPC_V1\0\x1c\0\xff\0\0\0\x01\0\0\0\0\0\0\0");
/// # Ok::<(), dotnet_diagnostics_ipc::wire::EncodeError>(())
/// ```
///
/// # Errors
/// [`MessageTooLarge`](EncodeError::MessageTooLarge) beyond 65,535 bytes, else
/// [`BufferTooSmall`](EncodeError::BufferTooSmall) with the size needed. The buffer's contents are then of no use.
pub fn encode<T: Encode + ?Sized>(command: Command, payload: &T, buffer: &mut [u8]) -> Result<usize, EncodeError> {
    let mut sink = SliceSink::new(buffer);
    // The size is known once the payload is written; its place is filled then.
    write(Header { size: 0, command, reserved: 0 }, payload, &mut sink)?;
    let size = size(sink.len())?;
    let len = sink.finish()?;
    if let Some(place) = buffer.first_chunk_mut() {
        *place = Header { size, command, reserved: 0 }.to_bytes();
    }
    Ok(len)
}

/// The message as a vector of bytes.
///
/// # Errors
/// [`MessageTooLarge`](EncodeError::MessageTooLarge) beyond 65,535 bytes.
#[cfg(feature = "alloc")]
pub fn encode_to_vec<T: Encode + ?Sized>(command: Command, payload: &T) -> Result<alloc::vec::Vec<u8>, EncodeError> {
    let size = size(payload.encoded_len()?.saturating_add(HEADER_LEN))?;
    let mut bytes = alloc::vec::Vec::with_capacity(size.into());
    write(Header { size, command, reserved: 0 }, payload, &mut bytes)?;
    Ok(bytes)
}

fn write<T: Encode + ?Sized, S: crate::wire::Sink>(header: Header, payload: &T, sink: &mut S) -> Result<(), EncodeError> {
    sink.put(&header.to_bytes());
    payload.encode(sink)
}

fn size(len: usize) -> Result<u16, EncodeError> {
    u16::try_from(len).map_err(|_| EncodeError::MessageTooLarge { len })
}
