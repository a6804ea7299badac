//! A target that may be given by its name.

use anyhow::bail;
use diagipc::Address;
use dotnet_diagnostics_ipc::io::{Error, ErrorKind, Phase};

use crate::commands::ps;

/// A target by its address, process id or name.
#[derive(Clone, clap::Args)]
#[allow(clippy::doc_markdown, reason = "this is the help of a command")]
pub(crate) struct Named {
    /// A process id, the path of a socket, or a pipe (`\\.\pipe\NAME`)
    target: Option<Address>,

    /// The process with this id, in place of TARGET
    #[arg(long, value_name = "PID", conflicts_with_all = ["target", "name"])]
    process_id: Option<u32>,

    /// The only process of this name, in place of TARGET: that of its entry assembly or program
    #[arg(short, long, value_name = "NAME")]
    name: Option<String>,
}

impl Named {
    /// The name that the process must have.
    pub(crate) fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    /// Its address, if one was given. A name is looked for.
    pub(crate) fn address(&self) -> anyhow::Result<Option<Address>> {
        match (&self.target, self.process_id, &self.name) {
            (Some(target), _, name) if name.is_none() || matches!(target, Address::Port(_)) => {
                Ok(Some(target.clone()))
            }
            (Some(target), ..) => {
                bail!("--name finds a process, or chooses one that connects: not with {target}")
            }
            (None, Some(id), _) => Ok(Some(Address::Process(id))),
            (None, None, Some(name)) => Ok(Some(Address::Process(only(name)?))),
            (None, None, None) => Ok(None),
        }
    }
}

/// The only process of that name.
fn only(name: &str) -> anyhow::Result<u32> {
    match *ps::named(name)? {
        [id] => Ok(id),
        [] => {
            let what = format!("a .NET process with the name {name}, as in `diagipc ps`,");
            Err(Error::new(Phase::Find, ErrorKind::NotFound(what)).into())
        }
        ref several => {
            let ids: Vec<_> = several.iter().map(u32::to_string).collect();
            bail!("processes {} have the name {name}: expected one", ids.join(", "))
        }
    }
}
