//! Session requests whose providers lack `filter_data`.

use crate::command::Command;
use crate::header::HEADER_LEN;
use crate::message::Message;
use crate::message::eventpipe::{EventLevel, Format};
use crate::wire::{
    Array, Field, IpcString, Reader, Root, WireError, WireErrorKind, clamp, macros::wire_struct,
};

wire_struct! {
    /// `provider_config` without its last string, as "optional" may be read (F-83).
    ///
    /// | bytes | what |
    /// |---|---|
    /// | 8 | `keywords` |
    /// | 4 | `logLevel` |
    /// | string | `provider_name` |
    ///
    /// ```
    /// use dotnet_diagnostics_ipc::{legacy::ProviderConfigWithoutFilterData, message::eventpipe::EventLevel, wire::Encode as _};
    ///
    /// let provider =
    ///     ProviderConfigWithoutFilterData { keywords: 100, log_level: EventLevel::ERROR, provider_name: "MyEventSource".into() };
    /// assert_eq!(provider.encoded_len(), Ok(44));
    /// ```
    pub struct ProviderConfigWithoutFilterData<'a> {
        /// Groups of events.
        pub keywords: u64 = Keywords,
        /// The level of detail.
        pub log_level: EventLevel = LogLevel,
        /// The provider's name.
        pub provider_name: IpcString<'a> = ProviderName,
    }
}

/// The fields before the providers of a session request.
///
/// ```
/// use dotnet_diagnostics_ipc::{command::Command, legacy::SessionLayout};
///
/// assert_eq!(SessionLayout::Draft.command(), Command::COLLECT_TRACING);
/// assert_eq!(SessionLayout::CollectTracing2.command(), Command::COLLECT_TRACING2);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SessionLayout {
    /// `CollectTracing` of the draft: `circularBufferMB, outputPath`.
    Draft,
    /// `CollectTracing` since 3.x: `circularBufferMB, format`.
    CollectTracing,
    /// `CollectTracing2`: `circularBufferMB, format, requestRundown`.
    CollectTracing2,
}

impl SessionLayout {
    /// The command of the payload.
    pub const fn command(self) -> Command {
        match self {
            Self::Draft | Self::CollectTracing => Command::COLLECT_TRACING,
            Self::CollectTracing2 => Command::COLLECT_TRACING2,
        }
    }
}

/// A session request whose providers lack `filter_data`, of any [`SessionLayout`].
///
/// There is no encoder: omitting the string crashes released runtimes (F-83).
///
/// ```
/// use dotnet_diagnostics_ipc::{legacy::CollectTracingWithoutFilterData, wire::{Array, IpcString}};
///
/// let of_the_draft = CollectTracingWithoutFilterData {
///     circular_buffer_mb: 250,
///     output_path: Some(IpcString::ABSENT),
///     format: None,
///     request_rundown: None,
///     providers: Array::EMPTY,
/// };
/// assert!(of_the_draft.providers.is_empty());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CollectTracingWithoutFilterData<'a> {
    /// The size of the buffer, in MB.
    pub circular_buffer_mb: u32,
    /// The path of the draft.
    pub output_path: Option<IpcString<'a>>,
    /// The format of the stream; not in the draft.
    pub format: Option<Format>,
    /// Whether rundown is requested; only in `CollectTracing2`.
    pub request_rundown: Option<bool>,
    /// The providers to enable.
    pub providers: Array<'a, ProviderConfigWithoutFilterData<'a>>,
}

/// Reads a session request in which every provider lacks `filter_data`, a reading of "optional"
/// that no runtime shares.
///
/// This is for requests recorded from such a client. The bytes do not show whether the string is
/// present, so the caller decides for all providers by calling this function; and no bytes may
/// follow the last provider.
///
/// ```
/// use dotnet_diagnostics_ipc::{legacy::{SessionLayout, decode_without_filter_data}, message::Message};
///
/// // One provider, `A`, of level 2, whose name is the last of the message.
/// let bytes = b"DOTNET_IPC_V1\0\x34\0\x02\x02\0\0\xfa\0\0\0\x01\0\0\0\x01\0\0\0\0\0\0\0\0\0\0\0\x02\0\0\0\x02\0\0\0A\0\0\0";
/// let message = Message::decode(bytes)?;
/// assert!(message.request().is_err());
/// let request = decode_without_filter_data(&message, SessionLayout::CollectTracing)?;
/// assert_eq!(request.providers.iter().next().unwrap().provider_name, "A");
/// # Ok::<(), dotnet_diagnostics_ipc::wire::WireError>(())
/// ```
///
/// # Errors
/// [`UnexpectedCommand`](WireErrorKind::UnexpectedCommand) if the header's command is not the
/// layout's, those of the payload, and [`BytesAfterMessage`](WireErrorKind::BytesAfterMessage) if
/// bytes are left.
pub fn decode_without_filter_data<'a>(
    message: &Message<'a>,
    layout: SessionLayout,
) -> Result<CollectTracingWithoutFilterData<'a>, WireError> {
    let command = layout.command();
    message.expect(command)?;
    read(Reader::at(message.payload, HEADER_LEN), layout)
        .map_err(|error| error.in_root(Root::of(command)))
}

fn read(
    mut reader: Reader<'_>,
    layout: SessionLayout,
) -> Result<CollectTracingWithoutFilterData<'_>, WireError> {
    let circular_buffer_mb = reader.field(Field::CircularBufferMb)?;
    let (output_path, format) = match layout {
        SessionLayout::Draft => (Some(reader.field(Field::OutputPath)?), None),
        _ => (None, Some(reader.field(Field::Format)?)),
    };
    let request_rundown = match layout {
        SessionLayout::CollectTracing2 => Some(reader.field(Field::RequestRundown)?),
        _ => None,
    };
    let providers = reader.field(Field::Providers)?;
    match reader.rest().len() {
        0 => Ok(CollectTracingWithoutFilterData {
            circular_buffer_mb,
            output_path,
            format,
            request_rundown,
            providers,
        }),
        extra => Err(WireError::new(
            WireErrorKind::BytesAfterMessage { extra: clamp(extra) },
            reader.offset(),
        )),
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use crate::message::encode;
    use crate::message::eventpipe::{CollectTracing, ProviderConfig};
    use std::{string::ToString, vec::Vec};

    fn message(code: u16, parts: &[&[u8]]) -> Vec<u8> {
        let payload = parts.concat();
        let size = u16::try_from(HEADER_LEN + payload.len()).unwrap();
        [&b"DOTNET_IPC_V1\0"[..], &size.to_le_bytes(), &code.to_be_bytes(), &[0, 0], &payload]
            .concat()
    }

    const PROVIDER: &[u8] = b"\x64\0\0\0\0\0\0\0\x02\0\0\0\x02\0\0\0A\0\0\0";

    #[test]
    fn each_layout_reads_two_providers() {
        let cases = [
            (SessionLayout::Draft, 0x0202, &b"\xfa\0\0\0\0\0\0\0\x02\0\0\0"[..]),
            (SessionLayout::CollectTracing, 0x0202, b"\xfa\0\0\0\x01\0\0\0\x02\0\0\0"),
            (SessionLayout::CollectTracing2, 0x0203, b"\xfa\0\0\0\x01\0\0\0\x01\x02\0\0\0"),
        ];
        for (layout, code, front) in cases {
            let bytes = message(code, &[front, PROVIDER, PROVIDER]);
            let request =
                decode_without_filter_data(&Message::decode(&bytes).unwrap(), layout).unwrap();
            assert_eq!((request.circular_buffer_mb, request.providers.len()), (250, 2));
            assert_eq!(request.output_path.is_some(), layout == SessionLayout::Draft);
            assert_eq!(request.format.is_some(), layout != SessionLayout::Draft);
            assert_eq!(
                request.request_rundown,
                (layout == SessionLayout::CollectTracing2).then_some(true)
            );
            for len in 20..bytes.len() {
                let cut = Message { payload: &bytes[20..len], ..Message::decode(&bytes).unwrap() };
                assert!(
                    decode_without_filter_data(&cut, layout).is_err(),
                    "{layout:?} cut to {len}"
                );
            }
        }
    }

    #[test]
    fn request_with_filter_data_is_refused() {
        let provider = ProviderConfig {
            keywords: 1,
            log_level: EventLevel::ERROR,
            provider_name: "A".into(),
            arguments: IpcString::ABSENT,
        };
        let mut buffer = [0; 100];
        let providers = [provider];
        let request = CollectTracing {
            circular_buffer_mb: 1,
            format: Format::NET_TRACE,
            providers: Array::new(&providers),
        };
        let len = encode(Command::COLLECT_TRACING, &request, &mut buffer).unwrap();
        let message = Message::decode(&buffer[..len]).unwrap();
        let error =
            decode_without_filter_data(&message, SessionLayout::CollectTracing).unwrap_err();
        assert_eq!(
            (error.kind(), error.offset()),
            (WireErrorKind::BytesAfterMessage { extra: 4 }, 52)
        );
        assert_eq!(error.path().to_string(), "CollectTracing");
        let other =
            decode_without_filter_data(&message, SessionLayout::CollectTracing2).unwrap_err();
        assert_eq!(
            other.kind(),
            WireErrorKind::UnexpectedCommand { code: 0x0202, expected: 0x0203 }
        );
    }
}
