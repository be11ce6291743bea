//! Read into a buffer, write from it: the data path that most servers have.

use std::os::fd::BorrowedFd;

use anyhow::Result;
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, recv, send};

use crate::counters::Counters;
use crate::mover::{Mover, State};

/// Bytes read at once; the buffer stays in the cache.
const PIECE: usize = 64 << 10;

/// One buffer for all connections of a thread; a flow keeps only what its destination did not take.
#[derive(Debug)]
pub struct Copy {
    buffer: Vec<u8>,
}

/// The bytes that a destination has not taken yet.
#[derive(Debug, Default)]
pub struct Rest {
    bytes: Vec<u8>,
    written: usize,
}

impl Copy {
    /// For one thread.
    pub fn new() -> Self {
        Self {
            buffer: vec![0; PIECE],
        }
    }
}

impl Default for Copy {
    fn default() -> Self {
        Self::new()
    }
}

impl Mover for Copy {
    type Flow = Rest;

    fn flow(&mut self) -> Result<Rest> {
        Ok(Rest::default())
    }

    fn pump(
        &mut self,
        rest: &mut Rest,
        from: BorrowedFd<'_>,
        to: BorrowedFd<'_>,
        counters: &Counters,
    ) -> Result<State, Errno> {
        if !rest.bytes.is_empty() {
            rest.written += write(to, &rest.bytes[rest.written..], counters)?;
            if rest.written < rest.bytes.len() {
                return Ok(State::Blocked);
            }
            *rest = Rest::default();
        }
        counters.called();
        let count = match recv(from, &mut self.buffer[..], RecvFlags::empty()) {
            Ok((0, _)) => return Ok(State::Ended),
            Ok((count, _)) => count,
            Err(Errno::AGAIN | Errno::INTR) => return Ok(State::Reading),
            Err(error) => return Err(error),
        };
        let written = write(to, &self.buffer[..count], counters)?;
        counters.forwarded(count);
        if written == count {
            return Ok(State::Moved);
        }
        rest.bytes.extend_from_slice(&self.buffer[written..count]);
        Ok(State::Blocked)
    }
}

/// Write `bytes` to `to`. Return the number of bytes that it takes now.
fn write(to: BorrowedFd<'_>, bytes: &[u8], counters: &Counters) -> Result<usize, Errno> {
    counters.called();
    match send(to, bytes, SendFlags::NOSIGNAL) {
        Err(Errno::AGAIN | Errno::INTR) => Ok(0),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use std::io::{ErrorKind, Read, Write};
    use std::os::fd::AsFd;
    use std::os::unix::net::UnixStream;

    use proptest::prelude::*;

    use super::*;

    /// Two ends that do not wait.
    fn pair() -> (UnixStream, UnixStream) {
        let ends = UnixStream::pair().expect("sockets");
        for end in [&ends.0, &ends.1] {
            end.set_nonblocking(true).expect("a socket's option");
        }
        ends
    }

    /// Read the available bytes, at most `most`.
    fn take(from: &mut UnixStream, most: usize) -> Vec<u8> {
        let mut bytes = vec![0; most];
        match from.read(&mut bytes) {
            Ok(count) => bytes.truncate(count),
            Err(error) if error.kind() == ErrorKind::WouldBlock => bytes.clear(),
            Err(error) => panic!("{error}"),
        }
        bytes
    }

    #[test]
    fn a_destination_that_does_not_read_blocks_until_it_does() {
        let ((mut client, from), (to, mut reader)) = (pair(), pair());
        let (mut copy, mut rest, counters) = (Copy::new(), Rest::default(), Counters::default());
        let message = vec![7; 1000];
        let mut pump = |rest: &mut Rest| copy.pump(rest, from.as_fd(), to.as_fd(), &counters);
        let mut sent = 0;
        while pump(&mut rest).expect("no error") != State::Blocked {
            client.write_all(&message).expect("room");
            sent += message.len();
        }
        assert_eq!(pump(&mut rest), Ok(State::Blocked));
        let mut received = 0;
        loop {
            received += take(&mut reader, 1 << 16).len();
            if received == sent {
                break;
            }
            pump(&mut rest).expect("no error");
        }
        drop(client);
        assert_eq!(pump(&mut rest), Ok(State::Ended));
        assert_eq!(counters.moved().bytes, sent as u64);
    }

    #[test]
    fn a_destination_that_is_gone_is_an_error() {
        let ((mut client, from), (to, reader)) = (pair(), pair());
        drop(reader);
        client.write_all(b"lost").expect("room");
        let found = Copy::new().pump(
            &mut Rest::default(),
            from.as_fd(),
            to.as_fd(),
            &Counters::default(),
        );
        assert_eq!(found, Err(Errno::PIPE));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(40))]

        #[test]
        fn bytes_arrive_in_order_whatever_the_pieces(
            turns in prop::collection::vec((0..200_000usize, 0..200_000usize), 1..20)
        ) {
            let ((mut client, from), (to, mut reader)) = (pair(), pair());
            let (mut copy, mut rest) = (Copy::new(), Rest::default());
            let counters = Counters::default();
            let (mut sent, mut found) = (Vec::new(), Vec::new());
            for (size, most) in turns {
                let piece: Vec<u8> = (0..size).map(|at| (sent.len() + at * 31) as u8).collect();
                let count = client.write(&piece).unwrap_or(0);
                sent.extend_from_slice(&piece[..count]);
                copy.pump(&mut rest, from.as_fd(), to.as_fd(), &counters).expect("no error");
                found.extend(take(&mut reader, most));
            }
            drop(client);
            while copy.pump(&mut rest, from.as_fd(), to.as_fd(), &counters) != Ok(State::Ended) {
                found.extend(take(&mut reader, 1 << 20));
            }
            drop((from, to));
            reader.set_nonblocking(false).expect("a socket's option");
            reader.read_to_end(&mut found).expect("no error");
            prop_assert_eq!(counters.moved().bytes, sent.len() as u64);
            prop_assert!(found == sent, "{} bytes of {}, or others", found.len(), sent.len());
        }
    }
}
