//! Arbitrary connections to a diagnostic port: pieces give the same result as all at once, and the
//! table the same as a plain list.

use std::collections::VecDeque;
use std::num::NonZeroU32;
use std::vec::Vec;

use super::Pieces;
use dotnet_diagnostics_ipc::advertise::{ADVERTISE_LEN, Advertise};
use dotnet_diagnostics_ipc::exchange::End;
use dotnet_diagnostics_ipc::exchange::diagnostic_port::{
    AdvertiseAction, AdvertiseOutcome, AdvertiseReceiver, ConnectionKey, DiagnosticPort,
    SameCookie, Slot,
};
use dotnet_diagnostics_ipc::wire::Guid;

/// How many connections the port of this target holds.
const SLOTS: usize = 5;

/// One connection of the input: `[action, 2 sizes of pieces, number of its 40 bytes, bytes …]`.
const FRONT: usize = 4;

/// `[handling of a known cookie, connections …]`.
pub fn diagnostic_port(input: &[u8]) {
    let Some((policy, mut input)) = input.split_first() else { return };
    let policy = match policy % 3 {
        0 => SameCookie::Replace,
        most => SameCookie::Queue { most: NonZeroU32::new(most.into()).unwrap() },
    };
    let mut slots: [Slot<u32>; SLOTS] = std::array::from_fn(|_| Slot::EMPTY);
    let mut port = DiagnosticPort::with_seed(&mut slots[..], policy, 0x1234_5678).unwrap();
    let mut list = VecDeque::new();
    for token in 0.. {
        let Some(([does, sizes @ .., come], rest)) = input.split_first_chunk::<FRONT>() else {
            break;
        };
        let (wire, rest) = rest.split_at(rest.len().min(usize::from(*come) % 40));
        input = rest;
        let end = [End::Closed, End::Reset, End::TimedOut][usize::from(does >> 6) % 3];
        let outcome = receive(wire, &[], end);
        assert_eq!(receive(wire, sizes, end), outcome);
        let AdvertiseOutcome::Advertised(mut advertise) = outcome else { continue };
        assert_eq!(&advertise.to_bytes()[..], &wire[..ADVERTISE_LEN]);
        // Few cookies, so they collide.
        advertise.runtime_cookie =
            Guid::from_bytes([advertise.runtime_cookie.to_bytes()[0] & 3; 16]);
        hold(&mut port, &mut list, policy, advertise, token);
        let (cookie, key) =
            (advertise.runtime_cookie, list.get(usize::from(*does) % SLOTS).map(|(key, ..)| *key));
        match does % 4 {
            0 => {
                let at = list.iter().position(|(_, held, _)| held.runtime_cookie == cookie);
                let expected = at.and_then(|at| list.remove(at));
                assert_eq!(
                    port.take(cookie).map(|found| (found.key, found.advertise, found.token)),
                    expected
                );
            }
            1 => {
                let expected = list.pop_front();
                assert_eq!(
                    port.take_oldest().map(|found| (found.key, found.advertise, found.token)),
                    expected
                );
            }
            2 => {
                let Some(key) = key else { continue };
                assert!(port.remove(key).is_some());
                // Not twice, even if its slot is reused.
                assert!(port.remove(key).is_none() && port.get(key).is_none());
                list.retain(|(held, ..)| *held != key);
            }
            _ => {}
        }
        same(&port, &list);
    }
}

type List = VecDeque<(ConnectionKey, Advertise, u32)>;

fn hold(
    port: &mut DiagnosticPort<&mut [Slot<u32>]>,
    list: &mut List,
    policy: SameCookie,
    advertise: Advertise,
    token: u32,
) {
    let queued: Vec<_> = list
        .iter()
        .filter(|(_, held, _)| held.runtime_cookie == advertise.runtime_cookie)
        .copied()
        .collect();
    let (replaces, full) = match policy {
        SameCookie::Replace => (queued.first().copied(), queued.is_empty() && list.len() == SLOTS),
        SameCookie::Queue { most } => {
            (None, list.len() == SLOTS || queued.len() >= most.get() as usize)
        }
    };
    match port.hold(advertise, token) {
        Ok(held) => {
            assert!(!full);
            assert_eq!(held.replaced.map(|old| (old.key, old.advertise, old.token)), replaces);
            list.retain(|(key, ..)| replaces.is_none_or(|(old, ..)| old != *key));
            list.push_back((held.key, advertise, token));
        }
        Err(refused) => assert!(full && refused.token == token),
    }
}

fn same(port: &DiagnosticPort<&mut [Slot<u32>]>, list: &List) {
    assert_eq!(port.len(), list.len());
    assert!(
        port.iter()
            .map(|found| (found.key, found.advertise, *found.token))
            .eq(list.iter().copied())
    );
    for (key, advertise, token) in list {
        assert!(
            port.get(*key)
                .is_some_and(|found| (*found.token, found.advertise) == (*token, *advertise))
        );
        let first =
            list.iter().find(|(_, held, _)| held.runtime_cookie == advertise.runtime_cookie);
        assert_eq!(
            port.find(advertise.runtime_cookie).map(|found| found.key),
            first.map(|(key, ..)| *key)
        );
        let of_process =
            list.iter().filter(|(_, held, _)| held.process_id == advertise.process_id).count();
        assert_eq!(port.find_process(advertise.process_id).count(), of_process);
    }
}

fn receive(wire: &[u8], sizes: &[u8], end: End) -> AdvertiseOutcome {
    let (mut receiver, mut buffer, mut pieces, mut taken) =
        (AdvertiseReceiver::new(), [0; ADVERTISE_LEN], Pieces::new(sizes), 0);
    loop {
        match receiver.action() {
            AdvertiseAction::Receive(range) => {
                let n = pieces.receive(range, &mut buffer, wire, &mut taken);
                if n == 0 {
                    receiver.ended(end).unwrap();
                } else {
                    receiver.received(&buffer, n).unwrap();
                }
            }
            AdvertiseAction::Finished(outcome) => {
                assert!(receiver.received(&buffer, 1).is_err() && receiver.ended(end).is_err());
                return outcome;
            }
        }
    }
}
