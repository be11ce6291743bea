//! The first answers of a run, kept as they came so that people can look at them.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};

use crate::dialogue::{Dialogue, ReadHint};
use crate::protocol::{End, Event, ExchangeId, RequestId};

/// Most bytes of an answer that are kept.
const LONGEST: usize = 16 * 1024;

/// The answers that were kept, by all threads.
#[derive(Debug)]
pub struct Samples {
    left: AtomicUsize,
    kept: Mutex<Vec<String>>,
}

impl Samples {
    /// Room for `count` answers.
    pub fn new(count: usize) -> Self {
        Samples {
            left: AtomicUsize::new(count),
            kept: Mutex::default(),
        }
    }

    /// The answers, the longest ones cut.
    pub fn into_kept(self) -> Vec<String> {
        self.kept
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner)
    }

    fn wants_more(&self) -> bool {
        self.left.load(Relaxed) > 0
    }

    fn keep(&self, bytes: &[u8], length: usize) {
        let taken = self
            .left
            .fetch_update(Relaxed, Relaxed, |left| left.checked_sub(1));
        if taken.is_err() {
            return;
        }
        let mut text = String::from_utf8_lossy(&bytes[..bytes.len().min(length)]).into_owned();
        if length > bytes.len() {
            text += &format!("\n… {} bytes more", length - bytes.len());
        }
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.push(text);
    }
}

/// A dialogue whose answers are kept until there are enough. They come in the order of the requests,
/// and their lengths are those of their bytes.
#[derive(Debug)]
pub struct Sampled<'a, D> {
    dialogue: D,
    samples: &'a Samples,
}

/// One connection.
#[derive(Debug)]
pub struct Connection<C> {
    inner: C,
    /// The beginning of the answer under way, and its length so far.
    bytes: Vec<u8>,
    length: usize,
}

impl<'a, D> Sampled<'a, D> {
    /// Keep answers of `dialogue` among the `samples`.
    pub fn new(dialogue: D, samples: &'a Samples) -> Self {
        Sampled { dialogue, samples }
    }
}

impl<C> Connection<C> {
    fn add(&mut self, bytes: &[u8]) {
        let room = LONGEST.saturating_sub(self.bytes.len());
        self.bytes
            .extend_from_slice(&bytes[..bytes.len().min(room)]);
        self.length += bytes.len();
    }

    /// Give the answers among the new `events` to the samples.
    fn hand_over(&mut self, events: &[Event], samples: &Samples) {
        for event in events {
            if let Event::Answered(answer) = event {
                let length = (answer.bytes as usize).min(self.length);
                samples.keep(&self.bytes, length);
                self.length -= length;
                self.bytes.drain(..length.min(self.bytes.len()));
            }
        }
    }
}

impl<D: Dialogue> Dialogue for Sampled<'_, D> {
    type Connection = Connection<D::Connection>;

    fn begin(&mut self, target: usize, out: &mut Vec<u8>) -> Self::Connection {
        Connection {
            inner: self.dialogue.begin(target, out),
            bytes: Vec::new(),
            length: 0,
        }
    }

    fn room(&self, connection: &Self::Connection) -> usize {
        self.dialogue.room(&connection.inner)
    }

    fn awaited(&self, connection: &Self::Connection) -> &'static str {
        self.dialogue.awaited(&connection.inner)
    }

    fn send(
        &mut self,
        connection: &mut Self::Connection,
        request: RequestId,
        exchange: ExchangeId,
        out: &mut Vec<u8>,
    ) -> Result<(), End> {
        self.dialogue
            .send(&mut connection.inner, request, exchange, out)
    }

    fn read_hint(&self, connection: &Self::Connection) -> ReadHint {
        match self.dialogue.read_hint(&connection.inner) {
            ReadHint::Discard(length) if self.samples.wants_more() => ReadHint::Recv(length),
            hint => hint,
        }
    }

    fn recv(
        &mut self,
        connection: &mut Self::Connection,
        bytes: &[u8],
        out: &mut Vec<u8>,
        events: &mut Vec<Event>,
    ) -> Result<(), End> {
        let told = events.len();
        let wanted = self.samples.wants_more();
        if wanted {
            connection.add(bytes);
        }
        let outcome = self
            .dialogue
            .recv(&mut connection.inner, bytes, out, events);
        if wanted {
            connection.hand_over(&events[told..], self.samples);
        }
        outcome
    }

    fn discard(
        &mut self,
        connection: &mut Self::Connection,
        length: usize,
        events: &mut Vec<Event>,
    ) -> Result<(), End> {
        self.dialogue.discard(&mut connection.inner, length, events)
    }

    fn taken(&mut self, connection: &mut Self::Connection) {
        self.dialogue.taken(&mut connection.inner);
    }

    fn recv_end(&mut self, connection: &mut Self::Connection, events: &mut Vec<Event>) -> End {
        let told = events.len();
        let end = self.dialogue.recv_end(&mut connection.inner, events);
        if self.samples.wants_more() {
            connection.hand_over(&events[told..], self.samples);
        }
        end
    }

    fn cancel(
        &mut self,
        connection: &mut Self::Connection,
        request: RequestId,
        out: &mut Vec<u8>,
    ) -> bool {
        self.dialogue.cancel(&mut connection.inner, request, out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::echo::{Echo, Messages};
    use crate::pipeline::Pipeline;

    #[test]
    fn answers_in_any_pieces_are_kept_one_by_one_until_there_are_enough() {
        let messages = Messages::new(3, 40);
        for cut in [1, 39, 40, 41, 90, 120] {
            let samples = Samples::new(2);
            let mut dialogue = Sampled::new(Pipeline::new(Echo::new(&messages, 0), 3), &samples);
            let mut connection = dialogue.begin(0, &mut Vec::new());
            let (mut sent, mut events) = (Vec::new(), Vec::new());
            for request in 0..3 {
                dialogue
                    .send(&mut connection, request, 0, &mut sent)
                    .unwrap();
            }
            for piece in sent.chunks(cut) {
                let received = dialogue.recv(&mut connection, piece, &mut Vec::new(), &mut events);
                received.unwrap();
            }
            let answered = events
                .iter()
                .filter(|event| matches!(event, Event::Answered(_)));
            assert_eq!(answered.count(), 3);
            let expected: Vec<_> = sent
                .chunks(40)
                .take(2)
                .map(String::from_utf8_lossy)
                .collect();
            assert_eq!(samples.into_kept(), expected);
        }
    }
}
