//! `diagipc report`.

use std::ffi::OsStr;
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::bail;
use diagipc::report::{Comparison, html};
use diagipc::server::report_of_recording;
use diagipc::{Citations, Report};
use serde_json::Value;

use crate::commands::printable::{plain, printable_lines, say};
use crate::commands::{Outcome, decode, output_file, text};

/// Prints a report again, or compares several.
#[derive(clap::Args)]
#[command(
    after_long_help = exit_statuses!(
        "0  the reports were read, whatever their results",
        "1  a file is not a report, or with --against one has a new failure",
        "2  usage error, or a file that cannot be read or written",
    )
)]
pub(crate) struct Arguments {
    /// Write one page: implementations by cases, with all details
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,

    /// Compare with an older report of the same suite: a failure that is new in any of the others
    /// fails
    #[arg(long, value_name = "OLD")]
    against: Option<String>,

    /// Also print each case of a single report that did not pass, with all details
    #[arg(long, short, conflicts_with = "against")]
    verbose: bool,

    /// The most bytes of a report to read
    #[arg(long, value_name = "BYTES", default_value_t = 256 << 20)]
    limit: u64,

    /// The output of a suite with `--json`, or a recording of diagipc/evidence/ (outcomes alone)
    #[arg(required = true, value_name = "REPORT")]
    reports: Vec<String>,
}

pub(crate) fn run(arguments: &Arguments, out: &mut dyn Write) -> anyhow::Result<Outcome> {
    let mut reports = Vec::new();
    for file in arguments.against.iter().chain(&arguments.reports) {
        let bytes = decode::read(file, arguments.limit, decode::MORE)?;
        let report = std::str::from_utf8(&bytes).map_err(|error| error.to_string()).and_then(read);
        match report {
            Ok(report) => reports.push(report),
            Err(error) => {
                say(&format!("diagipc: {file} is not a report: {}", plain(&error)));
                return Ok(Outcome::Faulty);
            }
        }
    }
    let citations = Citations::embedded();
    if let Some(file) = &arguments.html {
        let page = html(&reports, &citations).map_err(anyhow::Error::msg)?;
        output_file::write(file, page.as_bytes())?;
    }
    if let (Some(_), Some((old, news))) = (&arguments.against, reports.split_first()) {
        let mut outcome = Outcome::Well;
        for new in news {
            if old.suite != new.suite {
                bail!("the reports are of {} and {}", old.suite, new.suite);
            }
            let comparison = Comparison::new(old, new);
            write!(out, "{}", printable_lines(&comparison.to_string()))?;
            writeln!(out)?;
            if !comparison.is_passed() {
                outcome = Outcome::Faulty;
            }
        }
        return Ok(outcome);
    }
    if let [report] = &reports[..] {
        text::write(report, &citations, arguments.verbose, out)?;
        return Ok(Outcome::Well);
    }
    let row = |(path, report): (&String, &Report)| {
        let file = Path::new(path).file_name().map_or(path.into(), OsStr::to_string_lossy);
        let runtime = report.runtime.as_ref().unwrap_or(&report.target);
        (format!("{file}: {} {runtime}", report.suite), report.counts)
    };
    let rows: Vec<_> = arguments.reports.iter().zip(&reports).map(row).collect();
    writeln!(out, "{}", text::table("report", &rows))?;
    Ok(Outcome::Well)
}

fn read(text: &str) -> Result<Report, String> {
    let is_recording = serde_json::from_str::<Value>(text)
        .is_ok_and(|value| value.get("outcomes").is_some() && value.get("build").is_some());
    if is_recording { report_of_recording(text) } else { Report::parse(text) }
}
