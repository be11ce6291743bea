//! Writes what programs trace to standard error, nginx's log: without a wait, without a panic, a few
//! lines each second.

use std::sync::atomic::{AtomicU64, Ordering};

/// The most lines that a process writes in a second.
const LINES: u64 = 20;
/// The longest text of a line, in bytes.
const LONGEST: usize = 256;
const START: &[u8] = b"ebpf: ";

/// Write a text as a line, unless there were too many or nobody can take it now.
pub fn line(text: &[u8]) {
    static LIMIT: Limit = Limit(AtomicU64::new(0));
    let Some(left_out) = LIMIT.admit(seconds()) else {
        return;
    };
    if left_out > 0 {
        write(format!("{left_out} lines left out, of more than {LINES} in a second").as_bytes());
    }
    write(text);
}

/// The lines of a second: the second in the upper half, their number in the lower.
struct Limit(AtomicU64);

impl Limit {
    /// Count a line. Return `None` if it is one too many, otherwise how many were in an earlier second.
    fn admit(&self, second: u64) -> Option<u64> {
        const COUNT: u64 = u32::MAX as u64;
        let count = |state: u64| {
            let same = state >> 32 == second & COUNT;
            Some(if same {
                state + u64::from(state & COUNT < COUNT)
            } else {
                second << 32 | 1
            })
        };
        let relaxed = Ordering::Relaxed;
        let before = self
            .0
            .fetch_update(relaxed, relaxed, count)
            .unwrap_or_else(|state| state);
        if before >> 32 != second & COUNT {
            return Some((before & COUNT).saturating_sub(LINES));
        }
        (before & COUNT < LINES).then_some(0)
    }
}

fn seconds() -> u64 {
    let mut now = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: fills the structure; this clock is always there.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC_COARSE, &mut now) };
    now.tv_sec as u64
}

fn write(text: &[u8]) {
    let mut line = [0; START.len() + LONGEST + 1];
    let text = &text[..text.len().min(LONGEST)];
    line[..START.len()].copy_from_slice(START);
    for (to, byte) in line[START.len()..].iter_mut().zip(text) {
        // No second line that looks like nginx's own.
        *to = if byte.is_ascii_control() { b'?' } else { *byte };
    }
    let length = START.len() + text.len() + 1;
    line[length - 1] = b'\n';
    let mut ready = libc::pollfd {
        fd: libc::STDERR_FILENO,
        events: libc::POLLOUT,
        revents: 0,
    };
    // SAFETY: one structure, and as many bytes as there are. A pipe that is ready has room for a page.
    unsafe {
        if libc::poll(&mut ready, 1, 0) == 1 && ready.revents == libc::POLLOUT {
            libc::write(libc::STDERR_FILENO, line.as_ptr().cast(), length);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_has_so_many_lines_and_the_next_tells_how_many_were_left_out() {
        let limit = Limit(AtomicU64::new(0));
        let admitted = |second| {
            (0..50)
                .filter_map(|_| limit.admit(second))
                .collect::<Vec<_>>()
        };
        assert_eq!(admitted(7), [0; LINES as usize]);
        let mut next = [0; LINES as usize];
        next[0] = 50 - LINES;
        assert_eq!(admitted(8), next);
        assert_eq!(limit.admit(1 << 32 | 9), Some(50 - LINES));
        assert_eq!(limit.admit(9), Some(0));
    }
}
