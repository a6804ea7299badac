//! Shorter waits for this program's own runtime and client.

use dotnet_diagnostics_ipc_vectors::script::Step;

/// How long this program's own runtime and client are watched where nothing may happen: 3 s in
/// scripts, for runtimes that begin slowly.
const QUIET_MS: u32 = 1000;

/// Shortens the waits of a step.
pub(crate) fn hurry(step: &mut Step) {
    let wait = match step {
        Step::Wait(step) => &mut step.wait,
        Step::ExpectNothing(step) => &mut step.expect_nothing,
        Step::ExpectNoConnection(step) => &mut step.expect_no_connection,
        _ => return,
    };
    *wait = QUIET_MS.min(*wait);
}
