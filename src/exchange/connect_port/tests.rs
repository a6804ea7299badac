//! Actions and delays of a connect port.

extern crate std;

use super::*;
use crate::wire::Guid;
use std::vec::Vec;

const ADVERTISE: Advertise =
    Advertise { runtime_cookie: Guid::from_bytes([7; 16]), process_id: 12345, future: 0x1234 };

fn ms(port: &ConnectPort) -> u128 {
    let ConnectPortAction::Wait(delay) = port.action() else { panic!("{:?}", port.action()) };
    delay.as_millis()
}

/// A port whose connection waits for a request.
fn waiting(policy: RetryPolicy) -> ConnectPort {
    let mut port = ConnectPort::new(ADVERTISE, policy);
    port.connected(&mut [0; ADVERTISE_LEN]).unwrap();
    port.sent(ADVERTISE_LEN).unwrap();
    port
}

#[test]
fn connect_port_is_at_most_64_bytes() {
    assert!(size_of::<ConnectPort>() <= 64, "{}", size_of::<ConnectPort>());
}

#[test]
fn advertise_is_sent_in_any_pieces() {
    for piece in 1..=ADVERTISE_LEN {
        let mut port = ConnectPort::new(ADVERTISE, RetryPolicy::AsShipped);
        let (mut buffer, mut wire) = ([0xEE; 40], Vec::new());
        port.connected(&mut buffer).unwrap();
        assert_eq!(buffer[ADVERTISE_LEN..], [0xEE; 6]);
        while let ConnectPortAction::Send(range) = port.action() {
            let count = range.len().min(piece);
            wire.extend_from_slice(&buffer[range][..count]);
            assert_eq!(port.sent(0), Err(MisuseError::NoBytes));
            port.sent(count).unwrap();
        }
        assert_eq!(wire, ADVERTISE.to_bytes());
        assert_eq!(port.action(), ConnectPortAction::AwaitRequest);
    }
}

#[test]
fn failures_delay_by_policy_until_advertise_is_sent() {
    for policy in [RetryPolicy::AsShipped, RetryPolicy::AsPrinted] {
        let mut port = ConnectPort::new(ADVERTISE, policy);
        for delay in policy.delays().take(30) {
            port.connect_failed().unwrap();
            assert_eq!(port.action(), ConnectPortAction::Wait(delay));
            port.waited().unwrap();
        }
        // A connection is not a success until the advertise is sent.
        port.connected(&mut [0; ADVERTISE_LEN]).unwrap();
        port.sent(33).unwrap();
        port.send_failed().unwrap();
        assert_eq!(ms(&port), 500);
    }
}

#[test]
fn connects_again_at_once_after_request_or_end() {
    // The delays after later failures. As shipped: seen by diagipc/tests/live/reconnect.py,
    // the_delays_between_attempts.
    for (policy, after_an_end) in [(RetryPolicy::AsShipped, 12), (RetryPolicy::AsPrinted, 10)] {
        let mut port = waiting(policy);
        port.request_arrived().unwrap();
        assert_eq!(port.action(), ConnectPortAction::HandOver);
        port.handed_over().unwrap();
        port.connect_failed().unwrap();
        assert_eq!(ms(&port), 10);

        let mut port = waiting(policy);
        port.ended().unwrap();
        port.connect_failed().unwrap();
        assert_eq!(ms(&port), after_an_end);
    }
}

#[test]
fn event_on_other_port_resets_delays() {
    let mut port = ConnectPort::new(ADVERTISE, RetryPolicy::AsShipped);
    for _ in 0..10 {
        port.connect_failed().unwrap();
        port.waited().unwrap();
    }
    port.connect_failed().unwrap();
    assert_eq!(ms(&port), 78);
    let (mut command, mut end) = (port, port);
    command.reset_delay();
    end.end_elsewhere();
    for (port, delay) in [(&mut command, 10), (&mut end, 12)] {
        assert_eq!(port.action(), ConnectPortAction::Connect);
        port.connect_failed().unwrap();
        assert_eq!(ms(port), delay);
    }
    // The state of a connection does not change.
    let mut port = waiting(RetryPolicy::AsShipped);
    port.reset_delay();
    port.end_elsewhere();
    assert_eq!(port.action(), ConnectPortAction::AwaitRequest);
}

#[test]
fn short_buffer_is_reported_and_can_be_retried() {
    let mut port = ConnectPort::new(ADVERTISE, RetryPolicy::AsShipped);
    assert_eq!(port.connected(&mut [0; 33]), Err(MisuseError::BufferTooShort { needed: 34 }));
    assert_eq!(port.action(), ConnectPortAction::Connect);
    assert_eq!(port.connected(&mut [0; 34]), Ok(()));
}

/// Each report in each state: a port accepts exactly those that the action asks for, is
/// unchanged by the others, and never has two connections.
#[test]
fn reports_in_any_order_keep_state_valid() {
    let (mut port, mut connections, mut seed) =
        (ConnectPort::new(ADVERTISE, RetryPolicy::AsShipped), 0, 1u32);
    let mut taken = [0u32; 10];
    for _ in 0..20_000 {
        seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let (pick, count) = (seed >> 24, (seed >> 16) as usize % 37);
        let (before, action) = (port, port.action());
        let result = match pick % 10 {
            0 => port.connected(&mut [0; ADVERTISE_LEN]),
            1 => port.connect_failed(),
            2 => port.sent(count),
            3 => port.send_failed(),
            4 => port.request_arrived(),
            5 => port.ended(),
            6 => port.handed_over(),
            7 => port.waited(),
            8 => {
                port.reset_delay();
                Ok(())
            }
            _ => {
                port.end_elsewhere();
                Ok(())
            }
        };
        let expected = match (&action, pick % 10) {
            (ConnectPortAction::Send(range), 2) if count > range.len() => {
                Err(MisuseError::TooMany { asked: range.len(), reported: count })
            }
            (ConnectPortAction::Send(_), 2) if count == 0 => Err(MisuseError::NoBytes),
            (ConnectPortAction::Connect, 0 | 1)
            | (ConnectPortAction::Send(_), 2 | 3)
            | (ConnectPortAction::AwaitRequest, 4 | 5)
            | (ConnectPortAction::HandOver, 6)
            | (ConnectPortAction::Wait(_), 7)
            | (_, 8 | 9) => Ok(()),
            _ => Err(MisuseError::NotAsked),
        };
        assert_eq!(result, expected, "{action:?} {pick}");
        if result.is_err() {
            assert_eq!(port, before);
            continue;
        }
        taken[pick as usize % 10] += 1;
        connections += match pick % 10 {
            0 => 1,
            3 | 5 | 6 => -1,
            _ => 0,
        };
        let has_one =
            !matches!(port.action(), ConnectPortAction::Connect | ConnectPortAction::Wait(_));
        assert_eq!(connections, i32::from(has_one));
    }
    assert!(taken.iter().all(|times| *times > 0), "{taken:?}");
}
