//! The memory that maps lie in.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::ptr;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};

/// The header of memory with maps.
#[repr(C)]
pub(super) struct Header {
    /// True if the maps are made.
    pub(super) ready: AtomicU64,
    /// The fingerprint of their declarations.
    pub(super) declarations: AtomicU64,
}

/// The bytes of a mapping that are looked at before they are used.
pub const POPULATED: usize = 256 << 20;
/// Bytes of the smallest page.
const PAGE: usize = 4096;

/// A shared mapping, unmapped when dropped.
#[derive(Debug)]
pub struct Memory {
    base: *mut u8,
    len: usize,
}

// SAFETY: the mapping belongs to the process; what is in it is atomic or guarded by locks in it.
unsafe impl Send for Memory {}
// SAFETY: as above.
unsafe impl Sync for Memory {}

impl Memory {
    /// `len` zeroed bytes, shared with processes that are forked later.
    pub fn anonymous(len: usize) -> io::Result<Self> {
        Self::map(len, libc::MAP_SHARED | libc::MAP_ANONYMOUS, -1, 0)
    }

    /// `len` bytes of `file` from `offset` on, a multiple of the page size, shared with who else maps
    /// them. The file has as many, and keeps them.
    pub fn of(file: BorrowedFd<'_>, offset: u64, len: usize) -> io::Result<Self> {
        Self::map(len, libc::MAP_SHARED, file.as_raw_fd(), offset)
    }

    fn map(len: usize, flags: i32, fd: i32, offset: u64) -> io::Result<Self> {
        // SAFETY: a new mapping, at an address that the kernel chooses.
        let base = unsafe {
            let access = libc::PROT_READ | libc::PROT_WRITE;
            libc::mmap(
                ptr::null_mut(),
                len,
                access,
                flags,
                fd,
                offset as libc::off_t,
            )
        };
        if base == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let memory = Self {
            base: base.cast(),
            len,
        };
        memory.populate();
        Ok(memory)
    }

    /// Look at each page of the first [`POPULATED`] bytes, so that none is missing when it is used: the kernel has this
    /// process wait for every page that it has not looked at. A child has looked at none.
    pub(super) fn populate(&self) {
        for offset in (0..self.len.min(POPULATED)).step_by(PAGE) {
            // SAFETY: inside the mapping, where others change bytes atomically or under locks; nothing is done with
            // this one.
            let byte = unsafe { AtomicU8::from_ptr(self.base.add(offset)) };
            byte.load(Ordering::Relaxed);
        }
    }

    pub(super) fn base(&self) -> *mut u8 {
        self.base
    }

    pub(super) fn len(&self) -> usize {
        self.len
    }

    pub(super) fn header(&self) -> &Header {
        // SAFETY: maps are placed only in memory with room for this, which is used as nothing else.
        unsafe { &*self.base.cast() }
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        // SAFETY: mapped by `map` with this length; nothing outlives the maps that own it.
        unsafe { libc::munmap(self.base.cast(), self.len) };
    }
}
