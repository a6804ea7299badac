//! Reads the variables of diagnostic ports, and the names of sockets and pipes.

use super::show;
use dotnet_diagnostics_ipc::endpoint::{PipeName, ProcessStat, SocketName, SocketPath};
use dotnet_diagnostics_ipc::port::{
    PortConfig, PortId, Ports, ResumeEffect, Suspension, WritePorts, default_port_suspend, ignored,
    strict,
};
use dotnet_diagnostics_ipc::wire::Encode as _;

/// Reads any text as `DOTNET_DiagnosticPorts` and `DOTNET_DefaultDiagnosticPortSuspend`.
pub fn ports(input: &[u8]) {
    let Ok(text) = std::str::from_utf8(input) else { return };
    let ports: Vec<_> = Ports::new(text).collect();
    for ignored in ignored(text) {
        assert!(text[ignored.offset..].starts_with(ignored.text), "{ignored:?}");
    }
    match strict(text) {
        Ok(read) => {
            assert!(read.eq(ports.iter().copied()));
            // The grammar allows only valid parts, except for repeated tags.
            assert!(
                ignored(text).all(
                    |part| part.reason == dotnet_diagnostics_ipc::port::IgnoredReason::LaterTag
                ),
                "{text:?}"
            );
        }
        Err(error) => assert!(error.offset() <= text.len(), "{error}"),
    }
    let again = WritePorts::new(&ports).unwrap().to_string();
    assert!(Ports::new(&again).eq(ports.iter().copied()), "{text:?} {again:?}");
    default_port_suspend(text);
    resume(&ports, input.len() % 2 == 0);
}

/// Resumes port by port. The runtime starts with the last suspended port, and not before.
fn resume(ports: &[PortConfig<'_>], default_suspends: bool) {
    let Some(mut state) = Suspension::<8>::new(default_suspends, ports.iter().copied()) else {
        assert!(ports.len() > 8);
        return;
    };
    let mut waiting = ports.iter().filter(|port| port.suspend_mode.suspends()).count()
        + usize::from(default_suspends);
    assert_eq!(state.left(), waiting);
    let all = (0..ports.len()).map(PortId::Configured).chain([PortId::Default]);
    for id in all {
        let suspends = match id {
            PortId::Default => default_suspends,
            PortId::Configured(nth) => ports[nth].suspend_mode.suspends(),
        };
        waiting -= usize::from(suspends);
        let expected = match (suspends, waiting) {
            (false, _) => ResumeEffect::Nothing,
            (true, 0) => ResumeEffect::Starts,
            (true, left) => ResumeEffect::Waits { left },
        };
        assert_eq!(state.resume(id), Some(expected));
        assert_eq!(state.resume(id), Some(ResumeEffect::Nothing));
    }
    assert!(state.is_started());
}

/// Reads any text as the name of a socket or pipe, and any bytes as `/proc/PID/stat`.
pub fn endpoint_names(input: &[u8]) {
    match ProcessStat::parse(input) {
        Ok(stat) => assert_eq!(ProcessStat::parse(stat.to_string().as_bytes()), Ok(stat)),
        Err(error) => assert!(error.offset() <= input.len(), "{error}"),
    }
    let Ok(text) = std::str::from_utf8(input) else { return };
    match SocketName::parse(text) {
        Ok(name) => {
            assert_eq!(SocketName::parse(&name.to_string()), Ok(name));
            let path = SocketPath { directory: text, name };
            assert_eq!(path.encoded_len(), Ok(path.to_string().len()));
            assert_eq!(SocketName::from_path(&path.to_string()), Ok(name));
        }
        Err(error) => assert!(error.offset() <= text.len(), "{error}"),
    }
    match PipeName::parse(text) {
        Ok(name) => assert_eq!(PipeName::parse(&name.to_string()), Ok(name)),
        Err(error) => assert!(error.offset() <= text.len(), "{error}"),
    }
    show(SocketName::from_path(text));
}
