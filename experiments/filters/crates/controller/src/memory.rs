//! The memory of native filters: made, found again after a crash, opened, removed.

use std::ops::Deref;
use std::os::fd::OwnedFd;
use std::process;
use std::ptr::{self, NonNull};

use crate::layout::{Counts, Layout};
use crate::run::Filter;
use crate::shm::{self, Origin, check_name, check_prefix, foreign};
use anyhow::{Context, Result, bail};
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};

const PROGRAM: &str = "filter-controller";

/// The mapped memory.
pub struct Memory {
    name: String,
    file: OwnedFd,
    layout: NonNull<Layout>,
}

impl Memory {
    /// Make the memory or recovers it from a controller that is gone; fails when one lives.
    pub fn own(name: &str, prefix: &[u8]) -> Result<(Self, Origin)> {
        check_name(name)?;
        check_prefix(prefix)?;
        let Some(file) = shm::lock(name)? else {
            let owner = Self::open(name).ok().map(|memory| memory.owner());
            bail!(shm::live(PROGRAM, name, owner));
        };
        let size = shm::size(&file)?;
        if size == 0 {
            shm::reserve(&file, name, size_of::<Layout>() as u64)?;
        } else if size != size_of::<Layout>() as u64 {
            bail!(foreign(name));
        }
        let memory = Self::map(name, file)?;
        let origin = if memory.is_complete() {
            Origin::Recovered(memory.owner())
        } else if memory.is_begun() {
            Origin::Made
        } else {
            bail!(foreign(name));
        };
        memory.set_owner(process::id());
        Filter::publish(&memory, prefix)?;
        memory.complete();
        Ok((memory, origin))
    }

    /// Open the memory of a controller, to read counters or set the prefix.
    pub fn open(name: &str) -> Result<Self> {
        check_name(name)?;
        let Some(file) = shm::open(name)? else {
            bail!(shm::missing(PROGRAM, name));
        };
        if shm::size(&file)? != size_of::<Layout>() as u64 {
            bail!(foreign(name));
        }
        let memory = Self::map(name, file)?;
        if !memory.is_complete() {
            bail!(foreign(name));
        }
        Ok(memory)
    }

    fn layout(&self) -> &Layout {
        // SAFETY: the mapping lives as long as `self`, has the size and alignment of Layout, and
        // every field of it is atomic.
        unsafe { self.layout.as_ref() }
    }

    fn map(name: &str, file: OwnedFd) -> Result<Self> {
        let access = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: a new mapping, at an address that the kernel chooses.
        let address = unsafe {
            mmap(
                ptr::null_mut(),
                size_of::<Layout>(),
                access,
                MapFlags::SHARED,
                &file,
                0,
            )
        }
        .with_context(|| format!("the shared memory {name} cannot be mapped"))?;
        let layout = NonNull::new(address.cast()).context("mmap answered no address")?;
        Ok(Self {
            name: name.to_owned(),
            file,
            layout,
        })
    }
}

impl Filter for Memory {
    fn counts(&self) -> Counts {
        self.layout().counts()
    }

    fn publish(&self, prefix: &[u8]) -> Result<()> {
        check_prefix(prefix)?;
        shm::alone(&self.file, || self.layout().publish(prefix))
    }

    fn remove(self) -> Result<()> {
        shm::remove(&self.file, &self.name)
    }
}

impl Deref for Memory {
    type Target = Layout;

    fn deref(&self) -> &Layout {
        self.layout()
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        // SAFETY: the mapping was made by `map` with this size, and nothing borrows from it any more.
        let _ = unsafe { munmap(self.layout.as_ptr().cast(), size_of::<Layout>()) };
    }
}
