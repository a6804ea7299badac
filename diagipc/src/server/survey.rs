//! Learns about a target before its cases are played: its speed, its abilities and its profile.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use dotnet_diagnostics_ipc::command::Command;
use dotnet_diagnostics_ipc::hresult::HResult;
use dotnet_diagnostics_ipc::message::dump::{DumpType, GenerateCoreDump};
use dotnet_diagnostics_ipc::message::encode_to_vec;
use dotnet_diagnostics_ipc::message::process::{ApplyStartupHook, ProcessInfo2, ProcessInfo3};
use dotnet_diagnostics_ipc::wire::IpcString;
use dotnet_diagnostics_ipc_vectors::Hazard;
use dotnet_diagnostics_ipc_vectors::player::PlayerError;
use dotnet_diagnostics_ipc_vectors::script::{self, Ability};

use super::abilities::{Abilities, Has};
use super::case::starts_a_session;
use super::probe::{self, Waits, WithPort};
use super::recognise::{Conclusion, Recognition, conclude};
use super::request::reply_to;
use super::spawn::RunsIn;
use super::target::{SeenInRun, Target};
use super::timeouts::{Pace, WITHIN};
use super::{Options, ServerCase};
use crate::conversation::{Exchange, FaultSeen};
use crate::embedded::{self, NamedFile};
use crate::known::{Family, Profile};

/// An id of the profiler set that no edition defines.
const UNKNOWN_PROFILER_ID: Command = Command::from_code(0x03fe);
/// An id in a set that no edition defines.
const UNKNOWN_ID: Command = Command::from_code(0x6301);
/// The number of `ProcessInfo` requests with which the speed of a target is measured.
const SPEED_SAMPLES: usize = 3;
/// The length of the first piece of a request, one byte short of a header.
const FIRST_PIECE_BYTES: usize = 19;

pub(crate) struct Survey {
    pub(crate) profile: Profile,
    /// How the profile was concluded; `None` if it was given.
    pub(super) conclusion: Option<Conclusion>,
    pub(super) abilities: Abilities,
    /// Whether the target answers `ProcessInfo`.
    pub(super) reacts: bool,
    /// When the survey ended, if the target has answered nothing.
    pub(super) without_answer_since: Option<Instant>,
    pub(super) pace: Pace,
    pub(super) seen: SeenInRun,
    /// What a server should not do, although no rule forbids it.
    pub(super) weaknesses: Vec<FaultSeen>,
}

impl Survey {
    /// Returns the name of a target that reports this version. Without .NET, that may be anything.
    pub(crate) fn runtime(&self, version: &str) -> String {
        let is_stranger = self.conclusion.is_some() && self.profile == Profile::STRICT;
        format!("{} {version}", if is_stranger { "version" } else { ".NET" })
    }
}

/// Learns what `cases` need to know, as far as `options` allow.
pub(crate) fn survey(
    subject: &mut Target,
    is_held: bool,
    cases: &[&ServerCase<'_>],
    options: &Options,
) -> Result<Survey, String> {
    let given = options.profile.or(options.claims.profile);
    let (mut abilities, mut pace) = (Abilities::default(), Pace::default());
    // The cases show what is wrong with other replies.
    let answers = (0..SPEED_SAMPLES).all(|_| {
        let began = Instant::now();
        let is_answered = subject.answers().is_ok();
        if is_answered {
            pace.answered(began.elapsed());
        }
        is_answered
    });
    let vectors = embedded::vectors().map_err(|error| error.to_string())?;
    let whole = options.within.unwrap_or(WITHIN);
    let learned = pace.learned().min(whole);
    // The full time for an answer is waited only once.
    let waits = Waits { whole: if answers { whole } else { learned }, learned };
    let mut surveyor =
        Surveyor { subject, is_held, options, vectors, waits, abilities: &mut abilities };
    let wanted: BTreeSet<Command> = cases.iter().flat_map(|case| case.wanted_commands()).collect();
    surveyor.ask_commands(|command| wanted.contains(&command))?;
    let has_answered = |has: &Has| matches!(has, Has::Yes | Has::No(_));
    let any_answers = answers || surveyor.abilities.commands.values().any(has_answered);
    if !any_answers {
        // The first cases show this, and nothing else can be learned.
        surveyor.abilities.commands.clear();
    }
    let conclusion = match given {
        Some(_) => None,
        None if answers => Some(surveyor.conclude()?),
        None => Some(conclude(&Recognition::default(), surveyor.abilities)),
    };
    let profile = given.or(conclusion.as_ref().map(|one| one.profile)).unwrap_or(Profile::STRICT);
    let mut weaknesses = Vec::new();
    if options.finds_weaknesses {
        weaknesses.extend(surveyor.subject.exposures());
    }
    if profile.family() == Family::Strict && any_answers {
        let wanted: BTreeSet<Ability> = cases.iter().flat_map(|case| case.wants()).collect();
        weaknesses.extend(surveyor.find_abilities(&wanted, answers)?);
    }
    for (command, _) in abilities.commands.iter().filter(|(_, has)| **has == Has::Silent) {
        pace.was_silent(Some(*command));
    }
    let seen = SeenInRun::default();
    let without_answer_since = (!any_answers).then(Instant::now);
    Ok(Survey {
        profile,
        conclusion,
        abilities,
        reacts: answers,
        without_answer_since,
        pace,
        seen,
        weaknesses,
    })
}

struct Surveyor<'m> {
    subject: &'m mut Target,
    is_held: bool,
    options: &'m Options,
    vectors: &'m [NamedFile],
    waits: Waits,
    abilities: &'m mut Abilities,
}

impl Surveyor<'_> {
    /// Tries the commands for which `meant` holds and that were not tried yet. Commands with side
    /// effects are tried on a target started for that.
    fn ask_commands(&mut self, meant: impl Fn(Command) -> bool) -> Result<(), String> {
        let mut changing = Vec::new();
        for command in Command::known().filter(|command| meant(*command)) {
            let is_answered = self.abilities.commands.contains_key(&command)
                || self.options.claims.claims(command) == Some(false);
            let Some(test) = probe::message_for(self.vectors, command).filter(|_| !is_answered)
            else {
                continue;
            };
            match test.hazard {
                None => {
                    let has = probe::asked(&mut self.subject.shared()?, test, self.waits);
                    self.insert(command, has);
                }
                Some(Hazard::SideEffect)
                    if self.options.allow_side_effects && self.subject.can_spawn() =>
                {
                    changing.push((command, test));
                }
                Some(_) => {}
            }
        }
        if changing.is_empty() {
            return Ok(());
        }
        // If the target does not start, its cases show that.
        let Ok((spawned, mut network)) =
            self.subject.own(&script::Target::default(), RunsIn::OwnDirectory)
        else {
            return Ok(());
        };
        for (command, test) in changing {
            if spawned.death().is_some() {
                break;
            }
            let has = probe::asked(&mut network, test, self.waits);
            self.insert(command, has);
        }
        Ok(())
    }

    /// Stores the result. The full time for an answer is waited only once.
    fn insert(&mut self, command: Command, has: Has) {
        if has == Has::Silent {
            self.waits.whole = self.waits.learned;
        }
        self.abilities.commands.insert(command, has);
    }

    fn conclude(&mut self) -> Result<Conclusion, String> {
        let vectors = self.vectors;
        let hazard = |command| probe::message_for(vectors, command).map(|test| test.hazard);
        // A session that is stopped while the target waits at its start would harm it (F-160).
        let is_held = self.is_held;
        let is_safe = |command: Command| {
            hazard(command) == Some(None) && !(is_held && starts_a_session(command))
        };
        self.ask_commands(is_safe)?;
        self.find_habits()?;
        let ask = encode_to_vec(Command::PROCESS_INFO2, &ProcessInfo2 {}).unwrap_or_default();
        let whole = self.waits.whole;
        let other = encode_to_vec(Command::PROCESS_INFO3, &ProcessInfo3 {}).unwrap_or_default();
        let mut recognition = Recognition {
            process_info2: self.reply_to(&ask, whole)?,
            process_info3: self.reply_to(&other, whole)?,
            ..Recognition::default()
        };
        let is_unknown =
            recognition.process_info2.as_ref().is_some_and(|came| came.reply.error().is_some());
        if is_unknown {
            let (first, others) = ask.split_at_checked(FIRST_PIECE_BYTES).unwrap_or((&ask, &[]));
            let (mut network, waits) = (self.subject.shared()?, self.waits);
            recognition.header_in_pieces =
                probe::reply_to_pieces(&mut network, first, others, waits).ok();
            return Ok(conclude(&recognition, self.abilities));
        }
        let profile = conclude(&recognition, self.abilities).profile;
        if profile.family() == Family::Strict {
            return Ok(conclude(&recognition, self.abilities));
        }
        if self.subject.can_spawn() || self.options.allow_harmful {
            let unknown = encode_to_vec(UNKNOWN_PROFILER_ID, &ProcessInfo2 {}).unwrap_or_default();
            recognition.unknown_profiler_id = self.reply_to(&unknown, whole)?;
            if self.options.allow_side_effects {
                recognition.dump_type_0 = self.dump_of_type_0();
            }
        } else if self.options.allow_side_effects && profile.knows(Command::APPLY_STARTUP_HOOK) {
            let hook = ApplyStartupHook { startup_hook_path: IpcString::ABSENT };
            let hook = encode_to_vec(Command::APPLY_STARTUP_HOOK, &hook).unwrap_or_default();
            recognition.absent_hook = self.reply_to(&hook, whole)?;
        }
        Ok(conclude(&recognition, self.abilities))
    }

    /// Returns the answer to a dump of an invalid type from a target started for that.
    fn dump_of_type_0(&self) -> Option<Exchange> {
        let (_spawned, mut network) =
            self.subject.own(&script::Target::default(), RunsIn::OwnDirectory).ok()?;
        let request = GenerateCoreDump {
            dump_name: "core.dmp".into(),
            dump_type: DumpType(0),
            diagnostics: 0,
        };
        let request = encode_to_vec(Command::GENERATE_CORE_DUMP, &request).ok()?;
        reply_to(&mut network, &request, self.waits.whole).ok()
    }

    /// Finds out whether the target has the habits of all .NET runtimes: one client at a time, and
    /// one request per connection.
    fn find_habits(&mut self) -> Result<(), String> {
        if self.abilities.features.contains_key(&Ability::OneClientAtATime) {
            return Ok(());
        }
        self.abilities.keeps_open =
            probe::keeps_open(&mut self.subject.shared()?, self.waits).unwrap_or(false);
        let is_declared = self.options.claims.has(Ability::OneClientAtATime).is_some();
        if !is_declared && self.subject.takes_two_at_once() {
            let has = probe::one_client_at_a_time(&mut self.subject.shared()?, self.waits);
            self.note(Ability::OneClientAtATime, has);
        }
        Ok(())
    }

    /// Finds out abilities that are `wanted`, left open and not declared. Returns a weakness.
    fn find_abilities(
        &mut self,
        wanted: &BTreeSet<Ability>,
        answers: bool,
    ) -> Result<Option<FaultSeen>, String> {
        let (waits, can_spawn, claims) =
            (self.waits, self.subject.can_spawn(), &self.options.claims);
        let is_wanted =
            |ability: &Ability| wanted.contains(ability) && claims.has(*ability).is_none();
        let with_port =
            (is_wanted(&Ability::Ports) && can_spawn).then(|| WithPort::start(self.subject, waits));
        self.find_habits()?;
        if is_wanted(&Ability::Suspension) && can_spawn && self.options.allow_side_effects {
            self.note(Ability::Suspension, probe::suspension(self.subject, waits));
        }
        if is_wanted(&Ability::UserEvents) && self.options.allow_harmful {
            if let Some(wire) = probe::user_events_request(self.vectors) {
                let has = probe::user_events(&mut self.subject.shared()?, wire, waits);
                self.note(Ability::UserEvents, has);
            }
        }
        if is_wanted(&Ability::Netperf) {
            let has = probe::netperf(&mut self.subject.shared()?, waits);
            self.note(Ability::Netperf, has);
        }
        let mut weakness = None;
        if answers {
            let found = self.abilities.features.get(&Ability::OneClientAtATime) == Some(&Has::Yes);
            let has_turns = claims.has(Ability::OneClientAtATime).unwrap_or(found);
            if self.options.finds_weaknesses
                && wanted.contains(&Ability::OneClientAtATime)
                && has_turns
            {
                weakness =
                    probe::silent_peer(&mut self.subject.shared()?, waits).unwrap_or_default();
            }
            // A server may refuse existing commands with the error for an unknown one.
            let unknown = encode_to_vec(UNKNOWN_ID, &ProcessInfo2 {}).unwrap_or_default();
            let error = self.reply_to(&unknown, waits.learned)?.and_then(|one| one.reply.error());
            self.abilities.wrong_unknown = error.filter(|code| *code != HResult::UNKNOWN_COMMAND);
        }
        if let Some(with_port) = with_port {
            // If the target does not start, its cases show that.
            let mut has = with_port.map_or(Has::Yes, WithPort::connects);
            if matches!(has, Has::TimedOut(_)) {
                has = WithPort::start(self.subject, waits).map_or(has, WithPort::connects);
            }
            self.note(Ability::Ports, Ok(has));
        }
        Ok(weakness)
    }

    /// Returns the shared target's answer to a request, if it was sent.
    fn reply_to(&mut self, wire: &[u8], within: Duration) -> Result<Option<Exchange>, String> {
        Ok(reply_to(&mut self.subject.shared()?, wire, within).ok())
    }

    fn note(&mut self, ability: Ability, has: Result<Has, PlayerError>) {
        self.abilities.features.insert(ability, has.unwrap_or(Has::Unclear));
    }
}
