//! The two cursors agree: what a [`Reader`] reads, a [`Scan`] skips, and what one refuses the other
//! does too. [`Array`] relies on it: it reads its items twice.
#![cfg(test)]

extern crate std;

use core::fmt::Debug;
use std::vec::Vec;

use dotnet_diagnostics_ipc_vectors::{Type, files};

use crate::command::Command;
use crate::continuation::{Entry, FdByte};
use crate::header::HEADER_LEN;
use crate::hresult::HResult;
use crate::message::eventpipe::{
    EventFilter, ProviderConfig, StreamingProviderConfig, TracepointConfig, TracepointSet,
    UserEventsProviderConfig,
};
use crate::message::process::Tail;
use crate::message::{AnyReply, AnyRequest};
use crate::user_events::{Extension, Metadata, RelLoc};
use crate::wire::{Array, Decode, DecodeErrorKind, Guid, IpcString, Reader, Scan};

/// Asserts that both find the same value at the front of `bytes`, or none.
#[track_caller]
fn agree<'a, T: PartialEq + Debug>(
    bytes: &'a [u8],
    by_reader: impl FnOnce(&mut Reader<'a>) -> Option<T>,
    by_scan: impl FnOnce(&mut Scan<'a>) -> Option<T>,
) {
    let (mut reader, mut scan) = (Reader::new(bytes), Scan::new(bytes));
    let read = reader.explain(by_reader);
    assert_eq!(read.as_ref().ok(), by_scan(&mut scan).as_ref(), "{bytes:02x?}");
    match read {
        Ok(_) => assert_eq!(reader.rest(), scan.rest(), "{bytes:02x?}"),
        // What a reader invents that has kept no error.
        Err(error) => assert!(
            !matches!(error.kind(), DecodeErrorKind::UnexpectedEnd { needed: 0, .. }),
            "{bytes:02x?}: {error}"
        ),
    }
}

#[track_caller]
fn of_type<'a, T: Decode<'a> + PartialEq + Debug>(bytes: &'a [u8]) {
    agree(bytes, T::read, T::read);
}

/// Each type that is not a whole payload, and those that are checked as the items of an array.
fn as_every_piece(bytes: &[u8]) {
    macro_rules! pieces {
        ($($T:ty),* $(,)?) => {$( of_type::<$T>(bytes); )*};
    }
    pieces! {
        u8, u16, u32, i32, u64, bool, HResult, Guid, IpcString<'_>, &[u8], Array<'_, u16>, Array<'_, u32>,
        Array<'_, IpcString<'_>>, EventFilter<'_>, TracepointSet<'_>, TracepointConfig<'_>, ProviderConfig<'_>,
        StreamingProviderConfig<'_>, UserEventsProviderConfig<'_>, Array<'_, EventFilter<'_>>, Array<'_, TracepointSet<'_>>,
        Array<'_, ProviderConfig<'_>>, Array<'_, StreamingProviderConfig<'_>>, Array<'_, UserEventsProviderConfig<'_>>,
        Entry<'_>, Array<'_, Entry<'_>>, FdByte, RelLoc, Metadata<'_>, Extension<'_>, Tail<'_>, (),
    }
}

/// The payload as that of `command`, and as the reply to it.
fn as_message(command: Command, payload: &[u8]) {
    agree(
        payload,
        |reader| AnyRequest::build(command, reader).ok(),
        |scan| AnyRequest::build(command, scan).ok(),
    );
    if let Some(reply_type) = command.reply_type() {
        agree(
            payload,
            |reader| AnyReply::build(reply_type, reader).ok(),
            |scan| AnyReply::build(reply_type, scan).ok(),
        );
    }
}

/// What to read each vector as: the bytes, and the command of a message.
fn inputs() -> Vec<(Vec<u8>, Option<Command>)> {
    let mut inputs = Vec::new();
    for group in files().unwrap().iter().flat_map(|file| &file.groups) {
        let command = group.command.as_ref().and_then(|name| name.parse().ok());
        let is_message = matches!(group.kind, Type::Request | Type::Reply | Type::LegacyRequest);
        for wire in group.tests.iter().filter_map(|test| test.wire.as_ref()) {
            inputs.push(match wire.get(HEADER_LEN..).filter(|_| is_message) {
                Some(payload) => (payload.to_vec(), command),
                None => (wire.clone(), None),
            });
        }
    }
    assert!(inputs.len() > 1000, "{}", inputs.len());
    inputs
}

#[test]
fn cursors_agree_on_every_vector_as_every_type() {
    for (bytes, _) in inputs() {
        as_every_piece(&bytes);
        Command::known().for_each(|command| as_message(command, &bytes));
    }
}

/// Cut at each byte, and with each byte changed in four ways. Long ones have nothing that short ones
/// lack.
#[test]
fn cursors_agree_on_damaged_bytes() {
    for (bytes, command) in inputs().into_iter().filter(|(bytes, _)| bytes.len() <= 1024) {
        let check = |bytes: &[u8]| match command {
            Some(command) => as_message(command, bytes),
            None => as_every_piece(bytes),
        };
        // Most counts are at the front.
        let len = bytes.len().min(200);
        (0..len).for_each(|cut| check(&bytes[..cut]));
        let mut damaged = bytes.clone();
        for at in 0..len {
            for value in [0, 0xff, bytes[at] ^ 1, bytes[at] ^ 0x80] {
                damaged[at] = value;
                check(&damaged);
            }
            damaged[at] = bytes[at];
        }
    }
}
