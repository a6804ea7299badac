//! Explains a refusal to a user who does not know its code.

use anyhow::Error as AnyError;
use dotnet_diagnostics_ipc::command::Command;
use dotnet_diagnostics_ipc::hresult::HResult;
use dotnet_diagnostics_ipc::io::{Error, ErrorKind};

/// Returns the request without which a command of this program has nothing to show.
pub(crate) fn request_of(command: &str) -> Option<Command> {
    Some(match command {
        "info" => Command::PROCESS_INFO,
        "env" => Command::PROCESS_ENVIRONMENT,
        "trace" => Command::COLLECT_TRACING,
        "dump" => Command::GENERATE_CORE_DUMP,
        _ => return None,
    })
}

/// Adds what the code of a refusal does not say, unless the error has a context already.
pub(crate) fn explained(error: AnyError, request: Option<Command>) -> AnyError {
    let refusal = error.downcast_ref::<Error>().filter(|_| error.chain().count() == 1);
    let (Some(refusal), Some(request)) = (refusal, request) else { return error };
    match hint(refusal, request) {
        Some(hint) => error.context(hint),
        None => error,
    }
}

fn hint(refusal: &Error, request: Command) -> Option<String> {
    let ErrorKind::Refused { hresult, message } = refusal.kind() else { return None };
    let is_session = request.name().is_some_and(|name| name.starts_with("CollectTracing"));
    match *hresult {
        HResult::UNKNOWN_COMMAND => {
            let (name, since) = (request.name()?, request.since()?);
            Some(format!("the runtime does not know {name}, which is in .NET {since} and later"))
        }
        HResult::FAIL if is_session => {
            Some("no session was started: a runtime has at most 64 at once (F-32)".to_owned())
        }
        _ if message.as_ref().is_some_and(|message| forbids_ptrace(message)) => Some(
            "the process could not be traced for its dump: that takes CAP_SYS_PTRACE, and a seccomp filter that allows ptrace (in a container: --cap-add SYS_PTRACE)"
                .to_owned(),
        ),
        _ => None,
    }
}

/// Returns whether a message of createdump says that the system forbids it to read the process.
fn forbids_ptrace(message: &str) -> bool {
    let message = message.to_lowercase();
    let is_about_file = message.contains("output file");
    message.contains("ptrace") || message.contains("operation not permitted") && !is_about_file
}

#[cfg(test)]
mod tests {
    use dotnet_diagnostics_ipc::io::Phase;

    use super::*;

    fn shown(hresult: HResult, message: Option<&str>, request: Command) -> String {
        let kind = ErrorKind::Refused { hresult, message: message.map(str::to_owned) };
        let error = Error::new(Phase::Reply, kind).into();
        let shown = format!("{:#}", explained(error, Some(request)));
        shown.split(": the runtime answered").next().unwrap().to_owned()
    }

    #[test]
    fn refusal_has_the_reason_that_its_code_lacks() {
        let unknown = |request| shown(HResult::UNKNOWN_COMMAND, None, request);
        assert_eq!(
            unknown(Command::PROCESS_ENVIRONMENT),
            "the runtime does not know ProcessEnvironment, which is in .NET 5.0 and later"
        );
        let session = shown(HResult::FAIL, None, Command::COLLECT_TRACING2);
        assert_eq!(session, "no session was started: a runtime has at most 64 at once (F-32)");
        let dump = |message| shown(HResult::FAIL, Some(message), Command::GENERATE_CORE_DUMP3);
        for message in [
            "[createdump] ptrace(ATTACH, 1) FAILED Operation not permitted (1)",
            "The process or container does not have SYS_PTRACE",
            "[createdump] open(/proc/1/mem) FAILED: Operation not permitted (1)",
        ] {
            assert!(dump(message).contains("takes CAP_SYS_PTRACE, and a seccomp"), "{message}");
        }
        for message in ["", "Could not create output file '/a': Operation not permitted (1)"] {
            assert!(!dump(message).contains("SYS_PTRACE"), "{message}");
        }
    }

    #[test]
    fn explained_error_is_not_explained_again() {
        let kind = ErrorKind::Refused { hresult: HResult::UNKNOWN_COMMAND, message: None };
        let error = AnyError::new(Error::new(Phase::Reply, kind)).context("known");
        let shown = format!("{:#}", explained(error, Some(Command::PROCESS_INFO)));
        assert!(shown.starts_with("known: the runtime answered"), "{shown}");
    }
}
