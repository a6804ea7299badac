//! Workflows trust no moving tag, and give no job more permissions than it needs. Published
//! packages do not have this test.

use std::fs;
use std::path::{Path, PathBuf};

fn here(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(name)
}

/// The names and texts of the workflows.
fn workflows() -> Vec<(String, String)> {
    let Ok(entries) = fs::read_dir(here(".github/workflows")) else { return Vec::new() };
    let read = |path: PathBuf| (path.display().to_string(), fs::read_to_string(&path).unwrap());
    entries.map(|entry| read(entry.unwrap().path())).collect()
}

/// The owner of an action's tag can move it, but a commit cannot be moved.
#[test]
fn workflow_actions_are_pinned_by_commit_and_keep_no_token() {
    for (file, text) in workflows() {
        let lines: Vec<&str> = text.lines().collect();
        for (nth, line) in lines.iter().enumerate() {
            let Some((_, action)) = line.split_once("uses: ") else { continue };
            let (name, version) = action.split_once('@').unwrap_or((action, ""));
            let (commit, tag) = version.split_once(" # v").unwrap_or((version, ""));
            assert!(
                commit.len() == 40
                    && commit.bytes().all(|byte| byte.is_ascii_hexdigit())
                    && tag.split('.').count() == 3,
                "{file}: {action}, expected `{name}@COMMIT # vX.Y.Z`"
            );
            let given = lines[nth + 1..].iter().take_while(|line| line.starts_with("        "));
            assert!(
                name != "actions/checkout"
                    || given.into_iter().any(|line| line.trim() == "persist-credentials: false"),
                "{file}: a checkout leaves its token on the disk"
            );
        }
    }
}

/// A job that builds others' code must not have a token that can write.
#[test]
fn workflow_job_that_may_write_runs_no_code_of_the_repository() {
    for (file, text) in workflows() {
        let (front, jobs) = text.split_once("\njobs:\n").expect("jobs");
        assert!(front.contains("\npermissions:\n  contents: read\n"), "{file}");
        for job in jobs.split("\n\n").filter(|job| job.contains(": write")) {
            let is_small =
                ["checkout", "cargo", ".ci/", "python3"].iter().all(|word| !job.contains(word));
            assert!(is_small, "{file}: {job}");
        }
    }
}
