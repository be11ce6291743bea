//! The streams of one connection, found by their identifiers.

use crate::crowd::seats::Seat;
use crate::expectation::{BodyCheck, Expectation};
use crate::grpc;
use crate::protocol::{ExchangeId, RequestId};

/// A request in flight.
#[derive(Debug)]
pub struct Stream {
    /// The stream's identifier; 0 in a place that is free.
    pub id: u32,
    /// The request.
    pub request: RequestId,
    /// Its exchange.
    pub exchange: ExchangeId,
    /// The final status; 0 before its header block came.
    pub status: u16,
    /// True if the answer's header says that a cache had it; none without such a header.
    pub hit: Option<bool>,
    /// True once a part of the answer has come.
    pub begun: bool,
    /// Bytes of the request's body that are still to be sent.
    pub unsent: usize,
    /// Bytes of them that the server takes now; negative after it shrank the window.
    pub window: i64,
    /// Bytes of received data by which the window has not been extended yet.
    pub unreturned: u32,
    /// Bytes of the answer's frames.
    pub bytes: u64,
    /// The body's length by `content-length`.
    pub length: Option<u64>,
    /// The messages in the body, and the value of `grpc-status`, of a call of gRPC.
    pub grpc: (grpc::Messages, Option<u16>),
    /// The check of the body.
    pub body_check: BodyCheck,
    /// The user that sent the request, if it is of a sequence.
    pub seat: Option<Box<Seat>>,
}

/// All streams of a connection; places are reused, so that steady traffic allocates nothing.
///
/// An open-addressed table leads from an identifier to a place. Identifiers are consecutive, so
/// that those of one time seldom collide.
#[derive(Debug, Default)]
pub struct Streams {
    places: Vec<Stream>,
    free: Vec<u32>,
    /// Places plus one, or 0; its length is a power of two, and at least twice that of `places`.
    index: Vec<u32>,
    live: usize,
}

impl Streams {
    /// The number of live streams.
    pub fn len(&self) -> usize {
        self.live
    }

    /// Return true if no stream is live.
    pub fn is_empty(&self) -> bool {
        self.live == 0
    }

    /// A new stream for a request of an exchange, whose answer `expect` judges.
    pub fn open(
        &mut self,
        id: u32,
        (request, exchange): (RequestId, ExchangeId),
        expect: &Expectation,
    ) -> &mut Stream {
        let place = self
            .free
            .pop()
            .map_or_else(|| self.grow(expect), |place| place as usize);
        let stream = &mut self.places[place];
        stream.id = id;
        stream.request = request;
        stream.exchange = exchange;
        stream.status = 0;
        stream.hit = None;
        stream.begun = false;
        stream.unsent = 0;
        stream.window = 0;
        stream.unreturned = 0;
        stream.bytes = 0;
        stream.length = None;
        stream.grpc = Default::default();
        stream.body_check.begin(expect);
        stream.seat = None;
        self.live += 1;
        self.enter(place);
        &mut self.places[place]
    }

    /// The live stream `id`.
    pub fn get(&mut self, id: u32) -> Option<&mut Stream> {
        let at = self.find(id)?;
        let place = self.index[at] as usize - 1;
        Some(&mut self.places[place])
    }

    /// Forget the stream `id`; return true if it was live.
    pub fn close(&mut self, id: u32) -> bool {
        let Some(mut hole) = self.find(id) else {
            return false;
        };
        let place = self.index[hole] - 1;
        self.places[place as usize].id = 0;
        self.free.push(place);
        self.live -= 1;
        // Entries behind the hole move up, unless they would then stand before their home.
        let mask = self.index.len() - 1;
        let mut at = hole;
        loop {
            at = (at + 1) & mask;
            let Some(place) = self.index[at].checked_sub(1) else {
                break;
            };
            let home = self.home(self.places[place as usize].id);
            if at.wrapping_sub(home) & mask >= at.wrapping_sub(hole) & mask {
                self.index[hole] = place + 1;
                hole = at;
            }
        }
        self.index[hole] = 0;
        true
    }

    /// All live streams.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut Stream> {
        self.places.iter_mut().filter(|stream| stream.id != 0)
    }

    /// Add a place, and an index that is large enough for it.
    fn grow(&mut self, expect: &Expectation) -> usize {
        self.places.push(Stream {
            id: 0,
            request: 0,
            exchange: 0,
            status: 0,
            hit: None,
            begun: false,
            unsent: 0,
            window: 0,
            unreturned: 0,
            bytes: 0,
            length: None,
            grpc: Default::default(),
            body_check: expect.body_check(),
            seat: None,
        });
        let size = (2 * self.places.len()).next_power_of_two();
        if size > self.index.len() {
            self.index = vec![0; size];
            for place in 0..self.places.len() - 1 {
                self.enter(place);
            }
        }
        self.places.len() - 1
    }

    fn enter(&mut self, place: usize) {
        let mask = self.index.len() - 1;
        let mut at = self.home(self.places[place].id);
        while self.index[at] != 0 {
            at = (at + 1) & mask;
        }
        self.index[at] = place as u32 + 1;
    }

    fn find(&self, id: u32) -> Option<usize> {
        if self.index.is_empty() || id == 0 {
            return None;
        }
        let mask = self.index.len() - 1;
        let mut at = self.home(id);
        loop {
            let place = self.index[at].checked_sub(1)?;
            if self.places[place as usize].id == id {
                return Some(at);
            }
            at = (at + 1) & mask;
        }
    }

    /// The place in the index where `id` belongs unless it is taken. Our identifiers are odd.
    fn home(&self, id: u32) -> usize {
        (id >> 1) as usize & (self.index.len() - 1)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #![proptest_config(ProptestConfig {
            rng_seed: proptest::test_runner::RngSeed::Fixed(7),
            failure_persistence: None,
            ..ProptestConfig::with_cases(500)
        })]

        #[test]
        fn is_a_map(steps in prop::collection::vec((any::<bool>(), any::<prop::sample::Index>()), 0..300)) {
            let expect = Expectation::default();
            let mut streams = Streams::default();
            let mut model = BTreeMap::new();
            let mut next = 1;
            for (open, which) in steps {
                if open {
                    streams.open(next, (next as usize * 3, 0), &expect);
                    model.insert(next, next as usize * 3);
                    next += 2;
                } else if !model.is_empty() {
                    let id = *model.keys().nth(which.index(model.len())).expect("one");
                    model.remove(&id);
                    prop_assert!(streams.close(id));
                    prop_assert!(!streams.close(id));
                }
                prop_assert_eq!(streams.len(), model.len());
                for id in (1..next).step_by(2) {
                    let found = streams.get(id).map(|stream| stream.request);
                    prop_assert_eq!(found, model.get(&id).copied());
                }
                prop_assert_eq!(streams.iter_mut().count(), model.len());
            }
        }
    }
}
