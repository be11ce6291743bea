//! The shared memory by name: made, found again after a crash, opened, removed.

use std::ops::Deref;
use std::os::fd::OwnedFd;
use std::process;
use std::ptr::{self, NonNull};

use anyhow::{Context, Result, bail};
use rustix::fs::{FallocateFlags, FlockOperation, Mode, fallocate, fcntl_lock, flock, fstat};
use rustix::io::Errno;
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};
use rustix::shm;

use crate::layout::{Layout, PREFIX_MAX};

/// The mapped memory.
pub struct Memory {
    name: String,
    file: OwnedFd,
    layout: NonNull<Layout>,
}

/// How the owner came by the memory.
#[derive(Debug, PartialEq, Eq)]
pub enum Origin {
    /// It was not there.
    Made,
    /// A controller, whose process this was, left it behind.
    Recovered(u32),
}

impl Memory {
    /// Makes the memory or recovers it from a controller that is gone; fails when one lives.
    ///
    /// Owning is holding the file's lock, which the kernel gives up with the process: a process
    /// number may be in use again by somebody else.
    pub fn own(name: &str, prefix: &[u8]) -> Result<(Self, Origin)> {
        check_name(name)?;
        check_prefix(prefix)?;
        let file = lock(name)?;
        let size = fstat(&file)?.st_size;
        if size == 0 {
            reserve(&file, name)?;
        } else if size != size_of::<Layout>() as i64 {
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
        memory.publish(prefix)?;
        memory.complete();
        Ok((memory, origin))
    }

    /// Opens the memory of a controller, to read counters or set the prefix.
    pub fn open(name: &str) -> Result<Self> {
        check_name(name)?;
        let file = match shm::open(name, shm::OFlags::RDWR, Mode::empty()) {
            Err(Errno::NOENT) => bail!(
                "there is no shared memory {name}; start its controller: filter-controller --shm {name} --prefix /aaaa"
            ),
            other => other.with_context(|| {
                format!(
                    "the shared memory {name} cannot be opened; run this as its controller's user"
                )
            })?,
        };
        if fstat(&file)?.st_size != size_of::<Layout>() as i64 {
            bail!(foreign(name));
        }
        let memory = Self::map(name, file)?;
        if !memory.is_complete() {
            bail!(foreign(name));
        }
        Ok(memory)
    }

    /// Puts `prefix` in force for every request from now on.
    pub fn publish(&self, prefix: &[u8]) -> Result<()> {
        check_prefix(prefix)?;
        // Keeps `set` and the controller from publishing at once; the owner's lock is another one.
        fcntl_lock(&self.file, FlockOperation::LockExclusive)?;
        self.layout().publish(prefix);
        fcntl_lock(&self.file, FlockOperation::Unlock)?;
        Ok(())
    }

    /// Removes the name, if it still is this memory's. Who has it mapped keeps it.
    pub fn remove(self) -> Result<()> {
        if is_named(&self.file, &self.name)? {
            shm::unlink(&*self.name).with_context(|| {
                format!(
                    "the shared memory {} cannot be removed; remove /dev/shm{0}",
                    self.name
                )
            })?;
        }
        Ok(())
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

/// The memory's file with its owner's lock held.
fn lock(name: &str) -> Result<OwnedFd> {
    loop {
        let flags = shm::OFlags::CREATE | shm::OFlags::RDWR;
        let file = shm::open(name, flags, Mode::RUSR | Mode::WUSR).with_context(|| {
            format!("the shared memory {name} cannot be made; choose another --shm")
        })?;
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Err(Errno::WOULDBLOCK) => bail!(live(name)),
            other => other?,
        }
        // Its last owner may have removed the name between the two steps.
        if is_named(&file, name)? {
            return Ok(file);
        }
    }
}

/// Gives the empty file its size, with room for it: a hole would fail when a worker counts in it.
fn reserve(file: &OwnedFd, name: &str) -> Result<()> {
    let size = size_of::<Layout>() as u64;
    fallocate(file, FallocateFlags::empty(), 0, size).or_else(|error| {
        shm::unlink(name)?;
        Err(error).with_context(|| {
            format!("there is no room for the shared memory {name}; free some of /dev/shm")
        })
    })
}

fn is_named(file: &OwnedFd, name: &str) -> Result<bool> {
    match shm::open(name, shm::OFlags::RDONLY, Mode::empty()) {
        Err(Errno::NOENT) => Ok(false),
        other => Ok(fstat(other?)?.st_ino == fstat(file)?.st_ino),
    }
}

fn live(name: &str) -> String {
    let owner = Memory::open(name).map_or("another process".to_owned(), |memory| {
        format!("process {}", memory.owner())
    });
    format!(
        "the shared memory {name} belongs to a running controller, {owner}; stop it, choose another --shm, or change its prefix: filter-controller set --shm {name} --prefix /aaaa"
    )
}

fn foreign(name: &str) -> String {
    format!(
        "the shared memory {name} has another layout than this controller's; remove /dev/shm{name} or choose another --shm"
    )
}

fn check_name(name: &str) -> Result<()> {
    let rest = name.strip_prefix('/').unwrap_or("");
    if rest.is_empty() || rest.contains('/') || name.len() > 255 {
        bail!(
            "--shm: found {name:?}, expected a slash and then a name of at most 254 bytes without one, as /filter"
        );
    }
    Ok(())
}

fn check_prefix(prefix: &[u8]) -> Result<()> {
    if prefix.len() > PREFIX_MAX {
        bail!(
            "the prefix has {} bytes; give one of at most {PREFIX_MAX}",
            prefix.len()
        );
    }
    Ok(())
}
