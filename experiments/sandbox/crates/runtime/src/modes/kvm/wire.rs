//! Messages between the daemon and a monitor: one packet per message, with descriptors beside it. A
//! monitor is not trusted: any bytes from it are decoded or refused.

use std::io::{IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{BorrowedFd, OwnedFd};

use rustix::io::Errno;
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, recvmsg, sendmsg,
};

/// Bytes of the longest message.
const LENGTH_MAX: usize = 1024;
/// Descriptors beside a message.
const DESCRIPTORS_MAX: usize = 2;

/// A message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Order {
    /// To the monitor, once: make a guest with so much memory, which may use so much CPU time a run.
    /// Beside it /dev/kvm and the binary.
    Make {
        /// Bytes of memory that the guest may have.
        memory: u64,
        /// Seconds of CPU time of a run.
        cpu_s: u64,
    },
    /// To the monitor: run the guest. Beside it its socket.
    Begin {
        /// The run's number.
        run: u32,
    },
    /// To the monitor: end the run, if it is still under way.
    Stop {
        /// The run's number.
        run: u32,
    },
    /// From the monitor: the run is over, and what is left of it gone.
    Over {
        /// The run's number.
        run: u32,
        /// The reason.
        end: End,
        /// True if the guest can be run again.
        again: bool,
        /// CPU time that it took, its reset included.
        cpu_us: u64,
    },
    /// From the monitor: it cannot go on; why, in words.
    Failed(String),
}

/// The reason why a run is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The guest ended with this code.
    Exited(i32),
    /// The guest did what Linux answers with this signal.
    Signal(i32),
    /// The guest needs more memory than it may have.
    Memory,
    /// Somebody wanted it to.
    Stopped,
}

impl Order {
    fn encode(&self) -> Vec<u8> {
        let (kind, numbers, text): (u64, [u64; 4], &str) = match self {
            Order::Make { memory, cpu_s } => (1, [*memory, *cpu_s, 0, 0], ""),
            Order::Begin { run } => (2, [(*run).into(), 0, 0, 0], ""),
            Order::Stop { run } => (3, [(*run).into(), 0, 0, 0], ""),
            Order::Over {
                run,
                end,
                again,
                cpu_us,
            } => {
                let (what, detail) = match end {
                    End::Exited(code) => (0, *code),
                    End::Signal(signal) => (1, *signal),
                    End::Memory => (2, 0),
                    End::Stopped => (3, 0),
                };
                (
                    4,
                    [
                        (*run).into(),
                        what | u64::from(*again) << 8,
                        u64::from(detail as u32),
                        *cpu_us,
                    ],
                    "",
                )
            }
            Order::Failed(why) => (5, [0; 4], why),
        };
        let words = [kind].into_iter().chain(numbers);
        let mut bytes: Vec<u8> = words.flat_map(u64::to_le_bytes).collect();
        bytes.extend(text.bytes().take(LENGTH_MAX - bytes.len()));
        bytes
    }

    /// Read a message; none where the bytes are no message.
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let (words, text) = bytes.split_at_checked(40)?;
        let word = |index: usize| {
            u64::from_le_bytes(words[8 * index..][..8].try_into().unwrap_or_default())
        };
        let run = word(1) as u32;
        Some(match word(0) {
            1 => Order::Make {
                memory: word(1),
                cpu_s: word(2),
            },
            2 => Order::Begin { run },
            3 => Order::Stop { run },
            4 => {
                let detail = word(3) as u32 as i32;
                let end = match word(2) & 0xff {
                    0 => End::Exited(detail),
                    1 => End::Signal(detail),
                    2 => End::Memory,
                    3 => End::Stopped,
                    _ => return None,
                };
                Order::Over {
                    run,
                    end,
                    again: word(2) >> 8 & 1 == 1,
                    cpu_us: word(4),
                }
            }
            5 => Order::Failed(String::from_utf8_lossy(text).into_owned()),
            _ => return None,
        })
    }
}

/// Send `order`, with `descriptors` beside it.
///
/// # Errors
///
/// The kernel's: nobody listens.
pub fn send(
    control: BorrowedFd<'_>,
    order: &Order,
    descriptors: &[BorrowedFd<'_>],
) -> Result<(), Errno> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(DESCRIPTORS_MAX))];
    let mut beside = SendAncillaryBuffer::new(&mut space);
    if !descriptors.is_empty() {
        beside.push(SendAncillaryMessage::ScmRights(descriptors));
    }
    let flags = SendFlags::NOSIGNAL | SendFlags::DONTWAIT;
    sendmsg(
        control,
        &[IoSlice::new(&order.encode())],
        &mut beside,
        flags,
    )
    .map(|_| ())
}

/// Receive a message and the descriptors beside it, or `None` if there is none and it does not
/// `wait`.
///
/// # Errors
///
/// `PIPE` when the other end is closed, `BADMSG` for what is no message, and the kernel's.
pub fn recv(control: BorrowedFd<'_>, wait: bool) -> Result<Option<(Order, Vec<OwnedFd>)>, Errno> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(DESCRIPTORS_MAX))];
    let mut beside = RecvAncillaryBuffer::new(&mut space);
    let mut bytes = [0; LENGTH_MAX];
    let mut flags = RecvFlags::CMSG_CLOEXEC;
    flags.set(RecvFlags::DONTWAIT, !wait);
    let received = loop {
        match recvmsg(
            control,
            &mut [IoSliceMut::new(&mut bytes)],
            &mut beside,
            flags,
        ) {
            Ok(received) => break received.bytes,
            Err(Errno::AGAIN) => return Ok(None),
            Err(Errno::INTR) => {}
            Err(error) => return Err(error),
        }
    };
    if received == 0 {
        return Err(Errno::PIPE);
    }
    let mut descriptors = Vec::new();
    for message in beside.drain() {
        if let RecvAncillaryMessage::ScmRights(rights) = message {
            descriptors.extend(rights);
        }
    }
    let order = Order::decode(&bytes[..received]).ok_or(Errno::BADMSG)?;
    Ok(Some((order, descriptors)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use proptest::test_runner::RngSeed;
    use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};
    use std::os::fd::AsFd;

    #[test]
    fn messages_arrive_with_what_is_beside_them() {
        let (here, there) = socketpair(
            AddressFamily::UNIX,
            SocketType::SEQPACKET,
            SocketFlags::CLOEXEC,
            None,
        )
        .unwrap();
        let orders = [
            Order::Make {
                memory: 1 << 40,
                cpu_s: 7,
            },
            Order::Begin { run: 8 },
            Order::Stop { run: u32::MAX },
            Order::Over {
                run: 3,
                end: End::Exited(-1),
                again: true,
                cpu_us: 99,
            },
            Order::Over {
                run: 3,
                end: End::Signal(11),
                again: false,
                cpu_us: 0,
            },
            Order::Failed("no".into()),
        ];
        for order in orders {
            send(here.as_fd(), &order, &[here.as_fd(), there.as_fd()]).unwrap();
            let (found, beside) = recv(there.as_fd(), true).unwrap().unwrap();
            assert_eq!((found, beside.len()), (order, 2));
        }
        assert!(recv(there.as_fd(), false).unwrap().is_none());
        rustix::io::write(&here, b"nonsense").unwrap();
        assert_eq!(recv(there.as_fd(), false).unwrap_err(), Errno::BADMSG);
        send(here.as_fd(), &Order::Failed("x".repeat(5000)), &[]).unwrap();
        assert!(matches!(
            recv(there.as_fd(), false),
            Ok(Some((Order::Failed(_), _)))
        ));
        drop(here);
        assert_eq!(recv(there.as_fd(), true).unwrap_err(), Errno::PIPE);
    }

    proptest! {
        #![proptest_config(ProptestConfig { rng_seed: RngSeed::Fixed(24), ..ProptestConfig::with_cases(256) })]

        #[test]
        fn what_is_read_is_written_alike(bytes in prop::collection::vec(prop_oneof![Just(0u8), 0u8..7, any::<u8>()], 0..60)) {
            if let Some(order) = Order::decode(&bytes) {
                prop_assert_eq!(Order::decode(&order.encode()), Some(order));
            }
        }
    }
}
