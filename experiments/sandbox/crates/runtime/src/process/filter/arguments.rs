//! The system calls that filters let through with some arguments only, as data from which each
//! kind of filter is made.

use libc as sys;
use seccompiler::{BackendError, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompRule};
use serde_json::{Value, json};

use crate::limits::FILES_MAX;
use crate::process::recipe::PROGRAM;

/// Namespaces that a process could make without any right by first making one of users, and a
/// child that its own parent does not expect.
const CLONED: u64 = (sys::CLONE_NEWUSER | sys::CLONE_NEWNS | sys::CLONE_NEWNET | sys::CLONE_NEWIPC)
    as u64
    | (sys::CLONE_NEWUTS | sys::CLONE_NEWCGROUP | sys::CLONE_PARENT) as u64;

/// The allowed operations of `fcntl`: those on the caller's own descriptors. Locks, owners and
/// signals are not allowed, because others with the same file could see them.
const FCNTL: [i32; 6] = [
    sys::F_DUPFD,
    sys::F_DUPFD_CLOEXEC,
    sys::F_GETFD,
    sys::F_SETFD,
    sys::F_GETFL,
    sys::F_SETFL,
];

/// Flags with which clone makes a thread rather than a process.
const THREAD: u64 = (sys::CLONE_VM | sys::CLONE_SIGHAND | sys::CLONE_THREAD) as u64;

/// A test of one argument, as 32 bits where the kernel reads no more.
#[derive(Clone, Copy, Debug)]
enum Test {
    /// All 64 bits are these.
    Is(u8, u64),
    /// These of the 32 bits are 0.
    Lacks(u8, u32),
    /// These of the 32 bits are 1.
    Has(u8, u32),
    /// The 32 bits are at most so much.
    AtMost(u8, u32),
    /// The 32 bits are at least so much.
    AtLeast(u8, u32),
    /// The 32 bits, without these, are those.
    Without(u8, u32, u32),
}

/// A system call and what it may be asked: one of several sets of tests, all of which hold.
#[derive(Clone, Debug)]
pub struct Asked {
    /// Its number.
    pub number: i64,
    name: &'static str,
    ways: Vec<Vec<Test>>,
}

macro_rules! asked {
    ($call:ident, $ways:expr) => {
        Asked {
            number: sys::$call,
            name: stringify!($call),
            ways: $ways,
        }
    };
}

/// The calls of every binary.
pub fn of_a_binary() -> Vec<Asked> {
    // Clocks of other processes have negative numbers.
    let clock = || vec![vec![Test::AtMost(0, sys::CLOCK_TAI as u32)]];
    let urgent = Test::Lacks(3, sys::MSG_OOB as u32);
    vec![
        asked!(SYS_clone, vec![vec![Test::Lacks(0, CLONED as u32)]]),
        own_pages(),
        asked!(
            SYS_fcntl,
            FCNTL
                .map(|command| vec![Test::Is(1, command as u64)])
                .into()
        ),
        // To an address, a datagram reaches whoever has that name.
        asked!(SYS_sendto, vec![vec![urgent, Test::Is(4, 0)]]),
        asked!(SYS_recvfrom, vec![vec![urgent]]),
        asked!(SYS_clock_gettime, clock()),
        asked!(SYS_clock_getres, clock()),
        asked!(SYS_clock_nanosleep, clock()),
    ]
}

/// The calls of a thread that starts workers, and of the process that is to become one.
pub fn of_a_keeper() -> Vec<Asked> {
    vec![
        socket_pairs(),
        options(),
        // A binary has no descriptor with such a number, nor can it make one.
        asked!(SYS_sendmsg, vec![vec![Test::AtLeast(0, FILES_MAX + 1)]]),
        // Only before exec is there a descriptor with this number.
        asked!(
            SYS_execveat,
            vec![vec![
                Test::Is(0, PROGRAM as u64),
                Test::Is(4, sys::AT_EMPTY_PATH as u64)
            ]]
        ),
        own_limits(),
    ]
}

/// The calls of a broker, which makes threads and no process, and passes sockets of pairs on.
pub fn of_a_broker() -> Vec<Asked> {
    let flags = (sys::SOCK_CLOEXEC | sys::SOCK_NONBLOCK) as u32;
    let packets = Test::Without(1, flags, sys::SOCK_SEQPACKET as u32);
    let patience = |option: i32| {
        let level = Test::Is(1, sys::SOL_SOCKET as u64);
        vec![level, Test::Is(2, option as u64)]
    };
    let seals = [sys::F_ADD_SEALS, sys::F_GET_SEALS];
    let commands = FCNTL.iter().chain(&seals);
    vec![
        own_pages(),
        asked!(
            SYS_memfd_create,
            vec![vec![Test::Lacks(1, sys::MFD_HUGETLB)]]
        ),
        asked!(
            SYS_fcntl,
            commands
                .map(|command| vec![Test::Is(1, *command as u64)])
                .collect()
        ),
        // Other options give a socket a name.
        asked!(
            SYS_setsockopt,
            vec![patience(sys::SO_RCVTIMEO), patience(sys::SO_SNDTIMEO)]
        ),
        asked!(SYS_clone, vec![vec![Test::Has(0, THREAD as u32)]]),
        // To an address, a datagram reaches whoever has that name.
        asked!(SYS_sendto, vec![vec![Test::Is(4, 0)]]),
        asked!(
            SYS_socketpair,
            vec![vec![Test::Is(0, sys::AF_UNIX as u64), packets]]
        ),
        asked!(SYS_prctl, vec![vec![Test::Is(0, sys::PR_SET_NAME as u64)]]),
    ]
}

/// The calls that the original allows besides, with less to ask than there.
pub fn of_the_original() -> Vec<Asked> {
    // Others tell of the host's interfaces, also over a socket that was made in another namespace.
    let own = [sys::FIONBIO, sys::FIONREAD, sys::TCGETS, sys::TIOCGWINSZ];
    vec![
        socket_pairs(),
        options(),
        own_limits(),
        asked!(
            SYS_ioctl,
            own.map(|request| vec![Test::Is(1, request)]).into()
        ),
    ]
}

/// Memory that counts as a process's own. Huge pages that the host has set aside do not.
fn own_pages() -> Asked {
    asked!(
        SYS_mmap,
        vec![vec![Test::Lacks(3, sys::MAP_HUGETLB as u32)]]
    )
}

/// The calling process's own limits, but the one of cores: as it is, the kernel gives none to the host's
/// program for them.
fn own_limits() -> Asked {
    let own = || Test::Is(0, 0);
    asked!(
        SYS_prlimit64,
        vec![
            vec![own(), Test::AtMost(1, sys::RLIMIT_CORE - 1)],
            vec![own(), Test::AtLeast(1, sys::RLIMIT_CORE + 1)],
        ]
    )
}

/// Connected streams: a datagram socket can send to any name.
fn socket_pairs() -> Asked {
    let flags = (sys::SOCK_CLOEXEC | sys::SOCK_NONBLOCK) as u32;
    let stream = Test::Without(1, flags, sys::SOCK_STREAM as u32);
    asked!(
        SYS_socketpair,
        vec![vec![Test::Is(0, sys::AF_UNIX as u64), stream]]
    )
}

/// The calling process's own options; that it dies with the host can only be asked for.
fn options() -> Asked {
    let option = |number: i32| vec![Test::Is(0, number as u64)];
    let mut dies_with_the_host = option(sys::PR_SET_PDEATHSIG);
    dies_with_the_host.push(Test::Is(1, sys::SIGKILL as u64));
    asked!(
        SYS_prctl,
        vec![
            dies_with_the_host,
            option(sys::PR_SET_NAME),
            option(sys::PR_GET_NAME),
            option(sys::PR_GET_DUMPABLE),
        ]
    )
}

impl Asked {
    /// The rules of a compiled filter.
    ///
    /// # Errors
    ///
    /// The compiler's.
    pub fn rules(&self) -> Result<Vec<SeccompRule>, BackendError> {
        let ways = self.ways.iter().map(|way| {
            let conditions = way.iter().map(Test::condition);
            SeccompRule::new(conditions.collect::<Result<_, _>>()?)
        });
        ways.collect()
    }

    /// The rules as the Open Container Initiative writes them.
    pub fn described(&self) -> impl Iterator<Item = Value> + '_ {
        let name = self.name.strip_prefix("SYS_").unwrap_or(self.name);
        self.ways.iter().map(move |way| {
            let arguments: Vec<Value> = way.iter().map(Test::described).collect();
            json!({"names": [name], "action": "SCMP_ACT_ALLOW", "args": arguments})
        })
    }
}

impl Test {
    fn condition(&self) -> Result<SeccompCondition, BackendError> {
        use SeccompCmpArgLen::{Dword, Qword};
        use SeccompCmpOp::{Eq, Ge, Le, MaskedEq};
        match *self {
            Test::Is(argument, value) => SeccompCondition::new(argument, Qword, Eq, value),
            Test::Lacks(argument, bits) => {
                SeccompCondition::new(argument, Dword, MaskedEq(bits.into()), 0)
            }
            Test::Has(argument, bits) => {
                SeccompCondition::new(argument, Dword, MaskedEq(bits.into()), bits.into())
            }
            Test::AtMost(argument, most) => SeccompCondition::new(argument, Dword, Le, most.into()),
            Test::AtLeast(argument, least) => {
                SeccompCondition::new(argument, Dword, Ge, least.into())
            }
            Test::Without(argument, bits, value) => {
                SeccompCondition::new(argument, Dword, MaskedEq((!bits).into()), value.into())
            }
        }
    }

    fn described(&self) -> Value {
        let masked = |index: u8, mask: u32, value: u32| json!({"index": index, "value": mask, "valueTwo": value, "op": "SCMP_CMP_MASKED_EQ"});
        match *self {
            Test::Is(index, value) => {
                json!({"index": index, "value": value, "valueTwo": 0, "op": "SCMP_CMP_EQ"})
            }
            Test::Lacks(index, bits) => masked(index, bits, 0),
            Test::AtMost(index, most) => {
                json!({"index": index, "value": most, "valueTwo": 0, "op": "SCMP_CMP_LE"})
            }
            Test::Without(index, bits, value) => masked(index, !bits, value),
            Test::Has(index, bits) => masked(index, bits, bits),
            Test::AtLeast(index, least) => {
                json!({"index": index, "value": least, "valueTwo": 0, "op": "SCMP_CMP_GE"})
            }
        }
    }
}
