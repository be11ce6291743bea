//! Clocks, sleep, and waiting for what never comes.

use std::time::{Duration, Instant};

use rustix::event::PollFlags;

use super::guest::{Answer, Guest, Instead, error};
use crate::modes::kvm::channel::Channel;

/// A deadline, if any.
pub type Until = Option<Instant>;

/// From `poll`'s milliseconds, for ever if negative.
pub fn milliseconds(count: u64) -> Until {
    let count = u64::try_from(count as u32 as i32).ok()?;
    Some(Instant::now() + Duration::from_millis(count))
}

/// A duration of the guest's, unless there is none (address 0).
pub fn optional(guest: &Guest, at: u64) -> Result<Until, Instead> {
    if at == 0 {
        return Ok(None);
    }
    Ok(after(duration(guest, at)?))
}

/// For ever, if it is too long for this clock.
fn after(duration: Duration) -> Until {
    Instant::now().checked_add(duration)
}

fn duration(guest: &Guest, at: u64) -> Result<Duration, Instead> {
    let bytes: [u8; 16] = guest.get(at)?;
    let word = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap_or_default());
    match (i64::try_from(word(0)), word(8)) {
        (Ok(seconds), nanoseconds @ 0..1_000_000_000) => {
            Ok(Duration::new(seconds as u64, nanoseconds as u32))
        }
        _ => Err(Instead::Error(libc::EINVAL)),
    }
}

/// CPU time of this process, which is one for all its guest's runs.
pub fn cpu() -> Duration {
    read(libc::CLOCK_PROCESS_CPUTIME_ID).unwrap_or_default()
}

fn clock(guest: &Guest, number: u64) -> Result<Duration, Instead> {
    // Clocks of other processes and of devices have other numbers.
    if number > libc::CLOCK_BOOTTIME as u64 {
        return Err(Instead::Error(libc::EINVAL));
    }
    let own = [
        libc::CLOCK_PROCESS_CPUTIME_ID,
        libc::CLOCK_THREAD_CPUTIME_ID,
    ];
    if own.contains(&(number as i32)) {
        return Ok(cpu().saturating_sub(guest.own.cpu_since));
    }
    read(number as i32).ok_or(Instead::Error(libc::EINVAL))
}

fn read(number: i32) -> Option<Duration> {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: the kernel fills it in.
    let done = unsafe { libc::clock_gettime(number, &raw mut time) };
    (done == 0).then(|| Duration::new(time.tv_sec as u64, time.tv_nsec as u32))
}

fn words(first: u64, second: u64) -> [u8; 16] {
    let mut bytes = [0; 16];
    bytes[..8].copy_from_slice(&first.to_le_bytes());
    bytes[8..].copy_from_slice(&second.to_le_bytes());
    bytes
}

/// `clock_gettime`.
pub fn now(guest: &mut Guest, number: u64, at: u64) -> Answer {
    let time = clock(guest, number)?;
    guest.give(at, &words(time.as_secs(), time.subsec_nanos().into()))
}

/// `clock_getres`.
pub fn resolution(guest: &mut Guest, at: u64) -> Answer {
    guest.give(at, &words(0, 1))
}

/// `gettimeofday`.
pub fn of_day(guest: &mut Guest, at: u64) -> Answer {
    let time = clock(guest, libc::CLOCK_REALTIME as u64)?;
    guest.give(at, &words(time.as_secs(), time.subsec_micros().into()))
}

/// `time`.
pub fn seconds(guest: &mut Guest, at: u64) -> Answer {
    let time = clock(guest, libc::CLOCK_REALTIME as u64)?.as_secs();
    guest.give(at, &time.to_le_bytes())?;
    Ok(time)
}

/// `nanosleep`, or until a clock has the time at `at`.
pub fn sleep(guest: &Guest, channel: &Channel<'_>, until_clock: Option<u64>, at: u64) -> Answer {
    let mut time = duration(guest, at)?;
    if let Some(number) = until_clock {
        time = time.saturating_sub(clock(guest, number)?);
    }
    channel.wait(PollFlags::empty(), after(time))?;
    Ok(0)
}

/// Until the run is stopped.
pub fn forever(channel: &Channel<'_>) -> Answer {
    channel.wait(PollFlags::empty(), None)?;
    error(libc::EINTR)
}

/// `futex`: nobody else is there who could wake or be woken.
pub fn futex(
    guest: &Guest,
    channel: &Channel<'_>,
    [at, operation, value, timeout, ..]: [u64; 6],
) -> Answer {
    const FLAGS: i32 = libc::FUTEX_PRIVATE_FLAG | libc::FUTEX_CLOCK_REALTIME;
    let until_clock = match operation as i32 & !FLAGS {
        libc::FUTEX_WAKE | libc::FUTEX_WAKE_BITSET => return Ok(0),
        libc::FUTEX_WAIT => None,
        libc::FUTEX_WAIT_BITSET if operation as i32 & libc::FUTEX_CLOCK_REALTIME != 0 => {
            Some(libc::CLOCK_REALTIME as u64)
        }
        libc::FUTEX_WAIT_BITSET => Some(libc::CLOCK_MONOTONIC as u64),
        _ => return error(libc::ENOSYS),
    };
    if u32::from_le_bytes(guest.get(at)?) != value as u32 {
        return error(libc::EAGAIN);
    }
    if timeout == 0 {
        return forever(channel);
    }
    sleep(guest, channel, until_clock, timeout)?;
    error(libc::ETIMEDOUT)
}
