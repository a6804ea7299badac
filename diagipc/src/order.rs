//! The order in which several workers take cases, so that those that wait and those that compute
//! run beside each other.

use std::cmp::Reverse;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// One worker of so many takes none of those that wait while there are others.
const COMPUTES: usize = 8;

/// Each is taken once.
#[derive(Debug)]
pub(crate) struct Order<T> {
    /// The longest first.
    waiting: Part<T>,
    /// As given.
    others: Part<T>,
}

#[derive(Debug)]
struct Part<T> {
    all: Vec<T>,
    next: AtomicUsize,
}

impl<T> Part<T> {
    fn take(&self) -> Option<&T> {
        self.all.get(self.next.fetch_add(1, Ordering::Relaxed))
    }
}

impl<T> Order<T> {
    /// Of those in `all`, of which each waits so long.
    pub(crate) fn new(all: Vec<T>, waits: impl Fn(&T) -> Duration) -> Self {
        let (mut waiting, others): (Vec<T>, _) =
            all.into_iter().partition(|one| !waits(one).is_zero());
        waiting.sort_by_key(|one| Reverse(waits(one)));
        let part = |all| Part { all, next: AtomicUsize::new(0) };
        Self { waiting: part(waiting), others: part(others) }
    }

    /// The next one for a worker, counted from 0.
    pub(crate) fn take(&self, worker: usize) -> Option<&T> {
        if worker % COMPUTES == COMPUTES - 1 {
            self.others.take().or_else(|| self.waiting.take())
        } else {
            self.waiting.take().or_else(|| self.others.take())
        }
    }

    /// All of them.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &T> {
        self.waiting.all.iter().chain(&self.others.all)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// With their waits in milliseconds.
    fn order() -> Order<(char, u64)> {
        let all = vec![('a', 0), ('b', 5), ('c', 0), ('d', 9), ('e', 5)];
        Order::new(all, |(_, ms)| Duration::from_millis(*ms))
    }

    fn taken_by(worker: usize) -> String {
        let order = order();
        std::iter::from_fn(|| order.take(worker)).map(|(name, _)| *name).collect()
    }

    #[test]
    fn longest_wait_is_first_and_others_keep_their_order() {
        assert_eq!(taken_by(0), "dbeac");
        assert_eq!(order().iter().map(|(name, _)| *name).collect::<String>(), "dbeac");
    }

    #[test]
    fn eighth_worker_computes_first() {
        assert_eq!(taken_by(7), "acdbe");
    }

    #[test]
    fn each_is_taken_once() {
        let order = order();
        let mut all: Vec<char> =
            (0..16).filter_map(|worker| order.take(worker)).map(|(name, _)| *name).collect();
        all.sort_unstable();
        assert_eq!(all, ['a', 'b', 'c', 'd', 'e']);
        assert_eq!((order.take(0), order.take(7)), (None, None));
    }
}
