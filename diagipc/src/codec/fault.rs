//! The kinds of errors in an answer.

use std::fmt;

use dotnet_diagnostics_ipc::vectors::DecodeRefusal;

use super::Difference;
use super::answer::LAYERS;
use crate::AdapterError;

/// Why a case failed. Failures are counted by [`CodecFault::name`].
///
/// ```
/// use diagipc::codec::CodecFault;
///
/// let fault = CodecFault::WrongCanonical { seen: true };
/// assert_eq!(fault.name(), "wrong-canonical");
/// assert_eq!(fault.to_string(), "`canonical` is true, expected false");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CodecFault {
    /// Invalid bytes were accepted.
    TakenThoughInvalid,
    /// Valid bytes, or a valid value, were refused.
    RefusedThoughValid,
    /// Bytes were read as another value.
    WrongValue(Difference),
    /// `ok` to `decode`, without `value`.
    ValueMissing,
    /// `canonical` is wrong.
    WrongCanonical {
        /// The answer.
        seen: bool,
    },
    /// Refused in another layer, where a server's answer depends on it.
    WrongLayer {
        /// The layer of the answer.
        seen: String,
        /// That of the vector.
        expected: String,
    },
    /// An unknown layer.
    UnknownLayer(String),
    /// `ok` to `encode`, without `wire`.
    WireMissing,
    /// Bytes other than the vector's were written.
    WrongBytes(WrongBytes),
    /// Bytes were written for a value that has none.
    WrittenThoughInvalid,
    /// The value was written in a form that is only for reading.
    LeniencyWritten,
    /// No line was written.
    NoAnswer(AdapterError),
    /// A line that violates the line protocol, or answers another question; the reason.
    NotTheProtocol(String),
    /// Unsupported, and required; the given reason.
    Required(Option<String>),
}

/// The meaning of each name, and its fix.
const MEANINGS: [(&str, &str, &str); 14] = [
    (
        "taken-though-invalid",
        "The bytes are invalid, and the codec accepts them.",
        "Refuse them: `diagipc explain NUMBER` says what is wrong with the bytes of a vector, and at which byte.",
    ),
    (
        "refused-though-valid",
        "The bytes, or the value, are valid, and the codec refuses them.",
        "Accept them: `diagipc explain NUMBER` shows what each byte means.",
    ),
    (
        "wrong-value",
        "The codec reads the bytes as another value; the key that differs follows the colon.",
        "Check how that field is read: its width, its byte order, and where it begins.",
    ),
    (
        "value-missing",
        "The adapter answers ok to decode, and gives no value.",
        "Add `value`, or answer `taken` if it cannot be shown.",
    ),
    (
        "wrong-canonical",
        "The key `canonical` is wrong.",
        "Write true only if the codec writes the value as exactly these bytes, or omit the key.",
    ),
    (
        "wrong-layer",
        "The codec refuses the bytes for another reason, and a server would answer with the wrong error.",
        "Check in the order of layers: transport, header, payload, limits; name the first that refuses.",
    ),
    (
        "unknown-layer",
        "The adapter names a layer that does not exist.",
        "Write transport, header, payload, limits or reply, or omit it.",
    ),
    (
        "wire-missing",
        "The adapter answers ok to encode, and gives no bytes.",
        "Add `wire`, the bytes in hexadecimal.",
    ),
    (
        "wrong-bytes",
        "The codec writes other bytes; the field that they change, or why they are malformed, follows the colon.",
        "Check how that field is written: its width, its byte order, and what precedes it.",
    ),
    (
        "written-though-invalid",
        "The value cannot be encoded (too large, or it would be read as another value), and the codec writes bytes.",
        "Refuse the value before anything is written.",
    ),
    (
        "leniency-written",
        "The codec writes a form that readers may accept but writers must not use.",
        "Write a bool as 0 or 1, `reserved` as 0, and no bytes after the last field.",
    ),
    (
        "no-answer",
        "The adapter ended, or was silent.",
        "Write one line for each question, and flush it; check the adapter's standard error.",
    ),
    (
        "not-the-protocol",
        "The line is not an answer, or answers another question.",
        "Write one JSON object per line with the question's `id`: diagipc/adapters/README.md.",
    ),
    (
        "required-and-unsupported",
        "--require selects the case, and the adapter answers unsupported.",
        "Support it, or do not require it.",
    ),
];

/// How bytes differ from the expected ones.
///
/// ```
/// use diagipc::Glob;
/// use diagipc::codec::{self, Answer, CodecFault};
///
/// let files = codec::embedded()?;
/// let cases = codec::cases(&files);
/// let wchar = cases.iter().find(|case| case.is_chosen(&Glob::new("wchar/encode"))).expect("there is one");
/// let answer = Answer::parse(r#"{ "result": "ok", "wire": "4142" }"#)?;
/// let Some(CodecFault::WrongBytes(wrong)) = wchar.judge(&answer).fault else { panic!("these are others") };
/// assert!(wrong.to_string().starts_with("byte 0 is 41, expected "));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WrongBytes {
    /// The first difference, with both bytes; `None` after the end. `None` if any encoding of the
    /// value is allowed.
    first: Option<(usize, Option<u8>, Option<u8>)>,
    meaning: Meaning,
}

/// The meaning of such bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Meaning {
    Other(Difference),
    Same,
    SameInAnotherForm,
    None(DecodeRefusal),
}

impl WrongBytes {
    /// Of `wire`, where `expected` should be written; `None` if any encoding of the same value is
    /// allowed.
    pub(super) fn new(wire: &[u8], expected: Option<&[u8]>, meaning: Meaning) -> Self {
        let first = expected.map(|expected| {
            let at = wire.iter().zip(expected).take_while(|(one, other)| one == other).count();
            (at, wire.get(at).copied(), expected.get(at).copied())
        });
        Self { first, meaning }
    }
}

impl fmt::Display for WrongBytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.first {
            Some((at, Some(seen), Some(expected))) => {
                write!(f, "byte {at} is {seen:02x}, expected {expected:02x}; ")?;
            }
            Some((at, Some(seen), None)) => {
                write!(f, "byte {at} is {seen:02x}, expected the end; ")?;
            }
            Some((at, None, _)) => write!(f, "the bytes end at byte {at}, expected more; ")?,
            None => {}
        }
        match &self.meaning {
            Meaning::Other(difference) => write!(f, "in these bytes {difference}"),
            Meaning::Same => f.write_str("these bytes mean the same"),
            Meaning::SameInAnotherForm => {
                f.write_str("these bytes mean the same, in a form that writers must not use")
            }
            Meaning::None(refusal) => write!(f, "these bytes are malformed: {refusal}"),
        }
    }
}

/// The row of a name; the field after its colon is ignored.
fn row(name: &str) -> Option<&'static (&'static str, &'static str, &'static str)> {
    let name = name.split_once(':').map_or(name, |(name, _)| name);
    MEANINGS.iter().find(|(known, _, _)| *known == name)
}

impl CodecFault {
    /// The meaning of a name of [`CodecFault::name`]; `None` if it is unknown.
    ///
    /// ```
    /// use diagipc::codec::CodecFault;
    ///
    /// assert!(CodecFault::meaning("wrong-value:providers[].keywords").is_some());
    /// assert_eq!(CodecFault::meaning("string-length-in-bytes"), None);
    /// ```
    pub fn meaning(name: &str) -> Option<&'static str> {
        row(name).map(|(_, meaning, _)| *meaning)
    }

    /// The fix of a fault of such a name; `None` if it is unknown.
    ///
    /// ```
    /// use diagipc::codec::CodecFault;
    ///
    /// assert!(CodecFault::fix("wrong-value:providers[].keywords").is_some_and(|fix| fix.contains("byte order")));
    /// ```
    pub fn fix(name: &str) -> Option<&'static str> {
        row(name).map(|(_, _, fix)| *fix)
    }

    /// Its name: `refused-though-valid`, `wrong-value:providers[].keywords`.
    pub fn name(&self) -> String {
        let of_field = |name: &str, difference: &Difference| match difference.field() {
            "" => name.into(),
            field => format!("{name}:{field}"),
        };
        match self {
            Self::TakenThoughInvalid => "taken-though-invalid".into(),
            Self::RefusedThoughValid => "refused-though-valid".into(),
            Self::WrongValue(difference) => of_field("wrong-value", difference),
            Self::ValueMissing => "value-missing".into(),
            Self::WrongCanonical { .. } => "wrong-canonical".into(),
            Self::WrongLayer { .. } => "wrong-layer".into(),
            Self::UnknownLayer(_) => "unknown-layer".into(),
            Self::WireMissing => "wire-missing".into(),
            Self::WrongBytes(WrongBytes { meaning: Meaning::Other(difference), .. }) => {
                of_field("wrong-bytes", difference)
            }
            Self::WrongBytes(WrongBytes { meaning: Meaning::None(refusal), .. }) => {
                format!("wrong-bytes:{}", refusal.fault.kind)
            }
            Self::WrongBytes(_) => "wrong-bytes".into(),
            Self::WrittenThoughInvalid => "written-though-invalid".into(),
            Self::LeniencyWritten => "leniency-written".into(),
            Self::NoAnswer(_) => "no-answer".into(),
            Self::NotTheProtocol(_) => "not-the-protocol".into(),
            Self::Required(_) => "required-and-unsupported".into(),
        }
    }
}

impl fmt::Display for CodecFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TakenThoughInvalid => f.write_str("accepted, expected a refusal"),
            Self::RefusedThoughValid => f.write_str("refused, expected ok"),
            Self::WrongValue(difference) => difference.fmt(f),
            Self::ValueMissing => f.write_str("ok without `value`"),
            Self::WrongCanonical { seen } => write!(f, "`canonical` is {seen}, expected {}", !seen),
            Self::WrongLayer { seen, expected } => {
                write!(f, "refused in layer {seen}, expected {expected}")
            }
            Self::UnknownLayer(layer) => {
                write!(f, "unknown layer {layer:?}, expected one of {}", LAYERS.join(", "))
            }
            Self::WireMissing => f.write_str("ok without `wire`"),
            Self::WrongBytes(wrong) => wrong.fmt(f),
            Self::WrittenThoughInvalid => f.write_str("written, but the value cannot be encoded"),
            Self::LeniencyWritten => f.write_str("written in a form that writers must not use"),
            Self::NoAnswer(trouble) => trouble.fmt(f),
            Self::NotTheProtocol(what) => f.write_str(what),
            Self::Required(reason) => {
                f.write_str("unsupported, but required")?;
                reason.as_ref().map_or(Ok(()), |reason| write!(f, ": {reason}"))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_name_has_a_meaning() {
        let faults = [
            CodecFault::TakenThoughInvalid,
            CodecFault::RefusedThoughValid,
            CodecFault::ValueMissing,
            CodecFault::WrongCanonical { seen: true },
            CodecFault::WrongLayer { seen: "payload".into(), expected: "header".into() },
            CodecFault::UnknownLayer("network".into()),
            CodecFault::WireMissing,
            CodecFault::WrongBytes(WrongBytes::new(&[], None, Meaning::Same)),
            CodecFault::WrittenThoughInvalid,
            CodecFault::LeniencyWritten,
            CodecFault::NoAnswer(AdapterError::LineTooLong),
            CodecFault::NotTheProtocol(String::new()),
            CodecFault::Required(None),
        ];
        for fault in faults {
            assert!(CodecFault::meaning(&fault.name()).is_some(), "{}", fault.name());
        }
    }

    #[test]
    fn wrong_bytes_report_first_difference() {
        let says = |wire: &[u8], expected: &[u8]| {
            WrongBytes::new(wire, Some(expected), Meaning::Same).to_string()
        };
        assert_eq!(
            says(&[1, 2], &[1, 0x1c]),
            "byte 1 is 02, expected 1c; these bytes mean the same"
        );
        assert_eq!(
            says(&[1, 2], &[1]),
            "byte 1 is 02, expected the end; these bytes mean the same"
        );
        assert_eq!(
            says(&[1], &[1, 2]),
            "the bytes end at byte 1, expected more; these bytes mean the same"
        );
    }
}
