//! The grade of an answer.

use dotnet_diagnostics_ipc_vectors::{ExpectedResult, Type, Value, VectorFault};
use serde_json::json;

use super::answer::LAYERS;
use super::case::is_of_limits;
use super::difference::{compare_reading, compare_writing};
use super::fault::Meaning;
use super::{Answer, AnswerKind, CodecCase, CodecFault, Operation, WrongBytes, mistake};
use crate::Grade;

/// The judgement of an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Judgement {
    /// The grade.
    pub grade: Grade,
    /// Why it is not a [`Grade::Pass`], and the adapter's reason.
    pub found: Option<String>,
    /// Why it failed: only with [`Grade::Fail`].
    pub fault: Option<CodecFault>,
}

impl From<CodecFault> for Judgement {
    fn from(fault: CodecFault) -> Self {
        Self { grade: Grade::Fail, found: Some(format!("{fault}")), fault: Some(fault) }
    }
}

impl Judgement {
    const PASS: Self = Self { grade: Grade::Pass, found: None, fault: None };

    fn new(grade: Grade, found: impl Into<String>) -> Self {
        Self { grade, found: Some(found.into()), fault: None }
    }

    /// The same, with the adapter's reason.
    fn with_reason(mut self, reason: Option<&str>) -> Self {
        if let (Some(found), Some(reason)) = (&mut self.found, reason) {
            found.push_str(": ");
            found.push_str(reason);
        }
        self
    }
}

impl CodecCase<'_> {
    /// The grade of `answer`, ignoring its number. If the case is required, an answer that it is
    /// unsupported is a failure.
    pub fn judge(&self, answer: &Answer, is_required: bool) -> Judgement {
        let judgement = match (&answer.said, self.operation) {
            (AnswerKind::Unsupported, _) if is_required => {
                return CodecFault::Required(answer.reason.clone()).into();
            }
            (AnswerKind::Unsupported, _) => Judgement::new(Grade::Unimplemented, "unsupported"),
            (AnswerKind::Error { layer, value }, _) => {
                self.judge_refusal(layer.as_deref(), value.as_ref())
            }
            (AnswerKind::Taken, Operation::Decode) => self.judge_taking(),
            (AnswerKind::Taken, Operation::Encode) => {
                CodecFault::NotTheProtocol("`taken` is not an answer to `encode`".into()).into()
            }
            (AnswerKind::Ok { value, canonical, .. }, Operation::Decode) => {
                self.judge_decoding(value.as_ref(), *canonical)
            }
            (AnswerKind::Ok { wire, .. }, Operation::Encode) => {
                self.judge_encoding(wire.as_deref())
            }
        };
        judgement.with_reason(answer.reason.as_deref())
    }

    fn judge_refusal(&self, layer: Option<&str>, value: Option<&Value>) -> Judgement {
        if let Some(layer) = layer.filter(|layer| !LAYERS.contains(layer)) {
            return CodecFault::UnknownLayer(layer.into()).into();
        }
        let expected = match (self.test.result, &self.test.error) {
            (ExpectedResult::Acceptable, _) => return Judgement::PASS,
            (ExpectedResult::Invalid, Some(VectorFault { layer, .. })) => layer,
            (ExpectedResult::Valid, _) | (ExpectedResult::Invalid, None) => {
                return CodecFault::RefusedThoughValid.into();
            }
        };
        match layer {
            None => Judgement::new(
                Grade::Informational,
                "refused as required; no layer is given to judge",
            ),
            Some(layer) if layer == expected => {
                let read = value.filter(|_| is_of_limits(self.test));
                match read.and_then(|value| {
                    compare_reading(self.group.kind, value, &self.test.value).difference
                }) {
                    Some(difference) => CodecFault::WrongValue(difference).into(),
                    None => Judgement::PASS,
                }
            }
            Some(layer) if self.is_layer_binding() => {
                CodecFault::WrongLayer { seen: layer.into(), expected: expected.clone() }.into()
            }
            Some(layer) => Judgement::new(
                Grade::Informational,
                format!("refused as required, in layer {layer}; the vector says {expected}"),
            ),
        }
    }

    /// For accepted bytes, whatever they mean; `None` if they must be refused.
    fn taking(&self) -> Option<Judgement> {
        match self.test.result {
            ExpectedResult::Valid => Some(Judgement::PASS),
            ExpectedResult::Acceptable => {
                Some(Judgement::new(Grade::PassLenient, "a leniency is accepted"))
            }
            ExpectedResult::Invalid if is_of_limits(self.test) => {
                Some(Judgement::new(Grade::PassLenient, "limits are not checked"))
            }
            ExpectedResult::Invalid => None,
        }
    }

    fn judge_taking(&self) -> Judgement {
        match self.taking() {
            None => CodecFault::TakenThoughInvalid.into(),
            Some(judgement) if judgement.grade == Grade::Pass => Judgement::new(
                Grade::Informational,
                "accepted as required; no value is given to judge",
            ),
            Some(judgement) => judgement,
        }
    }

    fn judge_decoding(&self, value: Option<&Value>, canonical: Option<bool>) -> Judgement {
        let Some(judgement) = self.taking() else { return CodecFault::TakenThoughInvalid.into() };
        let Some(value) = value else { return CodecFault::ValueMissing.into() };
        let compared = compare_reading(self.group.kind, value, &self.test.value);
        if let Some(difference) = compared.difference {
            return CodecFault::WrongValue(difference).into();
        }
        // Dropped data is not written again.
        match canonical
            .filter(|canonical| *canonical != self.test.canonical && !compared.has_left_out)
        {
            Some(seen) => CodecFault::WrongCanonical { seen }.into(),
            None => judgement,
        }
    }

    fn judge_encoding(&self, wire: Option<&[u8]>) -> Judgement {
        let Some(wire) = wire else { return CodecFault::WireMissing.into() };
        match &self.test.wire {
            None => CodecFault::WrittenThoughInvalid.into(),
            Some(expected) if wire == expected && self.test.canonical => Judgement::PASS,
            Some(expected) if wire == expected => CodecFault::LeniencyWritten.into(),
            Some(expected) => self.judge_other_bytes(wire, expected),
        }
    }

    /// Bytes other than the vector's. If writers must not use those, they may be right; and if many
    /// libraries write an absent text as an empty one.
    fn judge_other_bytes(&self, wire: &[u8], expected: &[u8]) -> Judgement {
        let expected = self.test.canonical.then_some(expected);
        let wrong = |meaning| {
            let mistake = self.group.subject().and_then(|subject| {
                let canonical = subject.encode(&self.test.value).ok();
                mistake::in_bytes(subject, wire, expected.or(canonical.as_deref())?)
            });
            let wrong = WrongBytes::new(wire, expected, meaning, mistake);
            Judgement::from(CodecFault::WrongBytes(wrong))
        };
        let Some(subject) = self.group.subject() else { return wrong(Meaning::Same) };
        let mut value = self.test.value.clone();
        // Ignored data is not written.
        if let (Type::Ports, Some(ignored)) = (subject.kind, value.get_mut("ignored")) {
            *ignored = json!([]);
        }
        let decoded = match subject.decode(wire) {
            Ok(decoded) => decoded,
            Err(refusal) => return wrong(Meaning::None(refusal)),
        };
        let compared = compare_writing(self.group.kind, &decoded.value, &value);
        match (compared.difference, compared.absent_or_empty) {
            (Some(difference), _) => wrong(Meaning::Other(difference)),
            (None, _) if !decoded.canonical => wrong(Meaning::SameInAnotherForm),
            (None, Some(other)) => {
                Judgement::new(Grade::PassLenient, format!("written as many libraries do: {other}"))
            }
            (None, None) if self.test.canonical => wrong(Meaning::Same),
            (None, None) => Judgement::PASS,
        }
    }
}

#[cfg(test)]
mod tests {
    use dotnet_diagnostics_ipc_vectors::Test;

    use super::super::cases;
    use super::*;
    use crate::embedded::{self, NamedFile};

    /// The judgement of `line` for the first case selected by `is_meant`, with its test changed by
    /// `change`.
    #[track_caller]
    fn judged(
        files: &[NamedFile],
        is_meant: impl Fn(&CodecCase<'_>) -> bool,
        change: impl Fn(&mut Test),
        line: &str,
    ) -> Judgement {
        let case = cases(files).into_iter().find(|case| is_meant(case)).expect("there is one");
        let mut test = case.test.clone();
        change(&mut test);
        CodecCase { test: &test, ..case }.judge(&Answer::parse(line).unwrap(), false)
    }

    fn same(_: &mut Test) {}

    fn decodes(case: &CodecCase<'_>, result: ExpectedResult) -> bool {
        case.operation == Operation::Decode && case.test.result == result
    }

    fn name(judgement: &Judgement) -> Option<String> {
        assert_eq!(judgement.fault.is_some(), judgement.grade == Grade::Fail);
        judgement.fault.as_ref().map(CodecFault::name)
    }

    #[test]
    fn refusal_and_other_bytes_are_judged_by_vector() {
        let files = embedded::vectors().unwrap();
        let refusal = r#"{ "result": "error", "layer": "limits", "value": 1 }"#;
        // A leniency is optional.
        assert_eq!(
            judged(files, |case| decodes(case, ExpectedResult::Acceptable), same, refusal),
            Judgement::PASS
        );
        let limited = |case: &CodecCase<'_>| {
            decodes(case, ExpectedResult::Invalid) && is_of_limits(case.test)
        };
        assert_eq!(name(&judged(files, limited, same, refusal)).unwrap(), "wrong-value");
        assert_eq!(
            judged(files, limited, same, r#"{ "result": "error", "layer": "limits" }"#),
            Judgement::PASS
        );
        // Bytes that writers must not use are written in another way, which must be one.
        let other = |case: &CodecCase<'_>| {
            case.operation == Operation::Encode && case.test.wire.is_some() && !case.test.canonical
        };
        let none = judged(files, other, same, r#"{ "result": "ok", "wire": "" }"#);
        assert_eq!(name(&none).unwrap(), "wrong-bytes:unexpected_end", "{none:?}");
    }

    #[test]
    fn taken_without_value_is_judged_by_verdict() {
        let files = embedded::vectors().unwrap();
        let taken = r#"{ "result": "taken" }"#;
        let grade = |result| {
            judged(files, |case| decodes(case, result) && !is_of_limits(case.test), same, taken)
        };
        assert_eq!(grade(ExpectedResult::Valid).grade, Grade::Informational);
        assert_eq!(grade(ExpectedResult::Acceptable).grade, Grade::PassLenient);
        assert_eq!(name(&grade(ExpectedResult::Invalid)).unwrap(), "taken-though-invalid");
        let limits = judged(
            files,
            |case| decodes(case, ExpectedResult::Invalid) && is_of_limits(case.test),
            same,
            taken,
        );
        assert_eq!(
            (limits.grade, limits.found.as_deref()),
            (Grade::PassLenient, Some("limits are not checked"))
        );
        let encodes = judged(files, |case| case.operation == Operation::Encode, same, taken);
        assert_eq!(name(&encodes).unwrap(), "not-the-protocol");
        // An ok needs a value.
        let forgotten = judged(
            files,
            |case| decodes(case, ExpectedResult::Valid),
            same,
            r#"{ "result": "ok" }"#,
        );
        assert_eq!(name(&forgotten).unwrap(), "value-missing");
    }

    #[test]
    fn wrong_layer_fails_only_with_layer_matters() {
        let files = embedded::vectors().unwrap();
        let invalid = |case: &CodecCase<'_>| {
            decodes(case, ExpectedResult::Invalid)
                && case.test.error.as_ref().unwrap().layer == "header"
        };
        let refusal = r#"{ "result": "error", "layer": "payload", "reason": "bad data" }"#;
        let mild = judged(files, invalid, |test| test.flags.clear(), refusal);
        let text = "refused as required, in layer payload; the vector says header: bad data";
        assert_eq!((mild.grade, mild.found.as_deref()), (Grade::Informational, Some(text)));
        let matters =
            judged(files, invalid, |test| test.flags = vec!["LayerMatters".into()], refusal);
        assert_eq!(name(&matters).unwrap(), "wrong-layer");
    }

    #[test]
    fn dropped_key_is_not_required_as_canonical() {
        let files = embedded::vectors().unwrap();
        let tail =
            |case: &CodecCase<'_>| decodes(case, ExpectedResult::Valid) && case.test.tc_id == 8605;
        let of = |canonical: bool, change: fn(&mut Value)| {
            let mut line = json!({ "result": "ok", "canonical": canonical });
            let case = cases(files).into_iter().find(|case| tail(case)).unwrap();
            let mut value = case.test.value.clone();
            change(&mut value);
            line["value"] = value;
            judged(files, tail, same, &format!("{line}"))
        };
        let drop_tail = |value: &mut Value| drop(value.as_object_mut().unwrap().remove("tail"));
        assert_eq!(
            (of(false, drop_tail), of(true, drop_tail), of(true, |_| ())),
            (Judgement::PASS, Judgement::PASS, Judgement::PASS)
        );
        assert_eq!(name(&of(false, |_| ())).unwrap(), "wrong-canonical");
    }
}
