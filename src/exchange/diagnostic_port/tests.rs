//! Tests of the table of held connections.

extern crate std;

use core::cell::Cell;
use core::num::NonZeroU32;
use std::collections::BTreeMap;
use std::string::ToString as _;
use std::vec::Vec;
use std::{format, vec};

use super::hash::hash;
use super::*;
use crate::advertise::Advertise;
use crate::wire::Guid;

const MANY: usize = 100_000;

fn queue(most: u32) -> SameCookie {
    SameCookie::Queue { most: NonZeroU32::new(most).unwrap() }
}

fn empty<T>(count: usize) -> Vec<Slot<T>> {
    (0..count).map(|_| Slot::EMPTY).collect()
}

fn cookie(number: usize) -> Guid {
    Guid::from_bytes((number as u128).to_le_bytes())
}

/// Two runtimes in a row have the same process id.
fn advertise(number: usize) -> Advertise {
    Advertise { runtime_cookie: cookie(number), process_id: number as u64 / 2, future: 0 }
}

fn tokens<S: Slots<Token = usize>>(port: &DiagnosticPort<S>) -> Vec<usize> {
    port.iter().map(|waiting| *waiting.token).collect()
}

/// Holds what must be held, and must replace nothing.
fn hold<S: Slots<Token = usize>>(
    port: &mut DiagnosticPort<S>,
    number: usize,
    token: usize,
) -> ConnectionKey {
    let HoldOutcome { key, replaced } = port.hold(advertise(number), token).unwrap();
    assert_eq!(replaced, None);
    key
}

fn longest_chain<S: Slots>(port: &DiagnosticPort<S>) -> usize {
    port.chain_lengths().max().unwrap_or_default()
}

#[test]
fn hundred_thousand_cookies_are_found_in_few_steps() {
    let mut slots = empty(MANY);
    let mut port = DiagnosticPort::new(&mut slots[..], SameCookie::Replace).unwrap();
    let keys: Vec<_> = (0..MANY).map(|number| hold(&mut port, number, number)).collect();
    assert_eq!((port.len(), port.capacity()), (MANY, MANY));

    // A chain of n cookies is walked in 1, 2, … n steps to find each of them.
    let steps: usize = port.chain_lengths().map(|length| length * (length + 1) / 2).sum();
    assert_eq!(port.chain_lengths().sum::<usize>(), MANY);
    assert!(steps < MANY * 8 / 5, "{steps}");
    assert!(longest_chain(&port) <= 10, "{}", longest_chain(&port));

    for (number, key) in keys.iter().enumerate() {
        let found = port.find(cookie(number)).unwrap();
        assert_eq!((*found.token, found.key, found.advertise), (number, *key, advertise(number)));
        assert_eq!(port.get(*key), Some(found));
    }
    assert!((MANY..2 * MANY).all(|number| port.find(cookie(number)).is_none()));
    for number in (0..MANY).rev() {
        assert_eq!(port.take(cookie(number)).unwrap().token, number);
    }
    assert!(port.is_empty() && port.chain_lengths().all(|length| length == 0));
}

#[test]
fn cookies_chosen_for_one_seed_spread_with_another() {
    const SLOTS: u64 = 1024;
    let in_bucket_0 = |seed, number: usize| ((hash(seed, cookie(number)) >> 32) * SLOTS) >> 32 == 0;
    let chosen: Vec<_> = (0..).filter(|number| in_bucket_0(0, *number)).take(500).collect();
    let chains = |seed| {
        let mut slots = empty(SLOTS.try_into().unwrap());
        let mut port =
            DiagnosticPort::with_seed(&mut slots[..], SameCookie::Replace, seed).unwrap();
        for number in &chosen {
            hold(&mut port, *number, *number);
        }
        // Slow or not, it is right.
        assert!(chosen.iter().all(|number| *port.find(cookie(*number)).unwrap().token == *number));
        longest_chain(&port)
    };
    assert_eq!(chains(0), 500);
    for seed in [1, 1 << 64, u128::MAX, 0x0123_4567_89ab_cdef_0011_2233_4455_6677] {
        assert!(chains(seed) <= 6, "{seed:x}: {}", chains(seed));
    }
}

#[test]
fn hundred_thousand_of_one_cookie_need_one_step() {
    let mut slots = empty(MANY);
    let mut port = DiagnosticPort::new(&mut slots[..], queue(u32::MAX)).unwrap();
    let keys: Vec<_> = (0..MANY).map(|number| hold(&mut port, 7, number)).collect();
    assert_eq!(port.waiting_for(cookie(7)) as usize, MANY);
    assert_eq!((longest_chain(&port), port.chain_lengths().sum::<usize>()), (1, 1));
    for (number, key) in keys.iter().enumerate().skip(1).step_by(2) {
        assert_eq!(port.remove(*key).unwrap().token, number);
    }
    for number in (0..MANY).step_by(2) {
        assert_eq!(port.take(cookie(7)).unwrap().token, number);
    }
    assert!(port.is_empty());
}

#[test]
fn connection_is_used_once() {
    let mut port = DiagnosticPort::new([const { Slot::EMPTY }; 4], SameCookie::Replace).unwrap();
    let key = hold(&mut port, 1, 10);
    assert_eq!(port.find(cookie(1)).unwrap().token, &10);
    assert_eq!(
        port.take(cookie(1)),
        Some(WaitingConnection { key, advertise: advertise(1), token: 10 })
    );
    assert!(
        port.take(cookie(1)).is_none() && port.find(cookie(1)).is_none() && port.get(key).is_none()
    );
    assert_eq!((port.len(), port.waiting_for(cookie(1))), (0, 0));
}

#[test]
fn full_port_refuses_and_returns_token() {
    let mut port = DiagnosticPort::new([const { Slot::EMPTY }; 3], SameCookie::Replace).unwrap();
    for number in 0..3 {
        hold(&mut port, number, number);
    }
    let refused = port.hold(advertise(3), 3).unwrap_err();
    assert_eq!(refused, HoldError { token: 3, kind: HoldErrorKind::Full { most: 3 } });
    assert_eq!(refused.to_string(), "3 connections are already held");
    assert_eq!(tokens(&port), [0, 1, 2]);
    // A known runtime needs no new slot.
    assert_eq!(port.hold(advertise(0), 4).unwrap().replaced.unwrap().token, 0);
    assert_eq!(tokens(&port), [1, 2, 4]);
    assert!(port.take(cookie(1)).is_some());
    hold(&mut port, 3, 3);
    assert_eq!(tokens(&port), [2, 4, 3]);
}

#[test]
fn port_without_slots_refuses() {
    for mut port in [SameCookie::Replace, queue(1)]
        .map(|same_cookie| DiagnosticPort::new([], same_cookie).unwrap())
    {
        assert_eq!(port.hold(advertise(0), 0).unwrap_err().kind, HoldErrorKind::Full { most: 0 });
        assert!(
            port.find(cookie(0)).is_none()
                && port.take_oldest().is_none()
                && port.iter().next().is_none()
        );
    }
}

#[test]
fn limit_below_slot_count_is_enforced() {
    let mut port = DiagnosticPort::new([const { Slot::EMPTY }; 4], SameCookie::Replace).unwrap();
    for number in 0..3 {
        hold(&mut port, number, number);
    }
    // Fewer than are already held: those stay, and replacing one loses none.
    let mut port = port.with_most(2);
    assert_eq!(port.hold(advertise(3), 3).unwrap_err().kind, HoldErrorKind::Full { most: 3 });
    assert_eq!(port.hold(advertise(2), 4).unwrap().replaced.unwrap().token, 2);
    assert!(port.take(cookie(0)).is_some());
    assert_eq!(port.hold(advertise(3), 3).unwrap_err().kind, HoldErrorKind::Full { most: 2 });
    assert!(port.take(cookie(1)).is_some());
    hold(&mut port, 3, 3);
}

#[test]
fn queue_keeps_order_and_limit() {
    let mut port = DiagnosticPort::new([const { Slot::EMPTY }; 8], queue(3)).unwrap();
    let keys: Vec<_> = (0..3).map(|token| hold(&mut port, 1, token)).collect();
    hold(&mut port, 2, 100);
    let refused = port.hold(advertise(1), 3).unwrap_err();
    assert_eq!(refused, HoldError { token: 3, kind: HoldErrorKind::CookieFull { most: 3 } });
    assert_eq!(refused.kind.to_string(), "3 connections of this runtime are already held");
    assert_eq!(port.remove(keys[1]).unwrap().token, 1);
    assert_eq!(port.hold(advertise(1), 4).unwrap().replaced, None);
    assert_eq!(tokens(&port), [0, 2, 100, 4]);
    let order: Vec<_> =
        core::iter::from_fn(|| port.take(cookie(1))).map(|waiting| waiting.token).collect();
    assert_eq!(order, [0, 2, 4]);
    assert_eq!(tokens(&port), [100]);
}

#[test]
fn stale_key_finds_nothing() {
    let mut port = DiagnosticPort::new([const { Slot::EMPTY }; 1], SameCookie::Replace).unwrap();
    let mut stale = vec![hold(&mut port, 0, 0)];
    for number in 1..100 {
        // The one slot is used again for the same runtime, or for another.
        let held = port.hold(advertise(0), number).unwrap();
        assert_eq!(held.replaced.unwrap().key, *stale.last().unwrap());
        for key in &stale {
            assert!(
                port.remove(*key).is_none()
                    && port.get(*key).is_none()
                    && port.token_mut(*key).is_none()
            );
        }
        assert_eq!(tokens(&port), [number]);
        stale.push(held.key);
    }
    let last = *stale.last().unwrap();
    *port.token_mut(last).unwrap() = 1000;
    assert_eq!(port.remove(last).unwrap().token, 1000);
    assert!(port.remove(last).is_none());
}

#[test]
fn colliding_process_ids_are_all_found() {
    let mut port = DiagnosticPort::new([const { Slot::EMPTY }; 8], SameCookie::Replace).unwrap();
    for number in [3, 0, 1, 2] {
        hold(&mut port, number, number);
    }
    let of = |process_id| {
        port.find_process(process_id).map(|waiting| *waiting.token).collect::<Vec<_>>()
    };
    assert_eq!((of(0), of(1), of(2)), (vec![0, 1], vec![3, 2], vec![]));
}

#[test]
fn take_oldest_returns_arrival_order() {
    let mut port = DiagnosticPort::new([const { Slot::EMPTY }; 8], queue(8)).unwrap();
    for (number, token) in [3, 0, 3, 2].into_iter().zip(0..) {
        hold(&mut port, number, token);
    }
    assert_eq!(port.iter().len(), 4);
    assert_eq!((&port).into_iter().size_hint(), (4, Some(4)));
    let order: Vec<_> =
        core::iter::from_fn(|| port.take_oldest()).map(|waiting| waiting.token).collect();
    assert_eq!(order, [0, 1, 2, 3]);
}

#[test]
fn slots_with_tokens_are_refused_as_in_use() {
    let mut slots = empty(4);
    let mut port = DiagnosticPort::new(&mut slots[..], SameCookie::Replace).unwrap();
    let old = hold(&mut port, 0, 0);
    hold(&mut port, 1, 1);
    assert_eq!(
        DiagnosticPort::new(&mut slots[..], SameCookie::Replace).unwrap_err(),
        SlotsError::InUse { index: 0 }
    );
    assert_eq!(slots.iter_mut().filter_map(Slot::take).collect::<Vec<_>>(), [0, 1]);
    let mut port = DiagnosticPort::new(&mut slots[..], SameCookie::Replace).unwrap();
    assert!(port.find(cookie(0)).is_none());
    hold(&mut port, 0, 5);
    assert!(port.remove(old).is_none(), "a key of the earlier port");
}

#[test]
fn debug_omits_the_seed() {
    let port = DiagnosticPort::with_seed(
        [const { Slot::<u8>::EMPTY }; 2],
        SameCookie::Replace,
        0x1234_5678,
    )
    .unwrap();
    assert_eq!(
        format!("{port:?}"),
        "DiagnosticPort { same_cookie: Replace, len: 0, capacity: 2, .. }"
    );
}

/// A token that counts its instances.
#[derive(Debug)]
struct Counted<'c>(usize, &'c Cell<usize>);

impl<'c> Counted<'c> {
    fn new(number: usize, alive: &'c Cell<usize>) -> Self {
        alive.set(alive.get() + 1);
        Self(number, alive)
    }
}

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        self.1.set(self.1.get() - 1);
    }
}

/// Random steps compared with a list that is searched linearly. Tokens that the port leaks or drops
/// are found at each step.
fn beside_a_list<'c, S: Slots<Token = Counted<'c>>>(
    slots: S,
    same_cookie: SameCookie,
    alive: &'c Cell<usize>,
    seed: u128,
) {
    let mut port = DiagnosticPort::with_seed(slots, same_cookie, seed).unwrap();
    let (mut list, mut stale): (Vec<(ConnectionKey, usize, usize)>, Vec<ConnectionKey>) =
        (Vec::new(), Vec::new());
    let mut random = 1u64;
    for token in 0..2500 {
        random =
            random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let bits = usize::try_from(random >> 40).unwrap();
        // Phases of filling and of emptying.
        let (number, step) = (bits % 23, (bits >> 8) % if token % 400 < 250 { 6 } else { 12 });
        let first = list.iter().position(|(_, of, _)| *of == number);
        let out = match step {
            0..=3 => {
                let capacity = port.capacity();
                match port.hold(advertise(number), Counted::new(token, alive)) {
                    Ok(held) => {
                        let replaced = held
                            .replaced
                            .as_ref()
                            .map(|waiting| (waiting.key, number, waiting.token.0));
                        assert_eq!(
                            replaced,
                            first
                                .filter(|_| same_cookie == SameCookie::Replace)
                                .map(|at| list.remove(at))
                        );
                        stale.extend(replaced.map(|(key, ..)| key));
                        list.push((held.key, number, token));
                    }
                    Err(refused) => {
                        assert_eq!(refused.token.0, token);
                        let waiting = list.iter().filter(|(_, of, _)| *of == number).count();
                        match (refused.kind, same_cookie) {
                            (HoldErrorKind::Full { most }, _) => {
                                assert_eq!((list.len(), port.capacity()), (most, capacity));
                            }
                            (
                                HoldErrorKind::CookieFull { most },
                                SameCookie::Queue { most: told },
                            ) => {
                                assert_eq!((waiting, told.get()), (most as usize, most));
                            }
                            other => panic!("{other:?}"),
                        }
                    }
                }
                None
            }
            4..=6 => {
                let taken = port.take(cookie(number));
                assert_eq!(taken.is_some(), first.is_some());
                taken.zip(first)
            }
            7 => port.take_oldest().zip((!list.is_empty()).then_some(0)),
            _ if list.is_empty() => None,
            _ => {
                let at = bits % list.len();
                Some((port.remove(list[at].0).unwrap(), at))
            }
        };
        if let Some((waiting, at)) = out {
            let expected = list.remove(at);
            assert_eq!(
                (waiting.key, waiting.advertise, waiting.token.0),
                (expected.0, advertise(expected.1), expected.2)
            );
            stale.push(waiting.key);
        }
        assert_eq!(alive.get(), list.len());
        let held: Vec<_> = port
            .iter()
            .map(|waiting| (waiting.key, waiting.advertise.process_id, waiting.token.0))
            .collect();
        assert_eq!(
            held,
            list.iter().map(|(key, of, token)| (*key, *of as u64 / 2, *token)).collect::<Vec<_>>()
        );
        let mut by_cookie = BTreeMap::<_, Vec<_>>::new();
        for (key, of, _) in &list {
            by_cookie.entry(*of).or_default().push(*key);
        }
        for number in 0..23 {
            let keys = by_cookie.get(&number).map(Vec::as_slice).unwrap_or_default();
            assert_eq!(port.find(cookie(number)).map(|waiting| waiting.key), keys.first().copied());
            assert_eq!(port.waiting_for(cookie(number)) as usize, keys.len());
        }
        assert_eq!(port.chain_lengths().sum::<usize>(), by_cookie.len());
        assert!(stale.iter().rev().take(50).all(|key| port.get(*key).is_none()));
    }
    assert!(stale.len() > 150, "{}", stale.len());
    while port.take_oldest().is_some() {}
    assert_eq!(alive.get(), 0);
}

#[test]
fn port_behaves_like_a_list() {
    for count in [1, 2, 7, 16, 64] {
        for same_cookie in [SameCookie::Replace, queue(1), queue(3), queue(u32::MAX)] {
            let alive = Cell::new(0);
            let mut slots = empty(count);
            beside_a_list(&mut slots[..], same_cookie, &alive, count as u128);
        }
    }
    let alive = Cell::new(0);
    beside_a_list([const { Slot::EMPTY }; 16], SameCookie::Replace, &alive, 5);
}

#[cfg(feature = "alloc")]
#[test]
fn port_behaves_like_a_list_while_growing() {
    for same_cookie in [SameCookie::Replace, queue(3), queue(u32::MAX)] {
        let alive = Cell::new(0);
        beside_a_list(Vec::new(), same_cookie, &alive, 9);
    }
}

#[cfg(feature = "alloc")]
#[test]
fn growth_keeps_everything() {
    let mut port = DiagnosticPort::with_seed(Vec::new(), queue(2), 77).unwrap();
    let (mut keys, mut growths, mut made) = (Vec::new(), 0, 0);
    for number in 0..MANY {
        let before = port.capacity();
        keys.push(hold(&mut port, number / 2, number));
        if port.capacity() != before {
            growths += 1;
            made += port.capacity();
            assert!(port.capacity() >= 2 * before);
            assert!(
                keys.iter().step_by(97).zip((0..).step_by(97)).all(|(key, token)| *port
                    .get(*key)
                    .unwrap()
                    .token
                    == token)
            );
        }
    }
    // Amortised: all growths together visited fewer than four slots for each slot now in use.
    assert!(growths < 20 && made < 4 * MANY, "{growths} {made}");
    assert!(longest_chain(&port) <= 10, "{}", longest_chain(&port));
    assert!(tokens(&port).into_iter().eq(0..MANY) && !port.is_empty());
    for number in 0..MANY {
        assert_eq!(port.take(cookie(number / 2)).unwrap().token, number);
    }
    assert!(port.is_empty());
}

#[cfg(feature = "alloc")]
#[test]
fn growth_stops_at_limit() {
    let mut port = DiagnosticPort::new(Vec::new(), SameCookie::Replace).unwrap().with_most(100);
    for number in 0..100 {
        hold(&mut port, number, number);
    }
    let capacity = port.capacity();
    assert_eq!(
        port.hold(advertise(100), 100).unwrap_err(),
        HoldError { token: 100, kind: HoldErrorKind::Full { most: 100 } }
    );
    assert_eq!((port.len(), port.capacity()), (100, capacity));
}
