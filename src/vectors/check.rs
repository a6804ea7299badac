//! One test of the vectors against this codec.

use alloc::{format, string::String, vec::Vec};

use super::{Fault, Group, Subject, Test, Type, Verdict};

/// What a test found wrong with the codec (or with itself): one line each. Empty if nothing.
pub fn check(group: &Group, test: &Test) -> Vec<String> {
    let Some(subject) = group.subject() else {
        return Vec::from([format!("the group's command {:?} is not known", group.command)]);
    };
    let mut found = Vec::new();
    match &test.wire {
        Some(wire) => check_bytes(subject, test, wire, &mut found),
        None => check_encoding(subject, test, None, &mut found),
    }
    found
}

fn check_bytes(subject: Subject, test: &Test, wire: &[u8], found: &mut Vec<String>) {
    let decoded = match subject.decode(wire) {
        Ok(decoded) => decoded,
        Err(error) => {
            let fault = Fault::from(error);
            match (test.result, &test.error) {
                (Verdict::Invalid, Some(expected)) if *expected == fault => {}
                (Verdict::Invalid, Some(expected)) => found.push(format!("refused for {fault}; expected {expected}")),
                _ => found.push(format!("refused for {fault}; expected {}", test.value)),
            }
            return;
        }
    };
    match (&test.error, &decoded.limit.map(Fault::from)) {
        (expected, limit) if expected == limit => {}
        (Some(expected), None) => found.push(format!("taken; expected {expected}")),
        (None, Some(limit)) => found.push(format!("the limits refuse it for {limit}; expected them not to")),
        (Some(expected), Some(limit)) => found.push(format!("the limits refuse it for {limit}; expected {expected}")),
        (None, None) => {}
    }
    if matches!(subject.kind, Type::Request | Type::Reply | Type::Error | Type::Unknown) && decoded.kind != subject.kind {
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

/// A value encodes to the bytes of its test if they are canonical, and to others if not.
fn check_encoding(subject: Subject, test: &Test, wire: Option<&[u8]>, found: &mut Vec<String>) {
    match (subject.encode(&test.value), wire) {
        (Ok(bytes), Some(wire)) if (bytes == wire) != test.canonical => {
            let comparison = if test.canonical { "expected" } else { "expected other bytes than" };
            found.push(format!("encoded to {}; {comparison} {}", hex::encode(bytes), hex::encode(wire)));
        }
        (Ok(_), Some(_)) => {}
        (Ok(bytes), None) => found.push(format!("encoded to {} bytes; expected a refusal", bytes.len())),
        (Err(failure), None) if failure.fault() == test.error => {}
        (Err(failure), _) => found.push(format!("not encoded: {failure}")),
    }
}
