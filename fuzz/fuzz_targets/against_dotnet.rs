//! Compares this crate with .NET. Without a fuzzer, `against_dotnet [CASES [SEED]]` runs the
//! requests of the vectors, and CASES generated or damaged requests.
#![cfg_attr(feature = "programs", no_main)]

use std::path::Path;
use std::process::exit;

use dotnet_diagnostics_ipc_fuzz::bodies;
use dotnet_diagnostics_ipc_fuzz::dotnet::Dotnet;

/// The exit status of a check that cannot be made here.
const SKIPPED: i32 = 77;

/// Starts the server in the module that `$DOTNET_WASM` names.
fn start() -> Dotnet {
    let Some(path) = std::env::var_os("DOTNET_WASM") else {
        eprintln!(
            "SKIPPED: against_dotnet: DOTNET_WASM names no mono11.wasm; fuzz/README.md says how to make it"
        );
        exit(SKIPPED);
    };
    Dotnet::start(Path::new(&path)).unwrap_or_else(|error| {
        eprintln!("DOTNET_WASM: {error}");
        exit(2);
    })
}

#[cfg(feature = "programs")]
thread_local! {
    static DOTNET: std::cell::RefCell<Dotnet> = std::cell::RefCell::new(start());
}

#[cfg(feature = "programs")]
fn against_dotnet(input: &[u8]) {
    DOTNET.with_borrow_mut(|dotnet| bodies::against_dotnet(input, dotnet));
}

#[cfg(feature = "programs")]
libfuzzer_sys::fuzz_target!(|input: &[u8]| against_dotnet(input));

#[cfg(not(feature = "programs"))]
fn main() {
    seeded::main();
}

#[cfg(not(feature = "programs"))]
mod seeded {
    use std::collections::BTreeMap;
    use std::time::Instant;

    use super::{bodies, start};

    /// How many differences of one kind are printed.
    const PRINTED: usize = 3;

    pub fn main() {
        let mut arguments = std::env::args().skip(1).map(|it| it.parse::<u64>().expect("a number"));
        let (cases, seed) = (arguments.next().unwrap_or(20_000), arguments.next().unwrap_or(1));
        let (mut dotnet, messages, mut rng) =
            (start(), bodies::messages(), fastrand::Rng::with_seed(seed));
        let began = Instant::now();
        let mut kinds = BTreeMap::<String, usize>::new();
        let mut one = |request: &[u8]| {
            if let Err(difference) = bodies::same_answer(request, &mut dotnet) {
                let kind = kinds.entry(difference.chars().take(160).collect()).or_default();
                *kind += 1;
                if *kind <= PRINTED {
                    println!("{difference}\n    {}", hex::encode(request));
                }
            }
        };
        messages.iter().for_each(|message| one(message));
        let mut chosen = [0; 400];
        for _ in 0..cases {
            rng.fill(&mut chosen);
            let len = rng.usize(1..chosen.len());
            one(&bodies::generated(rng.bool(), &chosen[..len]));
        }
        let total = cases + messages.len() as u64;
        let different: usize = kinds.values().sum();
        println!(
            "{total} requests, seed {seed}: {different} differences, {:.0} a second",
            total as f64 / began.elapsed().as_secs_f64()
        );
        std::process::exit(i32::from(different > 0));
    }
}
