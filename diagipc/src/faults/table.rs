//! The table of faults.

use serde::Deserialize;

use super::SuiteName;

faults! {
    DoesNotSpeakTheProtocol = "does-not-speak-the-protocol", [Server], ["R-FLW-004", "R-HDR-006"],
        "The received bytes are not a message of this protocol.",
        "Answer with the 20-byte header: DOTNET_IPC_V1 and a NUL, size, command set 0xFF, id, \
         reserved. Check the address: it may belong to another program.";
    MagicWrong = "magic-wrong", [Server, Client, Codec, Fuzz], ["R-HDR-006", "R-HDR-010"],
        "The magic is not the 13 characters DOTNET_IPC_V1 and a NUL.",
        "Write all 14 bytes: 44 4f 54 4e 45 54 5f 49 50 43 5f 56 31 00.";
    NumbersBigEndian = "numbers-big-endian", [Server, Client, Codec, Fuzz],
        ["R-HDR-008", "R-GRM-002", "R-GRM-003", "R-GRM-004"],
        "Numbers are written with the high byte first.",
        "Write all numbers little-endian, including the size, string lengths and UTF-16 units.";
    SizeWrong = "size-wrong", [Server, Client, Codec, Fuzz], ["R-HDR-009", "R-ENV-005"],
        "The size field is not the length of header and payload.",
        "Write the header last: its size is 20 plus the length of the payload, without a \
         continuation or a stream.";
    ReplyCommandWrong = "reply-command-wrong", [Server, Fuzz],
        ["R-CMD-009", "R-CMD-010", "R-CMD-011"],
        "The command of a reply is neither 0xFF00 (OK) nor 0xFFFF (Error).",
        "Write command set 0xFF and id 0x00 or 0xFF. Do not repeat the command of the request.";
    ReservedNotZero = "reserved-not-zero", [Server, Client, Codec, Fuzz], ["R-HDR-013"],
        "The field `reserved` is not 0.",
        "Write 0x0000 in bytes 18 and 19.";
    ReplyCut = "reply-cut", [Server, Fuzz], ["R-HDR-009", "R-FLW-004"],
        "A reply is truncated.",
        "Write all bytes of the reply before closing the connection; a write may accept fewer \
         bytes than it is given.";
    PayloadMalformed = "payload-malformed", [Server, Client, Fuzz],
        ["R-GRM-001", "R-HDR-018", "R-HDR-002"],
        "The payload does not have the fields of its command.",
        "Compare the payload with the fields of the command, in order and without padding; \
         `diagipc decode` shows where they end.";
    OkOf28Bytes = "ok-of-28-bytes", [Server, Fuzz], ["F-1", "R-GRM-018"],
        "An OK with an HRESULT has 28 bytes, as the document prints it; the correct size is 24.",
        "Write the HRESULT in 4 bytes, not in 8.";
    ErrorOf28Bytes = "error-of-28-bytes", [Server, Fuzz], ["F-1", "R-ERR-006"],
        "An error has 28 bytes, as the document's table prints it; the correct size is 24.",
        "Write the code in 4 bytes, not in 8.";
    SurplusBytesInReply = "surplus-bytes-in-reply", [Server, Fuzz], ["R-GRM-001"],
        "The payload of a reply has bytes after its last field.",
        "End the payload with its last field: no padding, no extra NUL.";
    BytesAfterTheMessage = "bytes-after-the-message", [Server, Client, Fuzz], ["R-FLW-006", "F-70"],
        "Bytes follow a message that has no continuation.",
        "Write exactly as many bytes as the size field says.";
    SecondReply = "second-reply", [Server, Fuzz], ["R-FLW-006", "F-70"],
        "A second message follows a reply on the same connection.",
        "Answer each request once, and close the connection.";
    ContinuationBeforeReply = "continuation-before-reply", [Server], ["R-FLW-005", "R-EVP-014"],
        "The continuation, or the stream, is sent before the reply.",
        "Write the reply first, then its continuation.";
    StringWithoutNul = "string-without-nul", [Server, Client, Codec, Fuzz],
        ["R-GRM-008", "R-ENV-007"],
        "A string is written without its NUL.",
        "End every string that is not absent with a NUL unit, and count it in the length.";
    StringWithByteOrderMark = "string-with-byte-order-mark", [Server, Client, Codec, Fuzz],
        ["R-GRM-008"],
        "A string begins with U+FEFF.",
        "Encode text as UTF-16LE without a byte-order mark.";
    FieldTooNarrow = "field-too-narrow", [Server, Client, Codec, Fuzz],
        ["R-GRM-003", "R-PRC-004", "R-EVP-013"],
        "A number is written in fewer bytes than its field has; the size field counts the written \
         bytes.",
        "Write each number in the width of its field: 8 bytes for process and session ids, 4 for \
         the length of a string.";
    FieldTooWide = "field-too-wide", [Server, Client, Codec, Fuzz],
        ["R-HDR-009", "R-GRM-003", "R-GRM-009"],
        "A number is written in more bytes than its field has.",
        "Write each number in the width of its field: 2 bytes for the size, 4 for the length of a \
         string.";
    FieldsPadded = "fields-padded", [Server, Client, Codec, Fuzz], ["R-GRM-001", "R-GRM-010"],
        "Padding is written before a field, or after the last one.",
        "Write each field right after the one before, instead of copying a struct from memory: \
         strings and numbers may begin at any offset.";
    VersionMissing = "version-missing", [Server, Fuzz], ["R-PRC-035", "R-PRC-036"],
        "The reply to ProcessInfo3 has no version before its fields.",
        "Write a uint 1 before the process id.";
    OsAndArchitectureSwapped = "os-and-architecture-swapped", [Server, Fuzz],
        ["R-PRC-009", "R-PRC-010"],
        "The field OS names an architecture, and arch names an operating system.",
        "Write the operating system (`Linux`, `Windows`, `macOS`) first, then the architecture \
         (`x64`, `arm64`).";
    StringLengthWithoutNul = "string-length-without-nul", [Server, Client, Codec, Fuzz],
        ["R-GRM-009", "R-ENV-007", "F-11"],
        "The length of a string does not count its NUL.",
        "Write a NUL unit after the text, and count it: `ab` has length 3 and 6 bytes.";
    StringLengthInBytes = "string-length-in-bytes", [Server, Client, Codec, Fuzz],
        ["R-GRM-009", "R-ENV-007", "F-8"],
        "The length of a string counts bytes, not UTF-16 units.",
        "Count UTF-16 units and the NUL: `café` has length 5, not 6 or 10.";
    StringInUtf8 = "string-in-utf-8", [Server, Client, Codec, Fuzz],
        ["R-GRM-004", "R-GRM-008", "R-ENV-006"],
        "A string is written in UTF-8, one byte per unit.",
        "Write UTF-16LE, two bytes per unit, and count units.";
    WcharOf4Bytes = "wchar-of-4-bytes", [Server, Client, Codec, Fuzz], ["R-GRM-004", "R-GRM-008"],
        "A string is written in units of four bytes.",
        "Write UTF-16 units of two bytes; convert a four-byte `wchar_t` first.";
    EnvironmentCountWrong = "environment-count-wrong", [Server, Fuzz], ["R-ENV-006", "R-GRM-006"],
        "The environment's count is not the number of its entries.",
        "Write the number of entries before the first.";
    EnvironmentBytesWrong = "environment-bytes-wrong", [Server, Fuzz], ["R-ENV-003", "R-ENV-010"],
        "nIncomingBytes is not the length of the environment that follows.",
        "Count 4 bytes for the entry count and, for each entry, 4 bytes plus 2 per unit, \
         including the NUL.";
    EnvironmentMalformed = "environment-malformed", [Server, Fuzz], ["R-ENV-006", "R-ENV-007"],
        "The bytes after the reply to ProcessEnvironment are not an array of strings.",
        "Write a uint count and then, for each entry, its number of units and the units, \
         including the NUL.";
    EnvironmentWithoutEquals = "environment-without-equals", [Server, Fuzz], ["R-ENV-006", "F-79"],
        "Most entries of the environment have no `=`.",
        "Write each variable as one entry, NAME=VALUE.";
    VariableChanged = "variable-changed", [Server], ["R-ENV-012", "R-ENV-016"],
        "A variable that was set has a different value in the environment.",
        "Read the value as UTF-16, keep all of its characters, and write them as UTF-16 again.";
    VariableNotSet = "variable-not-set", [Server], ["R-ENV-012", "R-ENV-016"],
        "Setting a variable succeeded, but the variable is not in the environment.",
        "Set the variable under exactly the requested name before answering OK; the next \
         ProcessEnvironment must have it.";
    VariableNotDeleted = "variable-not-deleted", [Server], ["R-ENV-014", "R-ENV-016", "F-44"],
        "Deleting a variable succeeded, but the variable is still in the environment.",
        "Treat a value of length 0 as a deletion: leave no entry of that name, not even an empty \
         one.";
    EnvironmentWrong = "environment-wrong", [Server], ["R-ENV-006", "R-ENV-009", "F-79"],
        "The environment differs from the one that the process was started with.",
        "Write each variable in full as NAME=VALUE: a value may be empty, may contain equals \
         signs, and may have any length.";
    ErrorCodeIsSuccess = "error-code-is-success", [Server, Fuzz], ["R-ERR-006", "R-ERR-007"],
        "The code of an error message is a success HRESULT: its top bit is clear.",
        "Write a failing HRESULT, such as 0x80131384. The codes 0 to 4 belong to the 2019 draft.";
    ErrorAsOk = "error-as-ok", [Server, Fuzz], ["R-CMD-011", "R-ERR-005"],
        "A refusal is sent as an OK whose payload is the error code.",
        "Write command id 0xFF in the header of an error: clients look at this id alone.";
    WrongErrorCode = "wrong-error-code", [Server], ["R-ERR-012", "R-ERR-013", "R-ERR-014"],
        "A request is refused with the wrong error code.",
        "Answer 0x80131384 to a badly encoded request, 0x80131385 to an unknown command, \
         0x80131386 to an unknown magic.";
    NoAnswer = "no-answer", [Server, Fuzz], ["R-FLW-004", "R-ERR-001"],
        "A valid request gets no answer in time.",
        "Answer every message. If it cannot be served, answer with an error.";
    NoAnswerToUnknownCommand = "no-answer-to-unknown-command", [Server], ["R-ERR-009", "R-ERR-002"],
        "An unknown command gets no answer.",
        "Read the payload, answer Error 0x80131385, and close.";
    NoAnswerToMalformedRequest = "no-answer-to-malformed-request", [Server],
        ["R-ERR-008", "R-ERR-010", "R-ERR-002"],
        "A badly encoded request gets no answer.",
        "Answer Error 0x80131384, or 0x80131386 to an unknown magic, and close.";
    ClosesBeforeReply = "closes-before-reply", [Server, Fuzz], ["R-FLW-004", "R-ERR-001"],
        "The connection ends before a reply.",
        "Write the reply, even if it is an error, before closing the connection.";
    Crash = "crash", [Server, Client, Fuzz], ["R-ERR-011", "R-ERR-003"],
        "The process ends because of the bytes that it received.",
        "Check each length, count and offset before using it, and refuse what does not fit: no \
         bytes may end the process. The report has the last bytes that were sent to it.";
    MagicUnchecked = "magic-unchecked", [Server, Client, Fuzz],
        ["R-ERR-010", "R-HDR-010", "F-69", "F-71"],
        "A message is accepted whatever its magic.",
        "Compare all 14 bytes, including the NUL. A server reads the payload first and answers \
         Error 0x80131386; a client ends with an error.";
    SizeUnchecked = "size-unchecked", [Server, Fuzz], ["R-HDR-015", "F-69"],
        "A request whose size is below 20 is served.",
        "Check the size before anything else; answer Error 0x80131384.";
    TruncatedRequestAccepted = "truncated-request-accepted", [Server], ["R-HDR-009", "F-69"],
        "An incomplete request is served.",
        "Wait for `size` bytes; if the input ends earlier, answer Error 0x80131384.";
    TruncatedPayloadTaken = "truncated-payload-taken", [Server], ["R-ERR-008", "F-7"],
        "A request whose payload ends inside a field is served.",
        "Before reading a field, check that the payload has enough bytes left; answer Error \
         0x80131384.";
    CountUnchecked = "count-unchecked", [Server], ["R-GRM-007", "F-8", "F-9"],
        "A request with a count larger than its payload is served.",
        "Compare the count with the remaining bytes, in 64 bits, before allocating anything; \
         answer Error 0x80131384.";
    TerminatorUnchecked = "terminator-unchecked", [Server], ["R-GRM-008"],
        "A request with a string that does not end with a NUL is served.",
        "Check the last unit of each string; answer Error 0x80131384.";
    LimitsUnchecked = "limits-unchecked", [Server], ["R-ERR-008", "F-16"],
        "A request with a value out of range is served.",
        "Check that each field of the command is in range; if one is not, answer the required \
         error.";
    UnknownCommandTaken = "unknown-command-taken", [Server], ["R-ERR-009", "R-CMD-002"],
        "A command that does not exist is answered with OK.",
        "Check both bytes of the command; answer Error 0x80131385 if it is unknown.";
    ValidRequestRefused = "valid-request-refused", [Server, Fuzz],
        ["R-GRM-005", "R-GRM-010", "F-4", "F-13"],
        "A valid request is refused as badly encoded, or with another error that does not apply.",
        "Read the request by the grammar: any bool but 0 is true, bytes after the last field are \
         ignored, strings may be absent and may begin at odd offsets.";
    KnownCommandRefusedAsUnknown = "known-command-refused-as-unknown", [Server],
        ["R-ERR-009", "R-ERR-013"],
        "A command that the server serves is refused as unknown.",
        "Answer 0x80131385 only to commands that are never served; if a session cannot be started \
         now, answer with another error, such as E_FAIL.";
    RequestInPiecesMisread = "request-in-pieces-misread", [Server], ["R-HDR-002", "F-69"],
        "One read is treated as a whole request: a request that arrives in pieces is misread.",
        "Read in a loop until all 20 bytes of the header, and then `size` - 20 more, have arrived.";
    PortNotConnected = "port-not-connected", [Server], ["R-FLW-013", "R-PRT-007", "F-77"],
        "The server does not connect to its diagnostic port, or does not reconnect after a \
         command.",
        "Connect to each port, write the advertise, serve one command, and connect again with the \
         same advertise; try again while nothing listens.";
    SuspendModeMisread = "suspend-mode-misread", [Server],
        ["R-PRT-009", "R-PRT-013", "R-PRT-015", "R-PRT-022", "R-PRT-024", "F-59"],
        "Whether the process suspends at startup contradicts DOTNET_DiagnosticPorts.",
        "Split the value at `;`, and each port at `,` into an address and tags. Skip empty parts. \
         The first `suspend` or `nosuspend` tag counts; a port without either suspends.";
    ConnectionLeftOpen = "connection-left-open", [Server, Fuzz], ["R-FLW-006", "R-ERR-002"],
        "The connection stays open after its final reply.",
        "Close the connection after writing the reply and its continuation, and after an error.";
    ConnectionReset = "connection-reset", [Server, Fuzz], ["R-FLW-006"],
        "The connection is reset instead of closed.",
        "Read the whole request before closing the connection.";
    SessionIdZero = "session-id-zero", [Server, Fuzz], ["R-EVP-013"],
        "The id of a session is 0.",
        "Give every session an id other than 0.";
    SessionIdTwice = "session-id-twice", [Server], ["R-EVP-013"],
        "Two running sessions have the same id.",
        "Give every session an id that no other running session has.";
    StopEchoesAnother = "stop-echoes-another-session", [Server, Fuzz], ["F-31"],
        "The reply to StopTracing has a different session id than the request.",
        "Answer with the requested id, even if no session has it.";
    StopEndsAnother = "stop-ends-another-session", [Server], ["R-EVP-062"],
        "A StopTracing ends a session other than the requested one.",
        "End only the session with the requested id.";
    StreamDoesNotEnd = "stream-does-not-end", [Server, Fuzz], ["R-FLW-006", "F-76"],
        "The stream of a stopped session does not end.",
        "On StopTracing, write the rest of the stream and close its connection.";
    SessionsLeaked = "sessions-leaked", [Server], ["F-32", "R-EVP-017"],
        "A session is refused after others were stopped: their slots are not freed.",
        "Free the slot of a session before answering its StopTracing, and when its connection \
         ends.";
    SessionsWithoutStop = "sessions-without-stop", [Server], ["R-EVP-018"],
        "Sessions can be started, and StopTracing is refused as unknown.",
        "Serve StopTracing (0x0201): end the session with this id, and answer with the id.";
    StreamFormatWrong = "stream-format-wrong", [Server, Fuzz],
        ["R-EVP-004", "R-EVP-015", "R-FLW-008"],
        "The stream of a session does not have the requested format: nettrace instead of netperf, \
         or netperf instead of nettrace.",
        "Stream the requested format: 0 netperf, 1 nettrace. Refuse a format that the server does \
         not have.";
    StreamNotNettrace = "stream-not-nettrace", [Server, Fuzz], ["R-EVP-015", "R-FLW-008"],
        "The stream of a session is neither nettrace nor netperf.",
        "Begin a nettrace stream with `Nettrace`, then 14 00 00 00 !FastSerialization.1 or, from \
         version 6 on, a uint 0 and the versions; netperf begins with 14 00 00 00 \
         !FastSerialization.1.";
    StreamWithoutEnd = "stream-without-end", [Server, Fuzz], ["F-110"],
        "The stream of a stopped session ends without its end marker.",
        "On StopTracing, write the rest of the stream and its end marker, then close the \
         connection. In nettrace the marker is the tag 01 after the last object; from version 6 \
         on it is a block of 0 bytes.";
    StreamBroken = "stream-broken", [Server, Fuzz], ["F-110"],
        "The stream of a session has a byte that cannot be read as nettrace.",
        "Write complete objects, one after another, and nothing else on the connection. The byte \
         is the first one that no nettrace object can have there.";
    EventNotAskedFor = "event-not-asked-for", [Server], ["R-EVP-011", "R-FLT-002", "R-FLT-003"],
        "The stream of a session has an event that the session did not request.",
        "Write an event only if its keywords are 0 or share a bit with those requested for its \
         provider, its level is at most the requested one, and the event_filter lets its id \
         through.";
    StreamEmpty = "stream-empty", [Server, Fuzz], ["R-EVP-015", "R-FLW-008"],
        "The stream of a session has no bytes.",
        "Write the header of the format when the session starts, even if no event follows.";
    AdvertiseWrong = "advertise-wrong", [Server], ["R-ADV-002", "R-ADV-003"],
        "A connection to a port does not begin with the advertise.",
        "Write its 34 bytes right after connecting: ADVR_V1 and a NUL, the cookie, the process id \
         in 8 bytes, and 2 zero bytes.";
    ProcessIdWrong = "process-id-wrong", [Server], ["R-PRC-004", "R-ADV-005", "F-35"],
        "A reply or an advertise has a process id other than the server's.",
        "Write the serving process's id (getpid), as in its own pid namespace, in 8 bytes.";
    ProcessIdChanges = "process-id-changes", [Server], ["R-PRC-004", "R-PRC-019", "R-PRC-038"],
        "Replies to ProcessInfo, ProcessInfo2 and ProcessInfo3, and advertises, have different \
         process ids.",
        "Always answer with the same process id.";
    CookieChanges = "cookie-changes", [Server], ["R-PRC-005", "R-PRC-019", "R-PRC-038"],
        "Replies to ProcessInfo, ProcessInfo2 and ProcessInfo3, and advertises, have different \
         cookies.",
        "Create the cookie once, when the process starts.";
    CookieNotUnique = "cookie-not-unique", [Server], ["R-PRC-005"],
        "The cookie is nil, or two processes have the same one.",
        "Create 16 random bytes when the process starts: the cookie tells processes apart.";
    ProcessTextEmpty = "process-text-empty", [Server],
        ["R-PRC-007", "R-PRC-009", "R-PRC-010", "R-PRC-021", "R-PRC-039"],
        "A string that must have a value is empty.",
        "Write the command line, the operating system, the architecture, the version of the \
         server, and a runtime identifier such as linux-x64; only the name of the entry assembly \
         may be empty.";
    CommandLineWrong = "command-line-wrong", [Server], ["R-PRC-007", "F-79", "F-100"],
        "commandLine is not the command line of the process.",
        "Write the path of the executable and the arguments with which this process was started, \
         with spaces between them.";
    MachineWrong = "machine-wrong", [Server], ["R-PRC-009", "R-PRC-010", "F-38"],
        "OS or arch does not match the machine on which the process runs.",
        "Write the operating system (`Linux`, `Windows`, `macOS`) and the architecture (`x64`, \
         `arm64`) for which this program was built.";
    ProcessInfoDiffers = "process-info-differs", [Server], ["R-PRC-019", "R-PRC-038"],
        "Replies to ProcessInfo, ProcessInfo2 and ProcessInfo3 disagree about the process.",
        "Write the common fields of the three replies from the same values.";
    GuidBigEndian = "guid-big-endian", [Server, Client, Codec], ["R-GRM-021"],
        "A GUID is written or read in the byte order of its text; its first three fields are \
         little-endian numbers.",
        "Write and read the GUID's first three fields (4, 2 and 2 bytes) little-endian, and its \
         last 8 bytes in printed order.";
    GuidAsText = "guid-as-text", [Server, Fuzz], ["R-GRM-021"],
        "A GUID is written as text, not in 16 bytes.",
        "Write the GUID's first three fields (4, 2 and 2 bytes) little-endian, and its last 8 \
         bytes in printed order, without a length.";
    ValueDiffers = "value-differs", [Server], ["R-HDR-018"],
        "A field of a reply has the wrong value.",
        "Compare the field with the command's reply in the tables of spec/GUIDE.md.";
    DumpNotWritten = "dump-not-written", [Server], ["R-DMP-001", "R-DMP-009"],
        "A dump request is answered with OK, but the dump file does not exist.",
        "Write the dump to dumpName before answering; if it cannot be written, answer with an \
         error. A relative name is relative to the current directory of the process.";
    SocketOpenToOthers = "socket-open-to-others", [Server], ["F-61", "F-82"],
        "Any user of the machine may connect to the socket, and trace, dump or change the process.",
        "Give the socket mode 0600, before `listen`.";
    SocketReplaceable = "socket-replaceable", [Server], ["F-82", "R-TRN-005"],
        "Any user of the machine may replace the socket: its directory is world-writable and does \
         not have the sticky bit.",
        "Create the socket in a directory that only its owner or root can write to, or that has \
         the sticky bit, like /tmp.";
    SilentPeerBlocksOthers = "silent-peer-blocks-others", [Server], ["F-75"],
        "A peer that sends half a header keeps all others waiting.",
        "Limit the time for a request, or serve connections concurrently.";
    EmptyStringAsTwoBytes = "empty-string-as-two-bytes", [Client, Codec], ["F-11"],
        "An empty string is written as a two-byte NUL without a length.",
        "Write the length 1 in 4 bytes, then the 2-byte NUL. An absent string is only the length \
         0.";
    StringLengthInChars = "string-length-in-chars", [Server, Client, Codec, Fuzz], ["F-8"],
        "The length of a string counts characters, not UTF-16 units.",
        "Count UTF-16 units and the NUL: a character above U+FFFF counts as 2.";
    NonBmpTruncated = "non-bmp-truncated", [Client, Codec], ["R-GRM-008"],
        "A character above U+FFFF is truncated to one UTF-16 unit.",
        "Encode the text as UTF-16: a character above U+FFFF becomes a surrogate pair.";
    SizeTruncated = "size-truncated", [Client], ["F-40"],
        "The size of a message above 65,535 bytes is truncated to its lower 16 bits.",
        "Check the length before writing the size field. Refuse a message of more than 65,535 \
         bytes, header included.";
    SizeClamped = "size-clamped", [Client], ["F-40"],
        "The size of a message above 65,535 bytes is written as 65,535.",
        "Check the length before writing the size field. Refuse a message of more than 65,535 \
         bytes, header included.";
    CommandSetOffByOne = "command-set-off-by-one", [Client], ["F-85"],
        "The command set is written one byte off, or its value is off by one.",
        "Write the command set in byte 16, the id in byte 17, and zeros in bytes 18 and 19.";
    AttachTimeoutInSeconds = "attach-timeout-in-seconds", [Client], ["F-55"],
        "The timeout of an attach is written in seconds; the field is in milliseconds.",
        "Write `attachTimeout` in milliseconds: 5 seconds are 5000.";
    DescriptorWithTheRequest = "descriptor-with-the-request", [Client], ["F-20"],
        "The descriptor is sent with the request's bytes, where it is lost.",
        "Send the whole request first, then one separate byte with the descriptor (SCM_RIGHTS).";
    DescriptorAfterTheReply = "descriptor-after-the-reply", [Client], ["F-19"],
        "The client waits for the reply before it passes the descriptor.",
        "Send the byte with the descriptor right after the request, then read the reply.";
    ConnectionReused = "connection-reused", [Client], ["F-70"],
        "A second request is sent on a connection.",
        "Open a new connection for each request: the server reads one request and closes.";
    ReplyCommandSetUnchecked = "reply-command-set-unchecked", [Client], ["R-HDR-002"],
        "A reply is accepted as an OK whatever its command set.",
        "Accept a reply only if its command set is 0xFF. Id 0x00 is OK, 0xFF is an error, \
         anything else is neither.";
    ReplySizeIgnored = "reply-size-ignored", [Client], ["F-1", "F-2"],
        "The client reads as many bytes of a reply as it expects, whatever the size field says.",
        "Read the 20-byte header, then `size` - 20 bytes, and only then what follows the reply.";
    Only24ByteOkAccepted = "only-24-byte-ok-accepted", [Client], ["F-1", "F-2", "F-41"],
        "An OK of any size other than 24 bytes is refused.",
        "Accept an OK of 20, 24 or 28 bytes: read as many bytes as its size says, and use the \
         fields that are there.";
    EnvironmentCountIgnored = "environment-count-ignored", [Client], ["F-43", "F-88"],
        "The entry count of the environment block is ignored.",
        "Read as many entries as the count says; refuse a block whose bytes do not match it.";
    EnvironmentEntryWithoutEquals = "environment-entry-without-equals", [Client], ["F-79"],
        "An environment entry without `=` is lost, or makes the client fail.",
        "Keep an entry without `=` unchanged; check for `=` before splitting.";
    NoReadTimeout = "no-read-timeout", [Client], ["F-75", "R-ERR-004"],
        "The client waits forever for a target that does not answer.",
        "Set a timeout for each read of a reply; end with an error when it expires.";
    BytesAsUnits = "bytes-as-units", [Client, Codec], ["R-GRM-008"],
        "Each UTF-8 byte of a text is written as a separate UTF-16 unit.",
        "Decode the text as UTF-8 first, then encode it as UTF-16; do not widen bytes.";
    UnitsSignExtended = "units-sign-extended", [Client, Codec], ["R-GRM-008"],
        "Each UTF-8 byte of a text is sign-extended to a UTF-16 unit: `é` becomes ffc3 ffa9.",
        "Decode the text as UTF-8 first, then encode it as UTF-16; do not widen a signed `char`.";
    SizeOf4ByteUnits = "size-of-4-byte-units", [Client], ["R-HDR-002"],
        "The message's size counts four bytes for each character: zeros follow the last field.",
        "Compute the size from the written bytes: 2 for each UTF-16 unit, not `sizeof(wchar_t)`.";
    AbsentStringAsEmpty = "absent-string-as-empty", [Codec], ["F-11"],
        "An absent string is treated as empty, or an empty string as absent.",
        "Keep the two apart: an absent string has the length 0 and no NUL; an empty string has \
         the length 1 and a NUL.";
    StringCutAtNul = "string-cut-at-nul", [Codec], ["R-GRM-009"],
        "A string is truncated at a NUL inside it.",
        "Take the length from the count, not from the first NUL: only the last unit is the \
         terminator.";
    SurrogateReplaced = "surrogate-replaced", [Codec], ["R-GRM-008"],
        "An unpaired surrogate is replaced by another character.",
        "Keep the 16-bit units of a text that is not valid UTF-16, or refuse the text; replace \
         nothing.";
    NumberAsDouble = "number-as-double", [Codec], ["R-GRM-003"],
        "A 64-bit number is rounded to the 53 bits of a double.",
        "Keep 64-bit numbers in integers: use BigInt in JavaScript and strings in JSON.";
    BoolInverted = "bool-inverted", [Codec], ["R-GRM-005"],
        "A bool has the opposite value.",
        "Treat 0 as false and everything else as true; check what true means for this field.";
    TimeInAnotherUnit = "time-in-another-unit", [Codec], ["R-GRM-002"],
        "A number is 1,000 times too small or too large.",
        "Do not convert times: the field has the unit that the document gives, such as \
         milliseconds.";
    AnotherCommandSent = "another-command-sent", [Client, Codec], ["R-HDR-012"],
        "The command of the request does not do what was requested.",
        "Check the command's set and id: the document lists them, and `diagipc decode` shows what \
         was sent.";
    NotCanonical = "not-canonical", [Client, Codec], ["F-4", "F-16"],
        "A message is written in a form that readers may accept and writers must not use: a bool \
         other than 0 and 1, or bytes after the last field.",
        "Write a bool as 0 or 1, `reserved` as 0, and no bytes after the last field.";
    OutsideTheLimits = "outside-the-limits", [Client], ["F-16"],
        "The request has a value that every server refuses.",
        "Check the value before sending it: the cited fact says what servers refuse.";
    ValueNotAsked = "value-not-asked", [Client], ["R-FLW-011"],
        "A value of the request is not the one given to the client.",
        "Send the requested value in the field that the example names.";
    UnsetByEmptyValue = "unset-by-empty-value", [Client], ["F-44"],
        "A variable that must be deleted is set to an empty value.",
        "Write the value as an absent string: the length 0 in 4 bytes, and nothing else.";
    BeyondTheLargestMessage = "beyond-the-largest-message", [Client], ["R-HDR-011"],
        "A request that is too large for a message is sent anyway.",
        "Refuse a message of more than 65,535 bytes, header included, with an error and before \
         sending anything.";
    LargestMessageRefused = "largest-message-refused", [Client], ["F-40"],
        "A message of at most 65,535 bytes is not sent.",
        "Allow messages of up to 65,535 bytes, header included: the maximum of the size field.";
    StringWithTwoNuls = "string-with-two-nuls", [Client], ["R-GRM-008", "R-GRM-009"],
        "A second NUL follows a string and is counted in its length, so the string has one more \
         character.",
        "Write one NUL after the string; your language's encoder may already add one.";
    RequestRepeated = "request-repeated", [Client], ["R-FLW-011", "R-ERR-001"],
        "A request is sent twice, or again after an error, so it takes effect twice.",
        "Send each request once, and report the answer. Only a request that changes nothing may \
         be repeated.";
    DescriptorMissing = "descriptor-missing", [Client], ["F-19"],
        "No descriptor is passed after the request for `user_events`.",
        "Open `user_events_data`, and send its descriptor (SCM_RIGHTS) on a separate byte after \
         the request.";
    FallsBackAfterAnyError = "falls-back-after-any-error", [Client], ["R-ERR-009"],
        "The client falls back to the older command after an error other than `UNKNOWN_COMMAND`.",
        "Fall back only after UNKNOWN_COMMAND (0x80131385); report any other error.";
    NoReplyTakenForOk = "no-reply-taken-for-ok", [Client], ["R-ERR-003"],
        "The connection ends before a reply, but the client reports success.",
        "End with an error if the connection closes before 20 bytes of a reply were received.";
    ReplyCutUnnoticed = "reply-cut-unnoticed", [Client], ["R-ERR-003"],
        "A reply, or the block that belongs to it, is truncated, and the client reports success.",
        "Check what each read returned: end with an error if the connection closes before `size` \
         bytes, or the whole block, were received.";
    ReplyTooShortAccepted = "reply-too-short-accepted", [Client], ["R-ERR-003"],
        "A reply that is too short for its command is treated as success.",
        "Check that the payload contains a field before reading it.";
    NeverReadsTheReply = "never-reads-the-reply", [Client], ["R-ERR-001", "R-ERR-003", "R-FLW-011"],
        "The client reports success whatever the runtime answers, and even if it does not answer.",
        "Read the reply to each request, and exit with a status other than 0 if there is none, or \
         if it is not an OK.";
    ErrorTreatedAsSuccess = "error-treated-as-success", [Client], ["R-ERR-001"],
        "The runtime refuses the request, but the client reports success.",
        "Check the reply's command id: 0xFF is an error, and its payload is the HRESULT.";
    ErrorCode0TakenForOk = "error-code-0-taken-for-ok", [Client], ["R-ERR-005"],
        "An error whose code is not a failing HRESULT, such as 0, is treated as success.",
        "Decide only by the reply's command id: 0xFF is an error, whatever its code.";
    FailingHresultIgnored = "failing-hresult-ignored", [Client], ["F-41"],
        "An OK with a failing HRESULT is treated as success.",
        "Check the HRESULT of an OK too: if its highest bit is set, it is a failure.";
    HresultNotReported = "hresult-not-reported", [Client], ["R-ERR-007"],
        "The runtime refuses the request, but the client's output does not contain the HRESULT.",
        "Print the HRESULT with the error, as 0x and 8 digits.";
    ErrorTextNotTold = "error-text-not-told", [Client], ["F-50"],
        "The runtime gives a reason for refusing, but the client's output does not contain it.",
        "Print the text of the error: it follows the HRESULT of GenerateCoreDump3.";
    OkTakenForError = "ok-taken-for-error", [Client], ["R-FLW-011"],
        "The runtime answers with an ordinary OK, but the client reports failure.",
        "Treat a reply with command set 0xFF and id 0x00 as success, and end with exit status 0.";
    ReplyOf20Refused = "reply-of-20-refused", [Client], ["F-2"],
        "An OK of 20 bytes is refused.",
        "Also accept an OK without a payload if the command has nothing to return: the document \
         allows it.";
    ReplySurplusRefused = "reply-surplus-refused", [Client], ["F-2"],
        "An OK that is longer than its fields is refused.",
        "Read as many bytes as the size field says, and ignore those after the last field you \
         know.";
    ReplyReservedInsistedOn = "reply-reserved-insisted-on", [Client], ["R-HDR-014"],
        "A reply whose reserved field is not 0 is refused.",
        "Ignore bytes 18 and 19 of a reply.";
    ReplyInPiecesMisread = "reply-in-pieces-misread", [Client], ["R-HDR-002"],
        "One read is treated as a whole reply: a reply that arrives in pieces is misread.",
        "Read in a loop until all bytes of the header, and then of the payload, have arrived.";
    LargeReplyMisread = "large-reply-misread", [Client], ["R-HDR-011", "R-ENV-003"],
        "A reply of more than 32,767 bytes, or an environment of more than 65,535, is refused or \
         misread.",
        "Read `size` as an unsigned 16-bit number and nIncomingBytes as an unsigned 32-bit \
         number, and allow for that many bytes.";
    GivesUpEarly = "gives-up-early", [Client], ["R-ERR-004", "F-75"],
        "The client reports failure before its time limit, while the runtime is still working.",
        "Wait for a reply until the client's own time limit: a dump or an attach may take long.";
    TextTrimmed = "text-trimmed", [Client], ["R-GRM-008"],
        "Spaces in a text are lost.",
        "Keep a text unchanged from its first character to its last.";
    TextNotUnicode = "text-not-unicode", [Client], ["R-GRM-004", "R-GRM-008"],
        "Characters outside ASCII are replaced, or lost.",
        "Convert between UTF-16 and UTF-8, whatever the locale is, and print UTF-8.";
    TextCut = "text-cut", [Client], ["R-GRM-008", "R-ENV-006"],
        "The end of a long text is lost.",
        "Make room for the whole length of a text: it may fill a message, and an environment \
         entry may be longer still.";
    ReadsUntilClose = "reads-until-close", [Client], ["F-5", "F-43"],
        "A reply, or the environment, is read until the connection closes instead of by its size.",
        "Read as many bytes as the size field, or nIncomingBytes, says: the connection may stay \
         open.";
    EnvironmentLost = "environment-lost", [Client], ["F-43"],
        "The client's output differs from the received environment.",
        "Print all entries of the block unchanged; if two have the same name, print at least one.";
    ProcessInfoLost = "process-info-lost", [Client], ["F-34"],
        "A text of the reply is missing from the client's output.",
        "Print each string of the reply that is not empty.";
    StringOfLength0Misread = "string-of-length-0-misread", [Client], ["F-11"],
        "The client fails at a string of length 0, or skips a NUL after it and misreads the next \
         field.",
        "Treat a string of length 0 as empty, and read no NUL after it: the next field follows \
         immediately.";
    StringWithoutNulCut = "string-without-nul-cut", [Client], ["F-11"],
        "The last character of a string that does not end with a NUL is lost.",
        "Remove the last unit of a string only if it is a NUL.";
    StreamNotAsSent = "stream-not-as-sent", [Client], ["F-76"],
        "The client's output differs from the received stream.",
        "Write the bytes after the reply unchanged until the connection ends.";
    CountersLost = "counters-lost", [Client], ["F-76"],
        "An event counter of the stream is missing from the client's output, or has another value.",
        "Show each counter of each EventCounters event with its name and its Mean or Increment; the \
         metadata of the event says where its fields are.";
    StopWithoutReading = "stop-without-reading", [Client], ["F-75"],
        "The stream is not read while the stop waits for its reply: both sides wait for each \
         other.",
        "Read the stream in a separate thread, or poll both connections, until the stream ends.";
    StopOnTheStream = "stop-on-the-stream", [Client], ["F-76"],
        "`StopTracing` is sent on the connection of the stream, where no server reads it.",
        "Open a new connection for StopTracing, and continue reading the stream.";
    SessionNeverStopped = "session-never-stopped", [Client], ["R-EVP-018"],
        "No `StopTracing` is sent for the session.",
        "Send StopTracing with the session's id on a new connection when the duration is over.";
    AnotherSessionStopped = "another-session-stopped", [Client], ["F-31"],
        "`StopTracing` has a different session id than the reply.",
        "Send all 8 bytes of the id in the reply, unchanged.";
    AdvertiseMagicUnchecked = "advertise-magic-unchecked", [Client], ["R-ADV-003"],
        "Anything that connects to the port is treated as a runtime, whatever its magic.",
        "Compare the 8 bytes ADVR_V1 and a NUL; close a connection that begins differently.";
    AdvertiseCutUnnoticed = "advertise-cut-unnoticed", [Client], ["R-ADV-002"],
        "A truncated advertise is accepted.",
        "Read all 34 bytes of the advertise before using the connection.";
    AnotherProcessReached = "another-process-reached", [Client], ["R-TRN-008"],
        "The client connects to the socket of another process.",
        "Compare the process id and the start time (field 22 of /proc/PID/stat) in the socket's \
         name, and the peer's process id (SO_PEERCRED).";
    ProcessNotFound = "process-not-found", [Client], ["R-TRN-012"],
        "The client does not find the socket of its process among others.",
        "Check each matching name; try the next one if a file is not a socket or has no listener.";
    NeverConnects = "never-connects", [Client], ["R-FLW-011"],
        "The client is given a task, but does not connect.",
        "Connect to the socket of the process in its TMPDIR; the report has the command line and \
         the client's output.";
    NothingSent = "nothing-sent", [Client], ["R-FLW-011"],
        "The client connects, but does not send the request of its task.",
        "Send the request right after connecting: the runtime sends nothing first.";
    RunsOn = "runs-on", [Client], ["R-ERR-004"],
        "The conversation is over, and the client does not end.",
        "End the process when the work is done, including its threads and timers.";
    TakenThoughInvalid = "taken-though-invalid", [Codec], ["R-ERR-008"],
        "The bytes are invalid, but the codec accepts them.",
        "Refuse them: `diagipc explain NUMBER` says what is wrong with the bytes of a vector, and \
         at which byte.";
    RefusedThoughValid = "refused-though-valid", [Codec], [],
        "The bytes, or the value, are valid, but the codec refuses them.",
        "Accept them: `diagipc explain NUMBER` shows what each byte means.";
    WrongValue = "wrong-value", [Codec], ["R-GRM-001"],
        "The codec reads the bytes as another value; the key that differs follows the colon.",
        "Check how that field is read: its width, its byte order, and where it begins.";
    ValueMissing = "value-missing", [Codec], [],
        "The adapter answers ok to decode, but gives no value.",
        "Add `value`, or answer `taken` if it cannot be shown.";
    WrongCanonical = "wrong-canonical", [Codec], [],
        "The key `canonical` is wrong.",
        "Write true only if the codec writes the value as exactly these bytes, or omit the key.";
    WrongLayer = "wrong-layer", [Codec], ["R-ERR-012"],
        "The codec refuses the bytes for the wrong reason: a server would answer with the wrong \
         error.",
        "Check in the order of layers: transport, header, payload, limits; name the first that \
         refuses.";
    UnknownLayer = "unknown-layer", [Codec], [],
        "The adapter names a layer that does not exist.",
        "Write transport, header, payload, limits or reply, or omit it.";
    WireMissing = "wire-missing", [Codec], [],
        "The adapter answers ok to encode, but gives no bytes.",
        "Add `wire`, the bytes in hexadecimal.";
    WrongBytes = "wrong-bytes", [Codec], ["R-GRM-001"],
        "The codec writes other bytes; the field that they change, or why they are malformed, \
         follows the colon.",
        "Check how that field is written: its width, its byte order, and what precedes it.";
    WrittenThoughInvalid = "written-though-invalid", [Codec], [],
        "The value cannot be encoded (too large, or it would be read as another value), but the \
         codec writes bytes.",
        "Refuse the value before anything is written.";
    AdapterSilent = "adapter-silent", [Codec], [],
        "The adapter ended, or did not answer.",
        "Write one line for each question, and flush it; check the adapter's standard error.";
    NotTheProtocol = "not-the-protocol", [Codec], [],
        "The line is not an answer, or answers another question.",
        "Write one JSON object per line with the question's `id`: diagipc/adapters/README.md.";
    RequiredAndUnsupported = "required-and-unsupported", [Codec], [],
        "--require selects the case, but the adapter answers unsupported.",
        "Support it, or do not require it.";
    Hang = "hang", [Fuzz], ["F-75", "R-ERR-011"],
        "The server no longer answers anyone, although its process is alive.",
        "Read with a deadline, and serve connections concurrently: one that sends nothing must \
         not block the others.";
    EndpointGone = "endpoint-gone", [Fuzz], ["R-ERR-011"],
        "Nothing listens on the endpoint any more, although the process is alive.",
        "Keep listening after any error of one connection; after an error of `accept`, wait and \
         try again.";
    Leaked = "leaked", [Fuzz], ["F-71"],
        "The server sends bytes without a header, which may be leaked memory.",
        "Write only the bytes of the reply that was built; check what a payload claims before \
         echoing any of it.";
    MemoryGrowth = "memory-growth", [Fuzz], ["F-74"],
        "The memory of the server grows with each request.",
        "Free what a request allocated on every path, including error paths, and close its \
         connection.";
}
