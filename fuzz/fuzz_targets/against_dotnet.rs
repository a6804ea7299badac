//! Without a fuzzer: `against_dotnet [CASES [SEED]]` runs the requests of the vectors, and CASES changed or generated ones.
#![cfg_attr(all(feature = "libfuzzer", not(feature = "afl")), no_main)]

use std::path::Path;
use std::process::exit;

use dotnet_diagnostics_ipc_fuzz::bodies;
use dotnet_diagnostics_ipc_fuzz::dotnet::Dotnet;

/// The exit status of a check that cannot be made here.
const SKIPPED: i32 = 77;

/// The server in the module that `$DOTNET_WASM` names.
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
dotnet_diagnostics_ipc_fuzz::target!(against_dotnet);

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

    const EDGES: [u32; 12] =
        [0, 1, 2, 5, 6, 0xff, 1000, 1001, 0x7fff_ffff, 0x8000_0000, 0x8000_0001, u32::MAX];

    /// A request of the vectors with up to four changes, or a generated one, or a generated one with changes.
    fn changed(messages: &[Vec<u8>], rng: &mut fastrand::Rng) -> Vec<u8> {
        let kind = rng.u8(..8);
        if kind < 3 {
            let mut chosen = vec![0; rng.usize(1..400)];
            rng.fill(&mut chosen);
            return bodies::generated(kind > 0, &chosen);
        }
        let mut bytes = messages[rng.usize(..messages.len())].clone();
        for _ in 0..rng.u8(1..5) {
            let from = if rng.u8(..8) == 0 { 0 } else { bytes.len().min(16) };
            let at = rng.usize(from..=bytes.len());
            let end = bytes.len().min(at + rng.usize(..9));
            match rng.u8(..8) {
                0 => bytes.truncate(at),
                1 => drop(bytes.drain(at..end)),
                2 => drop(
                    bytes.splice(
                        at..at,
                        (0..rng.u8(..9))
                            .map(|_| EDGES[usize::from(at as u8 % 12)] as u8)
                            .collect::<Vec<_>>(),
                    ),
                ),
                3 => {
                    let other = &messages[rng.usize(..messages.len())];
                    bytes.extend_from_slice(&other[rng.usize(..=other.len())..]);
                }
                4 | 5 => {
                    let edge = EDGES[rng.usize(..EDGES.len())].to_le_bytes();
                    bytes[at..].iter_mut().zip(edge).for_each(|(byte, new)| *byte = new);
                }
                6 => bytes[at..end].iter_mut().for_each(|byte| *byte = rng.u8(..)),
                _ => bytes[at..end].iter_mut().take(1).for_each(|byte| *byte ^= 1 << rng.u8(..8)),
            }
        }
        bytes.truncate(usize::from(u16::MAX));
        // The size is usually corrected: otherwise the payload is not read.
        let size = (bytes.len() as u16).to_le_bytes();
        if let (Some(place), 1..) = (bytes.get_mut(14..16), rng.u8(..8)) {
            place.copy_from_slice(&size);
        }
        if bytes.is_empty() { vec![0] } else { bytes }
    }

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
        for _ in 0..cases {
            one(&changed(&messages, &mut rng));
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
