//! Judges what the client gives out: a stream, an environment, a process.

use alloc::{format, string::String, vec::Vec};

use super::ClientFault;
use super::request::{Judgement, excerpt};
use super::scenario::{Entry, Output};

impl Output {
    /// What is wrong with `bytes`, which the client gave out.
    pub(super) fn judge(&self, bytes: &[u8]) -> Judgement {
        match self {
            Self::BeginOfStream(stream) if stream.starts_with(bytes) => Judgement::default(),
            Self::Stream(stream) | Self::BeginOfStream(stream) => of_stream(stream, bytes, &[]),
            Self::StreamBehind { surplus, stream } => of_stream(stream, bytes, surplus),
            Self::Environment(entries) => of_environment(entries, bytes),
            Self::ProcessInfo(texts) => of_process(texts, bytes),
        }
    }
}

fn of_stream(stream: &[u8], bytes: &[u8], surplus: &[u8]) -> Judgement {
    if bytes == stream {
        return Judgement::default();
    }
    let wrong = stream.iter().zip(bytes).position(|(one, other)| one != other).unwrap_or(stream.len().min(bytes.len()));
    let found = format!(
        "{} bytes of the stream were given out where {} were sent; from byte {wrong} on it is {}",
        bytes.len(),
        stream.len(),
        excerpt(bytes.get(wrong..).unwrap_or_default())
    );
    let ignored = !surplus.is_empty() && bytes == [surplus, stream].concat();
    Judgement { found: Vec::from([found]), fault: ignored.then_some(ClientFault::ReplySizeIgnored) }
}

fn of_environment(entries: &[Entry], bytes: &[u8]) -> Judgement {
    let text = String::from_utf8_lossy(bytes);
    let lines: Vec<&str> = text.lines().collect();
    let is = |entry: &Entry, line: &str| match entry {
        Entry::Text(text) => line == text,
        Entry::Begins(text) => line.starts_with(text.as_str()),
    };
    // Behind an entry that is lost the others may still be right.
    let mut rest = lines.as_slice();
    let (mut lost, mut more): (Vec<&Entry>, Vec<&str>) = (Vec::new(), Vec::new());
    for entry in entries {
        match rest.iter().position(|line| is(entry, line)) {
            Some(at) => {
                more.extend(rest.iter().take(at));
                rest = rest.get(at.saturating_add(1)..).unwrap_or_default();
            }
            None => lost.push(entry),
        }
    }
    more.extend(rest);
    let has_equals = |entry: &&Entry| match entry {
        Entry::Text(text) => text.contains('='),
        Entry::Begins(_) => true,
    };
    let shown = |line: &str| format!("{:?}", line.chars().take(80).collect::<String>());
    let mut found: Vec<String> = lost
        .iter()
        .map(|entry| match entry {
            Entry::Text(text) | Entry::Begins(text) => format!("the entry {} is not given out, or not in its place", shown(text)),
        })
        .collect();
    found.extend(more.iter().map(|line| format!("{} is given out, which is no entry", shown(line))));
    let by_equals = !lost.is_empty() && !lost.iter().any(has_equals);
    Judgement { found, fault: by_equals.then_some(ClientFault::EnvironmentEntryWithoutEquals) }
}

fn of_process(texts: &[String], bytes: &[u8]) -> Judgement {
    let text = String::from_utf8_lossy(bytes).to_lowercase();
    let missing = texts.iter().filter(|one| !text.contains(&one.to_lowercase()));
    let found = missing.map(|one| format!("{:?} is not given out", one.chars().take(80).collect::<String>()));
    Judgement { found: found.collect(), fault: None }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use std::borrow::ToOwned as _;
    use std::vec;

    #[test]
    fn entries_that_are_lost_invented_or_moved_are_told() {
        let text = |text: &str| Entry::Text(text.to_owned());
        let wanted = Output::Environment(vec![text("A=1"), text("NOEQUALS"), Entry::Begins("B=".to_owned())]);
        assert_eq!(wanted.judge(b"A=1\nNOEQUALS\nB=\xef\xbf\xbd\n"), Judgement::default());
        let lost = wanted.judge(b"A=1\nB=\n");
        assert_eq!((lost.found.len(), lost.fault), (1, Some(ClientFault::EnvironmentEntryWithoutEquals)));
        let invented = wanted.judge(b"A=1\nNOEQUALS=\nB=\n");
        assert_eq!((invented.found.len(), invented.fault), (2, Some(ClientFault::EnvironmentEntryWithoutEquals)));
        assert_eq!(wanted.judge(b"NOEQUALS\nA=1\nB=\n").fault, Some(ClientFault::EnvironmentEntryWithoutEquals));
        assert_eq!(wanted.judge(b"NOEQUALS\nB=\n").fault, None);
    }

    #[test]
    fn stream_that_begins_too_early_is_told() {
        let wanted = Output::StreamBehind { surplus: vec![1, 2], stream: b"Nettrace".to_vec() };
        assert_eq!(wanted.judge(b"Nettrace"), Judgement::default());
        assert_eq!(wanted.judge(b"\x01\x02Nettrace").fault, Some(ClientFault::ReplySizeIgnored));
        let found = |bytes: &[u8]| wanted.judge(bytes).found;
        let cut = "5 bytes of the stream were given out where 8 were sent; from byte 5 on it is ";
        assert!(matches!(&found(b"Nettr")[..], [one] if one.starts_with(cut)), "{:?}", found(b"Nettr"));
        let changed = "8 bytes of the stream were given out where 8 were sent; from byte 4 on it is 58616365";
        assert_eq!(found(b"NettXace"), [changed]);
    }
}
