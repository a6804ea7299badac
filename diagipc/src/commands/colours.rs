//! Terminal colours.

use std::io;

use anstyle::{AnsiColor, Style};

/// When to use colours: on a terminal, unless `NO_COLOR` or similar variables disable them.
pub(crate) struct Colours(bool);

impl Colours {
    pub(crate) fn of_output() -> Self {
        Self(anstream::AutoStream::choice(&io::stdout()) != anstream::ColorChoice::Never)
    }

    pub(crate) fn paint(&self, text: &str, colour: AnsiColor) -> String {
        let style = Style::new().fg_color(Some(colour.into())).bold();
        if self.0 { format!("{style}{text}{style:#}") } else { text.to_owned() }
    }
}
