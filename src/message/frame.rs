//! Messages as bytes: their header, their payload, and the trait of all requests.

use crate::command::{Command, Continuation};
use crate::header::{HEADER_LEN, Header};
use crate::wire::{
    Comparer, Cursor, Decode, Encode, EncodeError, Failed, Fault, Field, Reader, Root, SliceSink,
    WireError, WireErrorKind, clamp,
};

/// A message: the code from its header, and its payload as bytes.
///
/// ```
/// use dotnet_diagnostics_ipc::command::Command;
/// use dotnet_diagnostics_ipc::message::{Message, Reply, eventpipe::{CollectTracing2, SessionReply}};
///
/// // What a runtime answers to CollectTracing2, and the first byte of the stream after it.
/// let bytes = b"DOTNET_IPC_V1\0\x1c\0\xff\0\0\0\x2a\0\0\0\0\0\0\0N";
/// let (message, rest) = Message::decode_prefix(bytes)?;
/// assert_eq!(message.reply_as::<CollectTracing2>()?, Reply::Ok(SessionReply { session_id: 42 }));
/// assert_eq!(rest, b"N");
/// # Ok::<(), dotnet_diagnostics_ipc::wire::WireError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Message<'a> {
    /// The code in the header.
    pub command: Command,
    /// The header's `reserved` field, which is 0 in a canonical message.
    pub reserved: u16,
    /// The bytes after the header, up to the header's `size`.
    pub payload: &'a [u8],
}

impl<'a> Message<'a> {
    /// Reads the message at the front of `bytes`. Also returns the bytes of the continuation.
    ///
    /// # Errors
    /// The errors of [`Header::decode`], and [`EndOfInput`](WireErrorKind::EndOfInput) if there are fewer
    /// bytes than `size`.
    #[inline]
    pub fn decode_prefix(bytes: &'a [u8]) -> Result<(Self, &'a [u8]), WireError> {
        match Self::split(bytes) {
            Some(split) => Ok(split),
            None => Err(not_whole(bytes)),
        }
    }

    /// Splits `bytes` into the message at the front and the rest.
    #[inline]
    fn split(bytes: &'a [u8]) -> Option<(Self, &'a [u8])> {
        let header = Header::read(bytes)?;
        let (message, rest) = bytes.split_at_checked(usize::from(header.size))?;
        Some((Self::of(header, message), rest))
    }

    /// Returns the message that fills `bytes`.
    #[inline]
    fn whole(bytes: &'a [u8]) -> Option<Self> {
        let header = Header::read(bytes)?;
        (usize::from(header.size) == bytes.len()).then(|| Self::of(header, bytes))
    }

    /// Returns the message in `bytes` whose header has been read.
    #[inline]
    pub(crate) fn of(header: Header, bytes: &'a [u8]) -> Self {
        let payload = bytes.get(HEADER_LEN..).unwrap_or_default();
        Self { command: header.command, reserved: header.reserved, payload }
    }

    /// Reads a message that fills `bytes`.
    ///
    /// # Errors
    /// The errors of [`decode_prefix`](Self::decode_prefix), and
    /// [`BytesAfterMessage`](WireErrorKind::BytesAfterMessage) if there are more bytes
    /// than `size`.
    #[inline]
    pub fn decode(bytes: &'a [u8]) -> Result<Self, WireError> {
        match Self::whole(bytes) {
            Some(message) => Ok(message),
            None => Err(not_one(bytes)),
        }
    }

    /// Reads the payload as a `T`, and returns the bytes after its last field. Offsets count from
    /// the header.
    ///
    /// # Errors
    /// Returns the error of `T::decode`.
    #[inline]
    pub fn decode_payload<T: Decode<'a>>(&self) -> Result<(T, &'a [u8]), WireError> {
        let mut reader = self.reader();
        let value = T::decode(&mut reader)?;
        Ok((value, reader.rest()))
    }

    /// Returns whether encoding `payload` with the header's command gives this message exactly.
    pub fn is_canonical<T: Encode + ?Sized>(&self, payload: &T) -> bool {
        let mut comparer = Comparer::new(self.payload);
        self.reserved == 0 && payload.encode(&mut comparer).is_ok() && comparer.matched()
    }

    /// Returns a reader of the payload, with offsets from the header.
    #[inline]
    fn reader(&self) -> Reader<'a> {
        Reader::at(self.payload, HEADER_LEN)
    }

    /// Returns an error unless the header has `command`.
    #[doc(hidden)]
    pub fn expect(&self, command: Command) -> Result<(), WireError> {
        if self.command == command { Ok(()) } else { Err(not_that(self.command, command)) }
    }

    /// Calls `read` with the payload. The path of an error begins with `command`.
    #[inline]
    pub(super) fn read<T>(
        &self,
        command: Command,
        read: impl FnOnce(&mut Cursor<'a, '_>) -> Result<T, Failed>,
    ) -> Result<T, WireError> {
        let fault = Fault::of(self.payload, HEADER_LEN);
        match read(&mut Cursor::new(self.payload, &fault)) {
            Ok(value) => Ok(value),
            Err(Failed) => Err(fault.explain(Some(Root::of(command)))),
        }
    }
}

/// Explains why there is no whole message at the front of `bytes`.
#[cold]
#[inline(never)]
fn not_whole(bytes: &[u8]) -> WireError {
    match Header::decode(bytes) {
        Ok(Header { size, .. }) => {
            WireError::new(WireErrorKind::EndOfInput { needed: size.into() }, bytes.len())
                .in_root(Root::PAYLOAD)
        }
        Err(error) => error,
    }
}

/// Explains why `bytes` are not one whole message.
#[cold]
#[inline(never)]
fn not_one(bytes: &[u8]) -> WireError {
    let Some((_, rest)) = Message::split(bytes) else { return not_whole(bytes) };
    let kind = WireErrorKind::BytesAfterMessage { extra: clamp(rest.len()) };
    WireError::new(kind, bytes.len().saturating_sub(rest.len())).in_root(Root::PAYLOAD)
}

/// Returns the error of a header that has another command than `expected`.
#[cold]
#[inline(never)]
pub(super) fn not_that(have: Command, expected: Command) -> WireError {
    let kind = WireErrorKind::UnexpectedCommand { code: have.code(), expected: expected.code() };
    wrong_code(kind, have.set == expected.set)
}

/// Returns the error of a header that has a command where a reply is expected.
#[cold]
pub(super) fn not_a_reply(have: Command) -> WireError {
    wrong_code(WireErrorKind::NotAReply { code: have.code() }, have.set == Command::OK.set)
}

/// Returns an error at the command's id, or at its set if the set differs too.
#[cold]
fn wrong_code(kind: WireErrorKind, is_of_set: bool) -> WireError {
    let (offset, field) = if is_of_set { (17, Field::CommandId) } else { (16, Field::CommandSet) };
    WireError::new(kind, offset).within(field).in_root(Root::HEADER)
}

/// Writes a message to the front of `buffer`, in one pass, and returns its size in bytes.
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
/// [`BufferTooSmall`](EncodeError::BufferTooSmall) with the size needed. The contents of the buffer
/// are then unspecified.
#[inline]
pub fn encode<T: Encode + ?Sized>(
    command: Command,
    payload: &T,
    buffer: &mut [u8],
) -> Result<usize, EncodeError> {
    // The size is known after the payload is written, so the header is written last.
    let mut sink = SliceSink::behind(HEADER_LEN, buffer);
    payload.encode(&mut sink)?;
    write_header(command, sink)
}

/// Writes the header before a payload, and returns the size of the message.
#[inline]
fn write_header(command: Command, sink: SliceSink<'_>) -> Result<usize, EncodeError> {
    let size = size(sink.len())?;
    let (buffer, len) = sink.into_buffer()?;
    if let Some(place) = buffer.first_chunk_mut() {
        Header { size, command, reserved: 0 }.write(place);
    }
    Ok(len)
}

/// Encodes a message to a vector.
///
/// # Errors
/// [`MessageTooLarge`](EncodeError::MessageTooLarge) beyond 65,535 bytes.
#[cfg(feature = "alloc")]
pub fn encode_to_vec<T: Encode + ?Sized>(
    command: Command,
    payload: &T,
) -> Result<alloc::vec::Vec<u8>, EncodeError> {
    let size = size(payload.encoded_len()?.saturating_add(HEADER_LEN))?;
    let mut bytes = alloc::vec::Vec::with_capacity(size.into());
    bytes.extend_from_slice(&Header { size, command, reserved: 0 }.to_bytes());
    payload.encode(&mut bytes)?;
    Ok(bytes)
}

#[inline]
fn size(len: usize) -> Result<u16, EncodeError> {
    u16::try_from(len).map_err(|_| EncodeError::MessageTooLarge { len })
}

/// A request, with its command, its reply, and the checks that a server makes.
///
/// The sibling modules have the protocol's requests. The trait is not sealed, so that your crate
/// can implement it for a command newer than this crate and use the same exchanges.
pub trait Request<'a>: Decode<'a> + Encode {
    /// The code in the header of the request.
    const COMMAND: Command;

    /// The payload of the OK reply.
    type Reply: Decode<'a> + Encode;

    /// Returns what follows the OK reply on the connection.
    fn continuation(&self) -> Continuation {
        Self::COMMAND.continuation().unwrap_or(Continuation::Close)
    }

    /// Checks that a server would accept the values (F-16 and others). Decoding checks none.
    ///
    /// # Errors
    /// Returns the first refused value, with its offset in the encoded message.
    fn check_limits(&self) -> Result<(), WireError> {
        in_request(Self::COMMAND, self.check_values())
    }

    /// Makes the checks of [`check_limits`](Self::check_limits) for this request.
    ///
    /// # Errors
    /// Returns the first refused value, with its offset in the payload.
    #[doc(hidden)]
    fn check_values(&self) -> Result<(), WireError> {
        Ok(())
    }

    /// Encodes the message to the front of `buffer`, and returns its size in bytes.
    ///
    /// # Errors
    /// Returns the errors of [`encode`].
    #[inline]
    fn encode_message(&self, buffer: &mut [u8]) -> Result<usize, EncodeError> {
        encode(Self::COMMAND, self, buffer)
    }
}

/// Moves the error of a check from the payload into the message of `command`.
#[inline]
pub(super) fn in_request(
    command: Command,
    mut checked: Result<(), WireError>,
) -> Result<(), WireError> {
    if let Err(error) = &mut checked {
        error.move_behind(HEADER_LEN);
        error.path_mut().begin(Root::of(command));
    }
    checked
}
