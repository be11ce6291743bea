//! The events as the kernel writes them: `struct event` of events.bpf.h.

/// The length of an event, in bytes.
pub const LENGTH: usize = 48;
/// The role of a process that has none.
pub const FOREIGN: u8 = 255;
const HELD: u8 = 3;
const NO_CALL: u32 = u32::MAX;

/// The kind of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A CPU went from one task to another.
    Switched {
        /// The reason for which the first one left.
        left: Left,
        /// The task that came.
        next: u32,
        /// Its role.
        next_role: u8,
        /// Its name.
        name: [u8; 16],
    },
    /// A task was woken, to run on this CPU; true if its group's quota is used up.
    Woken(bool),
    /// A task read from a socket, up to this place in its bytes, whose lower half it is.
    Read(Ports, u32),
    /// A task wrote to a socket, likewise.
    Written(Ports, u32),
    /// Data, or a connection, came to a socket of a role.
    Arrived(Ports),
    /// A segment was sent again to a role's socket or from it, in this state of TCP.
    SentAgain(Ports, u8),
    /// The CPU was taken for so many nanoseconds, which end now.
    Taken(u32, By),
}

/// The one that takes a CPU from the task that has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum By {
    /// The hypervisor.
    Hypervisor,
    /// A softirq of this vector.
    Softirq(u8),
}

/// The reason for which a task left its CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Left {
    /// Another one was preferred.
    Preempted,
    /// It waits in a system call, or for a page.
    Blocked(Option<u32>),
    /// It waits for a disk.
    Disk,
    /// Its group's quota is used up.
    Held,
}

/// A connection's ports, the role's own first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ports {
    /// The role's own.
    pub own: u16,
    /// The other end's.
    pub other: u16,
}

/// One event, at a time of the monotonic clock in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// Its time.
    pub at: u64,
    /// Its CPU.
    pub cpu: u16,
    /// The task that left its CPU, was woken, read or wrote; else 0.
    pub task: u32,
    /// Its role.
    pub role: u8,
    /// Its kind.
    pub kind: Kind,
}

impl Event {
    /// Read an event; none where the bytes are no event.
    pub fn of(bytes: &[u8]) -> Option<Self> {
        let bytes: &[u8; LENGTH] = bytes.get(..LENGTH)?.try_into().ok()?;
        let word = |at: usize| u32::from_ne_bytes(bytes[at..at + 4].try_into().expect("4 bytes"));
        let half = |at: usize| u16::from_ne_bytes(bytes[at..at + 2].try_into().expect("2 bytes"));
        let (detail, state) = (word(16), bytes[27]);
        let ports = Ports {
            own: half(22),
            other: half(24),
        };
        let kind = match bytes[26] {
            0 => Kind::Switched {
                left: match state {
                    0 => Left::Preempted,
                    1 => Left::Blocked(Some(detail).filter(|call| *call != NO_CALL)),
                    HELD => Left::Held,
                    // A page that is read from a disk.
                    _ if detail == NO_CALL => Left::Blocked(None),
                    _ => Left::Disk,
                },
                next: word(12),
                next_role: bytes[29],
                name: bytes[30..46].try_into().expect("16 bytes"),
            },
            1 => Kind::Woken(state == HELD),
            2 => Kind::Read(ports, detail),
            3 => Kind::Written(ports, detail),
            4 => Kind::Arrived(ports),
            5 => Kind::SentAgain(ports, state),
            6 => Kind::Taken(detail, By::Hypervisor),
            7 => Kind::Taken(detail, By::Softirq(state)),
            _ => return None,
        };
        Some(Event {
            at: u64::from_ne_bytes(bytes[..8].try_into().expect("8 bytes")),
            cpu: half(20),
            task: word(8),
            role: bytes[28],
            kind,
        })
    }
}
