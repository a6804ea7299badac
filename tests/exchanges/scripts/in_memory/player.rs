//! Plays a script on connections in memory, against the side under test as tasks.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use std::time::Duration;

use dotnet_diagnostics_ipc_vectors::player::{
    Flow, Link, Network as Connections, Player, PlayerError, Received, Sent,
};
use dotnet_diagnostics_ipc_vectors::script::{
    Ending, FdKind, Life, Plays, Script, ScriptOutcome, Step,
};

use super::network::{Chunking, DEFAULT, Executor, Net, Network, Side};
use super::{client, runtime};

/// The player's side of the connections in memory. While it waits, the side under test runs.
struct Memory {
    net: Net,
    executor: Executor,
    drained: BTreeMap<Link, Flow>,
    /// The ports of a runtime at which the player always listens.
    always_listens: BTreeSet<String>,
}

/// Plays `script`; returns the difference, with the step.
pub(crate) fn play(script: &Script, within_ms: u32, chunking: &Chunking) -> Result<(), String> {
    let net = Network::new(chunking.clone());
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
    let mut memory =
        Memory { net, executor, drained: BTreeMap::new(), always_listens: always_listens(script) };
    run(&mut memory, script, Duration::from_millis(within_ms.into()), &concluded).map_err(
        |message| {
            let faults = std::mem::take(&mut memory.net.borrow_mut().faults).join("; ");
            format!("scId {} ({}), {chunking:?}: {message} {faults}", script.sc_id, script.name)
        },
    )
}

fn run(
    memory: &mut Memory,
    script: &Script,
    within: Duration,
    concluded: &RefCell<Option<ScriptOutcome>>,
) -> Result<(), String> {
    let mut player = Player::new(memory, within);
    player.play(&script.steps).map_err(|failure| format!("{failure}{}", conclusion(concluded)))?;
    player.close_all().map_err(|trouble| trouble.to_string())?;
    let Plays::Runtime(part) = &script.plays else {
        return memory
            .pump()
            .and_then(|()| memory.no_faults())
            .map_err(|trouble| trouble.to_string());
    };
    let until = memory.now() + within;
    let outcome = memory
        .until(until, |_| Ok(concluded.borrow_mut().take()))
        .map_err(|trouble| trouble.to_string())?;
    memory.no_faults().map_err(|trouble| trouble.to_string())?;
    let outcome = outcome.ok_or("the client has come to no conclusion")?;
    if outcome != part.outcome {
        let text = |outcome: &ScriptOutcome| serde_json::to_string(outcome).unwrap();
        return Err(format!("expected {}, received {}", text(&part.outcome), text(&outcome)));
    }
    Ok(())
}

impl Memory {
    fn no_faults(&self) -> Result<(), PlayerError> {
        let faults = std::mem::take(&mut self.net.borrow_mut().faults);
        if faults.is_empty() { Ok(()) } else { Err(PlayerError::differs(faults.join("; "))) }
    }

    /// Runs the side under test until it can do no more, and reads in the background.
    fn pump(&mut self) -> Result<(), PlayerError> {
        loop {
            self.executor.run().map_err(PlayerError::differs)?;
            let mut more = false;
            for (link, drained) in &mut self.drained {
                match self.net.borrow_mut().read(link.number(), Side::Player, usize::MAX) {
                    Some(Ok(cells)) => {
                        let bytes: Vec<u8> = cells.iter().map(|cell| cell.0).collect();
                        drained.push(&bytes, 0);
                        more = true;
                    }
                    Some(Err(how)) => drained.end = Some(how),
                    None => {}
                }
            }
            if !more {
                return Ok(());
            }
        }
    }

    /// Waits until `ready` returns something; `None` after `until`.
    fn until<T>(
        &mut self,
        until: Duration,
        mut ready: impl FnMut(&mut Self) -> Result<Option<T>, PlayerError>,
    ) -> Result<Option<T>, PlayerError> {
        let deadline = u64::try_from(until.as_millis()).unwrap();
        loop {
            self.pump()?;
            let before = self.net.borrow().progress;
            if let Some(it) = ready(self)? {
                return self.no_faults().map(|()| Some(it));
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
}

impl Connections for Memory {
    fn now(&self) -> Duration {
        Duration::from_millis(self.net.borrow().now)
    }

    fn open(&mut self, port: Option<&str>, until: Duration) -> Result<Link, PlayerError> {
        let id = self
            .until(until, |memory| Ok(memory.net.borrow_mut().connect(port.unwrap_or(DEFAULT))))?;
        id.map(Link::new).ok_or_else(|| PlayerError::differs("nobody listens"))
    }

    fn accept(&mut self, port: Option<&str>, until: Duration) -> Result<Option<Link>, PlayerError> {
        let port = port.unwrap_or(DEFAULT);
        let before = self.net.borrow().now;
        let id = self.until(until, |memory| Ok(memory.net.borrow_mut().accept(port)))?;
        // A script cannot ask for less than a real machine may need; here no time passes
        // (R-FLW-013).
        match self.net.borrow().now - before {
            late if late > 0 && id.is_some() && self.always_listens.contains(port) => {
                Err(PlayerError::differs(format!("the connection is {late} ms late")))
            }
            _ => Ok(id.map(Link::new)),
        }
    }

    fn is_called(&mut self, port: Option<&str>, until: Duration) -> Result<bool, PlayerError> {
        let came = self.until(until, |memory| {
            Ok((memory.net.borrow().waiting(port.unwrap_or(DEFAULT)) > 0).then_some(()))
        })?;
        Ok(came.is_some())
    }

    fn listen(&mut self, port: &str, listening: bool) -> Result<(), PlayerError> {
        let mut net = self.net.borrow_mut();
        net.listen(port, listening);
        if !listening {
            net.drop_waiting(port, Side::Player);
        }
        Ok(())
    }

    fn send(
        &mut self,
        link: Link,
        bytes: &[u8],
        fd: Option<FdKind>,
        _until: Duration,
    ) -> Result<Sent, PlayerError> {
        // What the side under test does by itself is done first.
        self.pump()?;
        let went = self.net.borrow_mut().write(link.number(), Side::Player, bytes, fd);
        Ok(if went { Sent::All } else { Sent::PeerGone("the peer has closed".to_owned()) })
    }

    fn receive(
        &mut self,
        link: Link,
        most: usize,
        until: Duration,
    ) -> Result<Received, PlayerError> {
        let read = self.until(until, |memory| {
            Ok(memory.net.borrow_mut().read(link.number(), Side::Player, most))
        })?;
        Ok(match read {
            Some(Ok(cells)) => {
                let fds = cells.iter().filter_map(|cell| cell.1).collect();
                Received::Bytes(cells.iter().map(|cell| cell.0).collect(), fds)
            }
            Some(Err(end)) => Received::End(end),
            None => Received::Nothing,
        })
    }

    fn drain(&mut self, link: Link) -> Result<(), PlayerError> {
        self.drained.insert(link, Flow::default());
        Ok(())
    }

    fn drained(&mut self, link: Link, until: Duration) -> Result<Flow, PlayerError> {
        self.until(until, |memory| Ok(memory.drained[&link].end.map(drop)))?;
        Ok(self.drained[&link].clone())
    }

    fn end(&mut self, link: Link, how: Ending) -> Result<(), PlayerError> {
        // What the side under test does by itself is done first.
        self.pump()?;
        let mut net = self.net.borrow_mut();
        match how {
            Ending::HalfClose => net.half_close(link.number(), Side::Player),
            Ending::Close => net.close(link.number(), Side::Player),
            Ending::Reset => net.reset(link.number(), Side::Player),
        }
        Ok(())
    }

    fn wait(&mut self, until: Duration) -> Result<(), PlayerError> {
        self.until(until, |_| Ok(None::<()>)).map(drop)
    }

    fn life(&mut self, _expected: Life, _until: Duration) -> Result<Life, PlayerError> {
        // Nothing kills this runtime.
        self.pump().map(|()| Life::Alive)
    }

    fn file(&mut self, _name: &str, most: usize) -> Result<Option<Vec<u8>>, PlayerError> {
        // Nothing is written here: this returns the head of a core file instead.
        let head = b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0\x04\0";
        Ok(Some(head[..most.min(head.len())].to_vec()))
    }
}

fn always_listens(script: &Script) -> BTreeSet<String> {
    let Plays::Client(part) = &script.plays else { return BTreeSet::new() };
    let changes = |id: &str| {
        script.steps.iter().any(|step| matches!(step, Step::Listen(step) if step.port == id))
    };
    let ports = part.target.ports.iter().filter(|port| port.listening && !changes(&port.id));
    ports.map(|port| port.id.clone()).collect()
}

fn conclusion(concluded: &RefCell<Option<ScriptOutcome>>) -> String {
    match &*concluded.borrow() {
        Some(outcome) => format!(" (the client says {})", serde_json::to_string(outcome).unwrap()),
        None => String::new(),
    }
}
