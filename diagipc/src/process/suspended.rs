//! Finds out whether a process waits at its start, and for what.

use std::fmt;
use std::fs;

use dotnet_diagnostics_ipc::port::{
    DEFAULT_PORT_SUSPEND_VARIABLE, PORTS_VARIABLE, Ports, default_port_suspend,
};

use super::procfs;

/// The names of the threads of a waiting runtime: its server's and its synchronisation's.
const NAMES_WHILE_WAITING: [&str; 2] = [".NET EventPipe", ".NET SynchManag"];

/// What a process waits for at its start.
///
/// ```
/// use diagipc::process::Suspended;
///
/// // This process runs.
/// assert_eq!(Suspended::of(std::process::id()), None);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Suspended {
    /// Whether the process waits for `ResumeRuntime` at its default port.
    pub at_default_port: bool,
    /// The ports to which the process connects, and at which it waits for `ResumeRuntime`.
    pub ports: Vec<String>,
}

impl Suspended {
    /// Looks at the environment and the threads of a process. Returns `None` if it runs, or if
    /// `/proc` shows too little. No runtime reports whether it waits.
    pub fn of(process_id: u32) -> Option<Self> {
        let asked = Self::asked_for(&procfs::environment(process_id)?)?;
        waits(process_id)?.then_some(asked)
    }

    /// Returns how many tools must resume the process.
    pub fn tools(&self) -> usize {
        self.ports.len() + usize::from(self.at_default_port)
    }

    /// Returns what an environment asks a runtime to wait for.
    fn asked_for(environment: &[Vec<u8>]) -> Option<Self> {
        let value = |name: &str| {
            let value = |name: &str| {
                let entry = environment.iter().find_map(|entry| {
                    entry.strip_prefix(name.as_bytes())?.strip_prefix(b"=").map(<[u8]>::to_vec)
                })?;
                String::from_utf8(entry).ok()
            };
            value(name).or_else(|| value(&name.replace("DOTNET_", "COMPlus_")))
        };
        let at_default_port = value(DEFAULT_PORT_SUSPEND_VARIABLE)
            .and_then(|text| default_port_suspend(&text))
            .is_some_and(|number| number != 0);
        let ports = value(PORTS_VARIABLE).unwrap_or_default();
        let ports = Ports::new(&ports)
            .filter(|port| port.suspend_mode.suspends())
            .map(|port| port.address.to_owned());
        let asked = Self { at_default_port, ports: ports.collect() };
        (asked.at_default_port || !asked.ports.is_empty()).then_some(asked)
    }
}

impl fmt::Display for Suspended {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("waits at its start for ")?;
        if self.at_default_port {
            f.write_str("a resume")?;
        }
        for (nth, port) in self.ports.iter().enumerate() {
            let and = if nth > 0 || self.at_default_port { " and for " } else { "" };
            write!(f, "{and}its port {port}")?;
        }
        Ok(())
    }
}

/// Returns whether the process has only the threads of a waiting runtime. A runtime that has
/// started has its finalizer too. `CoreCLR` 8 to 11 and `NativeAOT` 10 and 11 use these names;
/// threads of older `NativeAOT` have the program's name.
fn waits(process_id: u32) -> Option<bool> {
    let name = |task: &str| {
        let name = fs::read_to_string(format!("/proc/{process_id}/task/{task}/comm")).ok()?;
        Some(name.trim_end().to_owned())
    };
    let main = name(&process_id.to_string())?;
    let tasks = fs::read_dir(format!("/proc/{process_id}/task")).ok()?;
    let names: Vec<_> = tasks.filter_map(|task| name(task.ok()?.file_name().to_str()?)).collect();
    let unnamed = names.iter().filter(|name| **name == main).count();
    let is_known = |name: &String| *name == main || NAMES_WHILE_WAITING.contains(&name.as_str());
    Some(names.len() > 1 && unnamed <= 2 && names.iter().all(is_known))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn environment_says_what_a_process_waits_for() {
        let asked = |entries: &[&str]| {
            let entries: Vec<_> = entries.iter().map(|entry| entry.as_bytes().to_vec()).collect();
            Suspended::asked_for(&entries).map(|asked| asked.to_string())
        };
        let waits = |what: &str| Some(format!("waits at its start for {what}"));
        assert_eq!(asked(&["A=1", "DOTNET_DefaultDiagnosticPortSuspend=0"]), None);
        assert_eq!(asked(&["DOTNET_DiagnosticPorts=/a,nosuspend"]), None);
        assert_eq!(asked(&["DOTNET_DefaultDiagnosticPortSuspend=1"]), waits("a resume"));
        assert_eq!(asked(&["COMPlus_DiagnosticPorts=/a"]), waits("its port /a"));
        assert_eq!(
            asked(&[
                "DOTNET_DefaultDiagnosticPortSuspend=1",
                "DOTNET_DiagnosticPorts=/a,connect;/b,nosuspend;/c,suspend",
            ]),
            waits("a resume and for its port /c and for its port /a")
        );
    }
}
