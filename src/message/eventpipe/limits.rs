//! What a server asks of a session request beyond its grammar (F-16, F-21, F-30, P-19, P-43).

use super::{EventLevel, Format, ProviderConfig, StreamingProviderConfig, TracepointConfig, UserEventsProviderConfig};
use crate::wire::{self, Array, Decode, Encode, Field, IpcString, Layout, LimitError, LimitKind, clamp};

/// The most providers that a session may have (F-16).
pub const MAX_PROVIDERS: usize = 1000;

/// The most sessions that a runtime has at a time (F-32).
pub const MAX_SESSIONS: usize = 64;

/// The most bytes that a tracepoint's name may have in UTF-8: what the fields leave of a command string (F-65).
pub const MAX_TRACEPOINT_NAME_LEN: usize = wire::MAX_TRACEPOINT_NAME_LEN;

/// The limits of `circularBufferMB` and of `format`.
pub(super) fn check_stream(
    session: &impl Layout,
    (buffer_field, buffer_mb): (Field, u32),
    (format_field, format): (Field, Format),
) -> Result<(), LimitError> {
    if buffer_mb == 0 {
        return session.refuse(buffer_field, LimitKind::ZeroBuffer);
    }
    match format.name() {
        Some(_) => Ok(()),
        None => session.refuse(format_field, LimitKind::UnknownFormat(format.0)),
    }
}

/// The limits of the providers of a session.
pub(super) fn check_providers<'a, P: Provider<'a>>(session: &impl Layout, providers: Array<'a, P>) -> Result<(), LimitError> {
    match providers.len() {
        0 => return session.refuse(Field::Providers, LimitKind::NoProviders),
        1..=MAX_PROVIDERS => {}
        n => return session.refuse(Field::Providers, LimitKind::TooManyProviders(clamp(n))),
    }
    check_items(session.offset_of(Field::Providers), providers, |_, provider| check_provider(provider))
        .map_err(|error| error.within(Field::Providers))
}

/// The limits of each item of an array at offset `at`.
fn check_items<'a, T: Decode<'a> + Encode + Copy>(
    at: usize,
    items: Array<'a, T>,
    check: impl Fn(usize, &T) -> Result<(), LimitError>,
) -> Result<(), LimitError> {
    let mut at = at.saturating_add(Array::<T>::MIN_LEN);
    for (index, item) in items.iter().enumerate() {
        check(index, &item).map_err(|error| error.behind(at).at_index(index))?;
        at = at.saturating_add(item.encoded_len().unwrap_or(usize::MAX));
    }
    Ok(())
}

fn check_provider<'a, P: Provider<'a>>(provider: &P) -> Result<(), LimitError> {
    let level = provider.log_level();
    if level.name().is_none() {
        return provider.refuse(Field::LogLevel, LimitKind::LogLevelOutOfRange(level.0));
    }
    if provider.provider_name().is_empty_to_runtimes() {
        return provider.refuse(Field::ProviderName, LimitKind::EmptyProviderName);
    }
    match provider.config() {
        Some(config) => {
            check_config(&config).map_err(|error| error.behind(provider.offset_of(Field::Config)).within(Field::Config))
        }
        None => Ok(()),
    }
}

fn check_config(config: &TracepointConfig<'_>) -> Result<(), LimitError> {
    if !config.has_tracepoint() {
        return Err(LimitError::new(LimitKind::NoTracepoint, 0));
    }
    check_name_len(config, Field::DefaultTracepointName, config.default_tracepoint_name)?;
    let duplicate = config.duplicate_event_id();
    check_items(config.offset_of(Field::Tracepoints), config.tracepoints, |index, set| {
        if set.tracepoint_name.is_empty_to_runtimes() {
            return set.refuse(Field::TracepointName, LimitKind::EmptyTracepointName);
        }
        check_name_len(set, Field::TracepointName, set.tracepoint_name)?;
        let Some((_, nth)) = duplicate.filter(|(nth_set, _)| *nth_set == index) else { return Ok(()) };
        check_items(set.offset_of(Field::EventIds), set.event_ids, |at, id| {
            if at == nth { Err(LimitError::new(LimitKind::DuplicateEventId(*id), 0)) } else { Ok(()) }
        })
        .map_err(|error| error.within(Field::EventIds))
    })
    .map_err(|error| error.within(Field::Tracepoints))
}

/// The limit of a tracepoint's name. Released .NET 10 builds do not ask, and die of a longer name (P-19).
fn check_name_len(of: &impl Layout, field: Field, name: IpcString<'_>) -> Result<(), LimitError> {
    let len = utf8_len(name);
    if len > MAX_TRACEPOINT_NAME_LEN { of.refuse(field, LimitKind::TracepointNameTooLong(clamp(len))) } else { Ok(()) }
}

/// How many bytes a runtime makes of a name: it ends at the first NUL, and half a surrogate pair becomes U+FFFD. (Seen on 10.0.9;
/// the first half of a pair at the end is dropped there, which is not asked here.)
fn utf8_len(name: IpcString<'_>) -> usize {
    let chars = name.chars().map(|c| c.unwrap_or(char::REPLACEMENT_CHARACTER));
    chars.take_while(|c| *c != '\0').map(char::len_utf8).fold(0, usize::saturating_add)
}

/// What the three forms of a provider have in common.
pub(super) trait Provider<'a>: Decode<'a> + Encode + Layout + Copy {
    fn log_level(&self) -> EventLevel;
    fn provider_name(&self) -> IpcString<'a>;

    fn config(&self) -> Option<TracepointConfig<'a>> {
        None
    }
}

macro_rules! providers {
    ($($Provider:ident $(with $config:ident)?;)*) => {$(
        impl<'a> Provider<'a> for $Provider<'a> {
            fn log_level(&self) -> EventLevel {
                self.log_level
            }

            fn provider_name(&self) -> IpcString<'a> {
                self.provider_name
            }

            $(fn config(&self) -> Option<TracepointConfig<'a>> {
                Some(self.$config)
            })?
        }
    )*};
}

providers! {
    ProviderConfig;
    StreamingProviderConfig;
    UserEventsProviderConfig with config;
}
