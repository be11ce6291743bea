//! The causes that a request's time can have.

use syscalls::Sysno;

use super::events::By;

/// The kernel's vectors, by their numbers.
const SOFTIRQS: [&str; 10] = [
    "HI", "TIMER", "NET_TX", "NET_RX", "BLOCK", "IRQ_POLL", "TASKLET", "SCHED", "HRTIMER", "RCU",
];

/// The cause of a part of a request's time.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Cause {
    /// The generator sent it late.
    Generator,
    /// No connection was free, and it is not known why.
    NoConnection,
    /// Its connection was being made.
    Connecting,
    /// The first segment of its connection was lost, and sent again after a second or more.
    Resent,
    /// On the way to the server's socket.
    Sending,
    /// The server's task worked on another request.
    OtherRequest,
    /// The server's task worked, but on no request.
    Housekeeping,
    /// The server's task worked on it.
    Own,
    /// The server's task worked on it, or on others of its connection that were in flight, too.
    Shared,
    /// The server's task could run, but another one did: its name, and whether it is the server's.
    RunQueue(String, bool),
    /// The server's task could run, and its CPU had not yet woken up.
    Idle,
    /// The hypervisor had taken its CPU.
    Stolen,
    /// Its CPU handled softirqs of this kind.
    Softirq(&'static str),
    /// The quota of the server's group was used up.
    Held,
    /// The server's task waited for a lock, or to be woken by another thread: both are a futex.
    Lock,
    /// It waited for a disk, or for data to reach one.
    Disk,
    /// It slept for a time of its own choice.
    Sleep,
    /// It waited for a page of memory.
    Page,
    /// It waited for another server.
    Backend,
    /// It waited for input, or for one of its own threads: both come as events.
    Asleep,
    /// It waited in another system call.
    Call(&'static str),
    /// On the way back, or not yet read by the generator.
    Returning,
    /// Nothing was seen.
    Unseen,
}

impl Cause {
    /// The cause of a wait in a system call; `asked` is true if another server's answer is due.
    pub fn of_call(call: Option<u32>, asked: bool) -> Self {
        let Some(number) = call else {
            return Cause::Page;
        };
        let Some(name) = Sysno::new(number as usize).map(|call| call.name()) else {
            return Cause::Call("a system call without a name");
        };
        match name {
            "futex" | "futex_wait" | "futex_waitv" => Cause::Lock,
            "fsync" | "fdatasync" | "sync" | "syncfs" | "sync_file_range" | "msync" => Cause::Disk,
            "nanosleep" | "clock_nanosleep" => Cause::Sleep,
            "epoll_wait" | "epoll_pwait" | "epoll_pwait2" | "poll" | "ppoll" | "select"
            | "pselect6" | "read" | "readv" | "recvfrom" | "recvmsg" | "recvmmsg" | "accept"
            | "accept4" | "io_uring_enter" => match asked {
                true => Cause::Backend,
                false => Cause::Asleep,
            },
            "connect" => Cause::Backend,
            other => Cause::Call(other),
        }
    }

    /// The cause of a time in which a CPU was taken from the task that had it.
    pub fn of_taken(by: By) -> Self {
        match by {
            By::Hypervisor => Cause::Stolen,
            By::Softirq(vector) => {
                let name = SOFTIRQS.get(usize::from(vector));
                Cause::Softirq(name.copied().unwrap_or("of an unknown kind"))
            }
        }
    }

    /// Its name in the answer, and who or what it is about.
    pub fn told(&self) -> (&'static str, String) {
        let plain = |name| (name, String::new());
        match self {
            Cause::Generator => plain("generator"),
            Cause::NoConnection => plain("no_connection"),
            Cause::Connecting => plain("connecting"),
            Cause::Resent => plain("resent"),
            Cause::Sending => plain("sending"),
            Cause::OtherRequest => plain("other_request"),
            Cause::Housekeeping => plain("housekeeping"),
            Cause::Own => plain("own"),
            Cause::Shared => plain("shared"),
            Cause::RunQueue(name, true) => ("run_queue_own", name.clone()),
            Cause::RunQueue(name, false) => ("run_queue", name.clone()),
            Cause::Idle => plain("idle"),
            Cause::Stolen => plain("stolen"),
            Cause::Softirq(name) => ("softirq", (*name).to_owned()),
            Cause::Held => plain("held"),
            Cause::Lock => plain("lock"),
            Cause::Disk => plain("disk"),
            Cause::Sleep => plain("sleep"),
            Cause::Page => plain("page"),
            Cause::Backend => plain("backend"),
            Cause::Asleep => plain("asleep"),
            Cause::Call(name) => ("call", (*name).to_owned()),
            Cause::Returning => plain("returning"),
            Cause::Unseen => plain("unseen"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_connection_is_waited_for_before_anything_is_asked() {
        let waits = |call: Sysno, asked| Cause::of_call(Some(call.id() as u32), asked);
        assert_eq!(waits(Sysno::connect, false), Cause::Backend);
        assert_eq!(waits(Sysno::epoll_pwait, true), Cause::Backend);
        assert_eq!(waits(Sysno::epoll_pwait, false), Cause::Asleep);
    }
}
