//! The limits of session requests that a server checks (F-16, F-21, F-30, P-19, P-43).

use super::{
    EventLevel, Format, ProviderConfig, StreamingProviderConfig, TracepointConfig, TracepointSet,
    UserEventsProviderConfig,
};
use crate::wire::{
    self, Array, Decode, Encode, Field, IpcString, Layout, WireError, WireErrorKind, clamp,
};

/// The maximum number of providers in a session (F-16).
pub const MAX_PROVIDERS: usize = 1000;

/// The maximum number of concurrent sessions of a runtime (F-32).
pub const MAX_SESSIONS: usize = 64;

/// The maximum length of a tracepoint's name in UTF-8 bytes, limited by the kernel (F-65).
pub const MAX_TRACEPOINT_NAME_LEN: usize = wire::MAX_TRACEPOINT_NAME_LEN as usize;

/// Checks `circularBufferMB` and `format`.
pub(super) fn check_stream(
    session: &impl Layout,
    (buffer_field, buffer_mb): (Field, u32),
    (format_field, format): (Field, Format),
) -> Result<(), WireError> {
    if buffer_mb == 0 {
        return session.refuse(buffer_field, WireErrorKind::ZeroBuffer);
    }
    match format.name() {
        Some(_) => Ok(()),
        None => session.refuse(format_field, WireErrorKind::UnknownFormat { format: format.0 }),
    }
}

/// Checks the providers of a session.
#[inline]
pub(super) fn check_providers<'a, P: Provider<'a>>(
    session: &impl Layout,
    providers: Array<'a, P>,
) -> Result<(), WireError> {
    session.in_field(Field::Providers, check_each_provider(providers))
}

/// Compiled once for each form of a provider. Not inlined, like the steps below, so that each step
/// uses stack only while it runs.
#[inline(never)]
fn check_each_provider<'a, P: Provider<'a>>(providers: Array<'a, P>) -> Result<(), WireError> {
    match providers.len() {
        0 => return Err(WireError::new(WireErrorKind::NoProviders, 0)),
        1..=MAX_PROVIDERS => {}
        n => return Err(WireError::new(WireErrorKind::TooManyProviders { count: clamp(n) }, 0)),
    }
    check_items(providers, |_, provider| check_provider(provider))
}

/// Checks each item of an array. A server registers tracepoints only after it has read the whole
/// request, so an error of registration counts only if nothing else is refused.
#[inline]
fn check_items<'a, T: Decode<'a> + Encode + Copy>(
    items: Array<'a, T>,
    check: impl Fn(usize, &T) -> Result<(), WireError>,
) -> Result<(), WireError> {
    // The first item with a tracepoint that cannot be registered. Round two returns its error.
    let (mut later, mut is_second) = (usize::MAX, false);
    loop {
        let (mut all, mut index) = (items.iter(), 0usize);
        // A reference avoids a second item on the stack.
        while let Some(item) = all.next().as_ref() {
            let mut checked = check(index, item);
            if let Err(error) = &mut checked {
                if !is_of_registration(error) || is_second && index == later {
                    in_item(items, index, error);
                    return checked;
                }
                later = later.min(index);
            }
            index = index.saturating_add(1);
        }
        if later == usize::MAX {
            return Ok(());
        }
        is_second = true;
    }
}

/// Returns whether a server finds the error only during registration, after it has read all.
#[cold]
fn is_of_registration(error: &WireError) -> bool {
    matches!(
        error.kind(),
        WireErrorKind::TracepointNameTooLong { .. } | WireErrorKind::DuplicateEventId { .. }
    )
}

/// Moves an error into item `index` of an array. Only an error needs the offset of the item.
#[cold]
#[inline(never)]
fn in_item<'a, T: Decode<'a> + Encode + Copy>(
    items: Array<'a, T>,
    index: usize,
    error: &mut WireError,
) {
    let lens = items.iter().take(index).map(|item| item.encoded_len().unwrap_or(usize::MAX));
    error.move_behind(lens.fold(Array::<T>::MIN_LEN, usize::saturating_add));
    error.path_mut().index(index);
}

#[inline]
fn check_provider<'a, P: Provider<'a>>(provider: &P) -> Result<(), WireError> {
    let (level, name, config) = provider.parts();
    if level.name().is_none() {
        return provider
            .refuse(Field::LogLevel, WireErrorKind::LogLevelOutOfRange { level: level.0 });
    }
    if name.is_blank_to_runtimes() {
        return provider.refuse(Field::ProviderName, WireErrorKind::EmptyProviderName);
    }
    match config {
        Some(config) => provider.in_field(Field::Config, check_config(config)),
        None => Ok(()),
    }
}

#[inline(never)]
fn check_config(config: &TracepointConfig<'_>) -> Result<(), WireError> {
    if !config.has_tracepoint() {
        return Err(WireError::new(WireErrorKind::NoTracepoint, 0));
    }
    let sets = check_sets(config.tracepoints, config.duplicate_event_id());
    if sets.as_ref().map_or_else(is_of_registration, |()| true) {
        check_name_len(config, Field::DefaultTracepointName, config.default_tracepoint_name)?;
    }
    config.in_field(Field::Tracepoints, sets)
}

/// Checks the sets, one of which repeats an id.
#[inline(never)]
fn check_sets(
    sets: Array<'_, TracepointSet<'_>>,
    duplicate: Option<(usize, usize)>,
) -> Result<(), WireError> {
    check_items(sets, |index, set| {
        if set.tracepoint_name.is_blank_to_runtimes() {
            return set.refuse(Field::TracepointName, WireErrorKind::EmptyTracepointName);
        }
        check_name_len(set, Field::TracepointName, set.tracepoint_name)?;
        match duplicate {
            Some((nth_set, nth)) if nth_set == index => {
                set.in_field(Field::EventIds, refuse_id(set.event_ids, nth))
            }
            _ => Ok(()),
        }
    })
}

/// Returns the error of the id at index `nth`, which an earlier set or item also contains.
#[cold]
#[inline(never)]
fn refuse_id(ids: Array<'_, u32>, nth: usize) -> Result<(), WireError> {
    check_items(ids, |at, id| {
        if at == nth {
            Err(WireError::new(WireErrorKind::DuplicateEventId { id: *id }, 0))
        } else {
            Ok(())
        }
    })
}

/// Checks the length of a tracepoint's name. Released .NET 10 builds do not check it, and crash on
/// a longer name (P-19).
#[inline(never)]
fn check_name_len(of: &impl Layout, field: Field, name: IpcString<'_>) -> Result<(), WireError> {
    let len = utf8_len(name);
    if len > MAX_TRACEPOINT_NAME_LEN {
        of.refuse(field, WireErrorKind::TracepointNameTooLong { len: clamp(len) })
    } else {
        Ok(())
    }
}

/// Returns the length of a name after a runtime has converted it to UTF-8. The first NUL ends it,
/// and half a surrogate pair becomes U+FFFD. (10.0.9 drops a first half at the end of the name;
/// this function still counts it.)
fn utf8_len(name: IpcString<'_>) -> usize {
    let chars = name.chars().map(|c| c.unwrap_or(char::REPLACEMENT_CHARACTER));
    chars.take_while(|c| *c != '\0').map(char::len_utf8).fold(0, usize::saturating_add)
}

/// Any of the three forms of a provider.
pub(super) trait Provider<'a>: Decode<'a> + Encode + Layout + Copy {
    /// Returns the parts that a server checks. Only a provider of `user_events` has tracepoints.
    fn parts(&self) -> (EventLevel, IpcString<'a>, Option<&TracepointConfig<'a>>);
}

macro_rules! providers {
    ($($Provider:ident, |$it:ident| $config:expr;)*) => {$(
        impl<'a> Provider<'a> for $Provider<'a> {
            fn parts(&self) -> (EventLevel, IpcString<'a>, Option<&TracepointConfig<'a>>) {
                let $it = self;
                ($it.log_level, $it.provider_name, $config)
            }
        }
    )*};
}

providers! {
    ProviderConfig, |it| None;
    StreamingProviderConfig, |it| None;
    UserEventsProviderConfig, |it| Some(&it.config);
}
