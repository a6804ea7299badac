//! Grades an answer.

use dotnet_diagnostics_ipc_vectors::{ExpectedResult, Type, Value, VectorFault};
use serde_json::json;

use super::case::is_of_limits;
use super::difference::{Compared, Difference, mistake_in_bytes};
use super::line_protocol::LAYERS;
use super::{Answer, AnswerKind, CodecCase, Operation};
use crate::faults::Fault;
use crate::{Case, CaseFault, Detail, Grade, Playable as _, Said};

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Graded {
    grade: Grade,
    /// Why it is not a [`Grade::Pass`], with the adapter's reason.
    found: Option<String>,
    fault: Option<CaseFault>,
}

impl Graded {
    const PASS: Self = Self { grade: Grade::Pass, found: None, fault: None };

    fn new(grade: Grade, found: impl Into<String>) -> Self {
        Self { grade, found: Some(found.into()), fault: None }
    }

    pub(super) fn fail(fault: Fault, text: impl Into<String>) -> Self {
        Self::fail_in(fault, "", text)
    }

    /// Returns a failure whose name includes the field, such as `wrong-value:providers[].keywords`.
    fn fail_in(fault: Fault, field: &str, text: impl Into<String>) -> Self {
        let separator = if field.is_empty() { "" } else { ":" };
        let text = text.into();
        let fault = CaseFault::new(&format!("{fault}{separator}{field}"), &text);
        Self { fault: Some(fault), ..Self::new(Grade::Fail, text) }
    }

    fn wrong_value(difference: Difference) -> Self {
        match difference.mistake {
            Some(fault) => Self::fail(fault, difference.text),
            None => Self::fail_in(Fault::WrongValue, &difference.field, difference.text),
        }
    }
}

impl CodecCase<'_> {
    /// Grades `answer`, ignoring its number. If the case is required, unsupported is a failure.
    pub fn judge(&self, answer: &Answer, is_required: bool) -> Case {
        self.result(self.judgement(answer, is_required), answer.whole.clone())
    }

    /// Returns the case for the report. `seen` is the adapter's answer.
    pub(super) fn result(&self, judgement: Graded, seen: Value) -> Case {
        let Graded { grade, found, fault } = judgement;
        let detail = Detail {
            sent: Said::Json(self.request()),
            expected: self.expected(),
            seen: Said::Json(seen),
            found: found.into_iter().collect(),
            about: Vec::new(),
        };
        let (group, title) = (&self.group.name, &self.test.comment);
        let mut case = Case::new(&self.name(), self.section, group, title, grade);
        (case.spec, case.level) = (self.spec(), self.level());
        case.faults = fault.into_iter().collect();
        case.detail = (grade != Grade::Pass).then_some(detail);
        case
    }

    fn judgement(&self, answer: &Answer, is_required: bool) -> Graded {
        let reason = answer.reason.as_ref().map(|reason| format!(": {reason}")).unwrap_or_default();
        let mut judgement = match (&answer.kind, self.operation) {
            (AnswerKind::Unsupported, _) if is_required => {
                let text = format!("unsupported, but required{reason}");
                return Graded::fail(Fault::RequiredAndUnsupported, text);
            }
            (AnswerKind::Unsupported, _) => Graded::new(Grade::Unimplemented, "unsupported"),
            (AnswerKind::Error { layer, value }, _) => {
                self.judge_refusal(layer.as_deref(), value.as_ref())
            }
            (AnswerKind::Taken, Operation::Decode) => match self.judge_acceptance() {
                judgement if judgement.grade == Grade::Pass => Graded::new(
                    Grade::Informational,
                    "accepted as required; no value is given to judge",
                ),
                judgement => judgement,
            },
            (AnswerKind::Taken, Operation::Encode) => {
                Graded::fail(Fault::NotTheProtocol, "`taken` is not an answer to `encode`")
            }
            (AnswerKind::Ok { value, canonical, .. }, Operation::Decode) => {
                self.judge_decoding(value.as_ref(), *canonical)
            }
            (AnswerKind::Ok { wire, .. }, Operation::Encode) => {
                self.judge_encoding(wire.as_deref())
            }
        };
        judgement.found = judgement.found.map(|found| found + &reason);
        judgement
    }

    fn judge_refusal(&self, layer: Option<&str>, value: Option<&Value>) -> Graded {
        if let Some(layer) = layer.filter(|layer| !LAYERS.contains(layer)) {
            let text = format!("unknown layer {layer:?}, expected one of {}", LAYERS.join(", "));
            return Graded::fail(Fault::UnknownLayer, text);
        }
        let expected = match (self.test.result, &self.test.error) {
            (ExpectedResult::Acceptable, _) => return Graded::PASS,
            (ExpectedResult::Invalid, Some(VectorFault { layer, .. })) => layer,
            (ExpectedResult::Valid, _) | (ExpectedResult::Invalid, None) => {
                return Graded::fail(Fault::RefusedThoughValid, "refused, expected ok");
            }
        };
        match layer {
            None => {
                Graded::new(Grade::Informational, "refused as required; no layer is given to judge")
            }
            Some(layer) if layer == expected => {
                let compared = value
                    .filter(|_| is_of_limits(self.test))
                    .map(|value| Compared::new(self.group.kind, value, &self.test.value, true));
                let difference = compared.and_then(|compared| compared.difference);
                difference.map_or(Graded::PASS, Graded::wrong_value)
            }
            Some(layer) if self.is_layer_binding() => Graded::fail(
                Fault::WrongLayer,
                format!("refused in layer {layer}, expected {expected}"),
            ),
            Some(layer) => Graded::new(
                Grade::Informational,
                format!("refused as required, in layer {layer}; the vector says {expected}"),
            ),
        }
    }

    /// Judges an answer that only says that the bytes were accepted.
    fn judge_acceptance(&self) -> Graded {
        match self.test.result {
            ExpectedResult::Valid => Graded::PASS,
            ExpectedResult::Acceptable => Graded::new(Grade::PassLenient, "a leniency is accepted"),
            ExpectedResult::Invalid if is_of_limits(self.test) => {
                Graded::new(Grade::PassLenient, "limits are not checked")
            }
            ExpectedResult::Invalid => {
                Graded::fail(Fault::TakenThoughInvalid, "accepted, expected a refusal")
            }
        }
    }

    fn judge_decoding(&self, value: Option<&Value>, canonical: Option<bool>) -> Graded {
        let judgement = self.judge_acceptance();
        if judgement.fault.is_some() {
            return judgement;
        }
        let Some(value) = value else {
            return Graded::fail(Fault::ValueMissing, "ok without `value`");
        };
        let compared = Compared::new(self.group.kind, value, &self.test.value, true);
        if let Some(difference) = compared.difference {
            return Graded::wrong_value(difference);
        }
        match canonical {
            // Data that was dropped cannot be written again.
            Some(seen) if seen != self.test.canonical && !compared.omits_key => {
                let text = format!("`canonical` is {seen}, expected {}", !seen);
                Graded::fail(Fault::WrongCanonical, text)
            }
            _ => judgement,
        }
    }

    fn judge_encoding(&self, wire: Option<&[u8]>) -> Graded {
        let Some(wire) = wire else {
            return Graded::fail(Fault::WireMissing, "ok without `wire`");
        };
        match &self.test.wire {
            None => Graded::fail(
                Fault::WrittenThoughInvalid,
                "written, but the value cannot be encoded",
            ),
            Some(expected) if wire == expected && self.test.canonical => Graded::PASS,
            Some(expected) if wire == expected => {
                Graded::fail(Fault::NotCanonical, "written in a form that writers must not use")
            }
            Some(expected) => self.judge_other_bytes(wire, expected),
        }
    }

    /// Judges bytes other than the vector's. They may be right if writers must not use the vector's
    /// bytes, or if they have an empty string instead of an absent one.
    fn judge_other_bytes(&self, wire: &[u8], expected: &[u8]) -> Graded {
        let expected = self.test.canonical.then_some(expected);
        let wrong = |field: &str, meaning: &str, mistake: Option<Fault>| {
            let of_bytes = self.group.subject().and_then(|subject| {
                let canonical = subject.encode(&self.test.value).ok();
                mistake_in_bytes(subject, wire, expected.or(canonical.as_deref())?)
            });
            let difference = expected.map(|expected| first_difference(wire, expected));
            let text = difference.unwrap_or_default() + meaning;
            match of_bytes.or(mistake) {
                Some(fault) => Graded::fail(fault, text),
                None => Graded::fail_in(Fault::WrongBytes, field, text),
            }
        };
        let Some(subject) = self.group.subject() else {
            return wrong("", "these bytes mean the same", None);
        };
        let mut value = self.test.value.clone();
        // Ignored data is not written.
        if let (Type::Ports, Some(ignored)) = (subject.kind, value.get_mut("ignored")) {
            *ignored = json!([]);
        }
        let decoded = match subject.decode(wire) {
            Ok(decoded) => decoded,
            Err(refusal) => {
                return wrong(
                    &refusal.fault.kind,
                    &format!("these bytes are malformed: {refusal}"),
                    None,
                );
            }
        };
        let compared = Compared::new(self.group.kind, &decoded.value, &value, false);
        match (compared.difference, compared.absent_or_empty) {
            (Some(difference), _) => {
                let text = format!("in these bytes {}", difference.text);
                wrong(&difference.field, &text, difference.mistake)
            }
            (None, _) if !decoded.canonical => {
                wrong("", "these bytes mean the same, in a form that writers must not use", None)
            }
            (None, Some(other)) => Graded::new(
                Grade::PassLenient,
                format!("written as many libraries do: {}", other.text),
            ),
            (None, None) if self.test.canonical => wrong("", "these bytes mean the same", None),
            (None, None) => Graded::PASS,
        }
    }
}

/// Returns the first difference between the bytes as the start of a sentence.
fn first_difference(wire: &[u8], expected: &[u8]) -> String {
    let at = wire.iter().zip(expected).take_while(|(one, other)| one == other).count();
    match (wire.get(at), expected.get(at)) {
        (Some(seen), Some(expected)) => {
            format!("byte {at} is {seen:02x}, expected {expected:02x}; ")
        }
        (Some(seen), None) => format!("byte {at} is {seen:02x}, expected the end; "),
        (None, _) => format!("the bytes end at byte {at}, expected more; "),
    }
}

#[cfg(test)]
mod tests {
    use dotnet_diagnostics_ipc_vectors::Test;

    use super::super::case::{LAYER_MATTERS, cases};
    use super::*;
    use crate::embedded;

    /// Judges `line` for the first case selected by `is_meant`, with its test changed by `change`.
    #[track_caller]
    fn judged(
        is_meant: impl Fn(&CodecCase<'_>) -> bool,
        change: impl Fn(&mut Test),
        line: &str,
    ) -> Graded {
        let files = embedded::vectors().unwrap();
        let case = cases(files).into_iter().find(|case| is_meant(case)).expect("there is one");
        let mut test = case.test.clone();
        change(&mut test);
        CodecCase { test: &test, ..case }.judgement(&Answer::parse(line).unwrap(), false)
    }

    /// Covers the grades that `tests/conformance/codec_adapters.rs` does not show.
    #[test]
    fn answer_is_graded_by_result_layer_and_limits() {
        let decodes = |result, of_limits| {
            move |case: &CodecCase<'_>| {
                case.operation == Operation::Decode
                    && case.test.result == result
                    && is_of_limits(case.test) == of_limits
            }
        };
        let (valid, acceptable, invalid) =
            (ExpectedResult::Valid, ExpectedResult::Acceptable, ExpectedResult::Invalid);
        let taken = r#"{ "result": "taken" }"#;
        let limits = r#"{ "result": "error", "layer": "limits" }"#;
        let other_value = r#"{ "result": "error", "layer": "limits", "value": 1 }"#;
        for (result, of_limits, line, grade, fault) in [
            (acceptable, false, other_value, Grade::Pass, None),
            (invalid, true, other_value, Grade::Fail, Some("wrong-value")),
            (invalid, true, limits, Grade::Pass, None),
            (valid, false, taken, Grade::Informational, None),
            (acceptable, false, taken, Grade::PassLenient, None),
            (invalid, false, taken, Grade::Fail, Some("taken-though-invalid")),
            (invalid, true, taken, Grade::PassLenient, None),
        ] {
            let judged = judged(decodes(result, of_limits), |_| (), line);
            let named = judged.fault.as_ref().map(|fault| fault.name.as_str());
            assert_eq!((judged.grade, named), (grade, fault), "{result:?} {line}");
        }
        let header = |case: &CodecCase<'_>| {
            decodes(invalid, false)(case) && case.test.error.as_ref().unwrap().layer == "header"
        };
        let payload = r#"{ "result": "error", "layer": "payload", "reason": "bad data" }"#;
        let mild = judged(header, |test| test.flags.clear(), payload);
        let text = "refused as required, in layer payload; the vector says header: bad data";
        assert_eq!((mild.grade, mild.found.as_deref()), (Grade::Informational, Some(text)));
        let matters = judged(header, |test| test.flags = vec![LAYER_MATTERS.into()], payload);
        assert_eq!(matters.fault.unwrap().name, "wrong-layer");
        // For a vector that writers must not use, correct bytes are other bytes of the same value.
        let other = |case: &CodecCase<'_>| {
            case.operation == Operation::Encode && case.test.wire.is_some() && !case.test.canonical
        };
        let none = judged(other, |_| (), r#"{ "result": "ok", "wire": "" }"#);
        assert_eq!(none.fault.unwrap().name, "wrong-bytes:unexpected_end");
    }

    #[test]
    fn dropped_key_is_not_required_as_canonical() {
        let tail =
            |case: &CodecCase<'_>| case.operation == Operation::Decode && case.test.tc_id == 8605;
        let files = embedded::vectors().unwrap();
        let all = cases(files).into_iter().find(|case| tail(case)).unwrap().test.value.clone();
        let mut dropped = all.clone();
        dropped.as_object_mut().unwrap().remove("tail");
        for (canonical, value, fault) in [
            (false, &dropped, None),
            (true, &dropped, None),
            (true, &all, None),
            (false, &all, Some("wrong-canonical")),
        ] {
            let line = json!({ "result": "ok", "canonical": canonical, "value": value });
            let judged = judged(tail, |_| (), &line.to_string());
            assert_eq!(judged.fault.as_ref().map(|fault| fault.name.as_str()), fault, "{line}");
        }
    }

    #[test]
    fn wrong_bytes_report_first_difference() {
        assert_eq!(first_difference(&[1, 2], &[1, 0x1c]), "byte 1 is 02, expected 1c; ");
        assert_eq!(first_difference(&[1, 2], &[1]), "byte 1 is 02, expected the end; ");
        assert_eq!(first_difference(&[1], &[1, 2]), "the bytes end at byte 1, expected more; ");
    }
}
