//! A guest's channel to the host, which it knows as descriptor 3, and the rest of its host's state.

use std::fmt;
use std::sync::{Arc, Mutex};
use std::time::Instant;

use wasmtime::{Memory, ResourceLimiter};

/// The most elements that a table may have.
pub const TABLE_ELEMENTS: usize = 20_000;
/// The number of sent bytes that the host has not read, at most.
pub const UNREAD_MAX: usize = 1 << 20;

/// The bytes between a guest and its host.
#[derive(Debug, Default)]
pub struct Channel {
    /// For the guest, which has read so many bytes of it.
    pub input: Vec<u8>,
    /// The number of bytes read.
    pub read: usize,
    /// From the guest, not yet read.
    pub output: Vec<u8>,
    /// The guest has closed its end.
    pub closed: bool,
    /// The condition that the guest waits for, if it does.
    pub waits: Option<Wait>,
}

/// The conditions that a guest waits for; the first that holds wakes it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Wait {
    /// Something to read.
    pub input: bool,
    /// The host has read its output.
    pub output: bool,
    /// A moment.
    pub until: Option<Instant>,
}

impl Channel {
    /// The bytes that the guest can read.
    pub fn unread(&self) -> &[u8] {
        &self.input[self.read..]
    }

    /// Add bytes that the guest can read.
    pub fn send(&mut self, bytes: &[u8]) {
        self.input.drain(..self.read);
        self.read = 0;
        self.input.extend_from_slice(bytes);
    }
}

/// The state that the functions of a guest's imports share.
pub struct Host {
    /// Its channel.
    pub channel: Arc<Mutex<Channel>>,
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
    /// Refuse growth beyond the limit. As with a process that runs out of pages, the guest ends
    /// instead of being told.
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
