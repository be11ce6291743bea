//! A guest's line to the host, which it knows as descriptor 3, and what else it has of the host.

use std::fmt;
use std::sync::{Arc, Mutex};
use std::time::Instant;

use wasmtime::{Memory, ResourceLimiter};

/// The most elements that a table may have.
pub const TABLE_ELEMENTS: usize = 20_000;
/// Bytes that a guest can have said without being heard.
pub const UNHEARD: usize = 1 << 20;

/// What goes between a guest and whoever calls it.
#[derive(Debug, Default)]
pub struct Line {
    /// For the guest, which has read so many bytes of it.
    pub input: Vec<u8>,
    /// How many.
    pub read: usize,
    /// From the guest, not yet heard.
    pub output: Vec<u8>,
    /// The guest has closed its end.
    pub closed: bool,
    /// What it waits for, while it does.
    pub waits: Option<Wait>,
}

/// What a guest waits for: whichever comes first.
#[derive(Clone, Copy, Debug, Default)]
pub struct Wait {
    /// Something to read.
    pub input: bool,
    /// That it is heard.
    pub hearing: bool,
    /// A moment.
    pub until: Option<Instant>,
}

impl Line {
    /// The bytes that the guest can read.
    pub fn unread(&self) -> &[u8] {
        &self.input[self.read..]
    }

    /// Add to what it can read.
    pub fn tell(&mut self, bytes: &[u8]) {
        self.input.drain(..self.read);
        self.read = 0;
        self.input.extend_from_slice(bytes);
    }
}

/// What the functions that a guest calls know of it.
pub struct Host {
    /// Its line.
    pub line: Arc<Mutex<Line>>,
    /// Its memory, once it has one.
    pub memory: Option<Memory>,
    /// Bytes that it may have of it.
    pub most: usize,
}

/// A guest asked for more memory than its limit.
#[derive(Debug)]
pub struct OverMemory;

impl fmt::Display for OverMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("more memory than its limit")
    }
}

impl std::error::Error for OverMemory {}

impl ResourceLimiter for Host {
    /// As with a process, whose pages run out: the guest ends, rather than being told.
    fn memory_growing(
        &mut self,
        _: usize,
        desired: usize,
        maximum: Option<usize>,
    ) -> wasmtime::Result<bool> {
        if maximum.is_some_and(|maximum| desired > maximum) {
            return Ok(false);
        }
        if desired > self.most {
            return Err(OverMemory.into());
        }
        Ok(true)
    }

    fn table_growing(
        &mut self,
        _: usize,
        desired: usize,
        _: Option<usize>,
    ) -> wasmtime::Result<bool> {
        Ok(desired <= TABLE_ELEMENTS)
    }
}
