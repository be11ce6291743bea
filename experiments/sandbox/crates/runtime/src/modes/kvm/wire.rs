//! Messages between the daemon and a monitor: one packet per message, with descriptors beside it. A
//! monitor is not trusted: any bytes from it are decoded or refused.

use std::os::fd::{BorrowedFd, OwnedFd};

use rustix::io::Errno;

use crate::packet::{self, Packet};

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
    fn encode(&self) -> Packet {
        match self {
            Order::Make { memory, cpu_s } => Packet::new(1, [*memory, *cpu_s]),
            Order::Begin { run } => Packet::new(2, [(*run).into()]),
            Order::Stop { run } => Packet::new(3, [(*run).into()]),
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
                let detail = u64::from(detail as u32);
                let numbers = [(*run).into(), what, detail, (*again).into(), *cpu_us];
                Packet::new(4, numbers)
            }
            Order::Failed(why) => Packet::new(5, []).with_text(why),
        }
    }

    /// Read a message, or return `None` if the packet is none.
    fn decode(packet: Packet) -> Option<Self> {
        let [first, second, third, fourth, fifth, ..] = packet.numbers;
        let run = first as u32;
        Some(match packet.kind {
            1 => Order::Make {
                memory: first,
                cpu_s: second,
            },
            2 => Order::Begin { run },
            3 => Order::Stop { run },
            4 => {
                let detail = third as u32 as i32;
                let end = match second {
                    0 => End::Exited(detail),
                    1 => End::Signal(detail),
                    2 => End::Memory,
                    3 => End::Stopped,
                    _ => return None,
                };
                Order::Over {
                    run,
                    end,
                    again: fourth == 1,
                    cpu_us: fifth,
                }
            }
            5 => Order::Failed(packet.text),
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
    packet::send(control, &order.encode(), descriptors, false)
}

/// Receive a message and the descriptors beside it, or `None` if there is none and it does not
/// `wait`.
///
/// # Errors
///
/// `PIPE` when the other end is closed, `BADMSG` for what is no message, and the kernel's.
pub fn recv(control: BorrowedFd<'_>, wait: bool) -> Result<Option<(Order, Vec<OwnedFd>)>, Errno> {
    let Some((packet, descriptors)) = packet::recv(control, wait)? else {
        return Ok(None);
    };
    let order = Order::decode(packet).ok_or(Errno::BADMSG)?;
    Ok(Some((order, descriptors)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::fd::AsFd;

    #[test]
    fn messages_arrive_with_what_is_beside_them() {
        let (here, there) = packet::pair().unwrap();
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
        packet::send(here.as_fd(), &Packet::new(6, []), &[], false).unwrap();
        assert_eq!(recv(there.as_fd(), false).unwrap_err(), Errno::BADMSG);
    }
}
