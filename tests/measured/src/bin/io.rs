//! What the adapter costs beside a hand-written write and read: `ProcessInfo3` asked of a runtime,
//! and a stream of 64 MiB.
//!
//! ```text
//! python3 diagipc/tests/live/launch.py net10.0.12 -- cargo run --release \
//!     --manifest-path tests/measured/Cargo.toml --features io --bin io
//! ```
//!
//! Each pair is measured in turns, round by round, and the ratio of the best rounds is printed, of
//! time and of processor time; then what each system call adds that is not among those by hand, the
//! allocations of a call, and requests a second from several threads. `ROW=TEXT` measures only the
//! pairs with that text in their name.
//!
//! `--calls` makes calls that `strace` can count, between two of `getppid` each: of a client that is
//! told the process, of one that trusts anybody, and of tokio's. `--operation NAME N`
//! prints the microseconds that one of N operations takes; `clients.py` asks that, in turns with
//! other clients.

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
    use std::hint::black_box;
    use std::io::{self, Read, Write as _};
    use std::os::unix::net::{UnixListener, UnixStream};
    use std::path::{Path, PathBuf};
    use std::sync::{LazyLock, OnceLock};
    use std::thread;
    use std::time::{Duration, Instant};

    use dotnet_diagnostics_ipc::io::trust::TrustPolicy;
    use dotnet_diagnostics_ipc::io::{AsyncClient, Client, Connection, Endpoint, UnixTransport};
    use dotnet_diagnostics_ipc::message::Request as _;
    use dotnet_diagnostics_ipc::message::eventpipe::{
        CollectTracing2, EventLevel, Format, ProviderConfig,
    };
    use dotnet_diagnostics_ipc::message::process::ProcessInfo3;
    use dotnet_diagnostics_ipc::wire::Array;

    const PIECE: usize = 64 * 1024;
    const STREAM: usize = 64 << 20;
    const ROUNDS: usize = 40;
    const PROCESS_INFO3: &[u8; 20] = b"DOTNET_IPC_V1\0\x14\0\x04\x08\0\0";
    const PROCESS_ENVIRONMENT: &[u8; 20] = b"DOTNET_IPC_V1\0\x14\0\x04\x02\0\0";
    const SESSION: &[u8; 28] = b"DOTNET_IPC_V1\0\x1c\0\xff\0\0\0\x2a\0\0\0\0\0\0\0";

    static RUNTIME: LazyLock<PathBuf> =
        LazyLock::new(|| std::env::var_os("DIAG_SOCKET").unwrap_or_default().into());
    static STREAMER: OnceLock<PathBuf> = OnceLock::new();

    pub(super) fn main() {
        if RUNTIME.as_os_str().is_empty() {
            eprintln!(
                "DIAG_SOCKET is not set: nothing is measured. diagipc/tests/live/launch.py starts a runtime and sets it."
            );
            return;
        }
        let arguments: Vec<String> = std::env::args().collect();
        if arguments.iter().any(|argument| argument == "--calls") {
            return calls();
        }
        if let Some(at) = arguments.iter().position(|argument| argument == "--operation") {
            return operation(&arguments[at + 1], arguments[at + 2].parse().unwrap());
        }
        measure();
        if let Some(directory) = STREAMER.get().and_then(|path| path.parent()) {
            let _ = std::fs::remove_dir_all(directory);
        }
    }

    fn measure() {
        let client = Client::new(Endpoint::socket(&*RUNTIME));
        ratio(
            "ProcessInfo3, a connection and a call",
            200,
            || by_hand(connect(&RUNTIME)),
            || by_connection(connect(&RUNTIME)),
        );
        let trusting = Client::new(Endpoint::socket(&*RUNTIME).trusting(TrustPolicy::UNCHECKED));
        ratio(
            "ProcessInfo3, a client that trusts anybody",
            200,
            || by_hand(connect(&RUNTIME)),
            || by_client(&trusting),
        );
        ratio(
            "ProcessInfo3, a client that looks at whom it asks",
            200,
            || by_hand(connect(&RUNTIME)),
            || by_client(&client),
        );
        let process = Client::new(Endpoint::process(process_id()));
        ratio(
            "ProcessInfo3, a client that is told the process",
            200,
            || by_hand(connect(&RUNTIME)),
            || by_client(&process),
        );
        by_tokio();
        for (what, calls) in ADDITIONS {
            ratio(what, 200, || by_hand(connect(&RUNTIME)), || by_hand_with(calls));
        }
        ratio("64 MiB of stream", 2, plain_loop, by_trace);
        if std::env::var_os("ROW").is_some() {
            return;
        }
        for (who, client) in [("the socket", &client), ("the process", &process)] {
            let count = allocation_counter::measure(|| {
                black_box(by_client(client));
            });
            println!("allocations of a call by a client that is told {who}: {}", count.count_total);
        }
        for threads in [1, 4, 16, 64] {
            let mut best = [0f64; 2];
            for round in 0..16 {
                for which in in_turns(round) {
                    let call = || {
                        if which == 0 { by_hand(connect(&RUNTIME)) } else { by_client(&client) }
                    };
                    best[which] = best[which].max(requests_a_second(threads, call));
                }
            }
            let [plain, adapter] = best;
            println!(
                "requests a second from {threads} threads: {:.2} of those by hand ({adapter:.0}, {plain:.0})",
                adapter / plain
            );
        }
    }

    fn by_tokio() {
        let (tokio, client) = tokio();
        let by_client = || tokio.block_on(by_async_client(&client));
        ratio("ProcessInfo3, a client of tokio's", 200, || by_hand(connect(&RUNTIME)), by_client);
        ratio(
            "ProcessInfo3, tokio by hand",
            200,
            || by_hand(connect(&RUNTIME)),
            || tokio.block_on(by_hand_async()),
        );
        // It is warm only after a call.
        by_client();
        let count = allocation_counter::measure(|| {
            black_box(by_client());
        });
        println!("allocations of a call by a client of tokio's: {}", count.count_total);
    }

    /// One call of each client, once everything is warm.
    fn calls() {
        let counted = |call: &dyn Fn() -> usize| {
            call();
            let _ = rustix::process::getppid();
            call();
            let _ = rustix::process::getppid();
        };
        let client = Client::new(Endpoint::process(process_id()));
        counted(&|| by_client(&client));
        let trusting = Client::new(Endpoint::socket(&*RUNTIME).trusting(TrustPolicy::UNCHECKED));
        counted(&|| by_client(&trusting));
        {
            let (tokio, client) = tokio();
            counted(&|| tokio.block_on(by_async_client(&client)));
        }
    }

    /// Prints the microseconds that one of `times` operations takes.
    fn operation(name: &str, times: u32) {
        let client = Client::new(Endpoint::process(process_id()));
        let environment = || {
            let mut entries = 0;
            client
                .environment()
                .unwrap()
                .for_each(|entry| entries += black_box(entry.text().to_string()).len())
                .unwrap();
            entries
        };
        let run: &dyn Fn() -> usize = match name {
            "process-info-by-hand" => &|| by_hand(connect(&RUNTIME)),
            "process-info" => &|| by_client(&client),
            "environment-by-hand" => &environment_by_hand,
            "environment" => &environment,
            _ => panic!("{name} is not an operation"),
        };
        black_box(run());
        let began = Instant::now();
        for _ in 0..times {
            black_box(run());
        }
        println!("{:.1}", began.elapsed().as_secs_f64() * 1e6 / f64::from(times));
    }

    /// The reply and the block behind it, to the end.
    fn environment_by_hand() -> usize {
        let mut stream = connect(&RUNTIME);
        stream.write_all(PROCESS_ENVIRONMENT).unwrap();
        let mut block = Vec::new();
        stream.read_to_end(&mut block).unwrap()
    }

    fn process_id() -> u32 {
        std::env::var("DIAG_PID").ok().and_then(|text| text.parse().ok()).unwrap_or_default()
    }

    fn requests_a_second(threads: u32, call: impl Fn() -> usize + Sync) -> f64 {
        const ALL: u32 = 4096;
        let began = Instant::now();
        thread::scope(|scope| {
            for _ in 0..threads {
                scope.spawn(|| {
                    for _ in 0..ALL / threads {
                        black_box(call());
                    }
                });
            }
        });
        f64::from(ALL) / began.elapsed().as_secs_f64()
    }

    fn processor_time() -> Duration {
        let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
        Duration::try_from(time).unwrap()
    }

    /// Neither is always the first of the two.
    fn in_turns(round: usize) -> [usize; 2] {
        if round.is_multiple_of(2) { [0, 1] } else { [1, 0] }
    }

    /// Measures both in turns, and compares the best rounds, of so many calls.
    fn ratio(
        what: &str,
        calls: u32,
        mut plain: impl FnMut() -> usize,
        mut adapter: impl FnMut() -> usize,
    ) {
        if std::env::var("ROW").is_ok_and(|row| !what.contains(&*row)) {
            return;
        }
        let (mut took, mut worked) = ([Duration::MAX; 2], [Duration::MAX; 2]);
        for round in 0..ROUNDS {
            for which in in_turns(round) {
                let (began, processor) = (Instant::now(), processor_time());
                for _ in 0..calls {
                    black_box(if which == 0 { plain() } else { adapter() });
                }
                took[which] = took[which].min(began.elapsed());
                worked[which] = worked[which].min(processor_time().saturating_sub(processor));
            }
        }
        let of_one = |all: Duration| all.as_secs_f64() * 1e6 / f64::from(calls);
        let ([plain, adapter], [plain_work, work]) = (took.map(of_one), worked.map(of_one));
        println!(
            "{what}: {:.2} of the time by hand ({adapter:.1} us, {plain:.1}), {:.2} of the processor time ({work:.1} us, {plain_work:.1})",
            adapter / plain,
            work / plain_work
        );
    }

    fn connect(path: &Path) -> UnixStream {
        UnixStream::connect(path).unwrap()
    }

    fn by_hand(mut stream: UnixStream) -> usize {
        stream.write_all(PROCESS_INFO3).unwrap();
        reply(stream)
    }

    fn reply(mut stream: UnixStream) -> usize {
        let (mut reply, mut have) = ([0; 4096], 0);
        while !is_whole(&reply, have) {
            match stream.read(&mut reply[have..]).unwrap() {
                0 => panic!("it closes"),
                n => have += n,
            }
        }
        have
    }

    fn is_whole(reply: &[u8], have: usize) -> bool {
        have >= 16 && have >= usize::from(u16::from_le_bytes([reply[14], reply[15]]))
    }

    /// System calls of ours that are not among those by hand.
    #[derive(Clone, Copy, PartialEq)]
    enum Call {
        /// Whether the socket is the one that was looked at before.
        Stat,
        /// Who listens.
        Credentials,
        /// The wait for the reply, which ends.
        Poll,
        /// The same by a limit of the socket's own.
        Limit,
    }

    const ADDITIONS: &[(&str, &[Call])] = &[
        ("By hand with statx", &[Call::Stat]),
        ("By hand with SO_PEERCRED", &[Call::Credentials]),
        ("By hand with ppoll", &[Call::Poll]),
        ("By hand with SO_RCVTIMEO in place of ppoll", &[Call::Limit]),
        ("By hand with SO_PEERCRED and ppoll", &[Call::Credentials, Call::Poll]),
        ("By hand with statx, SO_PEERCRED and ppoll", &[Call::Stat, Call::Credentials, Call::Poll]),
    ];

    fn by_hand_with(calls: &[Call]) -> usize {
        if calls.contains(&Call::Stat) {
            black_box(std::fs::symlink_metadata(&*RUNTIME).unwrap());
        }
        let mut stream = connect(&RUNTIME);
        if calls.contains(&Call::Credentials) {
            black_box(rustix::net::sockopt::socket_peercred(&stream).unwrap());
        }
        if calls.contains(&Call::Limit) {
            stream.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
        }
        stream.write_all(PROCESS_INFO3).unwrap();
        if calls.contains(&Call::Poll) {
            let limit = rustix::event::Timespec { tv_sec: 5, tv_nsec: 0 };
            rustix::event::poll(
                &mut [rustix::event::PollFd::new(&stream, rustix::event::PollFlags::IN)],
                Some(&limit),
            )
            .unwrap();
        }
        reply(stream)
    }

    fn by_connection(stream: UnixStream) -> usize {
        let answer = Connection::new(UnixTransport::new(stream)).call(&ProcessInfo3 {}).unwrap();
        answer.message().len()
    }

    fn by_client(client: &Client) -> usize {
        client.process_info3().unwrap().message().len()
    }

    /// A runtime of one thread, and a client that looks at whom it asks.
    fn tokio() -> (tokio::runtime::Runtime, AsyncClient) {
        let tokio = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        (tokio, AsyncClient::new(Endpoint::process(process_id())))
    }

    async fn by_async_client(client: &AsyncClient) -> usize {
        client.process_info3().await.unwrap().message().len()
    }

    async fn by_hand_async() -> usize {
        use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

        let mut stream = tokio::net::UnixStream::connect(&*RUNTIME).await.unwrap();
        stream.write_all(PROCESS_INFO3).await.unwrap();
        let (mut reply, mut have) = ([0; 4096], 0);
        while !is_whole(&reply, have) {
            match stream.read(&mut reply[have..]).await.unwrap() {
                0 => panic!("it closes"),
                n => have += n,
            }
        }
        have
    }

    /// A peer that answers every request with a session and 64 MiB of stream. It lasts as long as
    /// the process.
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
        let providers =
            [ProviderConfig::new("Microsoft-Windows-DotNETRuntime", 1, EventLevel::INFORMATIONAL)];
        let (format, providers) = (Format::NET_TRACE, Array::new(&providers));
        then(&CollectTracing2 { circular_buffer_mb: 16, format, request_rundown: false, providers })
    }
}
