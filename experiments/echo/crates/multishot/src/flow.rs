//! One direction of one connection: received bytes that are not sent yet, in order.

use crate::buffers::Buffers;

/// Bytes that may wait to be sent; no more is received until they are fewer.
pub const MOST_PENDING: usize = 256 << 10;

/// Flags of a send that does not wait: all of it, or a completion that says how much.
pub const AT_ONCE: i32 = libc::MSG_DONTWAIT | libc::MSG_WAITALL;

/// The buffers of the send in progress.
#[derive(Debug)]
enum Sending {
    /// A buffer of the ring, without waiting: it must not be kept by a peer that does not read.
    Buffer { buffer: u16, bytes: usize },
    /// Bytes of the direction's own.
    Own { bytes: Vec<u8>, sent: usize },
}

/// The next send to submit.
#[derive(Clone, Copy, Debug)]
pub struct Next {
    pub from: *const u8,
    pub count: u32,
    pub flags: i32,
}

/// One direction.
#[derive(Debug, Default)]
pub struct Flow {
    sending: Option<Sending>,
    pending: Vec<u8>,
    /// A receive is under way.
    pub receiving: bool,
    /// It is being cancelled.
    pub cancelling: bool,
    /// The source ended.
    pub ended: bool,
    /// True once the destination has been told.
    pub closed: bool,
}

impl Flow {
    /// Take a filled buffer. What to send, if nothing was being sent.
    pub fn received(&mut self, buffer: u16, bytes: usize, buffers: &mut Buffers) -> Option<Next> {
        if self.sending.is_some() {
            self.pending
                .extend_from_slice(buffers.filled(buffer, 0, bytes));
            buffers.give_back(buffer);
            return None;
        }
        self.sending = Some(Sending::Buffer { buffer, bytes });
        let flags = AT_ONCE;
        Some(Next {
            from: buffers.start(buffer),
            count: bytes as u32,
            flags,
        })
    }

    /// Count `count` sent bytes. Return the next send.
    pub fn sent(&mut self, count: usize, buffers: &mut Buffers) -> Option<Next> {
        match self.sending.take().expect("a send was under way") {
            Sending::Buffer { buffer, bytes } => {
                if count < bytes {
                    let rest = buffers.filled(buffer, count, bytes);
                    self.pending.splice(0..0, rest.iter().copied());
                }
                buffers.give_back(buffer);
            }
            Sending::Own { bytes, sent } if sent + count < bytes.len() => {
                return Some(self.send_own(bytes, sent + count));
            }
            Sending::Own { .. } => {}
        }
        if self.pending.is_empty() {
            return None;
        }
        let bytes = std::mem::take(&mut self.pending);
        Some(self.send_own(bytes, 0))
    }

    /// The send failed; its buffer goes back.
    pub fn failed(&mut self, buffers: &mut Buffers) {
        if let Some(Sending::Buffer { buffer, .. }) = self.sending.take() {
            buffers.give_back(buffer);
        }
    }

    /// Return true if something is to happen when a send that completes at once has done so.
    pub fn waits_at_once(&self) -> bool {
        let at_once = matches!(self.sending, Some(Sending::Buffer { .. }));
        at_once && (self.ended || !self.pending.is_empty())
    }

    /// Return true if more may be received.
    pub fn has_room(&self) -> bool {
        self.pending.len() <= MOST_PENDING
    }

    /// Return true if all that was received is sent.
    pub fn is_empty(&self) -> bool {
        self.sending.is_none() && self.pending.is_empty()
    }

    fn send_own(&mut self, bytes: Vec<u8>, sent: usize) -> Next {
        let rest = &bytes[sent..];
        // The vector's memory stays where it is while the vector itself moves.
        let next = Next {
            from: rest.as_ptr(),
            count: rest.len() as u32,
            flags: libc::MSG_WAITALL,
        };
        self.sending = Some(Sending::Own { bytes, sent });
        next
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use clap::Parser;
    use io_uring::IoUring;
    use proptest::prelude::*;

    use super::*;
    use crate::buffers::Pool;

    #[derive(Parser)]
    struct Cli {
        #[command(flatten)]
        pool: Pool,
    }

    const BUFFERS: u16 = 4;
    const BYTES: usize = 64;

    /// Return the bytes being sent, as a peer receives them.
    fn seen(next: &Next, count: usize) -> Vec<u8> {
        // SAFETY: the flow keeps these bytes until the send has completed.
        unsafe { std::slice::from_raw_parts(next.from, next.count as usize)[..count].to_vec() }
    }

    proptest! {
        /// Each step is a piece that comes, or a part (of 256) of what is being sent that goes.
        #[test]
        fn bytes_go_in_the_order_in_which_they_came(
            steps in prop::collection::vec((any::<bool>(), 1..=BYTES, 0..=256usize), 1..200)
        ) {
            let ring = IoUring::new(8).expect("io_uring is permitted");
            let sizes = ["", "--buffers", &BUFFERS.to_string(), "--buffer-bytes", &BYTES.to_string()];
            let pool = Cli::parse_from(sizes).pool;
            let mut buffers = Buffers::register(&ring, &pool).expect("a ring of buffers");
            let mut free: VecDeque<u16> = (0..BUFFERS).collect();
            let (mut flow, mut next) = (Flow::default(), None::<Next>);
            let (mut came, mut went) = (Vec::new(), Vec::new());
            let rest = std::iter::repeat_n((false, 1, 256), 2);
            for (arrives, size, part) in steps.into_iter().chain(rest) {
                if arrives {
                    let buffer = free.pop_front().expect("one is being sent at most");
                    for at in 0..size {
                        let byte = (came.len() * 7 + 1) as u8;
                        // SAFETY: within a buffer that nobody else uses now.
                        unsafe { buffers.start(buffer).cast_mut().add(at).write(byte) };
                        came.push(byte);
                    }
                    let held = next.is_some();
                    let started = flow.received(buffer, size, &mut buffers);
                    prop_assert_eq!(started.is_none(), held);
                    if held {
                        free.push_back(buffer);
                    } else {
                        next = started;
                    }
                } else if let Some(sending) = next.take() {
                    let count = sending.count as usize * part / 256;
                    went.extend(seen(&sending, count));
                    let from_ring = sending.flags == AT_ONCE;
                    next = flow.sent(count, &mut buffers);
                    if from_ring {
                        free = (0..BUFFERS).collect();
                    }
                }
                prop_assert_eq!(flow.is_empty(), next.is_none());
            }
            prop_assert!(flow.is_empty());
            prop_assert_eq!(went, came);
        }
    }

    #[test]
    fn what_comes_behind_a_send_that_completes_at_once_waits_for_it() {
        let sending = Some(Sending::Buffer {
            buffer: 0,
            bytes: 1,
        });
        let mut flow = Flow {
            sending,
            ..Flow::default()
        };
        assert!(!flow.waits_at_once());
        flow.pending.push(0);
        assert!(flow.waits_at_once());
        flow.pending.clear();
        flow.ended = true;
        assert!(flow.waits_at_once());
        flow.sending = None;
        assert!(!flow.waits_at_once());
    }

    #[test]
    fn there_is_room_until_too_much_waits() {
        let mut flow = Flow {
            pending: vec![0; MOST_PENDING],
            ..Flow::default()
        };
        assert!(flow.has_room());
        flow.pending.push(0);
        assert!(!flow.has_room());
    }
}
