//! What this program starts ends with it, even if it is killed.

use std::env;
use std::process::Command;

use anyhow::Context as _;
use diagipc::{own_all_started, watch_started};

use crate::commands::Outcome;

/// To be called before anything is started.
pub(crate) fn own() -> anyhow::Result<()> {
    let mut watcher = Command::new(env::current_exe().context("the path of this program")?);
    watcher.arg("watcher");
    own_all_started(watcher).context("owning what is started")
}

/// `diagipc watcher`: ends it, when this program is gone.
pub(crate) fn watch() -> anyhow::Result<Outcome> {
    watch_started().context("watching")?;
    Ok(Outcome::Well)
}
