//! `GenerateCoreDump3` → 2 → 1.

use super::{
    DroppedFields, Fallback, FallbackError, FallbackErrorKind, FallbackRequest, FallbackStep,
    dropped_unless, sealed,
};
use crate::command::Command;
use crate::message::dump::{DumpFlags, GenerateCoreDump, GenerateCoreDump2, GenerateCoreDump3};
use crate::wire::{Encode, EncodeError, Sink};

/// From [`GenerateCoreDump3`] down.
///
/// | from | to | the same if | dropped |
/// |---|---|---|---|
/// | 3 | 2 | always | the text of an error |
/// | 2 | 1 | `flags` is 0 or 1 (log): `diagnostics` | `flags`, if allowed: only bit 0 stays |
///
/// ```
/// use dotnet_diagnostics_ipc::exchange::fallback::{DumpFallback, DroppedFields, FallbackRequest as _};
/// use dotnet_diagnostics_ipc::hresult::HResult;
/// use dotnet_diagnostics_ipc::message::dump::{DumpFlags, DumpType, GenerateCoreDump3};
///
/// let flags = DumpFlags::LOGGING.with(DumpFlags::CRASH_REPORT);
/// let request = GenerateCoreDump3 { dump_name: "/tmp/d".into(), dump_type: DumpType::FULL, flags };
/// let mut fallback = DumpFallback::new(&request).allowing(DroppedFields::DUMP_FLAGS);
/// assert_eq!(fallback.refused(HResult::UNKNOWN_COMMAND)?.dropped, DroppedFields::ERROR_TEXT);
/// assert_eq!(fallback.refused(HResult::UNKNOWN_COMMAND)?.dropped, DroppedFields::DUMP_FLAGS);
/// assert_eq!(fallback.request().command().to_string(), "Dump/GenerateCoreDump");
/// # Ok::<(), dotnet_diagnostics_ipc::exchange::fallback::FallbackError>(())
/// ```
pub type DumpFallback<'a> = Fallback<DumpRequest<'a>>;

/// One of `GenerateCoreDump3`, 2 and 1, for the same dump.
///
/// ```
/// use dotnet_diagnostics_ipc::exchange::fallback::DumpRequest;
/// use dotnet_diagnostics_ipc::message::dump::{DumpFlags, DumpType, GenerateCoreDump3};
/// use dotnet_diagnostics_ipc::wire::Encode as _;
///
/// let request = GenerateCoreDump3 { dump_name: "d".into(), dump_type: DumpType::FULL, flags: DumpFlags::NONE };
/// assert_eq!(DumpRequest::from(&request).encoded_len(), request.encoded_len());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DumpRequest<'a> {
    request: &'a GenerateCoreDump3<'a>,
    version: Version,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Version {
    Three,
    Two,
    One,
}

impl<'a> From<&'a GenerateCoreDump3<'a>> for DumpRequest<'a> {
    fn from(request: &'a GenerateCoreDump3<'a>) -> Self {
        Self { request, version: Version::Three }
    }
}

impl sealed::Sealed for DumpRequest<'_> {}

impl FallbackRequest for DumpRequest<'_> {
    fn command(&self) -> Command {
        match self.version {
            Version::Three => Command::GENERATE_CORE_DUMP3,
            Version::Two => Command::GENERATE_CORE_DUMP2,
            Version::One => Command::GENERATE_CORE_DUMP,
        }
    }

    fn older(&self, allowed: DroppedFields) -> Result<FallbackStep<Self>, FallbackError> {
        let (version, dropped) = match self.version {
            Version::Three => (Version::Two, DroppedFields::ERROR_TEXT),
            Version::Two => {
                let said = DumpFlags::LOGGING.contains(self.request.flags);
                (
                    Version::One,
                    dropped_unless(said, DroppedFields::DUMP_FLAGS, allowed, self.command())?,
                )
            }
            Version::One => {
                return Err(FallbackError::new(self.command(), FallbackErrorKind::Oldest));
            }
        };
        Ok(FallbackStep { request: Self { version, ..*self }, dropped })
    }
}

impl Encode for DumpRequest<'_> {
    fn encode<S: Sink + ?Sized>(&self, sink: &mut S) -> Result<(), EncodeError> {
        let GenerateCoreDump3 { dump_name, dump_type, flags } = *self.request;
        match self.version {
            Version::Three => self.request.encode(sink),
            Version::Two => GenerateCoreDump2 { dump_name, dump_type, flags }.encode(sink),
            Version::One => {
                let diagnostics = flags.contains(DumpFlags::LOGGING).into();
                GenerateCoreDump { dump_name, dump_type, diagnostics }.encode(sink)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use crate::hresult::HResult;
    use crate::message::{Message, dump::DumpType, encode};
    use std::{string::ToString, vec::Vec};

    fn request(flags: u32) -> GenerateCoreDump3<'static> {
        GenerateCoreDump3 {
            dump_name: "/tmp/core.123".into(),
            dump_type: DumpType::WITH_HEAP,
            flags: DumpFlags(flags),
        }
    }

    fn wire(request: DumpRequest<'_>) -> Vec<u8> {
        let mut buffer = [0; 128];
        let len = encode(request.command(), &request, &mut buffer).unwrap();
        buffer[..len].to_vec()
    }

    /// The message of a command of the set, whose last field is `last`.
    fn expected(id: u8, last: [u8; 4]) -> Vec<u8> {
        let header = [&b"DOTNET_IPC_V1\0\x3c\0\x01"[..], &[id, 0, 0]].concat();
        let name = b"\x0e\0\0\0/\0t\0m\0p\0/\0c\0o\0r\0e\0.\x001\x002\x003\0\0\0";
        [&header[..], name, b"\x02\0\0\0", &last].concat()
    }

    #[test]
    fn dump_2_equals_3_and_1_keeps_first_flag() {
        for (flag, last) in [(0, [0, 0, 0, 0]), (1, [1, 0, 0, 0])] {
            let request = request(flag);
            let mut fallback = DumpFallback::new(&request);
            let three = wire(fallback.request());
            assert_eq!(three, expected(3, last));

            assert_eq!(
                fallback.refused(HResult::UNKNOWN_COMMAND).unwrap().dropped,
                DroppedFields::ERROR_TEXT
            );
            let two = wire(fallback.request());
            assert_eq!(two, expected(2, last));
            let GenerateCoreDump3 { dump_name, dump_type, flags } = request;
            let read = Message::decode(&two).unwrap().request_as::<GenerateCoreDump2<'_>>();
            assert_eq!(read, Ok(GenerateCoreDump2 { dump_name, dump_type, flags }));

            assert_eq!(
                fallback.refused(HResult::UNKNOWN_COMMAND).unwrap().dropped,
                DroppedFields::NONE
            );
            let one = wire(fallback.request());
            // With flag 1 these are the bytes of vector 4002.
            assert_eq!(one, expected(1, last));
            let read = Message::decode(&one).unwrap().request_as::<GenerateCoreDump<'_>>();
            assert_eq!(read, Ok(GenerateCoreDump { dump_name, dump_type, diagnostics: flag }));

            let error = fallback.refused(HResult::UNKNOWN_COMMAND).unwrap_err();
            assert_eq!(error.to_string(), "GenerateCoreDump: there is no older command");
        }
    }

    #[test]
    fn other_flags_are_dropped_only_if_allowed() {
        for flags in [2, 3, 4, 5, 6, 7, 8, 0x8000_0000, 0x8000_0001] {
            let request = request(flags);
            let mut fallback = DumpFallback::new(&request);
            fallback.refused(HResult::UNKNOWN_COMMAND).unwrap();
            assert_eq!(wire(fallback.request()), expected(2, flags.to_le_bytes()));
            let error = fallback.refused(HResult::UNKNOWN_COMMAND).unwrap_err();
            assert_eq!(error.path().to_string(), "GenerateCoreDump2.flags");
            assert_eq!(
                (error.kind(), error.provider()),
                (FallbackErrorKind::CannotSay(DroppedFields::DUMP_FLAGS), None)
            );
            assert_eq!(fallback.request().command(), Command::GENERATE_CORE_DUMP2);

            let mut fallback = fallback.allowing(DroppedFields::DUMP_FLAGS);
            assert_eq!(
                fallback.refused(HResult::UNKNOWN_COMMAND).unwrap().dropped,
                DroppedFields::DUMP_FLAGS
            );
            let last = if flags & 1 == 1 { [1, 0, 0, 0] } else { [0; 4] };
            assert_eq!(wire(fallback.request()), expected(1, last), "{flags:#x}");
            assert_eq!(fallback.dropped().to_string(), "flags, message");
        }
    }
}
