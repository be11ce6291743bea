//! Starts a process that follows a recipe: vfork without its traps, since the new process runs on a
//! stack of its own, allocates nothing, and says through shared memory what went wrong.

use std::ffi::c_void;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};

use super::exit::collect;
use super::recipe::{Order, Recipe, SOCKET};

const STACK: usize = 64 << 10;

/// Starts processes one after the other.
pub struct Vfork {
    stack: Box<[u128]>,
}

struct Start<'a> {
    orders: &'a [Order],
    socket: RawFd,
    log: RawFd,
    /// Number of the order that failed and why, unless all went well.
    failed: Option<(usize, i32)>,
}

/// A process that has just become its binary.
#[derive(Debug)]
pub struct Launched {
    /// Its number in the namespace of who started it.
    pub pid: i32,
    /// The process itself.
    pub process: OwnedFd,
}

impl Default for Vfork {
    fn default() -> Self {
        Vfork {
            stack: vec![0; STACK / size_of::<u128>()].into(),
        }
    }
}

impl Vfork {
    /// A process with the namespaces of `flags` of its own, which has followed `recipe`, with `socket`
    /// and, where the recipe has one, `log`.
    ///
    /// # Errors
    ///
    /// Which order failed, and why, in words. No process is then left.
    pub fn launch(
        &mut self,
        recipe: &Recipe,
        flags: i32,
        socket: BorrowedFd<'_>,
        log: Option<BorrowedFd<'_>>,
    ) -> Result<Launched, String> {
        let mut start = Start {
            orders: recipe.orders(),
            socket: socket.as_raw_fd(),
            log: log.map_or(-1, |log| log.as_raw_fd()),
            failed: None,
        };
        let mut process: RawFd = -1;
        let top = self.stack.as_mut_ptr_range().end;
        let all = flags | libc::CLONE_VM | libc::CLONE_VFORK | libc::CLONE_PIDFD | libc::SIGCHLD;
        // SAFETY: the new process runs `follow` on a stack that nothing else uses, and this thread
        // stands still until it has ended or become its binary.
        let pid = unsafe {
            libc::clone(
                follow,
                top.cast(),
                all,
                (&raw mut start).cast(),
                &raw mut process,
            )
        };
        if pid < 0 {
            return Err(format!("start a process: {}", io::Error::last_os_error()));
        }
        // SAFETY: the kernel made this descriptor for the new process, and nobody else has it.
        let process = unsafe { OwnedFd::from_raw_fd(process) };
        let Some((index, errno)) = start.failed else {
            return Ok(Launched { pid, process });
        };
        collect(&process);
        let what = match start.orders.get(index) {
            Some(Order::Call(call)) => call.what,
            Some(Order::Log) => "take the log",
            _ => "take the socket",
        };
        Err(format!("{what}: {}", io::Error::from_raw_os_error(errno)))
    }
}

/// Run in the new process: follows its orders, the last of which does not return.
extern "C" fn follow(start: *mut c_void) -> i32 {
    // SAFETY: it is the start of `launch`, which waits.
    let start = unsafe { &mut *start.cast::<Start<'_>>() };
    for (index, order) in start.orders.iter().enumerate() {
        let result = match order {
            // SAFETY: the recipe's memory outlives the process's use of it.
            Order::Call(call) => unsafe {
                let [a, b, c, d, e, f] = call.arguments;
                libc::syscall(call.number, a, b, c, d, e, f)
            },
            // SAFETY: numbers only.
            Order::Socket => unsafe { libc::syscall(libc::SYS_dup3, start.socket, SOCKET, 0) },
            // SAFETY: likewise.
            Order::Log => unsafe {
                libc::syscall(libc::SYS_dup3, start.log, libc::STDERR_FILENO, 0)
            },
        };
        if result < 0 {
            // SAFETY: this thread's own errno.
            start.failed = Some((index, unsafe { *libc::__errno_location() }));
            break;
        }
    }
    // SAFETY: ends this process without the host's exit handlers.
    unsafe { libc::_exit(127) }
}
