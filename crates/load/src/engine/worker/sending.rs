//! When a worker sends, and on which connection.

use super::{InFlight, Slot, Worker};
use crate::engine::arrivals::Arrivals;
use crate::protocol::Protocol;

impl<P: Protocol> Worker<'_, P> {
    /// Gives a connection that has room its next requests.
    pub(super) fn offer(&mut self, slot: usize, now: u64) {
        if self.arrivals.is_none() {
            // The one reading of the clock serves as intended and as actual send.
            while now < self.timeline.stop() && self.has_room(slot) {
                self.send(slot, now, now);
            }
        } else if self.slots[slot].in_line_since.is_none() && self.has_room(slot) {
            self.slots[slot].in_line_since = Some(now);
            self.line.push_back(slot);
        }
    }

    fn has_room(&self, slot: usize) -> bool {
        let connection = self.slots[slot].connection.as_ref();
        connection.is_some_and(|connection| self.protocol.room(connection) > 0)
    }

    /// Sends what the clock demands, on the connections that have waited longest.
    pub(super) fn send_due(&mut self, now: u64) {
        let stop = self.timeline.stop();
        while let Some(arrivals) = &mut self.arrivals {
            if arrivals.next() > now || arrivals.next() >= stop {
                break;
            }
            let Some(slot) = self.line.pop_front() else {
                break;
            };
            let free_since = self.slots[slot].in_line_since.take().unwrap_or(now);
            if !self.has_room(slot) {
                continue;
            }
            let intended = self.arrivals.as_mut().map_or(now, Arrivals::take);
            let sent = self.timeline.now();
            if self.timeline.in_window(intended) {
                // Waiting for a free connection is the server's doing, not the generator's.
                let lag = sent - intended.max(free_since);
                self.tally.send_lag.saturating_record(lag);
            }
            self.send(slot, intended, sent);
            self.offer(slot, now);
        }
    }

    fn send(&mut self, slot: usize, intended: u64, sent: u64) {
        let Slot {
            connection: Some(connection),
            requests,
            ..
        } = &mut self.slots[slot]
        else {
            return;
        };
        let request = requests.insert(InFlight { intended, sent });
        let outcome = self.protocol.send(connection, request);
        self.in_flight += 1;
        self.tally.in_flight_area -= i128::from(self.timeline.window_before(intended));
        if let Err(end) = outcome {
            self.close(slot, end, sent);
        }
    }
}
