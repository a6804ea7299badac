//! Information on a fault by its name, for any kind of target.

use super::client::ClientFault;
use super::codec::CodecFault;
use super::report::{Cause, Report};
use super::server::ServerFault;

/// A fault in a report, with its information.
///
/// ```
/// use diagipc::NamedFault;
///
/// let fault = NamedFault::of("codec", "wrong-value:providers[].keywords").expect("codecs have it");
/// assert!(fault.fix.contains("byte order"));
/// assert_eq!(NamedFault::of("codec", "no-such-fault"), None);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NamedFault {
    /// The suite that finds it: `server`, `client` or `codec`.
    pub suite: &'static str,
    /// Its description.
    pub sentence: &'static str,
    /// How to fix it.
    pub fix: &'static str,
    /// The facts and requirements that it violates.
    pub spec: &'static [&'static str],
}

impl NamedFault {
    /// The suites whose faults have names.
    pub const SUITES: [&'static str; 3] = ["server", "client", "codec"];

    /// The fault that the reports of a suite call `name`.
    pub fn of(suite: &str, name: &str) -> Option<Self> {
        match suite {
            "server" => server_fault(name),
            "client" => client_fault(name),
            "codec" => {
                let (sentence, fix) = (CodecFault::meaning(name)?, CodecFault::fix(name)?);
                Some(Self { suite: "codec", sentence, fix, spec: &[] })
            }
            _ => None,
        }
    }

    /// The fault that is a cause of a report. In a report of `check` the suite precedes the names
    /// of its cases.
    pub fn of_cause(report: &Report, cause: &Cause) -> Option<Self> {
        let suites = [Some(report.suite.as_str()), cause.example.split('/').next()];
        suites.into_iter().flatten().find_map(|suite| Self::of(suite, &cause.name))
    }
}

fn server_fault(name: &str) -> Option<NamedFault> {
    let fault = ServerFault::ALL.iter().find(|fault| fault.name() == name)?;
    Some(NamedFault {
        suite: "server",
        sentence: fault.sentence(),
        fix: fault.fix(),
        spec: fault.spec(),
    })
}

fn client_fault(name: &str) -> Option<NamedFault> {
    let fault = ClientFault::ALL.iter().find(|fault| fault.name() == name)?;
    Some(NamedFault {
        suite: "client",
        sentence: fault.sentence(),
        fix: fault.fix(),
        spec: fault.spec(),
    })
}
