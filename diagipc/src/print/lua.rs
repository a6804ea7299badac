//! The grammar as a Wireshark dissector in Lua: a table in a fixed engine (`dotnet_ipc.lua.jinja`).

use dotnet_diagnostics_ipc_vectors::grammar::Grammar;
use serde::Serialize;

use super::PrintError;
use super::layout;
use super::template::filled;

const TEMPLATE: &str = include_str!("dotnet_ipc.lua.jinja");

/// The text of `spec/dotnet_ipc.lua`.
pub(super) fn dissector(grammar: &Grammar) -> Result<String, PrintError> {
    filled(TEMPLATE, Page { grammar: layout::lua(grammar) })
}

/// The template's data.
#[derive(Serialize)]
struct Page {
    grammar: String,
}
