//! The known faults of clients, by name.

use crate::fault::named_faults;

named_faults! {
    /// A known fault of clients.
    ///
    /// ```
    /// use diagipc::client::ClientFault;
    ///
    /// let fault = ClientFault::StringLengthInBytes;
    /// assert_eq!(fault.name(), "string-length-in-bytes");
    /// assert!(fault.fix().contains("UTF-16 units") && fault.spec().contains(&"F-8"));
    /// ```
    enum ClientFault;

    EmptyStringAsTwoBytes = "empty-string-as-two-bytes",
        "An empty string is written as a two-byte NUL without a length.",
        "Write the length 1 in 4 bytes, then the 2-byte NUL. An absent string is only the length 0.", ["F-11"];
    StringLengthInBytes = "string-length-in-bytes",
        "The length of a string counts bytes, not UTF-16 units.",
        "Count UTF-16 units and the NUL: `café` has length 5, not 6 or 10.", ["F-8"];
    StringLengthInChars = "string-length-in-chars",
        "The length of a string counts characters, not UTF-16 units.",
        "Count UTF-16 units and the NUL: a character above U+FFFF counts as 2.", ["F-8"];
    StringLengthWithoutNul = "string-length-without-nul",
        "A string is written without its NUL, or its length does not count it.",
        "Write a NUL of 2 bytes after the text, and count it: `ab` has length 3 and 6 bytes.", ["F-11"];
    NonBmpTruncated = "non-bmp-truncated",
        "A character above U+FFFF is truncated to one UTF-16 unit.",
        "Encode the text as UTF-16: a character above U+FFFF becomes a surrogate pair.", ["R-GRM-008"];
    WcharOf4Bytes = "wchar-of-4-bytes",
        "A string is written in 4-byte units: there are zeros between its UTF-16 units.",
        "Convert the text to UTF-16; do not copy a 4-byte `wchar_t`.", ["R-GRM-008"];
    SizeTruncated = "size-truncated",
        "The size of a message above 65,535 bytes is truncated to its lower 16 bits.",
        "Check the length before writing the size field. Refuse a message of more than 65,535 bytes, header included.", ["F-40"];
    SizeClamped = "size-clamped",
        "The size of a message above 65,535 bytes is written as 65,535.",
        "Check the length before writing the size field. Refuse a message of more than 65,535 bytes, header included.", ["F-40"];
    CommandSetOffByOne = "command-set-off-by-one",
        "The command set is written one byte off, or its value is off by one.",
        "Write the command set in byte 16, the id in byte 17, and zeros in bytes 18 and 19.", ["F-85"];
    AttachTimeoutInSeconds = "attach-timeout-in-seconds",
        "The timeout of an attach is written in seconds; the field is in milliseconds.",
        "Write `attachTimeout` in milliseconds: 5 seconds are 5000.", ["F-55"];
    DescriptorWithTheRequest = "descriptor-with-the-request",
        "The descriptor is sent with the request's bytes, where it is lost.",
        "Send the whole request first, then one separate byte with the descriptor (SCM_RIGHTS).", ["F-20"];
    DescriptorAfterTheReply = "descriptor-after-the-reply",
        "The client waits for the reply before it passes the descriptor.",
        "Send the byte with the descriptor right after the request, then read the reply.", ["F-19"];
    ConnectionReused = "connection-reused",
        "A second request is sent on a connection.",
        "Open a new connection for each request: the server reads one and closes.", ["F-70"];
    ReplyMagicUnchecked = "reply-magic-unchecked",
        "A reply is accepted whatever its magic.",
        "Compare all 14 bytes of the reply's magic; end with an error if one differs.", ["F-71"];
    ReplyCommandSetUnchecked = "reply-command-set-unchecked",
        "A reply is accepted as an OK whatever its command set.",
        "Accept a reply only if its command set is 0xFF. Id 0x00 is OK, 0xFF is an error, anything else is neither.", ["R-HDR-002"];
    ReplySizeIgnored = "reply-size-ignored",
        "The client reads as many bytes of a reply as it expects, whatever the size field says.",
        "Read the 20-byte header, then `size` - 20 bytes, and only then what follows the reply.", ["F-1", "F-2"];
    ReplyOf24InsistedOn = "reply-of-24-insisted-on",
        "An OK of any size other than 24 bytes is refused.",
        "Accept an OK of 20, 24 or 28 bytes: read as many bytes as its size says, and use the fields that are there.",
        ["F-1", "F-2", "F-41"];
    EnvironmentCountIgnored = "environment-count-ignored",
        "The entry count of the environment block is ignored.",
        "Read as many entries as the count says; refuse a block whose bytes do not match it.", ["F-43", "F-88"];
    EnvironmentEntryWithoutEquals = "environment-entry-without-equals",
        "An environment entry without `=` is lost, or ends the client.",
        "Keep an entry without `=` unchanged; check for `=` before splitting.", ["F-79"];
    NoReadTimeout = "no-read-timeout",
        "The client waits forever for a target that does not answer.",
        "Set a timeout for each read of a reply; end with an error when it expires.", ["F-75", "R-ERR-004"];
    StringInUtf8 = "string-in-utf-8",
        "A string is written in UTF-8, not in UTF-16.",
        "Encode the text as UTF-16, little-endian, and count its units.", ["R-GRM-008"];
    BytesAsUnits = "bytes-as-units",
        "Each UTF-8 byte of a text is written as a separate UTF-16 unit.",
        "Decode the text as UTF-8 first, then encode it as UTF-16; do not widen bytes.", ["R-GRM-008"];
    UnitsSignExtended = "units-sign-extended",
        "Each UTF-8 byte of a text is sign-extended to a UTF-16 unit: `é` becomes ffc3 ffa9.",
        "Decode the text as UTF-8 first, then encode it as UTF-16; do not widen a signed `char`.", ["R-GRM-008"];
    SizeOf4ByteUnits = "size-of-4-byte-units",
        "The message's size counts four bytes for each character: zeros follow the last field.",
        "Compute the size from the written bytes: 2 for each UTF-16 unit, not `sizeof(wchar_t)`.", ["R-HDR-002"];
    RequestMagicWrong = "request-magic-wrong",
        "The magic of the request is not `DOTNET_IPC_V1` and a NUL.",
        "Write all 14 bytes: 44 4f 54 4e 45 54 5f 49 50 43 5f 56 31 00.", ["R-HDR-010"];
    RequestSizeWrong = "request-size-wrong",
        "The size field of the request is not the request's length.",
        "Write the header last: its size is 20 plus the length of the payload.", ["R-HDR-009"];
    RequestReservedNotZero = "request-reserved-not-zero",
        "The reserved field of the request is not 0.",
        "Write 0x0000 in bytes 18 and 19.", ["R-HDR-013"];
    BytesBehindTheRequest = "bytes-behind-the-request",
        "Bytes are sent after the request; no server reads them.",
        "Send as many bytes as the size field says, and no more.", ["F-70"];
    AnotherCommandSent = "another-command-sent",
        "The command of the request does not do what was requested.",
        "Check the command's set and id: the document lists them, and `diagipc decode` shows what was sent.", ["R-HDR-012"];
    RequestMalformed = "request-malformed",
        "The payload of the request cannot be decoded.",
        "Compare the payload with the command's fields, in order and without padding; `diagipc decode` shows where it ends.",
        ["R-HDR-002"];
    RequestNotCanonical = "request-not-canonical",
        "The request has a bool other than 0 and 1, or bytes after its last field.",
        "Write a bool as one byte, 0 or 1, and end the payload with the last field.", ["F-4", "F-16"];
    NumbersBigEndian = "numbers-big-endian",
        "Numbers are written with the highest byte first.",
        "Write all numbers little-endian, including the size and string lengths.", ["R-GRM-002"];
    GuidBigEndian = "guid-big-endian",
        "A GUID is written in the byte order of its text; its first three fields are little-endian numbers.",
        "Write the GUID's first three fields (4, 2 and 2 bytes) little-endian, and its last 8 bytes in printed order.",
        ["R-GRM-021"];
    OutsideTheLimits = "outside-the-limits",
        "The request has a value that every server refuses.",
        "Check the value before sending it: the fact says what servers refuse.", ["F-16"];
    ValueNotAsked = "value-not-asked",
        "A value of the request is not the one given to the client.",
        "Send the requested value in the field that the example names.", ["R-FLW-011"];
    UnsetByEmptyValue = "unset-by-empty-value",
        "A variable that must be deleted is set to an empty value.",
        "Write the value as an absent string: the length 0 in 4 bytes, and nothing else.", ["F-44"];
    BeyondTheLargestMessage = "beyond-the-largest-message",
        "A request that is too large for a message is sent anyway.",
        "Refuse a message of more than 65,535 bytes, header included, with an error and before sending anything.", ["R-HDR-011"];
    LargestMessageRefused = "largest-message-refused",
        "A message of at most 65,535 bytes is not sent.",
        "Allow messages of up to 65,535 bytes, header included: the maximum of the size field.", ["F-40"];
    DescriptorMissing = "descriptor-missing",
        "No descriptor is passed after the request for `user_events`.",
        "Open `user_events_data`, and send its descriptor (SCM_RIGHTS) on a separate byte after the request.", ["F-19"];
    FallsBackAfterAnyError = "falls-back-after-any-error",
        "The client falls back to the older command after an error other than `UNKNOWN_COMMAND`.",
        "Fall back only after UNKNOWN_COMMAND (0x80131385); report any other error.", ["R-ERR-009"];
    NoReplyTakenForOk = "no-reply-taken-for-ok",
        "The connection ends before a reply, and the client reports success.",
        "End with an error if the connection closes before 20 bytes of a reply were received.", ["R-ERR-003"];
    ReplyCutUnnoticed = "reply-cut-unnoticed",
        "A reply, or the block that belongs to it, is truncated, and the client reports success.",
        "Check what each read returned: end with an error if the connection closes before `size` bytes, or the whole block, \
         were received.",
        ["R-ERR-003"];
    ReplyTooShortAccepted = "reply-too-short-accepted",
        "A reply that is too short for its command is accepted as success.",
        "Check that the payload contains a field before reading it.", ["R-ERR-003"];
    ErrorTakenForOk = "error-taken-for-ok",
        "The runtime refuses, and the client reports success.",
        "Check the reply's command id: 0xFF is an error, and its payload is the HRESULT.", ["R-ERR-001"];
    ErrorCode0TakenForOk = "error-code-0-taken-for-ok",
        "An error with code 0 is treated as success; the header decides.",
        "Decide only by the reply's command id: 0xFF is an error, whatever its code.", ["R-ERR-005"];
    FailingHresultIgnored = "failing-hresult-ignored",
        "An OK with a failing HRESULT is treated as success.",
        "Check the HRESULT of an OK too: if its highest bit is set, it is a failure.", ["F-41"];
    HresultNotTold = "hresult-not-told",
        "The runtime refuses, and the client's output does not contain the HRESULT.",
        "Print the HRESULT with the error, as 0x and 8 digits.", ["R-ERR-007"];
    ErrorTextNotTold = "error-text-not-told",
        "The runtime gives a reason for refusing, and the client's output does not contain it.",
        "Print the text of the error: it follows the HRESULT of GenerateCoreDump3.", ["F-50"];
    OkTakenForError = "ok-taken-for-error",
        "The runtime answers OK as runtimes do, and the client reports failure.",
        "Treat a reply with command set 0xFF and id 0x00 as success, and end with exit status 0.", ["R-FLW-011"];
    ReplyOf20Refused = "reply-of-20-refused",
        "An OK of 20 bytes is refused.",
        "Accept an OK without a payload too, if the command has nothing to return: the document allows it.", ["F-2"];
    ReplySurplusRefused = "reply-surplus-refused",
        "An OK that is longer than its fields is refused.",
        "Read as many bytes as the size field says, and ignore those after the last field you know.", ["F-2"];
    ReplyReservedInsistedOn = "reply-reserved-insisted-on",
        "A reply whose reserved field is not 0 is refused.",
        "Ignore bytes 18 and 19 of a reply.", ["R-HDR-014"];
    ReplyInPiecesMisread = "reply-in-pieces-misread",
        "One read is treated as a whole reply: a reply that arrives in pieces is misread.",
        "Read in a loop until all bytes of the header, and then of the payload, have arrived.", ["R-HDR-002"];
    ReadsUntilClose = "reads-until-close",
        "A reply, or the environment, is read until the connection closes instead of by its size.",
        "Read as many bytes as the size field, or nIncomingBytes, says: the connection may stay open.", ["F-5", "F-43"];
    EnvironmentLost = "environment-lost",
        "The client's output is not the received environment.",
        "Output all entries of the block unchanged; of two with one name, at least one.", ["F-43"];
    ProcessInfoLost = "process-info-lost",
        "A text of the reply is missing from the client's output.",
        "Output each string of the reply that is not empty.", ["F-34"];
    StringOfLength0Misread = "string-of-length-0-misread",
        "A string of length 0 has no NUL; the client skips one, and reads the next field from the wrong byte.",
        "Read no NUL after a length of 0: the next field follows immediately.", ["F-11"];
    StringWithoutNulCut = "string-without-nul-cut",
        "The last character of a string that does not end with a NUL is lost.",
        "Remove the last unit of a string only if it is a NUL.", ["F-11"];
    StreamNotAsSent = "stream-not-as-sent",
        "The client's output is not the received stream.",
        "Write the bytes after the reply unchanged until the connection ends.", ["F-76"];
    StopWithoutReading = "stop-without-reading",
        "The stream is not read while the stop waits for its reply: both sides wait for each other.",
        "Read the stream in a separate thread, or poll both connections, until the stream ends.", ["F-75"];
    StopOnTheStream = "stop-on-the-stream",
        "`StopTracing` is sent on the connection of the stream, where no server reads it.",
        "Open a new connection for StopTracing, and continue reading the stream.", ["F-76"];
    SessionNeverStopped = "session-never-stopped",
        "No `StopTracing` is sent for the session.",
        "Send StopTracing with the session's id on a new connection when the duration is over.", ["R-EVP-018"];
    AnotherSessionStopped = "another-session-stopped",
        "`StopTracing` has a different session id than the reply.",
        "Send all 8 bytes of the id in the reply, unchanged.", ["F-31"];
    AdvertiseMagicUnchecked = "advertise-magic-unchecked",
        "Anything that connects to the port is treated as a runtime, whatever its magic.",
        "Compare the 8 bytes ADVR_V1 and a NUL; close a connection that begins differently.", ["R-ADV-003"];
    AdvertiseCutUnnoticed = "advertise-cut-unnoticed",
        "A truncated advertise is accepted as that of a runtime.",
        "Read all 34 bytes of the advertise before using the connection.", ["R-ADV-002"];
    AnotherProcessReached = "another-process-reached",
        "The client connects to the socket of another process.",
        "Compare the process id and the start time (field 22 of /proc/PID/stat) in the socket's name, and the peer's process \
         id (SO_PEERCRED).",
        ["R-TRN-008"];
    ProcessNotFound = "process-not-found",
        "The client does not find the socket of its process among others.",
        "Check each matching name; try the next one if a file is not a socket or has no listener.", ["R-TRN-012"];
    NeverConnects = "never-connects",
        "The client is given a task, and does not connect.",
        "Connect to the socket of the process in its TMPDIR; the report has the command line and the client's output.",
        ["R-FLW-011"];
    NothingSent = "nothing-sent",
        "The client connects, and sends no request.",
        "Send the request right after connecting: the runtime sends nothing first.", ["R-FLW-011"];
    DiesBySignal = "dies-by-signal",
        "A signal ends the client.",
        "Look for the crash in the code that reads the reply: the report has the last bytes that were sent to it.", ["R-ERR-003"];
    RunsOn = "runs-on",
        "The conversation is over, and the client does not end.",
        "End the process when the work is done, including its threads and timers.", ["R-ERR-004"];
}
