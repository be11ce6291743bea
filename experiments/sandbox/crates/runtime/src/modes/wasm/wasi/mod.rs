//! WASI preview 1, as much of it as a function needs: its line, time, random numbers, and its end.
//! Whatever names a file, a socket or another process is there and refuses, so that a C library
//! which might use it can be linked. Layouts and numbers are those of
//! https://github.com/WebAssembly/WASI/blob/main/legacy/preview1/docs.md.

mod own;
mod poll;
mod stream;

use std::fmt;

use wasmtime::{Caller, Linker, Module, Val};

use super::line::{Host, Wait};
use crate::loaded::lock;

/// What all its functions are imported from.
pub const MODULE: &str = "wasi_snapshot_preview1";

const LINE: i32 = 3;
/// Descriptors before it: reading finds the end, what is written is nobody's.
const STREAMS: std::ops::Range<i32> = 0..LINE;
/// The most that one call waits for, or names buffers.
const PLACES: u32 = 1024;

/// What a function answers: 0 or why not.
type Errno = i32;
const SUCCESS: Errno = 0;
const BADF: Errno = 8;
const FAULT: Errno = 21;
const INVAL: Errno = 28;
const SPIPE: Errno = 70;
const NOTCAPABLE: Errno = 76;

/// Functions that are there and refuse.
const REFUSED: &[&str] = &[
    "fd_advise",
    "fd_allocate",
    "fd_datasync",
    "fd_fdstat_set_flags",
    "fd_fdstat_set_rights",
    "fd_filestat_get",
    "fd_filestat_set_size",
    "fd_filestat_set_times",
    "fd_pread",
    "fd_prestat_dir_name",
    "fd_pwrite",
    "fd_readdir",
    "fd_renumber",
    "fd_sync",
    "fd_tell",
    "path_create_directory",
    "path_filestat_get",
    "path_filestat_set_times",
    "path_link",
    "path_open",
    "path_readlink",
    "path_remove_directory",
    "path_rename",
    "path_symlink",
    "path_unlink_file",
    "proc_raise",
    "sock_accept",
    "sock_recv",
    "sock_send",
    "sock_shutdown",
];

/// A guest ended itself, with this code.
#[derive(Debug)]
pub struct Exit(pub i32);

impl fmt::Display for Exit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "exit code {}", self.0)
    }
}

impl std::error::Error for Exit {}

/// Defines the functions that do something.
///
/// # Errors
///
/// The engine's.
pub fn offer(linker: &mut Linker<Host>) -> wasmtime::Result<()> {
    own::describe_itself(linker)?;
    own::tell_time(linker)?;
    linker.func_wrap(MODULE, "random_get", own::random_get)?;
    linker.func_wrap(MODULE, "sched_yield", || SUCCESS)?;
    linker.func_wrap(MODULE, "proc_exit", |code: i32| -> wasmtime::Result<()> {
        Err(Exit(code).into())
    })?;
    linker.func_wrap(MODULE, "fd_prestat_get", |_: i32, _: i32| BADF)?;
    linker.func_wrap(MODULE, "fd_seek", |_: i32, _: i64, _: i32, _: i32| SPIPE)?;
    linker.func_wrap(MODULE, "fd_close", stream::fd_close)?;
    linker.func_wrap(MODULE, "fd_fdstat_get", stream::fd_fdstat_get)?;
    linker.func_wrap_async(MODULE, "fd_read", |guest, (fd, list, count, done)| {
        Box::new(async move { stream::fd_read(guest, fd, list, count, done).await })
    })?;
    linker.func_wrap_async(MODULE, "fd_write", |guest, (fd, list, count, done)| {
        Box::new(async move { stream::fd_write(guest, fd, list, count, done).await })
    })?;
    linker.func_wrap_async(
        MODULE,
        "poll_oneoff",
        |guest, (asked, told, count, done)| {
            Box::new(async move { poll::poll_oneoff(guest, asked, told, count, done).await })
        },
    )?;
    Ok(())
}

/// Defines those that refuse, as far as `module` imports them.
///
/// # Errors
///
/// What else it imports, in words: it would never run.
pub fn refuse_the_rest(linker: &mut Linker<Host>, module: &Module) -> Result<(), String> {
    for import in module.imports() {
        let (from, name) = (import.module(), import.name());
        let refused = from == MODULE && REFUSED.contains(&name);
        let whole = import.ty();
        match whole.func() {
            Some(kind) if refused && kind.results().map(|each| each.is_i32()).eq([true]) => {
                linker.allow_shadowing(true);
                linker
                    .func_new(from, name, kind.clone(), |_, _, results| {
                        results[0] = Val::I32(NOTCAPABLE);
                        Ok(())
                    })
                    .map_err(|error| format!("{error:#}"))?;
                linker.allow_shadowing(false);
            }
            Some(_) if from == MODULE && !refused => {}
            _ => {
                return Err(format!(
                    "it imports {from}.{name}, which is not offered; only functions of WASI preview 1 are"
                ));
            }
        }
    }
    Ok(())
}

/// The guest's memory, its line, and where in the memory nothing lies: an error that says so.
struct View<'a> {
    memory: &'a mut [u8],
    host: &'a mut Host,
}

impl<'a> View<'a> {
    fn of(guest: &'a mut Caller<'_, Host>) -> Result<Self, Errno> {
        let memory = guest.data().memory.ok_or(FAULT)?;
        let (memory, host) = memory.data_and_store_mut(guest);
        Ok(View { memory, host })
    }

    fn bytes(&mut self, at: u32, length: u32) -> Result<&mut [u8], Errno> {
        let (at, length) = (at as usize, length as usize);
        self.memory.get_mut(at..at + length).ok_or(FAULT)
    }

    fn put(&mut self, at: u32, bytes: &[u8]) -> Result<(), Errno> {
        self.bytes(at, bytes.len() as u32)?.copy_from_slice(bytes);
        Ok(())
    }

    fn number<const SIZE: usize>(&mut self, at: u32) -> Result<u64, Errno> {
        let mut wide = [0; 8];
        wide[..SIZE].copy_from_slice(self.bytes(at, SIZE as u32)?);
        Ok(u64::from_le_bytes(wide))
    }

    /// The buffers that a list names: where, and how long.
    fn buffers(&mut self, list: i32, count: i32) -> Result<Vec<(u32, u32)>, Errno> {
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

fn errno(done: Result<(), Errno>) -> Errno {
    done.err().unwrap_or(SUCCESS)
}

/// Lets whoever runs the guest go on, and comes back when he lets it run again.
async fn wait(guest: &Caller<'_, Host>, what: Wait) {
    lock(&guest.data().line).waits = Some(what);
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
