//! Fills the templates of the files that are printed.

use alloc::string::String;

use minijinja::{Environment, syntax::SyntaxConfig, value::Serde};
use serde::Serialize;

use super::GrammarError;

/// The text of a template with what `page` has.
pub(super) fn filled(template: &str, page: impl Serialize) -> Result<String, GrammarError> {
    let mut jinja = Environment::new();
    jinja.set_syntax(SyntaxConfig::builder().keep_trailing_newline(true).build()?);
    Ok(jinja.render_str(template, Serde(page))?)
}
