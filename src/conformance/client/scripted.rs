//! The exchange scripts that play the runtime, as scenarios.

use alloc::{
    borrow::ToOwned,
    format,
    string::{String, ToString},
    vec,
    vec::Vec,
};

use serde_json::Value;

use super::scenario::{Entry, Exit, Move, Output, Request, Scenario, Unread};
use super::{Argument, ClientFault, Operation};
use crate::command::Command;
use crate::hresult::HResult;
use crate::vectors::script::{
    Ask, Captures, Literal, OkOutcome, Part, Pattern, Plays, RuntimePart, Script, ScriptAfterReply, ScriptOutcome, ScriptStreamEnd,
    Step,
};
use crate::vectors::{LoadError, named_script_files};

/// What a process says of itself; later versions append what nobody knows yet.
const SAID: &[&str] = &[
    "processId",
    "runtimeCookie",
    "commandLine",
    "OS",
    "arch",
    "managedEntrypointAssemblyName",
    "clrProductVersion",
    "runtimeIdentifier",
];
/// No runtime answers what it was not asked yet: a client may drop such a connection.
const NO_RUNTIME_DOES: &[&str] = &["tool-port-reply-with-the-advertise"];

/// The scenarios of all scripts that an operation can express.
pub(super) fn scenarios() -> Result<Vec<Scenario>, LoadError> {
    let files = named_script_files()?;
    let scripts = files.iter().flat_map(|(section, file)| file.scripts.iter().map(move |script| (*section, script)));
    Ok(scripts.filter_map(|(section, script)| scenario(section, script)).collect())
}

/// `None` for a script that tells the client something that is no operation: limits, a buffer, the protocol before this one, or not to
/// ask an older command.
fn scenario(section: &str, script: &Script) -> Option<Scenario> {
    let Plays::Runtime(part) = &script.plays else { return None };
    let RuntimePart { ask, outcome } = &**part;
    let has_limits = ask.limits != crate::vectors::script::AskLimits::default();
    if ask.old_protocol || has_limits || ask.buffer.is_some() || NO_RUNTIME_DOES.contains(&script.name.as_str()) {
        return None;
    }
    let command: Command = ask.command.as_deref()?.parse().ok()?;
    if !ask.fallback && refuses_as_unknown(outcome) && ask.port.is_none() {
        return None;
    }
    let operation = operation(command, ask)?;
    let spec: Vec<&str> = script.spec.iter().map(String::as_str).collect();
    let mut scenario = Scenario::new(&format!("{section}/{}", script.name), &script.comment, &spec, operation);
    arguments(&mut scenario, ask)?;
    if operation.commands().len() > 1 {
        let name = command.name().unwrap_or_default();
        scenario.arguments.insert(Argument::Command, name.to_owned());
    }
    scenario.moves = moves(script, ask, command)?;
    scenario.is_silent = ask.patience_ms.is_some();
    scenario.exit = exit(outcome, operation);
    scenario.output = output(script, outcome, operation);
    scenario.reveals = reveals(outcome);
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
            && matches!(operation, Operation::ListenPort | Operation::TracePort) == ask.port.is_some()
    };
    Operation::ALL.iter().find(fits).copied()
}

/// Tells the client what the script asks. `None` where no argument says it.
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
            // The format is nettrace in all of them, and rundown is wanted.
            "format" | "streaming_format" | "session_type" | "requestRundown" => continue,
            _ => return None,
        };
        let value = text(value)?;
        if scenario.arguments.get(&argument) != Some(&value) {
            scenario.arguments.insert(argument, value);
            // What an older command cannot say decides which commands are asked.
            let decides = matches!(argument, Argument::Rundown | Argument::Stacks | Argument::BufferMode);
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
    let config = provider.get("config").and_then(|config| config.get("default_tracepoint_name")).and_then(Value::as_str);
    if let Some(name) = config {
        scenario.arguments.insert(Argument::Tracepoint, name.to_owned());
    }
    Some(())
}

/// The steps, where a request that is expected may be another one that says the same.
fn moves(script: &Script, ask: &Ask, asked: Command) -> Option<Vec<Move>> {
    let mut moves = Vec::new();
    let mut first = true;
    for step in &script.steps {
        moves.push(match step {
            Step::Expect(step) if !step.with_fd => match (literal(&step.expect), first || ask.fallback) {
                (Some(bytes), true) => {
                    first = false;
                    let [set, id] = *bytes.get(16..18)? else { return None };
                    let size: [u8; 2] = bytes.get(14..16)?.try_into().ok()?;
                    let unread = match usize::from(u16::from_le_bytes(size)).checked_sub(bytes.len())? {
                        0 => Unread::None,
                        1 => Unread::LastByte,
                        _ => Unread::Payload,
                    };
                    let command = Command::from_code(u16::from_be_bytes([set, id]));
                    debug_assert!(ask.fallback || command == asked);
                    Move::Request(Request { on: step.on.clone(), command: Some(command), unread })
                }
                _ => Move::Step(Step::Expect(step.clone())),
            },
            // How long a client waits is its own matter.
            Step::ExpectEnd(step) => Move::GivesUp { on: step.on.clone() },
            Step::Send(step) => Move::Step(Step::Send(crate::vectors::script::Send { may_fail: true, ..step.clone() })),
            step => Move::Step(step.clone()),
        });
    }
    Some(moves)
}

/// The bytes of a pattern that has only such.
fn literal(pattern: &Pattern) -> Option<Vec<u8>> {
    let bytes = pattern.0.iter().map(|part| match part {
        Part::Literal(literal) => literal.bytes(&Captures::new()).ok(),
        Part::Any(_) | Part::Until(_) => None,
    });
    bytes.collect::<Option<Vec<_>>>().map(|parts| parts.concat())
}

fn exit(outcome: &ScriptOutcome, operation: Operation) -> Exit {
    let ScriptOutcome::Ok(ok) = outcome else { return Exit::NonZero };
    let says_something = !matches!(&ok.reply, Value::Object(object) if object.is_empty());
    let is_asked = matches!(
        operation,
        Operation::ProcessInfo | Operation::Environment | Operation::Trace | Operation::TracePort | Operation::UserEvents
    );
    if !says_something && is_asked {
        // The generic OK is no error, and does not have what was asked for.
        return Exit::Any;
    }
    if let Some(environment) = &ok.environment {
        let whole = environment.error.is_none() && environment.cut.is_none();
        return if whole { Exit::Zero } else { Exit::NonZero };
    }
    if ok.stream.as_ref().is_some_and(|stream| stream.end != ScriptStreamEnd::Complete) {
        // What came may be of use all the same.
        return Exit::Any;
    }
    match &ok.second {
        None | Some(ScriptOutcome::Ok(_) | ScriptOutcome::NoReply { .. }) => Exit::Zero,
        Some(_) => Exit::Any,
    }
}

/// The fault of a client for which all is well where it is not.
fn reveals(outcome: &ScriptOutcome) -> Option<ClientFault> {
    match outcome {
        ScriptOutcome::Malformed { error } => match error.layer.as_str() {
            "header" => Some(ClientFault::ReplyMagicUnchecked),
            "reply" => Some(ClientFault::ReplyCommandSetUnchecked),
            _ => None,
        },
        ScriptOutcome::Ok(ok) => {
            let error = ok.environment.as_ref().and_then(|environment| environment.error.as_ref())?;
            // All other numbers of the block are right, or would leave an entry cut.
            let by_count =
                matches!(error.kind.as_str(), "bytes_after_message") || error.offset == 0 && error.kind == "count_too_large";
            by_count.then_some(ClientFault::EnvironmentCountIgnored)
        }
        _ => None,
    }
}

fn output(script: &Script, outcome: &ScriptOutcome, operation: Operation) -> Option<Output> {
    let ScriptOutcome::Ok(ok) = outcome else { return None };
    match operation {
        Operation::ProcessInfo => {
            let fields = ok.reply.as_object()?.iter().filter(|(name, _)| SAID.contains(&name.as_str()));
            let texts = fields.filter_map(|(_, value)| value.as_str()).filter(|text| !text.is_empty());
            Some(Output::ProcessInfo(texts.map(ToOwned::to_owned).collect()))
        }
        Operation::Environment => {
            let environment = ok.environment.as_ref().filter(|one| one.error.is_none() && one.cut.is_none())?;
            environment.entries.iter().map(entry).collect::<Option<_>>().map(Output::Environment)
        }
        Operation::Trace | Operation::TracePort if ok.then == ScriptAfterReply::Stream => {
            let is_whole = ok.stream.as_ref()?.end == ScriptStreamEnd::Complete;
            stream(script, ok).map(if is_whole { Output::Stream } else { Output::BeginOfStream })
        }
        _ => None,
    }
}

/// A line of the environment, from its form in the vectors.
fn entry(value: &Value) -> Option<Entry> {
    let name = value.get("name")?.as_str()?;
    match value.get("value")? {
        Value::Null => Some(Entry::Text(name.to_owned())),
        Value::String(text) => Some(Entry::Text(format!("{name}={text}"))),
        _ => Some(Entry::Begins(format!("{name}="))),
    }
}

/// The bytes of the stream: what is sent on the first connection behind the reply of 28 bytes.
fn stream(script: &Script, ok: &OkOutcome) -> Option<Vec<u8>> {
    let expected = usize::try_from(ok.stream.as_ref()?.bytes).ok()?;
    if matches!(&ok.reply, Value::Object(object) if object.is_empty()) {
        return None;
    }
    let on_first = script.steps.iter().filter_map(|step| match step {
        Step::Send(send) if send.on == "a" => Some(&send.send),
        _ => None,
    });
    let known = |literal: &Literal| literal.bytes(&Captures::new()).ok();
    let sent: Vec<u8> = on_first.flatten().map(known).collect::<Option<Vec<_>>>()?.concat();
    let begins = sent.windows(4).position(|window| window == b"DOTN")?;
    let stream = sent.get(begins.checked_add(28)?..)?.to_vec();
    (stream.len() == expected).then_some(stream)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vectors::script_files;

    #[test]
    fn client_that_accepts_a_wrong_count_of_entries_ignores_it() {
        let of = |kind: &str, offset: usize| {
            let outcome = serde_json::json!({
                "outcome": "ok", "reply": {}, "then": "environment",
                "environment": { "entries": [], "error": { "layer": "payload", "kind": kind, "offset": offset } },
            });
            reveals(&serde_json::from_value(outcome).unwrap())
        };
        let ignored = Some(ClientFault::EnvironmentCountIgnored);
        assert_eq!(
            (of("bytes_after_message", 0), of("bytes_after_message", 12), of("count_too_large", 0)),
            (ignored, ignored, ignored)
        );
        // The count of an entry's units, and an end too early, say nothing of the number of entries.
        assert_eq!((of("count_too_large", 4), of("unexpected_end", 0)), (None, None));
    }

    /// An absent text is not looked for in what the client gives out.
    #[test]
    fn what_a_process_says_of_itself_is_looked_for_text_by_text() {
        let outcome = serde_json::json!({
            "outcome": "ok", "then": "close",
            "reply": { "processId": "12345", "commandLine": "app", "OS": "", "arch": null, "future": "no" },
        });
        let outcome: ScriptOutcome = serde_json::from_value(outcome).unwrap();
        let files = script_files().unwrap();
        let mut scripts = files.iter().flat_map(|file| &file.scripts);
        let script = scripts.find(|script| matches!(script.plays, Plays::Runtime(_))).unwrap();
        let Some(Output::ProcessInfo(mut texts)) = output(script, &outcome, Operation::ProcessInfo) else { panic!("{outcome:?}") };
        texts.sort();
        assert_eq!(texts, ["12345", "app"]);
    }
}
