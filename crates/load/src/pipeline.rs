//! Requests in flight on a connection whose answers come in the order of the requests.
//!
//! [`Pipeline`] makes a [`Dialogue`] of a protocol that is [`InOrder`].

use std::collections::VecDeque;

use crate::dialogue::{Dialogue, ReadHint};
use crate::protocol::{Answer, End, Event, ExchangeId, Failure, RequestId};

/// A protocol that answers requests in their order, as one thread speaks it.
pub trait InOrder {
    /// Reads the answers of one connection, one after the other.
    type Reader;

    /// The properties of a request that the reader needs to read its answer.
    type Sent: Copy;

    /// The failure of a connection on which bytes came without a request in flight.
    const UNASKED: Failure;

    /// The failure of a connection that closed before the answer was whole.
    const CUT: Failure;

    /// True if bytes after the last answer make that answer wrong, too: it is then not reported.
    const EXCESS_SPOILS: bool = false;

    /// A reader for a fresh connection to a target.
    fn reader(&mut self, target: usize) -> Self::Reader;

    /// Append a request for `exchange` to `out`, on a connection to `target` whose answers `reader`
    /// reads.
    fn write(
        &mut self,
        target: usize,
        exchange: ExchangeId,
        reader: &mut Self::Reader,
        out: &mut Vec<u8>,
    ) -> Self::Sent;

    /// Read on; `Some(n)` when the answer is whole after `n` of the `bytes`, otherwise all of them
    /// are read.
    ///
    /// # Errors
    /// The failure that ends the connection.
    fn read(
        &mut self,
        reader: &mut Self::Reader,
        sent: Self::Sent,
        bytes: &[u8],
    ) -> Result<Option<usize>, Failure>;

    /// Return true if nothing of the next answer is read yet.
    fn is_fresh(reader: &Self::Reader) -> bool;

    /// The whole answer to `request`; makes the reader ready for the next.
    fn answer(&self, sent: Self::Sent, request: RequestId, reader: &mut Self::Reader) -> Answer;

    /// The best way to receive the next bytes, with this many requests of at most `depth` in flight.
    fn read_hint(&self, reader: &Self::Reader, in_flight: usize, depth: usize) -> ReadHint {
        let _ = (reader, in_flight, depth);
        ReadHint::Recv(usize::MAX)
    }

    /// Go on as if `length` bytes had been read, after a [`ReadHint::Discard`]; returns as
    /// [`InOrder::read`] does.
    ///
    /// # Errors
    /// The failure that ends the connection.
    fn skip(&mut self, reader: &mut Self::Reader, length: usize) -> Result<Option<usize>, Failure> {
        let _ = (reader, length);
        Err(Self::UNASKED)
    }

    /// Return true if the connection closes after the answer that was just read.
    fn is_last(reader: &Self::Reader) -> bool {
        let _ = reader;
        false
    }

    /// Return true if the answer is whole when the server closes now.
    fn ends_by_close(reader: &Self::Reader) -> bool {
        let _ = reader;
        false
    }
}

/// The dialogue of a protocol that answers in order.
#[derive(Debug)]
pub struct Pipeline<P> {
    protocol: P,
    depth: usize,
}

/// One connection.
pub struct Connection<P: InOrder> {
    target: usize,
    in_flight: VecDeque<(RequestId, P::Sent)>,
    reader: P::Reader,
}

impl<P: InOrder> Pipeline<P> {
    /// A dialogue with at most `depth` requests in flight on each connection.
    pub fn new(protocol: P, depth: usize) -> Self {
        Pipeline { protocol, depth }
    }

    /// Report the answer that is whole after `end` of `length` received bytes.
    fn whole(
        &self,
        connection: &mut Connection<P>,
        end: usize,
        length: usize,
        events: &mut Vec<Event>,
    ) -> Result<(), End> {
        if P::EXCESS_SPOILS && end < length && connection.in_flight.len() == 1 {
            // It came, though it is not reported.
            let begun = connection.in_flight.iter().map(|(id, _)| Event::Begun(*id));
            events.extend(begun);
            return Err(End::Broken(P::UNASKED));
        }
        let last = P::is_last(&connection.reader);
        self.answer(connection, events);
        if last { Err(End::Proper) } else { Ok(()) }
    }

    fn answer(&self, connection: &mut Connection<P>, events: &mut Vec<Event>) {
        let Some((request, sent)) = connection.in_flight.pop_front() else {
            return;
        };
        let answer = self.protocol.answer(sent, request, &mut connection.reader);
        events.push(Event::Answered(answer));
    }
}

impl<P: InOrder> Dialogue for Pipeline<P> {
    type Connection = Connection<P>;

    fn begin(&mut self, target: usize, _: &mut Vec<u8>) -> Connection<P> {
        Connection {
            target,
            in_flight: VecDeque::new(),
            reader: self.protocol.reader(target),
        }
    }

    fn room(&self, connection: &Connection<P>) -> usize {
        self.depth - connection.in_flight.len()
    }

    fn send(
        &mut self,
        connection: &mut Connection<P>,
        request: RequestId,
        exchange: ExchangeId,
        out: &mut Vec<u8>,
    ) -> Result<(), End> {
        let Connection { target, reader, .. } = connection;
        let sent = self.protocol.write(*target, exchange, reader, out);
        connection.in_flight.push_back((request, sent));
        Ok(())
    }

    fn read_hint(&self, connection: &Connection<P>) -> ReadHint {
        let in_flight = connection.in_flight.len();
        self.protocol
            .read_hint(&connection.reader, in_flight, self.depth)
    }

    fn recv(
        &mut self,
        connection: &mut Connection<P>,
        bytes: &[u8],
        _: &mut Vec<u8>,
        events: &mut Vec<Event>,
    ) -> Result<(), End> {
        let mut rest = bytes;
        while !rest.is_empty() {
            let first = connection.in_flight.front();
            let (request, sent) = *first.ok_or(End::Broken(P::UNASKED))?;
            let fresh = P::is_fresh(&connection.reader);
            let read = self.protocol.read(&mut connection.reader, sent, rest);
            if fresh && !matches!(read, Ok(Some(_))) {
                events.push(Event::Begun(request));
            }
            let Some(end) = read.map_err(End::Broken)? else {
                break;
            };
            self.whole(connection, end, rest.len(), events)?;
            rest = &rest[end..];
        }
        Ok(())
    }

    fn discard(
        &mut self,
        connection: &mut Connection<P>,
        length: usize,
        events: &mut Vec<Event>,
    ) -> Result<(), End> {
        let skipped = self.protocol.skip(&mut connection.reader, length);
        match skipped.map_err(End::Broken)? {
            Some(end) => self.whole(connection, end, length, events),
            None => Ok(()),
        }
    }

    fn recv_end(&mut self, connection: &mut Connection<P>, events: &mut Vec<Event>) -> End {
        if !connection.in_flight.is_empty() && P::ends_by_close(&connection.reader) {
            self.answer(connection, events);
        }
        if connection.in_flight.is_empty() {
            End::Proper
        } else {
            End::Broken(P::CUT)
        }
    }
}
