//! The grammar as a Wireshark dissector in Lua: a table in a fixed engine (`dotnet_ipc.lua.jinja`).

use alloc::string::String;

use serde::Serialize;

use super::GrammarError;
use super::layout;
use super::model::Model;
use super::template::filled;

const TEMPLATE: &str = include_str!("dotnet_ipc.lua.jinja");

/// The text of `spec/dotnet_ipc.lua`.
pub(super) fn dissector(model: &Model) -> Result<String, GrammarError> {
    filled(TEMPLATE, Page { grammar: layout::lua(model) })
}

/// The template's data.
#[derive(Serialize)]
struct Page {
    grammar: String,
}
