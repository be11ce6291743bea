//! System calls on the guest's four open files: its socket, and 0, 1 and 2, which lead nowhere.

use std::os::fd::RawFd;

use rustix::event::PollFlags;

use super::guest::{Answer, Call, Guest, Instead, SOCKET, error};
use super::time::Until;
use crate::modes::kvm::channel::Channel;

/// Parts of one `readv` or `writev`, and entries of one `poll`; Linux's own most for parts.
const PARTS_MAX: u64 = 1024;
const POLLED_MAX: u64 = 64;
/// The most that one call reads or writes, Linux's own.
const BYTES_MAX: u64 = 0x7fff_f000;
const STANDARD: std::ops::Range<u64> = 0..3;

/// Return true if the guest asks for something that the socket may not have yet.
pub fn wants_input(call: &Call, guest: &Guest) -> bool {
    let [a, b, ..] = call.arguments;
    match call.number as i64 {
        libc::SYS_read | libc::SYS_readv | libc::SYS_recvfrom => a == SOCKET,
        libc::SYS_poll | libc::SYS_ppoll => (0..b.min(POLLED_MAX))
            .filter_map(|index| guest.memory.read::<4>(a.wrapping_add(8 * index)))
            .any(|number| u64::from(u32::from_le_bytes(number)) == SOCKET),
        _ => false,
    }
}

/// Return true if `number` is open.
pub fn is_open(channel: &Channel<'_>, number: u64) -> Answer {
    if STANDARD.contains(&number) || number == SOCKET && channel.raw().is_some() {
        Ok(0)
    } else {
        error(libc::EBADF)
    }
}

/// The socket behind `number`, which is open, or nothing.
fn behind(channel: &Channel<'_>, number: u64) -> Result<Option<RawFd>, Instead> {
    is_open(channel, number)?;
    Ok(channel.raw().filter(|_| number == SOCKET))
}

/// `read`, and `recv` with its flags.
pub fn read(
    guest: &mut Guest,
    channel: &mut Channel<'_>,
    [number, at, length]: [u64; 3],
    flags: u64,
) -> Answer {
    let length = length.min(BYTES_MAX);
    let Some(socket) = behind(channel, number)? else {
        return Ok(0);
    };
    let into = guest.buffer(at, length, true)?;
    let kept = flags as i32 & libc::MSG_PEEK;
    loop {
        // SAFETY: the guest's buffer lies there, which `buffer` has checked, and it does not run.
        let count = unsafe {
            libc::recv(
                socket,
                into.cast(),
                length as usize,
                kept | libc::MSG_DONTWAIT,
            )
        };
        match outcome(count) {
            Err(libc::EINTR) => channel.check()?,
            Err(libc::EAGAIN) if flags as i32 & libc::MSG_DONTWAIT == 0 => {
                channel.wait(PollFlags::IN, None)?;
            }
            Err(number) => return error(number),
            Ok(count) => return Ok(count),
        }
    }
}

/// `write`, and `send` with its flags. All is written, unless it must not wait.
pub fn write(
    guest: &mut Guest,
    channel: &mut Channel<'_>,
    [number, at, length]: [u64; 3],
    flags: u64,
) -> Answer {
    let length = length.min(BYTES_MAX);
    let Some(socket) = behind(channel, number)? else {
        return Ok(length);
    };
    let from = guest.buffer(at, length, false)?;
    let mut written = 0;
    loop {
        let left = (length - written) as usize;
        let quiet = libc::MSG_NOSIGNAL | libc::MSG_DONTWAIT;
        // SAFETY: as above; `written` is at most `length`.
        let count = unsafe { libc::send(socket, from.add(written as usize).cast(), left, quiet) };
        match outcome(count) {
            Err(libc::EINTR) => channel.check()?,
            Err(libc::EAGAIN) if flags as i32 & libc::MSG_DONTWAIT == 0 => {
                channel.wait(PollFlags::OUT, None)?;
            }
            Err(number) if written == 0 => return error(number),
            Err(_) => return Ok(written),
            Ok(count) => {
                if !guest.memory.is_frozen() {
                    // SAFETY: as above.
                    channel.note_sent(unsafe {
                        std::slice::from_raw_parts(from.add(written as usize), count as usize)
                    });
                }
                written += count;
                if written == length {
                    return Ok(written);
                }
            }
        }
    }
}

fn outcome(result: isize) -> Result<u64, i32> {
    u64::try_from(result).map_err(|_| {
        std::io::Error::last_os_error()
            .raw_os_error()
            .unwrap_or(libc::EIO)
    })
}

/// `readv` (`read`) and `writev` (`write`) with the flags that all parts after the first have.
pub type Transfer = (
    fn(&mut Guest, &mut Channel<'_>, [u64; 3], u64) -> Answer,
    i32,
);

/// Reads without waiting for more than the first bytes.
pub const READ: Transfer = (read, libc::MSG_DONTWAIT);
/// Writing goes on until all is written.
pub const WRITE: Transfer = (write, 0);

/// Does something for each part, until one fails.
pub fn each_part(
    guest: &mut Guest,
    channel: &mut Channel<'_>,
    [number, at, count]: [u64; 3],
    (each, rest): Transfer,
) -> Answer {
    if count > PARTS_MAX {
        return error(libc::EINVAL);
    }
    let mut done = 0;
    let mut flags = 0;
    for index in 0..count {
        let part: [u8; 16] = guest.get(at.wrapping_add(16 * index))?;
        let word = |at: usize| u64::from_le_bytes(part[at..at + 8].try_into().unwrap_or_default());
        let (from, length) = (word(0), word(8));
        if length == 0 {
            continue;
        }
        match each(guest, channel, [number, from, length], flags) {
            Ok(count) => done += count,
            Err(Instead::Error(_)) if done > 0 => break,
            Err(other) => return Err(other),
        }
        flags = rest as u64;
    }
    Ok(done)
}

/// `close`.
pub fn close(channel: &mut Channel<'_>, number: u64) -> Answer {
    is_open(channel, number)?;
    if number == SOCKET {
        channel.close();
    }
    Ok(0)
}

/// `shutdown`.
pub fn shutdown(channel: &Channel<'_>, number: u64, how: u64) -> Answer {
    let Some(socket) = behind(channel, number)? else {
        return error(libc::ENOTSOCK);
    };
    // SAFETY: numbers only.
    let done = unsafe { libc::shutdown(socket, how as i32) };
    outcome(done as isize).map_err(Instead::Error)
}

/// `poll`.
pub fn poll(guest: &mut Guest, channel: &Channel<'_>, at: u64, count: u64, until: Until) -> Answer {
    if count > POLLED_MAX {
        return error(libc::EINVAL);
    }
    loop {
        let (mut ready, mut wanted) = (0, PollFlags::empty());
        for index in 0..count {
            let place = at.wrapping_add(8 * index);
            let entry: [u8; 8] = guest.get(place)?;
            let number = i32::from_le_bytes([entry[0], entry[1], entry[2], entry[3]]);
            let asked = PollFlags::from_bits_truncate(u16::from_le_bytes([entry[4], entry[5]]));
            let found = match u64::try_from(number) {
                Err(_) => PollFlags::empty(),
                Ok(SOCKET) => {
                    wanted |= asked;
                    channel.ready(asked)
                }
                Ok(number) if STANDARD.contains(&number) => {
                    asked & (PollFlags::IN | PollFlags::OUT)
                }
                Ok(_) => PollFlags::NVAL,
            };
            ready += u64::from(!found.is_empty());
            guest.give(place.wrapping_add(6), &found.bits().to_le_bytes())?;
        }
        if ready > 0 || !channel.wait(wanted, until)? {
            return Ok(ready);
        }
    }
}

/// `fstat`: of `struct stat` only what kind of file it is.
pub fn status(guest: &mut Guest, channel: &Channel<'_>, number: u64, at: u64) -> Answer {
    const LENGTH: usize = size_of::<libc::stat>();
    const MODE: usize = std::mem::offset_of!(libc::stat, st_mode);
    is_open(channel, number)?;
    let mode = if number == SOCKET {
        libc::S_IFSOCK | 0o777
    } else {
        libc::S_IFCHR | 0o666
    };
    let mut status = [0; LENGTH];
    status[MODE..MODE + 4].copy_from_slice(&mode.to_le_bytes());
    guest.give(at, &status)
}

/// `fcntl`.
pub fn control(channel: &Channel<'_>, number: u64, command: u64, value: u64) -> Answer {
    is_open(channel, number)?;
    match command as i32 {
        libc::F_GETFD | libc::F_SETFD => Ok(0),
        libc::F_GETFL => Ok(libc::O_RDWR as u64),
        libc::F_SETFL if value as i32 & libc::O_NONBLOCK == 0 => Ok(0),
        _ => error(libc::EINVAL),
    }
}
