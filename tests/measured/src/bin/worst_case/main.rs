//! `check.py` counts the instructions of this: a payload as long as a message can hold, and as slow
//! as its grammar allows, is decoded, or walked through to the last unit of the last string.

mod payload;

use std::env;
use std::hint::black_box;
use std::process::ExitCode;

use dotnet_diagnostics_ipc::continuation::Environment;
use dotnet_diagnostics_ipc::message::eventpipe::{
    CollectTracing5, EventFilter, EventLevel, ProviderConfig, TracepointConfig,
};
use dotnet_diagnostics_ipc::message::process::{ProcessInfo3, ProcessInfo3Reply};
use dotnet_diagnostics_ipc::message::{AnyRequest, Message, Reply};
use dotnet_diagnostics_ipc::wire::{Array, IpcString};

use payload::{CASES, ENVIRONMENT, PROCESS_INFO3_REPLY};

/// What was decoded.
enum Decoded<'a> {
    Request(AnyRequest<'a>),
    Reply(ProcessInfo3Reply<'a>),
    Environment(Environment<'a>),
}

/// Callgrind counts in here.
#[unsafe(no_mangle)]
#[inline(never)]
fn measured_decode(command: [u8; 2], bytes: &[u8]) -> Option<Decoded<'_>> {
    if command == ENVIRONMENT {
        return Environment::decode(bytes).ok().map(Decoded::Environment);
    }
    let message = Message::decode(bytes).ok()?;
    if command == PROCESS_INFO3_REPLY {
        return match message.reply_as::<ProcessInfo3>().ok()? {
            Reply::Ok(reply) => Some(Decoded::Reply(reply)),
            _ => None,
        };
    }
    message.request().ok().map(Decoded::Request)
}

/// And in here.
#[unsafe(no_mangle)]
#[inline(never)]
fn measured_walk(decoded: &Decoded<'_>) -> u64 {
    match decoded {
        Decoded::Request(AnyRequest::CollectTracing(request)) => providers(request.providers),
        Decoded::Request(AnyRequest::CollectTracing2(request)) => providers(request.providers),
        Decoded::Request(AnyRequest::CollectTracing5(CollectTracing5::Streaming(session))) => {
            let each = session.providers.iter().map(|p| {
                provider(p.keywords, p.log_level, p.provider_name, p.arguments) ^ filter(p.filter)
            });
            sum(each)
        }
        Decoded::Request(AnyRequest::CollectTracing5(CollectTracing5::UserEvents(session))) => {
            let each = session.providers.iter().map(|p| {
                provider(p.keywords, p.log_level, p.provider_name, p.arguments)
                    ^ filter(p.filter)
                    ^ tracepoints(p.config)
            });
            sum(each)
        }
        Decoded::Request(AnyRequest::SetEnvironmentVariable(request)) => {
            text(request.name) ^ text(request.value)
        }
        Decoded::Request(AnyRequest::AttachProfiler(request)) => {
            sum(request.client_data.iter().copied().map(u64::from))
        }
        Decoded::Request(_) => 0,
        Decoded::Reply(reply) => sum([
            text(reply.command_line),
            text(reply.os),
            text(reply.arch),
            text(reply.managed_entrypoint_assembly_name),
            text(reply.clr_product_version),
            text(reply.runtime_identifier),
        ]
        .into_iter()),
        Decoded::Environment(environment) => {
            sum(environment.iter().map(|entry| text(entry.name()) ^ entry.value().map_or(0, text)))
        }
    }
}

fn providers(providers: Array<'_, ProviderConfig<'_>>) -> u64 {
    sum(providers.iter().map(|p| provider(p.keywords, p.log_level, p.provider_name, p.arguments)))
}

/// The fields that every provider has.
fn provider(
    keywords: u64,
    log_level: EventLevel,
    name: IpcString<'_>,
    arguments: IpcString<'_>,
) -> u64 {
    keywords ^ u64::from(log_level.0) ^ text(name) ^ text(arguments)
}

fn filter(filter: EventFilter<'_>) -> u64 {
    u64::from(filter.enable) ^ ids(filter.event_ids)
}

fn tracepoints(config: TracepointConfig<'_>) -> u64 {
    let sets = config.tracepoints.iter().map(|set| text(set.tracepoint_name) ^ ids(set.event_ids));
    text(config.default_tracepoint_name) ^ sum(sets)
}

fn ids(ids: Array<'_, u32>) -> u64 {
    sum(ids.iter().map(u64::from))
}

/// Character by character: the slowest way to read a string.
fn text(text: IpcString<'_>) -> u64 {
    sum(text.chars().map(|character| character.map_or(1, u64::from)))
}

fn sum(numbers: impl Iterator<Item = u64>) -> u64 {
    numbers.fold(0, |sum, number| sum.rotate_left(1) ^ number)
}

/// Without an argument the names of the payloads; with one, that payload is decoded and walked, and
/// its length is printed.
fn main() -> ExitCode {
    let Some(wanted) = env::args().nth(1) else {
        CASES.iter().for_each(|(name, ..)| println!("{name}"));
        return ExitCode::SUCCESS;
    };
    let Some((_, command, payload)) = CASES.iter().find(|(name, ..)| *name == wanted) else {
        eprintln!("there is no payload {wanted:?}");
        return ExitCode::FAILURE;
    };
    let payload = payload();
    let bytes = if *command == ENVIRONMENT {
        payload.clone()
    } else {
        let size = u16::try_from(20 + payload.len()).unwrap().to_le_bytes();
        [b"DOTNET_IPC_V1\0", &size[..], command, &[0; 2], &payload].concat()
    };
    let Some(decoded) = black_box(measured_decode(black_box(*command), black_box(&bytes))) else {
        eprintln!("{wanted:?} does not decode");
        return ExitCode::FAILURE;
    };
    black_box(measured_walk(black_box(&decoded)));
    println!("{}", payload.len());
    ExitCode::SUCCESS
}
