//! The known faults of clients, by name.

use crate::conformance::fault::named_faults;

named_faults! {
    /// A known fault of clients.
    ///
    /// ```
    /// use dotnet_diagnostics_ipc::conformance::client::ClientFault;
    ///
    /// let fault = ClientFault::StringLengthInBytes;
    /// assert_eq!(fault.name(), "string-length-in-bytes");
    /// assert!(fault.mend().contains("UTF-16 units") && fault.spec().contains(&"F-8"));
    /// ```
    enum ClientFault;

    EmptyStringAsTwoBytes = "empty-string-as-two-bytes",
        "An empty string is written as a NUL of two bytes without its length.",
        "Write the length 1 in 4 bytes, and then the NUL of 2 bytes; an absent string is the length 0 alone.", ["F-11"];
    StringLengthInBytes = "string-length-in-bytes",
        "The length of a string counts bytes, not UTF-16 units.",
        "Count UTF-16 units and the NUL: `café` has length 5, not 6 or 10.", ["F-8"];
    StringLengthInChars = "string-length-in-chars",
        "The length of a string counts characters, not UTF-16 units.",
        "Count UTF-16 units and the NUL: a character beyond U+FFFF counts as 2.", ["F-8"];
    StringLengthWithoutNul = "string-length-without-nul",
        "A string is written without its NUL, or its length does not count it.",
        "Write a NUL of 2 bytes after the text, and count it: `ab` has length 3 and 6 bytes.", ["F-11"];
    NonBmpTruncated = "non-bmp-truncated",
        "A character beyond U+FFFF is cut to one UTF-16 unit.",
        "Encode the text as UTF-16: a character beyond U+FFFF becomes a pair of surrogates.", ["R-GRM-008"];
    WcharOf4Bytes = "wchar-of-4-bytes",
        "A string is written in units of four bytes: zeroes stand between its units.",
        "Convert the text to UTF-16: do not copy a `wchar_t` of 4 bytes.", ["R-GRM-008"];
    SizeTruncated = "size-truncated",
        "The size of a message beyond 65,535 bytes is cut to its lower 16 bits.",
        "Check the length before the size field is written, and refuse what is larger than 65,535 bytes with the header.", ["F-40"];
    SizeClamped = "size-clamped",
        "The size of a message beyond 65,535 bytes is written as 65,535.",
        "Check the length before the size field is written, and refuse what is larger than 65,535 bytes with the header.", ["F-40"];
    CommandSetOffByOne = "command-set-off-by-one",
        "The command set stands one byte off, or is one off.",
        "Write the command set in byte 16, the id in byte 17, and zeroes in bytes 18 and 19.", ["F-85"];
    AttachTimeoutInSeconds = "attach-timeout-in-seconds",
        "The time-out of an attach is written in seconds, and is in milliseconds.",
        "Write `attachTimeout` in milliseconds: 5 seconds are 5000.", ["F-55"];
    DescriptorWithTheRequest = "descriptor-with-the-request",
        "The descriptor rides on the request's bytes, where it is lost.",
        "Send the whole request first, then one byte of its own with the descriptor (SCM_RIGHTS).", ["F-20"];
    DescriptorAfterTheReply = "descriptor-after-the-reply",
        "The client waits for the reply before it hands over the descriptor.",
        "Send the byte with the descriptor right after the request, and read the reply then.", ["F-19"];
    ConnectionReused = "connection-reused",
        "A second request is sent on a connection.",
        "Open a new connection for each request: the server reads one and closes.", ["F-70"];
    ReplyMagicUnchecked = "reply-magic-unchecked",
        "A reply is taken for one whatever its magic.",
        "Compare all 14 bytes of the reply's magic, and end with an error where one differs.", ["F-71"];
    ReplyCommandSetUnchecked = "reply-command-set-unchecked",
        "A reply is taken for an OK whatever its command set.",
        "Take a reply only if its command set is 0xFF; id 0x00 is OK, 0xFF an error, and anything else is neither.", ["R-HDR-002"];
    ReplySizeIgnored = "reply-size-ignored",
        "So many bytes of a reply are read as the client expects, whatever its size field says.",
        "Read the 20 bytes of the header, then `size` - 20 bytes, and only then what follows the reply.", ["F-1", "F-2"];
    ReplyOf24InsistedOn = "reply-of-24-insisted-on",
        "An OK of another size than 24 bytes is refused.",
        "Take an OK of 20, 24 or 28 bytes: read what its size says, and use the fields that are there.", ["F-1", "F-2", "F-41"];
    EnvironmentCountIgnored = "environment-count-ignored",
        "The environment block's count of entries is not looked at.",
        "Read as many entries as the block's count says, and refuse a block whose bytes do not fit it.", ["F-43", "F-88"];
    EnvironmentEntryWithoutEquals = "environment-entry-without-equals",
        "An entry of the environment without `=` is lost, or ends the client.",
        "Keep an entry without `=` as it came; do not split it without looking.", ["F-79"];
    NoReadTimeout = "no-read-timeout",
        "The client waits for ever for a target that does not answer.",
        "Set a time-out for each read of a reply, and end with an error when it is over.", ["F-75", "R-ERR-004"];
    StringInUtf8 = "string-in-utf-8",
        "A string is written in UTF-8, not in UTF-16.",
        "Encode the text as UTF-16, little-endian, and count its units.", ["R-GRM-008"];
    BytesAsUnits = "bytes-as-units",
        "Each byte of a text in UTF-8 is written as a UTF-16 unit of its own.",
        "Decode the text as UTF-8 first, then encode it as UTF-16; do not widen bytes.", ["R-GRM-008"];
    UnitsSignExtended = "units-sign-extended",
        "Each byte of a text in UTF-8 is widened to a UTF-16 unit with its sign: `é` becomes ffc3 ffa9.",
        "Decode the text as UTF-8 first, then encode it as UTF-16; do not widen a signed `char`.", ["R-GRM-008"];
    SizeOf4ByteUnits = "size-of-4-byte-units",
        "The message's size counts four bytes for each character: zeroes follow the last field.",
        "Compute the size from the bytes that are written: 2 for each UTF-16 unit, not `sizeof(wchar_t)`.", ["R-HDR-002"];
    RequestMagicWrong = "request-magic-wrong",
        "The magic of the request is not `DOTNET_IPC_V1` and a NUL.",
        "Write all 14 bytes: 44 4f 54 4e 45 54 5f 49 50 43 5f 56 31 00.", ["R-HDR-010"];
    RequestSizeWrong = "request-size-wrong",
        "The size field of the request is not its size.",
        "Write the header last: its size is 20 and the bytes of the payload.", ["R-HDR-009"];
    RequestReservedNotZero = "request-reserved-not-zero",
        "The reserved field of the request is not 0.",
        "Write 0x0000 in bytes 18 and 19.", ["R-HDR-013"];
    BytesBehindTheRequest = "bytes-behind-the-request",
        "More bytes are sent after the request, which no server reads.",
        "Send what the size field counts and no byte more.", ["F-70"];
    AnotherCommandSent = "another-command-sent",
        "The command of the request does not do what was asked for.",
        "Look up the command's set and id again: the document lists them, and `diagipc decode` shows what is sent.", ["R-HDR-012"];
    RequestMalformed = "request-malformed",
        "The payload of the request cannot be decoded.",
        "Compare the payload with the fields of the command, in their order and without padding; `diagipc decode` shows where \
         it ends.",
        ["R-HDR-002"];
    RequestNotCanonical = "request-not-canonical",
        "The request has a bool other than 0 and 1, or bytes after its last field.",
        "Write a bool as one byte, 0 or 1, and end the payload with the last field.", ["F-4", "F-16"];
    NumbersBigEndian = "numbers-big-endian",
        "Numbers are written with their highest byte first.",
        "Write all numbers little-endian, also the size and the lengths of strings.", ["R-GRM-002"];
    GuidBigEndian = "guid-big-endian",
        "A GUID is written in the order of its text: its first three fields are little-endian numbers.",
        "Write the GUID's first three fields (4, 2 and 2 bytes) little-endian, and its last 8 bytes as they are printed.",
        ["R-GRM-021"];
    OutsideTheLimits = "outside-the-limits",
        "The request has a value that every server refuses.",
        "Check the value before it is sent: the fact says what servers refuse.", ["F-16"];
    ValueNotAsked = "value-not-asked",
        "A value of the request is not the one that the client was told.",
        "Send the value that was asked for, in the field that the example names.", ["R-FLW-011"];
    UnsetByEmptyValue = "unset-by-empty-value",
        "A variable is to be deleted, and is set to an empty value.",
        "Write the value as an absent string: the length 0 in 4 bytes and nothing more.", ["F-44"];
    BeyondTheLargestMessage = "beyond-the-largest-message",
        "What no message can hold is sent all the same.",
        "Refuse a message of more than 65,535 bytes with its header, with an error and before anything is sent.", ["R-HDR-011"];
    LargestMessageRefused = "largest-message-refused",
        "A message of at most 65,535 bytes is not sent.",
        "Allow messages of up to 65,535 bytes with their header, which is what the size field can say.", ["F-40"];
    DescriptorMissing = "descriptor-missing",
        "No descriptor is handed over after the request for `user_events`.",
        "Open `user_events_data`, and send its descriptor (SCM_RIGHTS) on a byte of its own after the request.", ["F-19"];
    FallsBackAfterAnyError = "falls-back-after-any-error",
        "The older command is asked after another error than `UNKNOWN_COMMAND`.",
        "Ask with the older command after UNKNOWN_COMMAND (0x80131385) alone; report any other error.", ["R-ERR-009"];
    NoReplyTakenForOk = "no-reply-taken-for-ok",
        "The connection ends before a reply, and that is taken for success.",
        "End with an error where the connection closes before 20 bytes of a reply came.", ["R-ERR-003"];
    ReplyCutUnnoticed = "reply-cut-unnoticed",
        "A reply, or the block that belongs to it, is cut, and that is taken for success.",
        "Check what each read returned: end with an error where the connection closes before `size` bytes, or the whole block, \
         came.",
        ["R-ERR-003"];
    ReplyTooShortAccepted = "reply-too-short-accepted",
        "A reply that is shorter than its command's is taken for success.",
        "Check that the payload has the fields that you read before you read them.", ["R-ERR-003"];
    ErrorTakenForOk = "error-taken-for-ok",
        "The runtime refuses, and that is taken for success.",
        "Look at the reply's command id: 0xFF is an error, and its payload is the HRESULT.", ["R-ERR-001"];
    ErrorCode0TakenForOk = "error-code-0-taken-for-ok",
        "An error whose code is 0 is taken for success: the header decides.",
        "Decide by the reply's command id alone: 0xFF is an error, whatever its code.", ["R-ERR-005"];
    FailingHresultIgnored = "failing-hresult-ignored",
        "An OK whose HRESULT says that it failed is taken for success.",
        "Read the HRESULT of an OK as well: one whose highest bit is set is a failure.", ["F-41"];
    HresultNotTold = "hresult-not-told",
        "The runtime refuses, and what the client prints does not have the HRESULT.",
        "Print the HRESULT with the error, as 0x and 8 digits.", ["R-ERR-007"];
    ErrorTextNotTold = "error-text-not-told",
        "The runtime says why it refuses, and what the client prints does not have that text.",
        "Print the text of the error: it follows the HRESULT of GenerateCoreDump3.", ["F-50"];
    OkTakenForError = "ok-taken-for-error",
        "The runtime answers OK as runtimes do, and the client ends as if it had refused.",
        "Take a reply with command set 0xFF and id 0x00 for success, and end with exit status 0.", ["R-FLW-011"];
    ReplyOf20Refused = "reply-of-20-refused",
        "An OK of 20 bytes is refused.",
        "Take an OK without a payload too, where the command has nothing to answer: the document allows it.", ["F-2"];
    ReplySurplusRefused = "reply-surplus-refused",
        "An OK that is longer than its fields is refused.",
        "Read as many bytes as the size field says, and ignore those after the last field that you know.", ["F-2"];
    ReplyReservedInsistedOn = "reply-reserved-insisted-on",
        "A reply whose reserved field is not 0 is refused.",
        "Ignore bytes 18 and 19 of a reply.", ["R-HDR-014"];
    ReplyInPiecesMisread = "reply-in-pieces-misread",
        "One read is taken for a whole reply: a reply that arrives in pieces is not understood.",
        "Read in a loop until all bytes of the header, and then of the payload, have come.", ["R-HDR-002"];
    ReadsUntilClose = "reads-until-close",
        "A reply, or the environment, is read until the connection closes, and not by its size.",
        "Stop reading after the bytes that the size field, or nIncomingBytes, says: the connection may stay open.", ["F-5", "F-43"];
    EnvironmentLost = "environment-lost",
        "What the client gives out is not the environment that came.",
        "Give out all entries of the block, as they came; of two with one name at least one.", ["F-43"];
    ProcessInfoLost = "process-info-lost",
        "A text of the reply is not in what the client gives out.",
        "Give out each string of the reply that has a text.", ["F-34"];
    StringOfLength0Misread = "string-of-length-0-misread",
        "A string of length 0 has no NUL: what follows is read from the wrong byte.",
        "Read no NUL after a length of 0: the next field follows at once.", ["F-11"];
    StringWithoutNulCut = "string-without-nul-cut",
        "Of a string that does not end with a NUL the last character is lost.",
        "Remove the last unit of a string only if it is a NUL.", ["F-11"];
    StreamNotAsSent = "stream-not-as-sent",
        "What the client gives out is not the stream that came.",
        "Write the bytes after the reply as they come, without a change, until the connection ends.", ["F-76"];
    StopWithoutReading = "stop-without-reading",
        "The stream is not read while the stop waits for its reply: both sides wait for each other.",
        "Read the stream in a thread of its own, or poll both connections, until the stream ends.", ["F-75"];
    StopOnTheStream = "stop-on-the-stream",
        "`StopTracing` is sent on the connection of the stream, where no server reads it.",
        "Open a new connection for StopTracing, and go on reading the stream.", ["F-76"];
    SessionNeverStopped = "session-never-stopped",
        "No `StopTracing` comes for the session.",
        "Send StopTracing with the session's id on a new connection when the time is over.", ["R-EVP-018"];
    AnotherSessionStopped = "another-session-stopped",
        "`StopTracing` names another session than the reply did.",
        "Send the 8 bytes of the id that the reply had, without a cut or a change.", ["F-31"];
    AdvertiseMagicUnchecked = "advertise-magic-unchecked",
        "What connects to the port is taken for a runtime whatever its magic.",
        "Compare the 8 bytes ADVR_V1 and a NUL, and close a connection that begins in another way.", ["R-ADV-003"];
    AdvertiseCutUnnoticed = "advertise-cut-unnoticed",
        "An advertise that is cut is taken for a runtime.",
        "Read all 34 bytes of the advertise before you use the connection.", ["R-ADV-002"];
    AnotherProcessReached = "another-process-reached",
        "The client connects to the socket of another process.",
        "Compare the process id and the start time (field 22 of /proc/PID/stat) in the socket's name, and the peer's process \
         id (SO_PEERCRED).",
        ["R-TRN-008"];
    ProcessNotFound = "process-not-found",
        "The client does not find the socket of its process beside others.",
        "Look at each name that fits, and try the next one where a file is no socket or nobody listens.", ["R-TRN-012"];
    NeverConnects = "never-connects",
        "The client is told to ask something, and does not connect.",
        "Connect to the socket of the process in its TMPDIR; the report has the command line and what the client printed.",
        ["R-FLW-011"];
    NothingSent = "nothing-sent",
        "The client connects, and sends no request.",
        "Send the request right after the connection is made: the runtime says nothing first.", ["R-FLW-011"];
    DiesBySignal = "dies-by-signal",
        "A signal ends the client.",
        "Look for the crash in the code that reads the reply: the report has the last bytes that were sent to it.", ["R-ERR-003"];
    RunsOn = "runs-on",
        "All is over, and the client does not end.",
        "End the process when the work is done, also its threads and timers.", ["R-ERR-004"];
}
