//! Traces several processes in one poll loop with the state machines of `exchange`. Streams are read
//! while the stops wait for their replies, because a runtime answers a stop only then (F-75). `cargo
//! run --example loop_mio -- SECONDS PATH-OF-A-SOCKET...` writes `0.nettrace`, `1.nettrace`, ...

fn main() {
    #[cfg(unix)]
    unix::run().unwrap_or_else(|error| panic!("{error}"));
}

#[cfg(unix)]
mod unix {
    use std::io::{ErrorKind, Read as _, Write as _};
    use std::{error::Error, fs::File, time::Duration, time::Instant};

    use dotnet_diagnostics_ipc::exchange::{
        AfterReply, ClientAction, ClientExchange, End, Outcome,
    };
    use dotnet_diagnostics_ipc::exchange::{Session, SessionAction, SessionOutcome};
    use dotnet_diagnostics_ipc::message::eventpipe::{CollectTracing2, EventLevel, Format};
    use dotnet_diagnostics_ipc::message::{Request, eventpipe::ProviderConfig};
    use dotnet_diagnostics_ipc::wire::Array;
    use mio::{Events, Interest, Poll, Token, net::UnixStream};

    type Done<T> = Result<T, Box<dyn Error>>;

    /// A request on its connection, with the buffer of the exchange.
    struct Asking(UnixStream, ClientExchange, [u8; 1024]);

    impl Asking {
        fn start<'r>(path: &str, request: &impl Request<'r>, poll: &Poll) -> Done<Self> {
            let (mut peer, mut buffer) = (UnixStream::connect(path)?, [0; 1024]);
            poll.registry().register(
                &mut peer,
                Token(0),
                Interest::READABLE | Interest::WRITABLE,
            )?;
            Ok(Self(peer, ClientExchange::new(request, &mut buffer)?, buffer))
        }

        /// Continues as far as the socket allows, and returns the outcome at the end.
        fn go(&mut self) -> Done<Option<Outcome>> {
            let Self(socket, client, buffer) = self;
            loop {
                let (done, sends) = match client.action() {
                    ClientAction::Send(range) => (socket.write(&buffer[range]), true),
                    ClientAction::Receive(range) => (socket.read(&mut buffer[range]), false),
                    ClientAction::SendFd(_) => return Err("not for user_events".into()),
                    ClientAction::Finished(outcome) => return Ok(Some(outcome)),
                };
                match done {
                    Ok(n @ 1..) if sends => client.sent(n)?,
                    Ok(n @ 1..) => client.received(buffer, n)?,
                    Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(None),
                    Err(error) if error.kind() == ErrorKind::Interrupted => {}
                    _ if sends => client.send_failed()?,
                    done => client.ended(done.map_or(End::Reset, |_| End::Closed))?,
                }
            }
        }
    }

    /// A path, the request that starts a session, the session, its stop, and the file.
    type Target<'p> = (&'p str, Asking, Option<Session>, Option<Asking>, File);

    /// Continues as far as the sockets allow.
    fn go(target: &mut Target<'_>, piece: &mut [u8]) -> Done<Option<SessionOutcome>> {
        let (path, start, session, stop, file) = target;
        let session = match (session, start.go()?) {
            (_, None) => return Ok(None),
            (Some(session), _) => session,
            (none, Some(Outcome::Ok { then: AfterReply::Stream { session_id }, .. })) => {
                none.insert(Session::streaming(session_id, u64::MAX))
            }
            (_, Some(outcome)) => return Err(format!("{path}: {outcome:?}").into()),
        };
        loop {
            if let Some(stop) = stop {
                stop.go()?.map_or(Ok(()), |outcome| session.stop_finished(outcome, &stop.2))?;
            }
            match session.action() {
                SessionAction::Read => match start.0.read(piece) {
                    Ok(0) => session.ended(End::Closed)?,
                    Ok(n) => file.write_all(session.received(&piece[..n])?)?,
                    Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(None),
                    Err(error) if error.kind() == ErrorKind::Interrupted => {}
                    Err(_) => session.ended(End::Reset)?,
                },
                SessionAction::AwaitStop => return Ok(None),
                SessionAction::HangUp => session.hung_up()?, // dropping the target closes it
                SessionAction::Finished(outcome) => return Ok(Some(outcome)),
            }
        }
    }

    pub(super) fn run() -> Result<(), Box<dyn Error>> {
        let arguments: Vec<String> = std::env::args().skip(1).collect();
        let (seconds, paths) = arguments.split_first().ok_or("loop_mio SECONDS SOCKET...")?;
        let runtime = "Microsoft-Windows-DotNETRuntime";
        let providers = [ProviderConfig::new(runtime, 0x1_c019, EventLevel::INFORMATIONAL)];
        let (providers, format) = (Array::new(&providers), Format::NET_TRACE);
        let (circular_buffer_mb, request_rundown) = (64, true);
        let request = CollectTracing2 { circular_buffer_mb, format, request_rundown, providers };
        let (mut poll, mut events) = (Poll::new()?, Events::with_capacity(64));
        let (mut targets, mut piece) = (Vec::<Target<'_>>::new(), vec![0; 64 * 1024]);
        for (nth, path) in paths.iter().enumerate() {
            let file = File::create(format!("{nth}.nettrace"))?;
            targets.push((path, Asking::start(path, &request, &poll)?, None, None, file));
        }
        let mut end = Some(Instant::now() + Duration::from_secs(seconds.parse()?));
        while !targets.is_empty() {
            let left = end.map(|end| end.saturating_duration_since(Instant::now()));
            if poll.poll(&mut events, left).is_err_and(|it| it.kind() != ErrorKind::Interrupted) {
                return Err("the sockets cannot be polled".into());
            }
            let stops = end.take_if(|end| *end <= Instant::now()).is_some();
            for mut target in std::mem::take(&mut targets) {
                if stops {
                    let request = target.2.as_mut().ok_or("no answer yet")?.begin_stop()?;
                    target.3 = request.map(|it| Asking::start(target.0, &it, &poll)).transpose()?;
                }
                match go(&mut target, &mut piece)? {
                    Some(outcome) => println!("{}: {outcome:?}", target.0),
                    None => targets.push(target),
                }
            }
        }
        Ok(())
    }
}
