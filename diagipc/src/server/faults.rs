//! The known faults of servers, by name.

use crate::CaseFault;
use crate::fault::named_faults;

named_faults! {
    /// A known fault of servers. Recognised by the bytes on the connection.
    ///
    /// ```
    /// use diagipc::server::ServerFault;
    ///
    /// let fault = ServerFault::SizeFieldWrong;
    /// assert_eq!(fault.name(), "size-field-wrong");
    /// assert!(fault.fix().contains("20") && fault.spec().contains(&"R-HDR-009"));
    /// ```
    enum ServerFault;

    DoesNotSpeakTheProtocol = "does-not-speak-the-protocol",
        "The received bytes are not a message of this protocol.",
        "Answer with the 20-byte header: DOTNET_IPC_V1 and a NUL, size, command set 0xFF, id, reserved. Check the address: it may \
         belong to another program.", ["R-FLW-004", "R-HDR-006"];
    ReplyMagicWrong = "reply-magic-wrong",
        "The magic of a reply is not the 13 characters DOTNET_IPC_V1 and a NUL.",
        "Write all 14 bytes: 44 4f 54 4e 45 54 5f 49 50 43 5f 56 31 00.", ["R-HDR-006", "R-HDR-010"];
    WrongByteOrder = "wrong-byte-order",
        "Numbers are written with the high byte first.",
        "Write all numbers and UTF-16 units little-endian.", ["R-HDR-008", "R-GRM-002", "R-GRM-003", "R-GRM-004"];
    SizeFieldWrong = "size-field-wrong",
        "The size field is not the length of header and payload.",
        "Write the header last: its size is 20 plus the length of the payload, without a continuation or a stream.",
        ["R-HDR-009", "R-ENV-005"];
    ReplyCommandWrong = "reply-command-wrong",
        "The command of a reply is neither 0xFF00 (OK) nor 0xFFFF (Error).",
        "Write command set 0xFF and id 0x00 or 0xFF. Do not repeat the command of the request.",
        ["R-CMD-009", "R-CMD-010", "R-CMD-011"];
    ReservedNotZero = "reserved-not-zero",
        "The field `reserved` of a reply is not 0.",
        "Write 0x0000 in bytes 18 and 19.", ["R-HDR-013"];
    ReplyCut = "reply-cut",
        "A reply is truncated.",
        "Write all bytes of the reply before closing the connection; a write may accept fewer bytes than it is given.",
        ["R-HDR-009", "R-FLW-004"];
    ReplyMalformed = "reply-malformed",
        "The payload of a reply does not have the fields of its command.",
        "Compare the payload with the fields of the command's reply, in order and without padding.",
        ["R-GRM-001", "R-HDR-018"];
    OkOf28Bytes = "ok-of-28-bytes",
        "An OK with an HRESULT is 28 bytes, as the document prints it; the correct size is 24.",
        "Write the HRESULT in 4 bytes, not in 8.", ["F-1", "R-GRM-018"];
    ErrorOf28Bytes = "error-of-28-bytes",
        "An error is 28 bytes, as the document's table prints it; the correct size is 24.",
        "Write the code in 4 bytes, not in 8.", ["F-1", "R-ERR-006"];
    SurplusBytesInReply = "surplus-bytes-in-reply",
        "Bytes follow the last field of a reply, within its size.",
        "End the payload with its last field: no padding, no extra NUL.", ["R-GRM-001"];
    BytesAfterReply = "bytes-after-the-reply",
        "Bytes follow a reply that has no continuation.",
        "Write nothing after the reply, and close the connection.", ["R-FLW-006"];
    SecondReply = "second-reply",
        "A second message follows a reply on the same connection.",
        "Answer each request once, and close the connection.", ["R-FLW-006", "F-70"];
    ContinuationBeforeReply = "continuation-before-reply",
        "The continuation, or the stream, is sent before the reply.",
        "Write the reply first, then its continuation.", ["R-FLW-005", "R-EVP-014"];
    StringWithoutNul = "string-without-nul",
        "A string is written without its NUL.",
        "Write a NUL unit after the last unit of every string that is not absent, and count it.", ["R-GRM-008", "R-ENV-007"];
    StringLengthWithoutNul = "string-length-without-nul",
        "The length of a string does not count its NUL.",
        "Count the NUL: the length of \"ab\" is 3.", ["R-GRM-009", "R-ENV-007"];
    CountInBytes = "count-in-bytes",
        "The length of a string counts bytes, not UTF-16 units.",
        "Write the number of UTF-16 units including the NUL: half the number of bytes.", ["R-GRM-009", "R-ENV-007"];
    Utf8Strings = "utf-8-strings",
        "Strings are written in UTF-8, one byte per unit.",
        "Write UTF-16, little-endian, two bytes per unit, and count units.", ["R-GRM-004", "R-GRM-008", "R-ENV-006"];
    WcharOf4Bytes = "wchar-of-4-bytes",
        "Strings are written in units of four bytes.",
        "Write UTF-16 units of two bytes; convert a four-byte wchar_t first.", ["R-GRM-004", "R-GRM-008"];
    EnvironmentCountWrong = "environment-count-wrong",
        "The environment's count is not the number of its entries.",
        "Write the number of entries before the first.", ["R-ENV-006", "R-GRM-006"];
    EnvironmentBytesWrong = "environment-bytes-wrong",
        "nIncomingBytes is not the length of the environment that follows.",
        "Count 4 bytes for the entry count and, for each entry, 4 bytes plus 2 per unit, including the NUL.",
        ["R-ENV-003", "R-ENV-010"];
    EnvironmentMalformed = "environment-malformed",
        "The bytes after the reply to ProcessEnvironment are not an array of strings.",
        "Write a uint count and then, for each entry, its number of units and the units, including the NUL.",
        ["R-ENV-006", "R-ENV-007"];
    ErrorCodeIsSuccess = "error-code-is-success",
        "The code of an error message is a success HRESULT: its top bit is clear.",
        "Write a failing HRESULT, such as 0x80131384. 0 to 4 are codes of the 2019 draft.", ["R-ERR-006", "R-ERR-007"];
    WrongErrorCode = "wrong-error-code",
        "A request is refused with the wrong error code.",
        "Answer 0x80131384 to a badly encoded request, 0x80131385 to an unknown command, 0x80131386 to an unknown magic.",
        ["R-ERR-012", "R-ERR-013", "R-ERR-014"];
    NoAnswer = "no-answer",
        "A valid request gets no answer in time.",
        "Answer every message. If it cannot be served, answer with an error.", ["R-FLW-004", "R-ERR-001"];
    NoAnswerToUnknownCommand = "no-answer-to-unknown-command",
        "An unknown command gets no answer.",
        "Read the payload, answer Error 0x80131385, and close.", ["R-ERR-009", "R-ERR-002"];
    NoAnswerToMalformedRequest = "no-answer-to-malformed-request",
        "A badly encoded request gets no answer.",
        "Answer Error 0x80131384, or 0x80131386 to an unknown magic, and close.", ["R-ERR-008", "R-ERR-010", "R-ERR-002"];
    ClosesBeforeReply = "closes-before-reply",
        "The connection ends before a reply.",
        "Write the reply, even if it is an error, before closing the connection.", ["R-FLW-004", "R-ERR-001"];
    TargetEnds = "target-ends",
        "The server process ends because of a request.",
        "Answer with an error instead: no request may end the process.", ["R-ERR-011"];
    MagicUnchecked = "magic-unchecked",
        "A request is served whatever its magic.",
        "Compare all 14 bytes, including the NUL, once the payload is read; answer Error 0x80131386.",
        ["R-ERR-010", "R-HDR-010", "F-69"];
    SizeUnchecked = "size-unchecked",
        "A request whose size is below 20 is served.",
        "Check the size before anything else; answer Error 0x80131384.", ["R-HDR-015", "F-69"];
    CutMessageTaken = "cut-message-taken",
        "An incomplete request is served.",
        "Wait for `size` bytes; if the input ends before, answer Error 0x80131384.", ["R-HDR-009", "F-69"];
    TruncatedPayloadTaken = "truncated-payload-taken",
        "A request whose payload ends inside a field is served.",
        "Before reading a field, check that the payload has enough bytes left; answer Error 0x80131384.", ["R-ERR-008", "F-7"];
    CountUnchecked = "count-unchecked",
        "A request with a count larger than its payload is served.",
        "Compare the count with the remaining bytes, in 64 bits, before allocating anything; answer Error 0x80131384.",
        ["R-GRM-007", "F-8", "F-9"];
    TerminatorUnchecked = "terminator-unchecked",
        "A request with a string that does not end with a NUL is served.",
        "Check the last unit of each string; answer Error 0x80131384.", ["R-GRM-008"];
    LimitsUnchecked = "limits-unchecked",
        "A request with a value out of range is served.",
        "Check the ranges of the command's fields; answer the required error.", ["R-ERR-008", "F-16"];
    UnknownCommandTaken = "unknown-command-taken",
        "A command that does not exist is answered OK.",
        "Check both bytes of the command; answer Error 0x80131385 if it is unknown.", ["R-ERR-009", "R-CMD-002"];
    ValidRequestRefused = "valid-request-refused",
        "A valid request is refused as badly encoded, or with another error that does not apply.",
        "Read the request by the grammar: any bool but 0 is true, bytes after the last field and `reserved` are ignored, strings \
         may be absent and at odd offsets.", ["R-GRM-005", "R-GRM-010", "R-HDR-014", "F-4", "F-13"];
    ConnectionLeftOpen = "connection-left-open",
        "The connection stays open after its final reply.",
        "Close the connection once reply and continuation are written, also after errors.", ["R-FLW-006", "R-ERR-002"];
    ConnectionReset = "connection-reset",
        "The connection is reset instead of closed.",
        "Read the whole request before closing the connection.", ["R-FLW-006"];
    SessionIdZero = "session-id-zero",
        "The id of a session is 0.",
        "Give every session an id other than 0.", ["R-EVP-013"];
    SessionIdTwice = "session-id-twice",
        "Two running sessions have the same id.",
        "Give every session an id that no other running session has.", ["R-EVP-013"];
    StopEchoesAnother = "stop-echoes-another-session",
        "The reply to StopTracing has a different session id than the request.",
        "Answer with the requested id, even if no session has it.", ["F-31"];
    StreamDoesNotEnd = "stream-does-not-end",
        "The stream of a stopped session does not end.",
        "On StopTracing, write the rest of the stream and close its connection.", ["R-FLW-006", "F-76"];
    SessionsLeaked = "sessions-leaked",
        "A session is refused after others were stopped: their slots are not freed.",
        "Free the slot of a session before answering its StopTracing, and when its connection ends.",
        ["F-32", "R-EVP-017"];
    StreamFormatWrong = "stream-format-wrong",
        "The stream of a session does not have the requested format: nettrace instead of netperf, or netperf instead of nettrace.",
        "Stream the requested format: 0 netperf, 1 nettrace. Refuse a format that the server does not have.",
        ["R-EVP-004", "R-EVP-015", "R-FLW-008"];
    StreamIsNoNettrace = "stream-is-no-nettrace",
        "The stream of a session is neither nettrace nor netperf.",
        "Begin a nettrace stream with `Nettrace`, then 14 00 00 00 !FastSerialization.1 or, from version 6 on, a uint 0 and the \
         versions; netperf begins with 14 00 00 00 !FastSerialization.1.", ["R-EVP-015", "R-FLW-008"];
    ProcessIdWrong = "process-id-wrong",
        "The process id of a reply or an advertise is not that of the server's process.",
        "Write the system's id of the serving process (getpid), as in that process's own pid namespace, in 8 bytes.",
        ["R-PRC-004", "R-ADV-005", "F-35"];
    ProcessIdChanges = "process-id-changes",
        "Replies to ProcessInfo, 2 and 3, and advertises, have different process ids.",
        "Always answer with the same process id.", ["R-PRC-004", "R-PRC-019", "R-PRC-038"];
    CookieChanges = "cookie-changes",
        "Replies to ProcessInfo, 2 and 3, and advertises, have different cookies.",
        "Create the cookie once, when the process starts.", ["R-PRC-005", "R-PRC-019", "R-PRC-038"];
    GuidByteOrder = "guid-byte-order",
        "The cookie is written in two byte orders.",
        "Write a GUID everywhere as u32, u16, u16 little-endian and 8 unchanged bytes.", ["R-GRM-021"];
    ValueDiffers = "value-differs",
        "A field of a reply has the wrong value.",
        "Compare the field with the command's reply in the tables of spec/GUIDE.md.", ["R-HDR-018"];
}

/// A fault seen in a case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FaultSeen {
    pub(crate) fault: ServerFault,
    /// The observation, with its values.
    pub(crate) text: String,
    /// Whether no server may do this, even where the document leaves details open.
    pub(super) is_certain: bool,
}

impl ServerFault {
    /// Whether a correct server on a busy machine may look like this.
    pub(super) const fn may_be_lateness(self) -> bool {
        matches!(
            self,
            Self::NoAnswer
                | Self::NoAnswerToUnknownCommand
                | Self::NoAnswerToMalformedRequest
                | Self::ClosesBeforeReply
                | Self::ReplyCut
                | Self::TargetEnds
                | Self::ConnectionLeftOpen
                | Self::ConnectionReset
                | Self::StreamDoesNotEnd
                | Self::ValueDiffers
        )
    }
}

impl FaultSeen {
    pub(super) fn new(fault: ServerFault, text: impl Into<String>) -> Self {
        Self { fault, text: text.into(), is_certain: false }
    }
}

impl From<&FaultSeen> for CaseFault {
    fn from(seen: &FaultSeen) -> Self {
        Self { name: seen.fault.name().to_owned(), text: seen.text.clone() }
    }
}
