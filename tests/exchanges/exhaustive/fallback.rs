//! Each request with a fallback × a server of each version: down to the newest command that it knows, or until no
//! older one can request the same.

use std::collections::BTreeSet;

use dotnet_diagnostics_ipc::command::{Command, DotnetVersion};
use dotnet_diagnostics_ipc::exchange::fallback::{DroppedFields, Fallback, FallbackError};
use dotnet_diagnostics_ipc::exchange::{
    KnownCommands, ParsedRequest, RefusalReason, Server, ServerAction, ServerOptions,
};
use dotnet_diagnostics_ipc::hresult::HResult;
use dotnet_diagnostics_ipc::message::dump::{DumpFlags, DumpType, GenerateCoreDump3};
use dotnet_diagnostics_ipc::message::eventpipe::{
    CollectTracing6, EventFilter, EventLevel, Format, SessionBufferMode, StreamingProviderConfig,
    StreamingSession6, UserEventsSession,
};
use dotnet_diagnostics_ipc::message::process::ProcessInfo3;
use dotnet_diagnostics_ipc::message::{AnyRequest, encode};
use dotnet_diagnostics_ipc::wire::{Array, IpcString};

const VERSIONS: [(u8, u8); 9] =
    [(2, 0), (3, 1), (5, 0), (6, 0), (7, 0), (8, 0), (9, 0), (10, 0), (11, 0)];
const LOSSES: [DroppedFields; 5] = [
    DroppedFields::BUFFER_MODE,
    DroppedFields::EVENT_FILTERS,
    DroppedFields::RUNDOWN_KEYWORD,
    DroppedFields::STACKS,
    DroppedFields::DUMP_FLAGS,
];

/// Every set of what may be dropped.
fn allowed() -> impl Iterator<Item = DroppedFields> {
    (0..1 << LOSSES.len()).map(|set: u32| {
        let within = LOSSES.iter().enumerate().filter(move |(bit, _)| set >> bit & 1 == 1);
        within.fold(DroppedFields::NONE, |all, (_, loss)| all.with(*loss))
    })
}

#[derive(Default)]
struct Walked {
    states: BTreeSet<String>,
    steps: usize,
    ends: BTreeSet<String>,
}

impl Walked {
    /// Steps down from `newest` with a server of each version. `needed` is what the request loses on
    /// the step from each command.
    fn walk(
        &mut self,
        newest: AnyRequest<'_>,
        allowed: DroppedFields,
        needed: impl Fn(Command) -> DroppedFields,
    ) {
        for (major, minor) in VERSIONS {
            let known = KnownCommands::UpTo(DotnetVersion { major, minor });
            let mut fallback = Fallback::new(newest).allowing(allowed);
            let (mut dropped, mut commands) = (DroppedFields::NONE, Vec::new());
            let end = loop {
                self.states.insert(format!("{fallback:?}"));
                let command = fallback.command();
                assert!(!commands.contains(&command), "{commands:?} and {command} again");
                commands.push(command);
                assert_eq!(fallback.dropped(), dropped);
                for hresult in [HResult::OK, HResult::FAIL, HResult::BAD_ENCODING] {
                    let before = fallback;
                    let error = fallback.refused(hresult).unwrap_err();
                    assert_eq!((error, fallback), (FallbackError::OtherError(hresult), before));
                }
                if !refuses(&fallback, known) {
                    break format!("{command}");
                }
                let before = fallback;
                match fallback.refused(HResult::UNKNOWN_COMMAND) {
                    Ok(step) => {
                        self.steps += 1;
                        assert!(allowed.contains(step), "{command} loses what may not be dropped");
                        assert_eq!(step, needed(command), "{command}");
                        dropped = dropped.with(step);
                    }
                    Err(error) => {
                        assert_eq!(fallback, before);
                        break match error {
                            FallbackError::FieldLost { command: of, field, .. } => {
                                assert_eq!((of, field), (command, needed(command)));
                                assert!(!allowed.contains(field));
                                "FieldLost".to_owned()
                            }
                            FallbackError::Oldest(oldest) => {
                                assert_eq!(oldest, command);
                                "Oldest".to_owned()
                            }
                            FallbackError::UserEvents => "UserEvents".to_owned(),
                            other => panic!("{command}: {other:?}"),
                        };
                    }
                }
            };
            self.ends.insert(end);
        }
    }
}

/// Whether a server does not know the command. One that does can read the request.
fn refuses(fallback: &Fallback<'_>, commands: KnownCommands) -> bool {
    let mut buffer = [0; 256];
    let len = encode(fallback.command(), fallback, &mut buffer).unwrap();
    let mut server = Server::with_options(ServerOptions { commands, ..ServerOptions::DEFAULT });
    server.received(&buffer, 20).unwrap();
    if len > 20 {
        server.received(&buffer, len - 20).unwrap();
    }
    match server.action() {
        ServerAction::Refuse(RefusalReason::UnknownCommand { command }) => {
            assert_eq!(command, fallback.command());
            true
        }
        ServerAction::Decode(range) => {
            assert_eq!(range, 0..len);
            let parsed = server.request(&buffer).unwrap();
            assert!(!matches!(parsed, ParsedRequest::Malformed(_)), "{parsed:?}");
            false
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn fallback_every_state_steps_down_to_known_command() {
    let mut walked = Walked::default();
    let (none, yes) =
        (DroppedFields::NONE, |is_lost, loss| if is_lost { loss } else { DroppedFields::NONE });
    for allowed in allowed() {
        walked.walk(AnyRequest::ProcessInfo3(ProcessInfo3 {}), allowed, |_| none);
        for flags in [DumpFlags::NONE, DumpFlags::CRASH_REPORT] {
            let dump =
                GenerateCoreDump3 { dump_name: "d".into(), dump_type: DumpType::FULL, flags };
            walked.walk(AnyRequest::GenerateCoreDump3(dump), allowed, |command| {
                yes(
                    command == Command::GENERATE_CORE_DUMP2 && flags != DumpFlags::NONE,
                    DroppedFields::DUMP_FLAGS,
                )
            });
        }
        for set in 0..1 << 4 {
            let [mode, filter, rundown, stacks] = [0, 1, 2, 3].map(|bit| set >> bit & 1 == 1);
            let providers = [StreamingProviderConfig {
                keywords: 1,
                log_level: EventLevel::ERROR,
                provider_name: "P".into(),
                arguments: IpcString::ABSENT,
                filter: if filter { EventFilter::NONE } else { EventFilter::ALL },
            }];
            let session = StreamingSession6 {
                circular_buffer_mb: 1,
                format: Format::NET_TRACE,
                rundown_keyword: u64::from(rundown),
                request_stackwalk: !stacks,
                providers: Array::new(&providers),
                session_buffer_mode: if mode {
                    SessionBufferMode::BLOCK
                } else {
                    SessionBufferMode::DROP
                },
            };
            let request = CollectTracing6::Streaming(session);
            walked.walk(AnyRequest::CollectTracing6(request), allowed, |command| match command {
                Command::COLLECT_TRACING6 => yes(mode, DroppedFields::BUFFER_MODE),
                Command::COLLECT_TRACING5 => yes(filter, DroppedFields::EVENT_FILTERS),
                Command::COLLECT_TRACING4 => yes(rundown, DroppedFields::RUNDOWN_KEYWORD),
                Command::COLLECT_TRACING3 => yes(stacks, DroppedFields::STACKS),
                _ => none,
            });
        }
        let request = CollectTracing6::UserEvents(UserEventsSession {
            rundown_keyword: 0,
            providers: Array::EMPTY,
        });
        walked.walk(AnyRequest::CollectTracing6(request), allowed, |_| none);
    }
    eprintln!(
        "fallback x server: {} states, {} steps, ends: {:?}",
        walked.states.len(),
        walked.steps,
        walked.ends
    );
    assert!(walked.states.len() > 1000 && walked.steps > 5000);
    let ends = ["Oldest", "UserEvents", "FieldLost"].map(str::to_owned);
    assert!(ends.iter().all(|end| walked.ends.contains(end)), "{:?}", walked.ends);
    // Every command but CollectTracing3, which is as old as CollectTracing4.
    assert_eq!(walked.ends.len(), ends.len() + 3 + 3 + 4, "{:?}", walked.ends);
}
