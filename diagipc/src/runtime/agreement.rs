//! How far the reference runtime behaves like a recorded build: the requests of the vectors, and
//! their results.

use std::fmt;
use std::time::Duration;

use dotnet_diagnostics_ipc::vectors::player::{Player, PlayerError};
use dotnet_diagnostics_ipc::vectors::{Group, Test, Verdict};

use super::application::Conduct;
use super::{Config, ReferenceRuntime};
use crate::codec;
use crate::known::{Outcome, Profile, Recording, Seen};
use crate::networks::SocketNetwork;
use crate::server::expectation::Expectation;
use crate::server::{Death, ServerCaseKind, cases, judge, request};

/// How long it may take to reply and to close: at first, and again if it differed from the
/// recording.
const PATIENCE: [(Duration, Duration); 2] = [
    (Duration::from_millis(300), Duration::from_millis(30)),
    (Duration::from_secs(5), Duration::from_millis(500)),
];

/// How far the reference runtime behaves like a recorded build.
#[derive(Clone, Debug)]
pub struct Agreement {
    /// The build: `net10.0.9`.
    pub build: String,
    /// For valid requests.
    pub well_formed: Share,
    /// For the others.
    pub malformed: Share,
    /// The differences.
    pub differences: Vec<Difference>,
}

/// How many of how many.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Share {
    /// This many agree with the recording.
    pub same: usize,
    /// Of so many.
    pub all: usize,
}

/// A request with a different result.
#[derive(Clone, Debug)]
pub struct Difference {
    /// The case: `requests/process/8104`.
    pub case: String,
    /// The recorded result.
    pub recorded: String,
    /// The reference runtime's result.
    pub does: String,
}

impl Share {
    /// Tenths of a per cent, rounded down.
    pub fn per_mille(self) -> usize {
        self.same.saturating_mul(1000).checked_div(self.all).unwrap_or(1000)
    }

    fn add(&mut self, is_same: bool) {
        self.all += 1;
        self.same += usize::from(is_same);
    }
}

/// `99.5 % of 201`
impl fmt::Display for Share {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tenths = self.per_mille();
        write!(f, "{}.{} % of {}", tenths.div_euclid(10), tenths.rem_euclid(10), self.all)
    }
}

/// A row of a Markdown table: `| net10.0.9 | 99.5 % of 201 | 96.0 % of 120 |`.
impl fmt::Display for Agreement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { build, well_formed, malformed, .. } = self;
        write!(f, "| {build} | {well_formed} | {malformed} |")
    }
}

/// `requests/process/8104: OK, recorded: 0x80131384`
impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}, recorded: {}", self.case, self.does, self.recorded)
    }
}

impl Agreement {
    /// Sends a reference runtime of the recorded build all requests of the vectors in the
    /// recording. `evidence` is the text of a file of `evidence/`.
    ///
    /// # Errors
    /// Why it could not be run.
    ///
    /// ```
    /// use diagipc::runtime::Agreement;
    ///
    /// let evidence = r#"{"build": "net9.0.5", "system": "Linux x64", "outcomes": {"requests/process/8101": "OK"}}"#;
    /// let agreement = Agreement::with(evidence)?;
    /// assert_eq!(agreement.well_formed.to_string(), "100.0 % of 1");
    /// # Ok::<(), String>(())
    /// ```
    pub fn with(evidence: &str) -> Result<Self, String> {
        let Recording { build, profile, outcomes } = Recording::parse(evidence)?;
        let subject = ReadAs::start(profile)?;
        let vectors = codec::embedded().map_err(|error| error.to_string())?;
        let mut agreement = Self {
            build,
            well_formed: Share::default(),
            malformed: Share::default(),
            differences: Vec::new(),
        };
        for case in cases(&[], &vectors) {
            let ServerCaseKind::Request { group, test } = case.kind else { continue };
            let name = case.name();
            let Some(Outcome::Answered(recorded)) = outcomes.get(&name) else { continue };
            let does = subject
                .answer(profile, group, test, recorded)
                .map_err(|trouble| format!("{name}: {trouble}"))?;
            let is_same = does.is_some_and(|does| is_same(&does, recorded));
            let is_right = Expectation::of_vector(group, test).verdict == Verdict::Valid;
            if is_right { &mut agreement.well_formed } else { &mut agreement.malformed }
                .add(is_same);
            if !is_same {
                let does = does.map_or_else(String::new, |does| does.to_string());
                agreement.differences.push(Difference {
                    case: name,
                    recorded: recorded.to_string(),
                    does,
                });
            }
        }
        Ok(agreement)
    }
}

/// The last bytes of a dying process are random.
fn is_same(one: &Seen, other: &Seen) -> bool {
    if one.died && other.died { true } else { one == other }
}

/// The reference runtime under test.
struct ReadAs {
    runtime: ReferenceRuntime,
    _directory: tempfile::TempDir,
}

impl ReadAs {
    fn start(profile: Profile) -> Result<Self, String> {
        let directory = tempfile::tempdir().map_err(|error| error.to_string())?;
        let config = Config { profile, ..Config::new(directory.path().join("socket")) };
        let runtime = ReferenceRuntime::start_as(config, Conduct::observed())
            .map_err(|error| error.to_string())?;
        Ok(Self { runtime, _directory: directory })
    }

    /// The result of a request. If it differs from the recording, it is repeated with more time:
    /// the machine may be slow.
    fn answer(
        &self,
        profile: Profile,
        group: &Group,
        test: &Test,
        recorded: &Seen,
    ) -> Result<Option<Seen>, PlayerError> {
        let mut does = None;
        for (reply, close) in PATIENCE {
            let mut network = SocketNetwork::to_socket(self.runtime.socket());
            let mut player = Player::new(&mut network, reply);
            let answered = request::play(&mut player, group, test, reply, close)?;
            player.close_all()?;
            let death = self.runtime.has_died().then_some(Death::Unknown);
            does =
                judge::judge(profile, &Expectation::of_vector(group, test), &answered, death).seen;
            if does.is_some_and(|does| is_same(&does, recorded)) {
                break;
            }
        }
        Ok(does)
    }
}
