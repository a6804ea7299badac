//! Judges the client's output: a stream, counters, an environment, or facts about a process.

use dotnet_diagnostics_ipc_vectors::script::{Captures, Literal};

use super::OutputKind;
use super::expected_fields::{excerpt, is_guid_swapped};
use super::facts::Findings;
use super::scenario::{Entry, ExpectedOutput};
use crate::faults::Fault;

impl ExpectedOutput {
    /// Returns the fault of a client that prints none of the output.
    pub(super) fn lost(&self, kind: OutputKind) -> Fault {
        match self {
            Self::Stream { .. } if kind == OutputKind::Counters => Fault::CountersLost,
            Self::Stream { .. } => Fault::StreamNotAsSent,
            Self::Environment { .. } => Fault::EnvironmentLost,
            Self::Texts { reveals, .. } => *reveals,
        }
    }

    /// Judges `bytes`, the client's output.
    pub(super) fn judge(&self, kind: OutputKind, bytes: &[u8]) -> Findings {
        match self {
            Self::Stream { may_be_cut: true, .. } if kind == OutputKind::Counters => {
                Findings::default()
            }
            Self::Stream { counters, .. } if kind == OutputKind::Counters => {
                findings_in_texts(counters, bytes, self.lost(kind))
            }
            Self::Stream { stream, not_before, may_be_cut, .. } => {
                let [stream, surplus] = [stream, not_before].map(|parts| known(parts));
                if *may_be_cut && stream.starts_with(bytes) {
                    return Findings::default();
                }
                findings_in_stream(&stream, bytes, &surplus)
            }
            Self::Environment { environment } => findings_in_environment(environment, bytes),
            Self::Texts { texts, reveals } => findings_in_texts(texts, bytes, *reveals),
        }
    }
}

/// Returns the bytes of literals without captures.
fn known(parts: &[Literal]) -> Vec<u8> {
    parts.iter().filter_map(|part| part.bytes(&Captures::new()).ok()).flatten().collect()
}

fn findings_in_stream(stream: &[u8], bytes: &[u8], surplus: &[u8]) -> Findings {
    if bytes == stream {
        return Findings::default();
    }
    let wrong = stream.iter().zip(bytes).take_while(|(one, other)| one == other).count();
    let found = format!(
        "the output has {} bytes, expected {}; from byte {wrong} on: {}",
        bytes.len(),
        stream.len(),
        excerpt(bytes.get(wrong..).unwrap_or_default())
    );
    let ignored = !surplus.is_empty() && bytes == [surplus, stream].concat();
    let mut findings = Findings::default();
    findings.must(if ignored { Fault::ReplySizeIgnored } else { Fault::StreamNotAsSent }, found);
    findings
}

fn findings_in_environment(entries: &[Entry], bytes: &[u8]) -> Findings {
    let text = String::from_utf8_lossy(bytes);
    // Entries may be in any order, because a client may use a map. For an empty environment a
    // client prints an empty line.
    let mut surplus: Vec<&str> = text.lines().filter(|line| !line.is_empty()).collect();
    let (there, lost): (Vec<&Entry>, Vec<&Entry>) = entries.iter().partition(|entry| {
        let is_it = |line: &&str| match entry {
            Entry::Text(text) => line == text,
            Entry::Begins { begins } => line.starts_with(begins.as_str()),
        };
        let found = surplus.iter().position(is_it);
        found.map(|at| surplus.remove(at)).is_some()
    });
    let shown = |line: &str| format!("{:?}", line.chars().take(80).collect::<String>());
    let start = |entry: &Entry| match entry {
        Entry::Text(text) | Entry::Begins { begins: text } => text.clone(),
    };
    let name = |entry: &Entry| start(entry).split_once('=').map(|(name, _)| name.to_owned());
    // A client that uses a map shows only one of several equal names.
    let is_one_of_several =
        |one: &Entry| name(one).is_some() && there.iter().any(|other| name(other) == name(one));
    let has_equals =
        |entry: &&Entry| matches!(entry, Entry::Begins { .. }) || start(entry).contains('=');
    let by_equals = !lost.is_empty() && !lost.iter().any(has_equals);
    let changed = || lost.iter().find_map(|entry| fault_in_text(&start(entry), &text));
    let fault = if by_equals {
        Fault::EnvironmentEntryWithoutEquals
    } else {
        changed().unwrap_or(Fault::EnvironmentLost)
    };
    let mut findings = Findings::default();
    for entry in lost {
        let found = format!("the entry {} is missing from the output", shown(&start(entry)));
        if is_one_of_several(entry) {
            findings.note(found);
        } else {
            findings.must(fault, found);
        }
    }
    for line in surplus {
        findings.must(fault, format!("the output has {}, which is not an entry", shown(line)));
    }
    findings
}

fn findings_in_texts(texts: &[String], bytes: &[u8], fault: Fault) -> Findings {
    let output = String::from_utf8_lossy(bytes).to_lowercase();
    let mut findings = Findings::default();
    for one in texts {
        let text = one.to_lowercase();
        if !output.contains(&text) && !output.contains(&in_ascii_json(&text)) {
            let fault = fault_in_text(&text, &output).unwrap_or(fault);
            let start: String = one.chars().take(80).collect();
            findings.must(fault, format!("{start:?} is missing from the output"));
        }
    }
    findings
}

/// Returns the text as ASCII-only JSON writes it.
fn in_ascii_json(text: &str) -> String {
    let written = |unit: u16| match u8::try_from(unit) {
        Ok(byte) if byte.is_ascii() => char::from(byte).to_string(),
        _ => format!("\\u{unit:04x}"),
    };
    text.encode_utf16().map(written).collect()
}

/// Returns the fault, if it is a common one, that turns `text` into what `seen` has.
pub(super) fn fault_in_text(text: &str, seen: &str) -> Option<Fault> {
    let without_spaces = |text: &str| text.replace(' ', "");
    let is_of_guid = |c: char| c.is_ascii_hexdigit() || c == '-';
    // The ASCII characters keep their order, whatever is between them.
    let has_the_rest = |line: &str| {
        let mut parts = text.split(|c: char| !c.is_ascii());
        let has_parts = text.contains(|c: char| c.is_ascii_alphanumeric());
        (has_parts || line.contains(['?', char::REPLACEMENT_CHARACTER]))
            && parts.try_fold(line, |rest, part| Some(rest.split_once(part)?.1)).is_some()
    };
    let beginning = text.char_indices().nth(32).and_then(|(end, _)| text.get(..end));
    match () {
        () if seen.split(|c| !is_of_guid(c)).any(|word| is_guid_swapped(text, word)) => {
            Some(Fault::GuidBigEndian)
        }
        () if text.contains(' ') && without_spaces(seen).contains(&without_spaces(text)) => {
            Some(Fault::TextTrimmed)
        }
        () if !text.is_ascii() && seen.lines().any(has_the_rest) => Some(Fault::TextNotUnicode),
        () if beginning.is_some_and(|beginning| seen.contains(beginning)) => Some(Fault::TextCut),
        () => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::operations::MAX_OUTPUT_LEN;
    use crate::client::scenarios;

    #[test]
    fn environment_entries_lost_or_invented_are_reported() {
        let text = |text: &str| Entry::Text(text.to_owned());
        let begins = Entry::Begins { begins: "B=".to_owned() };
        let wanted = ExpectedOutput::Environment {
            environment: vec![text("A=1"), text("NOEQUALS"), begins],
        };
        // A client that uses a map shows only one of two equal names.
        let environment = vec![text("A=1"), text("A=2"), text("B=1")];
        let twice = ExpectedOutput::Environment { environment };
        let (without_equals, lost) = (Fault::EnvironmentEntryWithoutEquals, Fault::EnvironmentLost);
        for (wanted, bytes, texts, faults) in [
            (&wanted, &b"A=1\nNOEQUALS\nB=\xef\xbf\xbd\n"[..], 0, &[][..]),
            (&wanted, b"NOEQUALS\nA=1\nB=\n", 0, &[]),
            (&wanted, b"A=1\nB=\n", 1, &[without_equals]),
            (&wanted, b"A=1\nNOEQUALS=\nB=\n", 2, &[without_equals]),
            (&wanted, b"NOEQUALS\nB=\n", 1, &[lost]),
            (&twice, b"A=2\nB=1\n", 1, &[]),
            (&twice, b"A=1\nB=1\n", 1, &[]),
            (&twice, b"A=1\nA=2\n", 1, &[lost]),
            (&ExpectedOutput::Environment { environment: Vec::new() }, b"\n", 0, &[]),
        ] {
            let findings = wanted.judge(OutputKind::Environment, bytes);
            assert_eq!((findings.texts().len(), &*findings.faults()), (texts, faults), "{bytes:?}");
        }
    }

    #[test]
    fn text_that_is_changed_in_the_output_has_its_fault() {
        let long = "x".repeat(10_000);
        let guid = "123e4567-e89b-12d3-a456-426614174000";
        for (text, seen, fault) in [
            ("  app --serve  ", "command:   app --serve  \n", None),
            ("  app --serve  ", "command: app --serve\n", Some(Fault::TextTrimmed)),
            ("caf\u{e9} \u{1f600}", "caf\u{e9} \u{1f600}", None),
            ("caf\u{e9} \u{1f600}", r#"{"a": "caf\u00e9 \ud83d\ude00"}"#, None),
            ("caf\u{e9} \u{1f600}", "caf? ??", Some(Fault::TextNotUnicode)),
            ("\u{e9}\u{1f600}", "command: x", Some(Fault::ProcessInfoLost)),
            ("\u{e9}\u{1f600}", "command: ??", Some(Fault::TextNotUnicode)),
            (&long, &long[..4096], Some(Fault::TextCut)),
            (&long, "command: xxx", Some(Fault::ProcessInfoLost)),
            (guid, "67453e12-9be8-d312-a456-426614174000", Some(Fault::GuidBigEndian)),
            (guid, "123E4567-E89B-12D3-A456-426614174000", None),
        ] {
            let output = ExpectedOutput::Texts {
                texts: vec![text.to_owned()],
                reveals: Fault::ProcessInfoLost,
            };
            let findings = output.judge(OutputKind::ProcessInfo, seen.as_bytes());
            assert_eq!(findings.faults().first(), fault.as_ref(), "{seen:.80}");
        }
    }

    #[test]
    fn stream_and_its_counters_are_compared() {
        let wanted = ExpectedOutput::Stream {
            stream: vec![Literal::Bytes(b"Nettrace".to_vec())],
            not_before: vec![Literal::Bytes(vec![1, 2])],
            counters: vec!["Requests".to_owned(), "41.5".to_owned()],
            may_be_cut: false,
        };
        let (stream, counters) = (OutputKind::Stream, OutputKind::Counters);
        let cut = "the output has 5 bytes, expected 8; from byte 5 on: ";
        let changed = "the output has 8 bytes, expected 8; from byte 4 on: 58616365";
        let surplus = "the output has 10 bytes, expected 8; from byte 0 on: 01024e65747472616365";
        let (name, value) =
            ("\"Requests\" is missing from the output", "\"41.5\" is missing from the output");
        for (kind, bytes, texts, faults) in [
            (stream, &b"Nettrace"[..], &[][..], &[][..]),
            (stream, b"\x01\x02Nettrace", &[surplus], &[Fault::ReplySizeIgnored]),
            (stream, b"Nettr", &[cut], &[Fault::StreamNotAsSent]),
            (stream, b"NettXace", &[changed], &[Fault::StreamNotAsSent]),
            (counters, b"[{\"name\": \"Requests\", \"value\": 41.5}]", &[], &[]),
            (counters, b"{\"Events\": []}", &[name, value], &[Fault::CountersLost]),
            (counters, b"Requests 0", &[value], &[Fault::CountersLost]),
        ] {
            let findings = wanted.judge(kind, bytes);
            assert_eq!((&*findings.texts(), &*findings.faults()), (texts, faults), "{bytes:?}");
        }
    }

    #[test]
    fn more_is_kept_than_any_scenario_sends() {
        let lengths =
            scenarios().unwrap().iter().filter_map(|scenario| match scenario.output.as_ref()? {
                ExpectedOutput::Stream { stream, not_before, .. } => {
                    Some(known(not_before).len() + known(stream).len())
                }
                ExpectedOutput::Environment { .. } | ExpectedOutput::Texts { .. } => None,
            });
        let longest = lengths.max().unwrap();
        assert!((1 << 20..MAX_OUTPUT_LEN).contains(&longest), "{longest}");
    }
}
