//! `diagipc explain`.

use std::io::{self, Write};

use anyhow::bail;
use diagipc::codec::{self, CodecCase};
use diagipc::embedded::{self, SCENARIOS};
use diagipc::faults::{Fault, SuiteName};
use diagipc::known::harm_of;
use diagipc::report::{Glossary, Requirement, cited};
use diagipc::{Citations, client, print};
use dotnet_diagnostics_ipc::command::Command;
use dotnet_diagnostics_ipc::header::Header;
use dotnet_diagnostics_ipc_vectors::explain::Splitter;
use dotnet_diagnostics_ipc_vectors::script::{Captures, Deviation, Part, Plays, Script, Step};
use dotnet_diagnostics_ipc_vectors::{Direction, ExpectedResult, Group, Hazard, Test};
use serde::Serialize;
use serde_json::Value;

use crate::commands::printable::{plain, shortened};
use crate::commands::{Outcome, explained_names};

/// How many names are suggested.
const MAX_SUGGESTIONS: usize = 10;

/// Explains a case, vector, script, fact, fault, flag, word or error code in a report.
///
/// Says what each means, why it matters, and what to change. Knows cases of all suites
/// (`requests/process/8110`, `scripts/framing/whole-request`, `grammar/grammar-string/1200/decode`,
/// `reply/ok-20/resume`), numbers of vectors and scripts, facts (F-19, P-2), requirements
/// (R-EVP-010), faults (`string-length-in-bytes`), flags of vectors (`SurrogatePair`), words
/// (`advertise`), error codes by number or name (`0x80131385`, `DS_IPC_E_FAIL`), and profiles and
/// levels (`gc-verbose`, `coreclr-10`, `Verbose`).
#[derive(clap::Args)]
#[command(
    after_long_help = exit_statuses!(
        "0  every name is known",
        "2  a name is unknown, or usage error",
    )
)]
pub(crate) struct Arguments {
    /// Names as printed in a report
    #[arg(required = true, value_name = "NAME", allow_negative_numbers = true)]
    names: Vec<String>,
}

pub(crate) fn run(arguments: &Arguments, out: &mut dyn Write) -> anyhow::Result<Outcome> {
    let known = Known { citations: Citations::embedded(), glossary: Glossary::embedded() };
    for (nth, name) in arguments.names.iter().map(|name| name.trim()).enumerate() {
        if nth > 0 {
            writeln!(out)?;
        }
        if known.explain(name, out)? {
            continue;
        }
        let alike = known.alike(name)?;
        if alike.is_empty() {
            bail!(
                "unknown name {name}: expected a case, a number, a fact such as F-19, a requirement such as R-EVP-010, a fault (diagipc list faults), or a word of a report"
            );
        }
        bail!("unknown name {name}; names that contain it: {}", alike.join(", "));
    }
    Ok(Outcome::Well)
}

struct Known {
    citations: Citations,
    glossary: Glossary,
}

impl Known {
    fn scripts() -> anyhow::Result<impl Iterator<Item = (&'static str, &'static Script)>> {
        let files = embedded::scripts()?.iter();
        Ok(files.flat_map(|(file, scripts)| scripts.scripts.iter().map(move |one| (*file, one))))
    }

    fn groups() -> anyhow::Result<impl Iterator<Item = &'static Group>> {
        Ok(embedded::vectors()?.iter().flat_map(|file| &file.file.groups))
    }

    /// Writes the explanation of `name`; false if the name is unknown.
    fn explain(&self, name: &str, out: &mut dyn Write) -> anyhow::Result<bool> {
        // A report of `check` has the suite before the names of its cases. A suite and a file of
        // vectors may have the same name.
        let suites = ["server/", "client/", "codec/", "vectors/"];
        let case = suites.iter().find_map(|suite| name.strip_prefix(suite));
        Ok(self.citation(name, out)?
            || self.fault(name, out)?
            || self.case(name, out)?
            || case.map_or(Ok(false), |case| self.case(case, out))?
            || self.meaning(name, out)?
            || self.code_or_option(name, out)?)
    }

    fn case(&self, name: &str, out: &mut dyn Write) -> anyhow::Result<bool> {
        Ok(self.script(name, out)? || self.vector(name, out)? || self.scenario(name, out)?)
    }

    fn citation(&self, name: &str, out: &mut dyn Write) -> anyhow::Result<bool> {
        let id = name.to_ascii_uppercase();
        let Some(line) = self.citations.line(&id) else { return Ok(false) };
        writeln!(out, "{id}  {line}")?;
        if let Some(requirement) = Requirement::embedded().iter().find(|one| one.id == id) {
            writeln!(out, "  level     {}", requirement.level.name())?;
            let (section, editions) = (&requirement.section, requirement.edition.join(", "));
            writeln!(out, "  section   {section} (editions {editions})")?;
            for fact in &requirement.fact {
                writeln!(out, "  {fact:<8}  {}", self.citations.line(fact).unwrap_or_default())?;
            }
            writeln!(out, "  shown by  {}", requirement.shown_by.join(", "))?;
        }
        let groups = Self::groups()?.filter(|group| group.spec.contains(&id));
        listed("vectors", groups.map(|group| group.name.as_str()), out)?;
        let scripts = Self::scripts()?.filter(|(_, script)| script.spec.contains(&id));
        listed("scripts", scripts.map(|(_, script)| script.name.as_str()), out)?;
        let requirements = Requirement::embedded().iter().filter(|one| one.fact.contains(&id));
        listed("required", requirements.map(|one| one.id.as_str()), out)?;
        Ok(true)
    }

    fn fault(&self, name: &str, out: &mut dyn Write) -> anyhow::Result<bool> {
        let Some(fault) = SuiteName::ALL.iter().find_map(|suite| Fault::named(*suite, name)) else {
            return Ok(false);
        };
        let suites: Vec<&str> = fault.suites().iter().map(|suite| suite.name()).collect();
        writeln!(out, "{name}, found by {}: {}", suites.join(", "), fault.sentence())?;
        writeln!(out, "  how to fix it: {}", fault.fix())?;
        self.cited(fault.spec().iter().copied(), out)?;
        Ok(true)
    }

    fn script(&self, name: &str, out: &mut dyn Write) -> anyhow::Result<bool> {
        let is_it = |(file, script): &(&str, &Script)| {
            script.name == name
                || script.sc_id.to_string() == name
                || format!("scripts/{file}/{}", script.name) == name
        };
        let Some((_, script)) = Self::scripts()?.find(is_it) else { return Ok(false) };
        show(script, out)?;
        self.cited(script.spec.iter().map(String::as_str), out)?;
        Ok(true)
    }

    fn vector(&self, name: &str, out: &mut dyn Write) -> anyhow::Result<bool> {
        let all = embedded::vectors()?.iter().flat_map(|file| {
            let of = |group: &'static Group| group.tests.iter().map(move |test| (group, test));
            file.file.groups.iter().flat_map(of).map(|(group, test)| (&file.name, group, test))
        });
        let is_it = |(file, group, test): &(&String, &Group, &Test)| {
            let id = test.tc_id.to_string();
            let of_codec = || format!("{file}/{}/{id}", group.name);
            name == id
                || name == format!("requests/{file}/{id}")
                || name.rsplit_once('/').is_some_and(|(front, _)| front == of_codec())
        };
        let Some((_, group, test)) = all.into_iter().find(is_it) else { return Ok(false) };
        describe(group, test, out)?;
        for flag in &test.flags {
            writeln!(out, "  {flag}  {}", self.glossary.meaning(flag).unwrap_or_default())?;
        }
        self.cited(cited(group, test).iter().map(String::as_str), out)?;
        Ok(true)
    }

    fn scenario(&self, name: &str, out: &mut dyn Write) -> anyhow::Result<bool> {
        let Some(scenario) = client::scenarios()?.iter().find(|scenario| scenario.name == name)
        else {
            return Ok(false);
        };
        writeln!(out, "{}: {}", scenario.name, scenario.title)?;
        writeln!(out, "  {:<16}  {}", "operation", scenario.operation)?;
        for (argument, value) in &scenario.arguments {
            writeln!(out, "  {:<16}  {}", argument.to_string(), plain(value))?;
        }
        self.cited(scenario.spec.iter().map(String::as_str), out)?;
        let mut asked = scenario.operation.commands().first().copied();
        for (number, step) in steps_of(name)?.into_iter().enumerate() {
            writeln!(out, "{number:>4}  {}", shortened(&step.to_string()))?;
            if let Some(command) = step.get("request").and_then(Value::as_str) {
                asked = command.parse().ok();
            }
            if let Ok(step) = serde_json::from_value(step) {
                explain_step(&step, false, &mut asked, out)?;
            }
        }
        Ok(true)
    }

    fn meaning(&self, name: &str, out: &mut dyn Write) -> anyhow::Result<bool> {
        let Some(meaning) = self.glossary.meaning(name) else { return Ok(false) };
        writeln!(out, "{name}: {meaning}")?;
        let has_it = |group: &&Group| {
            group.tests.iter().any(|test| test.flags.iter().any(|flag| flag == name))
        };
        listed("vectors", Self::groups()?.filter(has_it).map(|group| group.name.as_str()), out)?;
        Ok(true)
    }

    fn code_or_option(&self, name: &str, out: &mut dyn Write) -> anyhow::Result<bool> {
        let Some((text, facts)) = explained_names::meaning(name) else { return Ok(false) };
        writeln!(out, "{text}")?;
        self.cited(facts.iter().copied(), out)?;
        Ok(true)
    }

    fn cited<'i>(
        &self,
        ids: impl Iterator<Item = &'i str>,
        out: &mut dyn Write,
    ) -> anyhow::Result<()> {
        for id in ids {
            writeln!(out, "  {id:<9}  {}", self.citations.line(id).unwrap_or("unknown"))?;
        }
        Ok(())
    }

    fn alike(&self, part: &str) -> anyhow::Result<Vec<String>> {
        let part = part.to_lowercase();
        let words =
            self.glossary.flags().iter().chain(self.glossary.words()).map(|(name, _)| name.clone());
        let scripts =
            Self::scripts()?.map(|(file, script)| format!("scripts/{file}/{}", script.name));
        let codec = codec::cases(embedded::vectors()?);
        let questions = codec.iter().map(CodecCase::name);
        let scenarios = client::scenarios()?.iter().map(|scenario| scenario.name.clone());
        let faults = Fault::ALL.iter().map(|fault| fault.name().to_owned());
        let all = words.chain(faults).chain(scenarios).chain(scripts).chain(questions);
        Ok(all.filter(|name| name.to_lowercase().contains(&part)).take(MAX_SUGGESTIONS).collect())
    }
}

/// Writes a line of names, unless there is none.
fn listed<'n>(
    what: &str,
    names: impl Iterator<Item = &'n str>,
    out: &mut dyn Write,
) -> io::Result<()> {
    let names = names.collect::<Vec<_>>().join(", ");
    if names.is_empty() { Ok(()) } else { writeln!(out, "  {what:<8}  {names}") }
}

/// Returns the steps of a scenario, as they are in its file.
fn steps_of(name: &str) -> anyhow::Result<Vec<Value>> {
    for (_, text) in SCENARIOS {
        let mut file: Value = serde_json::from_str(&text.unpacked())?;
        let scenarios = file.get_mut("scenarios").and_then(Value::as_array_mut);
        let is_it = |one: &&mut Value| one.get("name").and_then(Value::as_str) == Some(name);
        let scenario = scenarios.and_then(|all| all.iter_mut().find(is_it));
        if let Some(Value::Array(steps)) = scenario.and_then(|one| one.get_mut("steps")) {
            return Ok(std::mem::take(steps));
        }
    }
    Ok(Vec::new())
}

fn describe(group: &Group, test: &Test, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "tcId {}: {}", test.tc_id, test.comment)?;
    write!(out, "  group   {} ({}", group.name, group.kind)?;
    group.command.as_ref().map_or(Ok(()), |command| write!(out, ", {command}"))?;
    writeln!(out, ")")?;
    let source = &group.source;
    let words = [
        Some(name(&source.kind)?),
        source.edition.clone(),
        source.section.clone(),
        source.fact.clone(),
        source.runtime.clone(),
    ];
    let words = words.into_iter().flatten().collect::<Vec<_>>().join(", ");
    writeln!(out, "  source  {words}: {}", group.made)?;
    if !group.spec.is_empty() {
        writeln!(out, "  facts   {}", group.spec.join(", "))?;
    }
    let canonical = if test.canonical { "canonical" } else { "not canonical" };
    let verdict = name(&test.result)?;
    match &test.error {
        Some(error) => writeln!(out, "  result  {verdict}: {error}")?,
        None => writeln!(out, "  result  {verdict}, {canonical}")?,
    }
    if !test.acceptable_on.is_empty() {
        writeln!(out, "  accepted by {}", test.acceptable_on.join(", "))?;
    }
    if let Some(refusals) = &test.refusals {
        let refusals: Vec<_> = refusals.iter().map(ToString::to_string).collect();
        writeln!(out, "  may be refused by {}", refusals.join(", "))?;
    }
    hazard(test.hazard, &test.tc_id.to_string(), out)?;
    if test.result != ExpectedResult::Invalid || !test.value.is_null() {
        writeln!(out, "  value   {}", shortened(&test.value.to_string()))?;
    }
    if let (Some(wire), Some(subject)) = (&test.wire, group.subject()) {
        print::explained_fields(out, subject, wire)?;
    }
    Ok(())
}

/// Returns the name of a value that is a string in JSON.
pub(crate) fn name(word: &impl Serialize) -> serde_json::Result<String> {
    Ok(serde_json::to_value(word)?.as_str().unwrap_or_default().to_owned())
}

fn hazard(hazard: Option<Hazard>, case: &str, out: &mut dyn Write) -> io::Result<()> {
    match hazard {
        None => Ok(()),
        Some(Hazard::Harmful) => writeln!(out, "  hazard  {}", harm_of(case)),
        Some(hazard) => writeln!(out, "  hazard  {}", name(&hazard)?),
    }
}

pub(crate) fn played(script: &Script) -> &'static str {
    match script.plays {
        Plays::Client(_) => "client",
        Plays::Runtime(_) => "runtime",
    }
}

fn show(script: &Script, out: &mut dyn Write) -> anyhow::Result<()> {
    writeln!(out, "scId {}: {}", script.sc_id, script.comment)?;
    writeln!(out, "  name    {}", script.name)?;
    writeln!(out, "  plays   {}", played(script))?;
    writeln!(out, "  spec    {}", script.spec.join(", "))?;
    if let Some(since) = &script.since {
        writeln!(out, "  since   {since}")?;
    }
    hazard(script.hazard, &script.name, out)?;
    match &script.plays {
        Plays::Client(part) => {
            writeln!(out, "  target  {}", serde_json::to_string(&part.target)?)?;
            let seen_on = part.seen_on.join(", ");
            writeln!(
                out,
                "  seen on {}",
                if seen_on.is_empty() { "no runtime" } else { &seen_on }
            )?;
            for Deviation { on, from, text, fact, .. } in &part.deviations {
                writeln!(out, "  on {}, from step {from}: {text} ({fact})", on.join(", "))?;
            }
        }
        Plays::Runtime(part) => {
            writeln!(out, "  ask     {}", shortened(&serde_json::to_string(&part.ask)?))?;
            writeln!(out, "  outcome {}", shortened(&serde_json::to_string(&part.outcome)?))?;
        }
    }
    let mut asked = None;
    for (number, step) in script.steps.iter().enumerate() {
        writeln!(out, "{number:>4}  {}", shortened(&serde_json::to_string(step)?))?;
        explain_step(step, matches!(script.plays, Plays::Client(_)), &mut asked, out)?;
    }
    Ok(())
}

/// Explains the messages of a step, if all its bytes are known and begin with one. `asked` is the
/// last request.
fn explain_step(
    step: &Step,
    plays_client: bool,
    asked: &mut Option<Command>,
    out: &mut dyn Write,
) -> anyhow::Result<()> {
    let (bytes, from_client) = match step {
        Step::Send(send) => {
            let bytes: Result<Vec<_>, _> =
                send.send.iter().map(|part| part.bytes(&Captures::default())).collect();
            (bytes.ok().map(|bytes| bytes.concat()), plays_client)
        }
        Step::Expect(expect) => {
            let known = expect.expect.0.iter().map(|part| match part {
                Part::Literal(literal) => literal.bytes(&Captures::default()).ok(),
                _ => None,
            });
            (known.collect::<Option<Vec<_>>>().map(|bytes| bytes.concat()), !plays_client)
        }
        _ => return Ok(()),
    };
    let Some(bytes) = bytes.filter(|bytes| bytes.len() >= 20) else { return Ok(()) };
    let side = if from_client { Direction::Client } else { Direction::Server };
    if from_client {
        *asked = Header::decode(&bytes).ok().map(|header| header.command);
    }
    for item in Splitter::new(&bytes, Some(side), if from_client { None } else { *asked }) {
        if item.subject.is_some() {
            print::explained(out, &item, &bytes)?;
        }
    }
    Ok(())
}
