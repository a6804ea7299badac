//! The conversation on a proxy's connections, and its conversion to a script for `replay`.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use dotnet_diagnostics_ipc::advertise::ADVERTISE_LEN;
use dotnet_diagnostics_ipc::command::{Command, ReplyType};
use dotnet_diagnostics_ipc::header::{Header, MAGIC, RawHeader};
use dotnet_diagnostics_ipc_vectors::player::{
    Connection, Conversation, Event, EventKind, TurnDirection,
};
use dotnet_diagnostics_ipc_vectors::script::{
    self, Accept, Any, ClientPart, Drain, EndStep, Ending, Expect, ExpectEnd, ExpectedEnd, FdKind,
    Length, Literal, Open, Part, Pattern, Plays, Script, Step, Target, TargetPort,
};
use dotnet_diagnostics_ipc_vectors::{Direction, Hazard, ScriptFile};

use crate::conversation::{request_as, wants_descriptor};

/// A recorded conversation.
///
/// It has the first [`Recording::KEPT`] bytes of each side of a connection, and the first
/// [`Recording::CONNECTIONS`] connections.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recording {
    /// The conversation from the client's point of view: what the runtime sent is
    /// [received](TurnDirection::Received).
    pub conversation: Conversation,
    /// The number of connections that were not kept.
    pub more_connections: u64,
}

impl Recording {
    /// The number of bytes kept of a side of a connection, enough for a message and as much of its
    /// continuation.
    pub const KEPT: usize = 131_072;
    /// The number of connections that are kept.
    pub const CONNECTIONS: usize = 256;
}

/// Receives each event with all of its bytes when it happens, including those that a [`Recording`]
/// does not keep. Connections are numbered from 0 in the order in which they were opened.
pub type Witness = Arc<dyn Fn(&Event, &[u8]) + Send + Sync>;

/// Records connections from several threads.
///
/// ```
/// use diagipc::record::{Log, Direction};
///
/// let log = Log::new(false);
/// let connection = log.opened();
/// log.piece(connection, Direction::Client, b"DOTNET_IPC_V1\0", Vec::new());
/// let recording = log.recording();
/// assert_eq!(recording.conversation.connections[connection.unwrap()].sent.len, 14);
/// ```
pub struct Log {
    began: Instant,
    recording: Mutex<Recording>,
    witness: Option<Witness>,
    most: usize,
    opens: Direction,
}

impl Log {
    /// Starts a log now. `runtime_connects` says that the runtime opens the connections.
    pub fn new(runtime_connects: bool) -> Self {
        Self {
            began: Instant::now(),
            recording: Mutex::default(),
            witness: None,
            most: Recording::CONNECTIONS,
            opens: if runtime_connects { Direction::Server } else { Direction::Client },
        }
    }

    /// Returns a log that keeps the connections, or nothing, and passes every event to the witness.
    #[cfg(unix)]
    pub(super) fn of_proxy(
        runtime_connects: bool,
        records: bool,
        witness: Option<Witness>,
    ) -> Self {
        let most = if records { Recording::CONNECTIONS } else { 0 };
        Self { witness, most, ..Self::new(runtime_connects) }
    }

    fn event(&self, connection: usize, by: Direction, did: EventKind) -> Event {
        let by = match by {
            Direction::Client => TurnDirection::Sent,
            Direction::Server => TurnDirection::Received,
        };
        Event { at: self.began.elapsed(), connection, by, did }
    }

    fn tell(&self, event: &Event, bytes: &[u8]) {
        if let Some(witness) = &self.witness {
            witness(event, bytes);
        }
    }

    fn locked(&self) -> MutexGuard<'_, Recording> {
        self.recording.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records a new connection. Returns `None` if there are too many and there is no witness.
    pub fn opened(&self) -> Option<usize> {
        let mut recording = self.locked();
        let kept = recording.conversation.connections.len();
        let more = usize::try_from(recording.more_connections).unwrap_or(usize::MAX);
        let event = self.event(kept.saturating_add(more), self.opens, EventKind::Opened);
        self.tell(&event, &[]);
        if kept >= self.most {
            recording.more_connections += 1;
            return self.witness.is_some().then_some(event.connection);
        }
        Some(recording.conversation.opened(&name_of(kept), event.by, event.at))
    }

    /// Records bytes that a side sent.
    pub fn piece(
        &self,
        connection: Option<usize>,
        from: Direction,
        bytes: &[u8],
        fds: Vec<FdKind>,
    ) {
        let Some(connection) = connection.filter(|_| !bytes.is_empty()) else { return };
        let len = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
        let event = self.event(connection, from, EventKind::Said { len, fds: fds.clone() });
        self.tell(&event, bytes);
        let Event { at, by, .. } = event;
        self.locked().conversation.said(connection, by, bytes, fds, at, Recording::KEPT);
    }

    /// Records that a side ended the connection.
    pub fn ended(&self, connection: Option<usize>, by: Direction, how: Ending) {
        if let Some(connection) = connection {
            let event = self.event(connection, by, EventKind::Ended(how));
            self.tell(&event, &[]);
            self.locked().conversation.ended(connection, event.by, how, event.at);
        }
    }

    /// Returns the recording so far.
    pub fn recording(&self) -> Recording {
        self.locked().clone()
    }

    /// Returns the recording so far, and removes it.
    pub fn take(&self) -> Recording {
        std::mem::take(&mut *self.locked())
    }
}

/// Returns the name of a connection in a script: `a` to `z`, then `c26` and so on.
fn name_of(connection: usize) -> String {
    let letter = u8::try_from(connection).ok().and_then(|nth| b'a'.checked_add(nth));
    match letter.filter(u8::is_ascii_lowercase) {
        Some(letter) => char::from(letter).to_string(),
        None => format!("c{connection}"),
    }
}

/// The time limit of a step in milliseconds.
const WITHIN_MS: u32 = 60_000;
/// The name of the diagnostic port in a script.
const PORT: &str = "p";
/// The size of a session id, which is the whole payload of its messages.
const SESSION_ID_LEN: usize = 8;
/// The first bytes of an advertise.
const ADVERTISE: &[u8] = b"ADVR_V1\0";

/// Returns a file with one script, `NAME-client`. It sends the recorded bytes of the client, and
/// compares the header of each reply and the end of each connection. The ids of recorded sessions
/// are replaced by those of the replayed sessions. Returns `None` if there was no connection.
///
/// Lower-case letters and digits of `name` are kept; anything else becomes `-`.
///
/// ```
/// use diagipc::record::{Log, Direction, script_file};
///
/// let log = Log::new(false);
/// let connection = log.opened();
/// log.piece(connection, Direction::Client, b"DOTNET_IPC_V1\0\x14\0\x04\x01\0\0", Vec::new());
/// log.piece(connection, Direction::Server, b"DOTNET_IPC_V1\0\x18\0\xff\0\0\0\0\0\0\0", Vec::new());
/// let file = script_file(&log.recording(), "Resume").unwrap();
/// assert_eq!((file.scripts.len(), file.scripts[0].name.as_str()), (1, "resume-client"));
/// ```
pub fn script_file(recording: &Recording, name: &str) -> Option<ScriptFile> {
    let conversation = &recording.conversation;
    let runtime_connects = conversation.events.first()?.by == TurnDirection::Received;
    let port = TargetPort { id: PORT.to_owned(), suspend: false, listening: true };
    let ports = Vec::from_iter(runtime_connects.then_some(port));
    let lower = name.to_ascii_lowercase();
    let words = lower.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    let name = words.collect::<Vec<_>>().join("-");
    let name = if name.is_empty() { "recording" } else { name.as_str() };
    let harms = conversation.connections.iter().any(|connection| !is_read_only(connection));
    let script = Script {
        sc_id: 1,
        name: format!("{name}-client"),
        comment: "Recorded.".to_owned(),
        spec: Vec::from(["R-FLW-003".to_owned(), "R-FLW-004".to_owned()]),
        since: None,
        hazard: harms.then_some(Hazard::Harmful),
        plays: Plays::Client(ClientPart {
            target: Target { ports, ..Target::default() },
            habit: None,
            seen_on: Vec::new(),
            deviations: Vec::new(),
        }),
        steps: steps(recording),
    };
    let title = format!("A recorded conversation: {name}");
    Some(ScriptFile::new(title, WITHIN_MS, Vec::from([script])))
}

/// Whether the client sent only one well-formed request that changes nothing: one that asks for
/// more than an HRESULT, and does not use the kernel's `user_events`.
fn is_read_only(connection: &Connection) -> bool {
    let sent = &connection.sent.first;
    let command = RawHeader::read(sent).command.filter(|command| {
        let reply = command.reply_type();
        reply.is_some_and(|reply| reply != ReplyType::Result) && !wants_descriptor(sent)
    });
    let is_well_formed = |command| {
        let decoded = request_as(Some(command)).decode(sent);
        decoded.is_ok_and(|decoded| decoded.canonical && decoded.limit.is_none())
    };
    sent.is_empty() || command.is_some_and(is_well_formed)
}

fn steps(recording: &Recording) -> Vec<Step> {
    let conversation = &recording.conversation;
    let (mut steps, mut sessions) = (Vec::new(), BTreeMap::new());
    let mut over = Vec::new();
    for (event, bytes) in conversation.passed() {
        let Some(connection) = conversation.connections.get(event.connection) else { continue };
        let on = connection.name.clone();
        let is_over = over.contains(&event.connection);
        match (event.by, &event.did) {
            (TurnDirection::Sent, EventKind::Opened) => {
                steps.push(Step::Open(Open { open: on, port: None, within_ms: None }));
            }
            (TurnDirection::Received, EventKind::Opened) => {
                let port = Some(PORT.to_owned());
                steps.push(Step::Accept(Accept { accept: on, port, within_ms: None }));
            }
            (TurnDirection::Sent, EventKind::Said { fds, .. }) => {
                steps.push(Step::Send(script::Send {
                    on,
                    send: sent(bytes, &sessions),
                    chunks: Vec::new(),
                    with_fd: fds.first().copied(),
                    may_fail: false,
                    within_ms: None,
                }));
            }
            (TurnDirection::Received, EventKind::Said { .. }) if bytes.starts_with(ADVERTISE) => {
                steps.push(expect(on, Vec::from([any(ADVERTISE_LEN, None)])));
            }
            (TurnDirection::Received, EventKind::Said { .. }) => {
                let drain = Step::Drain(Drain { on: on.clone(), drain: true });
                if !steps.contains(&drain) {
                    steps.extend(reply(connection, &mut sessions).map(|reply| expect(on, reply)));
                    steps.push(drain);
                }
            }
            (_, EventKind::Ended(_)) if is_over => {}
            (TurnDirection::Received, EventKind::Ended(how)) => {
                over.push(event.connection);
                let is_reset = *how == Ending::Reset;
                steps.push(Step::ExpectEnd(ExpectEnd {
                    on,
                    expect_end: if is_reset { ExpectedEnd::Reset } else { ExpectedEnd::Closed },
                    last: Vec::new(),
                    last_any_of: Vec::new(),
                    while_memory_grows: false,
                    within_ms: None,
                }));
            }
            (TurnDirection::Sent, EventKind::Ended(Ending::HalfClose)) => {
                steps.push(Step::EndStep(EndStep { on, end: Ending::HalfClose }));
            }
            (TurnDirection::Sent, EventKind::Ended(_)) => {
                over.push(event.connection);
                steps.push(Step::EndStep(EndStep { on, end: Ending::Close }));
            }
        }
    }
    steps
}

/// Returns the bytes to send. A session id at the end becomes that of the replayed session.
fn sent(bytes: &[u8], sessions: &BTreeMap<Vec<u8>, String>) -> Vec<Literal> {
    let (before, id) = bytes.split_at(bytes.len().saturating_sub(SESSION_ID_LEN));
    let Some(name) = sessions.get(id) else { return Vec::from([Literal::Bytes(bytes.to_vec())]) };
    let before = Some(Literal::Bytes(before.to_vec())).filter(|_| !before.is_empty());
    before.into_iter().chain([Literal::Same(name.clone())]).collect()
}

/// Returns the header of the reply, of any size, and the id of a new session; `None` if it is not a
/// reply.
fn reply(connection: &Connection, sessions: &mut BTreeMap<Vec<u8>, String>) -> Option<Vec<Part>> {
    let received = &connection.came.first;
    let advertise_len = if received.starts_with(ADVERTISE) { ADVERTISE_LEN } else { 0 };
    let reply = received.get(advertise_len..)?;
    Header::decode(reply).ok()?;
    let (magic, rest) = reply.split_at_checked(MAGIC.len())?;
    let (code, rest) = rest.get(2..)?.split_at_checked(4)?;
    let literal = |bytes: &[u8]| Part::Literal(Literal::Bytes(bytes.to_vec()));
    let mut parts = Vec::from([literal(magic), any(2, None), literal(code)]);
    let asked = RawHeader::read(&connection.sent.first).command;
    let begins = asked.is_some_and(|asked| asked.set == Command::STOP_TRACING.set);
    if let (Some(id), true) = (rest.get(..SESSION_ID_LEN), begins) {
        let name = format!("session_{}", connection.name);
        sessions.insert(id.to_vec(), name.clone());
        parts.push(any(SESSION_ID_LEN, Some(name)));
    }
    Some(parts)
}

fn any(len: usize, name: Option<String>) -> Part {
    let any = Length::Fixed(len);
    Part::Any(Any { any, name, not: Vec::new(), has: Vec::new(), lacks: Vec::new() })
}

fn expect(on: String, parts: Vec<Part>) -> Step {
    Step::Expect(Expect { on, expect: Pattern(parts), with_fd: false, within_ms: None })
}
