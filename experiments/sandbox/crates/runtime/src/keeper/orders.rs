//! Obeys those who take calls, and tells them of workers.

use std::os::fd::AsRawFd;
use std::time::{Duration, Instant};

use super::Keeper;
use super::place::State;
use super::watch::Source;
use crate::connection::ENDING;
use crate::line::Cut;
use crate::order::{Event, Order, now};

/// The most orders of another process that are taken before workers are looked at again.
const ORDERS: usize = 64;

impl Keeper {
    /// Take what has come over the line.
    pub(super) fn take_orders(&mut self) {
        for _ in 0..ORDERS {
            match self.duties.line.order() {
                Ok(Some(order)) => self.obey(order),
                Ok(None) => return,
                Err(Cut) => return self.cut(),
            }
        }
    }

    /// Do as told about a worker that is ready or called. Of others nobody knows, so that such an order is
    /// none.
    pub(super) fn obey(&mut self, order: Order) {
        let (Order::Spent { place, .. } | Order::Why { place } | Order::Thaw { place }) = order;
        let Some(state @ State::Out { .. }) = self.places.get_mut(place) else {
            return;
        };
        match order {
            Order::Thaw { .. } => self.duties.slots[place].group.thaw(),
            Order::Spent { since, .. } => {
                if let State::Out { worker, asked } = std::mem::replace(state, State::Empty) {
                    if asked.is_some() {
                        self.watch.remove(worker.end());
                    }
                    self.end(place, worker, since);
                }
            }
            Order::Why { .. } => {
                let State::Out { worker, asked } = state else {
                    return;
                };
                let source = Source::Place(place);
                match worker.end() {
                    Some(end) if asked.is_some() || self.watch.add(end, source).is_ok() => {
                        asked.get_or_insert_with(|| Instant::now() + ENDING);
                    }
                    _ => self.answer(place),
                }
            }
        }
    }

    /// Say how the worker ended that was asked about, or that it did not.
    pub(super) fn answer(&mut self, place: usize) {
        if let State::Out { worker, asked } = &mut self.places[place] {
            if asked.take().is_some() {
                self.watch.remove(worker.end());
            }
            let how = worker.how(Duration::ZERO);
            self.tell(Event::Ended { place, how });
        }
    }

    /// Say something to those who take calls.
    pub(super) fn tell(&mut self, event: Event) {
        match self.duties.line.tell(self.duties.number, event) {
            Ok(None) => {}
            Ok(Some(place)) => self.obey(Order::Spent {
                place,
                since: now(),
            }),
            Err(Cut) => self.cut(),
        }
    }

    /// Nobody is left who takes calls: end all workers.
    pub(super) fn cut(&mut self) {
        if let Some(socket) = self.duties.line.socket() {
            self.watch.remove(Some(socket.as_raw_fd()));
        }
        self.stop();
        for place in 0..self.places.len() {
            self.obey(Order::Spent {
                place,
                since: now(),
            });
        }
    }
}
