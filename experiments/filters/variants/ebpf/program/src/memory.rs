//! The shared memory: a header, the program's object file, and its maps, each on pages of its own.
//!
//! Each process that maps it loads and verifies the program itself: nothing in the memory is trusted but
//! what the verifier allows a program to do with its maps.

use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::process;
use std::ptr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use anyhow::{Context, Result, bail, ensure};
use filter_controller::layout::Counts;
use filter_controller::run::Filter;
use filter_controller::shm::{self, Origin, check_name, check_prefix, foreign};
use filter_ebpf::compile::Compiled;
use filter_ebpf::context::ContextLayout;
use filter_ebpf::elf;
use filter_ebpf::fingerprint::Fingerprint;
use filter_ebpf::fuel;
use filter_ebpf::maps::{Maps, Memory as MapMemory};
use filter_ebpf::verifier::Verified;
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};

use crate::maps::{self, FilterMaps};

/// "tcfltbpf", stored last when the memory is made.
const MAGIC: u64 = u64::from_le_bytes(*b"tcfltbpf");
/// Changes with the layout.
const VERSION: u32 = 1;
const PAGE: usize = 4096;
/// The program's section in the object file.
const SECTION: &str = "filter";
/// The largest object file, in bytes.
const OBJECT_MAX: usize = 1 << 20;
/// The variable with the fuel of a decision, for nginx and for the controller.
const FUEL: &str = "FILTER_FUEL";
const PROGRAM: &str = "filter-ebpf-controller";

#[repr(C)]
struct Header {
    magic: AtomicU64,
    version: AtomicU32,
    /// Process of the controller, for messages only.
    owner: AtomicU32,
    /// Of the object file.
    fingerprint: AtomicU64,
    object_bytes: AtomicU64,
}

/// The memory with its program, which was verified.
pub struct Memory {
    name: String,
    file: OwnedFd,
    verified: Verified,
    maps: FilterMaps,
}

/// The first pages of the file, mapped.
struct Pages {
    base: *mut u8,
    length: usize,
}

impl Pages {
    fn map(file: impl AsFd, name: &str, length: usize) -> Result<Self> {
        let access = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: a new mapping, at an address that the kernel chooses.
        let base = unsafe { mmap(ptr::null_mut(), length, access, MapFlags::SHARED, file, 0) }
            .with_context(|| format!("the shared memory {name} cannot be mapped"))?;
        let base = base.cast();
        Ok(Self { base, length })
    }

    fn header(&self) -> &Header {
        // SAFETY: the mapping has a page at least, and every field of the header is atomic.
        unsafe { &*self.base.cast() }
    }

    fn write_object(&self, object: &[u8]) {
        assert!(PAGE + object.len() <= self.length);
        // SAFETY: inside the mapping; nobody reads it before the magic number is there.
        unsafe { ptr::copy_nonoverlapping(object.as_ptr(), self.base.add(PAGE), object.len()) };
    }

    /// A copy, so that what is verified is what runs.
    fn read_object(&self, length: usize) -> Vec<u8> {
        assert!(PAGE + length <= self.length);
        let mut object = vec![0; length];
        // SAFETY: inside the mapping; any bytes are a valid copy.
        unsafe { ptr::copy_nonoverlapping(self.base.add(PAGE), object.as_mut_ptr(), length) };
        object
    }
}

impl Drop for Pages {
    fn drop(&mut self) {
        // SAFETY: mapped by `map` with this length; references to it borrow from `self`.
        let _ = unsafe { munmap(self.base.cast(), self.length) };
    }
}

/// The file of a program: where its maps begin, and its bytes in all.
fn extent(object: usize, verified: &Verified) -> (usize, usize) {
    let maps_at = PAGE + object.next_multiple_of(PAGE);
    let maps = Maps::bytes(verified.program().maps()).next_multiple_of(PAGE);
    (maps_at, maps_at + maps)
}

/// The fuel of a decision: of the environment, which nginx's user cannot write as the memory can be.
fn fuel() -> Result<u32> {
    let Ok(text) = std::env::var(FUEL) else {
        return Ok(fuel::DEFAULT);
    };
    text.parse().with_context(|| {
        format!(
            "{FUEL}={text:?} is no amount of fuel; set it to a number as {}",
            fuel::DEFAULT
        )
    })
}

fn fingerprint(object: &[u8]) -> u64 {
    Fingerprint::new().with(object).number()
}

/// Links and verifies a program, and checks that its maps are those that are needed.
fn verify(object: &[u8]) -> Result<Verified> {
    let program = elf::load(object, SECTION)?;
    maps::check(program.maps())?;
    Ok(Verified::new(program, ContextLayout::windows(1))?)
}

impl Memory {
    /// Make the memory with the program of an object file in it, or recovers it from a controller of
    /// the same program that is gone; fails when one lives.
    pub fn own(name: &str, path: &Path, prefix: &[u8]) -> Result<(Self, Origin)> {
        check_name(name)?;
        check_prefix(prefix)?;
        let shown = path.display();
        let object = std::fs::read(path).with_context(|| {
            format!("the program {shown} cannot be read; give --object the file that clang -target bpf made")
        })?;
        ensure!(
            object.len() <= OBJECT_MAX,
            "the program {shown} has {} bytes; give one of at most {OBJECT_MAX}",
            object.len()
        );
        let verified = verify(&object)
            .with_context(|| format!("the program {shown} is refused; correct it and try again"))?;
        let Some(file) = shm::lock(name)? else {
            let owner = Self::open(name).ok().map(|(_, owner)| owner);
            bail!(shm::live(PROGRAM, name, owner));
        };
        let (memory, origin) = match found(&file, name)? {
            None => Self::make(name, file, &object, verified)?,
            Some(_) if !holds(&file, name, &object)? => bail!(
                "the shared memory {name} holds another program than {shown}; remove /dev/shm{name} or choose another --shm"
            ),
            Some(owner) => (
                Self::attach(name, file, &object, verified)?,
                Origin::Recovered(owner),
            ),
        };
        if let Err(error) = memory.compile() {
            if origin == Origin::Made {
                memory.remove()?;
            }
            return Err(error).with_context(|| {
                format!("the program {shown} cannot be compiled; correct it and try again")
            });
        }
        memory.publish(prefix)?;
        let pages = Pages::map(&memory.file, name, PAGE)?;
        pages.header().owner.store(process::id(), Ordering::Relaxed);
        pages.header().magic.store(MAGIC, Ordering::Release);
        Ok((memory, origin))
    }

    /// Open the memory of a controller and verifies its program; and the controller's process.
    pub fn open(name: &str) -> Result<(Self, u32)> {
        check_name(name)?;
        let Some(file) = shm::open(name)? else {
            bail!(shm::missing(
                &format!("{PROGRAM} --object filter.bpf.o"),
                name
            ));
        };
        let Some(owner) = found(&file, name)? else {
            bail!("the shared memory {name} is not made yet; wait until its controller is ready");
        };
        let object = object(&file, name)?;
        let verified = verify(&object)
            .with_context(|| format!("the program in the shared memory {name} is refused"))?;
        Ok((Self::attach(name, file, &object, verified)?, owner))
    }

    /// Compile the program for the maps in the memory: a controller learns so what nginx would.
    pub fn compile(&self) -> Result<Compiled> {
        Ok(Compiled::new(
            &self.verified,
            self.maps.all().clone(),
            fuel()?,
        )?)
    }

    /// The maps, which stay when the memory is closed.
    pub fn into_maps(self) -> FilterMaps {
        self.maps
    }

    fn make(
        name: &str,
        file: OwnedFd,
        object: &[u8],
        verified: Verified,
    ) -> Result<(Self, Origin)> {
        let (maps_at, size) = extent(object.len(), &verified);
        rustix::fs::ftruncate(&file, 0)?;
        shm::reserve(&file, name, size as u64)?;
        let pages = Pages::map(&file, name, maps_at)?;
        let header = pages.header();
        header.version.store(VERSION, Ordering::Relaxed);
        header
            .fingerprint
            .store(fingerprint(object), Ordering::Relaxed);
        header
            .object_bytes
            .store(object.len() as u64, Ordering::Relaxed);
        pages.write_object(object);
        let specs = verified.program().maps();
        let memory = MapMemory::of(file.as_fd(), maps_at as u64, Maps::bytes(specs))?;
        let maps = FilterMaps::new(Arc::new(Maps::make(specs, memory)?))?;
        let name = name.to_owned();
        let made = Self {
            name,
            file,
            verified,
            maps,
        };
        Ok((made, Origin::Made))
    }

    fn attach(name: &str, file: OwnedFd, object: &[u8], verified: Verified) -> Result<Self> {
        let (maps_at, size) = extent(object.len(), &verified);
        if shm::size(&file)? != size as u64 {
            bail!(foreign(name));
        }
        let specs = verified.program().maps();
        let memory = MapMemory::of(file.as_fd(), maps_at as u64, Maps::bytes(specs))?;
        let maps = Maps::attach(specs, memory).with_context(|| foreign(name))?;
        let maps = FilterMaps::new(Arc::new(maps))?;
        let name = name.to_owned();
        Ok(Self {
            name,
            file,
            verified,
            maps,
        })
    }
}

impl Filter for Memory {
    fn counts(&self) -> Counts {
        self.maps.counts()
    }

    fn publish(&self, prefix: &[u8]) -> Result<()> {
        check_prefix(prefix)?;
        shm::alone(&self.file, || self.maps.publish(prefix))
    }

    fn remove(self) -> Result<()> {
        shm::remove(&self.file, &self.name)
    }
}

/// The process of the controller that completed the memory; `None` when none did.
fn found(file: &OwnedFd, name: &str) -> Result<Option<u32>> {
    let size = shm::size(file)?;
    if size == 0 {
        return Ok(None);
    }
    if size < PAGE as u64 {
        bail!(foreign(name));
    }
    let pages = Pages::map(file, name, PAGE)?;
    let header = pages.header();
    match header.magic.load(Ordering::Acquire) {
        0 => Ok(None),
        MAGIC if header.version.load(Ordering::Relaxed) == VERSION => {
            Ok(Some(header.owner.load(Ordering::Relaxed)))
        }
        _ => bail!(foreign(name)),
    }
}

/// A copy of the object file in complete memory.
fn object(file: &OwnedFd, name: &str) -> Result<Vec<u8>> {
    let pages = Pages::map(file, name, PAGE)?;
    let length = pages.header().object_bytes.load(Ordering::Relaxed);
    let fits = length <= OBJECT_MAX as u64 && PAGE as u64 + length <= shm::size(file)?;
    if !fits {
        bail!(foreign(name));
    }
    let object = Pages::map(file, name, PAGE + length as usize)?.read_object(length as usize);
    if fingerprint(&object) != pages.header().fingerprint.load(Ordering::Relaxed) {
        bail!(foreign(name));
    }
    Ok(object)
}

/// Return true if complete memory holds this object file.
fn holds(file: &OwnedFd, name: &str, wanted: &[u8]) -> Result<bool> {
    Ok(object(file, name)? == wanted)
}
