//! Plays the steps of a script against the side under test.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use dotnet_diagnostics_ipc::exchange::End;
use dotnet_diagnostics_ipc::vectors::{
    Captures, Comparison, Ending, Expect, ExpectAnyOf, ExpectEnd, ExpectedEnd, Life, Pattern, Plays, Script, ScriptOutcome, Send,
    Step,
};

use crate::executor::Executor;
use crate::network::{Chunking, DEFAULT, Net, Network, Side};
use crate::{client, runtime};

/// Why a script did not pass.
pub(crate) type Failure = String;

/// How long the player waits after a piece whose size the script gives.
const AFTER_A_PIECE: u64 = 20;

struct Connection {
    id: usize,
    /// Everything that came since the player reads in the background, and the end.
    drained: Option<(Vec<u8>, Option<End>)>,
}

struct Player {
    net: Net,
    executor: Executor,
    within: u64,
    captures: Captures,
    connections: BTreeMap<String, Connection>,
    /// The ports of a runtime at which the player listens from the beginning to the end.
    always_listens: BTreeSet<String>,
}

/// Plays `script`; what differs, with the step.
pub(crate) fn play(script: &Script, within_ms: u32, chunking: Chunking) -> Result<(), Failure> {
    let net = Network::new(chunking);
    let executor = Executor::new(&net);
    let spawner = executor.spawner();
    let concluded = Rc::new(RefCell::new(None));
    match &script.plays {
        Plays::Client(part) => {
            for port in &part.target.ports {
                net.borrow_mut().listen(&port.id, port.listening);
            }
            runtime::start(&net, &spawner, &part.target);
        }
        Plays::Runtime(part) => {
            net.borrow_mut().listen(DEFAULT, true);
            client::start(&net, &spawner, &part.ask, &concluded);
        }
    }
    let mut player = Player {
        net,
        executor,
        within: within_ms.into(),
        captures: Captures::new(),
        connections: BTreeMap::new(),
        always_listens: always_listens(script),
    };
    player.run(script, &concluded).map_err(|message| format!("scId {} ({}), {chunking:?}: {message}", script.sc_id, script.name))
}

impl Player {
    fn run(&mut self, script: &Script, concluded: &RefCell<Option<ScriptOutcome>>) -> Result<(), Failure> {
        for (nth, step) in script.steps.iter().enumerate() {
            self.step(step).and_then(|()| self.no_faults()).map_err(|message| {
                let shown: String = serde_json::to_string(step).unwrap().chars().take(300).collect();
                format!("step {nth} {shown}: {message}{}", conclusion(concluded))
            })?;
        }
        for connection in std::mem::take(&mut self.connections).into_values() {
            self.net.borrow_mut().close(connection.id, Side::Player);
        }
        let Plays::Runtime(part) = &script.plays else {
            self.pump()?;
            return self.no_faults();
        };
        let outcome = self.until(self.within, |_| Ok(concluded.borrow_mut().take()))?;
        self.no_faults()?;
        let outcome = outcome.ok_or("the client has come to no conclusion")?;
        if outcome != part.outcome {
            let text = |outcome: &ScriptOutcome| serde_json::to_string(outcome).unwrap();
            return Err(format!("expected {}, came {}", text(&part.outcome), text(&outcome)));
        }
        Ok(())
    }

    fn no_faults(&self) -> Result<(), Failure> {
        let faults = std::mem::take(&mut self.net.borrow_mut().faults);
        if faults.is_empty() { Ok(()) } else { Err(faults.join("; ")) }
    }

    /// Lets the side under test go as far as it goes, and reads in the background.
    fn pump(&mut self) -> Result<(), Failure> {
        loop {
            self.executor.run()?;
            let mut more = false;
            for connection in self.connections.values_mut() {
                let Some((bytes, end)) = &mut connection.drained else { continue };
                match self.net.borrow_mut().read(connection.id, Side::Player, usize::MAX) {
                    Some(Ok(cells)) => {
                        bytes.extend(cells.iter().map(|cell| cell.0));
                        more = true;
                    }
                    Some(Err(how)) => *end = Some(how),
                    None => {}
                }
            }
            if !more {
                return Ok(());
            }
        }
    }

    /// Waits until `ready` gives something, or `ms` are over: then `None`.
    fn until<T>(&mut self, ms: u64, mut ready: impl FnMut(&mut Self) -> Result<Option<T>, Failure>) -> Result<Option<T>, Failure> {
        let deadline = self.net.borrow().now + ms;
        loop {
            self.pump()?;
            let before = self.net.borrow().progress;
            if let Some(it) = ready(self)? {
                return Ok(Some(it));
            }
            let mut net = self.net.borrow_mut();
            if net.progress != before {
                // What was read makes room for more.
                continue;
            }
            if net.now >= deadline {
                return Ok(None);
            }
            net.now = net.next_timer().map_or(deadline, |timer| timer.min(deadline));
        }
    }

    fn wait(&mut self, ms: u64) -> Result<(), Failure> {
        self.until(ms, |_| Ok(None::<()>)).map(drop)
    }

    fn id(&self, name: &str) -> Result<usize, Failure> {
        self.connections.get(name).map(|connection| connection.id).ok_or_else(|| format!("there is no connection {name}"))
    }

    fn named(&mut self, name: &str, id: usize) -> Result<(), Failure> {
        let before = self.connections.insert(name.to_owned(), Connection { id, drained: None });
        if before.is_some() { Err(format!("{name} stands for two connections")) } else { Ok(()) }
    }

    fn step(&mut self, step: &Step) -> Result<(), Failure> {
        let within = step.within_ms().map_or(self.within, u64::from);
        match step {
            Step::Open(step) => {
                let port = step.port.as_deref().unwrap_or(DEFAULT).to_owned();
                let id = self.until(within, |player| Ok(player.net.borrow_mut().connect(&port)))?;
                self.named(&step.open, id.ok_or("nobody listens")?)
            }
            Step::Accept(step) => {
                let port = step.port.as_deref().unwrap_or(DEFAULT).to_owned();
                let before = self.net.borrow().now;
                let id = self.until(within, |player| Ok(player.net.borrow_mut().accept(&port)))?;
                self.named(&step.accept, id.ok_or("nobody connects")?)?;
                // A script cannot ask for less than a real machine may need; here no time passes (R-FLW-013).
                match self.net.borrow().now - before {
                    late if late > 0 && self.always_listens.contains(&port) => Err(format!("the connection comes {late} ms late")),
                    _ => Ok(()),
                }
            }
            Step::Listen(step) => {
                let mut net = self.net.borrow_mut();
                net.listen(&step.port, step.listen);
                if !step.listen {
                    net.drop_waiting(&step.port, Side::Player);
                }
                Ok(())
            }
            Step::ExpectNoConnection(step) => {
                let port = step.port.as_deref().unwrap_or(DEFAULT).to_owned();
                let came = self
                    .until(step.expect_no_connection.into(), |player| Ok((player.net.borrow().waiting(&port) > 0).then_some(())))?;
                came.map_or(Ok(()), |()| Err("somebody connects".to_owned()))
            }
            Step::Send(step) => self.send(step),
            Step::Expect(step) => self.expect(step, within),
            Step::ExpectAnyOf(step) => self.expect_any_of(step, within),
            Step::ExpectNothing(step) => {
                let id = self.id(&step.on)?;
                let came =
                    self.until(step.expect_nothing.into(), |player| Ok(player.net.borrow_mut().read(id, Side::Player, 64)))?;
                match came {
                    None => Ok(()),
                    Some(Ok(cells)) => Err(format!("{} comes", hex::encode(cells.iter().map(|cell| cell.0).collect::<Vec<_>>()))),
                    Some(Err(end)) => Err(format!("the end comes: {end}")),
                }
            }
            Step::Drain(step) => {
                self.id(&step.on)?;
                self.connections.get_mut(&step.on).unwrap().drained = Some((Vec::new(), None));
                Ok(())
            }
            Step::ExpectEnd(step) => self.expect_end(step, within),
            Step::EndStep(step) => {
                let id = self.id(&step.on)?;
                // What the side under test does by itself comes first.
                self.pump()?;
                let mut net = self.net.borrow_mut();
                match step.end {
                    Ending::HalfClose => net.half_close(id, Side::Player),
                    Ending::Close => net.close(id, Side::Player),
                    Ending::Reset => net.reset(id, Side::Player),
                }
                Ok(())
            }
            Step::Wait(step) => self.wait(step.wait.into()),
            Step::ExpectTarget(step) => match step.expect_target {
                Life::Alive => self.pump(),
                Life::Dead => Err("nothing kills this runtime".to_owned()),
            },
        }
    }

    fn send(&mut self, step: &Send) -> Result<(), Failure> {
        let id = self.id(&step.on)?;
        let mut bytes = Vec::new();
        for part in &step.send {
            bytes.extend(part.bytes(&self.captures).map_err(|error| error.to_string())?);
        }
        let chunks = if step.chunks.is_empty() { vec![bytes.len()] } else { step.chunks.clone() };
        if chunks.iter().sum::<usize>() != bytes.len() {
            return Err(format!("chunks of {} bytes for {}", chunks.iter().sum::<usize>(), bytes.len()));
        }
        self.pump()?;
        let mut fd = step.with_fd;
        let mut rest = bytes.as_slice();
        for size in chunks {
            let (chunk, later) = rest.split_at(size);
            rest = later;
            if !self.net.borrow_mut().write(id, Side::Player, chunk, fd.take()) {
                return if step.may_fail { Ok(()) } else { Err("the peer has closed".to_owned()) };
            }
            if !step.chunks.is_empty() {
                self.wait(AFTER_A_PIECE)?;
            }
        }
        Ok(())
    }

    /// Reads by one of `patterns`: which it was.
    fn receive(&mut self, on: &str, patterns: &[&Pattern], with_fd: bool, within: u64) -> Result<usize, Failure> {
        let id = self.id(on)?;
        let mut so_far = Vec::new();
        let mut fds = 0;
        let found = self.until(within, |player| {
            loop {
                let mut differences = Vec::new();
                let mut most = usize::MAX;
                for (nth, pattern) in patterns.iter().enumerate() {
                    match pattern.compare(&so_far, &player.captures) {
                        Comparison::Matched(captured) => return Ok(Some((nth, captured))),
                        Comparison::NeedMore(n) => most = most.min(n),
                        Comparison::Differs { offset, expected, found } => {
                            differences.push(format!("at byte {offset} expected {expected}, came {found}"));
                        }
                    }
                }
                if differences.len() == patterns.len() {
                    return Err(format!("{} (all: {})", differences.join("; or "), excerpt(&so_far)));
                }
                let read = player.net.borrow_mut().read(id, Side::Player, most);
                match read {
                    Some(Ok(cells)) => {
                        fds += cells.iter().filter(|cell| cell.1.is_some()).count();
                        so_far.extend(cells.iter().map(|cell| cell.0));
                    }
                    Some(Err(end)) => return Err(format!("{end} behind {}", excerpt(&so_far))),
                    None => return Ok(None),
                }
            }
        });
        let (nth, captured) = found?.ok_or_else(|| format!("nothing more comes behind {}", excerpt(&so_far)))?;
        if fds != usize::from(with_fd) {
            return Err(format!("{fds} descriptors came"));
        }
        self.captures.extend(captured);
        Ok(nth)
    }

    fn expect(&mut self, step: &Expect, within: u64) -> Result<(), Failure> {
        self.receive(&step.on, &[&step.expect], step.with_fd, within).map(drop)
    }

    fn expect_any_of(&mut self, step: &ExpectAnyOf, within: u64) -> Result<(), Failure> {
        let patterns: Vec<_> = step.expect_any_of.iter().map(|one| &one.expect).collect();
        self.receive(&step.on, &patterns, false, within).map(drop)
    }

    fn expect_end(&mut self, step: &ExpectEnd, within: u64) -> Result<(), Failure> {
        let id = self.id(&step.on)?;
        let ended = self.until(within, |player| match &player.connections[&step.on].drained {
            Some((_, end)) => Ok(*end),
            None => match player.net.borrow_mut().read(id, Side::Player, 64) {
                Some(Ok(cells)) => Err(format!("{} comes", hex::encode(cells.iter().map(|cell| cell.0).collect::<Vec<_>>()))),
                Some(Err(end)) => Ok(Some(end)),
                None => Ok(None),
            },
        })?;
        let end = ended.ok_or("no end comes")?;
        if !matches!(
            (step.expect_end, end),
            (ExpectedEnd::Any, _) | (ExpectedEnd::Closed, End::Closed) | (ExpectedEnd::Reset, End::Reset)
        ) {
            return Err(format!("the end is {}", end.name()));
        }
        if let Some((bytes, _)) = &self.connections[&step.on].drained {
            if !bytes.ends_with(&step.last) {
                return Err(format!("the last bytes are {}", excerpt(&bytes[bytes.len().saturating_sub(step.last.len())..])));
            }
        }
        Ok(())
    }
}

fn always_listens(script: &Script) -> BTreeSet<String> {
    let Plays::Client(part) = &script.plays else { return BTreeSet::new() };
    let changes = |id: &str| script.steps.iter().any(|step| matches!(step, Step::Listen(step) if step.port == id));
    let ports = part.target.ports.iter().filter(|port| port.listening && !changes(&port.id));
    ports.map(|port| port.id.clone()).collect()
}

fn excerpt(bytes: &[u8]) -> String {
    let most = bytes.len().min(64);
    format!("{} bytes {}{}", bytes.len(), hex::encode(&bytes[..most]), if most < bytes.len() { "…" } else { "" })
}

fn conclusion(concluded: &RefCell<Option<ScriptOutcome>>) -> String {
    match &*concluded.borrow() {
        Some(outcome) => format!(" (the client says {})", serde_json::to_string(outcome).unwrap()),
        None => String::new(),
    }
}
