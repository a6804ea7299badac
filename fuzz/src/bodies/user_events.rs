//! Reads `user_events` data for the kernel, and routes events as its readers do.

use std::fmt::Debug;

use super::{show, written};
use dotnet_diagnostics_ipc::message::eventpipe::{EventLevel, UserEventsSession};
use dotnet_diagnostics_ipc::user_events::{
    EventTraits, Extension, Metadata, Record, TracepointCommand, UserReg, UserUnreg, WrittenRecord,
    route,
};
use dotnet_diagnostics_ipc::wire::{Decode as _, Encode, Reader, WireError};

/// Takes `[type, bytes …]`.
pub fn user_events(input: &[u8]) {
    let Some((which, bytes)) = input.split_first() else { return };
    match which % 8 {
        0 => record(bytes),
        1 => extension(bytes),
        2 => match TracepointCommand::parse(bytes) {
            Ok(command) => {
                assert_eq!(written(&command), bytes);
                assert_eq!(command.to_string().as_bytes(), bytes);
                assert_eq!(TracepointCommand::new(command.name()), Ok(command));
            }
            Err(error) => refused(error, bytes),
        },
        3 => structure(bytes, UserReg::decode),
        4 => structure(bytes, UserUnreg::decode),
        6 => routes(bytes),
        _ => {
            if let Ok((name, rest)) = Metadata::new(bytes).split_provider_name() {
                let named = Metadata::named(name, rest).unwrap();
                assert!(named == Metadata::new(bytes) && named.len() == bytes.len());
            }
        }
    }
}

fn refused(error: WireError, bytes: &[u8]) {
    assert!(error.offset() <= bytes.len(), "{error}");
    show(error.to_string());
}

fn record(bytes: &[u8]) {
    let read = match WrittenRecord::decode(&mut Reader::new(bytes)) {
        Ok(read) => read,
        Err(error) => return refused(error, bytes),
    };
    // Parts may overlap or leave gaps, but they follow one another when written.
    let again = written(&read);
    assert_eq!(WrittenRecord::decode(&mut Reader::new(&again)), Ok(read));
    if let Record::V1(record) = read.record {
        match record.extension() {
            Ok(found) => assert_eq!(written(&found), record.extension),
            Err(error) => refused(error, record.extension),
        }
    }
}

fn extension(bytes: &[u8]) {
    match Extension::decode(&mut Reader::new(bytes)) {
        Ok(read) => {
            let items: Vec<_> = read.iter().collect();
            show(&items);
            assert_eq!(Extension::new(&items), read);
            assert_eq!(written(&read), bytes);
        }
        Err(error) => refused(error, bytes),
    }
}

fn structure<T: Encode + PartialEq + Debug>(
    bytes: &[u8],
    decode: fn(&mut Reader<'_>) -> Result<T, WireError>,
) {
    let mut reader = Reader::new(bytes);
    match decode(&mut reader) {
        Ok(read) => {
            let again = written(&read);
            assert_eq!(decode(&mut Reader::new(&again)).as_ref(), Ok(&read));
            assert_eq!(again.len(), reader.offset());
        }
        Err(error) => refused(error, bytes),
    }
}

/// Checks that an event goes to the tracepoint of its session's request: `[keywords, level, id,
/// session …]`.
fn routes(bytes: &[u8]) {
    let Some(([keywords, level, id], payload)) = bytes.split_first_chunk::<3>() else { return };
    let Ok(session) = UserEventsSession::decode(&mut Reader::new(payload)) else { return };
    let event = EventTraits {
        keywords: u64::from(*keywords),
        level: EventLevel(u32::from(*level)),
        id: u32::from(*id),
    };
    for provider in session.providers.iter().take(16) {
        if let Some(name) = route(&provider, event).tracepoint() {
            assert_eq!(provider.config.tracepoint_for(event.id), Some(name));
            assert!(provider.filter.allows(event.id));
        }
    }
}
