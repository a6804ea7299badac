//! A report as a badge: its verdict in a line.

use serde_json::json;

use super::Report;

/// JSON of the form that [shields.io](https://shields.io/badges/endpoint-badge) reads at an address of your own. Green
/// if the run passed, red if it failed, grey if it is not whole.
///
/// ```
/// use diagipc::{Report, report::badge};
///
/// let badge: serde_json::Value = serde_json::from_str(&badge(&Report::new("codec", "./adapter")))?;
/// assert_eq!(badge["message"], "PASSED: 0 judged");
/// # Ok::<(), serde_json::Error>(())
/// ```
pub fn badge(report: &Report) -> String {
    let is_whole = report.lost.is_none() && report.interrupted.is_none();
    let colour = match (report.is_passed(), is_whole) {
        (true, _) => "brightgreen",
        (false, true) => "red",
        (false, false) => "lightgrey",
    };
    let badge = json!({
        "schemaVersion": 1,
        "label": format!("DOTNET_IPC_V1 {}", report.suite),
        "message": report.verdict(),
        "color": colour,
    });
    format!("{badge:#}\n")
}
