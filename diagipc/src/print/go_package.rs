//! Prints the grammar as a Go package in one file: its types and limits, with a fixed engine
//! (`dotnetipc.go.jinja`).

use dotnet_diagnostics_ipc_vectors::grammar::{Command, Field, Grammar};
use minijinja::{Environment, Error, ErrorKind};
use serde_json::{Value, json};

use super::{PrintError, bytes_of, error, filled};

const TEMPLATE: &str = include_str!("dotnetipc.go.jinja");

pub(super) fn package(grammar: &Grammar) -> Result<String, PrintError> {
    let requests = grammar.commands.iter().flat_map(requests_of).collect::<Vec<_>>();
    let structs = grammar.structs.iter().filter(|of| of.name != "draft_provider_config");
    let structs = structs.collect::<Vec<_>>();
    let of_commands = grammar.commands.iter().flat_map(|command| &command.fields);
    let mut fields = Vec::<&Field>::new();
    for field in structs.iter().flat_map(|of| &of.fields).chain(of_commands) {
        match fields.iter().find(|known| known.name == field.name) {
            Some(known) if known.limits != field.limits || known.names != field.names => {
                return Err(error(format!("{} has two sets of limits or names", field.name)));
            }
            Some(_) => {}
            None => fields.push(field),
        }
    }
    filled(
        TEMPLATE,
        json!({ "grammar": grammar, "requests": requests, "structs": structs, "fields": fields }),
    )
}

pub(super) fn add_filters(jinja: &mut Environment<'_>) {
    jinja.add_filter("go_name", |name: &str| go_name(name));
    jinja.add_filter("go_type", go_type);
    jinja.add_filter("go_text", |digits: &str| {
        let text = bytes_of(digits).map(|bytes| format!("\"{}\"", bytes.escape_ascii()));
        text.map_err(|error| Error::new(ErrorKind::InvalidOperation, error.to_string()))
    });
}

/// Returns the types of a command's request: one for each value of a field that selects the others.
fn requests_of(command: &Command) -> Vec<Value> {
    let short = go_name(command.name.rsplit('/').next().unwrap_or_default());
    let request = |name: &str, is: Option<u32>| {
        let applies = |condition: Option<Option<u32>>| condition.is_none_or(|value| value == is);
        let fields = command.fields.iter().filter(|field| {
            field.only.is_none() && applies(field.when.as_ref().map(|when| when.is))
        });
        let mut next = command.continuation.iter();
        json!({
            "go": format!("{short}{name}"),
            "command": command,
            "variant": is,
            "fields": fields.collect::<Vec<_>>(),
            "continuation": next.find(|next| applies(next.when.as_ref().map(|when| when.is))),
        })
    };
    let variants = command.fields.iter().find(|field| field.only.is_some());
    let named = |field: &Field| {
        field.names.iter().map(|(is, name)| request(&go_name(name), Some(*is))).collect()
    };
    variants.map_or_else(|| vec![request("", None)], named)
}

fn go_type(kind: &str, items: Option<&str>) -> String {
    let go = match (kind, items) {
        ("byte", _) => "uint8",
        ("ushort", _) => "uint16",
        ("uint", _) => "uint32",
        ("ulong", _) => "uint64",
        ("bool", _) => "bool",
        ("bytes", _) => "[]byte",
        ("guid", _) => "GUID",
        ("hresult", _) => "HResult",
        ("array", Some(items)) => return format!("[]{}", go_type(items, None)),
        (name, _) => return go_name(name),
    };
    go.to_owned()
}

/// Returns the Go name: `provider_name` becomes `ProviderName`, `processId` becomes `ProcessID`.
fn go_name(name: &str) -> String {
    let words = name.split(|letter: char| !letter.is_ascii_alphanumeric()).map(|word| {
        let mut letters = word.chars();
        let first = letters.next().map(|letter| letter.to_ascii_uppercase());
        first.into_iter().chain(letters).collect::<String>()
    });
    let name = words.collect::<String>().replace("Guid", "GUID").replace("Hresult", "HResult");
    let initials = ["Id", "Ids"].iter().find_map(|end| Some((name.strip_suffix(end)?, end)));
    initials.map_or(name.clone(), |(front, end)| format!("{front}{}", end.replace("Id", "ID")))
}
