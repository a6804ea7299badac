//! `instructions.py` counts the instructions of this program: what the library takes to read and
//! write messages, what zerocopy alone takes with the same checks, and what binrw takes.

use std::hint::black_box;
use std::io::Cursor;

use binrw::{BinRead, BinWrite, binrw};
use dotnet_diagnostics_ipc::message::{Message, Reply, Request, encode, eventpipe::*, process::*};
use dotnet_diagnostics_ipc::wire::{Array, Decode, Encode, Guid, Reader};
use dotnet_diagnostics_ipc::{command::Command, continuation::EnvironmentDecoder};
use dotnet_diagnostics_ipc::{exchange::Server, header::Header};
use zerocopy::little_endian::{U16, U32, U64};
use zerocopy::{FromBytes, Immutable, KnownLayout, Unaligned};

type Bytes = &'static [u8];

/// Callgrind counts the instructions in here.
#[unsafe(no_mangle)]
#[inline(never)]
fn measured(run: &mut dyn FnMut()) {
    run();
}

/// Runs it once to warm up, and once to be counted.
fn measure(case: &str, contender: &str, mut run: impl FnMut()) {
    run();
    measured(&mut run);
    println!("{case}\t{contender}");
}

/// Measures a reader of bytes.
fn read<B: for<'a> BinRead<Args<'a> = ()>, O, Z>(
    case: &str,
    bytes: Bytes,
    ours: impl Fn(Bytes) -> Option<O>,
    zerocopy: impl Fn(Bytes) -> Option<Z>,
) {
    measure(case, "ours", || assert!(black_box(ours(black_box(bytes))).is_some()));
    measure(case, "zerocopy", || assert!(black_box(zerocopy(black_box(bytes))).is_some()));
    measure(case, "binrw", || {
        assert!(black_box(B::read_le(&mut Cursor::new(black_box(bytes)))).is_ok());
    });
}

/// Measures a writer of a message, and returns the message.
fn write<B>(case: &str, command: Command, value: &impl Encode) -> Bytes
where
    B: for<'a> BinRead<Args<'a> = ()> + for<'a> BinWrite<Args<'a> = ()>,
{
    let mut buffer = vec![0; 65_535];
    let len = encode(command, value, &mut buffer).unwrap();
    let bytes = buffer[..len].to_vec().leak();
    measure(case, "ours", || {
        assert!(encode(command, black_box(value), black_box(&mut buffer)).is_ok());
    });
    let value = B::read_le(&mut Cursor::new(&*bytes)).unwrap();
    measure(case, "binrw", || {
        black_box(&value).write_le(&mut Cursor::new(black_box(&mut buffer[..]))).unwrap();
    });
    bytes
}

/// A list of binrw.
#[binrw]
struct List<T: for<'a> BinRead<Args<'a> = ()> + for<'a> BinWrite<Args<'a> = ()> + 'static> {
    #[br(temp)]
    #[bw(calc = items.len() as u32)]
    count: u32,
    #[br(count = count)]
    items: Vec<T>,
}

type Front = ([u8; 14], u16, [u8; 2], u16);
type Text = List<u16>;
type Info = (Front, u64, [u8; 16], Text, Text, Text);
type Collect2 = (Front, u32, u32, u8, List<(u64, u32, Text, Text)>);

/// The header of zerocopy: magic, size, command, reserved.
#[derive(FromBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
struct RawHeader([u8; 14], U16, [u8; 2], U16);

fn take<'a, T: FromBytes + KnownLayout + Immutable + Unaligned>(b: &mut &'a [u8]) -> Option<&'a T> {
    let value;
    (value, *b) = T::ref_from_prefix(b).ok()?;
    Some(value)
}

fn list<'a, T: FromBytes + Immutable + Unaligned>(bytes: &mut &'a [u8]) -> Option<&'a [T]> {
    let count = take::<U32>(bytes)?.get() as usize;
    let items;
    (items, *bytes) = <[T]>::ref_from_prefix_with_elems(bytes, count).ok()?;
    Some(items)
}

fn text<'a>(bytes: &mut &'a [u8]) -> Option<&'a [U16]> {
    let units = list::<U16>(bytes)?;
    units.split_last().map_or(Some(units), |(last, text)| (*last == 0).then_some(text))
}

fn header(bytes: &mut Bytes) -> Option<&'static RawHeader> {
    let header: &RawHeader = take(bytes)?;
    (header.0 == *b"DOTNET_IPC_V1\0" && header.1.get() >= 20).then_some(header)
}

/// Takes the header of a message that has this command and is all of the bytes.
fn front(bytes: &mut Bytes, command: Command) -> Option<()> {
    let (len, RawHeader(_, size, code, _)) = (bytes.len(), header(bytes)?);
    (*code == [command.set, command.id] && usize::from(*size) == len).then_some(())
}

fn request<R: Request<'static>>(bytes: Bytes) -> Option<R> {
    Message::decode(bytes).ok()?.request_as().ok()
}

fn main() {
    measure("nothing", "ours", || ());
    let value = StopTracing { session_id: 42 };
    let bytes = write::<(Front, u64)>("encode StopTracing", Command::STOP_TRACING, &value);
    let ours = |b| Header::decode(b).ok();
    read::<Front, _, _>("decode a header", bytes, ours, |mut b| header(&mut b));
    read::<(Front, u64), _, _>("decode StopTracing", bytes, request::<StopTracing>, |mut b| {
        front(&mut b, Command::STOP_TRACING)?;
        take::<U64>(&mut b)
    });

    let (name, value) = ("DOTNET_DiagnosticPorts", "/tmp/example-port,connect,nosuspend");
    let value = SetEnvironmentVariable { name: name.into(), value: value.into() };
    let (command, ours) =
        (Command::SET_ENVIRONMENT_VARIABLE, request::<SetEnvironmentVariable<'_>>);
    let bytes = write::<(Front, Text, Text)>("encode SetEnvironmentVariable", command, &value);
    read::<(Front, Text, Text), _, _>("decode SetEnvironmentVariable", bytes, ours, |mut b| {
        front(&mut b, command)?;
        Some([text(&mut b)?, text(&mut b)?])
    });

    let value = ProcessInfoReply {
        process_id: 12345,
        runtime_cookie: Guid::from_bytes([5; 16]),
        command_line: "/usr/share/dotnet/dotnet /srv/app/Example.Service.dll".into(),
        os: "Linux".into(),
        arch: "x64".into(),
    };
    let bytes = write::<Info>("encode a ProcessInfo reply", Command::OK, &value);
    let ours = |b| match Message::decode(b).ok()?.reply_as::<ProcessInfo>().ok()? {
        Reply::Ok(reply) => Some(reply),
        _ => None,
    };
    read::<Info, _, _>("decode a ProcessInfo reply", bytes, ours, |mut b| {
        front(&mut b, Command::OK)?;
        let numbers = (take::<U64>(&mut b)?.get(), *take::<[u8; 16]>(&mut b)?);
        Some((numbers, text(&mut b)?, text(&mut b)?, text(&mut b)?))
    });

    let name = "Microsoft-Windows-DotNETRuntime";
    let providers = [ProviderConfig::new(name, 0x8002_0139, EventLevel::VERBOSE); 10];
    let (format, request_rundown, providers) = (Format::NET_TRACE, true, Array::new(&providers));
    let value = CollectTracing2 { circular_buffer_mb: 256, format, request_rundown, providers };
    let command = Command::COLLECT_TRACING2;
    let bytes = write::<Collect2>("encode CollectTracing2 of 10 providers", command, &value);
    let ours = |b| {
        let providers = request::<CollectTracing2<'_>>(b)?.providers;
        Some(providers.iter().map(black_box).count())
    };
    read::<Collect2, _, _>("decode CollectTracing2 of 10 providers", bytes, ours, |mut b| {
        front(&mut b, command)?;
        black_box((take::<[U32; 2]>(&mut b)?, take::<u8>(&mut b)?));
        for _ in 0..take::<U32>(&mut b)?.get() {
            let numbers = (take::<U64>(&mut b)?.get(), take::<U32>(&mut b)?.get());
            black_box((numbers, text(&mut b)?, text(&mut b)?));
        }
        Some(b.len())
    });

    let numbers = [10_000u32].into_iter().chain(0..10_000);
    let bytes = numbers.flat_map(u32::to_le_bytes).collect::<Vec<_>>().leak();
    let ours = |b| Some(Array::<u32>::decode(&mut Reader::new(b)).ok()?.iter().sum::<u32>());
    read::<List<u32>, _, _>("decode 10,000 event ids", bytes, ours, |mut b| {
        Some(list::<U32>(&mut b)?.iter().map(|id| id.get()).sum::<u32>())
    });
    serve();
    environment();
}

/// A server receives a request in two parts, decodes it and answers.
fn serve() {
    let (request, mut buffer) = (b"DOTNET_IPC_V1\0\x1c\0\x02\x01\0\0\x2a\0\0\0\0\0\0\0", [0; 64]);
    measure("serve StopTracing", "ours", || {
        let (buffer, mut server) = (black_box(&mut buffer), Server::new());
        for part in [0..20, 20..28] {
            let _ = black_box(server.action());
            buffer[part.clone()].copy_from_slice(&black_box(request)[part.clone()]);
            server.received(buffer, black_box(part.len())).unwrap();
        }
        let _ = black_box((server.action(), server.request(buffer).unwrap(), server.action()));
        server.respond(black_box(&SessionReply { session_id: 42 }), buffer).unwrap();
        let _ = black_box((server.action(), server.sent(28).unwrap(), server.action()));
        server.closed().unwrap();
    });
}

/// An environment block of 100 entries arrives 1,000 bytes at a time.
fn environment() {
    let units = "ASPNETCORE_URLS=http://localhost:5000\0".encode_utf16().flat_map(u16::to_le_bytes);
    let entry: Vec<u8> = 38u32.to_le_bytes().into_iter().chain(units).collect();
    let (block, mut buffer) = ([&100u32.to_le_bytes(), &*entry.repeat(100)].concat(), [0; 4096]);
    measure("environment in pieces", "ours", || {
        let mut decoder = EnvironmentDecoder::new(block.len() as u32, black_box(&mut buffer));
        for mut piece in black_box(&block).chunks(1000) {
            while black_box(decoder.decode(&mut piece).unwrap()).is_some() {}
        }
        decoder.finish().unwrap();
    });
}
