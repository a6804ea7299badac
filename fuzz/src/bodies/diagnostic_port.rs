//! Arbitrary connections to a diagnostic port: pieces give the same result as all at once, and the
//! port with lent slots and the sorted one the same as a plain list.

use super::Pieces;
use dotnet_diagnostics_ipc::advertise::ADVERTISE_LEN;
use dotnet_diagnostics_ipc::exchange::End;
use dotnet_diagnostics_ipc::exchange::diagnostic_port::{
    AdvertiseAction, AdvertiseOutcome, AdvertiseReceiver, DiagnosticPort, WaitingConnection,
};
use dotnet_diagnostics_ipc::wire::Guid;

/// How many connections the port of this target holds.
const SLOTS: usize = 3;

/// One connection of the input: `[action, 2 sizes of pieces, number of its 40 bytes, bytes …]`.
const FRONT: usize = 4;

/// `[ignored, connections …]`.
pub fn diagnostic_port(input: &[u8]) {
    let Some((_, mut input)) = input.split_first() else { return };
    let mut slots = [const { None }; SLOTS];
    let mut ports = [DiagnosticPort::new(&mut slots), DiagnosticPort::sorted(SLOTS)];
    let mut list: Vec<WaitingConnection<u32>> = Vec::new();
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
        let cookie = |number: u8| Guid::from_bytes([number & 3; 16]);
        advertise.runtime_cookie = cookie(advertise.runtime_cookie.to_bytes()[0]);
        let old =
            list.iter().position(|held| held.advertise.runtime_cookie == advertise.runtime_cookie);
        let is_full = old.is_none() && list.len() == SLOTS;
        let old = old.map(|index| list.remove(index));
        for port in &mut ports {
            match port.hold(advertise, token) {
                Ok(replaced) => assert!(!is_full && replaced == old),
                Err(refused) => assert!(is_full && refused == token),
            }
        }
        if !is_full {
            list.push(WaitingConnection { advertise, token });
        }
        if does % 2 == 0 {
            let cookie = cookie(does >> 1);
            let at = list.iter().position(|held| held.advertise.runtime_cookie == cookie);
            let taken = at.map(|at| list.remove(at));
            assert!(ports.iter_mut().all(|port| port.take(cookie) == taken));
        }
        for port in &ports {
            assert_eq!(port.len(), list.len());
            assert!(list.iter().all(|held| port.find(held.advertise.runtime_cookie) == Some(held)));
        }
    }
}

fn receive(wire: &[u8], sizes: &[u8], end: End) -> AdvertiseOutcome {
    let (mut receiver, mut buffer, mut pieces, mut taken) =
        (AdvertiseReceiver::new(), [0; ADVERTISE_LEN], Pieces::new(sizes), 0);
    loop {
        match receiver.action() {
            AdvertiseAction::Receive(range) => {
                let n = range.len().min(pieces.next()).min(wire.len() - taken);
                buffer[range.start..range.start + n].copy_from_slice(&wire[taken..taken + n]);
                taken += n;
                match n {
                    0 => receiver.ended(end).unwrap(),
                    n => receiver.received(&buffer, n).unwrap(),
                }
            }
            AdvertiseAction::Finished(outcome) => {
                assert!(receiver.received(&buffer, 1).is_err() && receiver.ended(end).is_err());
                return outcome;
            }
        }
    }
}
