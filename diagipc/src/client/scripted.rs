//! The exchange scripts that play the runtime, as scenarios.

use dotnet_diagnostics_ipc::command::Command;
use dotnet_diagnostics_ipc::header::RawHeader;
use dotnet_diagnostics_ipc::hresult::HResult;
use dotnet_diagnostics_ipc::vectors::script::{
    Ask, Captures, Part, Pattern, Plays, RuntimePart, Script, ScriptEnvironment, ScriptOutcome,
    Step,
};
use dotnet_diagnostics_ipc::vectors::{LoadError, named_script_files};
use serde_json::Value;

use super::replies::RESULTS;
use super::runtime_bytes::{close, gives_up, lets_go};
use super::scenario::{Move, Request, Said, Scenario, Unread, usual};
use super::scripted_outcome::{exit, output, reveals, suspects};
use super::{Argument, Operation};
use crate::faults::{Fault, Suite};

/// A code that has no name.
const UNKNOWN_CODE: HResult = HResult(0x8bad_f00d);

/// The scenarios of all scripts that can be expressed as an operation.
pub(super) fn scenarios() -> Result<Vec<Scenario>, LoadError> {
    let files = named_script_files()?;
    let scripts = files
        .iter()
        .flat_map(|(section, file)| file.scripts.iter().map(move |script| (*section, script)));
    let own: Vec<Scenario> =
        scripts.filter_map(|(section, script)| scenario(section, script)).collect();
    let others = own.iter().flat_map(for_others).collect();
    Ok([own, others].concat())
}

/// The same replies to the other operations that only succeed or fail: not each client has the
/// script's operation. Slow ones are already covered by `silence/*` and similar for each operation.
fn for_others(scenario: &Scenario) -> Vec<Scenario> {
    let is_of_resume = scenario.section == "replies" && scenario.operation == Operation::Resume;
    if !is_of_resume || scenario.is_silent || !scenario.longest_wait().is_zero() {
        return Vec::new();
    }
    let others = RESULTS.iter().filter(|operation| **operation != Operation::Resume);
    let of = |operation: &Operation| {
        let mut other = scenario.clone();
        other.name = format!("{}/{operation}", scenario.name);
        other.operation = *operation;
        other.arguments = usual(*operation);
        for one in &mut other.moves {
            if let Move::Request(request) = one {
                request.command = None;
                // A request with a payload is left unread after its header.
                if request.unread == Unread::LastByte {
                    request.unread = Unread::Payload;
                }
            }
        }
        other
    };
    others.map(of).collect()
}

/// `None` for a script whose task is not an operation: limits, a buffer, the previous protocol, or
/// not using an older command.
fn scenario(section: &str, script: &Script) -> Option<Scenario> {
    let Plays::Runtime(part) = &script.plays else { return None };
    let RuntimePart { ask, outcome, client } = &**part;
    let has_limits = ask.limits != dotnet_diagnostics_ipc::vectors::script::AskLimits::default();
    if ask.old_protocol || has_limits || ask.buffer.is_some() || client.skip.is_some() {
        return None;
    }
    let command: Command = ask.command.as_deref()?.parse().ok()?;
    if !ask.fallback && refuses_as_unknown(outcome) && ask.port.is_none() {
        return None;
    }
    let operation = operation(command, ask)?;
    let spec: Vec<&str> = script.spec.iter().map(String::as_str).collect();
    let mut scenario =
        Scenario::new(&format!("{section}/{}", script.name), &script.comment, &spec, operation);
    arguments(&mut scenario, ask)?;
    if operation.commands().len() > 1 {
        let name = command.name().unwrap_or_default();
        scenario.arguments.insert(Argument::Command, name.to_owned());
    }
    scenario.moves = moves(script, ask, command)?;
    scenario.is_silent = ask.patience_ms.is_some();
    scenario.exit = exit(outcome, operation);
    scenario.output = output(script, outcome, operation);
    let named = client.reveals.as_deref().and_then(|name| Fault::named(Suite::Client, name));
    scenario.reveals = named.or_else(|| reveals(outcome));
    scenario.suspects = suspects(&scenario, outcome);
    if let ScriptOutcome::Error { hresult, message, .. } = outcome {
        let code = hresult
            .strip_prefix("0x")
            .and_then(|digits| u32::from_str_radix(digits, 16).ok())
            .map(HResult);
        scenario.refused_with = code;
        // A code that clients may print by name.
        scenario.said.extend(code.filter(|code| *code == UNKNOWN_CODE).map(Said::Code));
        let text = message.as_ref().and_then(Value::as_str).filter(|text| !text.is_empty());
        scenario.said.extend(text.map(|text| Said::Text(text.to_owned())));
    }
    scenario.is_open = client.open;
    Some(scenario)
}

fn refuses_as_unknown(outcome: &ScriptOutcome) -> bool {
    let unknown = format!("0x{:08X}", HResult::UNKNOWN_COMMAND.0);
    matches!(outcome, ScriptOutcome::Error { hresult, .. } if *hresult == unknown)
}

fn operation(command: Command, ask: &Ask) -> Option<Operation> {
    let of_user_events = ask.value.get("session_type").and_then(Value::as_u64) == Some(1);
    let deletes = ask.value.get("value").is_some_and(Value::is_null);
    let fits = |operation: &&Operation| {
        operation.commands().contains(&command)
            && (**operation == Operation::UserEvents) == of_user_events
            && (**operation == Operation::UnsetEnv) == deletes
            && matches!(operation, Operation::ListenPort | Operation::TracePort)
                == ask.port.is_some()
    };
    Operation::ALL.iter().find(fits).copied()
}

/// Gives the client the script's task. `None` if there is no argument for it.
fn arguments(scenario: &mut Scenario, ask: &Ask) -> Option<()> {
    let text = |value: &Value| match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(is) => Some(is.to_string()),
        _ => None,
    };
    for (key, value) in ask.value.as_object()? {
        let argument = match key.as_str() {
            "name" => Argument::Name,
            "value" if value.is_null() => continue,
            "value" => Argument::Value,
            "dumpName" | "profilerPath" => Argument::Path,
            "dumpType" => Argument::Type,
            "flags" | "diagnostics" => Argument::Flags,
            "attachTimeout" => {
                scenario.arguments.insert(Argument::TimeoutMs, text(value)?);
                continue;
            }
            "profilerGuid" => Argument::Clsid,
            "clientData" => Argument::ClientData,
            "sessionId" => Argument::Session,
            "providers" => {
                provider(scenario, value.get(0)?)?;
                continue;
            }
            "circularBufferMB" | "streaming_circularBufferMB" => Argument::BufferMb,
            "rundownKeyword" => Argument::Rundown,
            "requestStackwalk" => Argument::Stacks,
            "sessionBufferMode" => Argument::BufferMode,
            // The format is always nettrace, and rundown is requested.
            "format" | "streaming_format" | "session_type" | "requestRundown" => continue,
            _ => return None,
        };
        let value = text(value)?;
        if scenario.arguments.get(&argument) != Some(&value) {
            scenario.arguments.insert(argument, value);
            // Fields that an older command lacks decide which commands are used.
            let decides =
                matches!(argument, Argument::Rundown | Argument::Stacks | Argument::BufferMode);
            let decides = decides && scenario.operation != Operation::UserEvents;
            if decides || matches!((argument, ask.fallback), (Argument::Flags, true)) {
                scenario.needs.push(vec![argument]);
            }
        }
    }
    Some(())
}

fn provider(scenario: &mut Scenario, provider: &Value) -> Option<()> {
    let filter = provider.get("filter");
    let ids = filter.and_then(|filter| filter.get("event_ids")).and_then(Value::as_array);
    if let Some(ids) = ids.filter(|ids| !ids.is_empty()) {
        if filter.and_then(|filter| filter.get("enable")) != Some(&Value::Bool(true)) {
            return None;
        }
        let ids: Vec<String> = ids.iter().map(ToString::to_string).collect();
        scenario.arguments.insert(Argument::Events, ids.join(","));
        scenario.needs.push(vec![Argument::Events]);
    }
    let config = provider
        .get("config")
        .and_then(|config| config.get("default_tracepoint_name"))
        .and_then(Value::as_str);
    if let Some(name) = config {
        scenario.arguments.insert(Argument::Tracepoint, name.to_owned());
    }
    Some(())
}

/// The steps; an expected request may be an equivalent one.
fn moves(script: &Script, ask: &Ask, asked: Command) -> Option<Vec<Move>> {
    let mut moves = Vec::new();
    let mut first = true;
    for step in &script.steps {
        moves.push(match step {
            Step::Expect(step) if !step.with_fd => {
                match (literal(&step.expect), first || ask.fallback) {
                    (Some(bytes), true) => {
                        first = false;
                        let header = RawHeader::read(&bytes);
                        let command = header.command?;
                        let unread = match usize::from(header.size?).checked_sub(bytes.len())? {
                            0 => Unread::None,
                            1 => Unread::LastByte,
                            _ => Unread::Payload,
                        };
                        debug_assert!(ask.fallback || command == asked);
                        Move::Request(Request {
                            on: step.on.clone(),
                            command: Some(command),
                            unread,
                        })
                    }
                    (Some(bytes), false)
                        if bytes.len() == 28
                            && RawHeader::read(&bytes).command == Some(Command::STOP_TRACING) =>
                    {
                        let session = u64::from_le_bytes(bytes.get(20..28)?.try_into().ok()?);
                        Move::Stop { on: step.on.clone(), session }
                    }
                    _ => Move::Step(Step::Expect(step.clone())),
                }
            }
            // How long a client waits is its own choice.
            Step::ExpectEnd(step) => end_of(script, &step.on, asked),
            Step::Send(step) => {
                Move::Step(Step::Send(dotnet_diagnostics_ipc::vectors::script::Send {
                    may_fail: true,
                    ..step.clone()
                }))
            }
            step => Move::Step(step.clone()),
        });
    }
    Some(moves)
}

/// The client's action where the script waits for the end of the connection.
fn end_of(script: &Script, on: &str, asked: Command) -> Move {
    let Plays::Runtime(part) = &script.plays else { return gives_up(on) };
    let RuntimePart { ask, outcome, .. } = &**part;
    let is_silent = ask.patience_ms.is_some();
    match outcome {
        // Everything has arrived, including the end: its numbers are judged, not how long a client
        // waits for more.
        ScriptOutcome::Ok(ok) if !is_silent && asked == Command::PROCESS_ENVIRONMENT => {
            match &ok.environment {
                Some(environment)
                    if environment.error.is_some() && !is_cut_by_an_error(environment) =>
                {
                    close(on)
                }
                Some(environment) => {
                    Move::GivesUp { on: on.to_owned(), is_whole: environment.error.is_none() }
                }
                None => gives_up(on),
            }
        }
        ScriptOutcome::Ok(_) | ScriptOutcome::Error { .. } if !is_silent => lets_go(on),
        _ => gives_up(on),
    }
}

/// Whether a message begins in the block, and its rest is missing.
fn is_cut_by_an_error(environment: &ScriptEnvironment) -> bool {
    environment.error.as_ref().is_some_and(|error| error.layer == "reply")
}

/// The bytes of a pattern that contains only bytes.
fn literal(pattern: &Pattern) -> Option<Vec<u8>> {
    let bytes = pattern.0.iter().map(|part| match part {
        Part::Literal(literal) => literal.bytes(&Captures::new()).ok(),
        Part::Any(_) | Part::Until(_) => None,
    });
    bytes.collect::<Option<Vec<_>>>().map(|parts| parts.concat())
}
