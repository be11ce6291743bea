//! The sends of a worker: when, and on which connection.

use super::connection::{ConnectionState, InFlight};
use super::{Alarm, UNWATCHED, Worker};
use crate::protocol::{End, Protocol};

impl<P: Protocol> Worker<'_, P> {
    /// Let a connection that has room send or wait for its turn; close one that has carried all its
    /// requests.
    pub(super) fn offer(&mut self, id: usize, now: u64) {
        if self.has_served(id) {
            // Protocols share a thread's buffers: unsent bytes must not reach another connection.
            self.flush(id, now);
            if self.connections[id].connection.is_some() {
                self.close(id, End::Proper, now);
            }
            return;
        }
        if !self.retries.is_empty() {
            self.send_again(id, now);
        }
        if now < self.connections[id].thinks_until {
            return;
        }
        if self.at_once[self.connections[id].target] {
            // The one reading of the clock serves as intended and as actual send.
            while self.may_send(self.connections[id].target, now) && self.has_room(id) {
                self.send(id, now, now);
            }
        } else if self.connections[id].queued_since.is_none() && self.has_room(id) {
            self.connections[id].queued_since = Some(now);
            let queue = self.queue_of(id);
            self.queues[queue].waiting.push_back(id);
        }
    }

    /// Send the requests that are due or permitted, on the connections that have waited longest.
    pub(super) fn send_due(&mut self, now: u64) {
        for queue in 0..self.queues.len() {
            while self.send_next(queue, now) {}
        }
    }

    /// The time at which the next send is due that a connection waits for.
    pub(super) fn next_send(&self) -> Option<u64> {
        let due = self
            .queues
            .iter()
            .enumerate()
            .filter_map(|(target, queue)| {
                queue.waiting.front()?;
                match queue.next() {
                    Some(intended) => {
                        let send = intended < self.sends_until(target);
                        send.then(|| intended.saturating_sub(self.spin))
                    }
                    None if self.in_flight >= self.most => None,
                    None => self.permits.map(|permits| permits.next()),
                }
            });
        due.min().filter(|_| self.left != Some(0))
    }

    /// Hand the requests since the last flush to the socket, and set the protocol's timer.
    pub(super) fn flush(&mut self, id: usize, now: u64) {
        let state = &mut self.connections[id];
        let Some(connection) = &mut state.connection else {
            return;
        };
        if let Err(end) = self.protocol.flush(connection) {
            return self.close(id, end, now);
        }
        // Another attempt to connect may have begun.
        if let Some(socket) = self.protocol.unwatched(connection)
            && self.poller.add(socket, id).is_err()
        {
            return self.close(id, UNWATCHED, now);
        }
        let timer = self.protocol.timer(connection);
        let timer = timer.map(|instant| self.timeline.at(instant));
        self.set_timer(id, timer);
    }

    /// Move the protocol's timer of a connection; QUIC does so with almost every packet.
    pub(super) fn set_timer(&mut self, id: usize, timer: Option<u64>) {
        let before = std::mem::replace(&mut self.connections[id].timer, timer);
        if before != timer {
            if let Some(at) = before {
                self.alarms.remove(&(at, id, Alarm::Timer));
            }
            self.alarms.extend(timer.map(|at| (at, id, Alarm::Timer)));
        }
    }

    /// Send the next request of a queue; return false if none is due, or no connection waits.
    fn send_next(&mut self, queue: usize, now: u64) -> bool {
        let next = self.queues[queue].next();
        let early = match (next, self.permits) {
            (Some(intended), _) => intended > now || intended >= self.sends_until(queue),
            (None, Some(permits)) => permits.next() > now,
            (None, None) => false,
        };
        let allowed = next.is_some() || self.may_send(queue, now);
        if early || !allowed || self.left == Some(0) || self.in_flight >= self.most {
            return false;
        }
        let Some(id) = self.queues[queue].waiting.pop_front() else {
            return false;
        };
        let free_since = self.connections[id].queued_since.take().unwrap_or(now);
        if !self.has_room(id) {
            return true;
        }
        let (intended, sent) = match self.queues[queue].take() {
            Some(intended) => (intended, self.timeline.now()),
            None => (now, now),
        };
        let target = self.connections[id].target;
        if self.intends[target] && self.timeline.in_window(intended) {
            // Waiting for a free connection is the server's doing, not the generator's.
            let lag = sent - intended.max(free_since);
            match &mut self.duel {
                Some(duel) => duel.hold_lag(target, intended, lag),
                None => self.tallies[target].send_lag.saturating_record(lag),
            }
            if self.logged_sizes.is_some() {
                self.tallies[target].replayed.sends.push((intended, sent));
            }
        }
        if let Some(permits) = &mut self.permits {
            permits.take(now, free_since.max(self.room_since));
        }
        self.send(id, intended, sent);
        self.flush(id, now);
        self.offer(id, now);
        true
    }

    /// Return true if a closed loop may send to `target` at `now`.
    fn may_send(&self, target: usize, now: u64) -> bool {
        now < self.sends_until(target) && self.left != Some(0)
    }

    fn queue_of(&self, id: usize) -> usize {
        let target = self.connections[id].target;
        if self.intends[target] { target } else { 0 }
    }

    pub(super) fn has_room(&self, id: usize) -> bool {
        let ConnectionState {
            connection,
            carried,
            ..
        } = &self.connections[id];
        let connection = connection
            .as_ref()
            .filter(|_| *carried < self.per_connection);
        connection.is_some_and(|connection| self.protocol.room(connection) > 0)
    }

    /// Return true if all the requests that a connection may carry are answered.
    fn has_served(&self, id: usize) -> bool {
        let ConnectionState {
            connection,
            carried,
            requests,
            ..
        } = &self.connections[id];
        connection.is_some() && *carried >= self.per_connection && requests.is_empty()
    }

    fn send(&mut self, id: usize, intended: u64, sent: u64) {
        let target = self.connections[id].target;
        self.in_flight += 1;
        self.tallies[target].in_flight_area -= i128::from(self.timeline.window_before(intended));
        if let Some(left) = &mut self.left
            && intended >= self.timeline.start()
        {
            *left -= 1;
        }
        let request = InFlight {
            exchange: self.picks[target].take(),
            intended,
            sent,
            begun: None,
            end: 0,
            retries: 0,
        };
        self.put(id, request, sent);
    }

    /// Put a request that is in flight on a connection, which must have room.
    pub(super) fn put(&mut self, id: usize, request: InFlight, now: u64) {
        let ConnectionState {
            connection: Some(connection),
            requests,
            carried,
            ..
        } = &mut self.connections[id]
        else {
            return;
        };
        let exchange = request.exchange;
        let slot = requests.insert(request);
        let outcome = self.protocol.send(connection, slot, exchange);
        if self.keeps_times {
            requests[slot].end = self.protocol.taken(connection);
        }
        *carried += 1;
        self.broken = 0;
        if let Err(end) = outcome {
            self.close(id, end, now);
        }
    }
}
