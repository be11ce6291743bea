//! The state to which a guest's memory returns between calls. Its bytes lie in a sealed file,
//! mapped privately below the guest. The kernel copies each page that is written, and reports which
//! pages it copied. Exactly these pages differ, whether the guest or the kernel wrote them.

use std::collections::BTreeSet;
use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::os::unix::fs::FileExt;

use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, memfd_create};
use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap, munmap};

use super::areas::{Access, Areas, PAGE};

/// Pages up to which it is cheaper to copy back than to let the guest fault on each again.
const COPIED: usize = 128;
/// Pages around each one that was written, which are expected to be written as well.
const AROUND: u64 = 4;
/// Zero pages that are kept between two others rather than making another mapping.
const JOINED: u64 = 16 * PAGE;

/// A guest's memory at one moment.
pub struct Snapshot {
    /// The mapped areas.
    pub areas: Areas,
    /// The ranges that the file covers; all other bytes were zero.
    extents: Vec<Range<u64>>,
    /// Pages that are copied back after each call, whether it wrote them or not.
    expected: Vec<u64>,
    /// Parts of the extents that calls may write and are not expected to: taken away after each.
    doubtful: Vec<Range<u64>>,
    /// The whole file, read only.
    original: *const u8,
    size: u64,
}

impl Snapshot {
    /// Keep the `size` bytes at `base`, private memory without a file, and puts the copy below it.
    pub fn take(
        base: *mut u8,
        size: u64,
        window: u64,
        areas: &Areas,
        pagemap: BorrowedFd<'_>,
    ) -> io::Result<Self> {
        let file = File::from(memfd_create(
            "guest",
            MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING,
        )?);
        file.set_len(size)?;
        let mut extents: Vec<Range<u64>> = Vec::new();
        let written = copied(base, size, pagemap)?;
        let expected = expected(&written, window, areas);
        for range in written {
            // SAFETY: within the guest's memory, which does not run meanwhile.
            let bytes = unsafe {
                std::slice::from_raw_parts(
                    base.add(range.start as usize),
                    (range.end - range.start) as usize,
                )
            };
            file.write_all_at(bytes, range.start)?;
            match extents.last_mut() {
                Some(last) if range.start - last.end <= JOINED => last.end = range.end,
                _ => extents.push(range),
            }
        }
        let seals = SealFlags::WRITE | SealFlags::GROW | SealFlags::SHRINK | SealFlags::SEAL;
        fcntl_add_seals(&file, seals)?;
        for extent in &extents {
            let length = (extent.end - extent.start) as usize;
            // SAFETY: replaces private pages by a file with the same bytes.
            unsafe {
                let at = base.add(extent.start as usize).cast();
                let flags = MapFlags::PRIVATE | MapFlags::FIXED | MapFlags::NORESERVE;
                mmap(
                    at,
                    length,
                    ProtFlags::READ | ProtFlags::WRITE,
                    flags,
                    &file,
                    extent.start,
                )?;
            }
        }
        // SAFETY: a new mapping, of which nobody else knows.
        let original = unsafe {
            mmap(
                std::ptr::null_mut(),
                size as usize,
                ProtFlags::READ,
                MapFlags::PRIVATE,
                &file,
                0,
            )?
        };
        let mut made = Snapshot {
            areas: areas.clone(),
            extents,
            expected,
            doubtful: Vec::new(),
            original: original.cast(),
            size,
        };
        made.doubtful = made.doubtful(window);
        made.settle(base)?;
        Ok(made)
    }

    /// The parts of `range` that were not zero.
    pub fn extents_within(&self, range: Range<u64>) -> impl Iterator<Item = Range<u64>> + '_ {
        let cut =
            move |extent: &Range<u64>| extent.start.max(range.start)..extent.end.min(range.end);
        self.extents.iter().map(cut).filter(|part| !part.is_empty())
    }

    /// Make the memory at `base` what it was, and as much of it as before ready for use. All pages of
    /// the window are taken away if rights were changed (`all`) that KVM must forget.
    pub fn restore(
        &self,
        base: *mut u8,
        window: u64,
        all: bool,
        pagemap: BorrowedFd<'_>,
    ) -> io::Result<()> {
        for range in copied(base, self.size, pagemap)? {
            for range in self.unexpected(range) {
                self.renew(base, range)?;
            }
        }
        for range in &self.doubtful {
            self.renew(base, range.clone())?;
        }
        if all {
            self.renew(base, 0..window)?;
        }
        for page in &self.expected {
            self.copy_back(base, *page..*page + PAGE);
        }
        Ok(())
    }

    /// Make ready what is ready before every call.
    fn settle(&self, base: *mut u8) -> io::Result<()> {
        self.populate(base, 0..self.size)?;
        for page in &self.expected {
            self.copy_back(base, *page..*page + PAGE);
        }
        Ok(())
    }

    fn renew(&self, base: *mut u8, range: Range<u64>) -> io::Result<()> {
        drop_pages(base, range.clone())?;
        self.populate(base, range)
    }

    /// Return the ranges that a guest is to use once, so that using them never tells whether an earlier
    /// call did, and whether it is to write them.
    pub fn lasting(&self, window: u64) -> Vec<(Range<u64>, bool)> {
        let reads = self.extents_within(0..window).flat_map(|extent| {
            let fixed = |(range, access): (Range<u64>, Access)| {
                (access.any() && !access.write).then_some((range, false))
            };
            self.areas.within(extent).filter_map(fixed)
        });
        let writes = self.expected.iter().filter(|page| **page < window);
        reads
            .chain(writes.map(|page| (*page..*page + PAGE, true)))
            .collect()
    }

    fn doubtful(&self, window: u64) -> Vec<Range<u64>> {
        let may_be_written = |extent| {
            let writable = |(range, access): (Range<u64>, Access)| access.write.then_some(range);
            self.areas.within(extent).filter_map(writable)
        };
        self.extents_within(0..window)
            .flat_map(may_be_written)
            .flat_map(|range| self.unexpected(range))
            .collect()
    }

    /// Map what the file has of `range`.
    fn populate(&self, base: *mut u8, range: Range<u64>) -> io::Result<()> {
        for part in self.extents_within(range) {
            let length = (part.end - part.start) as usize;
            // SAFETY: within the guest's memory, whose bytes stay as they are.
            unsafe {
                let at = base.add(part.start as usize).cast();
                madvise(at, length, Advice::LinuxPopulateRead)?;
            }
        }
        Ok(())
    }

    /// The parts of `range` between the pages that are copied back anyway.
    fn unexpected(&self, range: Range<u64>) -> Vec<Range<u64>> {
        let first = self.expected.partition_point(|page| *page < range.start);
        let inside = self.expected[first..].iter().copied();
        let (mut start, mut parts) = (range.start, Vec::new());
        for page in inside
            .take_while(|page| *page < range.end)
            .chain([range.end])
        {
            if start < page {
                parts.push(start..page);
            }
            start = page + PAGE;
        }
        parts
    }

    fn copy_back(&self, base: *mut u8, page: Range<u64>) {
        let at = page.start as usize;
        let kept = self.extents_within(page).next().is_some();
        // SAFETY: both mappings have `size` bytes, and the guest does not run meanwhile.
        unsafe {
            if kept {
                std::ptr::copy_nonoverlapping(self.original.add(at), base.add(at), PAGE as usize);
            } else {
                std::ptr::write_bytes(base.add(at), 0, PAGE as usize);
            }
        }
    }
}

impl Drop for Snapshot {
    fn drop(&mut self) {
        // SAFETY: the mapping is this object's own.
        let _ = unsafe { munmap(self.original.cast_mut().cast(), self.size as usize) };
    }
}

/// The pages that calls are expected to write: those that were `written` before the first, and some
/// around them; the highest, where the stack is, if they are too many.
fn expected(written: &[Range<u64>], window: u64, areas: &Areas) -> Vec<u64> {
    let around = |range: &Range<u64>| {
        let start = range.start.saturating_sub(AROUND * PAGE);
        (start..range.end + AROUND * PAGE).step_by(PAGE as usize)
    };
    // The tables behind the window are this process's own to write.
    let table = |page: u64| written.iter().any(|range| range.contains(&page));
    let may_write = |page: &u64| match *page {
        page if page >= window => table(page),
        page => areas.all(page..page + PAGE, |each| each.write),
    };
    let pages: BTreeSet<u64> = written.iter().flat_map(around).filter(may_write).collect();
    let mut chosen: Vec<u64> = pages.into_iter().rev().take(COPIED).collect();
    chosen.reverse();
    chosen
}

fn drop_pages(base: *mut u8, range: Range<u64>) -> io::Result<()> {
    let length = (range.end - range.start) as usize;
    // SAFETY: within the guest's memory; what is read there later is the snapshot's, or zero.
    unsafe {
        madvise(
            base.add(range.start as usize).cast(),
            length,
            Advice::LinuxDontNeed,
        )?
    };
    Ok(())
}

/// `struct pm_scan_arg` of linux/fs.h.
#[repr(C)]
#[derive(Default)]
struct Scan {
    size: u64,
    flags: u64,
    start: u64,
    end: u64,
    walk_end: u64,
    regions: u64,
    regions_len: u64,
    max_pages: u64,
    inverted: u64,
    mask: u64,
    any_of: u64,
    returned: u64,
}

/// `PAGEMAP_SCAN` of linux/fs.h: `_IOWR('f', 16, struct pm_scan_arg)`.
pub const PAGEMAP_SCAN: u64 = 0xc060_6610;
const IS_FILE: u64 = 1 << 2;
const IS_PRESENT: u64 = 1 << 3;
const IS_SWAPPED: u64 = 1 << 4;
const REGIONS: usize = 256;

/// The pages of private memory that are no file's: written since it was mapped, or only read where no
/// file lies below.
fn copied(base: *mut u8, size: u64, pagemap: BorrowedFd<'_>) -> io::Result<Vec<Range<u64>>> {
    let base = base as u64;
    let mut found = Vec::new();
    let mut regions = [[0u64; 3]; REGIONS];
    let mut start = base;
    while start < base + size {
        let mut scan = Scan {
            size: size_of::<Scan>() as u64,
            start,
            end: base + size,
            regions: regions.as_mut_ptr() as u64,
            regions_len: REGIONS as u64,
            inverted: IS_FILE,
            mask: IS_FILE,
            any_of: IS_PRESENT | IS_SWAPPED,
            returned: IS_PRESENT,
            ..Scan::default()
        };
        // SAFETY: the kernel writes at most REGIONS regions and the argument itself.
        let count = unsafe { libc::ioctl(pagemap.as_raw_fd(), PAGEMAP_SCAN, &raw mut scan) };
        if count < 0 {
            let error = io::Error::last_os_error();
            return Err(io::Error::new(
                error.kind(),
                format!("PAGEMAP_SCAN: {error}; it needs Linux 6.7 or newer"),
            ));
        }
        found.extend(
            regions[..count as usize]
                .iter()
                .map(|[start, end, _]| start - base..end - base),
        );
        start = scan.walk_end;
    }
    Ok(found)
}
