//! What is asked for in a conversation.

use std::vec;
use std::vec::Vec;

use dotnet_diagnostics_ipc::command::{Command, Continuation};
use dotnet_diagnostics_ipc::header::Header;
use dotnet_diagnostics_ipc::message::Request;
use dotnet_diagnostics_ipc::message::dump::{DumpFlags, DumpType, GenerateCoreDump3};
use dotnet_diagnostics_ipc::message::eventpipe::{
    CollectTracing2, CollectTracing5, EventFilter, EventLevel, Format, ProviderConfig, StopTracing,
    StreamingProviderConfig, StreamingSession, TracepointConfig, UserEventsProviderConfig,
    UserEventsSession,
};
use dotnet_diagnostics_ipc::message::process::{
    ProcessEnvironment, ProcessInfo3, ResumeRuntime, SetEnvironmentVariable,
};
use dotnet_diagnostics_ipc::wire::{Array, IpcString};

/// A request, byte by byte, and what follows its reply.
#[derive(Clone, Debug)]
pub(super) struct Asked {
    pub(super) wire: Vec<u8>,
    pub(super) command: Command,
    pub(super) continuation: Option<Continuation>,
}

impl Asked {
    fn new<'a, R: Request<'a>>(request: &R) -> Self {
        let mut wire = vec![0; 512];
        let len = request.encode_message(&mut wire).unwrap();
        wire.truncate(len);
        Self { wire, command: R::COMMAND, continuation: Some(request.continuation()) }
    }

    pub(super) fn stop(session_id: u64) -> Self {
        Self::new(&StopTracing { session_id })
    }

    /// One of all kinds.
    pub(super) fn any(which: u8) -> Self {
        let provider = ProviderConfig::new("P", 1, EventLevel::VERBOSE);
        let text = &"a value that fills some room"[..usize::from(which >> 4)];
        match which & 15 {
            0 => Self::new(&ProcessInfo3 {}),
            1 => Self::new(&ProcessEnvironment {}),
            2 => Self::new(&ResumeRuntime {}),
            3 => Self::new(&GenerateCoreDump3 {
                dump_name: text.into(),
                dump_type: DumpType::FULL,
                flags: DumpFlags::NONE,
            }),
            4 => Self::new(&SetEnvironmentVariable { name: "N".into(), value: text.into() }),
            5 | 6 => Self::new(&CollectTracing2 {
                circular_buffer_mb: 1,
                format: Format::NET_TRACE,
                request_rundown: true,
                providers: Array::from(&[provider][..]),
            }),
            7 => {
                let providers = [StreamingProviderConfig {
                    keywords: 1,
                    log_level: EventLevel::VERBOSE,
                    provider_name: "P".into(),
                    arguments: text.into(),
                    filter: EventFilter::ALL,
                }];
                Self::new(&CollectTracing5::Streaming(StreamingSession {
                    circular_buffer_mb: 1,
                    format: Format::NET_TRACE,
                    rundown_keyword: 0,
                    request_stackwalk: false,
                    providers: Array::from(&providers),
                }))
            }
            8 | 9 => {
                let providers = [UserEventsProviderConfig {
                    keywords: 1,
                    log_level: EventLevel::VERBOSE,
                    provider_name: "P".into(),
                    arguments: IpcString::ABSENT,
                    filter: EventFilter::ALL,
                    config: TracepointConfig {
                        default_tracepoint_name: "tracepoint".into(),
                        tracepoints: Array::EMPTY,
                    },
                }];
                Self::new(&CollectTracing5::UserEvents(UserEventsSession {
                    rundown_keyword: 0,
                    providers: Array::from(&providers),
                }))
            }
            // Of a session that never was.
            10 => Self::stop(u64::MAX - u64::from(which)),
            _ => {
                let command = Command { set: 0x04, id: 0x80 | which };
                let size = 20 + u16::from(which >> 4);
                let mut wire = Header { size, command, reserved: 0 }.to_bytes().to_vec();
                wire.resize(size.into(), which);
                Self { wire, command, continuation: None }
            }
        }
    }
}
