//! The system calls that a guest is served: its memory, its socket, time, and what a C library asks
//! about itself. It has one thread, one process, no file, and no signal handler is ever run. All else
//! is refused as the filters of the other modes refuse it.

mod memory;
mod own;
mod socket;
#[cfg(test)]
mod tests;
mod time;

use super::areas::PAGE;
use super::line::{Line, Stopped};
use super::memory::{LOWEST, Memory};
use super::wire::End;

/// Its socket's number.
pub const SOCKET: u64 = 3;
/// Its user, who is nobody.
pub const USER: u64 = 65_534;

/// A call as the guest's registers have it.
#[derive(Clone, Copy, Debug)]
pub struct Call {
    /// Its number.
    pub number: u64,
    /// Its arguments.
    pub arguments: [u64; 6],
}

/// What is to happen next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Then {
    /// The guest goes on, with this result.
    Return(u64),
    /// The run is over.
    End(End),
    /// The guest wants its request, after it has said this: the moment to keep, before the same call
    /// is served.
    Listen(Vec<u8>),
}

/// What the guest's system calls change, besides its memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Own {
    /// Where memory by `brk` begins, and where it ends now.
    pub breaks: (u64, u64),
    /// Where other memory ends: below the stack.
    pub top: u64,
    /// The base of FS, by which it finds what is its thread's, and that of GS.
    pub bases: [u64; 2],
}

/// A guest without its processor.
pub struct Guest {
    /// Its memory.
    pub memory: Memory,
    /// What else is its own.
    pub own: Own,
}

/// Why a call does not return a number: an error of the guest's, or the end of its run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Instead {
    Error(i32),
    End(End),
}

type Answer = Result<u64, Instead>;

impl From<Stopped> for Instead {
    fn from(_: Stopped) -> Self {
        Instead::End(End::Stopped)
    }
}

fn error(number: i32) -> Answer {
    Err(Instead::Error(number))
}

/// Serves a call.
pub fn serve(call: &Call, guest: &mut Guest, line: &mut Line<'_>) -> Then {
    if let (false, Some(said)) = (guest.memory.is_frozen(), line.greeting())
        && socket::wants_input(call, guest)
    {
        return Then::Listen(said.to_vec());
    }
    match answer(call, guest, line) {
        Ok(value) => Then::Return(value),
        Err(Instead::Error(number)) => Then::Return(i64::from(-number) as u64),
        Err(Instead::End(end)) => Then::End(end),
    }
}

fn answer(call: &Call, guest: &mut Guest, line: &mut Line<'_>) -> Answer {
    let [a, b, c, d, e, _] = call.arguments;
    match call.number as i64 {
        libc::SYS_read => socket::read(guest, line, [a, b, c], 0),
        libc::SYS_write => socket::write(guest, line, [a, b, c], 0),
        libc::SYS_readv => socket::each_part(guest, line, [a, b, c], socket::READ),
        libc::SYS_writev => socket::each_part(guest, line, [a, b, c], socket::WRITE),
        libc::SYS_recvfrom => socket::read(guest, line, [a, b, c], d),
        libc::SYS_sendto if e == 0 => socket::write(guest, line, [a, b, c], d),
        libc::SYS_close => socket::close(line, a),
        libc::SYS_shutdown => socket::shutdown(line, a, b),
        libc::SYS_poll => socket::poll(guest, line, a, b, time::milliseconds(c)),
        libc::SYS_ppoll => {
            let until = time::optional(guest, c)?;
            socket::poll(guest, line, a, b, until)
        }
        libc::SYS_fstat => socket::status(guest, line, a, b),
        libc::SYS_newfstatat if d & libc::AT_EMPTY_PATH as u64 != 0 => {
            socket::status(guest, line, a, c)
        }
        libc::SYS_fcntl => socket::control(line, a, b, c),
        libc::SYS_ioctl => socket::is_open(line, a).and(error(libc::ENOTTY)),
        libc::SYS_lseek => socket::is_open(line, a).and(error(libc::ESPIPE)),

        libc::SYS_mmap => memory::map(guest, call.arguments),
        libc::SYS_munmap => memory::unmap(guest, a, b),
        libc::SYS_mprotect => memory::protect(guest, a, b, c),
        libc::SYS_mremap => memory::remap(guest, a, b, c, d),
        libc::SYS_madvise => memory::advise(guest, a, b, c),
        libc::SYS_brk => Ok(memory::grow(guest, a)),

        libc::SYS_clock_gettime => time::now(guest, a, b),
        libc::SYS_clock_getres => time::resolution(guest, b),
        libc::SYS_gettimeofday => time::of_day(guest, a),
        libc::SYS_time => time::seconds(guest, a),
        libc::SYS_nanosleep => time::sleep(guest, line, None, a),
        libc::SYS_clock_nanosleep if b & 1 == 0 => time::sleep(guest, line, None, c),
        libc::SYS_clock_nanosleep => time::sleep(guest, line, Some(a), c),
        libc::SYS_futex => time::futex(guest, line, call.arguments),
        libc::SYS_pause | libc::SYS_rt_sigsuspend => time::forever(line),

        libc::SYS_exit | libc::SYS_exit_group => Err(Instead::End(End::Exited((a & 0xff) as i32))),
        libc::SYS_kill | libc::SYS_tkill => own::signal(a, b),
        libc::SYS_tgkill => own::signal(b, c),
        libc::SYS_rt_sigaction => own::old_state(guest, c, &[0; 32]),
        libc::SYS_rt_sigprocmask => own::old_state(guest, c, &[0; 8]),
        libc::SYS_sigaltstack => own::old_state(guest, b, &own::NO_STACK),
        libc::SYS_arch_prctl => own::base(guest, a, b),
        libc::SYS_prctl => own::option(a),
        libc::SYS_prlimit64 => own::limit(guest, b, c, d),
        libc::SYS_getrandom => own::random(guest, a, b),
        libc::SYS_uname => own::name(guest, a),
        libc::SYS_sched_getaffinity => own::processors(guest, b, c),
        libc::SYS_wait4 | libc::SYS_waitid => error(libc::ECHILD),
        libc::SYS_sched_yield | libc::SYS_set_robust_list => Ok(0),
        libc::SYS_getpid | libc::SYS_gettid | libc::SYS_set_tid_address => Ok(own::PROCESS),
        libc::SYS_getppid => Ok(0),
        libc::SYS_getuid | libc::SYS_geteuid | libc::SYS_getgid | libc::SYS_getegid => Ok(USER),
        // As on an older kernel, so that libraries fall back on what is served, or do without.
        libc::SYS_clone3 | libc::SYS_rseq | libc::SYS_membarrier => error(libc::ENOSYS),
        _ => error(libc::EPERM),
    }
}

impl Guest {
    /// Where a buffer of the guest's lies in this process.
    fn buffer(&self, at: u64, length: u64, write: bool) -> Result<*mut u8, Instead> {
        if length == 0 {
            return Ok(std::ptr::NonNull::dangling().as_ptr());
        }
        if let Some(found) = self.memory.find(at, length, write) {
            return Ok(found);
        }
        Err(if self.lacks_memory(at) {
            Instead::End(End::Memory)
        } else {
            Instead::Error(libc::EFAULT)
        })
    }

    /// Whether the guest has mapped `at`, but there is no memory for it.
    pub fn lacks_memory(&self, at: u64) -> bool {
        let at = at / PAGE * PAGE;
        !self.memory.backs(at) && at < u64::MAX - PAGE && !self.memory.areas.none(at..at + PAGE)
    }

    fn get<const N: usize>(&self, at: u64) -> Result<[u8; N], Instead> {
        self.buffer(at, N as u64, false)?;
        self.memory.read(at).ok_or(Instead::Error(libc::EFAULT))
    }

    /// Writes a result, unless the guest wants none.
    fn give(&mut self, at: u64, bytes: &[u8]) -> Answer {
        if at == 0 {
            return Ok(0);
        }
        self.buffer(at, bytes.len() as u64, true)?;
        if self.memory.write(at, bytes) {
            Ok(0)
        } else {
            error(libc::EFAULT)
        }
    }

    /// Where what `mmap` places must not reach below: some room for `brk` is left.
    fn bottom(&self) -> u64 {
        const ROOM: u64 = 1 << 20;
        (self.own.breaks.1 + ROOM)
            .next_multiple_of(PAGE)
            .max(LOWEST)
    }
}
