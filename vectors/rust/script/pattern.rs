//! The expected bytes on a connection, as far as a script knows them.

use alloc::{
    format,
    string::{String, ToString as _},
    vec::Vec,
};
use core::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};
use serde_json::Value;

use super::literal::literal;
use super::{Captures, Literal, Uncaptured};

/// A part of a [`Pattern`].
#[derive(Clone, Debug, PartialEq, Eq)]
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
    /// The name to capture them under.
    #[serde(default, rename = "as", skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Forbidden values.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub not: Vec<Literal>,
    /// Each of these occurs in them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub has: Vec<Literal>,
    /// None of these occurs in them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lacks: Vec<Literal>,
}

/// A number of bytes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Length {
    /// A fixed number.
    Fixed(usize),
    /// A captured little-endian number.
    Of(LengthOf),
}

/// The captured number `of`, times `times`, less `less`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LengthOf {
    /// The name of the number.
    pub of: String,
    /// The factor.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub times: u64,
    /// The subtrahend.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub less: u64,
}

/// As many bytes as needed for the pattern to have matched a captured number of them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Until {
    /// The name of the number.
    pub until: String,
    /// The maximum number of bytes.
    pub most: u64,
}

/// The next bytes on a connection.
///
/// ```
/// use dotnet_diagnostics_ipc_vectors::script::{Captures, Comparison, Pattern};
///
/// // A length, and as many bytes.
/// let pattern: Pattern = serde_json::from_str(r#"["ff", { "any": 1, "as": "n" }, { "any": { "of": "n" } }]"#)?;
/// let nothing = Captures::new();
/// assert_eq!(pattern.compare(&[], &nothing), Comparison::NeedMore(2));
/// assert_eq!(pattern.compare(&[0xff, 3], &nothing), Comparison::NeedMore(3));
/// let captured = Captures::from([("n".into(), vec![3])]);
/// assert_eq!(pattern.compare(&[0xff, 3, 1, 2, 3], &nothing), Comparison::Matched(captured));
/// let Comparison::Differs { offset, .. } = pattern.compare(&[0xfe], &nothing) else { panic!() };
/// assert_eq!(offset, 0);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Pattern(pub Vec<Part>);

/// The result of comparing received bytes with a [`Pattern`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Comparison {
    /// They match, and this many more may be read next: never beyond the pattern's end.
    NeedMore(usize),
    /// They match completely, and these names were captured.
    Matched(Captures),
    /// They differ.
    Differs {
        /// The offset of the first wrong byte, from the start of the pattern.
        offset: usize,
        /// The expected byte.
        expected: String,
        /// The received byte.
        found: String,
    },
}

impl Pattern {
    /// Compares `so_far`, all bytes since the start of the pattern, with it. Later bytes cannot
    /// repair a difference.
    pub fn compare(&self, so_far: &[u8], captures: &Captures) -> Comparison {
        match Matcher::new(so_far, captures).all(&self.0) {
            Ok(new) => Comparison::Matched(new),
            Err(stopped) => stopped,
        }
    }

    /// The bytes of the pattern: its own if known, else those at the same place in `came`, or 0.
    /// They end before a part of unknown length.
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
            if let Part::Literal(literal) = part {
                let Ok(known) = matcher.bytes(literal) else { break };
                bytes.extend(known);
            } else {
                let there =
                    came.iter().skip(matcher.at).copied().chain(core::iter::repeat(0)).take(len);
                let from = bytes.len();
                bytes.extend(there);
                if let Part::Any(Any { name: Some(name), .. }) = part {
                    matcher
                        .captured
                        .insert(name.clone(), bytes.get(from..).unwrap_or_default().to_vec());
                }
            }
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
                return Err(Comparison::NeedMore(
                    len.saturating_sub(there.len()).saturating_add(rest),
                ));
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
        match literal {
            Literal::Same(name) => {
                self.capture(name).cloned().ok_or_else(|| self.fail(Uncaptured(name.clone())))
            }
            other => other.bytes(self.known).map_err(|error| self.fail(error)),
        }
    }

    /// The length of a part, after all earlier ones.
    fn len(&self, part: &Part) -> Result<usize, Comparison> {
        let len = match part {
            Part::Literal(literal) => return self.bytes(literal).map(|bytes| bytes.len()),
            Part::Any(Any { any: Length::Fixed(len), .. }) => return Ok(*len),
            Part::Any(Any { any: Length::Of(LengthOf { of, times, less }), .. }) => {
                let number = self.number(of)?;
                let len = number.saturating_mul(*times).checked_sub(*less);
                len.ok_or_else(|| {
                    differs(
                        self.at,
                        format!("`{of}` times {times} to be at least {less}"),
                        number.to_string(),
                    )
                })?
            }
            Part::Until(Until { until, most }) => {
                let number = self.number(until)?;
                let len = number.checked_sub(self.at as u64).filter(|len| len <= most);
                let expected = || {
                    format!(
                        "`{until}` to be {} to {}",
                        self.at,
                        most.saturating_add(self.at as u64)
                    )
                };
                len.ok_or_else(|| differs(self.at, expected(), number.to_string()))?
            }
        };
        Ok(usize::try_from(len).unwrap_or(usize::MAX))
    }

    /// A lower bound of the remaining bytes: those of the parts of known length.
    fn known_len(&self, parts: &[Part]) -> usize {
        let known = parts.iter().map_while(|part| match part {
            Part::Any(Any { any: Length::Fixed(len), .. }) => Some(*len),
            // A part in between may capture a name again.
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
                return Err(differs(
                    self.at,
                    format!("bytes other than {}", hex::encode(&other)),
                    hex::encode(there),
                ));
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
    Comparison::Differs { offset, expected, found }
}

impl Serialize for Part {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Literal(literal) => literal.serialize(serializer),
            Self::Any(any) => any.serialize(serializer),
            Self::Until(until) => until.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for Part {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = Value::deserialize(deserializer)?;
        if value.get("any").is_some() {
            return serde_json::from_value(value).map(Self::Any).map_err(D::Error::custom);
        }
        if value.get("until").is_some() {
            return serde_json::from_value(value).map(Self::Until).map_err(D::Error::custom);
        }
        literal(&value).map(Self::Literal).map_err(D::Error::custom)
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
    extern crate std;
    use super::*;
    use std::vec;

    fn pattern(text: &str) -> Pattern {
        serde_json::from_str(text).unwrap()
    }

    /// Reads `bytes` like a player: never more than allowed. The rest, and its end.
    fn read<'b>(
        pattern: &Pattern,
        mut bytes: &'b [u8],
        captures: &Captures,
    ) -> (&'b [u8], Comparison) {
        let mut so_far = Vec::new();
        loop {
            match pattern.compare(&so_far, captures) {
                Comparison::NeedMore(0) => panic!("no byte is needed, and more are"),
                Comparison::NeedMore(most) if !bytes.is_empty() => {
                    let (now, later) = bytes.split_at(most.min(bytes.len()));
                    so_far.extend(now);
                    bytes = later;
                }
                end => return (bytes, end),
            }
        }
    }

    #[track_caller]
    fn differs_at(text: &str, bytes: &[u8], at: usize) {
        match read(&pattern(text), bytes, &Captures::new()).1 {
            Comparison::Differs { offset, .. } => assert_eq!(offset, at),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn length_is_taken_from_earlier_capture() {
        let text = r#"[{ "any": 2, "as": "n" }, { "any": { "of": "n", "times": 2, "less": 1 }, "as": "x" }, { "same": "x" }, "ee"]"#;
        let bytes = [2, 0, 7, 8, 9, 7, 8, 9, 0xee, 1];
        let (left, end) = read(&pattern(text), &bytes, &Captures::new());
        assert_eq!(left, [1]);
        assert_eq!(
            end,
            Comparison::Matched(Captures::from([
                ("n".into(), vec![2, 0]),
                ("x".into(), vec![7, 8, 9])
            ]))
        );
        // A length below zero.
        differs_at(r#"[{ "any": 1, "as": "n" }, { "any": { "of": "n", "less": 5 } }]"#, &[4], 1);
        // None at all.
        let none = read(
            &pattern(r#"[{ "any": 1, "as": "n" }, { "any": { "of": "n", "less": 4 } }]"#),
            &[4],
            &Captures::new(),
        );
        assert!(matches!(none.1, Comparison::Matched(_)));
    }

    #[test]
    fn name_of_earlier_step_can_be_used_and_recaptured() {
        let earlier = Captures::from([("x".into(), vec![5])]);
        let text = r#"[{ "same": "x" }, { "any": 1, "as": "x" }, { "same": "x" }]"#;
        let (left, end) = read(&pattern(text), &[5, 6, 6, 1], &earlier);
        assert_eq!(
            (left, end),
            (&[1][..], Comparison::Matched(Captures::from([("x".into(), vec![6])])))
        );
        differs_at(r#"[{ "same": "x" }]"#, &[5], 0);
    }

    #[test]
    fn until_fills_up_to_captured_length() {
        let text = r#"[{ "any": 1, "as": "n" }, "aa", { "until": "n", "most": 2 }, "bb"]"#;
        for (n, more) in [(2, 0), (3, 1), (4, 2)] {
            let bytes: Vec<u8> = [n, 0xaa].into_iter().chain(vec![0; more]).chain([0xbb]).collect();
            let (left, end) = read(&pattern(text), &bytes, &Captures::new());
            assert!(left.is_empty() && matches!(end, Comparison::Matched(_)), "{n}: {end:?}");
        }
        differs_at(text, &[1, 0xaa], 2);
        differs_at(text, &[5, 0xaa], 2);
    }

    #[test]
    fn any_bytes_must_have_and_lack_given_bytes() {
        let text = r#"[{ "any": 4, "has": ["0102"], "lacks": ["ff"] }]"#;
        assert!(matches!(
            read(&pattern(text), &[0, 1, 2, 0], &Captures::new()).1,
            Comparison::Matched(_)
        ));
        // Checked once all have arrived, from the first of them.
        differs_at(text, &[0, 1, 0, 2], 0);
        differs_at(text, &[1, 2, 0xff, 0], 0);
    }

    #[test]
    fn excluded_bytes_differ() {
        let text = r#"["00", { "any": 2, "not": ["0000", "0001"] }]"#;
        differs_at(text, &[0, 0, 1], 1);
        assert!(matches!(
            read(&pattern(text), &[0, 1, 0], &Captures::new()).1,
            Comparison::Matched(_)
        ));
    }

    #[test]
    fn first_wrong_byte_is_reported_at_once() {
        let text = r#"["0011", { "repeat": "2233", "times": 2 }]"#;
        differs_at(text, &[0x00, 0x12], 1);
        differs_at(text, &[0x00, 0x11, 0x22, 0x33, 0x22, 0x34], 5);
        assert_eq!(
            pattern(text).compare(&[0x00, 0x11, 0x22], &Captures::new()),
            Comparison::NeedMore(3)
        );
    }

    #[test]
    fn invalid_parts_are_refused() {
        for text in [
            r#"["0"]"#,
            r#"["zz"]"#,
            "[1]",
            r#"[{ "same": "x", "times": 2 }]"#,
            r#"[{ "repeat": "00" }]"#,
            r#"[{ "any": 1, "until": "x" }]"#,
            r#"[{ "any": 1, "named": "x" }]"#,
            r#"[{ "any": { "of": "n", "plus": 1 } }]"#,
            r#"[{ "until": "n" }]"#,
        ] {
            assert!(serde_json::from_str::<Pattern>(text).is_err(), "{text}");
        }
        assert!(
            serde_json::from_str::<Literal>(r#"{ "any": 1 }"#).is_err(),
            "nothing of any value can be sent"
        );
    }
}
