//! A loaded binary: checked, and held where nobody can change it.

use std::fs::File;
use std::io::Write;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::FileExt;
use std::sync::OnceLock;

use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, fcntl_get_seals, fstat, memfd_create};
use sha2::{Digest, Sha256};

use crate::descriptors::moved_up;

const HEADER: usize = 64;
const PROGRAM_HEADER: usize = 56;
/// The number and the name that ELF files have for this machine (elf.h).
#[cfg(target_arch = "x86_64")]
pub const MACHINE: (u16, &str) = (62, "x86-64");
#[cfg(target_arch = "aarch64")]
pub const MACHINE: (u16, &str) = (183, "AArch64");
const EXECUTABLE: u16 = 2;
const SHARED: u16 = 3;
const INTERPRETER: u32 = 3;

/// Return the SHA-256 digest of a file, in hexadecimal digits.
pub fn sha256(bytes: &[u8]) -> String {
    let digest = Sha256::digest(bytes);
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// An ELF file, or a WebAssembly module, in sealed memory.
#[derive(Debug)]
pub struct Binary {
    memory: OwnedFd,
    /// `None` if only another process has read it.
    kind: Option<Kind>,
    bytes: OnceLock<Vec<u8>>,
}

/// The longest binary.
const BYTES_MAX: u64 = 4 << 30;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Static,
    Dynamic,
    Module,
}

impl Binary {
    /// Check `bytes` and takes them in.
    ///
    /// # Errors
    ///
    /// What is wrong with them, in words; or why there is no memory for them.
    pub fn new(bytes: Vec<u8>) -> Result<Self, String> {
        let kind = kind(&bytes)?;
        let memory =
            sealed(&bytes).map_err(|error| format!("no memory for the binary: {error}"))?;
        Ok(Binary {
            memory,
            kind: Some(kind),
            bytes: bytes.into(),
        })
    }

    /// Take in what another process has checked. Nothing reads it here, but nobody can change it either.
    ///
    /// # Errors
    ///
    /// What it is instead of sealed memory, in words.
    pub(crate) fn sealed(memory: OwnedFd) -> Result<Self, String> {
        let seals = fcntl_get_seals(&memory).unwrap_or(SealFlags::empty());
        if !seals.contains(SEALS) {
            return Err("the binary: found a file that can change, expected sealed memory".into());
        }
        let length = fstat(&memory).map(|found| found.st_size as u64);
        let length = length.map_err(|error| format!("the binary: {error}"))?;
        if length > BYTES_MAX {
            return Err(format!(
                "the binary: found {length} bytes, expected {BYTES_MAX} at most"
            ));
        }
        Ok(Binary {
            memory: moved_up(memory).map_err(|error| format!("the binary: {error}"))?,
            kind: None,
            bytes: OnceLock::new(),
        })
    }

    /// Return its bytes.
    ///
    /// # Errors
    ///
    /// The kernel's, in words.
    pub fn bytes(&self) -> Result<&[u8], String> {
        if let Some(bytes) = self.bytes.get() {
            return Ok(bytes);
        }
        let bytes = read(self.file()).map_err(|error| format!("the binary: {error}"))?;
        Ok(self.bytes.get_or_init(|| bytes))
    }

    /// Its bytes as a file that can be executed and not changed.
    pub fn file(&self) -> BorrowedFd<'_> {
        self.memory.as_fd()
    }

    /// Return true if it needs a dynamic loader and libraries to run.
    pub fn is_dynamic(&self) -> bool {
        self.kind == Some(Kind::Dynamic)
    }

    /// Return true if it is a WebAssembly module.
    pub fn is_module(&self) -> bool {
        self.kind == Some(Kind::Module)
    }
}

/// The seals of memory that nobody can change any more.
const SEALS: SealFlags = SealFlags::WRITE
    .union(SealFlags::GROW)
    .union(SealFlags::SHRINK)
    .union(SealFlags::SEAL);

/// Read a file from its beginning, wherever others are in it.
fn read(file: BorrowedFd<'_>) -> std::io::Result<Vec<u8>> {
    let file = File::from(file.try_clone_to_owned()?);
    let mut bytes = vec![0; file.metadata()?.len() as usize];
    file.read_exact_at(&mut bytes, 0)?;
    Ok(bytes)
}

fn sealed(bytes: &[u8]) -> std::io::Result<OwnedFd> {
    let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING | MemfdFlags::EXEC;
    let mut file = File::from(memfd_create("udf", flags)?);
    file.write_all(bytes)?;
    fcntl_add_seals(&file, SEALS)?;
    Ok(moved_up(file.into())?)
}

/// A module is known by its first bytes; whether it is one in truth its compiler will say.
fn kind(bytes: &[u8]) -> Result<Kind, String> {
    if bytes.starts_with(b"\0asm\x01\0\0\0") {
        return Ok(Kind::Module);
    }
    Ok(if needs_interpreter(bytes)? {
        Kind::Dynamic
    } else {
        Kind::Static
    })
}

/// Return true if an executable for this machine names a dynamic loader, or an error for anything
/// else.
fn needs_interpreter(bytes: &[u8]) -> Result<bool, String> {
    let number = |at: usize, size: usize| -> u64 {
        let mut wide = [0; 8];
        wide[..size].copy_from_slice(&bytes[at..at + size]);
        u64::from_le_bytes(wide)
    };
    if bytes.len() < HEADER || !bytes.starts_with(b"\x7fELF\x02\x01") {
        return Err("no 64-bit little-endian ELF file, nor a WebAssembly module".into());
    }
    let (kind, machine) = (number(16, 2) as u16, number(18, 2) as u16);
    let (expected, name) = MACHINE;
    if machine != expected {
        return Err(format!(
            "an ELF file for machine {machine}, expected {expected} ({name})"
        ));
    }
    if kind != EXECUTABLE && kind != SHARED {
        return Err(format!(
            "an ELF file of type {kind}, expected an executable"
        ));
    }
    let (start, count) = (number(32, 8), number(56, 2));
    if number(54, 2) != PROGRAM_HEADER as u64 || count == 0 {
        return Err("an ELF file without program headers".into());
    }
    let end = start.checked_add(count * PROGRAM_HEADER as u64);
    if end.is_none_or(|end| end > bytes.len() as u64) {
        return Err("an ELF file whose program headers lie beyond its end".into());
    }
    Ok((0..count as usize)
        .map(|index| number(start as usize + index * PROGRAM_HEADER, 4) as u32)
        .any(|kind| kind == INTERPRETER))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use proptest::test_runner::RngSeed;

    proptest! {
        #![proptest_config(ProptestConfig { rng_seed: RngSeed::Fixed(9), ..ProptestConfig::with_cases(512) })]

        #[test]
        fn any_bytes_are_judged(mut bytes in prop::collection::vec(any::<u8>(), 0..200), elf in any::<bool>()) {
            if elf && bytes.len() > 20 {
                bytes[..6].copy_from_slice(b"\x7fELF\x02\x01");
                bytes[16..20].copy_from_slice(&[2, 0, MACHINE.0 as u8, 0]);
            }
            let _ = needs_interpreter(&bytes);
        }
    }

    #[test]
    fn this_test_is_an_executable_with_an_interpreter_and_text_is_none() {
        let own = std::fs::read("/proc/self/exe").unwrap();
        assert_eq!(needs_interpreter(&own), Ok(true));
        assert!(needs_interpreter(b"#!/bin/sh\nexit 0\n").is_err());
        assert!(needs_interpreter(&own[..100]).is_err());
        assert_eq!(needs_interpreter(&crate::trial::binary()), Ok(false));
    }

    fn trial() -> Binary {
        Binary::new(crate::trial::binary()).unwrap()
    }

    #[test]
    fn a_taken_in_binary_cannot_be_changed() {
        let taken = trial();
        let mut file = File::from(taken.file().try_clone_to_owned().unwrap());
        assert!(file.write_all(b"x").is_err());
        assert!(file.set_len(1).is_err());
    }

    #[test]
    fn only_sealed_memory_is_taken_in_unread() {
        let own = trial();
        let taken = Binary::sealed(own.file().try_clone_to_owned().unwrap()).unwrap();
        assert_eq!(taken.bytes(), own.bytes());
        let open = memfd_create("open", MemfdFlags::ALLOW_SEALING).unwrap();
        let pipe = rustix::pipe::pipe().unwrap().0;
        let program = File::open("/proc/self/exe").unwrap().into();
        for other in [open, pipe, program] {
            let why = Binary::sealed(other).unwrap_err();
            assert!(why.contains("expected sealed memory"), "{why}");
        }
    }
}
