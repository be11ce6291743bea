//! The keepers of one binary's workers, and whoever takes its calls: the interface between both.

use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

use crate::board::Board;
use crate::cgroup::SlotGroup;
use crate::keeper::inbox::{Inbox, Message};
use crate::lock::lock;
use crate::numbers::Numbers;
use crate::order::Order;

/// Keepers, wherever they are.
pub trait Keepers: Send + Sync {
    /// Note that a worker is called from now on; its keeper's number, and its place there.
    fn call(&self, keeper: usize, place: usize);

    /// Give a keeper an order.
    fn order(&self, keeper: usize, order: Order);

    /// Return how often a worker was frozen so far.
    fn frozen(&self) -> u64;

    /// End all workers, and all keepers when the last one has been given back.
    fn stop(&self);

    /// Wait for that end.
    fn end(&self);
}

/// Keepers of this process.
pub struct Crew {
    pub(crate) board: Arc<Board>,
    pub(crate) keepers: usize,
    pub(crate) inboxes: Vec<Arc<Inbox>>,
    pub(crate) threads: Mutex<Vec<JoinHandle<()>>>,
    /// Held here too, since keepers may have confined themselves too far to remove them.
    pub(crate) groups: Mutex<Vec<Arc<SlotGroup>>>,
    pub(crate) numbers: Vec<u32>,
    /// The giver of these numbers.
    pub(crate) source: &'static Numbers,
}

impl Keepers for Crew {
    fn call(&self, keeper: usize, place: usize) {
        if self.board.call(keeper + place * self.keepers) {
            self.order(keeper, Order::Thaw { place });
        }
    }

    fn order(&self, keeper: usize, order: Order) {
        self.inboxes[keeper].send(Message::Order(order));
    }

    fn frozen(&self) -> u64 {
        self.board.frozen()
    }

    fn stop(&self) {
        for inbox in &self.inboxes {
            inbox.send(Message::Stop);
        }
    }

    fn end(&self) {
        self.stop();
        for thread in lock(&self.threads).drain(..) {
            let _ = thread.join();
        }
        lock(&self.groups).clear();
        self.source.give_back(&self.numbers);
    }
}
