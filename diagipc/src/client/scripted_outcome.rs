//! The expected result of an exchange script that plays the runtime: how the client ends, its
//! output, and the fault if it differs.

use dotnet_diagnostics_ipc::header::RawHeader;
use dotnet_diagnostics_ipc::vectors::script::{
    Captures, Literal, OkOutcome, Script, ScriptAfterReply, ScriptOutcome, ScriptStreamEnd, Step,
};
use serde_json::Value;

use super::Operation;
use super::scenario::{Entry, Exit, Move, Output, Scenario};
use crate::faults::Fault;

/// What a process reports about itself; later versions append unknown fields.
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

pub(super) fn exit(outcome: &ScriptOutcome, operation: Operation) -> Exit {
    let ScriptOutcome::Ok(ok) = outcome else { return Exit::NonZero };
    let says_something = !matches!(&ok.reply, Value::Object(object) if object.is_empty());
    let is_asked = matches!(
        operation,
        Operation::ProcessInfo
            | Operation::Environment
            | Operation::Trace
            | Operation::TracePort
            | Operation::UserEvents
    );
    if !says_something && is_asked {
        // The generic OK is not an error, but lacks the requested data.
        return Exit::Any;
    }
    if let Some(environment) = &ok.environment {
        let whole = environment.error.is_none() && environment.cut.is_none();
        return if whole { Exit::Zero } else { Exit::NonZero };
    }
    if ok.stream.as_ref().is_some_and(|stream| stream.end != ScriptStreamEnd::Complete) {
        // What arrived may still be useful.
        return Exit::Any;
    }
    match &ok.second {
        None | Some(ScriptOutcome::Ok(_) | ScriptOutcome::NoReply { .. }) => Exit::Zero,
        Some(_) => Exit::Any,
    }
}

/// The fault of a client that reports success wrongly.
pub(super) fn reveals(outcome: &ScriptOutcome) -> Option<Fault> {
    match outcome {
        ScriptOutcome::Malformed { error } => match error.layer.as_str() {
            "header" => Some(Fault::MagicUnchecked),
            "reply" => Some(Fault::ReplyCommandSetUnchecked),
            "payload" => Some(Fault::ReplyTooShortAccepted),
            _ => None,
        },
        ScriptOutcome::Ok(ok) => {
            let environment = ok.environment.as_ref()?;
            if environment.cut.is_some() {
                return Some(Fault::ReplyCutUnnoticed);
            }
            let error = environment.error.as_ref()?;
            // All other numbers of the block are right, or would truncate an entry.
            let by_count = match error.kind.as_str() {
                "bytes_after_message" => true,
                "unexpected_end" => error.offset > 0,
                "count_too_large" => error.offset == 0,
                _ => false,
            };
            Some(match error.layer.as_str() {
                "reply" => Fault::ErrorTakenForOk,
                _ if by_count => Fault::EnvironmentCountIgnored,
                _ => Fault::ReplyCutUnnoticed,
            })
        }
        ScriptOutcome::Error { hresult, .. } if hresult == "0x00000000" => {
            Some(Fault::ErrorCode0TakenForOk)
        }
        ScriptOutcome::Error { .. } => Some(Fault::ErrorTakenForOk),
        ScriptOutcome::NoReply { .. } | ScriptOutcome::Cut { received: 0, .. } => {
            Some(Fault::NoReplyTakenForOk)
        }
        ScriptOutcome::Cut { .. } => Some(Fault::ReplyCutUnnoticed),
        ScriptOutcome::BadAdvertise { .. } => Some(Fault::AdvertiseMagicUnchecked),
        ScriptOutcome::CutAdvertise { .. } => Some(Fault::AdvertiseCutUnnoticed),
        ScriptOutcome::BufferTooSmall { .. } => None,
    }
}

/// Other possible causes if the client reports failure although all is well.
pub(super) fn suspects(scenario: &Scenario, outcome: &ScriptOutcome) -> Vec<Fault> {
    let ScriptOutcome::Ok(ok) = outcome else { return Vec::new() };
    let entries = ok.environment.iter().flat_map(|environment| &environment.entries);
    let without_equals = entries
        .filter_map(entry)
        .any(|entry| matches!(entry, Entry::Text(text) if !text.contains('=')));
    let mut suspects = Vec::new();
    suspects.extend(without_equals.then_some(Fault::EnvironmentEntryWithoutEquals));
    let mut sends = scenario.moves.iter().filter_map(|one| match one {
        Move::Step(Step::Send(send)) => Some(send),
        _ => None,
    });
    let Some(first) = sends.clone().find(|send| !send.chunks.iter().sum::<usize>().eq(&34)) else {
        return suspects;
    };
    let bytes: Vec<u8> =
        first.send.iter().filter_map(|part| part.bytes(&Captures::new()).ok()).flatten().collect();
    if sends.any(|send| send.chunks.len() > 1) {
        suspects.push(Fault::ReplyInPiecesMisread);
    }
    let header = RawHeader::read(&bytes);
    if header.reserved.is_some_and(|reserved| reserved != 0) {
        suspects.push(Fault::ReplyReservedInsistedOn);
    }
    match header.size {
        Some(20) => {
            suspects.extend([
                Fault::ReplyOf24InsistedOn,
                Fault::ReplyOf20Refused,
                Fault::ReplySizeIgnored,
            ]);
        }
        _ => suspects.extend([Fault::ReplyOf24InsistedOn, Fault::ReplySurplusRefused]),
    }
    suspects
}

pub(super) fn output(
    script: &Script,
    outcome: &ScriptOutcome,
    operation: Operation,
) -> Option<Output> {
    let ScriptOutcome::Ok(ok) = outcome else { return None };
    match operation {
        Operation::ProcessInfo => {
            let fields =
                ok.reply.as_object()?.iter().filter(|(name, _)| SAID.contains(&name.as_str()));
            let texts =
                fields.filter_map(|(_, value)| value.as_str()).filter(|text| !text.is_empty());
            Some(Output::ProcessInfo(texts.map(ToOwned::to_owned).collect()))
        }
        Operation::Environment => {
            let environment =
                ok.environment.as_ref().filter(|one| one.error.is_none() && one.cut.is_none())?;
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

/// The bytes of the stream: those sent on the first connection after the reply of 28 bytes.
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
    use dotnet_diagnostics_ipc::vectors::script::Plays;
    use dotnet_diagnostics_ipc::vectors::script_files;

    use super::*;

    #[test]
    fn wrong_entry_count_reveals_count_ignored() {
        let of = |kind: &str, offset: usize| {
            let outcome = serde_json::json!({
                "outcome": "ok", "reply": {}, "then": "environment",
                "environment": { "entries": [], "error": { "layer": "payload", "kind": kind, "offset": offset } },
            });
            reveals(&serde_json::from_value(outcome).unwrap())
        };
        let ignored = Some(Fault::EnvironmentCountIgnored);
        assert_eq!(
            (of("bytes_after_message", 0), of("bytes_after_message", 12), of("count_too_large", 0)),
            (ignored, ignored, ignored)
        );
        assert_eq!(of("unexpected_end", 16), ignored);
        // The count of an entry's units, and a block of no bytes, do not give the number of
        // entries.
        let cut = Some(Fault::ReplyCutUnnoticed);
        assert_eq!((of("count_too_large", 4), of("unexpected_end", 0)), (cut, cut));
    }

    /// An absent text is not searched for in the client's output.
    #[test]
    fn process_info_texts_are_expected_one_by_one() {
        let outcome = serde_json::json!({
            "outcome": "ok", "then": "close",
            "reply": { "processId": "12345", "commandLine": "app", "OS": "", "arch": null, "future": "no" },
        });
        let outcome: ScriptOutcome = serde_json::from_value(outcome).unwrap();
        let files = script_files().unwrap();
        let mut scripts = files.iter().flat_map(|file| &file.scripts);
        let script = scripts.find(|script| matches!(script.plays, Plays::Runtime(_))).unwrap();
        let Some(Output::ProcessInfo(mut texts)) = output(script, &outcome, Operation::ProcessInfo)
        else {
            panic!("{outcome:?}")
        };
        texts.sort();
        assert_eq!(texts, ["12345", "app"]);
    }
}
