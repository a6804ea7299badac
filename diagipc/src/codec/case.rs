//! A vector as a question, and the grade of its answer.

use dotnet_diagnostics_ipc::command::Command;
use dotnet_diagnostics_ipc_vectors::{ExpectedResult, Group, Test, Value};
use serde_json::json;

use crate::Playable;
use crate::embedded::NamedFile;
use crate::report::cited;

/// The flag of vectors whose layer decides how a server answers.
pub(super) const LAYER_MATTERS: &str = "LayerMatters";

named! {
    /// What a codec is asked to do.
    Operation {
        /// Decode `wire`.
        Decode = "decode",
        /// Encode `value`.
        Encode = "encode",
    }
}

/// A question to a codec.
#[derive(Clone, Copy, Debug)]
pub struct CodecCase<'v> {
    /// The name of the vector's file.
    pub section: &'v str,
    /// The vector's group.
    pub group: &'v Group,
    /// The vector.
    pub test: &'v Test,
    /// The operation that is asked for.
    pub operation: Operation,
}

/// Returns the questions for all vectors of `files`, in order: decode for each vector with bytes,
/// and encode for each with a value.
pub fn cases(files: &[NamedFile]) -> Vec<CodecCase<'_>> {
    let tests = files.iter().flat_map(|NamedFile { name, file }| {
        file.groups
            .iter()
            .flat_map(move |group| group.tests.iter().map(move |test| (name.as_str(), group, test)))
    });
    tests
        .flat_map(|(section, group, test)| {
            let decode = test.wire.is_some().then_some(Operation::Decode);
            // Null may be the value of an absent string, but not if the bytes are invalid.
            let encode = (test.wire.is_none()
                || test.result != ExpectedResult::Invalid
                || is_of_limits(test))
            .then_some(Operation::Encode);
            [decode, encode].into_iter().flatten().map(move |operation| CodecCase {
                section,
                group,
                test,
                operation,
            })
        })
        .collect()
}

pub(super) fn is_of_limits(test: &Test) -> bool {
    test.error.as_ref().is_some_and(|error| error.layer == "limits")
}

impl Playable for CodecCase<'_> {
    fn name(&self) -> String {
        CodecCase::name(self)
    }

    /// Returns the words by which it is selected. The type and the command are also given with the
    /// operation, as in `request/encode`.
    fn words(&self) -> Vec<String> {
        let kind = json!(self.group.kind);
        let subjects = [kind.as_str(), self.group.command.as_deref()].into_iter().flatten();
        let operation = self.operation.name();
        let mut words: Vec<String> =
            subjects.flat_map(|word| [word.to_owned(), format!("{word}/{operation}")]).collect();
        words.extend([self.section, &self.group.name, operation].map(str::to_owned));
        words.push(self.test.tc_id.to_string());
        words
    }

    fn spec(&self) -> Vec<String> {
        cited(self.group, self.test)
    }

    fn commands(&self) -> Vec<Command> {
        self.group.command.iter().filter_map(|name| name.parse().ok()).collect()
    }
}

impl CodecCase<'_> {
    /// Returns `FILE/GROUP/TCID/OPERATION`.
    pub fn name(&self) -> String {
        let Self { section, group, test, operation } = self;
        format!("{section}/{}/{}/{operation}", group.name, test.tc_id)
    }

    /// Whether it is a failure to refuse in another layer than the vector's.
    pub(super) fn is_layer_binding(&self) -> bool {
        self.test.flags.iter().any(|flag| flag == LAYER_MATTERS)
    }

    /// Returns the question without its `id`.
    pub fn request(&self) -> Value {
        let mut request = json!({
            "case": self.name(),
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

    /// Returns a description of the expected answer.
    pub fn expected(&self) -> String {
        let Test { value, wire, result, canonical, error, .. } = self.test;
        let refusal =
            error.as_ref().map(|error| format!("error of layer {} ({error})", error.layer));
        let note = if *canonical { "canonical" } else { "not canonical" };
        match (self.operation, wire) {
            (Operation::Decode, _) => {
                let taken = format!("ok, {note}, value {value}");
                match (result, refusal) {
                    (ExpectedResult::Valid, _) => taken,
                    (ExpectedResult::Acceptable, _) => format!("a refusal, or {taken}"),
                    (ExpectedResult::Invalid, Some(refusal)) if is_of_limits(self.test) => {
                        format!("{refusal}; if limits are not checked, {taken}")
                    }
                    (ExpectedResult::Invalid, refusal) => refusal.unwrap_or_default(),
                }
            }
            (Operation::Encode, None) => refusal.unwrap_or_default(),
            (Operation::Encode, Some(wire)) => {
                let or = if *result == ExpectedResult::Valid { "" } else { ", or a refusal" };
                let wire = hex::encode(wire);
                if *canonical {
                    format!("ok, wire {wire}{or}")
                } else {
                    format!("ok, bytes other than {wire} for the same value{or}")
                }
            }
        }
    }
}
