//! Finds how a value or bytes differ from the expected ones, and the mistake that explains it.

use dotnet_diagnostics_ipc::header::{HEADER_LEN, MAGIC};
use dotnet_diagnostics_ipc::wire::Guid;
use dotnet_diagnostics_ipc_vectors::{Annotation, FieldKind, Type, TypedCodec, Value};

use crate::conversation::{Spelling, WRONG, guid_reversed};
use crate::faults::Fault;

/// Keys whose text is hexadecimal or a GUID, so the case of its digits does not matter.
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
/// Keys that a reader may omit, because they are reserved, ignored or of a later version.
const OPTIONAL: [&str; 5] = ["future", "ignored", "reserved", "reserved2", "tail"];
/// Keys whose text may be absent or empty (F-83), as many libraries can write only one of the two.
const ABSENT_OR_EMPTY: [&str; 2] = ["arguments", "filter_data"];
/// The length to which longer texts are truncated, around the first difference.
const MAX_EXCERPT: usize = 120;
/// The length of equal text shown before the first difference.
const EXCERPT_CONTEXT: usize = 20;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Difference {
    /// The path without list indices, such as `providers[].keywords`; empty for the whole value.
    pub(super) field: String,
    /// The path and both values, such as `providers[1].keywords is "2", expected "1"`.
    pub(super) text: String,
    /// The common mistake that explains the value.
    pub(super) mistake: Option<Fault>,
}

impl Difference {
    /// Returns a difference at `path`, such as `providers[1].keywords`.
    fn new(path: &str, text: &str) -> Self {
        let without_index = |part| {
            str::split_once(part, ']').map_or(part.to_owned(), |(_, rest)| format!("]{rest}"))
        };
        let field = path.split('[').map(without_index).collect::<Vec<_>>().join("[");
        let subject = if path.is_empty() { "the value" } else { path };
        Self { field, text: format!("{subject} {text}"), mistake: None }
    }
}

#[derive(Debug)]
pub(super) struct Compared {
    is_reading: bool,
    /// The first relevant difference.
    pub(super) difference: Option<Difference>,
    /// Whether the reader omitted an optional key.
    pub(super) omits_key: bool,
    /// The first place where one text is absent and the other empty, which does not count.
    pub(super) absent_or_empty: Option<Difference>,
}

impl Compared {
    /// Compares a value with the expected one. A value that was read may lack the optional keys. In
    /// written bytes `arguments` may be absent or empty.
    pub(super) fn new(kind: Type, seen: &Value, expected: &Value, is_reading: bool) -> Self {
        let is_digits = matches!(kind, Type::ByteArray | Type::Guid | Type::Clsid | Type::HResult);
        let mut new =
            Self { is_reading, difference: None, omits_key: false, absent_or_empty: None };
        new.difference = new.compare("", seen, expected, is_digits);
        new
    }

    fn compare(
        &mut self,
        path: &str,
        seen: &Value,
        expected: &Value,
        is_digits: bool,
    ) -> Option<Difference> {
        let within =
            |key: &str| if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") };
        let is_optional = |key: &str| OPTIONAL.contains(&key);
        match (seen, expected) {
            (Value::Object(has), Value::Object(wants)) => {
                for (key, want) in wants {
                    let difference = match has.get(key) {
                        Some(value) => {
                            self.compare(&within(key), value, want, DIGITS.contains(&key.as_str()))
                        }
                        None if self.is_reading && is_optional(key) => {
                            self.omits_key = true;
                            None
                        }
                        None => {
                            let text = format!("is missing, expected {}", excerpt(want, 0));
                            Some(Difference::new(&within(key), &text))
                        }
                    };
                    if difference.is_some() {
                        return difference;
                    }
                }
                let is_surplus = |(key, value): &(&String, &Value)| {
                    let is_allowed = self.is_reading && is_optional(key) && is_empty(value);
                    !wants.contains_key(*key) && !is_allowed
                };
                let (key, value) = has.iter().find(is_surplus)?;
                let text = format!("is {}, expected no such key", excerpt(value, 0));
                Some(Difference::new(&within(key), &text))
            }
            (Value::Array(has), Value::Array(wants)) if has.len() != wants.len() => {
                let text = format!("has {} items, expected {}", has.len(), wants.len());
                Some(Difference::new(path, &text))
            }
            (Value::Array(has), Value::Array(wants)) => {
                has.iter().zip(wants).enumerate().find_map(|(index, (value, want))| {
                    self.compare(&format!("{path}[{index}]"), value, want, false)
                })
            }
            (Value::String(text), Value::String(want))
                if is_digits && text.eq_ignore_ascii_case(want) =>
            {
                None
            }
            _ if seen == expected => None,
            _ => {
                let (has, wants) = (seen.to_string(), expected.to_string());
                let equal = has.chars().zip(wants.chars()).take_while(|(one, other)| one == other);
                let equal = equal.count();
                let text =
                    format!("is {}, expected {}", excerpt(seen, equal), excerpt(expected, equal));
                let mistake = mistake_in_value(seen, expected);
                let difference = Difference { mistake, ..Difference::new(path, &text) };
                let key = path.rsplit('.').next().unwrap_or_default();
                let may_be_either = !self.is_reading && ABSENT_OR_EMPTY.contains(&key);
                if may_be_either && is_empty(seen) && is_empty(expected) {
                    self.absent_or_empty.get_or_insert(difference);
                    return None;
                }
                Some(difference)
            }
        }
    }
}

/// Formats a value, truncated around its character `at` if it is long.
fn excerpt(value: &Value, at: usize) -> String {
    let text = value.to_string();
    let count = text.chars().count();
    if count <= MAX_EXCERPT {
        return text;
    }
    let begin = at.saturating_sub(EXCERPT_CONTEXT);
    let shown: String = text.chars().skip(begin).take(MAX_EXCERPT).collect();
    let (before, after) = (begin > 0, count > begin + MAX_EXCERPT);
    format!("{}{shown}{}", if before { "…" } else { "" }, if after { "…" } else { "" })
}

/// Whether a value is null, or an empty string or list.
fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        _ => false,
    }
}

/// Returns the mistake that turns the expected value into `seen`.
fn mistake_in_value(seen: &Value, expected: &Value) -> Option<Fault> {
    let guid = |value: &Value| value.as_str()?.parse::<Guid>().ok();
    if let (Some(seen), Some(expected)) = (guid(seen), guid(expected)) {
        return (seen.to_bytes() == guid_reversed(expected.to_bytes()))
            .then_some(Fault::GuidBigEndian);
    }
    match (seen, expected) {
        (Value::Null, other) | (other, Value::Null) if other == "" => {
            return Some(Fault::AbsentStringAsEmpty);
        }
        (Value::Bool(seen), Value::Bool(_)) => {
            return (seen != expected).then_some(Fault::BoolInverted);
        }
        (Value::String(text), Value::String(whole)) if whole.contains('\0') => {
            let cut = whole.split('\0').next();
            return (cut == Some(text)).then_some(Fault::StringCutAtNul);
        }
        (Value::String(text), Value::Object(_)) if text.contains('\u{fffd}') => {
            return Some(Fault::SurrogateReplaced);
        }
        _ => {}
    }
    let (seen, expected) = (number(seen)?, number(expected)?);
    // A number in another JSON form, such as 2 for "2", has the right value.
    if seen == expected {
        return None;
    }
    if rounded(expected) == seen {
        return Some(Fault::NumberAsDouble);
    }
    if expected & u64::from(u32::MAX) == seen {
        return Some(Fault::FieldTooNarrow);
    }
    if [(seen, expected), (expected, seen)]
        .iter()
        .any(|(one, other)| one.checked_mul(1000) == Some(*other))
    {
        return Some(Fault::TimeInAnotherUnit);
    }
    let is_swapped = seen == expected.swap_bytes()
        || u32::try_from(expected).is_ok_and(|number| seen == u64::from(number.swap_bytes()))
        || u16::try_from(expected).is_ok_and(|number| seen == u64::from(number.swap_bytes()));
    is_swapped.then_some(Fault::NumbersBigEndian)
}

/// Returns the number after rounding to a double.
#[allow(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the loss is what is looked for"
)]
const fn rounded(number: u64) -> u64 {
    number as f64 as u64
}

/// Returns a number in the form that the vectors use.
fn number(value: &Value) -> Option<u64> {
    let text = || {
        let text = value.as_str()?;
        match text.strip_prefix("0x") {
            Some(digits) => u64::from_str_radix(digits, 16).ok(),
            None => text.parse().ok(),
        }
    };
    value.as_u64().or_else(text)
}

/// A mistake that affects everything that is written.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Mistake {
    /// The size field has the length of the payload.
    SizeOfPayload,
    /// GUIDs have the byte order of their text.
    GuidAsText,
    /// Numbers of eight bytes are written in four.
    NarrowNumbers,
    /// Strings have this encoding, and numbers have its byte order.
    Spelling(Spelling),
}

/// Returns the mistake that turns `expected` into exactly `wire`.
pub(super) fn mistake_in_bytes(subject: TypedCodec, wire: &[u8], expected: &[u8]) -> Option<Fault> {
    let notes = subject.explain(expected);
    let spellings = WRONG.into_iter().map(|one| (Mistake::Spelling(one), one.fault()));
    // The most likely mistakes come first.
    let mut all = [
        (Mistake::SizeOfPayload, Some(Fault::SizeWrong)),
        (Mistake::GuidAsText, Some(Fault::GuidBigEndian)),
    ]
    .into_iter()
    .chain(spellings)
    .chain([(Mistake::NarrowNumbers, Some(Fault::FieldTooNarrow))]);
    let common = all.find(|(mistake, _)| {
        let written = written(expected, &notes, *mistake);
        written != expected && written == wire
    });
    common.and_then(|(_, fault)| fault).or_else(|| fault_in_header(wire, expected))
}

/// Returns the fault of a header in which only one part is wrong.
fn fault_in_header(wire: &[u8], expected: &[u8]) -> Option<Fault> {
    if !expected.starts_with(&MAGIC) || wire.len() != expected.len() || wire.len() < HEADER_LEN {
        return None;
    }
    let differs = |at: &usize| wire.get(*at) != expected.get(*at);
    let (first, last) = ((0..wire.len()).find(differs)?, (0..wire.len()).rfind(differs)?);
    [
        (0..14, Fault::MagicWrong),
        (14..16, Fault::SizeWrong),
        (16..18, Fault::AnotherCommandSent),
        (18..20, Fault::ReservedNotZero),
    ]
    .into_iter()
    .find(|(part, _)| part.contains(&first) && part.contains(&last))
    .map(|(_, fault)| fault)
}

/// Rewrites correct bytes with a mistake.
fn written(expected: &[u8], notes: &[Annotation], mistake: Mistake) -> Vec<u8> {
    let mut out = Vec::new();
    let bytes_of =
        |note: &Annotation| expected.get(note.offset..note.offset + note.len).unwrap_or_default();
    let is_text = |note: &Annotation| note.kind == FieldKind::Units;
    let has_text = notes.iter().any(|note| is_text(note) && note.len > 2);
    for (nth, note) in notes.iter().enumerate() {
        let bytes = bytes_of(note);
        let part = match (note.kind, mistake) {
            (FieldKind::Units, _) => continue,
            (FieldKind::StringLength, _) => {
                let units = notes.get(nth + 1).filter(|next| is_text(next)).map(bytes_of);
                let units = units.unwrap_or_default();
                match mistake {
                    // An empty string would become absent, or have a length of two bytes.
                    Mistake::Spelling(Spelling::WithoutNul { .. }) if !has_text => {
                        [bytes, units].concat()
                    }
                    Mistake::Spelling(spelling) => spelled(spelling, units, out.len()),
                    _ => [bytes, units].concat(),
                }
            }
            _ if note.text.is_empty() => bytes.to_vec(),
            (_, Mistake::GuidAsText) => match <[u8; 16]>::try_from(bytes) {
                Ok(guid) => guid_reversed(guid).to_vec(),
                Err(_) => bytes.to_vec(),
            },
            _ if ![2, 4, 8].contains(&note.len) => bytes.to_vec(),
            (_, Mistake::Spelling(Spelling::BigEndian { .. })) => {
                bytes.iter().rev().copied().collect()
            }
            (_, Mistake::Spelling(Spelling::Aligned { numbers: true })) => {
                let padding = out.len().next_multiple_of(note.len) - out.len();
                [&vec![0; padding], bytes].concat()
            }
            (_, Mistake::NarrowNumbers) => bytes.get(..4).unwrap_or(bytes).to_vec(),
            _ => bytes.to_vec(),
        };
        out.extend(part);
    }
    if expected.starts_with(&MAGIC) {
        let whole = u16::try_from(out.len()).unwrap_or(u16::MAX);
        let header = u16::try_from(HEADER_LEN).unwrap_or_default();
        let size = match mistake {
            Mistake::SizeOfPayload => whole.saturating_sub(header).to_le_bytes(),
            Mistake::Spelling(Spelling::BigEndian { .. }) => whole.to_be_bytes(),
            _ => whole.to_le_bytes(),
        };
        if let Some(field) = out.get_mut(14..16) {
            field.copy_from_slice(&size);
        }
    }
    out
}

/// Encodes the string of these units with `spelling`, at byte `at`.
fn spelled(spelling: Spelling, units: &[u8], at: usize) -> Vec<u8> {
    let unit = |unit: &[u8]| unit.iter().rev().fold(0, |n, byte| n << 8 | u16::from(*byte));
    let units: Vec<u16> = units.chunks_exact(2).map(unit).collect();
    match units.split_last() {
        None => spelling.count(0, at),
        Some((_, text)) => spelling.written(text, at),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn compared(kind: Type, is_reading: bool, seen: &Value, expected: &Value) -> Compared {
        Compared::new(kind, seen, expected, is_reading)
    }

    #[test]
    fn first_difference_has_path_and_both_values() {
        let providers =
            |second: Value| json!({ "format": 1, "providers": [{ "keywords": "1" }, second] });
        let two = providers(json!({ "keywords": "2" }));
        let more = providers(json!({ "keywords": "2", "more": true }));
        let tail = json!({ "version": 2, "tail": "ff", "future": 7 });
        let (text, cut) = (
            |middle: &str| json!(format!("{}{middle}{}", "a".repeat(1000), "z".repeat(1000))),
            |middle: &str| format!("…{}{middle}{}…", "a".repeat(20), "z".repeat(99)),
        );
        let long = format!("the value is {}, expected {}", cut("b"), cut("c"));
        for (seen, expected, says) in [
            (two.clone(), two.clone(), None),
            (
                providers(json!({ "keywords": 2 })),
                two.clone(),
                Some("providers[1].keywords is 2, expected \"2\""),
            ),
            (
                providers(json!({})),
                two.clone(),
                Some("providers[1].keywords is missing, expected \"2\""),
            ),
            (more.clone(), two.clone(), Some("providers[1].more is true, expected no such key")),
            (
                json!({ "format": 1, "providers": [] }),
                two.clone(),
                Some("providers has 0 items, expected 2"),
            ),
            (text("b"), text("c"), Some(long.as_str())),
            // Reserved and unknown keys may be omitted, but must not differ.
            (json!({ "version": 2 }), tail.clone(), None),
            (
                json!({ "version": 2, "tail": "fe" }),
                tail.clone(),
                Some("tail is \"fe\", expected \"ff\""),
            ),
            (json!({ "version": 2, "tail": "" }), json!({ "version": 2 }), None),
            (
                json!({ "version": 2, "tail": "00" }),
                json!({ "version": 2 }),
                Some("tail is \"00\", expected no such key"),
            ),
            // The case of digits does not matter, but the case of letters does.
            (json!({ "hresult": "0x8013138a" }), json!({ "hresult": "0x8013138A" }), None),
            (
                json!({ "commandLine": "A" }),
                json!({ "commandLine": "a" }),
                Some("commandLine is \"A\", expected \"a\""),
            ),
        ] {
            let difference = compared(Type::Reply, true, &seen, &expected).difference;
            assert_eq!(difference.map(|one| one.text).as_deref(), says, "{seen}");
        }
        let other_form = providers(json!({ "keywords": 2 }));
        let difference = compared(Type::Reply, true, &other_form, &two).difference.unwrap();
        assert_eq!(difference.mistake, None);
        let field = compared(Type::Reply, true, &more, &two).difference.unwrap().field;
        assert_eq!(field, "providers[].more");
        let omitted = compared(Type::Reply, true, &json!({ "version": 2 }), &tail);
        assert!(omitted.omits_key, "{omitted:?}");
        for (kind, differs) in [(Type::ByteArray, false), (Type::Guid, false), (Type::String, true)]
        {
            let difference = compared(kind, true, &json!("AB"), &json!("ab")).difference;
            assert_eq!(difference.is_some(), differs, "{kind:?}");
        }
    }

    #[test]
    fn writer_keeps_every_key_and_may_write_only_absent_arguments_as_empty() {
        let with = |arguments: Value| json!({ "providers": [{ "arguments": arguments }] });
        for (is_reading, seen, expected, differs) in [
            (false, json!({ "version": 2 }), json!({ "version": 2, "tail": "ff" }), true),
            (false, with(json!("")), with(json!(null)), false),
            (false, with(json!("a")), with(json!(null)), true),
            (false, json!({ "name": "" }), json!({ "name": null }), true),
            (true, with(json!("")), with(json!(null)), true),
        ] {
            let compared = compared(Type::Request, is_reading, &seen, &expected);
            assert_eq!(compared.difference.is_some(), differs, "{seen}");
        }
    }
}
