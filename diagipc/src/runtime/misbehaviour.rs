//! The faults that the reference runtime can show.

use std::fmt;

macro_rules! misbehaviours {
    ($($(#[doc = $doc:literal])+ $Kind:ident = $name:literal, $spec:literal, $number:expr;)*) => {
        /// A fault that the reference runtime can show. N is the number after the name.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum MisbehaviourKind {
            $($(#[doc = $doc])+ $Kind,)*
        }

        impl MisbehaviourKind {
            /// Every kind.
            pub const ALL: &'static [Self] = &[$(Self::$Kind),*];

            /// Returns the name, as parsed by [`Misbehaviour::parse`].
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$Kind => $name,)*
                }
            }

            /// Returns the fact that it is an example of, or an empty string.
            pub const fn spec(self) -> &'static str {
                match self {
                    $(Self::$Kind => $spec,)*
                }
            }

            /// Returns a description of the effect.
            pub const fn text(self) -> &'static str {
                match self {
                    $(Self::$Kind => concat!($($doc),+).trim_ascii(),)*
                }
            }

            /// Returns the default number, or `None` if it takes no number.
            pub const fn default_number(self) -> Option<u32> {
                match self {
                    $(Self::$Kind => $number,)*
                }
            }
        }
    };
}

misbehaviours! {
    /// Nothing is accepted: connections are made, and wait.
    NeverAccepts = "never-accepts", "F-75", None;
    /// Connections are accepted, requests are read, and nothing is answered.
    NeverAnswers = "never-answers", "F-75", None;
    /// N bytes of the reply are sent, then nothing; the connection stays open.
    SilentAfter = "silent-after", "F-6", Some(10);
    /// N bytes of the reply are sent, then the end.
    Truncate = "truncate", "", Some(22);
    /// One byte is sent every N milliseconds.
    Trickle = "trickle", "", Some(3);
    /// Every answer is delayed by N milliseconds.
    Late = "late", "F-75", Some(1000);
    /// Every request is refused with the HRESULT N.
    Refuse = "refuse", "", Some(0x8000_4005);
    /// The connection stays open after errors.
    ErrorWithoutClose = "error-without-close", "F-5", None;
    /// The connection stays open after every reply.
    NeverCloses = "never-closes", "F-74", None;
    /// The reply's payload is sent without its header.
    NoHeader = "no-header", "F-71", None;
    /// `ProcessInfo` and `ProcessEnvironment` with payload are answered with that payload and 20 zero bytes, without a header; the
    /// environment block follows.
    EchoPayload = "echo-payload", "F-71", None;
    /// A request without the payload that its command needs ends the process.
    DiesOfEmptyPayload = "dies-of-empty-payload", "F-72", None;
    /// The `size` of the reply is N.
    Size = "size", "", Some(19);
    /// The reply's `size` is too large by N.
    SizeMore = "size-more", "", Some(8);
    /// The reply's magic has version 2.
    Magic = "magic", "", None;
    /// The command set of the reply is N.
    CommandSet = "command-set", "", Some(4);
    /// The command id of the reply is N.
    CommandId = "command-id", "", Some(1);
    /// The OK replies have N bytes, 20 to 32: truncated, or padded with zeros.
    OkSize = "ok-size", "F-2", Some(20);
    /// The errors have N bytes, 20 to 32: truncated, or padded with zeros.
    ErrorSize = "error-size", "F-1", Some(28);
    /// An Error with `E_FAIL` follows the reply to a dump.
    SecondReply = "second-reply", "F-81", None;
    /// A dump removes the runtime's socket file.
    SocketGone = "socket-gone", "P-6", None;
    /// The connection is reset instead of closed.
    Reset = "reset", "F-70", None;
    /// The reply and the first bytes after it are one write.
    OneWrite = "one-write", "", None;
    /// The reply that starts a `user_events` session is sent before the descriptor is read, as the document says.
    ReplyBeforeDescriptor = "reply-before-descriptor", "F-19", None;
    /// The reply announces N bytes of environment too few.
    EnvironmentBytesLess = "environment-bytes-less", "F-43", Some(4);
    /// The reply announces N bytes of environment too many.
    EnvironmentBytesMore = "environment-bytes-more", "F-43", Some(4);
    /// The count of the environment's entries is too small by N.
    EnvironmentCountLess = "environment-count-less", "F-43", Some(1);
    /// The count of the environment's entries is too large by N.
    EnvironmentCountMore = "environment-count-more", "F-43", Some(1);
    /// An Error with `E_FAIL` is in the environment block after N bytes of it.
    WireError = "environment-error", "F-43", Some(60);
    /// The connection ends after N bytes of the environment block.
    EnvironmentCut = "environment-cut", "F-43", Some(60);
    /// The stream ends after N bytes, without its end.
    StreamCut = "stream-cut", "", Some(40);
    /// The stream does not end, so the stop is not answered.
    StreamNeverEnds = "stream-never-ends", "F-75", None;
    /// A stop is answered with the next session id.
    StopAnother = "stop-another", "F-31", None;
    /// A stop ends the session, and the connection without a reply.
    StopUnanswered = "stop-unanswered", "F-76", None;
    /// The advertise has a wrong magic.
    AdvertiseMagic = "advertise-magic", "", None;
    /// N bytes of the advertise are sent, then the end.
    AdvertiseCut = "advertise-cut", "", Some(20);
}

/// A misbehaviour with its number.
///
/// ```
/// use diagipc::runtime::{Misbehaviour, MisbehaviourKind};
///
/// let one = Misbehaviour::parse("truncate=25")?;
/// assert_eq!((one.kind(), one.number()), (MisbehaviourKind::Truncate, Some(25)));
/// assert_eq!(Misbehaviour::parse("refuse=0x80131385")?.number(), Some(0x8013_1385));
/// assert!(Misbehaviour::parse("never-accepts=1").is_err());
/// # Ok::<(), diagipc::runtime::MisbehaviourError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Misbehaviour {
    kind: MisbehaviourKind,
    number: Option<u32>,
}

impl Misbehaviour {
    /// Returns a misbehaviour with its default number.
    pub const fn new(kind: MisbehaviourKind) -> Self {
        Self { kind, number: kind.default_number() }
    }

    /// Parses `NAME` or `NAME=N`, with N in decimal, or in hexadecimal after `0x`.
    ///
    /// # Errors
    /// Returns an error if the name is unknown, takes no number, or N is invalid.
    pub fn parse(text: &str) -> Result<Self, MisbehaviourError> {
        let error = |why| MisbehaviourError { text: text.to_owned(), why };
        let (name, number) =
            text.split_once('=').map_or((text, None), |(name, number)| (name, Some(number)));
        let kind = MisbehaviourKind::ALL
            .iter()
            .find(|kind| kind.name() == name)
            .ok_or_else(|| error(Why::Unknown))?;
        let mut one = Self::new(*kind);
        if let Some(number) = number {
            if one.number.is_none() {
                return Err(error(Why::TakesNoNumber));
            }
            let hexadecimal =
                number.strip_prefix("0x").map(|digits| u32::from_str_radix(digits, 16));
            one.number = Some(
                hexadecimal.unwrap_or_else(|| number.parse()).map_err(|_| error(Why::NoNumber))?,
            );
        }
        Ok(one)
    }

    /// Returns the kind.
    pub const fn kind(self) -> MisbehaviourKind {
        self.kind
    }

    /// Returns the number, if it has one.
    pub const fn number(self) -> Option<u32> {
        self.number
    }
}

impl fmt::Display for Misbehaviour {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.kind.name())?;
        match self.number {
            Some(hresult) if self.kind == MisbehaviourKind::Refuse => write!(f, "={hresult:#010x}"),
            Some(number) => write!(f, "={number}"),
            None => Ok(()),
        }
    }
}

/// The error for text that is not a [`Misbehaviour`].
///
/// ```
/// use diagipc::runtime::Misbehaviour;
///
/// assert_eq!(Misbehaviour::parse("truncate=x").unwrap_err().to_string(), "truncate=x: expected a number from 0 to 4294967295");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MisbehaviourError {
    text: String,
    why: Why,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Why {
    Unknown,
    TakesNoNumber,
    NoNumber,
}

impl fmt::Display for MisbehaviourError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let why = match self.why {
            Why::Unknown => "no misbehaviour has this name",
            Why::TakesNoNumber => "it takes no number",
            Why::NoNumber => "expected a number from 0 to 4294967295",
        };
        write!(f, "{}: {why}", self.text)
    }
}

impl std::error::Error for MisbehaviourError {}

/// All misbehaviours of a runtime. If a kind occurs twice, the last one counts.
#[derive(Clone, Debug, Default)]
pub(super) struct Misbehaviours(pub(super) Vec<Misbehaviour>);

impl Misbehaviours {
    pub(super) fn has(&self, kind: MisbehaviourKind) -> bool {
        self.0.iter().any(|one| one.kind == kind)
    }

    pub(super) fn number(&self, kind: MisbehaviourKind) -> Option<u32> {
        self.0.iter().rev().find(|one| one.kind == kind)?.number
    }

    pub(super) fn bytes(&self, kind: MisbehaviourKind) -> Option<usize> {
        self.number(kind).map(|number| usize::try_from(number).unwrap_or(usize::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_has_a_unique_name_that_parses() {
        for (nth, kind) in MisbehaviourKind::ALL.iter().enumerate() {
            let one = Misbehaviour::new(*kind);
            assert_eq!(Misbehaviour::parse(&one.to_string()), Ok(one));
            assert_eq!(Misbehaviour::parse(kind.name()), Ok(one));
            assert!(
                MisbehaviourKind::ALL.iter().skip(nth + 1).all(|other| other.name() != kind.name())
            );
            assert!(kind.text().ends_with('.'), "{}", kind.text());
        }
    }

    #[test]
    fn last_of_a_kind_wins() {
        let all = Misbehaviours(std::vec![
            Misbehaviour::parse("truncate=1").unwrap(),
            Misbehaviour::parse("truncate=2").unwrap()
        ]);
        assert_eq!(
            (all.number(MisbehaviourKind::Truncate), all.has(MisbehaviourKind::Magic)),
            (Some(2), false)
        );
    }

    #[test]
    fn number_is_parsed_or_refused_by_kind() {
        let one = Misbehaviour::parse("refuse=0x80131385").unwrap();
        assert_eq!(
            (one.kind(), one.number(), one.to_string()),
            (MisbehaviourKind::Refuse, Some(0x8013_1385), "refuse=0x80131385".into())
        );
        for (text, why) in [
            ("magic=1", "it takes no number"),
            ("truncate=4294967296", "expected a number from 0 to 4294967295"),
            ("sleeps", "no misbehaviour has this name"),
        ] {
            let refused = Misbehaviour::parse(text).unwrap_err().to_string();
            assert_eq!(refused, format!("{text}: {why}"));
        }
    }

    /// `spec/ERRATA.md` has the text of each fact.
    #[test]
    fn each_cites_a_fact_or_nothing() {
        let is_fact = |text: &str| {
            text.split_once('-')
                .is_some_and(|(kind, n)| ["F", "P"].contains(&kind) && n.parse::<u8>().is_ok())
        };
        assert!(
            MisbehaviourKind::ALL.iter().all(|kind| kind.spec().is_empty() || is_fact(kind.spec()))
        );
        assert_eq!(
            (MisbehaviourKind::StopAnother.spec(), MisbehaviourKind::Magic.spec()),
            ("F-31", "")
        );
    }
}
