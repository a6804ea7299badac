//! The grammar as readable text: what fits into a line is on one.

use dotnet_diagnostics_ipc_vectors::grammar::Grammar;
use serde_json::Value;

const WIDTH: usize = 140;

/// How a language writes values.
struct Language {
    list: [char; 2],
    /// The name of a value in an object, and what follows it.
    name: fn(&str) -> String,
    text: fn(&str) -> String,
}

const JSON: Language =
    Language { list: ['[', ']'], name: |name| format!("{}: ", quoted(name)), text: quoted };
const LUA: Language = Language { list: ['{', '}'], name: lua_name, text: quoted };

/// The text of `spec/grammar.json`.
pub(super) fn json(grammar: &Grammar) -> String {
    let mut text = written(grammar, &JSON);
    text.push('\n');
    text
}

/// The same as a Lua table.
pub(super) fn lua(grammar: &Grammar) -> String {
    written(grammar, &LUA)
}

fn written(grammar: &Grammar, language: &Language) -> String {
    // Cannot fail: every key is text.
    let value = serde_json::to_value(grammar).unwrap_or_default();
    let mut text = String::new();
    language.write(&value, 0, &mut text);
    text
}

impl Language {
    fn write(&self, value: &Value, depth: usize, out: &mut String) {
        let line = self.in_a_line(value);
        // The outermost is never one line, so diffs stay small.
        if depth > 0 && line.chars().count() + depth * 2 <= WIDTH {
            out.push_str(&line);
            return;
        }
        let inner = depth + 1;
        let indent = |depth: usize| format!("\n{}", "  ".repeat(depth));
        let [first, last] = self.list;
        match value {
            Value::Array(items) => {
                out.push(first);
                for (nth, item) in items.iter().enumerate() {
                    out.push_str(if nth == 0 { "" } else { "," });
                    out.push_str(&indent(inner));
                    self.write(item, inner, out);
                }
                out.push_str(&indent(depth));
                out.push(last);
            }
            Value::Object(object) => {
                out.push('{');
                for (nth, (key, item)) in object.iter().enumerate() {
                    out.push_str(if nth == 0 { "" } else { "," });
                    out.push_str(&indent(inner));
                    out.push_str(&(self.name)(key));
                    self.write(item, inner, out);
                }
                out.push_str(&indent(depth));
                out.push('}');
            }
            _ => out.push_str(&line),
        }
    }

    fn in_a_line(&self, value: &Value) -> String {
        let joined = |items: Vec<String>| items.join(", ");
        let [first, last] = self.list;
        match value {
            Value::Array(items) => format!(
                "{first}{}{last}",
                joined(items.iter().map(|item| self.in_a_line(item)).collect())
            ),
            Value::Object(object) if object.is_empty() => "{}".to_string(),
            Value::Object(object) => {
                let entry = |(key, item): (&String, &Value)| {
                    format!("{}{}", (self.name)(key), self.in_a_line(item))
                };
                format!("{{ {} }}", joined(object.iter().map(entry).collect()))
            }
            Value::String(text) => (self.text)(text),
            other => other.to_string(),
        }
    }
}

/// As in JSON, which YAML and Lua read as well: the texts have quotes, backslashes and no other
/// escapes.
pub(super) fn quoted(text: &str) -> String {
    Value::from(text).to_string()
}

/// Numbers are keys in brackets; all other keys of the grammar are valid names in Lua.
fn lua_name(key: &str) -> String {
    if key.chars().all(|letter| letter.is_ascii_digit()) {
        return format!("[{key}] = ");
    }
    format!("{key} = ")
}
