//! Scenarios about which replies the client accepts, for each operation.

use dotnet_diagnostics_ipc::command::Command;
use dotnet_diagnostics_ipc::header::MAGIC;
use dotnet_diagnostics_ipc::hresult::HResult;
use dotnet_diagnostics_ipc::vectors::script::{Literal, Step};

use super::payloads::{ENTRIES, payload, process_info};
use super::requests::answered;
use super::runtime_bytes::{
    accept, block, close, descriptor, environment_reply, error, gives_up, lets_go, message_as, ok,
    request, request_of, send, stop, string, trickle,
};
use super::scenario::{Entry, Exit, Move, Output, Scenario};
use super::{Argument, Operation};
use crate::faults::Fault;

/// The operations that only succeed or fail.
pub(super) const RESULTS: &[Operation] = &[
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
/// Those that use the default port.
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
            let mut scenario = Scenario::new(
                &format!("reply/ok-{size}/{operation}"),
                &title,
                &["F-1", "F-2", "F-41"],
                operation,
            );
            scenario.ok_size = Some(size);
            let moves = [
                asked(operation),
                vec![send("a", &ok(payload)), Move::Settles { on: "a".to_owned() }, close("a")],
            ]
            .concat();
            all.push(scenario.plays(moves, Exit::Zero));
        }
    }
    for operation in ASKING.iter().copied() {
        all.extend(refusals(operation));
        all.extend(no_replies(operation));
        all.extend(ends(operation));
        all.extend(silence(operation));
        all.push(in_bytes(operation));
        all.push(reserved(operation));
        all.push(error_of_code_0(operation));
    }
    all.extend(RESULTS.iter().copied().map(failing_hresult));
    all.push(half_an_id());
    all.extend(strings());
    all.extend(sizes());
    all.extend(environments());
    all.push(fallback());
    all
}

fn refusals(operation: Operation) -> Vec<Scenario> {
    let mut closed = Scenario::new(
        &format!("reply/error/{operation}"),
        "An error, and a close",
        &["F-1", "R-ERR-001"],
        operation,
    );
    let mut open = Scenario::new(
        &format!("reply/error-and-no-end/{operation}"),
        "An error, and no close",
        &["F-5", "F-74"],
        operation,
    );
    let sent = |hresult| [asked(operation), vec![send("a", &error(hresult))]].concat();
    closed.reveals = Some(Fault::ErrorTakenForOk);
    open.reveals = Some(Fault::ErrorTakenForOk);
    vec![
        closed.plays([sent(HResult::FAIL), vec![close("a")]].concat(), Exit::NonZero),
        open.plays([sent(HResult::BAD_ENCODING), vec![lets_go("a")]].concat(), Exit::NonZero),
    ]
}

/// An error whose code means nothing: the header marks it.
fn error_of_code_0(operation: Operation) -> Scenario {
    let name = format!("reply/error-of-code-0/{operation}");
    let mut scenario = Scenario::new(&name, "An error whose code is 0", &["R-ERR-005"], operation);
    scenario.reveals = Some(Fault::ErrorCode0TakenForOk);
    scenario.plays(
        [asked(operation), vec![send("a", &error(HResult(0))), close("a")]].concat(),
        Exit::NonZero,
    )
}

/// An OK with a failing HRESULT. If the document has no HRESULT in the reply, the result is left
/// open.
fn failing_hresult(operation: Operation) -> Scenario {
    let name = format!("reply/ok-with-failing-hresult/{operation}");
    let requirement = match operation {
        Operation::Dump => "R-DMP-008",
        Operation::Attach => "R-PRF-009",
        Operation::PerfMap => "R-PRC-026",
        Operation::PerfMapOff => "R-PRC-029",
        Operation::StartupHook => "R-PRC-033",
        Operation::SetEnv | Operation::UnsetEnv => "R-ENV-015",
        _ => "F-41",
    };
    let mut scenario = Scenario::new(
        &name,
        "An OK with a failing HRESULT",
        &[requirement, "R-ERR-007"],
        operation,
    );
    scenario.reveals = Some(Fault::FailingHresultIgnored);
    scenario.is_open = requirement == "F-41";
    let reply = ok(&HResult::FAIL.0.to_le_bytes());
    scenario.plays([asked(operation), vec![send("a", &reply), close("a")]].concat(), Exit::NonZero)
}

/// A reply whose reserved field is not 0.
fn reserved(operation: Operation) -> Scenario {
    let name = format!("reply/reserved/{operation}");
    let scenario = Scenario::new(
        &name,
        "A reply whose reserved field is not 0",
        &["R-HDR-014", "F-4"],
        operation,
    );
    let mut scenario = answered(scenario);
    scenario.reveals = Some(Fault::ReplyReservedInsistedOn);
    let first = scenario.moves.iter_mut().find_map(|one| match one {
        Move::Step(Step::Send(send)) => Some(&mut send.send),
        _ => None,
    });
    if let Some(Literal::Bytes(bytes)) = first.and_then(|literals| literals.first_mut()) {
        bytes.iter_mut().skip(18).take(2).for_each(|byte| *byte = 0x5a);
    }
    scenario
}

/// Strings that current runtimes do not write: the length gives the number of units.
fn strings() -> Vec<Scenario> {
    let (first, last) = process_info(Command::PROCESS_INFO2, 4242)
        .split_at_checked(24)
        .map(|(one, other)| (one.to_vec(), other.to_vec()))
        .unwrap_or_default();
    let mut all = Vec::new();
    // The entry assembly has length 0, without a NUL.
    let texts = ["app --serve", "Linux", "x64"].iter().flat_map(|text| string(text));
    let absent: Vec<u8> =
        first.iter().copied().chain(texts).chain([0; 4]).chain(string("10.0.9")).collect();
    let name = "strings/length-0/process-info";
    let scenario = Scenario::new(
        name,
        "A string of length 0 before another one",
        &["F-11", "R-GRM-010"],
        Operation::ProcessInfo,
    );
    let mut scenario = scenario
        .plays(vec![accept("a"), request("a"), send("a", &ok(&absent)), close("a")], Exit::Zero);
    scenario.reveals = Some(Fault::StringOfLength0Misread);
    scenario.output = Some(Output::Texts(
        ["app --serve", "10.0.9"].map(ToOwned::to_owned).to_vec(),
        Fault::StringOfLength0Misread,
    ));
    all.push(scenario);

    let bare = |text: &str| {
        let units: Vec<u16> = text.encode_utf16().collect();
        let count = u32::try_from(units.len()).unwrap_or(u32::MAX);
        count
            .to_le_bytes()
            .into_iter()
            .chain(units.into_iter().flat_map(u16::to_le_bytes))
            .collect::<Vec<u8>>()
    };
    let without =
        [first, bare("app --serve"), last.get(28..).unwrap_or_default().to_vec()].concat();
    let name = "strings/without-nul/process-info";
    let title = "A string without its NUL: refused, or output whole";
    let scenario = Scenario::new(name, title, &["R-GRM-008"], Operation::ProcessInfo);
    let mut scenario = scenario
        .plays(vec![accept("a"), request("a"), send("a", &ok(&without)), close("a")], Exit::Any);
    scenario.output =
        Some(Output::Texts(vec!["app --serve".to_owned()], Fault::StringWithoutNulCut));
    all.push(scenario);

    let block = [&2u32.to_le_bytes()[..], &bare("A=12"), &string("B=2")].concat();
    let name = "strings/without-nul/environment";
    let scenario = Scenario::new(name, title, &["R-GRM-008"], Operation::Environment);
    let moves = vec![
        accept("a"),
        request("a"),
        send("a", &ok(&environment_reply(&block))),
        send("a", &block),
        close("a"),
    ];
    let mut scenario = scenario.plays(moves, Exit::Any);
    scenario.output = Some(Output::Texts(vec!["A=12".to_owned()], Fault::StringWithoutNulCut));
    all.push(scenario);
    all
}

/// Not a reply, although all but one field is that of an OK.
fn no_replies(operation: Operation) -> Vec<Scenario> {
    let mut all = Vec::new();
    for (what, magic, code, fault, spec) in [
        ("wrong-magic", *b"DOTNET_IPC_V2\0", Command::OK, Fault::MagicUnchecked, "F-71"),
        (
            "wrong-command-set",
            MAGIC,
            Command::PROCESS_INFO,
            Fault::ReplyCommandSetUnchecked,
            "R-HDR-002",
        ),
    ] {
        let mut scenario = Scenario::new(
            &format!("reply/{what}/{operation}"),
            "An OK with one wrong header field: not a reply",
            &[spec],
            operation,
        );
        let mut moves = asked(operation);
        moves.push(send("a", &message_as(magic, code, &payload(&scenario))));
        match operation {
            Operation::Environment => moves.push(send("a", &block(ENTRIES))),
            Operation::Trace => {
                moves.extend([send("a", b"Nettrace"), Move::Refuses { on: "a".to_owned() }]);
            }
            _ => {}
        }
        if operation != Operation::Trace {
            moves.push(close("a"));
        }
        scenario.reveals = Some(fault);
        all.push(scenario.plays(moves, Exit::NonZero));
    }
    all
}

/// An OK to `CollectTracing` whose payload is half a session id. The following stream does not
/// contain the other half.
fn half_an_id() -> Scenario {
    let mut scenario = Scenario::new(
        "reply/half-an-id/trace",
        "An OK with half a session id, and a stream",
        &["R-ERR-003", "R-HDR-002"],
        Operation::Trace,
    );
    scenario.reveals = Some(Fault::ReplyTooShortAccepted);
    let reply = ok(&[42, 0, 0, 0]);
    let refuses = Move::Refuses { on: "a".to_owned() };
    scenario.plays(
        [asked(Operation::Trace), vec![send("a", &reply), send("a", b"Nettrace"), refuses]]
            .concat(),
        Exit::NonZero,
    )
}

fn ends(operation: Operation) -> Vec<Scenario> {
    let cut = |what: &str, keep: fn(usize) -> usize| {
        let title = format!("The connection ends early: {what}");
        let mut scenario =
            Scenario::new(&format!("end/{what}/{operation}"), &title, &["R-ERR-003"], operation);
        let reply = ok(&payload(&scenario));
        let bytes = reply.get(..keep(reply.len())).unwrap_or_default();
        scenario.reveals = Some(if bytes.is_empty() {
            Fault::NoReplyTakenForOk
        } else {
            Fault::ReplyCutUnnoticed
        });
        let moves = [
            asked(operation),
            if bytes.is_empty() { vec![] } else { vec![send("a", bytes)] },
            vec![close("a")],
        ]
        .concat();
        scenario.plays(moves, Exit::NonZero)
    };
    vec![
        cut("before-the-reply", |_| 0),
        cut("in-the-header", |_| 11),
        cut("in-the-payload", |len| len.saturating_sub(1)),
    ]
}

fn silence(operation: Operation) -> Vec<Scenario> {
    // A stop is answered once a stream is drained, and a dump once it is written: however long that
    // takes (F-75).
    let is_open = matches!(operation, Operation::Stop | Operation::Dump);
    let silent = |what: &str, keep: usize| {
        let title = format!("The runtime sends nothing more: {what}");
        let mut scenario = Scenario::new(
            &format!("silence/{what}/{operation}"),
            &title,
            &["F-75", "R-ERR-004"],
            operation,
        );
        let reply = ok(&payload(&scenario));
        let bytes = reply.get(..keep).unwrap_or_default();
        let mut moves = asked(operation);
        moves.extend((keep > 0).then(|| send("a", bytes)));
        moves.push(gives_up("a"));
        scenario.is_silent = true;
        scenario.is_open = is_open;
        scenario.reveals =
            Some(if keep == 0 { Fault::NoReplyTakenForOk } else { Fault::ReplyCutUnnoticed });
        scenario.plays(moves, Exit::NonZero)
    };
    vec![silent("at-once", 0), silent("in-the-reply", 21)]
}

fn in_bytes(operation: Operation) -> Scenario {
    let scenario = Scenario::new(
        &format!("pieces/bytes/{operation}"),
        "The reply arrives byte by byte",
        &["R-HDR-002"],
        operation,
    );
    let mut scenario = answered(scenario);
    scenario.reveals = Some(Fault::ReplyInPiecesMisread);
    let reply = ok(&payload(&scenario));
    if let Some(sent) = scenario.moves.iter_mut().find(|one| **one == send("a", &reply)) {
        *sent = trickle("a", &reply);
    }
    scenario
}

/// Replies larger than necessary: the continuation begins after them.
fn sizes() -> Vec<Scenario> {
    let surplus = [0x11, 0x22, 0x33, 0x44];
    let mut all = Vec::new();
    let id = 42u64.to_le_bytes();
    let name = "size-field/session";
    let trace = Scenario::new(
        name,
        "Bytes after the session's id: the stream begins after them",
        &["F-4", "F-2"],
        Operation::Trace,
    );
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
    trace.output =
        Some(Output::StreamBehind { surplus: surplus.to_vec(), stream: b"Nettrace".to_vec() });
    all.push(trace);

    let block = block(ENTRIES);
    let reply = ok(&[&environment_reply(&block)[..], &surplus].concat());
    let name = "size-field/environment";
    let environment = Scenario::new(
        name,
        "Bytes after `future`: the block begins after them",
        &["F-4"],
        Operation::Environment,
    );
    let mut environment = environment.plays(
        vec![accept("a"), request("a"), send("a", &reply), send("a", &block), close("a")],
        Exit::Zero,
    );
    environment.output = Some(Output::Environment(
        ENTRIES.iter().map(|entry| Entry::Text((*entry).to_owned())).collect(),
    ));
    all.push(environment);
    all
}

fn environments() -> Vec<Scenario> {
    let text = |entry: &&str| Entry::Text((*entry).to_owned());
    let mut all = Vec::new();
    let without_equals = Some(Fault::EnvironmentEntryWithoutEquals);
    for (what, title, reveals, entries) in [
        ("without-equals", "An entry without `=`", without_equals, &["A=1", "NOEQUALS", "B=2"][..]),
        ("leading-equals", "An entry that begins with `=`", None, &["=C:=C:\\", "A=1"]),
        ("twice", "A name that occurs twice", None, &["A=1", "A=2"]),
        ("empty-value", "An empty value", None, &["A=", "B=2"]),
        ("non-bmp", "Characters of two units", None, &["A=\u{1f600}", "\u{10437}=2"]),
    ] {
        let scenario = Scenario::new(
            &format!("entries/{what}"),
            title,
            &["F-79", "F-43"],
            Operation::Environment,
        );
        let bytes = block(entries);
        let moves = vec![
            accept("a"),
            request("a"),
            send("a", &ok(&environment_reply(&bytes))),
            send("a", &bytes),
            close("a"),
        ];
        let mut scenario = scenario.plays(moves, Exit::Zero);
        scenario.output = Some(Output::Environment(entries.iter().map(text).collect()));
        scenario.reveals = reveals;
        all.push(scenario);
    }
    all
}

/// `UNKNOWN_COMMAND` without a close: the older command needs a new connection.
fn fallback() -> Scenario {
    let name = "fallback/no-close";
    let title = "UNKNOWN_COMMAND and no close: the older command is sent on a new connection";
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
