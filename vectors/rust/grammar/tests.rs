//! Compares the tables of the grammar with the behaviour of the crate.

use alloc::{
    borrow::ToOwned as _,
    collections::BTreeSet,
    format,
    string::{String, ToString as _},
    vec,
    vec::Vec,
};

use serde_json::{Map, Value, json};

use super::build::grammar;
use super::constraints;
use super::model::{Field, Grammar, Limit, Measure, Struct};
use crate::{Type, TypedCodec};
use dotnet_diagnostics_ipc::advertise::Advertise;
use dotnet_diagnostics_ipc::command::Command;
use dotnet_diagnostics_ipc::header::{HEADER_LEN, Header};
use dotnet_diagnostics_ipc::wire::Guid;

/// Name and fields of everything with fields.
fn owners(grammar: &Grammar) -> Vec<(String, &[Field])> {
    let commands =
        grammar.commands.iter().map(|command| (command.name.clone(), &command.fields[..]));
    let structs = grammar.structs.iter().map(|of| (of.name.clone(), &of.fields[..]));
    let replies = grammar.replies.iter().map(|reply| (reply.name.clone(), &reply.fields[..]));
    let draft = grammar
        .legacy
        .commands
        .iter()
        .map(|command| ("draft/CollectTracing".to_owned(), &command.fields[..]));
    let error = core::iter::once(("Error".to_owned(), &grammar.error.fields[..]));
    commands.chain(structs).chain(replies).chain(draft).chain(error).collect()
}

#[test]
fn field_types_are_defined_and_least_sizes_add_up() {
    let grammar = grammar();
    let kind = |name: &str| grammar.kind(name);
    let of = |name: &str| grammar.structure(name);
    for (owner, field) in owners(&grammar)
        .into_iter()
        .flat_map(|(owner, fields)| fields.iter().map(move |field| (owner.clone(), field)))
    {
        for name in core::iter::once(&field.type_name).chain(&field.items) {
            assert!(kind(name).is_some() || of(name).is_some(), "{owner}.{}: {name}", field.name);
        }
        assert_eq!(field.items.is_some(), field.type_name == "array", "{owner}.{}", field.name);
    }
    for Struct { name, least, fields, .. } in &grammar.structs {
        let least_of = |field: &Field| match (kind(&field.type_name), of(&field.type_name)) {
            (Some(kind), _) => kind.bytes.unwrap_or(4),
            (None, of) => of.map_or(0, |of| of.least),
        };
        assert_eq!(*least, fields.iter().map(least_of).sum::<usize>(), "{name}");
    }
}

#[test]
fn fact_row_has_field_and_string_has_fact_row() {
    let grammar = grammar();
    let owners = owners(&grammar);
    for row in constraints::TABLE {
        for of in row.of {
            let (_, fields) = owners
                .iter()
                .find(|(owner, _)| owner == of)
                .unwrap_or_else(|| panic!("there is no {of}"));
            assert!(
                fields.iter().any(|field| field.name == row.field.name()),
                "{of} has no {}",
                row.field.name()
            );
        }
    }
    for (owner, fields) in &owners {
        for field in *fields {
            let rows = constraints::TABLE
                .iter()
                .filter(|row| row.of.contains(&owner.as_str()) && row.field.name() == field.name)
                .count();
            assert!(rows <= 1, "{owner}.{} has {rows} rows", field.name);
            let is_text = field.type_name == "string";
            assert_eq!(
                (field.absent.is_some(), field.empty.is_some()),
                (is_text, is_text),
                "{owner}.{}",
                field.name
            );
        }
    }
}

#[test]
fn header_and_advertise_fields_are_at_encoded_offsets() {
    let grammar = grammar();
    let header =
        Header { size: 0x1122, command: Command { set: 0x33, id: 0x44 }, reserved: 0x5566 };
    let wanted = format!("{}2211{}{}6655", grammar.header.magic, "33", "44");
    assert_eq!(hex::encode(header.to_bytes()), wanted);
    let advertise = Advertise {
        runtime_cookie: Guid::from_bytes([0x77; 16]),
        process_id: 0x0102_0304_0506_0708,
        future: 0x1122,
    };
    let wanted = format!("{}{}08070605040302012211", grammar.advertise.magic, "77".repeat(16));
    assert_eq!(hex::encode(advertise.to_bytes()), wanted);
    for (frame, bytes) in
        [(&grammar.header, HEADER_LEN), (&grammar.advertise, advertise.to_bytes().len())]
    {
        let fields: usize = frame
            .fields
            .iter()
            .map(|field| grammar.kind(&field.type_name).and_then(|kind| kind.bytes).unwrap())
            .sum();
        assert_eq!((frame.bytes, frame.magic.len() / 2 + fields), (bytes, bytes));
    }
    let names =
        |fields: &[Field]| fields.iter().map(|field| field.name.clone()).collect::<Vec<_>>();
    assert_eq!(names(&grammar.header.fields), ["size", "command_set", "command_id", "reserved"]);
    assert_eq!(names(&grammar.advertise.fields), ["runtimeCookie", "processId", "future"]);
}

#[test]
fn every_check_and_limit_has_a_listed_fault() {
    let grammar = grammar();
    let listed: BTreeSet<&str> = grammar.faults.iter().map(|fault| fault.name.as_str()).collect();
    assert_eq!(listed.len(), grammar.faults.len());
    let owners = owners(&grammar);
    let of_fields =
        owners.iter().flat_map(|(_, fields)| fields.iter()).flat_map(|field| &field.limits);
    let limits: BTreeSet<&str> = of_fields
        .chain(grammar.structs.iter().flat_map(|of| &of.limits))
        .map(|limit| limit.fault.as_str())
        .collect();
    let of_layer = |layer: &str| -> BTreeSet<&str> {
        grammar
            .faults
            .iter()
            .filter(|fault| fault.layer == layer)
            .map(|fault| fault.name.as_str())
            .collect()
    };
    assert_eq!(limits, of_layer("limits"));
    assert!(
        grammar
            .checks
            .iter()
            .filter_map(|check| check.fault.as_deref())
            .all(|fault| listed.contains(fault))
    );
}

/// Every field of every request with values on both sides of every possible limit: the crate
/// refuses exactly what the grammar refuses, for the same reason and at the same field.
#[test]
fn every_field_limit_equals_crate_check() {
    let grammar = grammar();
    let (mut asked, mut refused) = (0, BTreeSet::new());
    for command in &grammar.commands {
        let known: Command = command.name.parse().unwrap();
        for session_type in [0, 1] {
            let is_there = |field: &&Field| {
                field.when.as_ref().is_none_or(|when| when.is == Some(session_type))
            };
            let fields: Vec<Field> = command.fields.iter().filter(is_there).cloned().collect();
            let base = Base { grammar: &grammar, session_type };
            let whole = base.object(&fields, true);
            for probed in base.probes(&fields, &whole) {
                let subject =
                    TypedCodec { kind: Type::Request, command: Some(known), from_server: false };
                let wire = subject
                    .encode(&probed)
                    .unwrap_or_else(|error| panic!("{}: {error}", command.name));
                let decoded = subject
                    .decode(&wire)
                    .unwrap_or_else(|error| panic!("{}: {error}", command.name));
                let ours = decoded.limit.map(|limit| {
                    (
                        dotnet_diagnostics_ipc::wire::WireErrorKind::name(limit.kind()),
                        limit.path().to_string(),
                    )
                });
                let root = known.name().unwrap();
                let by_grammar = broken(&grammar, &fields, &probed, root);
                let by_grammar =
                    by_grammar.as_ref().map(|(fault, path)| (fault.as_str(), path.clone()));
                assert_eq!(
                    by_grammar,
                    ours,
                    "{} {}",
                    command.name,
                    probed.to_string().chars().take(400).collect::<String>()
                );
                asked += 1;
                refused.extend(ours.map(|(fault, _)| fault));
            }
        }
    }
    assert_eq!(
        refused.len(),
        grammar.faults.iter().filter(|fault| fault.layer == "limits").count()
    );
    assert!(asked > 500, "{asked}");
}

/// Makes values by the grammar alone.
struct Base<'m> {
    grammar: &'m Grammar,
    session_type: u32,
}

impl Base<'_> {
    /// The smallest value within the limits; if `full`, with an item in each array.
    fn object(&self, fields: &[Field], full: bool) -> Value {
        fields
            .iter()
            .map(|field| (field.name.clone(), self.field(field, full)))
            .collect::<Map<_, _>>()
            .into()
    }

    fn field(&self, field: &Field, full: bool) -> Value {
        let first = field
            .limits
            .iter()
            .filter_map(|limit| limit.ranges.first())
            .map(|range| range[0])
            .max();
        match field.type_name.as_str() {
            "bool" => true.into(),
            "uint" if field.only.is_some() => self.session_type.into(),
            "byte" | "ushort" | "uint" => first.unwrap_or(0).into(),
            "ulong" => "1".into(),
            "guid" => Guid::NIL.to_string().into(),
            "bytes" | "rest" => "".into(),
            "string" => "a".into(),
            "array" => self.items(field, if full { 1 } else { first.unwrap_or(0) }, full),
            name => self.object(&self.grammar.structure(name).unwrap().fields, full),
        }
    }

    fn items(&self, field: &Field, count: u32, full: bool) -> Value {
        let name = field.items.as_deref().unwrap();
        let item = |nth: u32| match self.grammar.structure(name) {
            Some(of) => self.object(&of.fields, full),
            None if name == "string" => nth.to_string().into(),
            None => nth.into(),
        };
        (0..count).map(item).collect()
    }

    /// `whole` with one thing changed, for each thing and each change.
    fn probes(&self, fields: &[Field], whole: &Value) -> Vec<Value> {
        let mut all = vec![whole.clone()];
        for field in fields.iter().filter(|field| field.only.is_none()) {
            let with = |value: Value| {
                let mut changed = whole.clone();
                changed[&field.name] = value;
                changed
            };
            match field.type_name.as_str() {
                "uint" => {
                    let numbers = (0..=9).chain([1000, 1001, 0x7FFF_FFFF, 0x8000_0000, u32::MAX]);
                    all.extend(numbers.map(|number| with(number.into())));
                }
                "string" => {
                    let texts = ["", "\0", "\0a", "a\0b"].map(Value::from).into_iter();
                    let long = [
                        ("x", 436),
                        ("x", 437),
                        ("\u{e9}", 218),
                        ("\u{e9}", 219),
                        ("\u{1f600}", 109),
                        ("\u{1f600}", 110),
                    ];
                    let long = long.map(|(text, count)| text.repeat(count).into()).into_iter();
                    // Half a pair takes 3 bytes; units after a NUL none.
                    let halves =
                        [145, 146].map(|count| json!({ "utf16": vec![0xD800; count] })).into_iter();
                    let cut =
                        [format!("{}\0{}", "x".repeat(436), "x".repeat(100)).into(), Value::Null]
                            .into_iter();
                    all.extend(texts.chain(long).chain(halves).chain(cut).map(with));
                }
                "array" => {
                    all.extend(
                        [0, 1, 2, 1000, 1001].map(|count| with(self.items(field, count, false))),
                    );
                    if let Some(of) = self.grammar.structure(field.items.as_deref().unwrap()) {
                        let item = &whole[&field.name][0];
                        // Twice the same, ids and all.
                        all.push(with(json!([item, item])));
                        all.extend(
                            self.probes(&of.fields, item)
                                .into_iter()
                                .map(|item| with(json!([item]))),
                        );
                    } else if field.items.as_deref() == Some("string") {
                        all.extend([json!(["a", "a"]), json!(["a", "", null, "a"])].map(with));
                    } else {
                        all.extend([json!([5, 5]), json!([5, 6, 7, 5])].map(with));
                    }
                }
                name => {
                    if let Some(of) = self.grammar.structure(name) {
                        all.extend(
                            self.probes(&of.fields, &whole[&field.name]).into_iter().map(with),
                        );
                        // Every pair of absent strings and empty arrays.
                        let mut nothing = whole[&field.name].clone();
                        for inner in &of.fields {
                            match inner.type_name.as_str() {
                                "string" => nothing[&inner.name] = Value::Null,
                                "array" => nothing[&inner.name] = json!([]),
                                _ => {}
                            }
                        }
                        all.push(with(nothing));
                    }
                }
            }
        }
        all
    }
}

/// The first limit that a value exceeds by the grammar, and the field.
fn broken(
    grammar: &Grammar,
    fields: &[Field],
    value: &Value,
    path: &str,
) -> Option<(String, String)> {
    for field in fields {
        let (value, path) = (&value[&field.name], format!("{path}.{}", field.name));
        if let Some(limit) = field.limits.iter().find(|limit| !is_within(limit, value)) {
            return Some((limit.fault.clone(), path));
        }
        let name = field.items.as_ref().unwrap_or(&field.type_name);
        let Some(of) = grammar.structure(name) else { continue };
        let items: Vec<(String, &Value)> = match value.as_array() {
            Some(items) => items
                .iter()
                .enumerate()
                .map(|(nth, item)| (format!("{path}[{nth}]"), item))
                .collect(),
            None => vec![(path, value)],
        };
        for (path, item) in items {
            let (whole, distinct): (Vec<&Limit>, Vec<&Limit>) =
                of.limits.iter().partition(|limit| limit.of != Measure::Distinct);
            if let Some(limit) = whole.iter().find(|limit| !is_within(limit, item)) {
                return Some((limit.fault.clone(), path));
            }
            if let Some(found) = broken(grammar, &of.fields, item, &path) {
                return Some(found);
            }
            if let Some((limit, place)) =
                distinct.iter().find_map(|limit| Some((limit, repeated(limit, item)?)))
            {
                return Some((limit.fault.clone(), format!("{path}.{place}")));
            }
        }
    }
    None
}

fn is_within(limit: &Limit, value: &Value) -> bool {
    let units = |value: &Value| -> Vec<u16> {
        match value {
            Value::String(text) => text.encode_utf16().collect(),
            Value::Object(_) => serde_json::from_value(value["utf16"].clone()).unwrap(),
            _ => Vec::new(),
        }
    };
    let count = |value: &Value| match value {
        Value::Null => 0,
        Value::Array(items) => items.len(),
        text => units(text).len() + 1,
    };
    let before_nul =
        || -> Vec<u16> { units(value).into_iter().take_while(|unit| *unit != 0).collect() };
    let measured = match limit.of {
        Measure::Value => usize::try_from(value.as_u64().unwrap()).unwrap(),
        Measure::Count => count(value),
        Measure::VisibleBeforeNul => {
            before_nul().iter().filter(|unit| !matches!(unit, 9..=13 | 32)).count()
        }
        Measure::Utf8BeforeNul => String::from_utf16_lossy(&before_nul()).len(),
        Measure::CountOfAll => limit.fields.iter().map(|field| count(&value[field])).sum(),
        Measure::Distinct => return repeated(limit, value).is_none(),
    };
    limit.ranges.iter().any(|[low, high]| (*low as usize..=*high as usize).contains(&measured))
}

/// The place of the first repeated number.
fn repeated(limit: &Limit, value: &Value) -> Option<String> {
    let [outer, inner] = &limit.fields[..] else { panic!("{limit:?}") };
    let mut seen = BTreeSet::new();
    for (nth, item) in value[outer].as_array().unwrap().iter().enumerate() {
        for (at, number) in item[inner].as_array().unwrap().iter().enumerate() {
            if !seen.insert(number.as_u64()) {
                return Some(format!("{outer}[{nth}].{inner}[{at}]"));
            }
        }
    }
    None
}
