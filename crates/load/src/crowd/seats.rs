//! The users of one connection, as many as it may have streams.

use std::collections::VecDeque;

use super::turn::{Crowd, Turn};

/// A user's place in the streams of a connection.
#[derive(Debug)]
pub struct Seat {
    /// The user at work.
    pub turn: Turn,
    /// The body of its request, which may wait for a window.
    pub body: Vec<u8>,
}

/// The users of a connection. Those without a stream take turns, so that all of them work.
#[derive(Debug, Default)]
pub struct Seats {
    /// The longest without a stream first.
    idle: VecDeque<Box<Seat>>,
    /// The seats, those in streams included.
    all: usize,
}

impl Seats {
    /// A user for a stream of a connection to `target`, which has at most `depth` of them.
    pub fn take(&mut self, depth: usize, crowd: &Crowd<'_>, target: usize) -> Box<Seat> {
        let known = match self.all < depth {
            true => None,
            false => self.idle.pop_front(),
        };
        known.unwrap_or_else(|| {
            self.all += 1;
            Box::new(Seat {
                turn: crowd.turn(target),
                body: Vec::new(),
            })
        })
    }

    /// Take a user back whose stream has ended.
    pub fn free(&mut self, mut seat: Box<Seat>) {
        seat.turn.lost();
        self.idle.push_back(seat);
    }
}
