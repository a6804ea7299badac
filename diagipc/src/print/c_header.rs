//! Prints the grammar as a C header: tables for a fixed engine (`dotnet_ipc.h.jinja`).

use dotnet_diagnostics_ipc_vectors::grammar::{
    Command, Continuation, Field, Grammar, Limit, Measure,
};
use serde_json::{Value, json};

use super::{PrintError, bytes_of, error, filled};

const TEMPLATE: &str = include_str!("dotnet_ipc.h.jinja");

/// The names of what follows a reply, in the order of the header.
const CONTINUATIONS: [&str; 4] = ["close", "nettrace", "environment", "user_events"];
/// The layers in the order of the header.
const LAYERS: [&str; 5] = ["transport", "header", "payload", "limits", "reply"];

pub(super) fn header(grammar: &Grammar) -> Result<String, PrintError> {
    let mut programs = Programs { grammar, list: Vec::new() };
    programs.add("nothing", &[], &[])?;
    for of in grammar.structs.iter().filter(|of| of.name != "draft_provider_config") {
        programs.add(&of.name, &of.fields, &[])?;
    }
    let structs = programs.list.len();
    let commands = grammar.commands.iter().map(|command| command_row(command, &mut programs));
    let commands = commands.collect::<Result<Vec<_>, _>>()?;
    let plain = |field: &&Field| field.when.as_ref().is_none_or(|when| when.answers.is_none());
    let of_error: Vec<Field> = grammar.error.fields.iter().filter(plain).cloned().collect();
    let error_program = programs.add("/Error", &of_error, &[])?;
    let least = |program: &Program| grammar.structure(&program.name).map_or(0, |of| of.least);
    let leasts: Vec<usize> = programs.list.iter().take(structs).map(least).collect();
    let mut at = 0;
    let rows = programs.list.iter().map(|program| {
        let name = program.names.join(", ").replace(", /", ", ");
        let name = name.trim_start_matches('/');
        let row = json!({ "name": name, "bytes": program.bytes, "at": at });
        at += program.bytes.len() + 1;
        row
    });
    let rows: Vec<Value> = rows.collect();
    let starts = grammar.continuations.nettrace.starts.iter().map(|start| {
        let bytes = bytes_of(&start.bytes)?;
        let widths = start.fields.iter().map(|field| grammar.kind(&field.type_name)?.bytes);
        let known = bytes.len().saturating_add(widths.flatten().sum());
        Ok(json!({ "macro": macro_of(&start.name), "known": known, "bytes": bytes }))
    });
    let starts = starts.collect::<Result<Vec<_>, PrintError>>()?;
    let entry = &grammar.continuations.environment.entry;
    let fixed = |bytes: usize, magic: &str| {
        bytes_of(magic).map(|magic| json!({ "bytes": bytes, "magic": magic }))
    };
    let field = |name: &String| json!({ "name": name, "macro": macro_of(name) });
    filled(
        TEMPLATE,
        json!({
            "commands": commands,
            "fields": programs.field_names().iter().map(field).collect::<Vec<_>>(),
            "values": values(grammar),
            "faults": faults(grammar),
            "hresults": grammar.hresults,
            "largest": grammar.largest_message,
            "depth": programs.depth(),
            "programs": rows,
            "leasts": leasts,
            "limits": limits(grammar)?,
            "together": together(grammar)?,
            "distinct": distinct(grammar)?,
            "header": fixed(grammar.header.bytes, &grammar.header.magic)?,
            "advertise": fixed(grammar.advertise.bytes, &grammar.advertise.magic)?,
            "ok_code": grammar.replies.first().map_or("", |reply| &reply.code),
            "error_program": error_program,
            "error_code": grammar.error.code,
            "environment": {
                "least": entry.least,
                "unit": entry.unit,
                "last": entry.last,
                "split": entry.split,
            },
            "starts": starts,
        }),
    )
}

/// The instructions for the fields of a struct or payload.
struct Program {
    name: String,
    /// The names of all structs and payloads with these fields.
    names: Vec<String>,
    bytes: Vec<String>,
    fields: Vec<Field>,
}

struct Programs<'m> {
    grammar: &'m Grammar,
    list: Vec<Program>,
}

impl Programs<'_> {
    /// Returns the number of the program of these fields, which equal fields share. Fields named in
    /// `optional` may be omitted at the end.
    fn add(
        &mut self,
        name: &str,
        fields: &[Field],
        optional: &[&str],
    ) -> Result<usize, PrintError> {
        let mut bytes = Vec::new();
        let mut only = None;
        for field in fields {
            self.instruction(field, only, optional, &mut bytes)?;
            if field.only.is_some() {
                only = Some(field.name.as_str());
            }
        }
        // Structs have separate programs, because their minimum size has the same number.
        let known = self
            .list
            .iter()
            .position(|program| program.bytes == bytes)
            .filter(|_| name.contains('/'));
        if let Some(program) = known.and_then(|nth| self.list.get_mut(nth)) {
            if !program.names.iter().any(|known| known == name) {
                program.names.push(name.to_owned());
            }
            return Ok(known.unwrap_or_default());
        }
        self.list.push(Program {
            name: name.to_owned(),
            names: vec![name.to_owned()],
            bytes,
            fields: fields.to_vec(),
        });
        Ok(self.list.len() - 1)
    }

    fn instruction(
        &self,
        field: &Field,
        only: Option<&str>,
        optional: &[&str],
        bytes: &mut Vec<String>,
    ) -> Result<(), PrintError> {
        let of_struct = |name: &str| self.list.iter().position(|program| program.name == name);
        let (kind, argument) = match (field.type_name.as_str(), field.items.as_deref(), &field.only)
        {
            ("uint", _, Some(only)) => {
                if !only.iter().copied().eq(0..u32::try_from(only.len()).unwrap_or_default())
                    || only.len() != 2
                {
                    return Err(error(format!("{}: only 0 and 1 are supported here", field.name)));
                }
                ("DIPCI_ONLY".to_owned(), Some(only.len()))
            }
            ("hresult", ..) => ("DIPC_HRESULT_CODE".to_owned(), None),
            ("array", Some("uint"), _) => ("DIPC_UINTS".to_owned(), None),
            ("array", Some(items), _) => {
                let program = of_struct(items)
                    .ok_or_else(|| error(format!("{}: an array of {items}", field.name)))?;
                ("DIPC_ARRAY".to_owned(), Some(program))
            }
            (
                "byte" | "ushort" | "uint" | "ulong" | "bool" | "guid" | "string" | "bytes"
                | "rest",
                None,
                _,
            ) => (format!("DIPC_{}", field.type_name.to_uppercase()), None),
            (name, ..) => {
                let program = of_struct(name)
                    .ok_or_else(|| error(format!("{}: unknown type {name}", field.name)))?;
                ("DIPC_STRUCT".to_owned(), Some(program))
            }
        };
        let condition = match &field.when {
            Some(when) if when.field.is_some() => match (when.field.as_deref() == only, when.is) {
                (true, Some(0)) => " | 0x10",
                (true, Some(1)) => " | 0x20",
                _ => {
                    return Err(error(format!(
                        "{}: this condition is not supported here",
                        field.name
                    )));
                }
            },
            _ => "",
        };
        let may_end = field.type_name == "rest" || optional.contains(&field.name.as_str());
        bytes.push(format!("{kind}{condition}{}", if may_end { " | 0x40" } else { "" }));
        bytes.push(format!("DIPC_{}", macro_of(&field.name)));
        bytes.extend(argument.map(|argument| argument.to_string()));
        Ok(())
    }

    fn field_names(&self) -> Vec<String> {
        let mut names = Vec::<String>::new();
        for field in self.list.iter().flat_map(|program| &program.fields) {
            if !names.contains(&field.name) {
                names.push(field.name.clone());
            }
        }
        names
    }

    fn depth(&self) -> usize {
        self.list.iter().map(|program| self.depth_of(&program.fields)).max().unwrap_or_default()
    }

    fn depth_of(&self, fields: &[Field]) -> usize {
        let inner = fields.iter().filter_map(|field| {
            let name = field.items.as_ref().unwrap_or(&field.type_name);
            self.list
                .iter()
                .find(|program| program.name == *name)
                .map(|program| self.depth_of(&program.fields))
        });
        inner.max().unwrap_or_default() + 1
    }
}

/// Returns the row of a command, and adds its programs.
fn command_row(command: &Command, programs: &mut Programs<'_>) -> Result<Value, PrintError> {
    let name = &command.name;
    let grammar = programs.grammar;
    let code =
        command.code.strip_prefix("0x").and_then(|digits| u16::from_str_radix(digits, 16).ok());
    let code = code.ok_or_else(|| error(format!("{name}: {} is not a code", command.code)))?;
    let reply = grammar.replies.iter().find(|reply| reply.name == command.reply);
    let reply = reply.ok_or_else(|| error(format!("{name}: unknown reply {}", command.reply)))?;
    // Only some commands have an error with a text.
    let answers = |field: &&Field| {
        let answers = field.when.as_ref().and_then(|when| when.answers.as_ref());
        answers.is_none_or(|answers| answers.contains(name))
    };
    let of_error: Vec<Field> = grammar.error.fields.iter().filter(answers).cloned().collect();
    let optional: Vec<&str> = of_error
        .iter()
        .filter(|field| field.when.as_ref().is_some_and(|when| when.bytes_left))
        .map(|field| field.name.as_str())
        .collect();
    Ok(json!({
        "macro": format!("CMD_{}", macro_of(name.rsplit('/').next().unwrap_or_default())),
        "name": name,
        "code": command.code,
        "since": command.since,
        "set": code >> 8,
        "id": code & 0xFF,
        "request": programs.add(name, &command.fields, &[])?,
        "reply": programs.add(&format!("/{}", reply.name), &reply.fields, &[])?,
        "error": programs.add("/Error", &of_error, &optional)?,
        "continuation": continuation(&command.continuation)?,
    }))
}

/// Returns one digit for each session type, with type 0 last.
fn continuation(list: &[Continuation]) -> Result<String, PrintError> {
    let of = |session_type| {
        let is = |one: &&Continuation| {
            one.when.as_ref().is_none_or(|when| when.is == Some(session_type))
        };
        let found = list
            .iter()
            .find(is)
            .and_then(|one| CONTINUATIONS.iter().position(|name| *name == one.name));
        found.ok_or_else(|| error("unknown continuation"))
    };
    Ok(format!("{}{}", of(1)?, of(0)?))
}

/// Returns the fields of all messages, except those of the draft.
fn fields_of(grammar: &Grammar) -> impl Iterator<Item = &Field> {
    let structs = grammar
        .structs
        .iter()
        .filter(|of| of.name != "draft_provider_config")
        .flat_map(|of| &of.fields);
    structs.chain(grammar.commands.iter().flat_map(|command| &command.fields))
}

/// Returns the names of numbers, after the name of their field.
fn values(grammar: &Grammar) -> Vec<Value> {
    let mut values = Vec::<Value>::new();
    for field in fields_of(grammar) {
        for (number, name) in &field.names {
            let spelled = format!("{}_{}", macro_of(&field.name), macro_of(name));
            if values.iter().all(|value| value["macro"] != spelled) {
                values.push(json!({ "macro": spelled, "number": number }));
            }
        }
    }
    values
}

/// Returns the number of each error: its layer, and its index there.
fn faults(grammar: &Grammar) -> Vec<Value> {
    let mut faults = Vec::new();
    for (layer, number) in LAYERS.iter().zip(1u32..) {
        let of_layer = grammar.faults.iter().filter(|fault| fault.layer == *layer).zip(0u32..);
        faults.extend(of_layer.map(|(fault, nth)| {
            let spelled = macro_of(&fault.name);
            json!({ "macro": spelled, "name": fault.name, "number": format!("0x{number:X}{nth:X}") })
        }));
    }
    faults
}

/// Returns the limits of fields by name. A name has the same limits everywhere.
fn limits(grammar: &Grammar) -> Result<Vec<Value>, PrintError> {
    let mut fields = Vec::<(String, Vec<Value>)>::new();
    for field in fields_of(grammar) {
        let mut rows = Vec::new();
        for limit in &field.limits {
            let measure = match limit.of {
                Measure::Value => "VALUE",
                Measure::Count => "COUNT",
                Measure::VisibleBeforeNul => "VISIBLE",
                Measure::Utf8BeforeNul => "UTF8",
                Measure::CountOfAll | Measure::Distinct => {
                    return Err(error(format!("{}: a limit of a struct", field.name)));
                }
            };
            rows.extend(limit.ranges.iter().map(|[low, high]| {
                let (field, fault) = (macro_of(&field.name), macro_of(&limit.fault));
                json!({ "field": field, "fault": fault, "measure": measure, "low": low, "high": high })
            }));
        }
        match fields.iter().find(|(name, _)| *name == field.name) {
            Some((_, known)) if *known != rows => {
                return Err(error(format!("{} has two sets of limits", field.name)));
            }
            Some(_) => {}
            None => fields.push((field.name.clone(), rows)),
        }
    }
    Ok(fields.into_iter().flat_map(|(_, rows)| rows).collect())
}

/// Returns the only limit of combined counts.
fn together(grammar: &Grammar) -> Result<Value, PrintError> {
    let limit = only_limit(grammar, Measure::CountOfAll, "combined counts")?;
    let fault = macro_of(&limit.fault);
    match (&limit.fields[..], &limit.ranges[..]) {
        ([first, last], [[low, u32::MAX]]) => {
            let (first, last) = (macro_of(first), macro_of(last));
            Ok(json!({ "fault": fault, "first": first, "last": last, "low": low }))
        }
        _ => Err(error("combined counts: expected two fields and a minimum count")),
    }
}

/// Returns the only limit of distinct numbers.
fn distinct(grammar: &Grammar) -> Result<Value, PrintError> {
    let limit = only_limit(grammar, Measure::Distinct, "distinct numbers")?;
    let fault = macro_of(&limit.fault);
    match &limit.fields[..] {
        [outer, inner] => {
            Ok(json!({ "fault": fault, "outer": macro_of(outer), "inner": macro_of(inner) }))
        }
        _ => Err(error("distinct numbers: expected the path of two fields")),
    }
}

fn only_limit<'g>(grammar: &'g Grammar, of: Measure, what: &str) -> Result<&'g Limit, PrintError> {
    let mut found = grammar.structs.iter().flat_map(|one| &one.limits).filter(|one| one.of == of);
    let limit = found.next().filter(|_| found.next().is_none());
    limit.ok_or_else(|| error(format!("expected one limit of {what}")))
}

/// Converts `nIncomingBytes` to `N_INCOMING_BYTES` and `circularBufferMB` to `CIRCULAR_BUFFER_MB`.
fn macro_of(name: &str) -> String {
    let mut spelled = String::new();
    let mut lower = false;
    for letter in name.chars() {
        if letter.is_ascii_uppercase() && lower {
            spelled.push('_');
        }
        lower = letter.is_ascii_lowercase() || letter.is_ascii_digit();
        spelled.push(if letter.is_ascii_alphanumeric() {
            letter.to_ascii_uppercase()
        } else {
            '_'
        });
    }
    spelled
}
