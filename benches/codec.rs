//! A request and a reply, each beside a plain copy of the same bytes: what matters is how many
//! copies a decode costs.

use divan::{Bencher, black_box, counter::BytesCount};
use dotnet_diagnostics_ipc::command::Command;
use dotnet_diagnostics_ipc::message::eventpipe::{
    CollectTracing2, EventLevel, Format, ProviderConfig,
};
use dotnet_diagnostics_ipc::message::process::{ProcessInfo2, ProcessInfo2Reply};
use dotnet_diagnostics_ipc::message::{Message, Reply, encode};
use dotnet_diagnostics_ipc::wire::{Array, Encode, Guid};

fn main() {
    divan::main();
}

const PROVIDERS: [ProviderConfig<'_>; 10] =
    [ProviderConfig::new("Microsoft-Windows-DotNETRuntime", 0x8002_0139, EventLevel::VERBOSE); 10];

const REQUEST: CollectTracing2<'_> = CollectTracing2 {
    circular_buffer_mb: 256,
    format: Format::NET_TRACE,
    request_rundown: true,
    providers: Array::new(&PROVIDERS),
};

fn reply() -> ProcessInfo2Reply<'static> {
    ProcessInfo2Reply {
        process_id: 12345,
        runtime_cookie: Guid::NIL,
        command_line:
            "/usr/share/dotnet/dotnet /srv/app/Example.Service.dll --urls http://localhost:5000"
                .into(),
        os: "Linux".into(),
        arch: "x64".into(),
        managed_entrypoint_assembly_name: "Example.Service".into(),
        clr_product_version: "10.0.9".into(),
    }
}

fn encoded<T: Encode>(command: Command, payload: &T) -> Vec<u8> {
    let mut buffer = vec![0; 4096];
    let len = encode(command, payload, &mut buffer).unwrap();
    buffer.truncate(len);
    buffer
}

fn bench_copy(bencher: Bencher<'_, '_>, bytes: &[u8]) {
    let mut buffer = vec![0; bytes.len()];
    bencher
        .counter(BytesCount::new(bytes.len()))
        .bench_local(|| black_box(&mut buffer[..]).copy_from_slice(black_box(bytes)));
}

fn bench_encode<T: Encode>(bencher: Bencher<'_, '_>, command: Command, payload: &T) {
    let mut buffer = encoded(command, payload);
    bencher
        .counter(BytesCount::new(buffer.len()))
        .bench_local(|| encode(command, black_box(payload), black_box(&mut buffer)).unwrap());
}

#[divan::bench]
fn collect_tracing2_copy(bencher: Bencher<'_, '_>) {
    bench_copy(bencher, &encoded(Command::COLLECT_TRACING2, &REQUEST));
}

#[divan::bench]
fn collect_tracing2_decode(bencher: Bencher<'_, '_>) {
    let bytes = encoded(Command::COLLECT_TRACING2, &REQUEST);
    bencher.counter(BytesCount::new(bytes.len())).bench_local(|| {
        let request: CollectTracing2<'_> =
            Message::decode(black_box(&bytes)).unwrap().request_as().unwrap();
        black_box(request);
    });
}

/// And looks at every unit of every name, as a server does.
#[divan::bench]
fn collect_tracing2_decode_and_walk(bencher: Bencher<'_, '_>) {
    let bytes = encoded(Command::COLLECT_TRACING2, &REQUEST);
    bencher.counter(BytesCount::new(bytes.len())).bench_local(|| {
        let request: CollectTracing2<'_> =
            Message::decode(black_box(&bytes)).unwrap().request_as().unwrap();
        request
            .providers
            .iter()
            .flat_map(|provider| provider.provider_name.units())
            .map(u64::from)
            .sum::<u64>()
    });
}

#[divan::bench]
fn collect_tracing2_encode(bencher: Bencher<'_, '_>) {
    bench_encode(bencher, Command::COLLECT_TRACING2, &REQUEST);
}

#[divan::bench]
fn process_info2_reply_copy(bencher: Bencher<'_, '_>) {
    bench_copy(bencher, &encoded(Command::OK, &reply()));
}

#[divan::bench]
fn process_info2_reply_decode(bencher: Bencher<'_, '_>) {
    let bytes = encoded(Command::OK, &reply());
    bencher.counter(BytesCount::new(bytes.len())).bench_local(|| {
        let reply: Reply<'_, _> =
            Message::decode(black_box(&bytes)).unwrap().reply_as::<ProcessInfo2>().unwrap();
        black_box(reply);
    });
}

#[divan::bench]
fn process_info2_reply_encode(bencher: Bencher<'_, '_>) {
    bench_encode(bencher, Command::OK, &reply());
}
