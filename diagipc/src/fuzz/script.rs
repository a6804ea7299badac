//! A finding as an exchange script.

use std::time::Duration;

use dotnet_diagnostics_ipc::command::Command;
use dotnet_diagnostics_ipc::header::MAGIC;
use dotnet_diagnostics_ipc::message::{encode_to_vec, process::ProcessInfo};
use dotnet_diagnostics_ipc_vectors::script::{ClientPart, Plays, Script, Step, Target};
use dotnet_diagnostics_ipc_vectors::{Hazard, ScriptFile};
use serde_json::json;

use super::finding::Finding;
use super::play::CaseVerdict;
use crate::server::request::ON;

/// The connection that tests whether the target still answers.
const PROBE: &str = "z";
/// How long nothing arrives on a connection that is left open, in milliseconds.
const SILENCE_MS: u32 = 500;
/// How long a process may take to end, in milliseconds.
const END_TIMEOUT_MS: u32 = 10_000;

impl Finding {
    /// A file of one exchange script that follows the target: its last step is what no server may
    /// do. `within` is the target's time limit for an answer.
    pub fn script_file(&self, within: Duration) -> ScriptFile {
        let within_ms = u32::try_from(within.as_millis()).unwrap_or(u32::MAX).clamp(1, 60_000);
        let case = &self.minimised;
        let mut steps = case.steps();
        steps.extend(self.last_steps(within_ms));
        // A conversation begins with one message, and the server answers.
        let mut spec = Vec::from(["R-FLW-003".to_owned(), "R-FLW-004".to_owned()]);
        spec.extend(self.known.as_ref().map(|known| known.fact.clone()));
        let script = Script {
            sc_id: self.number,
            name: self.name(),
            comment: self.comment(),
            spec,
            since: self.command().since().map(|version| format!("{version}")),
            hazard: Some(Hazard::Harmful),
            plays: Plays::Client(ClientPart {
                target: Target::default(),
                habit: None,
                seen_on: Vec::new(),
                deviations: Vec::new(),
            }),
            steps,
        };
        let title = format!("A finding of diagipc fuzz-server: {}", self.command());
        ScriptFile::new(title, within_ms, Vec::from([script]))
    }

    fn comment(&self) -> String {
        let (bytes, death) = (
            self.minimised.message.len(),
            self.death().map(|death| format!(", the target {death}")),
        );
        let known = self.known.as_ref().map(|known| format!("; {}: {}", known.fact, known.text));
        format!(
            "{}: {}{} after {bytes} bytes, made from tcId {} by {}{}",
            self.command(),
            self.cause(),
            death.unwrap_or_default(),
            self.case.tc_id,
            self.mutation(),
            known.unwrap_or_default()
        )
    }

    /// Returns the steps that show what the server does.
    fn last_steps(&self, within_ms: u32) -> Vec<Step> {
        let steps = match self.verdict() {
            CaseVerdict::Crash => json!([
                { "on": ON, "drain": true },
                { "on": ON, "expect_end": "any", "within_ms": END_TIMEOUT_MS },
                { "expect_target": "dead", "within_ms": END_TIMEOUT_MS },
            ]),
            CaseVerdict::Hang => {
                let question = encode_to_vec(Command::PROCESS_INFO, &ProcessInfo {});
                json!([
                    { "on": ON, "end": "close" },
                    { "open": PROBE },
                    { "on": PROBE, "send": [hex::encode(question.unwrap_or_default())] },
                    { "on": PROBE, "expect_nothing": within_ms },
                ])
            }
            // A missing listener is not a step; received bytes do not matter.
            CaseVerdict::EndpointGone | CaseVerdict::MemoryGrowth => {
                json!([{ "on": ON, "drain": true }, { "on": ON, "end": "close" }])
            }
            CaseVerdict::Leaked => {
                let magic = MAGIC.get(..self.received).unwrap_or(&MAGIC);
                let not = hex::encode(magic);
                json!([{ "on": ON, "expect": [{ "any": magic.len(), "not": [not] }] }])
            }
            CaseVerdict::LeftOpen => {
                let size = json!({ "any": 2, "as": "size" });
                let rest = json!({ "until": "size", "most": u16::MAX });
                json!([
                    { "on": ON, "expect": [hex::encode(MAGIC), size, rest] },
                    { "on": ON, "expect_nothing": SILENCE_MS },
                ])
            }
            _ => json!([{ "on": ON, "expect": [{ "any": self.received.max(1) }] }]),
        };
        serde_json::from_value(steps).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::super::finding::Cause;
    use super::super::{Delivery, FuzzCase, Growth, Mutation};
    use super::*;
    use crate::KnownDeviation;
    use crate::faults::Fault;
    use crate::server::Death;

    const MAGIC_TEXT: &str = "444f544e45545f4950435f563100";

    fn finding(fault: Fault, received: usize) -> Finding {
        let case = FuzzCase {
            number: 7,
            tc_id: 6200,
            base: Command::RESUME_RUNTIME,
            mutations: Vec::from([Mutation::ExtraBytes]),
            message: b"DOTNET_IPC_V1\0\x15\0\x04\x01\0\0\0".to_vec(),
            delivery: Delivery::Whole,
        };
        let death = (fault == Fault::Crash).then_some(Death::Signal(11));
        let new = Finding::new(&[], Cause::new(fault, death, &case), &case);
        Finding { number: 3, reproduced: Some(true), received, ..new }
    }

    /// The steps after the two that send the message.
    fn steps(fault: Fault, seen: usize) -> Vec<Value> {
        let file = finding(fault, seen).script_file(Duration::from_millis(400));
        assert_eq!(
            (file.within_ms, file.scripts.len(), file.scripts[0].hazard),
            (400, 1, Some(Hazard::Harmful))
        );
        file.scripts[0].steps[2..].iter().map(|step| serde_json::to_value(step).unwrap()).collect()
    }

    #[test]
    fn last_steps_show_the_symptom() {
        let dies = json!({ "expect_target": "dead", "within_ms": 10_000 });
        assert_eq!(steps(Fault::Crash, 0).last(), Some(&dies));
        let asks = json!({ "on": "z", "send": [format!("{MAGIC_TEXT}140004000000")] });
        let hangs = [
            json!({ "on": "a", "end": "close" }),
            json!({ "open": "z" }),
            asks,
            json!({ "on": "z", "expect_nothing": 400 }),
        ];
        assert_eq!(steps(Fault::Hang, 0), hangs);
        // As many bytes as the magic has are enough to reject them.
        for (seen, not) in [(5, &MAGIC_TEXT[..10]), (100, MAGIC_TEXT)] {
            assert_eq!(
                steps(Fault::Leaked, seen),
                [json!({ "on": "a", "expect": [{ "any": not.len() / 2, "not": [not] }] })]
            );
        }
        let open = steps(Fault::ConnectionLeftOpen, 24);
        assert_eq!(
            (open[0]["expect"][0].clone(), open[1].clone()),
            (json!(MAGIC_TEXT), json!({ "on": "a", "expect_nothing": 500 }))
        );
        let ends = [json!({ "on": "a", "drain": true }), json!({ "on": "a", "end": "close" })];
        assert_eq!(steps(Fault::MemoryGrowth, 0), ends);
        // A malformed reply is there, whatever it is.
        assert_eq!(
            steps(Fault::ReservedNotZero, 30),
            [json!({ "on": "a", "expect": [{ "any": 30 }] })]
        );
    }

    #[test]
    fn finding_prints_one_line() {
        let crash = finding(Fault::Crash, 0);
        assert_eq!(
            format!("{crash}"),
            "3 Process/ResumeRuntime: crash:not-canonical (the target was killed by signal 11) by extra-bytes in case 7; 21 bytes, of 21"
        );
        let text = |change: fn(&mut Finding)| {
            let mut one = finding(Fault::Hang, 0);
            change(&mut one);
            format!("{one}")
        };
        let begins = "3 Process/ResumeRuntime: hang:not-canonical by extra-bytes in case 7";
        assert_eq!(
            text(|one| one.reproduced = Some(false)),
            format!("{begins}; not reproduced with a new target, 21 bytes")
        );
        assert_eq!(text(|one| one.reproduced = None), format!("{begins}; 21 bytes"));
        let leak = text(|one| one.memory = Some(Growth { before: 100, after: 356, requests: 64 }));
        let figures = "(its memory grew from 100 to 356 KiB in 64 requests, 4 KiB each)";
        assert_eq!(
            leak,
            format!(
                "3 Process/ResumeRuntime: hang:not-canonical {figures} by extra-bytes in case 7; 21 bytes, of 21"
            )
        );
        let known = text(|one| {
            one.known = Some(KnownDeviation { fact: "F-71".to_owned(), text: "memory".to_owned() });
        });
        assert_eq!(known, format!("{begins}; 21 bytes, of 21; F-71: memory"));
    }
}
