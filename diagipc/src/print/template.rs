//! Fills the templates of the printed files.

use minijinja::{Environment, syntax::SyntaxConfig, value::Serde};
use serde::Serialize;

use super::{PrintError, error};

/// The text of a template with the data of `page`.
pub(super) fn filled(template: &str, page: impl Serialize) -> Result<String, PrintError> {
    render(template, Serde(page)).map_err(|unfilled| error(unfilled.to_string()))
}

fn render(template: &str, page: Serde<impl Serialize>) -> Result<String, minijinja::Error> {
    let mut jinja = Environment::new();
    jinja.set_syntax(SyntaxConfig::builder().keep_trailing_newline(true).build()?);
    jinja.render_str(template, page)
}
