//! Requests of every command.

use std::collections::BTreeMap;

use dotnet_diagnostics_ipc::command::{Command, Continuation};
use dotnet_diagnostics_ipc::message::eventpipe::{CollectTracing3, Format};
use dotnet_diagnostics_ipc::message::{AnyRequest, Message};
use dotnet_diagnostics_ipc::wire::Array;
use dotnet_diagnostics_ipc_vectors as vectors;
use dotnet_diagnostics_ipc_vectors::{ExpectedResult, Type};

use crate::client::{COLLECT, PROVIDERS};

pub(crate) const COLLECT2: AnyRequest<'_> = AnyRequest::CollectTracing2(COLLECT);
pub(crate) const COLLECT3: AnyRequest<'_> = AnyRequest::CollectTracing3(CollectTracing3 {
    circular_buffer_mb: 1,
    format: Format::NET_TRACE,
    request_rundown: false,
    request_stackwalk: false,
    providers: Array::new(PROVIDERS),
});
pub(crate) const USER_EVENTS: AnyRequest<'_> =
    AnyRequest::CollectTracing5(crate::client::USER_EVENTS);

pub(crate) fn decoded(message: &[u8]) -> AnyRequest<'_> {
    Message::decode(message).unwrap().request().unwrap()
}

/// The first request of each command in the vectors that a server accepts, and that passes no
/// descriptor.
pub(crate) fn commands() -> BTreeMap<Command, Vec<u8>> {
    let mut commands = BTreeMap::new();
    for group in vectors::files().unwrap().into_iter().flat_map(|file| file.groups) {
        for test in group.tests {
            let (Type::Request, ExpectedResult::Valid, Some(wire)) =
                (group.kind, test.result, test.wire)
            else {
                continue;
            };
            let request = decoded(&wire);
            if request.check_limits().is_ok()
                && request.continuation().is_some_and(|it| it != Continuation::UserEvents)
            {
                commands.entry(request.command()).or_insert(wire);
            }
        }
    }
    assert!(commands.keys().copied().eq(Command::known()));
    commands
}
