//! Runs the diagnostics server of .NET 11, its own C code as a WebAssembly module, in this process.
//!
//! The module imports the functions that it needs of a runtime and of the network. A function that
//! this host does not define returns 0.

use std::collections::VecDeque;
use std::path::Path;

use wasmi::{
    AsContext, Caller, Engine, Error, Extern, Func, Global, Instance, Linker, Memory, Module, Ref,
    Store, TypedFunc, Val,
};

/// What the server read of a session request, `EventPipeCollectTracingCommandPayload`: the size of the
/// buffer, the format, whether there is a rundown, whether there are stacks, the rundown's keyword,
/// `EventPipeSessionType` (not the number on the wire), the buffer mode, and the providers.
pub type Session = (u32, u32, bool, bool, u64, u32, u32, Vec<Provider>);
/// `EventPipeProviderConfiguration`: name, arguments, keywords and level; if the session has them,
/// also the filter and the tracepoints. Texts are as [`kept`]; `None` is null.
pub type Provider = (Text, Text, u64, u32, Option<Filter>, Option<Config>);
pub type Text = Option<String>;
/// Whether the listed events pass, and their ids.
pub type Filter = (bool, Vec<u32>);
/// The default tracepoint, and each tracepoint set.
pub type Config = (Text, Vec<(Text, Vec<u32>)>);

/// Removes U+FFFD from a text, because the server writes another number of them for half a
/// surrogate pair.
pub fn kept(text: impl Iterator<Item = char>) -> String {
    text.filter(|c| *c != char::REPLACEMENT_CHARACTER).collect()
}

/// The result of a request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Answer {
    /// All bytes that the server wrote.
    pub reply: Vec<u8>,
    /// Whether the server closed the connection.
    pub closed: bool,
    /// What the server read, if the request is for a session and can be read.
    pub session: Option<Session>,
    /// Why the module ended, as a process would die.
    pub died: Option<String>,
    /// Whether the server asked for a block that is too large.
    pub out_of_memory: bool,
}

/// The maximum size of a block; larger ones are refused, as by a system without memory. No valid
/// request needs half of it, but a count without its items (F-9) would fill the machine.
const LARGEST_BLOCK: u32 = 4 << 20;

/// The size of the top of the stack, which is restored between requests and ends below the module's
/// data. Deeper frames are dead.
const STACK: usize = 16 << 10;

/// A connection that has all bytes of the request at once.
#[derive(Clone, Debug, Default)]
struct Connection {
    incoming: Vec<u8>,
    taken: usize,
    answer: Answer,
}

/// The state that the functions of the host use.
#[derive(Clone, Default)]
struct Host {
    memory: Option<Memory>,
    /// The connections by number, from 1.
    connections: Vec<Connection>,
    /// The jobs of the server's only thread: a function, and its argument.
    jobs: VecDeque<(i32, i32)>,
    clock: u64,
}

impl Host {
    fn connection(&mut self, id: i32) -> Option<&mut Connection> {
        self.connections.get_mut(usize::try_from(id).ok()?.checked_sub(1)?)
    }
}

/// A server that waits for a request.
pub struct Dotnet {
    store: Store<Host>,
    memory: Memory,
    table: wasmi::Table,
    stack_pointer: Global,
    /// Where the module counts the refused blocks.
    refused: usize,
    /// Memory from `from` on, the host's state, and the stack pointer, saved before each request.
    from: usize,
    saved: Vec<u8>,
    host: Host,
    stack_top: Val,
}

impl Dotnet {
    /// Starts the module in this file, until the server waits for a request.
    ///
    /// # Errors
    /// Fails if the file is not that module.
    pub fn start(path: &Path) -> Result<Self, Error> {
        let wasm = std::fs::read(path)
            .map_err(|error| Error::new(format!("{}: {error}", path.display())))?;
        let engine = Engine::default();
        let module = Module::new(&engine, wasm)?;
        let mut store = Store::new(&engine, Host::default());
        let mut linker = Linker::new(&engine);
        define(&mut linker)?;
        for import in module.imports() {
            let Some(ty) = import.ty().func() else {
                return Err(Error::new(format!(
                    "an import that is no function: {}",
                    import.name()
                )));
            };
            if linker.get(&store, import.module(), import.name()).is_none() {
                let nothing = |_: Caller<'_, Host>, _: &[Val], results: &mut [Val]| {
                    results
                        .iter_mut()
                        .for_each(|result| *result = Val::default_for_ty(result.ty()));
                    Ok(())
                };
                // An error means that the function is defined above.
                let _ = linker.func_new(import.module(), import.name(), ty.clone(), nothing);
            }
        }
        let instance = linker.instantiate_and_start(&mut store, &module)?;
        let memory = exported(&instance, &store, "memory", Extern::into_memory)?;
        let table = exported(&instance, &store, "__indirect_function_table", Extern::into_table)?;
        let stack_pointer = exported(&instance, &store, "__stack_pointer", Extern::into_global)?;
        store.data_mut().memory = Some(memory);
        let at = |store: &Store<Host>, name: &str| -> Result<usize, Error> {
            let global = exported(&instance, &*store, name, Extern::into_global)?;
            Ok(usize::try_from(global.get(store).i32().unwrap_or_default()).unwrap_or_default())
        };
        for (name, value) in [
            ("host_limit", LARGEST_BLOCK),
            ("mono_internal_current_level", 0),
            ("mono_internal_current_mask", 0),
        ] {
            let at = at(&store, name)?;
            memory.write(&mut store, at, &value.to_le_bytes()).map_err(outside)?;
        }
        // A null pointer can be read here, so its target must not look like a value.
        memory.data_mut(&mut store)[..1020].fill(0xaa);
        let call = |store: &mut Store<Host>, name: &str| -> Result<(), Error> {
            let function = exported(&instance, &*store, name, Extern::into_func)?;
            let mut results = vec![Val::I32(0); function.ty(&*store).results().len()];
            function.call(store, &[], &mut results)
        };
        call(&mut store, "__wasm_call_ctors")?;
        call(&mut store, "host_environ_clear")?;
        let malloc: TypedFunc<i32, i32> = instance.get_typed_func(&store, "malloc")?;
        let environ_add: Func = exported(&instance, &store, "host_environ_add", Extern::into_func)?;
        for entry in [&b"DOTNET_DiagnosticPorts=ws://x\0"[..], b"PATH=/bin\0", b"NOEQUALS\0"] {
            let text = malloc.call(&mut store, 64)?;
            memory
                .write(&mut store, usize::try_from(text).unwrap_or_default(), entry)
                .map_err(outside)?;
            environ_add.call(&mut store, &[Val::I32(text)], &mut [])?;
        }
        for name in ["ep_init", "ds_server_init", "ep_finish_init"] {
            call(&mut store, name)?;
        }
        let refused = at(&store, "host_refused")?;
        let from = at(&store, "__global_base")?.saturating_sub(STACK);
        let mut this = Self {
            stack_top: stack_pointer.get(&store),
            store,
            memory,
            table,
            stack_pointer,
            refused,
            from,
            saved: Vec::new(),
            host: Host::default(),
        };
        // The server connects, and sends its advertise.
        for _ in 0..4 {
            this.tick()?;
        }
        let waits = |host: &Host| {
            host.connections.len() == 1 && host.connections[0].answer.reply.len() == 34
        };
        if !waits(this.store.data()) {
            return Err(Error::new(format!(
                "no server that waits: {:?}",
                this.store.data().connections
            )));
        }
        this.store.data_mut().connections[0].answer.reply.clear();
        // The module allocates memory upwards and only once, so nothing is behind the next block.
        let end = usize::try_from(malloc.call(&mut this.store, 0)?).unwrap_or_default();
        this.saved = memory.data(&this.store)[from..end].to_vec();
        this.host = this.store.data().clone();
        Ok(this)
    }

    /// Runs the server's pending jobs once.
    fn tick(&mut self) -> Result<(), Error> {
        for (function, argument) in std::mem::take(&mut self.store.data_mut().jobs) {
            let index = u64::try_from(function).unwrap_or(u64::MAX);
            let Some(Ref::Func(wasmi::Nullable::Val(job))) = self.table.get(&self.store, index)
            else {
                return Err(Error::new("a job that is no function"));
            };
            let mut done = [Val::I32(0)];
            job.call(&mut self.store, &[Val::I32(argument)], &mut done)?;
            if done[0].i32() == Some(0) {
                self.store.data_mut().jobs.push_back((function, argument));
            }
        }
        Ok(())
    }

    /// Sends one request on a new connection. The server's state is reset first.
    pub fn ask(&mut self, request: &[u8]) -> Answer {
        let end = self.from + self.saved.len();
        self.memory.data_mut(&mut self.store)[self.from..end].copy_from_slice(&self.saved);
        *self.store.data_mut() = self.host.clone();
        self.store.data_mut().connections[0].incoming = request.to_vec();
        let ended = self.tick();
        let mut answer = std::mem::take(&mut self.store.data_mut().connections[0].answer);
        answer.out_of_memory = self.memory.data(&self.store)[self.refused] != 0;
        if let Err(error) = ended {
            answer.died = Some(error.to_string());
            self.stack_pointer.set(&mut self.store, self.stack_top.clone()).unwrap_or_default();
        }
        answer
    }
}

fn outside(error: impl std::fmt::Display) -> Error {
    Error::new(format!("outside the module's memory: {error}"))
}

fn exported<T>(
    instance: &Instance,
    store: impl AsContext,
    name: &str,
    kind: impl Fn(Extern) -> Option<T>,
) -> Result<T, Error> {
    instance
        .get_export(store, name)
        .and_then(kind)
        .ok_or_else(|| Error::new(format!("the module exports no {name}")))
}

/// Defines the functions of the host that do something.
fn define(linker: &mut Linker<Host>) -> Result<(), Error> {
    fn dies(what: &str) -> Result<(), Error> {
        Err(Error::new(what.to_owned()))
    }
    linker.func_wrap("env", "host_pid", |_: Caller<'_, Host>| 42)?;
    linker.func_wrap("env", "host_random", |mut caller: Caller<'_, Host>, at: u32, n: u32| {
        bytes(&mut caller, at, n)
            .map(|(_, bytes)| bytes.iter_mut().zip(1..).for_each(|(byte, value)| *byte = value))
    })?;
    linker.func_wrap("env", "host_payload", |mut caller: Caller<'_, Host>, at: u32, is: u32| {
        if is == 0 || at == 0 {
            return Ok(());
        }
        let (host, all) = memory(&mut caller)?;
        let session =
            Read(all).session(at).ok_or_else(|| Error::new("a payload outside the memory"))?;
        // This is the connection that is served.
        let connection = host.connections.iter_mut().find(|connection| connection.taken > 0);
        connection.ok_or_else(|| Error::new("a payload of no connection"))?.answer.session =
            Some(session);
        Ok(())
    })?;
    linker.func_wrap(
        "env",
        "SystemJS_DiagnosticServerQueueJob",
        |mut caller: Caller<'_, Host>, job: i32, argument: i32| {
            caller.data_mut().jobs.push_back((job, argument));
        },
    )?;
    linker.func_wrap(
        "env",
        "ds_rt_websocket_create",
        |mut caller: Caller<'_, Host>, _url: i32| {
            let connections = &mut caller.data_mut().connections;
            connections.push(Connection::default());
            i32::try_from(connections.len()).unwrap_or(-1)
        },
    )?;
    linker.func_wrap(
        "env",
        "ds_rt_websocket_send",
        |mut caller: Caller<'_, Host>, id: i32, at: u32, n: i32| {
            let (host, bytes) = bytes(&mut caller, at, u32::try_from(n).unwrap_or_default())?;
            let Some(connection) =
                host.connection(id).filter(|connection| !connection.answer.closed)
            else {
                return Ok(-1);
            };
            connection.answer.reply.extend_from_slice(bytes);
            Ok::<_, Error>(n)
        },
    )?;
    linker.func_wrap("env", "ds_rt_websocket_poll", |mut caller: Caller<'_, Host>, id: i32| {
        let waits =
            |connection: &mut Connection| i32::from(connection.taken < connection.incoming.len());
        caller.data_mut().connection(id).map_or(0, waits)
    })?;
    linker.func_wrap(
        "env",
        "ds_rt_websocket_recv",
        |mut caller: Caller<'_, Host>, id: i32, at: u32, n: u32| {
            let (host, bytes) = bytes(&mut caller, at, n)?;
            let Some(connection) = host.connection(id) else { return Ok(-1) };
            let rest = &connection.incoming[connection.taken..];
            let taken = rest.len().min(bytes.len());
            bytes[..taken].copy_from_slice(&rest[..taken]);
            connection.taken += taken;
            Ok::<_, Error>(i32::try_from(taken).unwrap_or(-1))
        },
    )?;
    linker.func_wrap("env", "ds_rt_websocket_close", |mut caller: Caller<'_, Host>, id: i32| {
        let Some(connection) = caller.data_mut().connection(id) else { return -1 };
        connection.answer.closed = true;
        0
    })?;
    // No folder is open, so this fails.
    linker.func_wrap(
        "wasi_snapshot_preview1",
        "fd_prestat_get",
        |_: Caller<'_, Host>, _fd: i32, _out: i32| 8,
    )?;
    linker.func_wrap(
        "wasi_snapshot_preview1",
        "proc_exit",
        |_: Caller<'_, Host>, _code: i32| dies("exit"),
    )?;
    linker.func_wrap(
        "wasi_snapshot_preview1",
        "clock_time_get",
        |mut caller: Caller<'_, Host>, _: i32, _: i64, at: u32| {
            let (host, bytes) = bytes(&mut caller, at, 8)?;
            host.clock += 1000;
            bytes.copy_from_slice(&host.clock.to_le_bytes());
            Ok::<_, Error>(0)
        },
    )?;
    Ok(())
}

/// Returns the host, and the module's memory.
fn memory<'a>(caller: &'a mut Caller<'_, Host>) -> Result<(&'a mut Host, &'a mut [u8]), Error> {
    let memory = caller.data().memory.ok_or_else(|| Error::new("called before the start"))?;
    let (all, host) = memory.data_and_store_mut(caller);
    Ok((host, all))
}

/// Returns the host, and `n` bytes of memory from `at` on.
fn bytes<'a>(
    caller: &'a mut Caller<'_, Host>,
    at: u32,
    n: u32,
) -> Result<(&'a mut Host, &'a mut [u8]), Error> {
    let (host, all) = memory(caller)?;
    let some = all.get_mut(at as usize..(at as usize).saturating_add(n as usize));
    Ok((host, some.ok_or_else(|| Error::new("bytes outside the memory"))?))
}

/// Reads the server's structs, at the offsets of its objects' debug information (32 bits). `None` outside the memory.
struct Read<'m>(&'m [u8]);

impl Read<'_> {
    fn u32(&self, at: u32) -> Option<u32> {
        self.0.get(at as usize..)?.first_chunk().copied().map(u32::from_le_bytes)
    }

    fn u64(&self, at: u32) -> Option<u64> {
        self.0.get(at as usize..)?.first_chunk().copied().map(u64::from_le_bytes)
    }

    fn bool(&self, at: u32) -> Option<bool> {
        self.0.get(at as usize).map(|byte| *byte != 0)
    }

    /// Reads a text; `None` if it is not UTF-8, which the server does not write.
    fn text(&self, at: u32) -> Option<Text> {
        if at == 0 {
            return Some(None);
        }
        let text = self.0.get(at as usize..)?.split(|byte| *byte == 0).next()?;
        str::from_utf8(text).ok().map(|text| Some(kept(text.chars())))
    }

    fn ids(&self, at: u32, count: u32) -> Option<Vec<u32>> {
        (0..count).map(|nth| self.u32(at.checked_add(nth.checked_mul(4)?)?)).collect()
    }

    fn session(&self, at: u32) -> Option<Session> {
        let vector = self.u32(at + 4)?;
        let (first, count, size) =
            (self.u32(vector)?, self.u32(vector + 4)?, self.u32(vector + 8)?);
        let provider = |nth: u32| self.provider(first.checked_add(nth.checked_mul(size)?)?);
        let providers = (0..count).map(provider).collect::<Option<_>>()?;
        let (rundown, stacks) = (self.bool(at + 16)?, self.bool(at + 17)?);
        let [mb, format, kind, mode] = [8, 12, 32, 36].map(|field| self.u32(at + field));
        Some((mb?, format?, rundown, stacks, self.u64(at + 24)?, kind?, mode?, providers))
    }

    fn provider(&self, at: u32) -> Option<Provider> {
        let filter = match self.u32(at + 20)? {
            0 => None,
            at => Some((self.bool(at)?, self.ids(self.u32(at + 8)?, self.u32(at + 4)?)?)),
        };
        let config = match self.u32(at + 24)? {
            0 => None,
            at => {
                let (first, count) = (self.u32(at + 4)?, self.u32(at + 8)?);
                let set = |nth: u32| {
                    let at = first.checked_add(nth.checked_mul(12)?)?;
                    let ids = self.ids(self.u32(at + 4)?, self.u32(at + 8)?)?;
                    Some((self.text(self.u32(at)?)?, ids))
                };
                Some((self.text(self.u32(at)?)?, (0..count).map(set).collect::<Option<_>>()?))
            }
        };
        let [name, arguments] = [at, at + 4].map(|field| self.text(self.u32(field)?));
        Some((name?, arguments?, self.u64(at + 8)?, self.u32(at + 16)?, filter, config))
    }
}
