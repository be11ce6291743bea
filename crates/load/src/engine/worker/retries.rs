//! Requests that a server has not processed, as it says, and that are sent again.

use super::Worker;
use super::connection::InFlight;
use crate::protocol::{Failure, Protocol};

/// Times that a request is sent again: a server that refuses it each time will not answer it.
const MOST: u8 = 5;

impl<P: Protocol> Worker<'_, P> {
    /// Take a request from the connection that refused it, to be sent on another one.
    pub(super) fn refused(&mut self, id: usize, request: usize, failure: Failure, now: u64) {
        let state = &mut self.connections[id];
        let mut request = state.requests.remove(request);
        let target = state.target;
        if request.retries == MOST {
            return self.lost(&request, target, failure, now);
        }
        request.retries += 1;
        request.begun = None;
        self.retries.push_back((target, request, failure));
    }

    /// Send the refused requests of a connection's target on it, as far as it has room.
    pub(super) fn send_again(&mut self, id: usize, now: u64) {
        let target = self.connections[id].target;
        while self.has_room(id) {
            // The oldest first: behind newer ones it could be refused each time.
            let own = self.retries.iter().enumerate();
            let own = own.filter(|(_, (of, ..))| *of == target);
            let first = own.min_by_key(|(_, (_, request, _))| request.sent);
            let first = first.map(|(index, _)| index);
            let Some((_, request, _)) = first.and_then(|index| self.retries.remove(index)) else {
                break;
            };
            self.put(id, request, now);
        }
        // Protocols share a thread's buffers: unsent bytes must not reach another connection.
        self.flush(id, now);
    }

    /// Give up the refused requests whose time is over.
    pub(super) fn expire_retries(&mut self, now: u64) {
        let limit = self.timeouts.answer;
        let over = |(_, request, _): &(usize, InFlight, Failure)| request.sent + limit <= now;
        while let Some(index) = self.retries.iter().position(over) {
            if let Some((target, request, failure)) = self.retries.remove(index) {
                self.lost(&request, target, failure, now);
            }
        }
    }
}
