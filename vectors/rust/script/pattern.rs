//! The bytes that a script expects on a connection.

use alloc::{
    collections::BTreeMap,
    format,
    string::{String, ToString as _},
    vec::Vec,
};
use core::fmt;
use core::iter::repeat;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};
use serde_json::{Map, Value};

/// The captured bytes by name.
pub type Captures = BTreeMap<String, Vec<u8>>;

/// The maximum number of bytes of [`Literal::Repeat`]'s unit, so that a script cannot exhaust the
/// memory.
const MAX_UNIT: usize = 64;

/// Bytes that are known in advance.
///
/// ```
/// use dotnet_diagnostics_ipc_vectors::script::{Captures, Literal};
///
/// let captures = Captures::from([("id".into(), vec![42, 0])]);
/// assert_eq!(Literal::Same("id".into()).bytes(&captures), Ok(vec![42, 0]));
/// assert_eq!(Literal::Repeat { unit: vec![1, 2], times: 2 }.bytes(&captures), Ok(vec![1, 2, 1, 2]));
/// assert!(Literal::Same("other".into()).bytes(&captures).is_err());
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum Literal {
    /// These bytes.
    Bytes(#[serde(with = "crate::hexadecimal")] Vec<u8>),
    /// Bytes that are repeated.
    Repeat {
        /// The bytes to repeat, at most 64.
        #[serde(rename = "repeat", with = "crate::hexadecimal")]
        unit: Vec<u8>,
        /// The number of repetitions.
        times: u16,
    },
    /// The bytes captured under this name.
    Same(#[serde(serialize_with = "same")] String),
}

/// The error of a name under which nothing was captured, which is an error in the script.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Uncaptured(String);

impl Literal {
    /// Returns the bytes.
    ///
    /// # Errors
    /// Returns [`Uncaptured`] if nothing was captured under the name.
    pub fn bytes(&self, captures: &Captures) -> Result<Vec<u8>, Uncaptured> {
        match self {
            Self::Bytes(bytes) => Ok(bytes.clone()),
            Self::Repeat { unit, times } => Ok(unit.repeat(usize::from(*times))),
            Self::Same(name) => captures.get(name).cloned().ok_or_else(|| Uncaptured(name.clone())),
        }
    }
}

impl fmt::Display for Uncaptured {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "nothing was captured as `{}`", self.0)
    }
}

impl core::error::Error for Uncaptured {}

/// A part of a [`Pattern`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum Part {
    /// Known bytes.
    Literal(Literal),
    /// Bytes of any value.
    Any(Any),
    /// Bytes of any value up to a position.
    Until(Until),
}

/// Bytes of any value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Any {
    /// The number of bytes.
    pub any: Length,
    /// The name under which the bytes are captured.
    #[serde(default, rename = "as", skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Forbidden values.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub not: Vec<Literal>,
    /// Bytes that must all occur in them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub has: Vec<Literal>,
    /// Bytes that must not occur in them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lacks: Vec<Literal>,
}

/// A number of bytes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Length {
    /// A fixed number.
    Fixed(usize),
    /// The value of a captured little-endian number.
    Of(LengthOf),
}

/// A number of bytes computed from the captured number `of`: times `times`, minus `less`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LengthOf {
    /// The name of the captured number.
    pub of: String,
    /// The factor.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub times: u64,
    /// The subtrahend.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub less: u64,
}

/// As many bytes as are needed until the pattern has matched a captured number of bytes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Until {
    /// The name of the captured number.
    pub until: String,
    /// The maximum number of bytes.
    pub most: u64,
}

/// The bytes that are expected next on a connection.
///
/// ```
/// use dotnet_diagnostics_ipc_vectors::script::{Captures, Comparison, Pattern};
///
/// // A length followed by as many bytes.
/// let pattern: Pattern = serde_json::from_str(r#"["ff", { "any": 1, "as": "n" }, { "any": { "of": "n" } }]"#)?;
/// let nothing = Captures::new();
/// assert_eq!(pattern.compare(&[], &nothing), Comparison::NeedMore(2));
/// assert_eq!(pattern.compare(&[0xff, 3], &nothing), Comparison::NeedMore(3));
/// let captured = Captures::from([("n".into(), vec![3])]);
/// assert_eq!(pattern.compare(&[0xff, 3, 1, 2, 3], &nothing), Comparison::Matched(captured));
/// let Comparison::Differs(mismatch) = pattern.compare(&[0xfe], &nothing) else { panic!() };
/// assert_eq!(mismatch.offset, 0);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Pattern(pub Vec<Part>);

/// The result of comparing received bytes with a [`Pattern`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Comparison {
    /// All bytes match. This many more may be read next, never beyond the pattern's end.
    NeedMore(usize),
    /// The bytes match the whole pattern, and these names were captured.
    Matched(Captures),
    /// The bytes differ from the pattern.
    Differs(Mismatch),
}

/// The first difference between bytes and a [`Pattern`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mismatch {
    /// The offset of the first wrong byte, from the start of the pattern.
    pub offset: usize,
    /// The expected bytes, in words.
    pub expected: String,
    /// The received bytes, in words.
    pub found: String,
}

impl Pattern {
    /// Compares the pattern with `so_far`, all bytes since its start. Later bytes change no
    /// difference.
    pub fn compare(&self, so_far: &[u8], captures: &Captures) -> Comparison {
        match Matcher::new(so_far, captures).all(&self.0) {
            Ok(new) => Comparison::Matched(new),
            Err(stopped) => stopped,
        }
    }

    /// Returns the bytes of the pattern. Bytes that are not known are those at the same place in
    /// `came`, or 0. The result ends before a part of unknown length.
    ///
    /// ```
    /// use dotnet_diagnostics_ipc_vectors::script::{Captures, Pattern};
    ///
    /// let pattern: Pattern = serde_json::from_str(r#"["ff", { "any": 2 }, "ee"]"#)?;
    /// assert_eq!(pattern.filled_from(&[0xfe, 7], &Captures::new()), [0xff, 7, 0, 0xee]);
    /// # Ok::<(), serde_json::Error>(())
    /// ```
    pub fn filled_from(&self, came: &[u8], captures: &Captures) -> Vec<u8> {
        const MOST: usize = 65_536;
        let mut matcher = Matcher::new(came, captures);
        let mut bytes = Vec::new();
        for part in &self.0 {
            let Some(len) = matcher.len(part).ok().filter(|len| *len <= MOST) else { break };
            let here: Vec<u8> = match part {
                Part::Literal(literal) => matcher.bytes(literal).unwrap_or_default(),
                _ => came.iter().skip(matcher.at).copied().chain(repeat(0)).take(len).collect(),
            };
            if let Part::Any(Any { name: Some(name), .. }) = part {
                matcher.captured.insert(name.clone(), here.clone());
            }
            bytes.extend(here);
            matcher.at = matcher.at.saturating_add(len);
        }
        bytes
    }
}

struct Matcher<'a> {
    so_far: &'a [u8],
    at: usize,
    known: &'a Captures,
    captured: Captures,
}

impl<'a> Matcher<'a> {
    fn new(so_far: &'a [u8], known: &'a Captures) -> Self {
        Self { so_far, at: 0, known, captured: Captures::new() }
    }

    fn all(mut self, parts: &[Part]) -> Result<Captures, Comparison> {
        for (nth, part) in parts.iter().enumerate() {
            let len = self.len(part)?;
            let there = self.so_far.get(self.at..).unwrap_or_default();
            let there = there.get(..len).unwrap_or(there);
            if let Part::Literal(literal) = part {
                self.compare(&self.bytes(literal)?, there)?;
            }
            if there.len() < len {
                let rest = self.known_len(parts.get(nth.saturating_add(1)..).unwrap_or_default());
                let missing = len.saturating_sub(there.len());
                return Err(Comparison::NeedMore(missing.saturating_add(rest)));
            }
            if let Part::Any(any) = part {
                self.take(any, there)?;
            }
            self.at = self.at.saturating_add(len);
        }
        match self.so_far.get(self.at..) {
            None | Some([]) => Ok(self.captured),
            Some(more) => Err(differs(self.at, "no further byte".to_string(), hex::encode(more))),
        }
    }

    fn capture(&self, name: &str) -> Option<&Vec<u8>> {
        self.captured.get(name).or_else(|| self.known.get(name))
    }

    fn fail(&self, message: impl fmt::Display) -> Comparison {
        differs(self.at, "a valid script".to_string(), message.to_string())
    }

    fn number(&self, name: &str) -> Result<u64, Comparison> {
        let bytes = self.capture(name).ok_or_else(|| self.fail(Uncaptured(name.to_string())))?;
        let (low, high) = bytes.split_at_checked(8).unwrap_or((bytes, &[]));
        if high.iter().any(|byte| *byte != 0) {
            return Err(self.fail(format!("`{name}` exceeds 64 bits")));
        }
        Ok(low.iter().rev().fold(0, |number, byte| (number << 8) | u64::from(*byte)))
    }

    fn bytes(&self, literal: &Literal) -> Result<Vec<u8>, Comparison> {
        let bytes = literal.bytes(&self.captured).or_else(|_| literal.bytes(self.known));
        bytes.map_err(|error| self.fail(error))
    }

    /// Returns the length of a part, which may depend on earlier parts.
    fn len(&self, part: &Part) -> Result<usize, Comparison> {
        let (number, len, expected) = match part {
            Part::Literal(literal) => return self.bytes(literal).map(|bytes| bytes.len()),
            Part::Any(Any { any: Length::Fixed(len), .. }) => return Ok(*len),
            Part::Any(Any { any: Length::Of(LengthOf { of, times, less }), .. }) => {
                let number = self.number(of)?;
                let len = number.saturating_mul(*times).checked_sub(*less);
                (number, len, format!("`{of}` times {times} to be at least {less}"))
            }
            Part::Until(Until { until, most }) => {
                let (number, at) = (self.number(until)?, self.at as u64);
                let len = number.checked_sub(at).filter(|len| len <= most);
                (number, len, format!("`{until}` to be {at} to {}", most.saturating_add(at)))
            }
        };
        let len = len.ok_or_else(|| differs(self.at, expected, number.to_string()))?;
        Ok(usize::try_from(len).unwrap_or(usize::MAX))
    }

    /// Returns a lower bound of the remaining bytes, which counts only parts of known length.
    fn known_len(&self, parts: &[Part]) -> usize {
        let known = parts.iter().map_while(|part| match part {
            Part::Any(Any { any: Length::Fixed(len), .. }) => Some(*len),
            // A part before it may capture the name again.
            Part::Literal(Literal::Same(_)) | Part::Any(_) | Part::Until(_) => None,
            Part::Literal(literal) => literal.bytes(self.known).ok().map(|bytes| bytes.len()),
        });
        known.fold(0, usize::saturating_add)
    }

    fn compare(&self, expected: &[u8], there: &[u8]) -> Result<(), Comparison> {
        let wrong = expected.iter().zip(there).position(|(want, have)| want != have);
        wrong.map_or(Ok(()), |wrong| {
            let excerpt = |bytes: &[u8]| {
                hex::encode(bytes.iter().skip(wrong).take(16).copied().collect::<Vec<_>>())
            };
            Err(differs(self.at.saturating_add(wrong), excerpt(expected), excerpt(there)))
        })
    }

    fn take(&mut self, any: &Any, there: &[u8]) -> Result<(), Comparison> {
        for other in &any.not {
            let other = self.bytes(other)?;
            if other == there {
                let expected = format!("bytes other than {}", hex::encode(&other));
                return Err(differs(self.at, expected, hex::encode(there)));
            }
        }
        for (literals, is_wanted) in [(&any.has, true), (&any.lacks, false)] {
            for literal in literals {
                let bytes = self.bytes(literal)?;
                if contains(there, &bytes) != is_wanted {
                    let (expected, found) =
                        if is_wanted { ("", "absent") } else { ("no ", "present") };
                    let expected =
                        format!("{expected}{} within {} bytes", hex::encode(&bytes), there.len());
                    return Err(differs(self.at, expected, found.to_string()));
                }
            }
        }
        if let Some(name) = &any.name {
            self.captured.insert(name.clone(), there.to_vec());
        }
        Ok(())
    }
}

fn contains(bytes: &[u8], wanted: &[u8]) -> bool {
    wanted.is_empty() || bytes.windows(wanted.len()).any(|window| window == wanted)
}

fn differs(offset: usize, expected: String, found: String) -> Comparison {
    Comparison::Differs(Mismatch { offset, expected, found })
}

fn same<S: Serializer>(name: &str, serializer: S) -> Result<S::Ok, S::Error> {
    serde_json::json!({ "same": name }).serialize(serializer)
}

/// Reads a part by its key, so that an error mentions only the keys of that part.
impl<'de> Deserialize<'de> for Part {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = Value::deserialize(deserializer)?;
        let part = if value.get("any").is_some() {
            serde_json::from_value(value).map(Self::Any)
        } else if value.get("until").is_some() {
            serde_json::from_value(value).map(Self::Until)
        } else {
            serde_json::from_value(value).map(Self::Literal)
        };
        part.map_err(D::Error::custom)
    }
}

impl<'de> Deserialize<'de> for Literal {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = Value::deserialize(deserializer)?;
        let bytes = |value: &Value| crate::hexadecimal::bytes(value.as_str()?).ok();
        let keys = value.as_object().map_or(0, Map::len);
        let literal = match (value.get("repeat"), value.get("times"), value.get("same"), keys) {
            (None, None, None, 0) => bytes(&value).map(Self::Bytes),
            (None, None, Some(Value::String(name)), 1) => Some(Self::Same(name.clone())),
            (Some(unit), Some(times), None, 2) => bytes(unit).and_then(|unit| {
                let times = u16::try_from(times.as_u64()?).ok()?;
                (unit.len() <= MAX_UNIT).then_some(Self::Repeat { unit, times })
            }),
            _ => None,
        };
        literal.ok_or_else(|| {
            D::Error::custom(format!(
                "expected bytes in hexadecimal, at most {MAX_UNIT} to repeat, or a part, not {value}"
            ))
        })
    }
}

const fn one() -> u64 {
    1
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde requires this form")]
const fn is_one(number: &u64) -> bool {
    *number == 1
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde requires this form")]
const fn is_zero(number: &u64) -> bool {
    *number == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reads `bytes` like a player, which never reads more than allowed. Returns the number of
    /// bytes left and the captures, or the offset of the difference.
    fn read(
        text: &str,
        mut bytes: &[u8],
        captures: &[(&str, &[u8])],
    ) -> Result<(usize, Captures), usize> {
        let pattern: Pattern = serde_json::from_str(text).unwrap();
        let captures =
            captures.iter().map(|(name, bytes)| ((*name).to_string(), bytes.to_vec())).collect();
        let mut so_far = Vec::new();
        loop {
            match pattern.compare(&so_far, &captures) {
                Comparison::NeedMore(0) => panic!("no byte is needed, and more are"),
                Comparison::NeedMore(most) => {
                    let (now, later) = bytes.split_at(most.min(bytes.len()));
                    assert!(!now.is_empty(), "{text} needs {most} more");
                    so_far.extend(now);
                    bytes = later;
                }
                Comparison::Matched(new) => return Ok((bytes.len(), new)),
                Comparison::Differs(mismatch) => return Err(mismatch.offset),
            }
        }
    }

    #[test]
    fn pattern_matches_or_differs_at_first_wrong_byte() {
        let until = r#"[{ "any": 1, "as": "n" }, "aa", { "until": "n", "most": 2 }, "bb"]"#;
        let contents = r#"[{ "any": 4, "has": ["0102"], "lacks": ["ff"] }]"#;
        let excluded = r#"["00", { "any": 2, "not": ["0000", "0001"] }]"#;
        let repeated = r#"["0011", { "repeat": "2233", "times": 2 }]"#;
        for (text, bytes, left) in [
            // The length of the second part is negative, zero or positive.
            (r#"[{ "any": 1, "as": "n" }, { "any": { "of": "n", "less": 5 } }]"#, &[4][..], Err(1)),
            (r#"[{ "any": 1, "as": "n" }, { "any": { "of": "n", "less": 4 } }]"#, &[4], Ok(0)),
            (until, &[2, 0xaa, 0xbb], Ok(0)),
            (until, &[4, 0xaa, 0, 0, 0xbb, 9], Ok(1)),
            (until, &[1, 0xaa], Err(2)),
            (until, &[5, 0xaa], Err(2)),
            // Contents are checked from their first byte once all bytes have arrived.
            (contents, &[0, 1, 2, 0], Ok(0)),
            (contents, &[0, 1, 0, 2], Err(0)),
            (contents, &[1, 2, 0xff, 0], Err(0)),
            (excluded, &[0, 0, 1], Err(1)),
            (excluded, &[0, 1, 0], Ok(0)),
            (repeated, &[0x00, 0x12], Err(1)),
            (repeated, &[0x00, 0x11, 0x22, 0x33, 0x22, 0x34], Err(5)),
            (r#"[{ "same": "x" }]"#, &[5], Err(0)),
        ] {
            assert_eq!(read(text, bytes, &[]).map(|(left, _)| left), left, "{text} {bytes:?}");
        }
    }

    #[test]
    fn captured_bytes_are_used_by_later_parts_and_can_be_recaptured() {
        let text = r#"[{ "any": 2, "as": "n" }, { "any": { "of": "n", "times": 2, "less": 1 }, "as": "x" }, { "same": "x" }, "ee"]"#;
        let captured =
            Captures::from([("n".into(), [2, 0].into()), ("x".into(), [7, 8, 9].into())]);
        assert_eq!(read(text, &[2, 0, 7, 8, 9, 7, 8, 9, 0xee, 1], &[]), Ok((1, captured)));
        let text = r#"[{ "same": "x" }, { "any": 1, "as": "x" }, { "same": "x" }]"#;
        let captured = Captures::from([("x".into(), [6].into())]);
        assert_eq!(read(text, &[5, 6, 6, 1], &[("x", &[5])]), Ok((1, captured)));
    }

    #[test]
    fn invalid_parts_are_refused() {
        for text in [
            r#"["0"]"#,
            r#"["zz"]"#,
            "[1]",
            "[{}]",
            r#"[{ "same": "x", "times": 2 }]"#,
            r#"[{ "repeat": "00" }]"#,
            r#"[{ "any": 1, "until": "x" }]"#,
            r#"[{ "any": 1, "named": "x" }]"#,
            r#"[{ "any": { "of": "n", "plus": 1 } }]"#,
            r#"[{ "until": "n" }]"#,
        ] {
            assert!(serde_json::from_str::<Pattern>(text).is_err(), "{text}");
        }
        let any = serde_json::from_str::<Literal>(r#"{ "any": 1 }"#);
        assert!(any.is_err(), "nothing of any value can be sent");
    }
}
