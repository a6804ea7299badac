//! Checks this codec against one test of the vectors.

use alloc::{format, string::String, vec::Vec};

use super::{Group, Test, Type, TypedCodec, VectorFault, Verdict};

/// The errors of a test, in the codec or in the test: one line each. Empty if there are none.
pub fn check(group: &Group, test: &Test) -> Vec<String> {
    let Some(subject) = group.subject() else {
        return Vec::from([format!("the group's command {:?} is unknown", group.command)]);
    };
    let mut found = Vec::new();
    match &test.wire {
        Some(wire) => check_bytes(subject, test, wire, &mut found),
        None => check_encoding(subject, test, None, &mut found),
    }
    found
}

fn check_bytes(subject: TypedCodec, test: &Test, wire: &[u8], found: &mut Vec<String>) {
    let decoded = match subject.decode(wire) {
        Ok(decoded) => decoded,
        Err(error) => {
            let fault = VectorFault::from(error);
            match (test.result, &test.error) {
                (Verdict::Invalid, Some(expected)) if *expected == fault => {}
                (Verdict::Invalid, Some(expected)) => {
                    found.push(format!("refused for {fault}; expected {expected}"));
                }
                _ => found.push(format!("refused for {fault}; expected {}", test.value)),
            }
            return;
        }
    };
    match (&test.error, &decoded.limit.map(VectorFault::from)) {
        (expected, limit) if expected == limit => {}
        (Some(expected), None) => found.push(format!("accepted; expected {expected}")),
        (None, Some(limit)) => {
            found.push(format!("refused by the limits for {limit}; expected no refusal"));
        }
        (Some(expected), Some(limit)) => {
            found.push(format!("refused by the limits for {limit}; expected {expected}"));
        }
        (None, None) => {}
    }
    if matches!(subject.kind, Type::Request | Type::Reply | Type::Error | Type::Unknown)
        && decoded.kind != subject.kind
    {
        found.push(format!("decoded as {:?}; expected {:?}", decoded.kind, subject.kind));
    }
    if decoded.value != test.value {
        found.push(format!("decoded to {}; expected {}", decoded.value, test.value));
    }
    if decoded.canonical != test.canonical {
        found.push(format!("canonical is {}; expected {}", decoded.canonical, test.canonical));
    }
    check_encoding(subject, test, Some(wire), found);
}

/// A value encodes to the bytes of its test if and only if they are canonical.
fn check_encoding(subject: TypedCodec, test: &Test, wire: Option<&[u8]>, found: &mut Vec<String>) {
    match (subject.encode(&test.value), wire) {
        (Ok(bytes), Some(wire)) if (bytes == wire) != test.canonical => {
            let comparison = if test.canonical { "expected" } else { "expected bytes other than" };
            found.push(format!(
                "encoded to {}; {comparison} {}",
                hex::encode(bytes),
                hex::encode(wire)
            ));
        }
        (Ok(_), Some(_)) => {}
        (Ok(bytes), None) => {
            found.push(format!("encoded to {} bytes; expected a refusal", bytes.len()));
        }
        (Err(failure), None) if failure.fault() == test.error => {}
        (Err(failure), _) => found.push(format!("not encoded: {failure}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{File, files};

    /// The first test selected by `is_meant`, as changed by `change`, and the errors found in it
    /// then.
    #[track_caller]
    fn found(
        files: &[File],
        is_meant: impl Fn(&Group, &Test) -> bool,
        change: impl Fn(&mut Group, &mut Test),
    ) -> Vec<String> {
        let mut all = files
            .iter()
            .flat_map(|file| &file.groups)
            .flat_map(|group| group.tests.iter().map(move |test| (group, test)));
        let (group, test) = all.find(|(group, test)| is_meant(group, test)).expect("there is one");
        assert_eq!(check(group, test), [] as [String; 0]);
        let (mut group, mut test) = (group.clone(), test.clone());
        change(&mut group, &mut test);
        check(&group, &test)
    }

    #[test]
    fn test_with_false_claim_is_found() {
        let files = files().unwrap();
        let is_plain = |group: &Group, test: &Test| {
            group.kind == Type::Request
                && group.command.is_some()
                && test.result == Verdict::Valid
                && test.canonical
                && test.error.is_none()
        };
        let layer =
            |test: &Test| test.error.as_ref().map(|error| error.layer.clone()).unwrap_or_default();
        let is_refused = |_: &Group, test: &Test| test.wire.is_some() && layer(test) == "payload";
        let is_limited = |_: &Group, test: &Test| test.wire.is_some() && layer(test) == "limits";
        let begin = |found: Vec<String>, beginnings: &[&str]| {
            let fits = found.len() == beginnings.len()
                && found.iter().zip(beginnings).all(|(one, begin)| one.starts_with(begin));
            assert!(fits, "{found:#?}");
        };
        let other = || VectorFault {
            layer: "header".into(),
            kind: "bad_magic".into(),
            offset: 0,
            field: None,
        };

        begin(
            found(&files, is_plain, |group, _| group.command = Some("No/Such".into())),
            &["the group's command Some(\"No/Such\") is unknown"],
        );
        begin(
            found(&files, is_plain, |_, test| test.value = "other".into()),
            &["decoded to ", "not encoded: "],
        );
        let canonical = ["canonical is true; expected false", "encoded to "];
        begin(found(&files, is_plain, |_, test| test.canonical = false), &canonical);
        begin(
            found(&files, is_plain, |_, test| test.error = Some(other())),
            &["accepted; expected "],
        );
        begin(found(&files, is_plain, |_, test| test.wire = None), &["encoded to "]);
        let is_error =
            |group: &Group, test: &Test| group.kind == Type::Error && is_plain_wire(test);
        begin(
            found(&files, is_error, |group, _| group.kind = Type::Reply),
            &["decoded as Error; expected Reply", "not encoded: "],
        );
        begin(found(&files, is_refused, |_, test| test.error = Some(other())), &["refused for "]);
        begin(found(&files, is_refused, |_, test| test.result = Verdict::Valid), &["refused for "]);
        begin(
            found(&files, is_limited, |_, test| test.error = None),
            &["refused by the limits for "],
        );
        begin(
            found(&files, is_limited, |_, test| test.error = Some(other())),
            &["refused by the limits for "],
        );
    }

    fn is_plain_wire(test: &Test) -> bool {
        test.wire.is_some() && test.result == Verdict::Valid && test.canonical
    }
}
