//! How a value differs from the expected one.

use std::fmt;

use dotnet_diagnostics_ipc_vectors::{Type, Value};

use super::mistake;
use crate::faults::Fault;

/// Keys whose text is hexadecimal or a GUID: the case of digits does not matter.
const DIGITS: [&str; 11] = [
    "clientData",
    "code",
    "extension",
    "guid",
    "hresult",
    "metadata",
    "payload",
    "profilerGuid",
    "rest",
    "runtimeCookie",
    "tail",
];
/// Keys that a reader may omit: reserved, ignored, or of a later version.
const NOT_DEMANDED: [&str; 5] = ["future", "ignored", "reserved", "reserved2", "tail"];
/// Keys whose text may be absent or empty (F-83): many libraries can write only one of the two.
const ABSENT_OR_EMPTY: [&str; 2] = ["arguments", "filter_data"];
/// Longer texts are truncated to this length, around the first difference.
const SHOWN: usize = 120;
/// How much equal text is shown before it.
const BEFORE: usize = 20;

/// The first difference of a value.
///
/// ```
/// use diagipc::{Glob, Playable as _, embedded};
/// use diagipc::codec::{self, Answer, CodecFault};
///
/// let files = embedded::vectors()?;
/// let cases = codec::cases(&files);
/// let stop = cases.iter().find(|case| case.is_chosen(&Glob::new("eventpipe/*/5050/decode"))).expect("there is one");
/// let answer = Answer::parse(r#"{ "result": "ok", "value": { "sessionId": 5 } }"#)?;
/// let Some(CodecFault::WrongValue(difference)) = stop.judge(&answer, false).fault else { panic!("a number is not a string") };
/// assert_eq!(difference.field(), "sessionId");
/// assert!(difference.to_string().starts_with("sessionId is 5, expected \""));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    path: String,
    field: String,
    kind: Kind,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Kind {
    Other { seen: Value, expected: Value },
    Missing { expected: Value },
    Surplus { seen: Value },
    Length { seen: usize, expected: usize },
}

impl Difference {
    /// The path without the indices of lists: `providers[].keywords`. Empty for the whole value.
    pub fn field(&self) -> &str {
        &self.field
    }

    /// The common mistake by which the value is read like this.
    pub(super) fn mistake(&self) -> Option<Fault> {
        match &self.kind {
            Kind::Other { seen, expected } => mistake::in_value(seen, expected),
            _ => None,
        }
    }

    /// The path: `providers[1].keywords`. Empty for the whole value.
    pub fn path(&self) -> &str {
        &self.path
    }
}

/// `providers[1].keywords is "2", expected "1"`.
impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.path.is_empty() { "the value" } else { &self.path })?;
        match &self.kind {
            Kind::Other { seen, expected } => {
                let (seen, expected) = (seen.to_string(), expected.to_string());
                let same = seen
                    .chars()
                    .zip(expected.chars())
                    .take_while(|(one, other)| one == other)
                    .count();
                write!(f, " is {}, expected {}", excerpt(&seen, same), excerpt(&expected, same))
            }
            Kind::Missing { expected } => {
                write!(f, " is missing, expected {}", excerpt(&expected.to_string(), 0))
            }
            Kind::Surplus { seen } => {
                write!(f, " is {}, expected no such key", excerpt(&seen.to_string(), 0))
            }
            Kind::Length { seen, expected } => write!(f, " has {seen} items, expected {expected}"),
        }
    }
}

/// A text, truncated around its character `at` if it is long.
fn excerpt(text: &str, at: usize) -> String {
    if text.chars().count() <= SHOWN {
        return text.to_owned();
    }
    let begin = at.saturating_sub(BEFORE);
    let shown: String = text.chars().skip(begin).take(SHOWN).collect();
    let ends = text.chars().count() <= begin + SHOWN;
    format!("{}{shown}{}", if begin > 0 { "…" } else { "" }, if ends { "" } else { "…" })
}

/// The result of a comparison.
#[derive(Debug, Default)]
pub(super) struct Compared {
    /// The first difference that counts.
    pub(super) difference: Option<Difference>,
    /// Whether the reader omitted an optional key.
    pub(super) has_left_out: bool,
    /// The first place where only absent and empty text differ, which does not count.
    pub(super) absent_or_empty: Option<Difference>,
}

/// Compares what was read with the expected value. Keys that a reader may omit are optional.
pub(super) fn compare_reading(kind: Type, seen: &Value, expected: &Value) -> Compared {
    compared(kind, seen, expected, true)
}

/// Compares the meaning of written bytes with the expected value. `arguments` may be absent or
/// empty.
pub(super) fn compare_writing(kind: Type, seen: &Value, expected: &Value) -> Compared {
    compared(kind, seen, expected, false)
}

fn compared(kind: Type, seen: &Value, expected: &Value, is_reading: bool) -> Compared {
    let mut comparer = Comparer { path: Vec::new(), is_reading, result: Compared::default() };
    let is_digits = matches!(kind, Type::ByteArray | Type::Guid | Type::Clsid | Type::HResult);
    comparer.result.difference = comparer.compare(seen, expected, is_digits);
    comparer.result
}

enum Step {
    Key(String),
    Index(usize),
}

struct Comparer {
    path: Vec<Step>,
    is_reading: bool,
    result: Compared,
}

impl Comparer {
    fn compare(&mut self, seen: &Value, expected: &Value, is_digits: bool) -> Option<Difference> {
        match (seen, expected) {
            (Value::Object(has), Value::Object(wants)) => {
                for (key, want) in wants {
                    let is_demanded = !(self.is_reading && NOT_DEMANDED.contains(&key.as_str()));
                    let difference =
                        self.within(Step::Key(key.clone()), |inner| match has.get(key) {
                            Some(value) => {
                                inner.compare(value, want, DIGITS.contains(&key.as_str()))
                            }
                            None if is_demanded => {
                                Some(inner.here(Kind::Missing { expected: want.clone() }))
                            }
                            None => {
                                inner.result.has_left_out = true;
                                None
                            }
                        });
                    if difference.is_some() {
                        return difference;
                    }
                }
                let is_surplus = |(key, value): &(&String, &Value)| {
                    let may_be_there = self.is_reading
                        && NOT_DEMANDED.contains(&key.as_str())
                        && is_nothing(value);
                    !wants.contains_key(*key) && !may_be_there
                };
                let (key, value) = has.iter().find(is_surplus)?;
                self.within(Step::Key(key.clone()), |inner| {
                    Some(inner.here(Kind::Surplus { seen: value.clone() }))
                })
            }
            (Value::Array(has), Value::Array(wants)) if has.len() != wants.len() => {
                Some(self.here(Kind::Length { seen: has.len(), expected: wants.len() }))
            }
            (Value::Array(has), Value::Array(wants)) => {
                has.iter().zip(wants).enumerate().find_map(|(index, (value, want))| {
                    self.within(Step::Index(index), |inner| inner.compare(value, want, false))
                })
            }
            (Value::String(text), Value::String(want))
                if is_digits && text.eq_ignore_ascii_case(want) =>
            {
                None
            }
            _ if seen == expected => None,
            _ => {
                let difference =
                    self.here(Kind::Other { seen: seen.clone(), expected: expected.clone() });
                let may_be_either = matches!(self.path.last(), Some(Step::Key(key)) if ABSENT_OR_EMPTY.contains(&key.as_str()));
                if !self.is_reading && may_be_either && is_nothing(seen) && is_nothing(expected) {
                    self.result.absent_or_empty.get_or_insert(difference);
                    return None;
                }
                Some(difference)
            }
        }
    }

    fn within<T>(&mut self, step: Step, inner: impl FnOnce(&mut Self) -> T) -> T {
        self.path.push(step);
        let result = inner(self);
        self.path.pop();
        result
    }

    fn here(&self, kind: Kind) -> Difference {
        let text = |with_indices: bool| {
            let mut text = String::new();
            for step in &self.path {
                let part = match step {
                    Step::Key(key) if text.is_empty() => key.clone(),
                    Step::Key(key) => format!(".{key}"),
                    Step::Index(index) if with_indices => format!("[{index}]"),
                    Step::Index(_) => "[]".to_owned(),
                };
                text.push_str(&part);
            }
            text
        };
        Difference { path: text(true), field: text(false), kind }
    }
}

/// Whether a value is empty: null, or an empty text or list.
fn is_nothing(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(seen: &Value, expected: &Value) -> Option<String> {
        compare_reading(Type::Request, seen, expected)
            .difference
            .map(|difference| difference.to_string())
    }

    #[test]
    fn first_difference_has_path_and_both_values() {
        let expected =
            json!({ "format": 1, "providers": [{ "keywords": "1" }, { "keywords": "2" }] });
        let says = |seen: Value| read(&seen, &expected).unwrap();
        let providers =
            |second: Value| json!({ "format": 1, "providers": [{ "keywords": "1" }, second] });
        assert_eq!(
            says(providers(json!({ "keywords": 2 }))),
            "providers[1].keywords is 2, expected \"2\""
        );
        assert_eq!(says(providers(json!({}))), "providers[1].keywords is missing, expected \"2\"");
        let more = providers(json!({ "keywords": "2", "more": true }));
        assert_eq!(says(more.clone()), "providers[1].more is true, expected no such key");
        assert_eq!(
            compare_reading(Type::Request, &more, &expected).difference.unwrap().field(),
            "providers[].more"
        );
        assert_eq!(
            says(json!({ "format": 1, "providers": [] })),
            "providers has 0 items, expected 2"
        );
        assert_eq!(says(json!(null)), format!("the value is null, expected {expected}"));
        assert_eq!(read(&expected, &expected), None);
    }

    #[test]
    fn long_texts_are_cut_around_the_first_difference() {
        let text = |end: &str| json!(format!("{}{end}{}", "a".repeat(1000), "z".repeat(1000)));
        let said = read(&text("b"), &text("c")).unwrap();
        let part = |letter: &str| format!("…{}{letter}{}…", "a".repeat(20), "z".repeat(99));
        assert_eq!(said, format!("the value is {}, expected {}", part("b"), part("c")));
    }

    #[test]
    fn reserved_or_unknown_key_may_be_omitted_but_not_differ() {
        let expected = json!({ "version": 2, "tail": "ff", "future": 7 });
        let compared = compare_reading(Type::Reply, &json!({ "version": 2 }), &expected);
        assert!(compared.difference.is_none() && compared.has_left_out);
        assert_eq!(
            read(&json!({ "version": 2, "tail": "fe" }), &expected).unwrap(),
            "tail is \"fe\", expected \"ff\""
        );
        // It may report that there is none, but not that there is one.
        assert_eq!(read(&json!({ "version": 2, "tail": "" }), &json!({ "version": 2 })), None);
        assert!(read(&json!({ "version": 2, "tail": "00" }), &json!({ "version": 2 })).is_some());
        // Written bytes must contain all of it.
        assert!(
            compare_writing(Type::Reply, &json!({ "version": 2 }), &expected).difference.is_some()
        );
    }

    #[test]
    fn hex_digits_ignore_case_and_texts_do_not() {
        assert_eq!(
            read(&json!({ "hresult": "0x8013138a" }), &json!({ "hresult": "0x8013138A" })),
            None
        );
        assert!(read(&json!({ "commandLine": "A" }), &json!({ "commandLine": "a" })).is_some());
        let differs = |kind| compare_reading(kind, &json!("AB"), &json!("ab")).difference.is_some();
        assert!(!differs(Type::ByteArray) && !differs(Type::Guid) && differs(Type::String));
    }

    #[test]
    fn absent_may_be_written_as_empty_only_for_arguments() {
        let with = |arguments: Value| json!({ "providers": [{ "arguments": arguments }] });
        let compared = compare_writing(Type::Request, &with(json!("")), &with(json!(null)));
        assert!(compared.difference.is_none());
        assert_eq!(
            compared.absent_or_empty.unwrap().to_string(),
            "providers[0].arguments is \"\", expected null"
        );
        assert!(
            compare_writing(Type::Request, &with(json!("a")), &with(json!(null)))
                .difference
                .is_some()
        );
        assert!(
            compare_writing(Type::Request, &json!({ "name": "" }), &json!({ "name": null }))
                .difference
                .is_some()
        );
        assert!(
            compare_reading(Type::Request, &with(json!("")), &with(json!(null)))
                .difference
                .is_some()
        );
    }
}
