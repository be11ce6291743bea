//! The part that the functions of WASI share: their errors, and their view of the guest.

use wasmtime::Caller;

use crate::lock::lock;
use crate::modes::wasm::channel::{Host, Wait};

/// The module that all its functions are imported from.
pub const MODULE: &str = "wasi_snapshot_preview1";

pub const SOCKET: i32 = 3;
/// Descriptors before it. Reading finds the end, and what is written is lost.
pub const STREAMS: std::ops::Range<i32> = 0..SOCKET;
/// The most that one call waits for, or names buffers.
pub const PLACES: u32 = 1024;

/// The answer of a function: 0, or why it failed.
pub type Errno = i32;
pub const SUCCESS: Errno = 0;
pub const BADF: Errno = 8;
pub const FAULT: Errno = 21;
pub const INVAL: Errno = 28;
pub const SPIPE: Errno = 70;
pub const NOTCAPABLE: Errno = 76;

/// The guest's memory and its channel. Places outside the memory are errors.
pub struct View<'a> {
    pub memory: &'a mut [u8],
    pub host: &'a mut Host,
}

impl<'a> View<'a> {
    pub fn of(guest: &'a mut Caller<'_, Host>) -> Result<Self, Errno> {
        let memory = guest.data().memory.ok_or(FAULT)?;
        let (memory, host) = memory.data_and_store_mut(guest);
        Ok(View { memory, host })
    }

    pub fn bytes(&mut self, at: u32, length: u32) -> Result<&mut [u8], Errno> {
        let (at, length) = (at as usize, length as usize);
        self.memory.get_mut(at..at + length).ok_or(FAULT)
    }

    pub fn put(&mut self, at: u32, bytes: &[u8]) -> Result<(), Errno> {
        self.bytes(at, bytes.len() as u32)?.copy_from_slice(bytes);
        Ok(())
    }

    pub fn number<const SIZE: usize>(&mut self, at: u32) -> Result<u64, Errno> {
        let mut wide = [0; 8];
        wide[..SIZE].copy_from_slice(self.bytes(at, SIZE as u32)?);
        Ok(u64::from_le_bytes(wide))
    }

    /// Return the buffers that a list names: their addresses and lengths.
    pub fn buffers(&mut self, list: i32, count: i32) -> Result<Vec<(u32, u32)>, Errno> {
        let (list, count) = (list as u32, count as u32);
        if count > PLACES {
            return Err(INVAL);
        }
        (0..count)
            .map(|index| {
                let at = list.checked_add(index * 8).ok_or(FAULT)?;
                let length = at.checked_add(4).ok_or(FAULT)?;
                Ok((
                    self.number::<4>(at)? as u32,
                    self.number::<4>(length)? as u32,
                ))
            })
            .collect()
    }
}

pub fn errno(done: Result<(), Errno>) -> Errno {
    done.err().unwrap_or(SUCCESS)
}

/// Return control to the guest's host until it runs the guest again.
pub async fn wait(guest: &Caller<'_, Host>, what: Wait) {
    lock(&guest.data().channel).waits = Some(what);
    let mut been = false;
    std::future::poll_fn(|_| {
        if std::mem::replace(&mut been, true) {
            std::task::Poll::Ready(())
        } else {
            std::task::Poll::Pending
        }
    })
    .await;
}
