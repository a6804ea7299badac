//! What is wrong with an answer, by kinds.

use alloc::{format, string::String};
use core::fmt;

use super::Difference;
use super::answer::LAYERS;
use crate::conformance::AdapterError;
use crate::vectors::DecodeRefusal;

/// Why a case failed. [`CodecFault::name`] is what failures are counted by.
///
/// ```
/// use dotnet_diagnostics_ipc::conformance::codec::CodecFault;
///
/// let fault = CodecFault::WrongCanonical { seen: true };
/// assert_eq!(fault.name(), "wrong-canonical");
/// assert_eq!(fault.to_string(), "`canonical` is true, expected false");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CodecFault {
    /// Invalid bytes were taken.
    TakenThoughInvalid,
    /// Valid bytes, or a valid value, were refused.
    RefusedThoughValid,
    /// Bytes were read as another value.
    WrongValue(Difference),
    /// `ok` to `decode`, and no `value`.
    ValueMissing,
    /// `canonical` is not as it is.
    WrongCanonical {
        /// What it is.
        seen: bool,
    },
    /// Refused in another layer, where a server's answer hangs on it.
    WrongLayer {
        /// The layer of the answer.
        seen: String,
        /// That of the vector.
        expected: String,
    },
    /// A layer that does not exist.
    UnknownLayer(String),
    /// `ok` to `encode`, and no `wire`.
    WireMissing,
    /// Other bytes than those of the vector were written.
    WrongBytes(WrongBytes),
    /// Bytes were written where there are none for the value.
    WrittenThoughInvalid,
    /// The value was written in a form that is only ever read.
    LeniencyWritten,
    /// No line came.
    NoAnswer(AdapterError),
    /// A line came that is not of the line protocol, or answers another question; what is wrong with it.
    NotTheProtocol(String),
    /// Unsupported, and required; the reason that was given.
    Required(Option<String>),
}

/// What each name means, and what to look at.
const MEANINGS: [(&str, &str); 14] = [
    ("taken-though-invalid", "the bytes are invalid, and the codec took them: it must refuse them"),
    ("refused-though-valid", "the bytes, or the value, are valid, and the codec refused them"),
    ("wrong-value", "the codec read the bytes as another value; behind the colon is the key that differs"),
    ("value-missing", "an adapter that answers ok to decode must give a value; one that cannot show it answers taken"),
    ("wrong-canonical", "canonical says whether the codec writes the value as just these bytes"),
    ("wrong-layer", "the codec refused the bytes for another reason, and a server would answer with the wrong error"),
    ("unknown-layer", "layer is transport, header, payload, limits or reply, or is left out"),
    ("wire-missing", "an adapter that answers ok to encode must give the bytes"),
    (
        "wrong-bytes",
        "the codec wrote other bytes; behind the colon is the field that is another one in them, or why they are malformed",
    ),
    ("written-though-invalid", "the value has no bytes, as it is too large or would be read otherwise: the codec must refuse it"),
    ("leniency-written", "the codec wrote a form that readers may take and nobody writes"),
    ("no-answer", "the adapter ended, or was silent"),
    ("not-the-protocol", "the line is no answer, or one to another question"),
    ("required-and-unsupported", "--require chooses the case, and the adapter answers unsupported"),
];

/// How bytes differ from those that were expected.
///
/// ```
/// use dotnet_diagnostics_ipc::conformance::Glob;
/// use dotnet_diagnostics_ipc::conformance::codec::{self, Answer, CodecFault};
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
    /// The first place where they differ, and what is in each there, `None` behind its end. `None` where any bytes of the value are as good.
    first: Option<(usize, Option<u8>, Option<u8>)>,
    meaning: Meaning,
}

/// What such bytes mean.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Meaning {
    Other(Difference),
    Same,
    SameInAnotherForm,
    None(DecodeRefusal),
}

impl WrongBytes {
    /// Of `wire`, where `expected` was to be written; `None` where any bytes of the same value are as good.
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
            Some((at, Some(seen), Some(expected))) => write!(f, "byte {at} is {seen:02x}, expected {expected:02x}; ")?,
            Some((at, Some(seen), None)) => write!(f, "byte {at} is {seen:02x}, expected the end; ")?,
            Some((at, None, _)) => write!(f, "the bytes end behind {at}, expected more; ")?,
            None => {}
        }
        match &self.meaning {
            Meaning::Other(difference) => write!(f, "in these bytes {difference}"),
            Meaning::Same => f.write_str("these bytes mean the same"),
            Meaning::SameInAnotherForm => f.write_str("these bytes mean the same, in a form that is only ever read"),
            Meaning::None(refusal) => write!(f, "these bytes are malformed: {refusal}"),
        }
    }
}

impl CodecFault {
    /// What a name of [`CodecFault::name`] means; `None` if no fault is called so.
    ///
    /// ```
    /// use dotnet_diagnostics_ipc::conformance::codec::CodecFault;
    ///
    /// assert!(CodecFault::meaning("wrong-value:providers[].keywords").is_some());
    /// assert_eq!(CodecFault::meaning("string-length-in-bytes"), None);
    /// ```
    pub fn meaning(name: &str) -> Option<&'static str> {
        let name = name.split_once(':').map_or(name, |(name, _)| name);
        MEANINGS.iter().find(|(known, _)| *known == name).map(|(_, meaning)| *meaning)
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
            Self::WrongBytes(WrongBytes { meaning: Meaning::Other(difference), .. }) => of_field("wrong-bytes", difference),
            Self::WrongBytes(WrongBytes { meaning: Meaning::None(refusal), .. }) => format!("wrong-bytes:{}", refusal.fault.kind),
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
            Self::TakenThoughInvalid => f.write_str("taken, expected a refusal"),
            Self::RefusedThoughValid => f.write_str("refused, expected ok"),
            Self::WrongValue(difference) => difference.fmt(f),
            Self::ValueMissing => f.write_str("ok without `value`"),
            Self::WrongCanonical { seen } => write!(f, "`canonical` is {seen}, expected {}", !seen),
            Self::WrongLayer { seen, expected } => write!(f, "refused in layer {seen}, expected {expected}"),
            Self::UnknownLayer(layer) => write!(f, "there is no layer {layer:?}, expected one of {}", LAYERS.join(", ")),
            Self::WireMissing => f.write_str("ok without `wire`"),
            Self::WrongBytes(wrong) => wrong.fmt(f),
            Self::WrittenThoughInvalid => f.write_str("written, where there are no bytes for the value"),
            Self::LeniencyWritten => f.write_str("written in a form that is only ever read"),
            Self::NoAnswer(trouble) => trouble.fmt(f),
            Self::NotTheProtocol(what) => f.write_str(what),
            Self::Required(reason) => {
                f.write_str("unsupported, and required")?;
                reason.as_ref().map_or(Ok(()), |reason| write!(f, ": {reason}"))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString as _;

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
    fn other_bytes_are_told_by_the_first_of_them() {
        let says = |wire: &[u8], expected: &[u8]| WrongBytes::new(wire, Some(expected), Meaning::Same).to_string();
        assert_eq!(says(&[1, 2], &[1, 0x1c]), "byte 1 is 02, expected 1c; these bytes mean the same");
        assert_eq!(says(&[1, 2], &[1]), "byte 1 is 02, expected the end; these bytes mean the same");
        assert_eq!(says(&[1], &[1, 2]), "the bytes end behind 1, expected more; these bytes mean the same");
    }
}
