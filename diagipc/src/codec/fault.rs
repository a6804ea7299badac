//! The kinds of errors in an answer.

use std::fmt;

use dotnet_diagnostics_ipc_vectors::DecodeRefusal;

use super::Difference;
use super::answer::LAYERS;
use crate::AdapterError;
use crate::faults::Fault;

/// Why a case failed, with what was seen. Failures are counted by [`CodecFault::name`].
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

/// How bytes differ from the expected ones.
///
/// ```
/// use diagipc::{Glob, Playable as _, embedded};
/// use diagipc::codec::{self, Answer, CodecFault};
///
/// let files = embedded::vectors()?;
/// let cases = codec::cases(&files);
/// let wchar = cases.iter().find(|case| case.is_chosen(&Glob::new("wchar/encode"))).expect("there is one");
/// let answer = Answer::parse(r#"{ "result": "ok", "wire": "4142" }"#)?;
/// let Some(CodecFault::WrongBytes(wrong)) = wchar.judge(&answer, false).fault else { panic!("these are others") };
/// assert!(wrong.to_string().starts_with("byte 0 is 41, expected "));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WrongBytes {
    /// The first difference, with both bytes; `None` after the end. `None` if any encoding of the
    /// value is allowed.
    first: Option<(usize, Option<u8>, Option<u8>)>,
    meaning: Meaning,
    /// The common mistake by which exactly these bytes are written.
    mistake: Option<Fault>,
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
    pub(super) fn new(
        wire: &[u8],
        expected: Option<&[u8]>,
        meaning: Meaning,
        mistake: Option<Fault>,
    ) -> Self {
        let first = expected.map(|expected| {
            let at = wire.iter().zip(expected).take_while(|(one, other)| one == other).count();
            (at, wire.get(at).copied(), expected.get(at).copied())
        });
        Self { first, meaning, mistake }
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

impl CodecFault {
    /// Its row in the table.
    pub fn fault(&self) -> Fault {
        match self {
            Self::WrongBytes(WrongBytes { mistake: Some(fault), .. }) => *fault,
            Self::WrongValue(difference) => difference.mistake().unwrap_or(Fault::WrongValue),
            Self::TakenThoughInvalid => Fault::TakenThoughInvalid,
            Self::RefusedThoughValid => Fault::RefusedThoughValid,
            Self::ValueMissing => Fault::ValueMissing,
            Self::WrongCanonical { .. } => Fault::WrongCanonical,
            Self::WrongLayer { .. } => Fault::WrongLayer,
            Self::UnknownLayer(_) => Fault::UnknownLayer,
            Self::WireMissing => Fault::WireMissing,
            Self::WrongBytes(_) => Fault::WrongBytes,
            Self::WrittenThoughInvalid => Fault::WrittenThoughInvalid,
            Self::LeniencyWritten => Fault::NotCanonical,
            Self::NoAnswer(_) => Fault::AdapterSilent,
            Self::NotTheProtocol(_) => Fault::NotTheProtocol,
            Self::Required(_) => Fault::RequiredAndUnsupported,
        }
    }

    /// The fault's name, and the field if it is that of one and no common mistake explains it: `refused-though-valid`,
    /// `wrong-value:providers[].keywords`.
    pub fn name(&self) -> String {
        let detail = match self {
            _ if ![Fault::WrongValue, Fault::WrongBytes].contains(&self.fault()) => "",
            Self::WrongValue(difference)
            | Self::WrongBytes(WrongBytes { meaning: Meaning::Other(difference), .. }) => {
                difference.field()
            }
            Self::WrongBytes(WrongBytes { meaning: Meaning::None(refusal), .. }) => {
                refusal.fault.kind.as_str()
            }
            _ => "",
        };
        let separator = if detail.is_empty() { "" } else { ":" };
        format!("{}{separator}{detail}", self.fault())
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
    fn wrong_bytes_report_first_difference() {
        let says = |wire: &[u8], expected: &[u8]| {
            WrongBytes::new(wire, Some(expected), Meaning::Same, None).to_string()
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
