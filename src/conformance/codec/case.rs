//! A vector as one question, and the grade of an answer.

use alloc::{
    borrow::ToOwned as _,
    format,
    string::{String, ToString as _},
    vec::Vec,
};

use serde_json::json;

use super::{Answer, AnswerKind};
use crate::conformance::{Glob, Grade};
use crate::vectors::{EMBEDDED, File, Group, LoadError, Test, Type, Value, VectorFault, Verdict, parse};

/// The layers that an answer can name.
const LAYERS: [&str; 5] = ["transport", "header", "payload", "limits", "reply"];

/// A file of vectors and its name without `.json`.
#[derive(Clone, Debug)]
pub struct NamedFile {
    /// `grammar`.
    pub name: String,
    /// What is in it.
    pub file: File,
}

/// The files that are part of the crate.
///
/// # Errors
/// None, as the crate's own tests check.
pub fn embedded() -> Result<Vec<NamedFile>, LoadError> {
    let named =
        |(name, text): &(&str, &str)| Ok(NamedFile { name: name.trim_end_matches(".json").to_owned(), file: parse(name, text)? });
    EMBEDDED.iter().map(named).collect()
}

/// What a codec is asked to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// Read `wire`.
    Decode,
    /// Write `value`.
    Encode,
}

impl Operation {
    /// Its name in the line protocol.
    pub fn name(self) -> &'static str {
        match self {
            Self::Decode => "decode",
            Self::Encode => "encode",
        }
    }
}

/// One question.
#[derive(Clone, Copy, Debug)]
pub struct CodecCase<'v> {
    /// The name of the vector's file.
    pub section: &'v str,
    /// The vector's group.
    pub group: &'v Group,
    /// The vector.
    pub test: &'v Test,
    /// What is to be done.
    pub operation: Operation,
}

/// What is said of an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Judgement {
    /// The grade.
    pub grade: Grade,
    /// Why it is no [`Grade::Pass`].
    pub found: Option<String>,
}

impl Judgement {
    fn new(grade: Grade, found: impl Into<String>) -> Self {
        Self { grade, found: Some(found.into()) }
    }

    fn fail(found: impl Into<String>) -> Self {
        Self::new(Grade::Fail, found)
    }

    const PASS: Self = Self { grade: Grade::Pass, found: None };
}

/// All questions that the vectors of `files` give, in their order: each to be decoded if it has bytes, and encoded if it has a value.
pub fn cases(files: &[NamedFile]) -> Vec<CodecCase<'_>> {
    let tests = files.iter().flat_map(|NamedFile { name, file }| {
        file.groups.iter().flat_map(move |group| group.tests.iter().map(move |test| (name.as_str(), group, test)))
    });
    tests
        .flat_map(|(section, group, test)| {
            let decode = test.wire.is_some().then_some(Operation::Decode);
            // A null may be a value, that of an absent string; not so where the bytes have no meaning at all.
            let encode =
                (test.wire.is_none() || test.result != Verdict::Invalid || is_of_limits(test)).then_some(Operation::Encode);
            [decode, encode].into_iter().flatten().map(move |operation| CodecCase { section, group, test, operation })
        })
        .collect()
}

fn is_of_limits(test: &Test) -> bool {
    test.error.as_ref().is_some_and(|error| error.layer == "limits")
}

impl CodecCase<'_> {
    /// `FILE/GROUP/TCID/OPERATION`.
    pub fn name(&self) -> String {
        format!("{}/{}/{}/{}", self.section, self.group.name, self.test.tc_id, self.operation.name())
    }

    /// Whether `glob` chooses this by its name, or a part of it, or its type or command.
    pub fn is_chosen(&self, glob: &Glob) -> bool {
        let tc_id = self.test.tc_id.to_string();
        let kind = json!(self.group.kind);
        let words = [
            Some(self.section),
            Some(self.group.name.as_str()),
            Some(tc_id.as_str()),
            Some(self.operation.name()),
            kind.as_str(),
            self.group.command.as_deref(),
        ];
        glob.matches(&self.name()) || words.into_iter().flatten().any(|word| glob.matches(word))
    }

    /// The question without its `id`.
    pub fn request(&self) -> Value {
        let mut request = json!({
            "op": self.operation.name(),
            "type": self.group.kind,
            "command": self.group.command,
            "direction": self.group.direction,
        });
        let (key, given) = match self.operation {
            Operation::Decode => ("wire", self.test.wire.as_ref().map(hex::encode).into()),
            Operation::Encode => ("value", self.test.value.clone()),
        };
        if let Some(request) = request.as_object_mut() {
            request.insert(key.to_owned(), given);
        }
        request
    }

    /// What should come, in words.
    pub fn expected(&self) -> String {
        let Test { value, wire, result, canonical, error, .. } = self.test;
        let refusal = error.as_ref().map(|error| format!("error of layer {} ({error})", error.layer));
        let note = if *canonical { "canonical" } else { "not canonical" };
        match (self.operation, wire) {
            (Operation::Decode, _) => {
                let taken = format!("ok, {note}, value {value}");
                match (result, refusal) {
                    (Verdict::Valid, _) => taken,
                    (Verdict::Acceptable, _) => format!("a refusal, or {taken}"),
                    (Verdict::Invalid, Some(refusal)) if is_of_limits(self.test) => {
                        format!("{refusal}; without a check of limits {taken}")
                    }
                    (Verdict::Invalid, refusal) => refusal.unwrap_or_default(),
                }
            }
            (Operation::Encode, None) => refusal.unwrap_or_default(),
            (Operation::Encode, Some(wire)) => {
                let or = if *result == Verdict::Valid { "" } else { ", or a refusal" };
                let wire = hex::encode(wire);
                if *canonical {
                    format!("ok, wire {wire}{or}")
                } else {
                    format!("ok, other bytes of the same value than {wire}{or}")
                }
            }
        }
    }

    /// The grade of `answer`, whose number is not looked at.
    pub fn judge(&self, answer: &Answer) -> Judgement {
        match (&answer.said, self.operation) {
            (AnswerKind::Unsupported, _) => Judgement::new(Grade::Unimplemented, "unsupported"),
            (AnswerKind::Error { layer, value }, _) => self.judge_refusal(layer.as_deref(), value.as_ref()),
            (AnswerKind::Ok { value, canonical, .. }, Operation::Decode) => self.judge_decoding(value.as_ref(), *canonical),
            (AnswerKind::Ok { wire, .. }, Operation::Encode) => self.judge_encoding(wire.as_deref()),
        }
    }

    fn judge_refusal(&self, layer: Option<&str>, value: Option<&Value>) -> Judgement {
        if let Some(layer) = layer.filter(|layer| !LAYERS.contains(layer)) {
            return Judgement::fail(format!("there is no layer {layer:?}"));
        }
        match (self.test.result, &self.test.error) {
            (Verdict::Valid, _) => Judgement::fail("refused"),
            (Verdict::Acceptable, _) => Judgement::PASS,
            (Verdict::Invalid, Some(VectorFault { layer: expected, .. })) => match layer {
                None => Judgement::new(Grade::Informational, "refused as it must be; no layer is named that could be judged"),
                Some(layer) if layer != expected => Judgement::fail(format!("refused in layer {layer}, not {expected}")),
                Some(_) => match value.filter(|value| is_of_limits(self.test) && **value != self.test.value) {
                    Some(_) => Judgement::fail("refused, and read as another value"),
                    None => Judgement::PASS,
                },
            },
            (Verdict::Invalid, None) => Judgement::fail("the vector gives no reason"),
        }
    }

    fn judge_decoding(&self, value: Option<&Value>, canonical: Option<bool>) -> Judgement {
        if self.test.result == Verdict::Invalid && !is_of_limits(self.test) {
            return Judgement::fail("taken");
        }
        match value {
            None => return Judgement::fail("ok without a value"),
            Some(value) if *value != self.test.value => return Judgement::fail("read as another value"),
            Some(_) => {}
        }
        if canonical.is_some_and(|canonical| canonical != self.test.canonical) {
            return Judgement::fail("`canonical` is not as it is");
        }
        match self.test.result {
            Verdict::Valid => Judgement::PASS,
            Verdict::Acceptable => Judgement::new(Grade::PassLenient, "a leniency is taken"),
            Verdict::Invalid => Judgement::new(Grade::PassLenient, "limits are not checked"),
        }
    }

    fn judge_encoding(&self, wire: Option<&[u8]>) -> Judgement {
        let Some(wire) = wire else { return Judgement::fail("ok without bytes") };
        match &self.test.wire {
            None => Judgement::fail("written, where there are no bytes for the value"),
            Some(expected) if self.test.canonical && wire == expected => Judgement::PASS,
            Some(_) if self.test.canonical => Judgement::fail("other bytes"),
            Some(expected) if wire == expected => Judgement::fail("written in a form that is only ever read"),
            Some(_) => self.judge_other_bytes(wire),
        }
    }

    /// The vector has bytes that nobody writes: those that are written must mean the same.
    fn judge_other_bytes(&self, wire: &[u8]) -> Judgement {
        let Some(subject) = self.group.subject() else { return Judgement::fail("the vector's command is not known") };
        let mut value = self.test.value.clone();
        // What is ignored is not written.
        if let (Type::Ports, Some(ignored)) = (subject.kind, value.get_mut("ignored")) {
            *ignored = json!([]);
        }
        match subject.decode(wire) {
            Ok(decoded) if decoded.value != value => Judgement::fail(format!("these bytes mean {}", decoded.value)),
            Ok(decoded) if !decoded.canonical => Judgement::fail("these bytes are not canonical"),
            Ok(_) => Judgement::PASS,
            Err(refusal) => Judgement::fail(format!("these bytes are none: {refusal}")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The grade of `line` for the first case of which `is_meant` says so, as `change` makes its test.
    #[track_caller]
    fn judged(files: &[NamedFile], is_meant: impl Fn(&CodecCase<'_>) -> bool, change: impl Fn(&mut Test), line: &str) -> Judgement {
        let case = cases(files).into_iter().find(|case| is_meant(case)).expect("there is one");
        let mut test = case.test.clone();
        change(&mut test);
        CodecCase { test: &test, ..case }.judge(&Answer::parse(line).unwrap())
    }

    #[test]
    fn refusal_and_other_bytes_are_judged_by_what_the_vector_says() {
        let files = embedded().unwrap();
        let same = |_: &mut Test| {};
        let refusal = r#"{ "result": "error", "layer": "limits", "value": 1 }"#;
        let decodes = |case: &CodecCase<'_>| case.operation == Operation::Decode;
        // A leniency need not be had.
        let lenient = |case: &CodecCase<'_>| decodes(case) && case.test.result == Verdict::Acceptable;
        assert_eq!(judged(&files, lenient, same, refusal), Judgement::PASS);
        let limited = |case: &CodecCase<'_>| decodes(case) && is_of_limits(case.test) && case.test.result == Verdict::Invalid;
        assert_eq!(judged(&files, limited, same, refusal), Judgement::fail("refused, and read as another value"));
        assert_eq!(judged(&files, limited, same, r#"{ "result": "error", "layer": "limits" }"#), Judgement::PASS);
        assert_eq!(judged(&files, limited, |test| test.error = None, refusal), Judgement::fail("the vector gives no reason"));
        // Bytes that nobody writes are written in another way, which must be one.
        let other = |case: &CodecCase<'_>| case.operation == Operation::Encode && case.test.wire.is_some() && !case.test.canonical;
        let none = judged(&files, other, same, r#"{ "result": "ok", "wire": "00" }"#);
        assert!(
            none.grade == Grade::Fail && none.found.as_deref().is_some_and(|found| found.starts_with("these bytes are none: ")),
            "{none:?}"
        );
    }
}
