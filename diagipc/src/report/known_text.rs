//! Edits the text of a file of accepted faults, and keeps the user's comments with their entries.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::ops::Range;

use serde::Deserialize;
use toml::Spanned;

/// The positions of the entries in the text.
#[derive(Deserialize)]
struct Places {
    #[serde(default)]
    cases: BTreeMap<Spanned<String>, Spanned<Vec<Spanned<String>>>>,
}

/// Returns the table of one fault.
pub(super) fn table(fault: &str, cases: &BTreeSet<String>) -> String {
    let is_bare = fault.chars().all(|one| one.is_ascii_alphanumeric() || one == '-');
    let key = if is_bare { fault.to_owned() } else { format!("{fault:?}") };
    let mut text = format!("{key} = [\n");
    for case in cases {
        let _ = writeln!(text, "    {case:?},");
    }
    text + "]\n"
}

/// Returns the text with these cases. Entries that stay keep their lines and comments. A removed
/// entry takes the comment after it along, and the comment above it unless that has further entries
/// below. New entries are appended.
///
/// Returns `None` if the text has another form. The caller parses the result to check it.
pub(super) fn edited(text: &str, cases: &BTreeMap<String, BTreeSet<String>>) -> Option<String> {
    let places: Places = toml::from_str(text).ok()?;
    let mut edits: Vec<(Range<usize>, String)> = Vec::new();
    for (fault, list) in &places.cases {
        let place = list.span();
        match cases.get(fault.get_ref()) {
            None => edits.push((whole_lines(text, fault.span().start..place.end)?, String::new())),
            Some(cases) => {
                let old: BTreeSet<&String> = list.get_ref().iter().map(Spanned::get_ref).collect();
                if old != cases.iter().collect() {
                    let array = Array::read(text, place.clone(), list.get_ref())?;
                    edits.push((place, array.with(cases)));
                }
            }
        }
    }
    edits.sort_by_key(|(place, _)| std::cmp::Reverse(place.start));
    let mut edited = text.to_owned();
    for (place, with) in edits {
        edited.replace_range(place, &with);
    }
    if !edited.is_empty() && !edited.ends_with('\n') {
        edited.push('\n');
    }
    let is_new = |fault: &str| !places.cases.contains_key(fault);
    let new = cases.iter().filter(|(fault, _)| is_new(fault));
    let new: Vec<_> = new.map(|(fault, cases)| table(fault, cases)).collect();
    let has_header = || edited.lines().any(|line| line.trim_start().starts_with("[cases]"));
    if !new.is_empty() && !has_header() {
        edited.push_str("\n[cases]\n");
    }
    Some(edited + &new.concat())
}

/// Returns the lines of a table to be removed, with the comment above it unless another table
/// follows immediately. Returns `None` if the table shares a line.
fn whole_lines(text: &str, place: Range<usize>) -> Option<Range<usize>> {
    let mut begin = text.get(..place.start)?.rfind('\n').map_or(0, |at| at + 1);
    let end = text.get(place.end..)?.find('\n').map_or(text.len(), |at| place.end + at + 1);
    let before = text.get(begin..place.start)?.trim();
    let after = text.get(place.end..end)?.trim();
    if !(before.is_empty() || before == "cases.") || !(after.is_empty() || after.starts_with('#')) {
        return None;
    }
    let next = text.get(end..)?.lines().next().unwrap_or_default().trim();
    if next.is_empty() || next.starts_with(['#', '[']) {
        for line in text.get(..begin)?.split_inclusive('\n').rev() {
            if !line.trim_start().starts_with('#') {
                break;
            }
            begin -= line.len();
        }
    }
    Some(begin..end)
}

/// A list of cases, split into pieces of the text.
struct Array<'a> {
    /// The text after the bracket on its line.
    open: String,
    items: Vec<Item<'a>>,
    /// The lines before the closing bracket.
    close: String,
}

struct Item<'a> {
    name: &'a str,
    /// The lines above the item, and its indentation.
    above: String,
    /// The item as written.
    value: &'a str,
    /// The comment after the item.
    after: String,
}

impl<'a> Array<'a> {
    fn read(text: &'a str, place: Range<usize>, list: &'a [Spanned<String>]) -> Option<Self> {
        let ends = list.iter().map(|item| item.span().end);
        let begins = list.iter().map(|item| item.span().start);
        // Only white space, commas and comments are between two items.
        let mut gaps = std::iter::once(place.start + 1)
            .chain(ends)
            .zip(begins.chain([place.end.checked_sub(1)?]))
            .map(|(from, to)| text.get(from..to).map(gap));
        let (open, mut above) = gaps.next()??;
        let mut items = Vec::new();
        for item in list {
            let (after, next) = gaps.next()??;
            let (name, value) = (item.get_ref(), text.get(item.span())?);
            items.push(Item { name, above: std::mem::replace(&mut above, next), value, after });
        }
        Some(Self { open, items, close: above })
    }

    fn with(self, cases: &BTreeSet<String>) -> String {
        let is_long = self.items.iter().any(|item| item.above.contains('\n'));
        let mut text = format!("[{}", self.open);
        let old: BTreeSet<&str> = self.items.iter().map(|item| item.name).collect();
        // The text above a removed entry, kept for the next entry below the same comment.
        let mut left = None;
        for item in self.items {
            let has_own = item.above.contains('#') || is_paragraph(&item.above);
            let above = if has_own { item.above } else { left.take().unwrap_or(item.above) };
            if cases.contains(item.name) {
                let _ = write!(text, "{above}{},{}", item.value, item.after);
                left = None;
            } else {
                left = Some(above);
            }
        }
        for case in cases.iter().filter(|case| !old.contains(case.as_str())) {
            let above = if is_long { "\n    " } else { " " };
            let _ = write!(text, "{above}{case:?},");
        }
        text + &self.close + "]"
    }
}

/// Whether there is an empty line.
fn is_paragraph(above: &str) -> bool {
    above.matches('\n').count() > 1
}

/// Returns what is after an item on its line, and the lines above the next one, without commas.
fn gap(text: &str) -> (String, String) {
    let without_commas = |line: &str| match line.split_once('#') {
        Some((before, comment)) => format!("{}#{comment}", before.replace(',', "")),
        None => line.replace(',', ""),
    };
    match text.split_once('\n') {
        Some((first, rest)) => {
            let rest: Vec<_> = rest.split('\n').map(without_commas).collect();
            (without_commas(first), format!("\n{}", rest.join("\n")))
        }
        None => (String::new(), without_commas(text)),
    }
}

#[cfg(test)]
mod tests {
    use super::super::KnownFaults;

    /// Each row has a file, the entries that remain, and the new text.
    #[test]
    fn entries_that_stay_keep_their_lines_and_comments() {
        let many = "\
# Faults of our client, asked for at every release.
faults = ['runs-on'] # T-1

[cases] # by fault
# T-2: a timeout is planned.
no-read-timeout = [ # all of them
    # T-3
    'a', # of Monday
    'b',

    # T-4, with, commas
    \"c\", # of Tuesday
]
# T-5
never-connects = ['d'] # T-6
";
        for (text, entries, expected) in [
            (
                many,
                "faults = ['runs-on']\n[cases]\nno-read-timeout = ['b', 'c', 'e']\nruns-on = ['f']",
                "\
# Faults of our client, asked for at every release.
faults = ['runs-on'] # T-1

[cases] # by fault
# T-2: a timeout is planned.
no-read-timeout = [ # all of them
    # T-3
    'b',

    # T-4, with, commas
    \"c\", # of Tuesday
    \"e\",
]
runs-on = [
    \"f\",
]
",
            ),
            (
                many,
                "faults = ['runs-on']\n[cases]\nno-read-timeout = ['a']\nnever-connects = ['d', 'e']",
                "\
# Faults of our client, asked for at every release.
faults = ['runs-on'] # T-1

[cases] # by fault
# T-2: a timeout is planned.
no-read-timeout = [ # all of them
    # T-3
    'a', # of Monday
]
# T-5
never-connects = ['d', \"e\",] # T-6
",
            ),
            (
                many,
                "faults = ['runs-on']\n[cases]\nno-read-timeout = ['a', 'b', 'c']\nnever-connects = ['d']",
                many,
            ),
            (
                "[cases]\nno-read-timeout = ['a', 'b', 'c']",
                "[cases]\nno-read-timeout = ['b']\n",
                "[cases]\nno-read-timeout = ['b',]\n",
            ),
            (
                "# none yet",
                "[cases]\n'a:b[]' = ['c']",
                "# none yet\n\n[cases]\n\"a:b[]\" = [\n    \"c\",\n]\n",
            ),
            (
                "cases.no-read-timeout = ['a'] # T-7\ncases.runs-on = ['b']\n",
                "[cases]\nno-read-timeout = ['a']",
                "cases.no-read-timeout = ['a'] # T-7\n",
            ),
            // Another form.
            (
                "cases = { runs-on = ['a'], never-connects = ['b'] }",
                "[cases]\nruns-on = ['a']\n",
                "# Faults that are known and accepted: with `--known` they do not fail a run, until they are gone.\n\n# By fault, in which cases.\n[cases]\nruns-on = [\n    \"a\",\n]\n",
            ),
        ] {
            let known = KnownFaults::parse("k", entries).unwrap();
            let edited = known.edited(text);
            assert_eq!(edited, expected);
            assert_eq!(KnownFaults::parse("k", &edited), Ok(known));
        }
    }
}
