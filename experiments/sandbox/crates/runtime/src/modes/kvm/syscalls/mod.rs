//! The system calls that a guest is served: its memory, its socket, time, and what a C library asks
//! about itself. It has one thread, one process, no file, and no signal handler is ever run. All else
//! is refused as the filters of the other modes refuse it.

mod guest;
mod memory;
mod own;
mod socket;
#[cfg(test)]
mod tests;
mod time;

use self::guest::{Answer, Instead, error};
use super::channel::Channel;
use super::wire::End;

pub use self::guest::{Call, Guest, Own, SOCKET};
pub use self::time::cpu;

/// Its user, who is nobody.
pub const USER: u64 = 65_534;

/// The next step after a system call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Then {
    /// The guest goes on, with this result.
    Return(u64),
    /// The run is over.
    End(End),
    /// The guest wants its request, after it has sent this: the moment to keep, before the same call
    /// is served.
    Listen(Vec<u8>),
}

/// Serve a call.
pub fn serve(call: &Call, guest: &mut Guest, channel: &mut Channel<'_>) -> Then {
    if let (false, Some(sent)) = (guest.memory.is_frozen(), channel.greeting())
        && socket::wants_input(call, guest)
    {
        return Then::Listen(sent.to_vec());
    }
    match answer(call, guest, channel) {
        Ok(value) => Then::Return(value),
        Err(Instead::Error(number)) => Then::Return(i64::from(-number) as u64),
        Err(Instead::End(end)) => Then::End(end),
    }
}

fn answer(call: &Call, guest: &mut Guest, channel: &mut Channel<'_>) -> Answer {
    let [a, b, c, d, e, _] = call.arguments;
    match call.number as i64 {
        libc::SYS_read => socket::read(guest, channel, [a, b, c], 0),
        libc::SYS_write => socket::write(guest, channel, [a, b, c], 0),
        libc::SYS_readv => socket::each_part(guest, channel, [a, b, c], socket::READ),
        libc::SYS_writev => socket::each_part(guest, channel, [a, b, c], socket::WRITE),
        libc::SYS_recvfrom => socket::read(guest, channel, [a, b, c], d),
        libc::SYS_sendto if e == 0 => socket::write(guest, channel, [a, b, c], d),
        libc::SYS_close => socket::close(channel, a),
        libc::SYS_shutdown => socket::shutdown(channel, a, b),
        libc::SYS_poll => socket::poll(guest, channel, a, b, time::milliseconds(c)),
        libc::SYS_ppoll => {
            let until = time::optional(guest, c)?;
            socket::poll(guest, channel, a, b, until)
        }
        libc::SYS_fstat => socket::status(guest, channel, a, b),
        libc::SYS_newfstatat if d & libc::AT_EMPTY_PATH as u64 != 0 => {
            socket::status(guest, channel, a, c)
        }
        libc::SYS_fcntl => socket::control(channel, a, b, c),
        libc::SYS_ioctl => socket::is_open(channel, a).and(error(libc::ENOTTY)),
        libc::SYS_lseek => socket::is_open(channel, a).and(error(libc::ESPIPE)),

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
        libc::SYS_nanosleep => time::sleep(guest, channel, None, a),
        libc::SYS_clock_nanosleep if b & 1 == 0 => time::sleep(guest, channel, None, c),
        libc::SYS_clock_nanosleep => time::sleep(guest, channel, Some(a), c),
        libc::SYS_futex => time::futex(guest, channel, call.arguments),
        libc::SYS_pause | libc::SYS_rt_sigsuspend => time::forever(channel),

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
