//! What the adapter costs beside a hand-written write and read: `ProcessInfo3` asked of a runtime, and a stream of 64 MiB.
//!
//! ```text
//! python3 tests/live/launch.py net10.0.9 -- cargo bench --features io-adapters --bench io
//! ```
//!
//! Each pair is measured in turns, and the ratio of the medians is printed; then come divan's tables.

#[cfg(not(unix))]
fn main() {
    eprintln!("needs Unix sockets");
}

#[cfg(unix)]
fn main() {
    unix::main();
}

#[cfg(unix)]
mod unix {
    use std::io::{self, Read, Write as _};
    use std::os::unix::net::{UnixListener, UnixStream};
    use std::path::{Path, PathBuf};
    use std::sync::{LazyLock, OnceLock};
    use std::thread;
    use std::time::{Duration, Instant};

    use divan::{Bencher, black_box};
    use dotnet_diagnostics_ipc::io::trust::TrustPolicy;
    use dotnet_diagnostics_ipc::io::{Client, Connection, Endpoint, UnixTransport};
    use dotnet_diagnostics_ipc::message::Request as _;
    use dotnet_diagnostics_ipc::message::eventpipe::{CollectTracing2, EventLevel, Format, ProviderConfig};
    use dotnet_diagnostics_ipc::message::process::ProcessInfo3;
    use dotnet_diagnostics_ipc::wire::Array;

    const PIECE: usize = 64 * 1024;
    const STREAM: usize = 64 << 20;
    const PROCESS_INFO3: &[u8; 20] = b"DOTNET_IPC_V1\0\x14\0\x04\x08\0\0";
    const SESSION: &[u8; 28] = b"DOTNET_IPC_V1\0\x1c\0\xff\0\0\0\x2a\0\0\0\0\0\0\0";

    static RUNTIME: LazyLock<PathBuf> = LazyLock::new(|| std::env::var_os("DIAG_SOCKET").unwrap_or_default().into());
    static STREAMER: OnceLock<PathBuf> = OnceLock::new();

    pub(super) fn main() {
        if RUNTIME.as_os_str().is_empty() {
            eprintln!("DIAG_SOCKET is not set: nothing is measured. tests/live/launch.py starts a runtime and sets it.");
            return;
        }
        // What `cargo test` does, and `cargo bench -- --list`.
        if std::env::args().any(|argument| argument == "--bench") {
            let client = Client::new(Endpoint::socket(&*RUNTIME));
            ratio(
                "ProcessInfo3, a connection and a call",
                4000,
                || by_hand(connect(&RUNTIME)),
                || by_connection(connect(&RUNTIME)),
            );
            let trusting = Client::new(Endpoint::socket(&*RUNTIME).trusting(TrustPolicy::UNCHECKED));
            ratio("ProcessInfo3, a client that trusts anybody", 4000, || by_hand(connect(&RUNTIME)), || by_client(&trusting));
            ratio("ProcessInfo3, a client that looks at whom it asks", 4000, || by_hand(connect(&RUNTIME)), || by_client(&client));
            ratio("64 MiB of stream", 60, plain_loop, by_trace);
        }
        divan::main();
        if let Some(directory) = STREAMER.get().and_then(|path| path.parent()) {
            let _ = std::fs::remove_dir_all(directory);
        }
    }

    /// Measures both in turns.
    fn ratio(what: &str, times: usize, mut plain: impl FnMut() -> usize, mut adapter: impl FnMut() -> usize) {
        let mut took = [Vec::new(), Vec::new()];
        for nth in 0..times {
            // Neither is always the first of the two.
            for which in if nth % 2 == 0 { [0, 1] } else { [1, 0] } {
                let began = Instant::now();
                black_box(if which == 0 { plain() } else { adapter() });
                took[which].push(began.elapsed());
            }
        }
        let [plain, adapter] = took.map(median);
        let ratio = adapter.as_secs_f64() / plain.as_secs_f64();
        println!("{what}: by hand {plain:?}, through the adapter {adapter:?}: {:+.1} %", (ratio - 1.0) * 100.0);
    }

    fn median(mut took: Vec<Duration>) -> Duration {
        took.sort_unstable();
        took[took.len() / 2]
    }

    fn connect(path: &Path) -> UnixStream {
        UnixStream::connect(path).unwrap()
    }

    fn by_hand(mut stream: UnixStream) -> usize {
        stream.write_all(PROCESS_INFO3).unwrap();
        let (mut reply, mut have) = ([0; 4096], 0);
        loop {
            have += match stream.read(&mut reply[have..]).unwrap() {
                0 => panic!("it closes"),
                n => n,
            };
            if have >= 16 && have >= usize::from(u16::from_le_bytes([reply[14], reply[15]])) {
                return have;
            }
        }
    }

    fn by_connection(stream: UnixStream) -> usize {
        let answer = Connection::new(UnixTransport::new(stream).unwrap()).call(&ProcessInfo3 {}).unwrap();
        answer.message().len()
    }

    fn by_client(client: &Client) -> usize {
        client.process_info3().unwrap().message().len()
    }

    /// A peer that answers every request with a session and 64 MiB of stream. It lasts as long as the process.
    fn streamer() -> PathBuf {
        let directory = tempfile::tempdir().unwrap().keep();
        let path = directory.join("streamer");
        let listener = UnixListener::bind(&path).unwrap();
        thread::spawn(move || {
            let piece = vec![0x5a; PIECE];
            for stream in listener.incoming() {
                let mut stream = stream.unwrap();
                let mut request = [0; 4096];
                let _ = stream.read(&mut request).unwrap();
                stream.write_all(SESSION).unwrap();
                // Who has enough goes.
                let _ = (0..STREAM / PIECE).try_for_each(|_| stream.write_all(&piece));
            }
        });
        path
    }

    fn to_the_end(mut stream: impl Read) -> usize {
        let (mut piece, mut read) = (vec![0; PIECE], 0);
        loop {
            match stream.read(&mut piece) {
                Ok(0) => break,
                Ok(n) => read += black_box(&piece[..n]).len(),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => panic!("{error}"),
            }
        }
        assert_eq!(read, STREAM);
        read
    }

    fn plain_loop() -> usize {
        let mut stream = connect(STREAMER.get_or_init(streamer));
        let mut request = [0; 4096];
        let len = collect(|collect| collect.encode_message(&mut request).unwrap());
        stream.write_all(&request[..len]).unwrap();
        stream.read_exact(&mut [0; SESSION.len()]).unwrap();
        to_the_end(stream)
    }

    fn by_trace() -> usize {
        let client = Client::new(Endpoint::socket(STREAMER.get_or_init(streamer)));
        to_the_end(collect(|collect| client.trace(collect).unwrap()))
    }

    fn collect<T>(then: impl FnOnce(&CollectTracing2<'_>) -> T) -> T {
        let providers = [ProviderConfig::new("Microsoft-Windows-DotNETRuntime", 1, EventLevel::INFORMATIONAL)];
        let (format, providers) = (Format::NET_TRACE, Array::new(&providers));
        then(&CollectTracing2 { circular_buffer_mb: 16, format, request_rundown: false, providers })
    }

    #[divan::bench]
    fn process_info3_by_hand() -> usize {
        by_hand(connect(&RUNTIME))
    }

    #[divan::bench]
    fn process_info3_by_connection() -> usize {
        by_connection(connect(&RUNTIME))
    }

    #[divan::bench]
    fn process_info3_by_client(bencher: Bencher<'_, '_>) {
        let client = Client::new(Endpoint::socket(&*RUNTIME));
        bencher.bench_local(|| by_client(&client));
    }

    #[divan::bench(sample_count = 20)]
    fn stream_by_plain_loop(bencher: Bencher<'_, '_>) {
        bencher.counter(divan::counter::BytesCount::new(STREAM)).bench_local(plain_loop);
    }

    #[divan::bench(sample_count = 20)]
    fn stream_by_trace(bencher: Bencher<'_, '_>) {
        bencher.counter(divan::counter::BytesCount::new(STREAM)).bench_local(by_trace);
    }
}
