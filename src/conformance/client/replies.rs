//! Scenarios about what the client takes for a reply, for each operation.

use alloc::{borrow::ToOwned as _, format, vec, vec::Vec};

use super::moves::{
    accept, block, close, descriptor, environment_reply, error, gives_up, message_as, ok, request, request_of, send, stop, trickle,
};
use super::payloads::{ENTRIES, payload};
use super::requests::answered;
use super::scenario::{Entry, Exit, Move, Output, Scenario};
use super::{Argument, ClientFault, Operation};
use crate::command::Command;
use crate::hresult::HResult;

/// The operations that say yes or no.
const RESULTS: &[Operation] = &[
    Operation::Resume,
    Operation::SetEnv,
    Operation::UnsetEnv,
    Operation::StartupHook,
    Operation::PerfMap,
    Operation::PerfMapOff,
    Operation::Dump,
    Operation::Attach,
    Operation::StartupProfiler,
];
/// Those that ask at the default port.
const ASKING: &[Operation] = &[
    Operation::Resume,
    Operation::SetEnv,
    Operation::UnsetEnv,
    Operation::StartupHook,
    Operation::PerfMap,
    Operation::PerfMapOff,
    Operation::Dump,
    Operation::Attach,
    Operation::StartupProfiler,
    Operation::ProcessInfo,
    Operation::Environment,
    Operation::Trace,
    Operation::Stop,
    Operation::UserEvents,
];

/// The request, and for `user_events` the descriptor.
fn asked(operation: Operation) -> Vec<Move> {
    let mut moves = vec![accept("a"), request("a")];
    moves.extend((operation == Operation::UserEvents).then(|| descriptor("a")));
    moves
}

pub(super) fn scenarios() -> Vec<Scenario> {
    let mut all = Vec::new();
    for operation in RESULTS.iter().copied() {
        for (size, payload) in [(20, &[][..]), (24, &[0; 4]), (28, &[0; 8])] {
            let title = format!("An OK of {size} bytes");
            let mut scenario = Scenario::new(&format!("reply/ok-{size}/{operation}"), &title, &["F-1", "F-2", "F-41"], operation);
            scenario.ok_size = Some(size);
            let moves =
                [asked(operation), vec![send("a", &ok(payload)), Move::Settles { on: "a".to_owned() }, close("a")]].concat();
            all.push(scenario.plays(moves, Exit::Zero));
        }
    }
    for operation in ASKING.iter().copied() {
        all.extend(refusals(operation));
        all.extend(no_replies(operation));
        all.extend(ends(operation));
        all.extend(silence(operation));
        all.push(in_bytes(operation));
    }
    all.extend(sizes());
    all.extend(environments());
    all.push(fallback());
    all
}

fn refusals(operation: Operation) -> Vec<Scenario> {
    let closed = Scenario::new(&format!("reply/error/{operation}"), "An error, and a close", &["F-1", "R-ERR-001"], operation);
    let open = Scenario::new(&format!("reply/error-and-no-end/{operation}"), "An error, and no close", &["F-5", "F-74"], operation);
    let sent = |hresult| [asked(operation), vec![send("a", &error(hresult))]].concat();
    vec![
        closed.plays([sent(HResult::FAIL), vec![close("a")]].concat(), Exit::NonZero),
        open.plays([sent(HResult::BAD_ENCODING), vec![gives_up("a")]].concat(), Exit::NonZero),
    ]
}

/// What is no reply, although all but one thing is that of an OK.
fn no_replies(operation: Operation) -> Vec<Scenario> {
    let mut all = Vec::new();
    for (what, magic, code, fault, spec) in [
        ("wrong-magic", b"DOTNET_IPC_V2\0", [0xff, 0], ClientFault::ReplyMagicUnchecked, "F-71"),
        ("wrong-command-set", b"DOTNET_IPC_V1\0", [0x04, 0], ClientFault::ReplyCommandSetUnchecked, "R-HDR-002"),
    ] {
        let mut scenario = Scenario::new(
            &format!("reply/{what}/{operation}"),
            "All is as in an OK but one field of the header: it is no reply",
            &[spec],
            operation,
        );
        let mut moves = asked(operation);
        moves.push(send("a", &message_as(magic, code, &payload(&scenario))));
        match operation {
            Operation::Environment => moves.push(send("a", &block(ENTRIES))),
            Operation::Trace => moves.push(send("a", b"Nettrace")),
            _ => {}
        }
        moves.push(close("a"));
        scenario.reveals = Some(fault);
        all.push(scenario.plays(moves, Exit::NonZero));
    }
    all
}

fn ends(operation: Operation) -> Vec<Scenario> {
    let cut = |what: &str, keep: fn(usize) -> usize| {
        let title = format!("The connection ends early: {what}");
        let scenario = Scenario::new(&format!("end/{what}/{operation}"), &title, &["R-ERR-003"], operation);
        let reply = ok(&payload(&scenario));
        let bytes = reply.get(..keep(reply.len())).unwrap_or_default();
        let moves = [asked(operation), if bytes.is_empty() { vec![] } else { vec![send("a", bytes)] }, vec![close("a")]].concat();
        scenario.plays(moves, Exit::NonZero)
    };
    vec![cut("before-the-reply", |_| 0), cut("in-the-header", |_| 11), cut("in-the-payload", |len| len.saturating_sub(1))]
}

fn silence(operation: Operation) -> Vec<Scenario> {
    // A stop is answered once a stream is drained, and a dump once it is written: however long that takes (F-75).
    if matches!(operation, Operation::Stop | Operation::Dump) {
        return Vec::new();
    }
    let silent = |what: &str, keep: usize| {
        let title = format!("The runtime says nothing more: {what}");
        let mut scenario = Scenario::new(&format!("silence/{what}/{operation}"), &title, &["F-75", "R-ERR-004"], operation);
        let reply = ok(&payload(&scenario));
        let bytes = reply.get(..keep).unwrap_or_default();
        let mut moves = asked(operation);
        moves.extend((keep > 0).then(|| send("a", bytes)));
        moves.push(gives_up("a"));
        scenario.is_silent = true;
        scenario.plays(moves, Exit::NonZero)
    };
    vec![silent("at-once", 0), silent("in-the-reply", 21)]
}

fn in_bytes(operation: Operation) -> Scenario {
    let scenario = Scenario::new(&format!("pieces/bytes/{operation}"), "The reply arrives byte by byte", &["R-HDR-002"], operation);
    let mut scenario = answered(scenario);
    let reply = ok(&payload(&scenario));
    if let Some(sent) = scenario.moves.iter_mut().find(|one| **one == send("a", &reply)) {
        *sent = trickle("a", &reply);
    }
    scenario
}

/// Replies that are larger than they need be: what follows begins behind them.
fn sizes() -> Vec<Scenario> {
    let surplus = [0x11, 0x22, 0x33, 0x44];
    let mut all = Vec::new();
    let id = 42u64.to_le_bytes();
    let name = "size-field/session";
    let trace =
        Scenario::new(name, "Bytes behind the session's id: the stream begins behind them", &["F-4", "F-2"], Operation::Trace);
    let mut trace = trace.plays(
        vec![
            accept("a"),
            request("a"),
            send("a", &ok(&[&id[..], &surplus].concat())),
            send("a", b"Nettrace"),
            accept("b"),
            stop("b"),
            send("b", &ok(&id)),
            close("b"),
            close("a"),
        ],
        Exit::Zero,
    );
    trace.output = Some(Output::StreamBehind { surplus: surplus.to_vec(), stream: b"Nettrace".to_vec() });
    all.push(trace);

    let block = block(ENTRIES);
    let reply = ok(&[&environment_reply(&block)[..], &surplus].concat());
    let name = "size-field/environment";
    let environment = Scenario::new(name, "Bytes behind `future`: the block begins behind them", &["F-4"], Operation::Environment);
    let mut environment =
        environment.plays(vec![accept("a"), request("a"), send("a", &reply), send("a", &block), close("a")], Exit::Zero);
    environment.output = Some(Output::Environment(ENTRIES.iter().map(|entry| Entry::Text((*entry).to_owned())).collect()));
    all.push(environment);
    all
}

fn environments() -> Vec<Scenario> {
    let text = |entry: &&str| Entry::Text((*entry).to_owned());
    let mut all = Vec::new();
    let without_equals = Some(ClientFault::EnvironmentEntryWithoutEquals);
    for (what, title, reveals, entries) in [
        ("without-equals", "An entry without `=`", without_equals, &["A=1", "NOEQUALS", "B=2"][..]),
        ("leading-equals", "An entry that begins with `=`", None, &["=C:=C:\\", "A=1"]),
        ("twice", "A name that stands twice", None, &["A=1", "A=2"]),
        ("empty-value", "A value that is empty", None, &["A=", "B=2"]),
        ("non-bmp", "Characters of two units", None, &["A=\u{1f600}", "\u{10437}=2"]),
    ] {
        let scenario = Scenario::new(&format!("entries/{what}"), title, &["F-79", "F-43"], Operation::Environment);
        let bytes = block(entries);
        let moves = vec![accept("a"), request("a"), send("a", &ok(&environment_reply(&bytes))), send("a", &bytes), close("a")];
        let mut scenario = scenario.plays(moves, Exit::Zero);
        scenario.output = Some(Output::Environment(entries.iter().map(text).collect()));
        scenario.reveals = reveals;
        all.push(scenario);
    }
    all
}

/// `UNKNOWN_COMMAND` without a close: the older command goes over a connection of its own.
fn fallback() -> Scenario {
    let name = "fallback/no-close";
    let title = "UNKNOWN_COMMAND and no close: the older command comes on a new connection";
    let mut scenario = Scenario::new(name, title, &["R-ERR-009", "F-70"], Operation::ProcessInfo);
    scenario.arguments.insert(Argument::Command, "ProcessInfo3".to_owned());
    let moves = vec![
        accept("a"),
        request_of("a", Command::PROCESS_INFO3),
        send("a", &error(HResult::UNKNOWN_COMMAND)),
        Move::NotOn { on: "a".to_owned() },
        accept("b"),
        request_of("b", Command::PROCESS_INFO2),
        send("b", &error(HResult::FAIL)),
        close("b"),
    ];
    scenario = scenario.plays(moves, Exit::NonZero);
    scenario
}
