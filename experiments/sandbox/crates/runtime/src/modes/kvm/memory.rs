//! A guest's memory. Its addresses from 0 to the *window* are the same numbers before and behind its
//! page tables, so that neither the processor nor this process can hold a translation that is out of
//! date; the tables, which lie behind the window where the guest has no address for them, say only
//! what is allowed. A larger mapping gets addresses beyond the window, with nothing behind them.

use std::io;
use std::ops::Range;
use std::os::fd::{AsFd, OwnedFd};

use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap_anonymous, munmap};

use super::areas::{Access, Areas};
use super::snapshot::Snapshot;
use super::tables::{TABLE, Tables};

/// The lowest address that is ever mapped, so that null pointers fault.
pub const LOWEST: u64 = 0x1_0000;
/// The first address without memory.
const BEYOND: u64 = 1 << 39;
const BEYOND_END: u64 = 1 << 46;
/// Bytes from which a mapping is expected to be used whole, and the part of the window that is made
/// ready for such ones during a run.
const EXPECTED: u64 = 128 << 10;
const AHEAD: u64 = 32;

/// A guest's memory, its page tables, and the table of what is mapped.
pub struct Memory {
    base: *mut u8,
    window: u64,
    tables: Tables,
    /// The mapped areas.
    pub areas: Areas,
    snapshot: Option<Snapshot>,
    pagemap: OwnedFd,
    /// Something that the snapshot maps has been mapped otherwise since.
    reshaped: bool,
    /// The ranges in which the kernel may use large pages now.
    large: Vec<Range<u64>>,
    /// Bytes that may still be given to the guest before it uses them.
    ahead: u64,
}

impl Memory {
    /// Empty memory with a window of `window` bytes, whole tables' worth.
    ///
    /// # Errors
    ///
    /// The reason, in words.
    pub fn new(window: u64) -> Result<Self, String> {
        let failed = |error: rustix::io::Errno| format!("no memory for the guest: {error}");
        let tables = Tables::new(window);
        let base = aligned(tables.end() as usize).map_err(failed)?;
        let pagemap = std::fs::File::open("/proc/self/pagemap");
        let pagemap = pagemap
            .map_err(|error| format!("/proc/self/pagemap: {error}"))?
            .into();
        let mut made = Memory {
            base,
            window,
            tables,
            areas: Areas::default(),
            snapshot: None,
            pagemap,
            reshaped: false,
            large: Vec::new(),
            ahead: window / AHEAD,
        };
        made.write_tables(tables.beginning());
        Ok(made)
    }

    /// Return the address of the processor's top-level table.
    pub fn root(&self) -> u64 {
        self.tables.root()
    }

    /// Addresses that have memory.
    pub fn window(&self) -> u64 {
        self.window
    }

    /// All of it, tables included: where it is in this process, and its bytes.
    pub fn whole(&self) -> (u64, u64) {
        (self.base as u64, self.tables.end())
    }

    /// Return true if the guest gets memory for an address that is mapped.
    pub fn backs(&self, address: u64) -> bool {
        address < self.window
    }

    /// Map `range` as `access`, or (none) not at all. What is taken out of use is zero when it is used
    /// again. False, and nothing changed, if the guest has too many mappings.
    pub fn set(&mut self, range: Range<u64>, access: Option<Access>) -> bool {
        let mapped = !self.areas.none(range.clone());
        if !self.areas.set(range.clone(), access) {
            return false;
        }
        let kept = |snapshot: &Snapshot| !snapshot.areas.none(range.clone());
        self.reshaped |= self.snapshot.as_ref().is_some_and(kept);
        if range.end > self.window {
            return true;
        }
        self.write_tables(self.tables.mapping(range.clone(), access));
        match access {
            None => self.clear(range),
            // The processor may know older, wider rights; when the host's change for a moment, KVM
            // forgets them.
            Some(access) if mapped && !access.write => self.forget(range),
            Some(_) => {}
        }
        true
    }

    /// Make it cheap for the guest to use `range`, which it has just mapped to write to: large pages
    /// where they fit, and small ones at the edges at once, since KVM lets the guest have several that
    /// are there for one fault.
    pub fn expect_use(&mut self, range: Range<u64>) {
        if range.end > self.window || range.end - range.start < EXPECTED {
            return;
        }
        let large = range.start.next_multiple_of(TABLE)..range.end / TABLE * TABLE;
        let edges = if large.is_empty() {
            [range, 0..0]
        } else {
            self.advise(large.clone(), Advice::LinuxHugepage);
            self.large.push(large.clone());
            [range.start..large.start, large.end..range.end]
        };
        for edge in edges {
            let length = edge.end - edge.start;
            if length > 0 && length <= self.ahead {
                self.ahead -= length;
                self.advise(edge, Advice::LinuxPopulateWrite);
            }
        }
    }

    /// Advise the kernel. Advice is an optimisation, so errors are ignored.
    fn advise(&self, range: Range<u64>, advice: Advice) {
        let length = (range.end - range.start) as usize;
        // SAFETY: within the mapping, whose bytes stay as they are.
        let _ = unsafe { madvise(self.at(range.start).cast(), length, advice) };
    }

    /// The highest free place for `length` bytes: in the window below `top` if they fit, or beyond it.
    pub fn place(&self, length: u64, bottom: u64, top: u64) -> Option<u64> {
        // Room to begin with a large page.
        let spare = if length >= TABLE { TABLE } else { 0 };
        self.areas
            .place(length.saturating_add(spare), bottom..top)
            .map(|at| {
                if spare > 0 {
                    at.next_multiple_of(TABLE)
                } else {
                    at
                }
            })
            .or_else(|| self.areas.place(length, bottom..top))
            .or_else(|| self.areas.place(length, BEYOND..BEYOND_END))
    }

    /// Return true if all of `range` lies where the guest may map.
    pub fn mappable(&self, range: &Range<u64>) -> bool {
        let inside = |room: Range<u64>| range.start >= room.start && range.end <= room.end;
        inside(LOWEST..self.window) || inside(BEYOND..BEYOND_END)
    }

    /// Make `range` zero.
    pub fn clear(&mut self, range: Range<u64>) {
        if range.is_empty() || range.end > self.window {
            return;
        }
        self.drop_pages(range.clone());
        let Some(snapshot) = &self.snapshot else {
            return;
        };
        // What is dropped is again as the snapshot has it.
        for extent in snapshot.extents_within(range) {
            self.zero(extent);
        }
    }

    /// Return the address in this process of `length` bytes at `at`, or `None` unless the guest may
    /// read or (`write`) write all of them and they have memory.
    pub fn find(&self, at: u64, length: u64, write: bool) -> Option<*mut u8> {
        let end = at.checked_add(length).filter(|end| *end <= self.window)?;
        let may = |access: Access| if write { access.write } else { access.any() };
        self.areas.all(at..end, may).then(|| self.at(at))
    }

    /// The bytes at `at`.
    pub fn read<const N: usize>(&self, at: u64) -> Option<[u8; N]> {
        let from = self.find(at, N as u64, false)?;
        let mut bytes = [0; N];
        // SAFETY: `find` has checked the range, and the guest does not run meanwhile.
        unsafe { std::ptr::copy_nonoverlapping(from, bytes.as_mut_ptr(), N) };
        Some(bytes)
    }

    /// Write `bytes` at `at` as the guest could; false if it could not.
    pub fn write(&mut self, at: u64, bytes: &[u8]) -> bool {
        let Some(to) = self.find(at, bytes.len() as u64, true) else {
            return false;
        };
        // SAFETY: as above.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), to, bytes.len()) };
        true
    }

    /// Write `bytes` at `at`, within the window, whatever the guest may.
    ///
    /// # Panics
    ///
    /// When they do not lie in the window.
    pub fn place_bytes(&mut self, at: u64, bytes: &[u8]) {
        assert!(
            at.checked_add(bytes.len() as u64)
                .is_some_and(|end| end <= self.window)
        );
        // SAFETY: in bounds, and the guest does not run meanwhile.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), self.at(at), bytes.len()) };
    }

    /// Copy the bytes of `from` to `to`, both within the window and apart, whatever the guest may.
    ///
    /// # Panics
    ///
    /// When they are not.
    pub fn copy(&mut self, from: Range<u64>, to: u64) {
        let length = from.end - from.start;
        let apart = from.end <= to || to + length <= from.start;
        assert!(apart && from.end <= self.window && to + length <= self.window);
        // SAFETY: in bounds and apart, and the guest does not run meanwhile.
        unsafe { std::ptr::copy_nonoverlapping(self.at(from.start), self.at(to), length as usize) };
    }

    /// Keep what there is now, to come back to.
    ///
    /// # Errors
    ///
    /// The reason, in words.
    pub fn freeze(&mut self) -> Result<(), String> {
        let kept = Snapshot::take(
            self.base,
            self.tables.end(),
            self.window,
            &self.areas,
            self.pagemap.as_fd(),
        );
        self.snapshot = Some(kept.map_err(|error| format!("a snapshot of the guest: {error}"))?);
        Ok(())
    }

    /// Return true if there is something to come back to.
    pub fn is_frozen(&self) -> bool {
        self.snapshot.is_some()
    }

    /// Return the ranges that the guest is to use once after [`Memory::freeze`], and whenever
    /// [`Memory::reset`] tells; those that it is to write are true.
    pub fn lasting(&self) -> Vec<(Range<u64>, bool)> {
        let snapshot = self.snapshot.as_ref();
        snapshot.map_or_else(Vec::new, |snapshot| snapshot.lasting(self.window))
    }

    /// Bring back what [`Memory::freeze`] kept: every page that was written since, and what is mapped.
    /// Return true if KVM has forgotten all pages of the guest.
    ///
    /// # Errors
    ///
    /// Why not all of it could be brought back, in words: the memory must not be used again.
    pub fn reset(&mut self) -> Result<bool, String> {
        let snapshot = self.snapshot.as_ref().ok_or("there is no snapshot")?;
        snapshot
            .restore(self.base, self.window, self.reshaped, self.pagemap.as_fd())
            .map_err(|error| format!("a reset of the guest: {error}"))?;
        self.areas = snapshot.areas.clone();
        let reshaped = std::mem::take(&mut self.reshaped);
        self.ahead = self.window / AHEAD;
        for range in std::mem::take(&mut self.large) {
            self.advise(range, Advice::LinuxNoHugepage);
        }
        Ok(reshaped)
    }

    fn at(&self, address: u64) -> *mut u8 {
        debug_assert!(address <= self.tables.end());
        // SAFETY: within the mapping, or at its end.
        unsafe { self.base.add(address as usize) }
    }

    fn write_tables(&mut self, entries: impl Iterator<Item = (u64, u64)>) {
        for (at, entry) in entries {
            // SAFETY: tables lie behind the window, within the mapping, and entries are aligned.
            unsafe { self.at(at).cast::<u64>().write(entry) };
        }
    }

    fn zero(&self, range: Range<u64>) {
        // SAFETY: within the window, and the guest does not run meanwhile.
        unsafe {
            std::ptr::write_bytes(self.at(range.start), 0, (range.end - range.start) as usize)
        };
    }

    fn drop_pages(&self, range: Range<u64>) {
        let length = (range.end - range.start) as usize;
        // SAFETY: within the mapping; what is read there later is the snapshot's, or zero.
        let dropped =
            unsafe { madvise(self.at(range.start).cast(), length, Advice::LinuxDontNeed) };
        dropped.expect("pages of one's own can be dropped");
    }

    fn forget(&self, range: Range<u64>) {
        let (at, length) = (self.at(range.start), (range.end - range.start) as usize);
        for rights in [libc::PROT_READ, libc::PROT_READ | libc::PROT_WRITE] {
            // SAFETY: within the mapping, which nobody touches meanwhile.
            let changed = unsafe { libc::mprotect(at.cast(), length, rights) };
            assert_eq!(changed, 0, "{}", io::Error::last_os_error());
        }
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        // SAFETY: the mapping is this object's own.
        let _ = unsafe { munmap(self.base.cast(), self.tables.end() as usize) };
    }
}

/// A new mapping that begins with a large page, so that what is one for the guest is one here, too.
fn aligned(length: usize) -> rustix::io::Result<*mut u8> {
    let (large, flags) = (TABLE as usize, MapFlags::PRIVATE | MapFlags::NORESERVE);
    // SAFETY: a new mapping, of which nobody else knows; what is given back lies within it.
    unsafe {
        let rights = ProtFlags::READ | ProtFlags::WRITE;
        let whole =
            mmap_anonymous(std::ptr::null_mut(), length + large, rights, flags)?.cast::<u8>();
        let before = whole.align_offset(large);
        let base = whole.add(before);
        if before > 0 {
            munmap(whole.cast(), before)?;
        }
        munmap(base.add(length).cast(), large - before)?;
        Ok(base)
    }
}

/// A window for a guest that may have `memory` bytes: twice as many, since it never has them without
/// gaps, and room for its program and stack.
pub fn window_for(memory: u64) -> u64 {
    memory
        .saturating_mul(2)
        .min(BEYOND / 2)
        .next_multiple_of(TABLE)
        + 32 * TABLE
}

#[cfg(test)]
mod tests;
