//! `diagipc client`: the two limits of a client's patience, and what a report keeps of passing
//! cases.

use std::fs;
use std::path::Path;

use diagipc::report::TurnDirection;
use diagipc::{Case, Detail, Grade, Report};

use crate::tool;

/// The result of `client.py`, described by these limits, in the scenario. It waits for longer than the
/// limits of the busiest machine.
fn played(limits: &str, scenario: &str) -> Case {
    let directory = crate::tool::directory();
    let client = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/clients/client.py");
    let command = format!(
        "[operations.process-info]\ncommand = [\"python3\", \"-IS\", '{}', \"--patience\", \"200000\", \"--pid\", \"{{pid}}\", \
         \"process-info\", \"{{command}}\"]\noutput = \"process-info\"\n",
        client.display()
    );
    let file = directory.path().join("client.toml");
    fs::write(&file, format!("{limits}\n{command}")).unwrap();
    let mut diagipc = tool::diagipc();
    diagipc.args(["client", "--json", "--only", scenario, "--operations"]).arg(&file);
    let output = diagipc.output().unwrap();
    let report = Report::parse(&String::from_utf8_lossy(&output.stdout));
    let [case] = &report
        .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&output.stderr)))
        .cases[..]
    else {
        panic!("one scenario is chosen")
    };
    case.clone()
}

/// The whole reply takes longer than a client waits for it, but no single byte does.
#[test]
fn deadline_ms_limits_whole_reply() {
    const SLOW: &str = "replies/reply-in-bytes";
    let case = played("timeout_ms = 20000\ndeadline_ms = 100", SLOW);
    let found = &case.detail.as_ref().unwrap().found;
    assert_eq!(case.grade, Grade::Unimplemented, "{found:?}");
    assert!(
        found[0].starts_with("the runtime takes ")
            && found[0].ends_with(" ms in total, but the client waits 100 ms for the whole reply")
    );
    // The same limit for each byte alone.
    assert_eq!(played("timeout_ms = 20000", SLOW).grade, Grade::Pass);
}

/// The client waits very long for a byte that never arrives, but its file gives 300 ms for the whole
/// reply.
#[test]
#[ignore = "long: .ci/nightly long"]
fn deadline_ms_alone_limits_silence() {
    // How long the kit waits for a client without limits in its file.
    const DEFAULT_MS: u32 = 10_000;
    let case = played("deadline_ms = 300", "silence/at-once/process-info");
    let found = &case.detail.as_ref().unwrap().found;
    assert_eq!(
        (case.grade, case.faults[0].name.as_str()),
        (Grade::Fail, "no-read-timeout"),
        "{found:?}"
    );
    let after = found.iter().find_map(|line| {
        line.strip_prefix("it still keeps the connection open after ")?
            .split(' ')
            .next()?
            .parse::<u32>()
            .ok()
    });
    assert!(after.is_some_and(|after| after < DEFAULT_MS), "{found:?}");
}

/// The JSON of a passing case has the conversation.
#[test]
fn json_report_has_bytes_of_passing_cases() {
    let case = played("timeout_ms = 20000", "replies/reply-in-bytes");
    assert_eq!(case.grade, Grade::Pass);
    let turns = case.detail.as_ref().and_then(Detail::turns).expect("a conversation");
    let of = |direction| {
        turns
            .iter()
            .filter(|turn| turn.direction == direction)
            .map(|turn| hex::encode(&turn.bytes))
            .collect::<String>()
    };
    // The client's ProcessInfo2, and the header of an OK.
    assert_eq!(of(TurnDirection::Received), "444f544e45545f4950435f563100140004040000");
    let sent = of(TurnDirection::Sent);
    assert!(
        sent.starts_with("444f544e45545f4950435f563100") && sent.get(32..40) == Some("ff000000"),
        "{sent}"
    );
}
