//! The events that a session asks for, and a check of the events that were received.

use alloc::{
    format,
    string::{String, ToString as _},
    vec::Vec,
};

use super::{Cursor, OF_THE_SESSION, Stop};
use dotnet_diagnostics_ipc::message::eventpipe::{
    CollectTracing5, CollectTracing6, StreamingProviderConfig,
};
use dotnet_diagnostics_ipc::message::{AnyRequest, Message};

/// The name that stands for every provider.
const EVERY_PROVIDER: &str = "*";

/// The events that the request of a session asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AskedEvents(Vec<AskedProvider>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct AskedProvider {
    name: String,
    keywords: u64,
    level: u32,
    is_listed_on: bool,
    listed: Vec<u32>,
}

impl AskedEvents {
    /// Returns what a request asks for, if it begins a session that streams.
    pub fn of(request: &[u8]) -> Option<Self> {
        let message = Message::decode_prefix(request).ok()?.0;
        let plain = |provider| StreamingProviderConfig::from(provider);
        Some(match message.request().ok()? {
            AnyRequest::CollectTracing(it) => it.providers.iter().map(plain).collect(),
            AnyRequest::CollectTracing2(it) => it.providers.iter().map(plain).collect(),
            AnyRequest::CollectTracing3(it) => it.providers.iter().map(plain).collect(),
            AnyRequest::CollectTracing4(it) => it.providers.iter().map(plain).collect(),
            AnyRequest::CollectTracing5(CollectTracing5::Streaming(it)) => {
                it.providers.iter().collect()
            }
            AnyRequest::CollectTracing6(CollectTracing6::Streaming(it)) => {
                it.providers.iter().collect()
            }
            _ => return None,
        })
    }

    fn have(&self, event: &EventType) -> bool {
        OF_THE_SESSION.contains(&&*event.provider) || self.0.iter().any(|asked| asked.has(event))
    }
}

impl<'a> FromIterator<StreamingProviderConfig<'a>> for AskedEvents {
    fn from_iter<T: IntoIterator<Item = StreamingProviderConfig<'a>>>(providers: T) -> Self {
        let asked = |it: StreamingProviderConfig<'_>| AskedProvider {
            name: it.provider_name.to_string(),
            keywords: it.keywords,
            level: it.log_level.0,
            is_listed_on: it.filter.enable,
            listed: it.filter.event_ids.iter().collect(),
        };
        Self(providers.into_iter().map(asked).collect())
    }
}

impl AskedProvider {
    /// Returns whether the session lets an event through. As in ETW, keywords of 0 and a level of 0
    /// ask for all events, and an event without keywords or level passes always.
    fn has(&self, event: &EventType) -> bool {
        let is_in_keywords =
            self.keywords == 0 || event.keywords == 0 || self.keywords & event.keywords != 0;
        (self.name == EVERY_PROVIDER || self.name.eq_ignore_ascii_case(&event.provider))
            && is_in_keywords
            && (self.level == 0 || event.level <= self.level)
            && self.listed.contains(&event.id) == self.is_listed_on
    }
}

/// A type of events, as the stream describes it.
#[derive(Clone, Debug, PartialEq, Eq)]
struct EventType {
    provider: String,
    id: u32,
    keywords: u64,
    level: u32,
}

impl EventType {
    /// Reads the description after its number: provider, id, name, keywords, version, level.
    fn read(description: &[u8]) -> Result<Self, Stop> {
        let mut cursor = Cursor { bytes: description, at: 0 };
        let (provider, id, _name) = (cursor.text()?, cursor.u32()?, cursor.text()?);
        let (keywords, _version, level) = (cursor.u64()?, cursor.u32()?, cursor.u32()?);
        Ok(Self { provider, id, keywords, level })
    }
}

/// Says what is wrong with an event of this description, if the session has not asked for it.
pub(super) fn unasked(asked: &AskedEvents, description: &[u8]) -> Option<String> {
    let event = EventType::read(description).ok().filter(|event| !asked.have(event))?;
    let EventType { provider, id, keywords, level } = event;
    Some(format!("event {id} of {provider}, keywords {keywords:#x}, level {level}"))
}

#[cfg(test)]
mod tests {
    use core::iter;

    use super::*;
    use dotnet_diagnostics_ipc::message::eventpipe::{EventFilter, EventLevel};
    use dotnet_diagnostics_ipc::wire::{Array, IpcString};

    /// Event 10 of "P", without a name, with keyword 8, version 1 and level 4.
    const DESCRIPTION: &[u8] =
        b"P\0\0\0\x0a\0\0\0\0\0\x08\0\0\0\0\0\0\0\x01\0\0\0\x04\0\0\0\0\0\0\0";

    #[test]
    fn event_is_asked_for_by_name_keywords_level_and_filter() {
        let (all, none) = (EventFilter::ALL, EventFilter::NONE);
        let only = |ids| EventFilter { enable: true, event_ids: Array::new(ids) };
        let without = |ids| EventFilter { enable: false, event_ids: Array::new(ids) };
        for (name, keywords, level, filter, is_asked) in [
            ("P", 8, 4, all, true),
            ("p", 0xff, 5, all, true),
            ("*", u64::MAX, 5, all, true),
            ("P", 0, 0, all, true),
            ("P", 8, 4, only(&[10]), true),
            ("P", 8, 4, without(&[9]), true),
            ("Q", 8, 4, all, false),
            ("P", 7, 4, all, false),
            ("P", 8, 3, all, false),
            ("P", 8, 4, none, false),
            ("P", 8, 4, only(&[9, 11]), false),
            ("P", 8, 4, without(&[9, 10]), false),
        ] {
            let provider = StreamingProviderConfig {
                keywords,
                log_level: EventLevel(level),
                provider_name: name.into(),
                arguments: IpcString::ABSENT,
                filter,
            };
            let text = unasked(&iter::once(provider).collect(), DESCRIPTION);
            let expected = (!is_asked).then_some("event 10 of P, keywords 0x8, level 4");
            assert_eq!(text.as_deref(), expected, "{name} {keywords} {level} {filter:?}");
        }
        let nothing = AskedEvents(Vec::new());
        let of_the_session = [
            &b"M\0i\0c\0r\0o\0s\0o\0f\0t\0-\0D\0o\0t\0N\0E\0T\0C\0o\0r\0e\0-\0"[..],
            b"E\0v\0e\0n\0t\0P\0i\0p\0e\0",
            &DESCRIPTION[2..],
        ]
        .concat();
        assert_eq!(unasked(&nothing, &of_the_session), None);
        // A description that is cut is not judged.
        assert_eq!(unasked(&nothing, &DESCRIPTION[..DESCRIPTION.len() - 5]), None);
    }
}
