//! The known faults of servers, by name.

use alloc::{borrow::ToOwned as _, string::String};

use crate::conformance::CaseFault;
use crate::conformance::fault::named_faults;

named_faults! {
    /// A known fault of servers. Recognised by the bytes on the connection.
    ///
    /// ```
    /// use dotnet_diagnostics_ipc::conformance::server::ServerFault;
    ///
    /// let fault = ServerFault::SizeFieldWrong;
    /// assert_eq!(fault.name(), "size-field-wrong");
    /// assert!(fault.mend().contains("20") && fault.spec().contains(&"R-HDR-009"));
    /// ```
    enum ServerFault;

    DoesNotSpeakTheProtocol = "does-not-speak-the-protocol",
        "What comes is not a message of this protocol.",
        "Answer with the 20-byte header: DOTNET_IPC_V1 and a NUL, size, command set 0xFF, id, reserved. Check the address: it may be \
         another program's.", ["R-FLW-004", "R-HDR-006"];
    ReplyMagicWrong = "reply-magic-wrong",
        "The magic of a reply is not the 13 characters DOTNET_IPC_V1 and a NUL.",
        "Write all 14 bytes: 44 4f 54 4e 45 54 5f 49 50 43 5f 56 31 00.", ["R-HDR-006", "R-HDR-010"];
    WrongByteOrder = "wrong-byte-order",
        "Numbers are written with their high byte first.",
        "Write all numbers and UTF-16 units little-endian.", ["R-HDR-008", "R-GRM-002", "R-GRM-003", "R-GRM-004"];
    SizeFieldWrong = "size-field-wrong",
        "The size field is not the length of header and payload.",
        "Write the header last: its size is 20 and the bytes of the payload, without a continuation or a stream.",
        ["R-HDR-009", "R-ENV-005"];
    ReplyCommandWrong = "reply-command-wrong",
        "A reply has another command than 0xFF00 (OK) or 0xFFFF (Error).",
        "Write command set 0xFF and id 0x00 or 0xFF. The command of the request is not repeated.",
        ["R-CMD-009", "R-CMD-010", "R-CMD-011"];
    ReservedNotZero = "reserved-not-zero",
        "The field `reserved` of a reply is not 0.",
        "Write 0x0000 in bytes 18 and 19.", ["R-HDR-013"];
    ReplyCut = "reply-cut",
        "A reply ends before all of it came.",
        "Write all bytes of the reply before the connection is closed; a write may take less than it is given.",
        ["R-HDR-009", "R-FLW-004"];
    ReplyMalformed = "reply-malformed",
        "The payload of a reply does not have the fields of its command.",
        "Compare the payload with the fields that the command's reply has, in their order, without padding.",
        ["R-GRM-001", "R-HDR-018"];
    OkOf28Bytes = "ok-of-28-bytes",
        "An OK with an HRESULT is 28 bytes, as the document prints it; it is 24.",
        "Write the HRESULT in 4 bytes, not in 8.", ["F-1", "R-GRM-018"];
    ErrorOf28Bytes = "error-of-28-bytes",
        "An error is 28 bytes, as the document's table prints it; it is 24.",
        "Write the code in 4 bytes, not in 8.", ["F-1", "R-ERR-006"];
    SurplusBytesInReply = "surplus-bytes-in-reply",
        "Bytes follow the last field of a reply, within its size.",
        "End the payload with its last field: no padding, no further NUL.", ["R-GRM-001"];
    BytesAfterReply = "bytes-after-the-reply",
        "Bytes follow a reply that nothing belongs after.",
        "Write nothing after the reply, and close the connection.", ["R-FLW-006"];
    SecondReply = "second-reply",
        "A second message follows a reply on the same connection.",
        "Answer each request once, and close the connection.", ["R-FLW-006", "F-70"];
    ContinuationBeforeReply = "continuation-before-reply",
        "The continuation, or the stream, comes before the reply.",
        "Write the reply first, and what belongs after it only then.", ["R-FLW-005", "R-EVP-014"];
    StringWithoutNul = "string-without-nul",
        "A string is written without its NUL.",
        "Write a unit 0 after the last unit of every string that is not absent, and count it.", ["R-GRM-008", "R-ENV-007"];
    StringLengthWithoutNul = "string-length-without-nul",
        "The length of a string does not count its NUL.",
        "Count the NUL: the length of \"ab\" is 3.", ["R-GRM-009", "R-ENV-007"];
    CountInBytes = "count-in-bytes",
        "The length of a string counts bytes, not UTF-16 units.",
        "Write the number of UTF-16 units with the NUL: half the number of bytes.", ["R-GRM-009", "R-ENV-007"];
    Utf8Strings = "utf-8-strings",
        "Strings are written in UTF-8, one byte a unit.",
        "Write UTF-16, little-endian, two bytes a unit, and count units.", ["R-GRM-004", "R-GRM-008", "R-ENV-006"];
    WcharOf4Bytes = "wchar-of-4-bytes",
        "Strings are written in units of four bytes.",
        "Write UTF-16 units of two bytes; a wchar_t of four bytes is converted first.", ["R-GRM-004", "R-GRM-008"];
    EnvironmentCountWrong = "environment-count-wrong",
        "The environment's count is not the number of its entries.",
        "Write the number of entries before the first.", ["R-ENV-006", "R-GRM-006"];
    EnvironmentBytesWrong = "environment-bytes-wrong",
        "nIncomingBytes is not the length of the environment that follows.",
        "Count the four bytes of the entry count and, for each entry, four bytes and two a unit with the NUL.",
        ["R-ENV-003", "R-ENV-010"];
    EnvironmentMalformed = "environment-malformed",
        "What follows the reply to ProcessEnvironment is not an array of strings.",
        "Write a uint count and then, for each entry, its count of units and the units with the NUL.", ["R-ENV-006", "R-ENV-007"];
    ErrorCodeIsSuccess = "error-code-is-success",
        "The code of an error message is an HRESULT of success: its top bit is clear.",
        "Write a failing HRESULT, such as 0x80131384. 0 to 4 are codes of the 2019 draft.", ["R-ERR-006", "R-ERR-007"];
    WrongErrorCode = "wrong-error-code",
        "A request is refused with another code than it is due.",
        "Answer 0x80131384 to what is badly encoded, 0x80131385 to an unknown command, 0x80131386 to an unknown magic.",
        ["R-ERR-012", "R-ERR-013", "R-ERR-014"];
    NoAnswer = "no-answer",
        "A valid request gets no answer in time.",
        "Answer every message. If it cannot be served, answer an error.", ["R-FLW-004", "R-ERR-001"];
    NoAnswerToUnknownCommand = "no-answer-to-unknown-command",
        "A command that the server does not know gets no answer.",
        "Read the payload, answer Error 0x80131385, and close.", ["R-ERR-009", "R-ERR-002"];
    NoAnswerToMalformedRequest = "no-answer-to-malformed-request",
        "A request that is not well encoded gets no answer.",
        "Answer Error 0x80131384, or 0x80131386 to an unknown magic, and close.", ["R-ERR-008", "R-ERR-010", "R-ERR-002"];
    ClosesBeforeReply = "closes-before-reply",
        "The connection ends before a reply came.",
        "Write the reply, an error as well, before the connection is closed.", ["R-FLW-004", "R-ERR-001"];
    TargetEnds = "target-ends",
        "The process of the server ends because of a request.",
        "Answer an error in place of the end: no request may end the process.", ["R-ERR-011"];
    MagicUnchecked = "magic-unchecked",
        "A request is served whatever its magic.",
        "Compare all 14 bytes, the NUL too, once the payload is read; answer Error 0x80131386.", ["R-ERR-010", "R-HDR-010", "F-69"];
    SizeUnchecked = "size-unchecked",
        "A request whose size is below 20 is served.",
        "Look at the size before anything else; answer Error 0x80131384.", ["R-HDR-015", "F-69"];
    CutMessageTaken = "cut-message-taken",
        "A request whose end never came is served.",
        "Wait for `size` bytes; where the input ends before, answer Error 0x80131384.", ["R-HDR-009", "F-69"];
    TruncatedPayloadTaken = "truncated-payload-taken",
        "A request whose payload ends inside a field is served.",
        "Before each field, look whether the payload has as many bytes left; answer Error 0x80131384.", ["R-ERR-008", "F-7"];
    CountUnchecked = "count-unchecked",
        "A request with a count larger than its payload is served.",
        "Compare the count with the bytes that are left, in 64 bits, before anything is allocated; answer Error 0x80131384.",
        ["R-GRM-007", "F-8", "F-9"];
    TerminatorUnchecked = "terminator-unchecked",
        "A request with a string that does not end with a NUL is served.",
        "Look at the last unit of each string; answer Error 0x80131384.", ["R-GRM-008"];
    LimitsUnchecked = "limits-unchecked",
        "A request with a value out of its range is served.",
        "Check the ranges of the command's fields; answer the error that is due.", ["R-ERR-008", "F-16"];
    UnknownCommandTaken = "unknown-command-taken",
        "A command that does not exist is answered OK.",
        "Look at both bytes of the command; answer Error 0x80131385 to what is not known.", ["R-ERR-009", "R-CMD-002"];
    ValidRequestRefused = "valid-request-refused",
        "A valid request is refused as badly encoded, or with another error that it is not due.",
        "Read the request by the grammar: any bool but 0 is true, bytes after the last field and `reserved` are passed over, strings \
         may be absent and may lie at odd offsets.", ["R-GRM-005", "R-GRM-010", "R-HDR-014", "F-4", "F-13"];
    ConnectionLeftOpen = "connection-left-open",
        "The connection stays open after a reply that ends it.",
        "Close the connection once reply and continuation are written, after errors too.", ["R-FLW-006", "R-ERR-002"];
    ConnectionReset = "connection-reset",
        "The connection ends with a reset where it should be closed.",
        "Read the whole request before the connection is closed.", ["R-FLW-006"];
    SessionIdZero = "session-id-zero",
        "The id of a session is 0.",
        "Give every session an id other than 0.", ["R-EVP-013"];
    SessionIdTwice = "session-id-twice",
        "Two sessions that run have one id.",
        "Give every session an id that no other running session has.", ["R-EVP-013"];
    StopEchoesAnother = "stop-echoes-another-session",
        "The reply to StopTracing has another session id than the request.",
        "Answer with the id that was asked for, also where no session has it.", ["F-31"];
    StreamDoesNotEnd = "stream-does-not-end",
        "The stream of a session that was stopped does not end.",
        "At a StopTracing, write the rest of the stream and close the connection that it is on.", ["R-FLW-006", "F-76"];
    SessionsLeaked = "sessions-leaked",
        "A session is refused after others were stopped: their places are not given back.",
        "Give the place of a session back before its StopTracing is answered, and when its connection ends.",
        ["F-32", "R-EVP-017"];
    StreamFormatWrong = "stream-format-wrong",
        "The stream of a session has the other format than was asked for: nettrace in place of netperf, or netperf in place of nettrace.",
        "Stream the format that is asked for: 0 netperf, 1 nettrace. Refuse the one that the server does not have.",
        ["R-EVP-004", "R-EVP-015", "R-FLW-008"];
    StreamIsNoNettrace = "stream-is-no-nettrace",
        "The stream of a session is neither nettrace nor netperf.",
        "Begin a nettrace stream with `Nettrace`, and then 14 00 00 00 !FastSerialization.1, or, from version 6 on, a uint 0 and the \
         versions; netperf begins with 14 00 00 00 !FastSerialization.1.", ["R-EVP-015", "R-FLW-008"];
    ProcessIdWrong = "process-id-wrong",
        "The process id of a reply or an advertise is not that of the server's process.",
        "Write the id that the system gives the process that serves (getpid), as it is in that process's own pid namespace, in 8 bytes.",
        ["R-PRC-004", "R-ADV-005", "F-35"];
    ProcessIdChanges = "process-id-changes",
        "Replies to ProcessInfo, 2 and 3, and advertises, have different process ids.",
        "Answer with one process id.", ["R-PRC-004", "R-PRC-019", "R-PRC-038"];
    CookieChanges = "cookie-changes",
        "Replies to ProcessInfo, 2 and 3, and advertises, have different cookies.",
        "Make the cookie once, when the process starts.", ["R-PRC-005", "R-PRC-019", "R-PRC-038"];
    GuidByteOrder = "guid-byte-order",
        "The cookie is written in two byte orders.",
        "Write a GUID as u32, u16, u16 little-endian and 8 bytes as they are, everywhere.", ["R-GRM-021"];
    ValueDiffers = "value-differs",
        "A field of a reply has another value than it must.",
        "Compare the field with what the command's section says of it.", ["R-HDR-018"];
}

/// A fault seen in a case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::conformance) struct FaultSeen {
    pub(in crate::conformance) fault: ServerFault,
    /// The observation, with its values.
    pub(in crate::conformance) text: String,
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
        Self { fault, text: text.into() }
    }
}

impl From<&FaultSeen> for CaseFault {
    fn from(seen: &FaultSeen) -> Self {
        Self { name: seen.fault.name().to_owned(), text: seen.text.clone() }
    }
}
