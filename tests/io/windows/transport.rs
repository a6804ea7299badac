//! One connection: bytes, the end, deadlines, cancelling.

use std::io::ErrorKind as IoErrorKind;
use std::thread;
use std::time::{Duration, Instant};

use dotnet_diagnostics_ipc::io::windows::{PipeListener, PipeTransport};
use dotnet_diagnostics_ipc::io::{Canceller, ErrorKind, Transport as _, WaitLimit};

use super::{PATIENCE, SHORT, name, pair, patience, pattern, receive_all, send_all, within};

#[test]
fn pipe_bytes_go_both_ways() {
    let (mut server, mut client) = pair("pieces");
    assert_eq!(client.server_process_id().unwrap(), std::process::id());
    let bytes = pattern(2000);
    for (from, to) in [(true, 1), (false, 7), (true, 1999), (false, 2000)] {
        let (from, to, most) =
            if from { (&mut client, &mut server, to) } else { (&mut server, &mut client, to) };
        for piece in bytes.chunks(13) {
            send_all(from, piece);
        }
        let (mut got, mut buffer) = (Vec::new(), vec![0; most]);
        while got.len() < bytes.len() {
            let room = most.min(bytes.len() - got.len());
            let count = to.receive(&mut buffer[..room], &patience()).unwrap();
            assert!((1..=room).contains(&count));
            got.extend_from_slice(&buffer[..count]);
        }
        assert_eq!(got, bytes);
    }
}

#[test]
fn pipe_end_follows_last_byte() {
    for server_leaves in [true, false] {
        let (server, client) = pair(&format!("end-{server_leaves}"));
        let (mut leaves, mut stays) =
            if server_leaves { (server, client) } else { (client, server) };
        send_all(&mut leaves, b"the last");
        drop(leaves);
        assert_eq!(receive_all(&mut stays, 3), b"the last");
        // The end is final, and a send finds no reader.
        assert_eq!(stays.receive(&mut [0; 8], &patience()).unwrap(), 0);
        let ErrorKind::Io(error) = stays.send(b"?", &patience()).unwrap_err() else { panic!() };
        assert_eq!(error.kind(), IoErrorKind::BrokenPipe, "{error}");
    }
}

#[test]
fn pipe_end_ends_wait() {
    let (server, mut client) = pair("end-wait");
    let waits = thread::spawn(move || client.receive(&mut [0; 8], &patience()).unwrap());
    thread::sleep(SHORT);
    drop(server);
    assert_eq!(waits.join().unwrap(), 0);
}

#[test]
fn pipe_empty_write_and_read_do_nothing() {
    let (mut server, mut client) = pair("nothing");
    assert_eq!(client.send(&[], &patience()).unwrap(), 0);
    assert_eq!(server.receive(&mut [], &patience()).unwrap(), 0);
    assert!(matches!(server.receive(&mut [0; 8], &within(SHORT)), Err(ErrorKind::TimedOut)));
    send_all(&mut client, b"something");
    assert_eq!(server.receive(&mut [0; 16], &patience()).unwrap(), 9);
}

#[test]
fn pipe_read_ends_at_deadline() {
    let (mut server, mut client) = pair("read-deadline");
    for time in [Duration::ZERO, SHORT] {
        let (before, mut buffer) = (Instant::now(), [0xAA; 64]);
        assert!(matches!(client.receive(&mut buffer, &within(time)), Err(ErrorKind::TimedOut)));
        assert!(before.elapsed() >= time);
        // Nothing is written there afterwards.
        send_all(&mut server, b"late");
        thread::sleep(Duration::from_millis(20));
        assert_eq!(buffer, [0xAA; 64]);
        assert_eq!(client.receive(&mut buffer, &patience()).unwrap(), 4);
        assert_eq!(buffer[..4], *b"late");
    }
    // After the deadline nothing is tried, even if bytes are available.
    send_all(&mut server, b"x");
    assert!(matches!(
        client.receive(&mut [0; 8], &within(Duration::ZERO)),
        Err(ErrorKind::TimedOut)
    ));
    assert_eq!(client.receive(&mut [0; 8], &patience()).unwrap(), 1);
}

/// Reads are given up all the time while bytes arrive: each byte is read once, and in order.
#[test]
fn pipe_read_given_up_loses_nothing() {
    let (mut server, mut client) = pair("race");
    let bytes = pattern(20_000);
    let sent = bytes.clone();
    let sends = thread::spawn(move || {
        for (i, piece) in sent.chunks(10).enumerate() {
            send_all(&mut server, piece);
            // Sometimes about as long as a read waits.
            if i % 4 == 0 {
                thread::sleep(Duration::from_micros(u64::try_from(i % 17 * 150).unwrap()));
            }
        }
    });
    let (mut got, mut given_up, mut buffer) = (Vec::new(), 0, [0; 64]);
    let end = Instant::now() + PATIENCE;
    loop {
        assert!(Instant::now() < end);
        match client.receive(&mut buffer, &within(Duration::from_micros(900))) {
            Ok(0) => break,
            Ok(count) => got.extend_from_slice(&buffer[..count]),
            Err(ErrorKind::TimedOut) => given_up += 1,
            Err(stopped) => panic!("{stopped:?}"),
        }
    }
    sends.join().unwrap();
    assert!(got == bytes, "{} of {}", got.len(), bytes.len());
    assert!(given_up > 10, "{given_up}");
    println!("{given_up} reads were given up");
}

/// How much of a given-up write was sent is unknown, so it is the last; a clone shares this state.
#[test]
fn pipe_write_past_deadline_is_the_last() {
    let (mut server, mut client) = pair("write-deadline");
    let mut clone = client.try_clone().unwrap();
    send_all(&mut clone, b"before");
    assert_eq!(server.receive(&mut [0; 16], &patience()).unwrap(), 6);
    let bytes = pattern(1 << 20);
    let mut sent = 0;
    let before = Instant::now();
    let until = within(SHORT);
    let stopped = loop {
        match client.send(&bytes[sent..], &until) {
            Ok(count) => sent += count,
            Err(stopped) => break stopped,
        }
    };
    assert!(matches!(stopped, ErrorKind::TimedOut));
    assert!(before.elapsed() >= SHORT && sent < bytes.len());
    let later = clone.try_clone().unwrap();
    for mut pipe in [client.try_clone().unwrap(), clone, later] {
        let ErrorKind::Io(error) = pipe.send(b"more", &patience()).unwrap_err() else { panic!() };
        assert_eq!(error.kind(), IoErrorKind::BrokenPipe);
    }
    // A deadline that passes before anything is tried has no such effect.
    assert!(matches!(server.send(b"reply", &within(Duration::ZERO)), Err(ErrorKind::TimedOut)));
    send_all(&mut server, b"reply");
    assert_eq!(client.receive(&mut [0; 16], &patience()).unwrap(), 5);
    drop(client);
    let got = receive_all(&mut server, 4096);
    assert!(
        got.len() >= sent && got[..] == bytes[..got.len()],
        "{} sent, {} came",
        sent,
        got.len()
    );
}

/// Cancels after a while, from another thread.
fn cancelled_later<T>(wait: impl FnOnce(&WaitLimit<'_>) -> T) -> T {
    let canceller = Canceller::new().unwrap();
    let other = canceller.clone();
    let before = Instant::now();
    let cancels = thread::spawn(move || {
        thread::sleep(SHORT);
        other.cancel();
    });
    let done = wait(&WaitLimit { canceller: Some(&canceller), ..patience() });
    assert!((SHORT..PATIENCE).contains(&before.elapsed()));
    cancels.join().unwrap();
    done
}

#[test]
fn pipe_read_is_cancelled_by_thread() {
    let (mut server, mut client) = pair("cancel");
    assert!(matches!(
        cancelled_later(|until| client.receive(&mut [0; 8], until)),
        Err(ErrorKind::Cancelled)
    ));
    send_all(&mut server, b"late");
    assert_eq!(client.receive(&mut [0; 8], &patience()).unwrap(), 4);

    let bytes = pattern(1 << 20);
    let stopped = cancelled_later(|until| {
        loop {
            if let Err(stopped) = client.send(&bytes, until) {
                break stopped;
            }
        }
    });
    assert!(matches!(stopped, ErrorKind::Cancelled));

    let mut listener = PipeListener::bind(&name("cancel-accept")).unwrap();
    let error = cancelled_later(|until| listener.accept(until)).unwrap_err();
    assert_error!(error, Listen, ErrorKind::Cancelled);

    let _first = PipeTransport::connect(listener.path(), &patience()).unwrap();
    let error =
        cancelled_later(|until| PipeTransport::connect(listener.path(), until)).unwrap_err();
    assert_error!(error, Connect, ErrorKind::Cancelled);
}

#[test]
fn pipe_read_cancelled_before_ends_at_once() {
    let (mut server, mut client) = pair("cancelled");
    let canceller = Canceller::new().unwrap();
    let until = WaitLimit { canceller: Some(&canceller), ..patience() };
    // Not used yet, it blocks nothing.
    send_all(&mut server, b"one");
    assert_eq!(client.receive(&mut [0; 8], &until).unwrap(), 3);
    canceller.cancel();
    send_all(&mut server, b"two");
    assert!(matches!(client.receive(&mut [0; 8], &until), Err(ErrorKind::Cancelled)));
    assert!(matches!(client.send(b"?", &until), Err(ErrorKind::Cancelled)));
    assert_eq!(client.receive(&mut [0; 8], &patience()).unwrap(), 3);
    assert_eq!(client.send(b"?", &patience()).unwrap(), 1);
}

/// A stream is held back while it is not read, and is complete in the end.
#[test]
fn pipe_stream_of_1_mib_is_read_whole() {
    for most in [1000, 16 * 1024, 200_000] {
        let (mut server, mut client) = pair(&format!("stream-{most}"));
        let bytes = pattern(1 << 20);
        let sent = bytes.clone();
        let sends = thread::spawn(move || {
            send_all(&mut server, &sent);
            drop(server);
        });
        thread::sleep(SHORT);
        assert!(!sends.is_finished());
        assert!(receive_all(&mut client, most) == bytes);
        sends.join().unwrap();
    }
}
