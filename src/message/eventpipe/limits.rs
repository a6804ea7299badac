//! What a server asks of a session request beyond its grammar (F-16, F-21, F-30, P-19).

use super::{EventLevel, Format, ProviderConfig, StreamingProviderConfig, TracepointConfig, UserEventsProviderConfig};
use crate::wire::{Array, Decode, Encode, Field, IpcString, LimitError, LimitKind, clamp};

/// The most providers that a session may have (F-16).
pub const MAX_PROVIDERS: usize = 1000;

/// The most sessions that a runtime has at a time (F-32).
pub const MAX_SESSIONS: usize = 64;

/// The most bytes that a tracepoint's name may have in UTF-8: what the fields leave of a command string (F-65).
pub const MAX_TRACEPOINT_NAME_LEN: usize = 436;

/// The limits of `circularBufferMB` and of the `format` behind it. `at` is the offset of the first.
pub(super) fn check_stream(
    at: usize,
    (buffer_field, buffer_mb): (Field, u32),
    (format_field, format): (Field, Format),
) -> Result<(), LimitError> {
    if buffer_mb == 0 {
        return Err(LimitError::new(LimitKind::ZeroBuffer, at).within(buffer_field));
    }
    if format.name().is_none() {
        return Err(LimitError::new(LimitKind::UnknownFormat(format.0), behind(at, &buffer_mb)).within(format_field));
    }
    Ok(())
}

/// The limits of the array of providers at offset `at`.
pub(super) fn check_providers<'a, P: Provider<'a>>(at: usize, providers: Array<'a, P>) -> Result<(), LimitError> {
    let fail = |kind| Err(LimitError::new(kind, at).within(Field::Providers));
    match providers.len() {
        0 => return fail(LimitKind::NoProviders),
        1..=MAX_PROVIDERS => {}
        n => return fail(LimitKind::TooManyProviders(clamp(n))),
    }
    let mut at = at.saturating_add(4);
    for (index, provider) in providers.iter().enumerate() {
        check_provider(at, &provider).map_err(|error| error.at_index(index).within(Field::Providers))?;
        at = behind(at, &provider);
    }
    Ok(())
}

fn check_provider<'a, P: Provider<'a>>(at: usize, provider: &P) -> Result<(), LimitError> {
    let (level, name) = (provider.log_level(), provider.provider_name());
    let at = at.saturating_add(8); // behind keywords
    if level.name().is_none() {
        return Err(LimitError::new(LimitKind::LogLevelOutOfRange(level.0), at).within(Field::LogLevel));
    }
    let at = behind(at, &level);
    if name.is_empty() {
        return Err(LimitError::new(LimitKind::EmptyProviderName, at).within(Field::ProviderName));
    }
    provider.check_config(behind(at, &name))
}

fn check_config(at: usize, config: &TracepointConfig<'_>) -> Result<(), LimitError> {
    if !config.has_tracepoint() {
        return Err(LimitError::new(LimitKind::NoTracepoint, at));
    }
    check_name_len(at, config.default_tracepoint_name).map_err(|error| error.within(Field::DefaultTracepointName))?;
    let duplicate = config.duplicate_event_id();
    let mut at = behind(at, &config.default_tracepoint_name).saturating_add(4);
    for (index, set) in config.tracepoints.iter().enumerate() {
        let in_set = |error: LimitError| error.at_index(index).within(Field::Tracepoints);
        if set.tracepoint_name.is_empty() {
            return Err(in_set(LimitError::new(LimitKind::EmptyTracepointName, at).within(Field::TracepointName)));
        }
        check_name_len(at, set.tracepoint_name).map_err(|error| in_set(error.within(Field::TracepointName)))?;
        if let Some((_, nth)) = duplicate.filter(|(nth_set, _)| *nth_set == index) {
            let id = set.event_ids.iter().nth(nth).unwrap_or_default();
            let offset = behind(at, &set.tracepoint_name).saturating_add(4).saturating_add(nth.saturating_mul(4));
            return Err(in_set(LimitError::new(LimitKind::DuplicateEventId(id), offset).at_index(nth).within(Field::EventIds)));
        }
        at = behind(at, &set);
    }
    Ok(())
}

/// The limit of a tracepoint's name at offset `at`. Released .NET 10 builds do not ask, and die of a longer name (P-19).
fn check_name_len(at: usize, name: IpcString<'_>) -> Result<(), LimitError> {
    let len = utf8_len(name);
    if len > MAX_TRACEPOINT_NAME_LEN {
        return Err(LimitError::new(LimitKind::TracepointNameTooLong(clamp(len)), at));
    }
    Ok(())
}

/// How many bytes a runtime makes of a name: it ends at the first NUL, and half a surrogate pair becomes U+FFFD. (Seen on 10.0.9;
/// the first half of a pair at the end is dropped there, which is not asked here.)
fn utf8_len(name: IpcString<'_>) -> usize {
    let chars = name.chars().map(|c| c.unwrap_or(char::REPLACEMENT_CHARACTER));
    chars.take_while(|c| *c != '\0').map(char::len_utf8).fold(0, usize::saturating_add)
}

/// The offset behind a value that stands at `at`.
fn behind(at: usize, value: &impl Encode) -> usize {
    at.saturating_add(value.encoded_len().unwrap_or(usize::MAX))
}

/// What the three forms of a provider have in common.
pub(super) trait Provider<'a>: Decode<'a> + Encode + Copy {
    fn log_level(&self) -> EventLevel;
    fn provider_name(&self) -> IpcString<'a>;

    /// The limits of what stands behind `provider_name`, which ends at `at`.
    fn check_config(&self, at: usize) -> Result<(), LimitError> {
        let _ = at;
        Ok(())
    }
}

macro_rules! providers {
    ($($Provider:ident { $($check_config:item)? })*) => {$(
        impl<'a> Provider<'a> for $Provider<'a> {
            fn log_level(&self) -> EventLevel {
                self.log_level
            }

            fn provider_name(&self) -> IpcString<'a> {
                self.provider_name
            }

            $($check_config)?
        }
    )*};
}

providers! {
    ProviderConfig {}
    StreamingProviderConfig {}
    UserEventsProviderConfig {
        fn check_config(&self, at: usize) -> Result<(), LimitError> {
            let at = behind(behind(at, &self.arguments), &self.filter);
            check_config(at, &self.config).map_err(|error| error.within(Field::Config))
        }
    }
}
