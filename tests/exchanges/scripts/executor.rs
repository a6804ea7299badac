//! Tasks on the time of a [`Network`]: nothing here really waits.

use std::cell::RefCell;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

use crate::scripts::network::{Net, Network};

/// Waits until `ready` returns something; `None` after `patience`.
pub(crate) async fn within<T>(
    net: &Net,
    patience: Option<u64>,
    mut ready: impl FnMut(&mut Network) -> Option<T>,
) -> Option<T> {
    let deadline = patience.map(|patience| net.borrow().now + patience);
    poll_fn(|_| {
        let mut net = net.borrow_mut();
        if let Some(it) = ready(&mut net) {
            return Poll::Ready(Some(it));
        }
        match deadline {
            Some(deadline) if net.now >= deadline => {
                net.moved();
                Poll::Ready(None)
            }
            Some(deadline) => {
                net.timers.insert(deadline);
                Poll::Pending
            }
            None => Poll::Pending,
        }
    })
    .await
}

type Task = Pin<Box<dyn Future<Output = ()>>>;

/// New tasks are put here.
#[derive(Clone, Default)]
pub(crate) struct Spawner(Rc<RefCell<Vec<Task>>>);

impl Spawner {
    pub(crate) fn spawn(&self, task: impl Future<Output = ()> + 'static) {
        self.0.borrow_mut().push(Box::pin(task));
    }
}

/// Runs the tasks of the side under test until none of them moves.
pub(crate) struct Executor {
    net: Net,
    spawner: Spawner,
    tasks: Vec<Task>,
}

impl Executor {
    pub(crate) fn new(net: &Net) -> Self {
        Self { net: net.clone(), spawner: Spawner::default(), tasks: Vec::new() }
    }

    pub(crate) fn spawner(&self) -> Spawner {
        self.spawner.clone()
    }

    pub(crate) fn run(&mut self) -> Result<(), String> {
        let mut context = Context::from_waker(Waker::noop());
        for _ in 0..1_000_000 {
            let before = self.net.borrow().progress;
            self.tasks.append(&mut self.spawner.0.borrow_mut());
            self.tasks.retain_mut(|task| task.as_mut().poll(&mut context).is_pending());
            if self.net.borrow().progress == before && self.spawner.0.borrow().is_empty() {
                return Ok(());
            }
        }
        Err("the side under test never rests".to_owned())
    }
}
