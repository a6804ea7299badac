//! The faults that clients are known to have, by name.

use core::fmt;

macro_rules! faults {
    ($($(#[$doc:meta])* $Variant:ident = $name:literal, $sentence:literal, [$($spec:literal),*];)*) => {
        /// A fault that clients are known to have.
        ///
        /// ```
        /// use dotnet_diagnostics_ipc::conformance::client::ClientFault;
        ///
        /// assert!(ClientFault::ALL.iter().any(|fault| fault.name() == "string-length-in-bytes" && !fault.spec().is_empty()));
        /// ```
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[non_exhaustive]
        pub enum ClientFault {
            $(#[doc = $sentence] $(#[$doc])* $Variant,)*
        }

        impl ClientFault {
            /// All of them.
            pub const ALL: &'static [Self] = &[$(Self::$Variant),*];

            /// Its name in reports, which keeps its meaning for good.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$Variant => $name,)* }
            }

            /// What it is.
            pub const fn sentence(self) -> &'static str {
                match self { $(Self::$Variant => $sentence,)* }
            }

            /// The facts and requirements that it is against.
            pub const fn spec(self) -> &'static [&'static str] {
                match self { $(Self::$Variant => &[$($spec),*],)* }
            }
        }
    };
}

faults! {
    EmptyStringAsTwoBytes = "empty-string-as-two-bytes",
        "An empty string is written as a NUL of two bytes without its length.", ["F-11"];
    StringLengthInBytes = "string-length-in-bytes",
        "The length of a string counts bytes, not UTF-16 units.", ["F-8"];
    StringLengthInChars = "string-length-in-chars",
        "The length of a string counts characters, not UTF-16 units.", ["F-8"];
    StringLengthWithoutNul = "string-length-without-nul",
        "A string is written without its NUL, or its length does not count it.", ["F-11"];
    NonBmpTruncated = "non-bmp-truncated",
        "A character beyond U+FFFF is cut to one UTF-16 unit.", ["R-GRM-008"];
    WcharOf4Bytes = "wchar-of-4-bytes",
        "A string is written in units of four bytes: zeroes stand between its units.", ["R-GRM-008"];
    SizeTruncated = "size-truncated",
        "The size of a message beyond 65,535 bytes is cut to its lower 16 bits.", ["F-40"];
    SizeClamped = "size-clamped",
        "The size of a message beyond 65,535 bytes is written as 65,535.", ["F-40"];
    CommandSetOffByOne = "command-set-off-by-one",
        "The command set stands one byte off, or is one off.", ["F-85"];
    AttachTimeoutInSeconds = "attach-timeout-in-seconds",
        "The time-out of an attach is written in seconds, and is in milliseconds.", ["F-55"];
    DescriptorWithTheRequest = "descriptor-with-the-request",
        "The descriptor rides on the request's bytes, where it is lost.", ["F-20"];
    DescriptorAfterTheReply = "descriptor-after-the-reply",
        "The client waits for the reply before it hands over the descriptor.", ["F-19"];
    ConnectionReused = "connection-reused",
        "A second request is sent on a connection.", ["F-70"];
    ReplyMagicUnchecked = "reply-magic-unchecked",
        "A reply is taken for one whatever its magic.", ["F-71"];
    ReplyCommandSetUnchecked = "reply-command-set-unchecked",
        "A reply is taken for an OK whatever its command set.", ["R-HDR-002"];
    ReplySizeIgnored = "reply-size-ignored",
        "So many bytes of a reply are read as the client expects, whatever its size field says.", ["F-1", "F-2"];
    ReplyOf24InsistedOn = "reply-of-24-insisted-on",
        "An OK of another size than 24 bytes is refused.", ["F-1", "F-2", "F-41"];
    EnvironmentCountIgnored = "environment-count-ignored",
        "The environment block's count of entries is not looked at.", ["F-43", "F-88"];
    EnvironmentEntryWithoutEquals = "environment-entry-without-equals",
        "An entry of the environment without `=` is lost, or ends the client.", ["F-79"];
    NoReadTimeout = "no-read-timeout",
        "The client waits for ever for a target that does not answer.", ["F-75", "R-ERR-004"];
    StringInUtf8 = "string-in-utf-8",
        "A string is written in UTF-8, not in UTF-16.", ["R-GRM-008"];
    BytesAsUnits = "bytes-as-units",
        "Each byte of a text in UTF-8 is written as a UTF-16 unit of its own.", ["R-GRM-008"];
    UnitsSignExtended = "units-sign-extended",
        "Each byte of a text in UTF-8 is widened to a UTF-16 unit with its sign: `é` becomes ffc3 ffa9.", ["R-GRM-008"];
    SizeOf4ByteUnits = "size-of-4-byte-units",
        "The message's size counts four bytes for each character: zeroes follow the last field.", ["R-HDR-002"];
    RequestMagicWrong = "request-magic-wrong",
        "The magic of the request is not `DOTNET_IPC_V1` and a NUL.", ["R-HDR-010"];
    RequestSizeWrong = "request-size-wrong",
        "The size field of the request is not its size.", ["R-HDR-009"];
    RequestReservedNotZero = "request-reserved-not-zero",
        "The reserved field of the request is not 0.", ["R-HDR-013"];
    BytesBehindTheRequest = "bytes-behind-the-request",
        "More bytes are sent after the request, which no server reads.", ["F-70"];
    AnotherCommandSent = "another-command-sent",
        "The command of the request does not do what was asked for.", ["R-HDR-012"];
    RequestMalformed = "request-malformed",
        "The payload of the request cannot be decoded.", ["R-HDR-002"];
    RequestNotCanonical = "request-not-canonical",
        "The request has a bool other than 0 and 1, or bytes after its last field.", ["F-4", "F-16"];
    NumbersBigEndian = "numbers-big-endian",
        "Numbers are written with their highest byte first.", ["R-GRM-002"];
    GuidBigEndian = "guid-big-endian",
        "A GUID is written in the order of its text: its first three fields are little-endian numbers.", ["R-GRM-021"];
    OutsideTheLimits = "outside-the-limits",
        "The request has a value that every server refuses.", ["F-16"];
    ValueNotAsked = "value-not-asked",
        "A value of the request is not the one that the client was told.", ["R-FLW-011"];
    UnsetByEmptyValue = "unset-by-empty-value",
        "A variable is to be deleted, and is set to an empty value.", ["F-44"];
    BeyondTheLargestMessage = "beyond-the-largest-message",
        "What no message can hold is sent all the same.", ["R-HDR-011"];
    LargestMessageRefused = "largest-message-refused",
        "A message of at most 65,535 bytes is not sent.", ["F-40"];
    DescriptorMissing = "descriptor-missing",
        "No descriptor is handed over after the request for `user_events`.", ["F-19"];
    FallsBackAfterAnyError = "falls-back-after-any-error",
        "The older command is asked after another error than `UNKNOWN_COMMAND`.", ["R-ERR-009"];
    NoReplyTakenForOk = "no-reply-taken-for-ok",
        "The connection ends before a reply, and that is taken for success.", ["R-ERR-003"];
    ReplyCutUnnoticed = "reply-cut-unnoticed",
        "A reply, or the block that belongs to it, is cut, and that is taken for success.", ["R-ERR-003"];
    ReplyTooShortAccepted = "reply-too-short-accepted",
        "A reply that is shorter than its command's is taken for success.", ["R-ERR-003"];
    ErrorTakenForOk = "error-taken-for-ok",
        "The runtime refuses, and that is taken for success.", ["R-ERR-001"];
    ErrorCode0TakenForOk = "error-code-0-taken-for-ok",
        "An error whose code is 0 is taken for success: the header decides.", ["R-ERR-005"];
    FailingHresultIgnored = "failing-hresult-ignored",
        "An OK whose HRESULT says that it failed is taken for success.", ["F-41"];
    HresultNotTold = "hresult-not-told",
        "The runtime refuses, and what the client prints does not have the HRESULT.", ["R-ERR-007"];
    ErrorTextNotTold = "error-text-not-told",
        "The runtime says why it refuses, and what the client prints does not have that text.", ["F-50"];
    OkTakenForError = "ok-taken-for-error",
        "The runtime answers OK as runtimes do, and the client ends as if it had refused.", ["R-FLW-011"];
    ReplyOf20Refused = "reply-of-20-refused",
        "An OK of 20 bytes is refused.", ["F-2"];
    ReplySurplusRefused = "reply-surplus-refused",
        "An OK that is longer than its fields is refused.", ["F-2"];
    ReplyReservedInsistedOn = "reply-reserved-insisted-on",
        "A reply whose reserved field is not 0 is refused.", ["R-HDR-014"];
    ReplyInPiecesMisread = "reply-in-pieces-misread",
        "One read is taken for a whole reply: a reply that arrives in pieces is not understood.", ["R-HDR-002"];
    ReadsUntilClose = "reads-until-close",
        "A reply, or the environment, is read until the connection closes, and not by its size.", ["F-5", "F-43"];
    EnvironmentLost = "environment-lost",
        "What the client gives out is not the environment that came.", ["F-43"];
    ProcessInfoLost = "process-info-lost",
        "A text of the reply is not in what the client gives out.", ["F-34"];
    StringOfLength0Misread = "string-of-length-0-misread",
        "A string of length 0 has no NUL: what follows is read from the wrong byte.", ["F-11"];
    StringWithoutNulCut = "string-without-nul-cut",
        "Of a string that does not end with a NUL the last character is lost.", ["F-11"];
    StreamNotAsSent = "stream-not-as-sent",
        "What the client gives out is not the stream that came.", ["F-76"];
    StopWithoutReading = "stop-without-reading",
        "The stream is not read while the stop waits for its reply: both sides wait for each other.", ["F-75"];
    StopOnTheStream = "stop-on-the-stream",
        "`StopTracing` is sent on the connection of the stream, where no server reads it.", ["F-76"];
    SessionNeverStopped = "session-never-stopped",
        "No `StopTracing` comes for the session.", ["R-EVP-018"];
    AnotherSessionStopped = "another-session-stopped",
        "`StopTracing` names another session than the reply did.", ["F-31"];
    AdvertiseMagicUnchecked = "advertise-magic-unchecked",
        "What connects to the port is taken for a runtime whatever its magic.", ["R-ADV-003"];
    AdvertiseCutUnnoticed = "advertise-cut-unnoticed",
        "An advertise that is cut is taken for a runtime.", ["R-ADV-002"];
    AnotherProcessReached = "another-process-reached",
        "The client connects to the socket of another process.", ["R-TRN-008"];
    ProcessNotFound = "process-not-found",
        "The client does not find the socket of its process beside others.", ["R-TRN-012"];
    NeverConnects = "never-connects",
        "The client is told to ask something, and does not connect.", ["R-FLW-011"];
    NothingSent = "nothing-sent",
        "The client connects, and sends no request.", ["R-FLW-011"];
    DiesBySignal = "dies-by-signal",
        "A signal ends the client.", ["R-ERR-003"];
    RunsOn = "runs-on",
        "All is over, and the client does not end.", ["R-ERR-004"];
}

impl fmt::Display for ClientFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
