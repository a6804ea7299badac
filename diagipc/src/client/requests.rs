//! Scenarios about what the client sends: texts, numbers, and messages that are too large.

use super::payloads::payload;
use super::runtime_bytes::{
    accept, block, close, descriptor, environment_reply, ok, request, send, stop,
};
use super::scenario::{Exit, Move, Scenario};
use super::spelling::size_with;
use super::{Argument, Operation};
use crate::faults::Fault;

/// The largest value of the size field.
const LARGEST: usize = 65_535;
/// The room for other fields in a message for `user_events` whose tracepoint is in a set, in UTF-16
/// units.
const OF_A_SET: usize = 32;

/// Texts whose encoding tells faults apart, by category.
const TEXTS: &[(&str, &str, &[&str])] = &[
    ("latin", "caf\u{e9}", &["R-GRM-008", "F-8"]),
    ("bmp", "\u{20ac}\u{6f22}\u{5b57}", &["R-GRM-008", "F-8"]),
    ("non-bmp", "a\u{1f600}b\u{10437}", &["R-GRM-008"]),
    ("spaces-and-quotes", "a b\"c'd\\e$f", &["R-GRM-008"]),
    ("equals", "a=b=c", &["R-GRM-008"]),
];

/// The string arguments of operations, and whether the text is a path.
const STRINGS: &[(Operation, Argument)] = &[
    (Operation::SetEnv, Argument::Value),
    (Operation::SetEnv, Argument::Name),
    (Operation::UnsetEnv, Argument::Name),
    (Operation::StartupHook, Argument::Path),
    (Operation::Dump, Argument::Path),
    (Operation::Attach, Argument::Path),
    (Operation::StartupProfiler, Argument::Path),
    (Operation::Trace, Argument::Provider),
    (Operation::Trace, Argument::Arguments),
    (Operation::UserEvents, Argument::Provider),
    (Operation::UserEvents, Argument::Arguments),
];

/// Numbers, identifiers and bytes.
const VALUES: &[(Operation, Argument, &[&str], &[&str])] = &[
    (Operation::PerfMap, Argument::Type, &["1", "2", "3"], &["F-46"]),
    (Operation::Dump, Argument::Type, &["1", "2", "3", "4"], &["F-50"]),
    (Operation::Attach, Argument::ClientData, &["", "00", "ff00ff00"], &["F-53"]),
    (
        Operation::Attach,
        Argument::Clsid,
        &["00112233-4455-6677-8899-aabbccddeeff"],
        &["F-52", "F-85"],
    ),
    (
        Operation::StartupProfiler,
        Argument::Clsid,
        &["00112233-4455-6677-8899-aabbccddeeff"],
        &["F-51", "F-85"],
    ),
    (Operation::Trace, Argument::Keywords, &["0", "4294967296", "18446744073709551615"], &["F-16"]),
    (Operation::Trace, Argument::Level, &["0", "1", "5"], &["F-16"]),
    (Operation::Trace, Argument::BufferMb, &["1", "1024"], &["F-16"]),
    (
        Operation::UserEvents,
        Argument::Keywords,
        &["0", "4294967296", "18446744073709551615"],
        &["F-16"],
    ),
    (Operation::UserEvents, Argument::Level, &["0", "1", "5"], &["F-16"]),
    (Operation::Stop, Argument::Session, &["0", "1", "18446744073709551615"], &["F-31"]),
];

pub(super) fn scenarios() -> Vec<Scenario> {
    let mut all = Vec::new();
    for operation in Operation::ALL.iter().copied().filter(|operation| !is_at_a_port(*operation)) {
        let name = format!("request/plain/{operation}");
        let mut scenario = Scenario::new(
            &name,
            "The request alone, answered with an OK",
            &["R-HDR-002", "R-FLW-011"],
            operation,
        );
        scenario.is_plain = true;
        all.push(answered(scenario));
    }
    for (operation, argument) in STRINGS.iter().copied() {
        for (what, text, spec) in TEXTS.iter().copied() {
            // A name cannot contain `=`, and many command lines split a provider's name at it.
            if what == "equals" && !matches!(argument, Argument::Value | Argument::Arguments) {
                continue;
            }
            all.push(string(operation, argument, what, text, spec));
        }
    }
    for (operation, argument) in [
        (Operation::SetEnv, Argument::Value),
        (Operation::Trace, Argument::Arguments),
        (Operation::UserEvents, Argument::Arguments),
    ] {
        all.push(string(operation, argument, "empty", "", &["F-11", "F-44"]));
    }
    for (operation, argument, values, spec) in VALUES.iter().copied() {
        for value in values {
            let shown = if value.is_empty() { "none" } else { value };
            let name = format!("request/{operation}/{argument}/{shown}");
            let scenario = Scenario::new(&name, &format!("{argument} {shown}"), spec, operation);
            all.push(answered(scenario.with_one_of(argument, value)));
        }
    }
    for ms in ["1000", "1500", "5000", "60000"] {
        let name = format!("request/attach/timeout/{ms}");
        let scenario = Scenario::new(
            &name,
            &format!("A timeout of {ms} milliseconds"),
            &["F-55"],
            Operation::Attach,
        );
        // A client that accepts seconds cannot be given half of one.
        let is_whole = ms.ends_with("000");
        all.push(answered(if is_whole {
            scenario.with_one_of(Argument::TimeoutMs, ms)
        } else {
            scenario.with(Argument::TimeoutMs, ms)
        }));
    }
    all.extend(sizes());
    all
}

fn is_at_a_port(operation: Operation) -> bool {
    matches!(operation, Operation::ListenPort | Operation::TracePort)
}

fn string(
    operation: Operation,
    argument: Argument,
    what: &str,
    text: &str,
    spec: &[&str],
) -> Scenario {
    let text = &match argument {
        Argument::Path => format!("/tmp/{text}"),
        // Many APIs accept only keys and values.
        Argument::Arguments if !text.is_empty() => format!("k={text}"),
        _ => text.to_owned(),
    };
    let name = format!("text/{what}/{operation}/{argument}");
    let scenario = Scenario::new(&name, &format!("{argument} is {text:?}"), spec, operation);
    let is_said_by_pairs = argument == Argument::Arguments && !text.is_empty();
    answered(if is_said_by_pairs {
        scenario.with_arguments(text)
    } else {
        scenario.with(argument, text)
    })
}

/// Messages of the largest size, and one unit larger.
fn sizes() -> Vec<Scenario> {
    let mut all = Vec::new();
    // The rest of a message besides the string, in bytes.
    for (operation, argument, others, rest) in [
        (Operation::SetEnv, Argument::Value, &["NAME"][..], 0),
        (Operation::StartupHook, Argument::Path, &[], 0),
        (Operation::Dump, Argument::Path, &[], 8),
        (Operation::StartupProfiler, Argument::Path, &[], 16),
        (Operation::Attach, Argument::Path, &[], 26),
        // CollectTracing2 with one provider.
        (Operation::Trace, Argument::Arguments, &["Provider"], 25),
        // CollectTracing5 with one provider and one tracepoint.
        (Operation::UserEvents, Argument::Arguments, &["Provider", "Point"], 37),
    ] {
        let room = LARGEST.saturating_sub(size_with(&[others, &[""]].concat(), rest)) / 2;
        let told = |scenario: Scenario, units: usize| match argument {
            Argument::Arguments => {
                scenario.with_arguments(&format!("k={}", letters(units.saturating_sub(2))))
            }
            _ => scenario.with(argument, letters(units)),
        };
        let mut largest = Scenario::new(
            &format!("size/largest/{operation}"),
            "The longest text that the size field allows",
            &["F-40", "R-HDR-002"],
            operation,
        );
        largest.if_unsent = Some(Fault::LargestMessageRefused);
        // The size of a message for user_events depends on how the tracepoint is named in it.
        let units =
            if operation == Operation::UserEvents { room.saturating_sub(OF_A_SET) } else { room };
        all.push(answered(told(largest, units)));
        for (what, units) in [("one-too-long", room + 1), ("far-too-long", 40_000)] {
            let scenario = Scenario::new(
                &format!("size/{what}/{operation}"),
                "A text too long for a message: the client refuses it, and sends nothing",
                &["F-40", "R-HDR-002"],
                operation,
            );
            let mut scenario = told(scenario, units);
            scenario.reveals = Some(Fault::BeyondTheLargestMessage);
            scenario.moves = vec![accept("a"), Move::NothingWhole { on: "a".to_owned() }];
            scenario.exit = Exit::NonZero;
            all.push(scenario);
        }
    }
    all
}

/// A text of this many letters without short repetitions.
fn letters(count: usize) -> String {
    (b'a'..=b'z').cycle().take(count).map(char::from).collect()
}

/// The moves with which a runtime answers OK and continues the operation.
pub(super) fn answered(scenario: Scenario) -> Scenario {
    let operation = scenario.operation;
    let id = 42u64.to_le_bytes();
    let block = block(&["A=1", "NAME=value"]);
    let mut moves = vec![accept("a"), request("a")];
    match operation {
        Operation::Trace | Operation::TracePort => moves.extend([
            send("a", &ok(&id)),
            send("a", b"Nettrace"),
            accept("b"),
            stop("b"),
            send("b", &ok(&id)),
            close("b"),
            close("a"),
        ]),
        Operation::UserEvents => moves.extend([descriptor("a"), send("a", &ok(&id)), close("a")]),
        Operation::Environment => moves.extend([
            send("a", &ok(&environment_reply(&block))),
            send("a", &block),
            close("a"),
        ]),
        _ => moves.extend([send("a", &ok(&payload(&scenario))), close("a")]),
    }
    scenario.plays(moves, Exit::Zero)
}

impl Scenario {
    /// The same with provider arguments: a key and a value.
    fn with_arguments(mut self, text: &str) -> Self {
        self.arguments.insert(Argument::Arguments, text.to_owned());
        self.needs.push(vec![Argument::Arguments, Argument::ArgumentsKv]);
        self
    }

    /// The same with another value, for which the command line may use one of two placeholders.
    fn with_one_of(mut self, argument: Argument, value: &str) -> Self {
        let other = match argument {
            Argument::Keywords => Argument::KeywordsHex,
            Argument::Level => Argument::LevelName,
            Argument::ClientData => Argument::ClientDataFile,
            Argument::TimeoutMs => Argument::TimeoutS,
            other => other,
        };
        self.arguments.insert(argument, value.to_owned());
        self.needs.push(vec![argument, other]);
        self
    }
}
