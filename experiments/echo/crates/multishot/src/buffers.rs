//! The ring of buffers from which the kernel takes one for each receive.

use std::io;
use std::ptr::{NonNull, null_mut};
use std::sync::atomic::{AtomicU16, Ordering};

use anyhow::{Context, Result};
use clap::Args;
use io_uring::IoUring;
use io_uring::types::BufRingEntry;
use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous, munmap};

/// Its number among the groups of buffers.
pub const GROUP: u16 = 0;

/// Buffers in use at first. They are used in turns, so that all of them should fit into the cache.
const FIRST: u16 = 16;
/// Between buffers, so that their beginnings do not share the same few sets of the cache.
const APART: usize = 64;

/// The number of buffers and their size.
#[derive(Args, Clone, Debug)]
pub struct Pool {
    /// Buffers of each thread at most, a power of two: 16 at first, and twice as many whenever
    /// they did not suffice.
    #[arg(long, value_name = "COUNT", default_value_t = 1024, value_parser = power_of_two)]
    buffers: u16,
    /// Bytes of a buffer.
    #[arg(long, value_name = "BYTES", default_value_t = 16 << 10,
          value_parser = clap::value_parser!(u32).range(64..=1 << 20))]
    buffer_bytes: u32,
}

fn power_of_two(text: &str) -> Result<u16, String> {
    let count: u16 = text.parse().map_err(|error| format!("{error}"))?;
    let fits = count.is_power_of_two() && count <= 1 << 15;
    if fits {
        Ok(count)
    } else {
        Err("expected a power of two, at most 32768".into())
    }
}

/// Memory of the ring's entries, and behind it of the buffers themselves.
#[derive(Debug)]
pub struct Buffers {
    entries: NonNull<BufRingEntry>,
    mapped: usize,
    count: u16,
    bytes: u32,
    tail: u16,
    /// Buffers in use: those with the lowest numbers.
    used: u16,
}

impl Buffers {
    /// Map the memory and gives the first buffers to the kernel.
    pub fn register(ring: &IoUring, pool: &Pool) -> Result<Self> {
        let (count, bytes) = (pool.buffers, pool.buffer_bytes);
        let mapped = Self::offset(count) + usize::from(count) * Self::stride(bytes);
        // SAFETY: a new mapping of its own; nothing else lies there.
        let start = unsafe {
            let protection = ProtFlags::READ | ProtFlags::WRITE;
            mmap_anonymous(null_mut(), mapped, protection, MapFlags::PRIVATE)
        };
        let entries = NonNull::new(start.context("memory for buffers")?.cast()).expect("mapped");
        let mut made = Self {
            entries,
            mapped,
            count,
            bytes,
            tail: 0,
            used: 0,
        };
        // SAFETY: the entries stay mapped for as long as the ring lives, which is dropped first.
        unsafe {
            ring.submitter()
                .register_buf_ring_with_flags(entries.as_ptr() as u64, count, GROUP, 0)
                .context("the kernel has no provided buffer rings; it must be 5.19 or newer")?;
        }
        made.more();
        Ok(made)
    }

    /// Put more of them to use, as long as there are more.
    pub fn more(&mut self) {
        let (from, to) = (
            self.used,
            (self.used * 2).clamp(FIRST.min(self.count), self.count),
        );
        self.used = to;
        (from..to).for_each(|each| self.give_back(each));
    }

    /// The first byte of a buffer.
    pub fn start(&self, buffer: u16) -> *const u8 {
        assert!(buffer < self.count);
        // SAFETY: within the mapping, by the assertion.
        unsafe {
            let all = self
                .entries
                .as_ptr()
                .cast::<u8>()
                .add(Self::offset(self.count));
            all.add(usize::from(buffer) * Self::stride(self.bytes))
        }
    }

    /// Bytes of a buffer that the kernel has filled and does not have.
    pub fn filled(&self, buffer: u16, from: usize, to: usize) -> &[u8] {
        assert!(from <= to && to <= self.bytes as usize);
        // SAFETY: initialised (the mapping was zero), within the buffer, and not the kernel's now.
        unsafe { std::slice::from_raw_parts(self.start(buffer).add(from), to - from) }
    }

    /// The kernel may fill it again.
    pub fn give_back(&mut self, buffer: u16) {
        let address = self.start(buffer) as u64;
        let slot = usize::from(self.tail & (self.count - 1));
        // SAFETY: the slot is within the ring, and the kernel looks at it only up to the tail, which
        // is published after it.
        unsafe {
            let entry = &mut *self.entries.as_ptr().add(slot);
            entry.set_addr(address);
            entry.set_len(self.bytes);
            entry.set_bid(buffer);
            self.tail = self.tail.wrapping_add(1);
            let tail = BufRingEntry::tail(self.entries.as_ptr()).cast_mut();
            AtomicU16::from_ptr(tail).store(self.tail, Ordering::Release);
        }
    }

    fn stride(bytes: u32) -> usize {
        bytes as usize + APART
    }

    fn offset(count: u16) -> usize {
        (usize::from(count) * size_of::<BufRingEntry>())
            .next_multiple_of(rustix::param::page_size())
    }
}

impl Drop for Buffers {
    fn drop(&mut self) {
        // SAFETY: the ring that was told of it is gone, and nobody else has a pointer.
        let unmapped = unsafe { munmap(self.entries.as_ptr().cast(), self.mapped) };
        debug_assert!(unmapped.is_ok(), "{}", io::Error::last_os_error());
    }
}

#[cfg(test)]
mod tests {
    use super::power_of_two;

    #[test]
    fn a_ring_has_a_power_of_two_of_buffers() {
        assert_eq!(power_of_two("1"), Ok(1));
        assert_eq!(power_of_two("32768"), Ok(32768));
        for bad in ["0", "3", "65536", "-1", "many", ""] {
            assert!(power_of_two(bad).is_err(), "{bad:?}");
        }
    }
}
