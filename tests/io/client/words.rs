//! What a caller prints of an error.

use dotnet_diagnostics_ipc::io::Phase;
use dotnet_diagnostics_ipc::io::discovery::State;

#[test]
fn a_phase_says_what_the_call_was_doing() {
    let words = [
        (Phase::Find, "looking for the endpoint"),
        (Phase::Trust, "looking at who owns the endpoint"),
        (Phase::Connect, "connecting"),
        (Phase::Advertise, "reading the advertise"),
        (Phase::Send, "sending the request"),
        (Phase::SendFd, "passing the descriptor"),
        (Phase::Reply, "waiting for the reply"),
        (Phase::Continuation, "reading what follows the reply"),
        (Phase::Stop, "stopping the session"),
        (Phase::Listen, "listening"),
    ];
    for (phase, text) in words {
        assert_eq!(phase.to_string(), text);
    }
}

#[test]
fn a_socket_that_was_found_says_whether_anybody_listens() {
    let words = [
        (State::Listening, "listening"),
        (State::Stale, "stale"),
        (State::Superseded, "superseded"),
        (State::Unknown(std::io::ErrorKind::PermissionDenied), "unknown: permission denied"),
    ];
    for (state, text) in words {
        assert_eq!(state.to_string(), text);
    }
}
