//! `diagipc info`: what a process reports about itself.

use std::io::Write;

use dotnet_diagnostics_ipc::command::Command;
use dotnet_diagnostics_ipc::hresult::HResult;
use dotnet_diagnostics_ipc::io::{Client, Connect, Error};
use dotnet_diagnostics_ipc::wire::{Guid, IpcString};
use serde::Serialize;

use crate::commands::printable::{json, printable};
use crate::commands::target::{Refused, TargetArguments, if_known, outcome};
use crate::commands::{Outcome, interrupt};

/// Shows what a process reports about itself: its command line, its version, …
///
/// Sends `ProcessInfo3`, and older versions if the runtime does not know it.
#[derive(clap::Args)]
#[command(
    after_help = "Exit status: 0 shown, 1 the runtime does not know ProcessInfo, 2 usage error, 3 it cannot be reached, 129, 130 or 143 interrupted."
)]
pub(crate) struct Arguments {
    #[command(flatten)]
    target: TargetArguments,

    /// As JSON
    #[arg(long)]
    json: bool,
}

/// The reply of the newest `ProcessInfo` of a runtime, with the protocol's names.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Info {
    pub(crate) process_id: u64,
    #[serde(serialize_with = "as_text")]
    pub(crate) runtime_cookie: Guid,
    pub(crate) command_line: String,
    #[serde(rename = "OS")]
    pub(crate) os: String,
    pub(crate) arch: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) managed_entrypoint_assembly_name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) clr_product_version: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) runtime_identifier: Option<String>,
}

fn as_text<S: serde::Serializer>(guid: &Guid, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(guid)
}

impl Info {
    /// Sends the newest that the runtime knows, at most `newest`: it has the most fields.
    pub(crate) fn ask<C: Connect>(client: &Client<C>, newest: Command) -> anyhow::Result<Self> {
        let says_nothing = || Refused("the runtime answered OK without a payload".to_owned());
        let info3 =
            if newest == Command::PROCESS_INFO3 { if_known(client.process_info3())? } else { None };
        if let Some(answer) = info3 {
            let info = answer.payload().ok_or_else(says_nothing)?;
            return Ok(Self {
                managed_entrypoint_assembly_name: Some(
                    info.managed_entrypoint_assembly_name.to_string(),
                ),
                clr_product_version: Some(info.clr_product_version.to_string()),
                runtime_identifier: Some(info.runtime_identifier.to_string()),
                ..Self::oldest(
                    info.process_id,
                    info.runtime_cookie,
                    [info.command_line, info.os, info.arch],
                )
            });
        }
        let info2 =
            if newest == Command::PROCESS_INFO { None } else { if_known(client.process_info2())? };
        if let Some(answer) = info2 {
            let info = answer.payload().ok_or_else(says_nothing)?;
            return Ok(Self {
                managed_entrypoint_assembly_name: Some(
                    info.managed_entrypoint_assembly_name.to_string(),
                ),
                clr_product_version: Some(info.clr_product_version.to_string()),
                ..Self::oldest(
                    info.process_id,
                    info.runtime_cookie,
                    [info.command_line, info.os, info.arch],
                )
            });
        }
        let answer = client.process_info().map_err(|error| match error.hresult() {
            Some(HResult::UNKNOWN_COMMAND) => anyhow::Error::new(error)
                .context("the runtime does not know ProcessInfo: .NET Core 3.1 or older"),
            _ => error.into(),
        })?;
        let info = answer.payload().ok_or_else(says_nothing)?;
        Ok(Self::oldest(
            info.process_id,
            info.runtime_cookie,
            [info.command_line, info.os, info.arch],
        ))
    }

    /// The same with the newest; `None` if the runtime does not answer it, as .NET Core 3.1.
    pub(crate) fn if_known<C: Connect>(client: &Client<C>) -> anyhow::Result<Option<Self>> {
        match Self::ask(client, Command::PROCESS_INFO3) {
            Err(error) if error.downcast_ref().and_then(Error::hresult).is_some() => Ok(None),
            info => info.map(Some),
        }
    }

    /// The fields that every `ProcessInfo` has.
    fn oldest(process_id: u64, runtime_cookie: Guid, texts: [IpcString<'_>; 3]) -> Self {
        let [command_line, os, arch] = texts.map(|text| text.to_string());
        Self {
            process_id,
            runtime_cookie,
            command_line,
            os,
            arch,
            managed_entrypoint_assembly_name: None,
            clr_product_version: None,
            runtime_identifier: None,
        }
    }

    /// Its fields in the order received, with their labels.
    pub(crate) fn rows(&self) -> Vec<(&'static str, String)> {
        let mut rows = vec![
            ("process", self.process_id.to_string()),
            ("cookie", self.runtime_cookie.to_string()),
            ("command line", self.command_line.clone()),
            ("OS", self.os.clone()),
            ("architecture", self.arch.clone()),
        ];
        let newer = [
            ("entry assembly", &self.managed_entrypoint_assembly_name),
            ("version", &self.clr_product_version),
            ("RID", &self.runtime_identifier),
        ];
        rows.extend(newer.into_iter().filter_map(|(name, text)| Some((name, text.clone()?))));
        rows
    }
}

/// What names a process in a file name: its entry assembly, if it is known, and its id.
pub(crate) fn subject(info: Option<&Info>) -> String {
    let Some(info) = info else { return "process".to_owned() };
    let assembly = info.managed_entrypoint_assembly_name.as_ref().filter(|name| !name.is_empty());
    let id = info.process_id;
    assembly.map_or_else(|| id.to_string(), |name| format!("{name}_{id}"))
}

pub(crate) fn run(arguments: &Arguments, out: &mut dyn Write) -> anyhow::Result<Outcome> {
    let client = arguments.target.client(interrupt::canceller()?)?;
    let asked = Info::ask(&client, Command::PROCESS_INFO3);
    let shown = asked.and_then(|info| {
        if arguments.json {
            return Ok(json(&info, out)?);
        }
        Ok(info
            .rows()
            .iter()
            .try_for_each(|(name, text)| writeln!(out, "{name:14}  {}", printable(text)))?)
    });
    outcome("info", shown)
}
