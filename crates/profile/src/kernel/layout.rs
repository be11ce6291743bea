//! The layout of the BPF programs' tables; tables.bpf.h has the same.

pub const OTHER_SYSCALL: usize = 511;
pub const BYTES_READ: u32 = 518;
pub const BYTES_WRITTEN: u32 = 519;
pub const SOFTIRQ: usize = 522;
pub const COUNTS: usize = 532;

/// The counts between the system calls and the softirqs, in order.
pub const NAMED: [&str; 10] = [
    "switch.voluntary",
    "switch.involuntary",
    "fault.user",
    "fault.kernel",
    "wakeup.sent",
    "wakeup.remote",
    "bytes.read",
    "bytes.written",
    "packets.sent",
    "cpu_ns",
];

/// The softirqs in the kernel's order (include/linux/interrupt.h).
pub const SOFTIRQS: [&str; 10] = [
    "hi", "timer", "net_tx", "net_rx", "block", "irq_poll", "tasklet", "sched", "hrtimer", "rcu",
];

/// The state of a task where it was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Why {
    /// It ran: a sample.
    Running,
    /// It waited for something, until it was woken.
    Blocked,
    /// It was woken and waited for a CPU.
    Queued,
    /// It could run, but lost its CPU.
    Preempted,
}

/// A process, its stacks' keys, and why it was there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// Key of the user stack; 0 if there is none.
    pub user: u64,
    /// Key of the kernel stack; 0 if there is none.
    pub kernel: u64,
    /// The process's number.
    pub process: u32,
    /// The process whose memory map it has: its own number, or its parent's until it executes a program.
    pub map_of: u32,
    /// The role's index.
    pub role: u32,
    /// Its state there.
    pub why: Why,
}

/// The number of times that a place was found, and its duration if it is a wait.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sum {
    /// The number of times.
    pub count: u64,
    /// Nanoseconds of waiting; 0 of samples.
    pub ns: u64,
}

/// A process as the BPF programs know it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Process {
    /// The role's index.
    pub role: u32,
    /// The process whose memory map it has: its own number, or its parent's until it executes a program.
    pub map_of: u32,
    /// The number of programs that it has executed since it was first seen.
    pub executions: u32,
}

/// Return eight bytes as a number; 0 beyond the end.
pub fn word(bytes: &[u8], at: usize) -> u64 {
    bytes
        .get(at..at + 8)
        .and_then(|part| part.try_into().ok())
        .map_or(0, u64::from_ne_bytes)
}

/// Return four bytes as a number; 0 beyond the end.
pub fn half(bytes: &[u8], at: usize) -> u32 {
    bytes
        .get(at..at + 4)
        .and_then(|part| part.try_into().ok())
        .map_or(0, u32::from_ne_bytes)
}

impl Place {
    /// Read a key of the table `places`.
    pub fn read(bytes: &[u8]) -> Self {
        Self {
            user: word(bytes, 0),
            kernel: word(bytes, 8),
            process: half(bytes, 16),
            map_of: half(bytes, 20),
            role: half(bytes, 24),
            why: match half(bytes, 28) {
                0 => Why::Running,
                1 => Why::Blocked,
                2 => Why::Queued,
                _ => Why::Preempted,
            },
        }
    }
}

impl Process {
    /// Read a value of the table `processes`.
    pub fn read(bytes: &[u8]) -> Self {
        Self {
            role: half(bytes, 0),
            map_of: half(bytes, 4),
            executions: half(bytes, 8),
        }
    }

    /// Return the value of the table `processes`.
    pub fn bytes(self) -> Vec<u8> {
        [self.role, self.map_of, self.executions]
            .map(u32::to_ne_bytes)
            .concat()
    }
}
