//! `mmap` and its like. Memory is the guest's alone, so that what it calls shared is private too.

use std::ops::Range;

use super::guest::{Answer, Guest, Instead, error};
use crate::modes::kvm::areas::{Access, PAGE};
use crate::modes::kvm::wire::End;

const NO_REPLACE: u64 = libc::MAP_FIXED_NOREPLACE as u64;
const FIXED: u64 = libc::MAP_FIXED as u64;

/// The pages of `length` bytes at `at`, which must be a page's first.
fn pages(guest: &Guest, at: u64, length: u64) -> Result<Range<u64>, Instead> {
    let end = at
        .checked_add(length)
        .and_then(|end| end.checked_next_multiple_of(PAGE));
    match end {
        Some(end) if at.is_multiple_of(PAGE) && guest.memory.mappable(&(at..end)) => Ok(at..end),
        _ => Err(Instead::Error(libc::EINVAL)),
    }
}

/// `mmap`.
pub fn map(guest: &mut Guest, [at, length, rights, flags, _, _]: [u64; 6]) -> Answer {
    if flags & libc::MAP_ANONYMOUS as u64 == 0 {
        return error(libc::ENODEV);
    }
    if length == 0 {
        return error(libc::EINVAL);
    }
    // None are set aside.
    if flags & libc::MAP_HUGETLB as u64 != 0 {
        return error(libc::ENOMEM);
    }
    let range = if flags & (FIXED | NO_REPLACE) != 0 {
        if !at.is_multiple_of(PAGE) {
            return error(libc::EINVAL);
        }
        let range = pages(guest, at, length).map_err(|_| Instead::Error(libc::ENOMEM))?;
        if flags & NO_REPLACE != 0 && !guest.memory.areas.none(range.clone()) {
            return error(libc::EEXIST);
        }
        range
    } else {
        place(guest, length)?
    };
    put(guest, range.clone(), None)?;
    put(guest, range.clone(), Some(Access::from_bits(rights)))?;
    if rights & libc::PROT_WRITE as u64 != 0 {
        guest.memory.expect_use(range.clone());
    }
    Ok(range.start)
}

fn place(guest: &Guest, length: u64) -> Result<Range<u64>, Instead> {
    let none = Instead::Error(libc::ENOMEM);
    let length = length.checked_next_multiple_of(PAGE).ok_or(none)?;
    let place = guest.memory.place(length, guest.bottom(), guest.own.top);
    place.map(|at| at..at + length).ok_or(none)
}

fn put(guest: &mut Guest, range: Range<u64>, access: Option<Access>) -> Answer {
    if guest.memory.set(range, access) {
        Ok(0)
    } else {
        error(libc::ENOMEM)
    }
}

/// `munmap`.
pub fn unmap(guest: &mut Guest, at: u64, length: u64) -> Answer {
    let range = pages(guest, at, length)?;
    if range.is_empty() {
        return error(libc::EINVAL);
    }
    put(guest, range, None)
}

/// `mprotect`. As on Linux, it takes effect up to the first page that is not mapped.
pub fn protect(guest: &mut Guest, at: u64, length: u64, rights: u64) -> Answer {
    let range = pages(guest, at, length)?;
    let mut end = range.start;
    for (area, _) in guest.memory.areas.within(range.clone()) {
        if area.start != end {
            break;
        }
        end = area.end;
    }
    put(guest, range.start..end, Some(Access::from_bits(rights)))?;
    if end == range.end {
        Ok(0)
    } else {
        error(libc::ENOMEM)
    }
}

/// `mremap`, without a place of the guest's choosing.
pub fn remap(guest: &mut Guest, at: u64, old: u64, new: u64, flags: u64) -> Answer {
    let from = pages(guest, at, old)?;
    if from.is_empty() || new == 0 || flags & !(libc::MREMAP_MAYMOVE as u64) != 0 {
        return error(libc::EINVAL);
    }
    let access = guest
        .memory
        .areas
        .within(from.clone())
        .next()
        .map(|(_, access)| access);
    let Some(access) =
        access.filter(|access| guest.memory.areas.all(from.clone(), |each| each == *access))
    else {
        return error(libc::EFAULT);
    };
    let end = at
        .checked_add(new)
        .and_then(|end| end.checked_next_multiple_of(PAGE));
    let end = end.ok_or(Instead::Error(libc::ENOMEM))?;
    if end <= from.end {
        put(guest, end..from.end, None)?;
        return Ok(at);
    }
    let more = from.end..end;
    if guest.memory.mappable(&(at..end))
        && end <= guest.own.top.max(at)
        && guest.memory.areas.none(more.clone())
    {
        put(guest, more, Some(access))?;
        return Ok(at);
    }
    if flags == 0 {
        return error(libc::ENOMEM);
    }
    let to = place(guest, end - at)?;
    if !guest.memory.backs(to.start) {
        return Err(Instead::End(End::Memory));
    }
    put(guest, to.clone(), Some(access))?;
    // Seen as the host sees it: the guest may not be allowed to read what it moves. Beyond the window
    // there is nothing.
    if guest.memory.backs(from.start) {
        guest.memory.copy(from.clone(), to.start);
    }
    put(guest, from, None)?;
    Ok(to.start)
}

/// `madvise`. As on Linux, it takes effect on all pages that are mapped, also if others are not.
pub fn advise(guest: &mut Guest, at: u64, length: u64, advice: u64) -> Answer {
    match advice as i32 {
        libc::MADV_NORMAL..=libc::MADV_DONTNEED | libc::MADV_FREE => {}
        libc::MADV_HUGEPAGE | libc::MADV_NOHUGEPAGE => {}
        _ => return error(libc::EINVAL),
    }
    let range = pages(guest, at, length)?;
    if advice as i32 == libc::MADV_DONTNEED {
        let areas = guest.memory.areas.within(range.clone());
        for part in areas.map(|(part, _)| part).collect::<Vec<_>>() {
            guest.memory.clear(part);
        }
    }
    if guest.memory.areas.all(range, |_| true) {
        Ok(0)
    } else {
        error(libc::ENOMEM)
    }
}

/// `brk`: the new end of what it serves, or the old one where the guest cannot have more.
pub fn grow(guest: &mut Guest, wanted: u64) -> u64 {
    let (start, now) = guest.own.breaks;
    if wanted < start || wanted > guest.own.top {
        return now;
    }
    let (old, new) = (now.next_multiple_of(PAGE), wanted.next_multiple_of(PAGE));
    let done = if new <= old {
        guest.memory.set(new..old, None)
    } else {
        let access = Access::from_bits((libc::PROT_READ | libc::PROT_WRITE) as u64);
        guest.memory.areas.none(old..new) && guest.memory.set(old..new, Some(access))
    };
    if done {
        guest.own.breaks.1 = wanted;
    }
    guest.own.breaks.1
}
