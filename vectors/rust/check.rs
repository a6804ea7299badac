//! Checks this codec with one test of the vectors.

use alloc::{
    format,
    string::{String, ToString},
    vec::Vec,
};

use super::{DecodeRefusal, ExpectedResult, Group, Test, Type, TypedCodec, Value, VectorFault};

/// Returns the errors of a test, in the codec or in the test, one line each.
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
        Err(DecodeRefusal { fault, .. }) => {
            match &test.error {
                Some(expected) if test.result == ExpectedResult::Invalid => {
                    if *expected != fault {
                        found.push(format!("refused for {fault}; expected {expected}"));
                    }
                }
                _ => found.push(format!("refused for {fault}; expected {}", test.value)),
            }
            return;
        }
    };
    match (&test.error, &decoded.limit.map(VectorFault::from)) {
        (expected, limit) if expected == limit => {}
        (Some(expected), None) => found.push(format!("accepted; expected {expected}")),
        (expected, Some(limit)) => {
            let expected = expected.as_ref().map_or("no refusal".into(), ToString::to_string);
            found.push(format!("refused by the limits for {limit}; expected {expected}"));
        }
        (None, None) => {}
    }
    let is_message =
        matches!(subject.kind, Type::Request | Type::Reply | Type::Error | Type::Unknown);
    if is_message && decoded.kind != subject.kind {
        found.push(format!("decoded as {:?}; expected {:?}", decoded.kind, subject.kind));
    }
    if decoded.value != test.value {
        found.push(format!("decoded to {}; expected {}", decoded.value, test.value));
    }
    if decoded.canonical != test.canonical {
        found.push(format!("canonical is {}; expected {}", decoded.canonical, test.canonical));
    }
    check_encoding(subject, test, Some(wire), found);
    // Absent and empty arguments mean the same (F-83).
    let meaning = |value: &Value| {
        let json = value.to_string();
        json.replace("arguments\":null", "arguments\":\"\"").replace("_data\":null", "_data\":\"\"")
    };
    for other in &test.equivalent {
        match subject.decode(other) {
            Ok(read) if read.canonical && meaning(&read.value) == meaning(&test.value) => {}
            _ => found.push(format!("{} is not equivalent", hex::encode(other))),
        }
    }
}

/// Checks that a value encodes to the bytes of its test if and only if they are canonical.
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
    use crate::files;

    /// Returns the errors of the first test that `is_meant`, after `change` has changed it.
    fn found(
        is_meant: impl Fn(&Group, &Test) -> bool,
        change: impl Fn(&mut Group, &mut Test),
    ) -> Vec<String> {
        let groups = files().unwrap().into_iter().flat_map(|file| file.groups);
        let mut all = groups.flat_map(|mut group| {
            core::mem::take(&mut group.tests).into_iter().map(move |test| (group.clone(), test))
        });
        let (mut group, mut test) = all.find(|(group, test)| is_meant(group, test)).unwrap();
        assert_eq!(check(&group, &test), [] as [String; 0]);
        change(&mut group, &mut test);
        check(&group, &test)
    }

    #[test]
    fn test_with_false_claim_is_found() {
        let is_plain = |test: &Test| {
            let is_accepted = test.result == ExpectedResult::Valid && test.error.is_none();
            test.wire.is_some() && is_accepted && test.canonical
        };
        let is_request = |group: &Group, test: &Test| {
            group.kind == Type::Request && group.command.is_some() && is_plain(test)
        };
        let is_error = |group: &Group, test: &Test| group.kind == Type::Error && is_plain(test);
        let is_of = |layer: &'static str| {
            move |_: &Group, test: &Test| {
                test.wire.is_some() && test.error.as_ref().is_some_and(|error| error.layer == layer)
            }
        };
        let (layer, kind) = ("header".into(), "bad_magic".into());
        let other = VectorFault { layer, kind, offset: 0, field: None };
        let with_other = |_: &mut Group, test: &mut Test| test.error = Some(other.clone());
        let by_limits = "refused by the limits for ";
        for (found, expected) in [
            (
                found(is_request, |group, _| group.command = Some("No/Such".into())),
                &["the group's command Some(\"No/Such\") is unknown"][..],
            ),
            (
                found(is_request, |_, test| test.value = "other".into()),
                &["decoded to ", "not encoded: "],
            ),
            (
                found(is_request, |_, test| test.canonical = false),
                &["canonical is true; expected false", "encoded to "],
            ),
            (found(is_request, with_other), &["accepted; expected "]),
            (found(is_request, |_, test| test.wire = None), &["encoded to "]),
            (
                found(is_request, |_, test| test.equivalent = Vec::from([Vec::new()])),
                &[" is not equivalent"],
            ),
            (
                found(is_error, |group, _| group.kind = Type::Reply),
                &["decoded as Error; expected Reply", "not encoded: "],
            ),
            (found(is_of("payload"), with_other), &["refused for "]),
            (
                found(is_of("payload"), |_, test| test.result = ExpectedResult::Valid),
                &["refused for "],
            ),
            (found(is_of("limits"), |_, test| test.error = None), &[by_limits]),
            (found(is_of("limits"), with_other), &[by_limits]),
        ] {
            let fits = found.iter().zip(expected).all(|(one, begin)| one.starts_with(begin));
            assert!(fits && found.len() == expected.len(), "{found:#?}");
        }
    }
}
