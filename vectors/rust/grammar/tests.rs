//! Compares the tables of the grammar with the behaviour of the crate.

use alloc::{
    borrow::ToOwned as _,
    collections::BTreeSet,
    format,
    string::{String, ToString as _},
    vec,
    vec::Vec,
};

use serde_json::{Value, json};

use super::build::grammar;
use super::constraints;
use super::{Field, Grammar, Limit, Measure, Struct};
use crate::{EncodeFailure, Type, TypedCodec};
use dotnet_diagnostics_ipc::wire::{Guid, WireErrorKind};

/// Returns the name and fields of each message and struct.
fn owners(grammar: &Grammar) -> Vec<(&str, &[Field])> {
    let mut owners = vec![
        ("draft/CollectTracing", &grammar.legacy.commands[0].fields[..]),
        ("Error", &grammar.error.fields),
    ];
    owners.extend(grammar.commands.iter().map(|of| (&of.name[..], &of.fields[..])));
    owners.extend(grammar.structs.iter().map(|of| (&of.name[..], &of.fields[..])));
    owners.extend(grammar.replies.iter().map(|of| (&of.name[..], &of.fields[..])));
    owners
}

#[test]
fn field_types_are_defined_and_least_sizes_add_up() {
    let grammar = grammar();
    let least_of = |name: &str| match grammar.kind(name) {
        Some(kind) => kind.bytes.unwrap_or(4),
        None => grammar.structure(name).unwrap_or_else(|| panic!("{name} is not defined")).least,
    };
    for (owner, field) in
        owners(&grammar).iter().flat_map(|(owner, of)| of.iter().map(move |field| (owner, field)))
    {
        assert!(field.items.as_ref().is_none_or(|items| least_of(items) > 0));
        assert_eq!(field.items.is_some(), field.type_name == "array", "{owner}.{}", field.name);
    }
    for Struct { name, least, fields, .. } in &grammar.structs {
        let sum: usize = fields.iter().map(|field| least_of(&field.type_name)).sum();
        assert_eq!(*least, sum, "{name}");
    }
    for (frame, bytes) in [(&grammar.header, 20), (&grammar.advertise, 34)] {
        let sum: usize = frame.fields.iter().map(|field| least_of(&field.type_name)).sum();
        assert_eq!((frame.bytes, frame.magic.len() / 2 + sum), (bytes, bytes));
    }
}

#[test]
fn fact_row_has_field_and_string_has_fact_row() {
    let grammar = grammar();
    let owners = owners(&grammar);
    for (row, of) in
        constraints::TABLE.iter().flat_map(|row| row.of.iter().map(move |of| (row, of)))
    {
        let name = row.field.name();
        let fields = owners.iter().find(|(owner, _)| owner == of);
        let has_it =
            fields.is_some_and(|(_, fields)| fields.iter().any(|field| field.name == name));
        assert!(has_it, "there is no {of}.{name}");
    }
    for (owner, fields) in &owners {
        for field in *fields {
            let is_it =
                |row: &&constraints::Row| row.of.contains(owner) && row.field.name() == field.name;
            let rows = constraints::TABLE.iter().filter(is_it).count();
            assert!(rows <= 1, "{owner}.{} has {rows} rows", field.name);
            let is_text = field.type_name == "string";
            let has_meaning = (field.absent.is_some(), field.empty.is_some());
            assert_eq!(has_meaning, (is_text, is_text), "{owner}.{}", field.name);
        }
    }
}

#[test]
fn every_check_and_limit_has_a_listed_fault() {
    let grammar = grammar();
    let listed: BTreeSet<&str> = grammar.faults.iter().map(|fault| fault.name.as_str()).collect();
    assert_eq!(listed.len(), grammar.faults.len());
    let owners = owners(&grammar);
    let of_fields = owners.iter().flat_map(|(_, fields)| *fields).flat_map(|field| &field.limits);
    let of_structs = grammar.structs.iter().flat_map(|of| &of.limits);
    let limits: BTreeSet<&str> =
        of_fields.chain(of_structs).map(|limit| limit.fault.as_str()).collect();
    let of_layer = grammar.faults.iter().filter(|fault| fault.layer == "limits");
    assert_eq!(limits, of_layer.map(|fault| fault.name.as_str()).collect());
    let checks = grammar.checks.as_array().unwrap().iter();
    assert!(checks.filter_map(|check| check["fault"].as_str()).all(|fault| listed.contains(fault)));
}

/// Probes every field of every request with values on both sides of every possible limit. The crate
/// refuses exactly what the grammar refuses, with the same error in the same field.
#[test]
fn every_field_limit_equals_crate_check() {
    let grammar = grammar();
    let (mut asked, mut refused) = (0, BTreeSet::new());
    for command in &grammar.commands {
        let known: dotnet_diagnostics_ipc::command::Command = command.name.parse().unwrap();
        let subject = TypedCodec { kind: Type::Request, command: Some(known), from_server: false };
        for session_type in [0, 1] {
            let is_there = |field: &&Field| {
                field.when.as_ref().is_none_or(|when| when.is == Some(session_type))
            };
            let fields: Vec<Field> = command.fields.iter().filter(is_there).cloned().collect();
            let whole = sample(&grammar, &fields, session_type);
            for probed in [whole.clone()].into_iter().chain(probes(&whole)) {
                let wire = match subject.encode(&probed) {
                    Ok(wire) => wire,
                    // A probe has a text in place of a number.
                    Err(EncodeFailure::Value(_)) if probed != whole => continue,
                    Err(error) => panic!("{}: {error}", command.name),
                };
                let limit = subject.decode(&wire).unwrap().limit;
                let ours = limit.map(|limit| {
                    (WireErrorKind::name(limit.kind()).to_owned(), limit.path().to_string())
                });
                let by_grammar = broken(&grammar, &fields, &probed, known.name().unwrap());
                let shown: String = probed.to_string().chars().take(400).collect();
                assert_eq!(by_grammar, ours, "{} {shown}", command.name);
                asked += 1;
                refused.extend(ours.map(|(fault, _)| fault));
            }
        }
    }
    let limits = grammar.faults.iter().filter(|fault| fault.layer == "limits");
    assert_eq!(refused.len(), limits.count());
    assert!(asked > 500, "{asked}");
}

/// Returns a value of these fields within the limits, with an item in each array.
fn sample(grammar: &Grammar, fields: &[Field], session_type: u32) -> Value {
    let of_type = |name: &str, least: u32| match name {
        "bool" => true.into(),
        "byte" | "ushort" | "uint" => least.into(),
        "ulong" => "1".into(),
        "guid" => Guid::NIL.to_string().into(),
        "bytes" | "rest" => "".into(),
        "string" => "a".into(),
        name => sample(grammar, &grammar.structure(name).unwrap().fields, session_type),
    };
    let value = |field: &Field| {
        let ranges = field.limits.iter().filter_map(|limit| limit.ranges.first());
        match &field.items {
            Some(items) => json!([of_type(items, 0)]),
            None if field.only.is_some() => session_type.into(),
            None => of_type(&field.type_name, ranges.map(|range| range[0]).max().unwrap_or(0)),
        }
    };
    fields.iter().map(|field| (field.name.clone(), value(field))).collect()
}

/// Returns `whole` with one change, once for each part and each change.
fn probes(whole: &Value) -> Vec<Value> {
    match whole {
        Value::Number(_) => {
            let numbers = (0..=9).chain([1000, 1001, 0x7FFF_FFFF, 0x8000_0000, u32::MAX]);
            numbers.map(Value::from).collect()
        }
        Value::String(_) => {
            let texts = ["", "\0", "\0a", "a\0b", " \t"].map(String::from);
            let (of_two, of_four) = ("\u{e9}", "\u{1f600}");
            let long = [
                ("x", 436),
                ("x", 437),
                (of_two, 218),
                (of_two, 219),
                (of_four, 109),
                (of_four, 110),
            ]
            .map(|(text, count)| text.repeat(count));
            let cut = format!("{}\0{}", "x".repeat(436), "x".repeat(100));
            // Half a pair takes 3 bytes. Units after a NUL take none.
            let halves = [145, 146].map(|count| json!({ "utf16": vec![0xD800; count] }));
            let texts = texts.into_iter().chain(long).chain([cut]).map(Value::from);
            texts.chain(halves).chain([Value::Null]).collect()
        }
        Value::Array(items) => {
            let of = |count| Value::from(vec![items[0].clone(); count]);
            let changed = probes(&items[0]).into_iter().map(|item| json!([item]));
            [0, 2, 1000, 1001].map(of).into_iter().chain([json!([5, 6])]).chain(changed).collect()
        }
        Value::Object(fields) => {
            let mut all = Vec::new();
            for (name, value) in fields {
                for probe in probes(value) {
                    let mut changed = whole.clone();
                    changed[name] = probe;
                    all.push(changed);
                }
            }
            // All strings are absent and all arrays empty.
            let mut nothing = whole.clone();
            for value in nothing.as_object_mut().unwrap().values_mut() {
                match value {
                    Value::String(text) if text == "a" => *value = Value::Null,
                    Value::Array(items) => items.clear(),
                    _ => {}
                }
            }
            all.push(nothing);
            all
        }
        _ => Vec::new(),
    }
}

/// Returns the first limit of the grammar that a value exceeds, and the field.
fn broken(
    grammar: &Grammar,
    fields: &[Field],
    value: &Value,
    path: &str,
) -> Option<(String, String)> {
    fields.iter().find_map(|field| {
        let (value, path) = (&value[&field.name], format!("{path}.{}", field.name));
        if let Some(limit) = field.limits.iter().find(|limit| !is_within(limit, value)) {
            return Some((limit.fault.clone(), path));
        }
        let of = grammar.structure(field.items.as_ref().unwrap_or(&field.type_name))?;
        let items: Vec<(String, &Value)> = match value.as_array() {
            Some(items) => {
                let items = items.iter().enumerate();
                items.map(|(nth, item)| (format!("{path}[{nth}]"), item)).collect()
            }
            None => vec![(path, value)],
        };
        items.into_iter().find_map(|(path, item)| {
            let (distinct, whole): (Vec<&Limit>, Vec<&Limit>) =
                of.limits.iter().partition(|limit| limit.of == Measure::Distinct);
            if let Some(limit) = whole.iter().find(|limit| !is_within(limit, item)) {
                return Some((limit.fault.clone(), path));
            }
            broken(grammar, &of.fields, item, &path).or_else(|| {
                let repeats = |limit: &&Limit| Some((limit.fault.clone(), repeated(limit, item)?));
                let (fault, place) = distinct.iter().find_map(repeats)?;
                Some((fault, format!("{path}.{place}")))
            })
        })
    })
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
        Measure::Distinct => return true,
    };
    limit.ranges.iter().any(|[low, high]| (*low as usize..=*high as usize).contains(&measured))
}

/// Returns the place of the first repeated number.
fn repeated(limit: &Limit, value: &Value) -> Option<String> {
    let [outer, inner] = &limit.fields[..] else { panic!("{limit:?}") };
    let mut seen = BTreeSet::new();
    let items = value[outer].as_array().unwrap().iter().enumerate();
    let mut numbers = items.flat_map(|(nth, item)| {
        let inner = item[inner].as_array().unwrap().iter().enumerate();
        inner.map(move |(at, number)| (nth, at, number.as_u64()))
    });
    let (nth, at, _) = numbers.find(|(.., number)| !seen.insert(*number))?;
    Some(format!("{outer}[{nth}].{inner}[{at}]"))
}
