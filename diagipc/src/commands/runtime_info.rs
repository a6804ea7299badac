//! What a process reports about itself.

use dotnet_diagnostics_ipc::hresult::HResult;
use dotnet_diagnostics_ipc::io::{Client, Connect, Error, RuntimeInfo};
use serde::ser::{Serialize, SerializeMap as _, Serializer};

/// Information about a process; its JSON has the protocol's names.
#[derive(Debug)]
pub(crate) struct Info(pub(crate) RuntimeInfo);

impl Info {
    /// Asks for the information with the newest command that the runtime knows.
    pub(crate) fn ask<C: Connect>(client: &Client<C>) -> anyhow::Result<Self> {
        let info = client.info().map_err(|error| match error.hresult() {
            Some(HResult::UNKNOWN_COMMAND) => anyhow::Error::new(error)
                .context("the runtime does not know ProcessInfo: .NET Core 3.1 or older"),
            _ => error.into(),
        })?;
        Ok(Self(info))
    }

    /// Asks as `ask` does; `None` if the runtime refuses to answer, as .NET Core 3.1 does.
    pub(crate) fn if_known<C: Connect>(client: &Client<C>) -> Result<Option<Self>, Error> {
        match client.info() {
            Err(error) if error.hresult().is_some() => Ok(None),
            info => info.map(|info| Some(Self(info))),
        }
    }

    /// Returns the fields after the process id, in the order received: names, labels and texts.
    fn fields(&self) -> [(&'static str, &'static str, Option<String>); 7] {
        let info = &self.0;
        let assembly = info.managed_entrypoint_assembly_name.clone();
        [
            ("runtimeCookie", "cookie", Some(info.runtime_cookie.to_string())),
            ("commandLine", "command line", Some(info.command_line.clone())),
            ("OS", "OS", Some(info.os.clone())),
            ("arch", "architecture", Some(info.arch.clone())),
            ("managedEntrypointAssemblyName", "entry assembly", assembly),
            ("clrProductVersion", "version", info.clr_product_version.clone()),
            ("runtimeIdentifier", "RID", info.runtime_identifier.clone()),
        ]
    }

    /// Returns the fields that the runtime reported, with their labels.
    pub(crate) fn rows(&self) -> Vec<(&'static str, String)> {
        let mut rows = vec![("process", self.0.process_id.to_string())];
        rows.extend(self.fields().into_iter().filter_map(|(_, label, text)| Some((label, text?))));
        rows
    }
}

impl Serialize for Info {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("processId", &self.0.process_id)?;
        for (name, _, text) in self.fields() {
            if let Some(text) = text {
                map.serialize_entry(name, &text)?;
            }
        }
        map.end()
    }
}

/// Returns what names a process in a file name: its entry assembly, if it is known, and its id.
pub(crate) fn subject(info: Option<&Info>) -> String {
    let Some(Info(info)) = info else { return "process".to_owned() };
    let assembly = info.managed_entrypoint_assembly_name.as_ref().filter(|name| !name.is_empty());
    let id = info.process_id;
    assembly.map_or_else(|| id.to_string(), |name| format!("{name}_{id}"))
}
