//! The reference runtime passes the exchange scripts like the runtime that it imitates.

use std::os::unix::net::UnixStream;
use std::sync::Mutex;
use std::thread;
use std::time::Duration;

use diagipc::known::Profile;
use diagipc::network::LiveNetwork;
use diagipc::runtime::{Config, ReferenceRuntime};
use dotnet_diagnostics_ipc_vectors as vectors;
use dotnet_diagnostics_ipc_vectors::Hazard;
use dotnet_diagnostics_ipc_vectors::player::{Network as _, Player};
use dotnet_diagnostics_ipc_vectors::script::{ClientPart, Plays, Script, Step};

/// How many conversations run at the same time, each with its own runtime.
const TOGETHER: usize = 24;

/// Plays `steps` with a new runtime.
fn play(
    profile: Profile,
    part: &ClientPart,
    steps: &[&Step],
    within_ms: u32,
) -> Result<(), String> {
    let directory = crate::tool::directory();
    let path = |name: &str| directory.path().join(name).to_str().unwrap().to_owned();
    let socket = path("socket");
    let at = socket.clone();
    let mut network = part.target.ports.iter().fold(LiveNetwork::to(&socket), |network, port| {
        network.with_port(&port.id, path(&port.id))
    });
    let listens = part.target.default_port;
    network = network
        .with_directory(directory.path())
        .with_process(move || !listens || UnixStream::connect(&at).is_ok())
        .with_user_events_data(true);
    for port in part.target.ports.iter().filter(|port| port.listening) {
        network.listen(&port.id, true).unwrap();
    }
    let dumps = Some(directory.path().to_owned());
    let suspended = part.target.suspended;
    let mut config = Config { profile, dumps, suspended, ..Config::new(&socket) };
    for (name, value) in &part.target.environment {
        config.set(name, value.as_bytes());
    }
    let ports = part.target.ports.iter().map(|port| {
        let mode = if port.suspend { "suspend" } else { "nosuspend" };
        format!("{},{mode}", path(&port.id))
    });
    config.ports = Some(ports.collect::<Vec<_>>().join(";")).filter(|ports| !ports.is_empty());
    let runtime = ReferenceRuntime::start(config).unwrap();
    let mut player = Player::new(&mut network, Duration::from_millis(within_ms.into()));
    let went = player.play(steps.iter().copied()).map_err(|failure| failure.to_string());
    player.close_all().unwrap();
    runtime.stop();
    went
}

/// Plays all scripts for which `chosen` returns steps; returns their number. What fails beside the
/// others is played again by itself: some steps wait while the runtime is busy, and a late one is not.
#[track_caller]
fn play_all<'s>(
    profile: Profile,
    scripts: &'s [(Script, u32)],
    chosen: impl Fn(&'s Script) -> Option<Vec<&'s Step>> + Sync,
) -> usize {
    let (next, wrong) = (Mutex::new(scripts.iter()), Mutex::new(Vec::new()));
    let played = Mutex::new(0);
    thread::scope(|scope| {
        for _ in 0..TOGETHER {
            scope.spawn(|| {
                loop {
                    let one = next.lock().unwrap().next();
                    let Some((script, within_ms)) = one else { break };
                    let (Plays::Client(part), Some(steps)) = (&script.plays, chosen(script)) else {
                        continue;
                    };
                    *played.lock().unwrap() += 1;
                    if play(profile, part, &steps, *within_ms).is_err() {
                        wrong.lock().unwrap().push((script, part, steps, *within_ms));
                    }
                }
            });
        }
    });
    let again = |(script, part, steps, within_ms): (&Script, &ClientPart, Vec<&Step>, u32)| {
        let why = play(profile, part, &steps, within_ms).err()?;
        Some(format!("{} {} on {profile}: {why}", script.sc_id, script.name))
    };
    let wrong: Vec<_> = wrong.into_inner().unwrap().into_iter().filter_map(again).collect();
    assert!(wrong.is_empty(), "{} failures\n{}", wrong.len(), wrong.join("\n"));
    played.into_inner().unwrap()
}

/// All scripts that play the client, with the deadline of their file. A separate process shows what
/// signals do (`program`).
fn scripts() -> Vec<(Script, u32)> {
    let files = vectors::script_files().unwrap();
    let all = files
        .into_iter()
        .flat_map(|file| file.scripts.into_iter().map(move |script| (script, file.within_ms)));
    all.filter(|(script, _)| !script.steps.iter().any(|step| matches!(step, Step::Signal(_))))
        .collect()
}

/// Whether runtimes like `profile` have what the script needs.
fn has(profile: Profile, script: &Script) -> bool {
    script.since.as_deref().is_none_or(|since| profile.has(since))
}

/// Harmless scripts pass as on the recorded runtime, its deviations included. .NET 11 was never
/// recorded, so the document decides.
#[track_caller]
fn harmless_pass(profile: Profile, at_least: usize, differ: &[&str]) {
    let scripts = scripts();
    let played = play_all(profile, &scripts, |script| {
        let is_meant = script.hazard != Some(Hazard::Harmful) && has(profile, script);
        let is_meant = is_meant && !differ.contains(&script.name.as_str());
        is_meant.then(|| script.steps_on(&profile.recording().unwrap_or_default()).0)
    });
    assert!(played >= at_least, "{played}");
}

#[test]
#[ignore = "long: .ci/nightly long"]
fn scripts_harmless_pass_as_each_net() {
    for (profile, at_least) in [
        (Profile::CORECLR_3_1, 40),
        (Profile::CORECLR_8, 110),
        (Profile::CORECLR_9, 110),
        (Profile::CORECLR_11, 140),
    ] {
        harmless_pass(profile, at_least, &[]);
    }
}

#[test]
fn scripts_harmless_pass_as_net10() {
    harmless_pass(Profile::CORECLR_10, 110, &[]);
}

/// What a program compiled ahead of time answers differently, by fact: the scripts that ask for it.
const NATIVE_AOT_DIFFERS: &[&str] = &[
    // F-91
    "startup-profiler-too-late",
    "startup-profiler-while-suspended",
    "attach-profiler-no-path",
    "attach-profiler-no-library",
    "attach-profiler-while-suspended",
    "attach-profiler-with-bytes-behind",
    "attach-profiler-with-bytes-behind-while-suspended",
    // F-92
    "perf-map-disabled-when-it-is-not-on",
    "perf-map-type-0",
    "perf-map-type-4",
    // F-93
    "startup-hook-absent",
    "startup-hook-empty",
    "startup-hook-while-suspended",
    // F-96
    "set-variable-with-an-empty-name",
    "set-variable-without-a-name",
    "variable-with-an-equals-sign-in-its-name",
    "variable-without-name-and-value",
    // F-98
    "dump-where-a-crash-writes-one",
    "dump-full",
    "dump2-full",
    "dump3-full",
    "dump-in-progress-blocks-others",
];

#[test]
fn scripts_harmless_pass_as_native_aot_except_missing_parts() {
    harmless_pass(Profile::NATIVE_AOT_8, 90, NATIVE_AOT_DIFFERS);
    harmless_pass(Profile::NATIVE_AOT_9, 95, NATIVE_AOT_DIFFERS);
}

/// Harmful scripts pass as recorded too. Where the recorded runtime reads beyond the payload, its
/// behaviour is undefined, and the strict profile has the script.
#[test]
fn scripts_harmful_pass_as_net8_to_net10() {
    let scripts = scripts();
    for (profile, at_least) in
        [(Profile::CORECLR_8, 25), (Profile::CORECLR_9, 25), (Profile::CORECLR_10, 40)]
    {
        let played = play_all(profile, &scripts, |script| {
            let is_meant = script.hazard == Some(Hazard::Harmful) && has(profile, script);
            let (steps, deviation) = script.steps_on(&profile.recording().unwrap_or_default());
            let undefined = ["F-7", "F-71", "F-72", "P-45"];
            let is_undefined = deviation.is_some_and(|one| undefined.contains(&one.fact.as_str()));
            (is_meant && !is_undefined).then_some(steps)
        });
        assert!(played >= at_least, "{played}");
    }
}

#[test]
fn scripts_pass_as_strict() {
    let scripts = scripts();
    let played = play_all(Profile::STRICT, &scripts, |script| {
        has(Profile::STRICT, script).then(|| script.steps.iter().collect())
    });
    assert!(played >= 150, "{played}");
}
